/*
 * send.c - send a trace over UDP, at a given pace or as fast as possible
 *
 * With a pace, the program sleeps until shortly before the time of each packet,
 * waits in a loop for the rest of the time, and then sends the packet.  If
 * several packets of a flow are late, they are sent together.
 *
 * At top speed, packets are collected in a window.  The window is sent one
 * five-tuple after the other, in runs of packets with equal length.  The kernel
 * sends fastest in this order, and a receiver cannot see the order of packets
 * from different sockets.
 */
#include "config.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "cmd/innet-replay/conf.h"
#include "cmd/innet-replay/flows.h"
#include "common/base/counters.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/timer.h"

enum {
	WINDOW_PACKETS = 2048,
	WINDOW_BYTES = 2 << 20,
	SIGNALS_EVERY = 256,		/* number of packets between two checks
					 * for signals */
	LATE_NS = 20000,		/* packets that are late by more than
					 * this time are sent together */
	NO_ROOM_NS = 50000, /* length of a wait when a link's queue is full */
	GIVE_UP_NS = 1000000000	/* longest time to wait for room for a packet */
};

#define NONE UINT32_MAX

struct queued {
	const uint8_t *p;
	uint32_t len, flow;
	uint32_t next;	/* index of the next packet of this flow, or NONE */
	uint64_t deadline_ns;	/* due time, monotonic */
	uint8_t tos;
	bool update;
};

struct sender {
	const struct conf *cf;
	struct tally *n;
	struct flows flows;
	sigset_t wait;
	struct queued *w;	/* the window */
	uint32_t have;
	uint8_t *bytes;		/* payloads of the packets in the window */
	size_t used;
	uint32_t *first, *last;	/* for each flow, its first and last packet in
				 * the window, or NONE */
	uint32_t *order;	/* flows in the order of their first packet */
	uint32_t flows_room, in_order;
	uint64_t began_ns, shown_ns;
	bool slow;		/* the trace is a pipe, so a read may block */
	int first_errno;	/* errno of the first failed packet, or 0 */
};

/* Reallocate memory for n items of `each` bytes; exit if that fails. */
static void *
allocate(void *old, size_t n, size_t each)
{
	void *p = reallocarray(old, n, each);

	if (p == NULL)
		errx(1, "out of memory");
	return p;
}

/* Sleep for ns, or until a signal arrives. */
static void
sleep_ns(struct sender *s, uint64_t ns)
{
	const struct timespec ts = timer_to_timespec(ns);

	ppoll(NULL, 0, &ts, &s->wait);
}

/*
 * Wait until deadline_ns.  Return false if a signal requests the end before
 * that time.
 */
static bool
wait_until(struct sender *s, uint64_t deadline_ns)
{
	uint64_t now = timer_mono_ns(), ns;

	while (now < deadline_ns && *s->cf->stop == 0) {
		ns = pace_sleep_ns(now, deadline_ns);
		if (ns > 0)
			sleep_ns(s, ns);
		now = timer_mono_ns();
	}
	return *s->cf->stop == 0;
}

static void
show_progress(struct sender *s, const struct trace *t)
{
	const uint64_t now = timer_mono_ns();
	char percent[16] = "";
	double part;

	if (now - s->shown_ns < TIMER_SECOND_NS)
		return;
	s->shown_ns = now;
	part = trace_progress(t);
	if (part >= 0)
		snprintf(percent, sizeof(percent), ", %.0f %%", 100 * part);
	progress_say("%" PRIu64 " packets, %.1f s%s", s->n->packets,
	    (double)(now - s->began_ns) / 1e9, percent);
}

/* Count a packet that could not be sent; warn about the first one. */
static void
count_failure(struct sender *s, int why)
{
	s->n->failed++;
	if (s->first_errno != 0)
		return;
	s->first_errno = why;
	warnx("packet %" PRIu64 " could not be sent: %s", s->n->packets +
	    s->n->failed, strerror(why));
}

/* Send `count` packets of the same flow and length; iov has their payloads. */
static void
send_run(struct sender *s, const struct queued *w, struct iovec *iov,
    int count)
{
	struct udpio *u = &s->flows.flow[w->flow].u;
	struct pollfd fd = { .fd = u->fd, .events = POLLOUT };
	const uint64_t began = timer_mono_ns();
	const struct timespec ts = timer_to_timespec(NO_ROOM_NS);
	int done = 0;

	while (done < count) {
		const int got = udpio_send_gather(u, &s->cf->to, w->tos,
		    iov + done, 1, count - done, w->len);

		done += got;
		s->n->packets += (uint64_t)got;
		s->n->bytes += (uint64_t)got * w->len;
		if (done == count || *s->cf->stop != 0)
			return;
		if (errno != EAGAIN || timer_mono_ns() - began > GIVE_UP_NS) {
			count_failure(s, errno);
			done++;
		} else {
			ppoll(u->link_full ? NULL : &fd, u->link_full ? 0 : 1,
			    &ts, &s->wait);
		}
	}
}

/* Write the current time into an update. */
static void
stamp_update(const struct queued *w)
{
	if (w->update)
		bytes_put((uint8_t *)(uintptr_t)w->p + UPDATE_GENERATED_AT,
		    timer_wall_ns(), 8);
}

/*
 * Send the packets of the window from packet k on.  If `along` is true, follow
 * the links `next`; otherwise send the packets in the order of the window.
 */
static void
send_from(struct sender *s, uint32_t k, bool along)
{
	struct iovec iov[UDPIO_RUN_MAX];
	uint64_t now = timer_mono_ns();
	int n;

	while (k != NONE && k < s->have && *s->cf->stop == 0) {
		const struct queued *head = &s->w[k], *w = head;

		for (n = 0; n < UDPIO_RUN_MAX; n++) {
			if (w->flow != head->flow || w->len != head->len ||
			    w->tos != head->tos)
				break;
			if (s->cf->stamp)
				stamp_update(w);
			iov[n] = (struct iovec){ (void *)(uintptr_t)w->p,
			    w->len };
			if (!s->cf->topspeed)
				latency_add(&s->n->late, now > w->deadline_ns ?
				    now - w->deadline_ns : 0);
			k = along ? w->next : k + 1;
			if (k == NONE || k >= s->have) {
				n++;
				break;
			}
			w = &s->w[k];
		}
		send_run(s, head, iov, n);
		now = timer_mono_ns();
	}
}

/* Send all packets of the window. */
static void
flush_window(struct sender *s)
{
	if (!s->cf->topspeed) {
		send_from(s, 0, false);
	} else {
		for (uint32_t i = 0; i < s->in_order; i++) {
			send_from(s, s->first[s->order[i]], true);
			s->first[s->order[i]] = NONE;
		}
	}
	s->in_order = 0;
	s->have = 0;
	s->used = 0;
}

static bool
is_window_full(const struct sender *s, size_t more)
{
	return s->have == WINDOW_PACKETS || s->used + more > WINDOW_BYTES;
}

/* Append packet k of the window to the list of flow f. */
static void
append_to_flow(struct sender *s, uint32_t f, uint32_t k)
{
	const uint32_t had = s->flows_room;

	if (f >= had) {
		s->flows_room = s->flows.room;
		s->first = allocate(s->first, s->flows_room, sizeof(*s->first));
		s->last = allocate(s->last, s->flows_room, sizeof(*s->last));
		s->order = allocate(s->order, s->flows_room, sizeof(*s->order));
		for (uint32_t i = had; i < s->flows_room; i++)
			s->first[i] = NONE;
	}
	if (s->first[f] == NONE) {
		s->first[f] = k;
		s->order[s->in_order++] = f;
	} else {
		s->w[s->last[f]].next = k;
	}
	s->last[f] = k;
}

/* Add a packet to the window. */
static void
add_packet(struct sender *s, const struct trace_packet *p, uint64_t deadline_ns)
{
	const uint32_t f = flows_find(&s->flows, &p->f.flow);
	const uint32_t k = s->have++;

	s->w[k] = (struct queued){ .p = s->bytes + s->used,
	    .len = p->f.payload_bytes, .flow = f, .next = NONE,
	    .deadline_ns = deadline_ns, .tos = p->f.tos, .update = p->update };
	memcpy(s->bytes + s->used, p->payload, p->f.payload_bytes);
	s->used += p->f.payload_bytes;
	if (s->cf->topspeed)
		append_to_flow(s, f, k);
}

/*
 * Prepare for the next packet, which has `bytes` bytes.  If it is not due yet
 * or does not fit into the window, send the window first.  Then wait until the
 * packet is due.  Return false if the run must end.
 */
static bool
wait_for_packet(struct sender *s, uint64_t deadline_ns, size_t bytes)
{
	const bool early = !s->cf->topspeed && timer_mono_ns() < deadline_ns;

	if (s->have > 0 && (early || is_window_full(s, bytes)))
		flush_window(s);
	if (s->cf->duration_ns != TIMER_NEVER &&
	    timer_after(s->began_ns, s->cf->duration_ns) <=
	    (early ? deadline_ns : timer_mono_ns()))
		return false;
	return !early || wait_until(s, deadline_ns);
}

static int
send_packets(struct sender *s, struct trace *t)
{
	struct trace_packet p;
	uint64_t k = 0, due;
	int got = 0;

	for (; *s->cf->stop == 0 && (s->cf->count == 0 || k < s->cf->count);
	     k++) {
		got = trace_next(t, &p);
		if (got != 1)
			break;
		due = s->cf->topspeed ? 0 : s->began_ns +
		    conf_due_ns(s->cf, p.deadline_ns, k);
		if (!wait_for_packet(s, due, p.f.payload_bytes))
			break;
		add_packet(s, &p, due);
		if (!s->cf->topspeed && (s->slow || timer_mono_ns() - due <
		    LATE_NS))
			flush_window(s);
		if (k % SIGNALS_EVERY == 0) {
			timer_deliver_signals(&s->wait);
			if (s->cf->progress)
				show_progress(s, t);
		}
	}
	flush_window(s);
	return got == -1;
}

/* Print all warnings.  If there is an error, print it last. */
static void
report_end(const struct sender *s, const struct trace *t, bool damaged)
{
	trace_report(t, s->cf->verbose);
	if (s->n->failed > 0)
		warnx("%" PRIu64 " packet%s could not be sent; the first "
		    "error was: %s", s->n->failed, plural(s->n->failed),
		    strerror(s->first_errno));
	if (damaged)
		pcapio_warn_damage(&t->in);
}

int
send_trace(const struct conf *cf, struct trace *t, struct tally *n)
{
	struct sender s = { .cf = cf, .n = n,
	    .slow = trace_progress(t) < 0 };
	int rc;

	timer_block_signals(cf->on_signal, &s.wait);
	prctl(PR_SET_TIMERSLACK, 1);	/* wake up on time */
	flows_open(&s.flows, &cf->to, cf->offload);
	s.w = allocate(NULL, WINDOW_PACKETS, sizeof(*s.w));
	s.bytes = allocate(NULL, WINDOW_BYTES + UDPIO_PACKET_BYTES, 1);
	memset(s.bytes, 0, WINDOW_BYTES + UDPIO_PACKET_BYTES);
	s.began_ns = s.shown_ns = timer_mono_ns();
	rc = send_packets(&s, t);
	n->elapsed_ns = timer_mono_ns() - s.began_ns;
	n->flows = s.flows.count;
	n->unreachable = flows_unreachable(&s.flows);
	if (cf->progress)
		progress_clear();
	report_end(&s, t, rc != 0);
	flows_close(&s.flows);
	free(s.w);
	free(s.bytes);
	free(s.first);
	free(s.last);
	free(s.order);
	return rc != 0 || n->failed > 0;
}
