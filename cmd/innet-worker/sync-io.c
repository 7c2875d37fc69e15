/* sync-io.c - the packets of a synchronous worker; see sync-io.h */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/iswitch/sync-worker-control.h"
#include "common/net/timer.h"

#include "cmd/innet-worker/stall-report.h"
#include "cmd/innet-worker/sync-io.h"

bool
sync_io_open(struct sync_io *io, const struct worker_conf *cf,
    struct udp_transmit *out)
{
	*io = (struct sync_io){ .cf = cf, .out = out };
	state_transfer_init(&io->transfer, cf->worker);
	return control_open(&io->control, cf, out, &io->n[SYNC_IO_MALFORMED],
	    &io->n[SYNC_IO_BAD_MAC]);
}

void
sync_io_free(struct sync_io *io)
{
	sync_worker_free(&io->l);
	state_transfer_free(&io->transfer);
	if (io->has_ring)
		sync_ring_free(&io->ring);
}

bool
sync_io_open_ring(struct sync_io *io)
{
	if (!sync_ring_init(&io->ring, io->elements))
		return false;
	io->has_ring = true;
	for (int i = 0; i < 2; i++)
		io->result[i] = io->ring.result[i];
	return true;
}

uint32_t
sync_io_ring_crc(const void *weights, size_t bytes)
{
	return crc32c(crc32c(0, (const uint8_t *)"ring", 4), weights, bytes);
}

void
sync_io_join(struct sync_io *io, const struct sync_io_join *at, uint64_t now_ns)
{
	const struct worker_conf *cf = io->cf;
	const bool v6 = cf->to.sa.sa_family == AF_INET6;
	const uint32_t most = worker_floats(cf, UPDATE_MTU_LOOPBACK);
	struct membership_conf in = {.type = CONTROL_WORKER,
	    .job = cf->job,
	    .cluster = cf->cluster,
	    .number = cf->worker,
	    .elements = io->elements,
	    .floats = (uint16_t)cf->floats,
	    .floats_max = (uint16_t)most,
	    .give_up_ns = cf->give_up_ns,
	    .sends_state = at->sends_state,
	    .creates_job = io->has_ring,
	    .wants_left = cf->members > 0,
	    .h = cf->members,
	    .rule = cf->rule,
	    .xid = at->xid,
	    .can_multicast = !io->control.cannot_multicast,
	    .tagged = worker_tags_data(cf),
	    .key = worker_tag_key(cf),
	    .channel = &io->control.channel};
	const struct sync_worker_conf l = { .crc = at->crc,
	    .window = cf->window,
	    .next = (uint32_t)(at->next % SEG_ITERATIONS),
	    .run_bytes = v6 ? UDPIO_RUN_BYTES_V6 : UDPIO_RUN_BYTES,
	    .buffer_bytes = io->out->u->rcvbuf_bytes, .ring = io->has_ring };

	if (cf->floats == 0 && at->mtu < 1500)
		in.floats = (uint16_t)worker_floats(cf, at->mtu);
	if (cf->floats == WORKER_FLOATS_MAX)
		in.floats = (uint16_t)most;
	io->given = at->next;
	io->begun = true;
	sync_worker_init(&io->l, &in, &l, now_ns);
}

/*
 * Send n prepared segments.  Returns the number of segments that are finished.
 * The socket had no room for the others, which must be sent again.
 */
static int
send_ready(struct sync_io *io, int n)
{
	const struct iovec *v = io->piece;
	const size_t each = v[0].iov_len + v[1].iov_len;
	bool blocked;
	const int sent = udp_transmit_send_room(io->out, &io->cf->to,
	    worker_tos(io->cf), v, 2, n, each, timer_wall_ns(), &blocked);

	if (blocked) {
		io->blocked = true;
		return sent;
	}
	io->n[SYNC_IO_SEND_FAILED] += (uint64_t)(n - sent);
	return n;
}

/* Send a run of segments of the gradient; the rest is sent later. */
static void
send_run(struct sync_io *io, const struct sync_worker_out *o)
{
	float *vec = io->has_ring ? sync_ring_gradient(&io->ring, &io->l,
	    o->iteration) : io->grad[o->iteration & 1];
	const uint32_t floats = io->l.floats, end = o->first + o->count;
	const uint32_t head = seg_head_bytes(worker_tos(io->cf));
	uint32_t done = o->first;
	int n = 0;

	for (uint32_t i = o->first; i < end && !io->blocked; i++) {
		struct iovec *v = &io->piece[2 * n];

		seg_put(io->head[n], o->iteration, 1, i);
		v[0] = (struct iovec){ io->head[n], head };
		v[1] = (struct iovec){ vec + (size_t)i * floats,
		    4 * (size_t)seg_floats_at(io->elements, floats, i) };
		if (worker_tags_data(io->cf))
			segment_tag_put(&io->l.in.tags, io->head[n],
			    v[1].iov_base, v[1].iov_len);
		if (++n == UDPIO_RUN_MAX || i + 1 == end) {
			done += (uint32_t)send_ready(io, n);
			n = 0;
		}
	}
	if (done < end)
		sync_worker_unsent(&io->l, o, end - done);
}

void
sync_io_send(struct sync_io *io, uint64_t now_ns)
{
	struct sync_worker_out o;

	while (!io->blocked && sync_worker_next(&io->l, now_ns, &o)) {
		if (o.count > 0) {
			send_run(io, &o);
			continue;
		}
		io->n[SYNC_IO_SEND_FAILED] +=
		    !control_send(&io->control, o.message, o.len);
	}
}

void
sync_io_receive(struct sync_io *io, const struct udpio_packet *p,
    uint64_t now_ns)
{
	const uint8_t tos = p->tos & 0xfc;
	struct control c;
	struct seg s;

	if (!addr_same(p->from, &io->cf->to) || !io->begun ||
	    (!seg_is(tos) && tos != CONTROL_TOS)) {
		io->n[SYNC_IO_FOREIGN]++;
	} else if (seg_is(tos) && seg_parse_as(tos, p->data, p->len, &s)) {
		if (!worker_accepts_result(io->cf, &io->l.in.tags, tos, p))
			io->n[SYNC_IO_BAD_PROOF]++;
		else if (io->n[SYNC_IO_RESULTS]++,
		    sync_worker_receive_result(&io->l, &s, now_ns) ==
		    SYNC_WORKER_TAKE && p->body == NULL)
			memcpy(io->result[s.iteration & 1] +
			    (size_t)s.index * io->l.floats, s.vec,
			    4 * (size_t)s.n);
	} else if (seg_is(tos)) {
		io->n[SYNC_IO_MALFORMED]++;
	} else if (control_receive(&io->control, &io->l.in, &io->transfer,
		       io->given, p, &c, now_ns)) {
		sync_worker_receive_control(&io->l, &c, now_ns);
	}
}

uint16_t
sync_io_all_contributions(const struct sync_io *io)
{
	return io->cf->members > 0 ? io->cf->members : io->l.h;
}

/* Write why the worker cannot take over the state of another worker. */
static void
explain_refusal(const struct sync_io *io, const char *program,
    char text[STALL_REPORT_BYTES])
{
	if (io->has_ring && state_transfer_is_behind(&io->l.in))
		snprintf(text, STALL_REPORT_BYTES, "; a worker with a ring "
		    "cannot join a job that has begun, so restart all its "
		    "workers");
	else if (!io->has_ring && !io->l.in.cf.sends_state)
		snprintf(text, STALL_REPORT_BYTES, "; %s cannot take over "
		    "another worker's state, because its hello has no "
		    "\"state\"", program);
}

void
sync_io_explain_end(const struct sync_io *io, const char *program,
    char text[SYNC_IO_WHY_BYTES])
{
	char why[SYNC_WORKER_WHY_BYTES], more[STALL_REPORT_BYTES] = "";

	if (io->l.end == SYNC_WORKER_STUCK)
		stall_report_members(&io->l, more);
	else if (io->l.in.end == MEMBERSHIP_REFUSED)
		explain_refusal(io, program, more);
	snprintf(text, SYNC_IO_WHY_BYTES, "%s: %s%s", io->cf->to_name,
	    sync_worker_why(&io->l, why), more);
}
