/* weight-update-thread.c - the thread that keeps the weights */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/message.h"
#include "common/net/timer.h"

#include "cmd/innet-worker/stall-report.h"
#include "cmd/innet-worker/udp-multicast.h"
#include "cmd/innet-worker/weight-update-thread.h"

enum {
	BATCHES = 16, /* number of batches received before other work is done */
	ROOM_NS = 1000000	/* time to wait until a full link has drained */
};

/* The actions that the gradient thread (LGC) can take now, as bits. */
enum { CAN_GREET = 1, CAN_END = 2, CAN_COMMIT = 4 };

/* Wake the thread that waits for an eventfd. */
static void
signal_eventfd(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) == -1 && errno != EAGAIN)
		warn("eventfd");
}

/* Clear an eventfd. */
static void
clear_eventfd(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) == -1 && errno != EAGAIN)
		warn("eventfd");
}

/*
 * If another worker requests the weights of this worker, offer a copy once all
 * segments of the copy belong to the same round.
 */
static void
offer_weights(struct weight_thread *l, uint64_t now_ns)
{
	struct async_weights *a = &l->w.weights;
	int64_t round;
	uint8_t *copy;

	state_sender_drop_unused(&l->transfer.sender, now_ns);
	if (!l->transfer.sender.wanted)
		return;
	copy = async_weights_take_copy(a, &round);
	if (copy == NULL)
		return;			/* the other worker asks again */
	state_transfer_set_snapshot(&l->transfer, copy, 4 * a->elements,
	    (uint64_t)round, now_ns);
	control_send_transfer(&l->transfer, &l->control, &l->w.in, now_ns);
}

/* Handle a result segment. */
static void
take_result(struct weight_thread *l, const struct seg *s, uint64_t now_ns)
{
	const int64_t had = l->w.weights.t_s;

	async_worker_receive_result(&l->w, s, now_ns);
	if (l->w.weights.t_s > had && l->committed_ns != 0) {
		durations_add(&l->rounds, now_ns - l->committed_ns);
		l->committed_ns = 0;
	}
	offer_weights(l, now_ns);
}

/* Handle a datagram from the switch. */
static void
take_packet(
    struct weight_thread *l, const struct udpio_packet *p, uint64_t now_ns)
{
	const uint8_t tos = p->tos & 0xfc;
	struct control c;
	struct seg s;

	if (!addr_same(p->from, &l->cf->to) ||
	    (!seg_is(tos) && tos != CONTROL_TOS)) {
		l->n[WEIGHT_THREAD_FOREIGN]++;
	} else if (seg_is(tos) && seg_parse_as(tos, p->data, p->len, &s)) {
		if (worker_accepts_result(l->cf, &l->w.in.tags, tos, p))
			take_result(l, &s, now_ns);
		else
			l->n[WEIGHT_THREAD_BAD_PROOF]++;
	} else if (seg_is(tos)) {
		l->n[WEIGHT_THREAD_MALFORMED]++;
	} else if (control_receive(&l->control, &l->w.in, &l->transfer,
	    (uint64_t)l->w.weights.t_s, p, &c, now_ns)) {
		async_worker_receive_control(&l->w, &c, now_ns);
	}
}

/*
 * Receive packets in at most BATCHES batches, so that other work is done, too.
 */
static void
receive_packets(struct weight_thread *l)
{
	struct udpio_packet p;

	l->u->more = true;
	for (int k = 0; k < BATCHES && l->u->more; k++) {
		const int n = udpio_recv(l->u);
		const uint64_t now = timer_mono_ns();

		for (int i = 0; i < n; i++) {
			for (size_t at = 0;
			     udpio_next_datagram(&l->u->got[i], &at, &p);) {
				if (l->cf->capture != NULL)
					udpio_capture(l->cf->capture, p.from,
					    p.to, p.tos, p.data, p.len,
					    p.stamp_ns);
				take_packet(l, &p, now);
			}
		}
	}
}

/* Send a control message. */
static void
send_message(struct weight_thread *l, struct async_worker_out *o)
{
	if (!control_send(&l->control, o->message, o->len))
		l->n[WEIGHT_THREAD_SEND_FAILED]++;
}

/* Send a run of segments of the gradient while there is room. */
static void
send_run(
    struct weight_thread *l, const struct async_worker_out *o, uint64_t now_ns)
{
	const uint32_t floats = l->w.in.floats, all = l->w.in.cf.elements;
	const uint32_t head = seg_head_bytes(worker_tos(l->cf));
	const int n = (int)o->count;
	bool blocked;
	int sent;

	for (uint32_t k = 0; k < o->count; k++) {
		const uint32_t i = o->first + k;
		struct iovec *v = &l->piece[2 * k];

		seg_put(l->head[k], o->iteration, 1, i);
		v[0] = (struct iovec){ l->head[k], head };
		v[1] = (struct iovec){ l->gradient + 4 * (size_t)i * floats,
		    4 * (size_t)seg_floats_at(all, floats, i) };
		if (worker_tags_data(l->cf))
			segment_tag_put(&l->w.in.tags, l->head[k],
			    v[1].iov_base, v[1].iov_len);
	}
	sent = udp_transmit_send_room(l->out, &l->cf->to, worker_tos(l->cf),
	    l->piece, 2, n, l->piece[0].iov_len + l->piece[1].iov_len,
	    timer_wall_ns(), &blocked);
	/* the socket counts all failures except a lack of room */
	async_worker_count_sent(
	    &l->w, o, (uint32_t)(blocked ? sent : n), now_ns);
}

/*
 * Wake the gradient thread (LGC) if it can do something that it could not do at
 * the last check.  Returns the time of the next check.
 */
static uint64_t
notify_if_possible(struct weight_thread *l, uint64_t now_ns)
{
	const bool ready = weight_thread_is_ready(l);
	const uint64_t at = async_worker_ready_ns(&l->w);
	const unsigned possible = (l->w.in.segs > 0 ? CAN_GREET : 0) |
	    (l->w.busy ? 0 : CAN_END) | (ready ? CAN_COMMIT : 0);

	if ((possible & ~l->possible) != 0)
		signal_eventfd(l->notify_fd);
	l->possible = possible;
	return ready || at == ASYNC_WORKER_NEVER ? TIMER_NEVER :
	    at > now_ns ? at : now_ns + ROOM_NS;
}

/*
 * Join with w, the weights before round `first`.  Returns false if out of
 * memory.
 */
static bool
join_job(struct weight_thread *l, const uint8_t *w, uint64_t first,
    bool creates_job, uint32_t xid)
{
	const struct worker_conf *cf = l->cf;
	const uint32_t most = worker_floats(cf, UPDATE_MTU_LOOPBACK);
	struct membership_conf in = { .type = CONTROL_WORKER, .async = true,
	    .job = cf->job, .cluster = cf->cluster, .number = cf->worker,
	    .elements = l->elements,
	    .floats = (uint16_t)(cf->floats < most ? cf->floats : most),
	    .floats_max = (uint16_t)most, .give_up_ns = cf->give_up_ns,
	    .sends_state = true, .creates_job = creates_job, .xid = xid,
	    .can_multicast = !l->control.cannot_multicast,
	    .tagged = worker_tags_data(cf), .key = worker_tag_key(cf),
	    .channel = &l->control.channel };
	const struct async_worker_conf aw = { .first = (int64_t)first,
	    .gamma = l->ascend ? -(float)cf->gamma : (float)cf->gamma,
	    .staleness = cf->staleness, .pace_bps = cf->pace_bps,
	    .run_segments = UDPIO_RUN_MAX };

	if (cf->floats == 0 && l->mtu < 1500)
		in.floats = (uint16_t)worker_floats(cf, l->mtu);
	l->reported_round = (int64_t)first;
	return async_worker_init(&l->w, &in, &aw, w, timer_mono_ns());
}

/* Join again with the weights before round `first`. */
static void
rejoin_job(struct weight_thread *l, const uint8_t *weights, uint64_t first,
    bool creates_job)
{
	const uint64_t joins = l->w.in.joins;
	uint8_t *copy = malloc(4 * (size_t)l->elements);
	bool good = copy != NULL;

	if (good) {
		memcpy(copy, weights, 4 * (size_t)l->elements);
		async_worker_free(&l->w);
		/* the pushes are counted from 0 again */
		channel_client_renew(&l->control.channel);
		good = join_job(
		    l, copy, first, creates_job, l->transfer.receiver.xid);
	}
	if (!good)
		err(1, "no memory for a vector of %" PRIu32 " elements",
		    l->elements);
	free(copy);
	l->w.in.joins = joins;
	l->w.weights.applied = 1;	/* the gradient thread (LGC) must get
					 * these weights */
	l->was_member = true;
}

/* Join again with the state that was received. */
static void
join_with_state(struct weight_thread *l)
{
	struct state_receiver *e = &l->transfer.receiver;

	if (e->bytes != 4 * (size_t)l->elements) {
		warnx("%s: the state of worker %" PRIu32 " is not a vector of "
		    "%" PRIu32 " elements", l->cf->to_name, e->sender,
		    l->elements);
		l->failed = true;
		return;
	}
	rejoin_job(l, e->body, e->iteration, false);
	state_receiver_free(e);
}

/*
 * Start the job again with the weights of this worker.  This happens if the
 * switch was restarted, no worker has a state to send, and all other workers
 * are in the same round.  If pushes of the last rounds are missing, all workers
 * lose these pushes, because all continue with the weights of this worker.
 */
static void
restart_job(struct weight_thread *l)
{
	const struct async_weights *a = &l->w.weights;

	rejoin_job(l, a->w, (uint64_t)a->most, true);
}

/*
 * Continue to fetch a state; when the fetch has ended, handle its result.
 * Returns the time of the next check.
 */
static uint64_t
advance_transfer(struct weight_thread *l, uint64_t now_ns)
{
	struct state_transfer *h = &l->transfer;
	char text[CONTROL_IO_TEXT_BYTES];

	control_send_transfer(h, &l->control, &l->w.in, now_ns);
	if (h->receiver.end == STATE_RECEIVER_GOING)
		return state_transfer_deadline_ns(h);
	h->fetching = false;
	if (h->receiver.end == STATE_RECEIVER_REFUSED && l->was_member) {
		restart_job(l);
		return now_ns;
	}
	control_explain_transfer(h, l->cf, text);
	if (text[0] != '\0')
		warnx("%s", text);
	if (h->receiver.end == STATE_RECEIVER_HAS)
		join_with_state(l);
	else
		l->failed = true;
	return now_ns;
}

/* Send all packets that are due.  Returns the time of the next check. */
static uint64_t
send_due(struct weight_thread *l)
{
	const uint64_t now = timer_mono_ns();
	struct async_worker_out o;
	uint64_t due;

	if (l->transfer.fetching)
		return advance_transfer(l, now);
	l->was_member |= l->w.in.joined;
	if (l->w.weights.t_s > l->w.weights.first)
		l->transfer.tries = 0;
	offer_weights(l, now);
	async_worker_note_room(&l->w);
	while (async_worker_next(&l->w, now, &o)) {
		if (o.count > 0)
			send_run(l, &o, now);
		else
			send_message(l, &o);
	}
	due = timer_earlier(
	    async_worker_deadline_ns(&l->w), notify_if_possible(l, now));
	return l->w.blocked && l->u->link_full ?
	    timer_earlier(due, now + ROOM_NS) : due;
}

/* Print the CRC of every N-th round, and of the last round. */
static void
report_rounds(struct weight_thread *l, bool last)
{
	const int64_t every = (int64_t)l->cf->every;
	const int64_t t_s = l->w.weights.t_s;
	uint32_t crc;

	if (l->cf->json == NULL || every == 0)
		return;
	while (l->reported_round < t_s) {
		int64_t r = (l->reported_round + every - 1) / every * every;

		if (r >= t_s && (!last || l->reported_round == t_s))
			break;
		r = r < t_s ? r : t_s - 1;
		if (async_weights_crc(&l->w.weights, r, &crc))
			fprintf(l->cf->json, "{\"round\":%" PRId64
			    ",\"crc\":\"%08" PRIx32 "\"}\n", r, crc);
		l->reported_round = r + 1;
		fflush(l->cf->json);
	}
}

/*
 * Fetch a state if the worker cannot continue and the state of another worker
 * would help.
 */
static bool
start_fetch(struct weight_thread *l)
{
	if (async_worker_is_going(&l->w) ||
	    !state_transfer_is_useful(&l->transfer, &l->w.in,
		l->w.end >= ASYNC_WORKER_AHEAD, l->was_member))
		return false;
	state_transfer_start_fetch(&l->transfer, &l->w.in, !l->was_member,
	    timer_mono_ns());
	return true;
}

/* Is the worker done?  Prints the reason unless the end was requested. */
static bool
is_over(struct weight_thread *l)
{
	char why[ASYNC_WORKER_WHY_BYTES];

	if (l->transfer.fetching && !l->failed) {
		l->over = l->leave;	/* a worker that fetches a state is not
					 * a member */
		return l->over;
	}
	if (l->leave)
		async_worker_leave(&l->w, timer_mono_ns());
	else if (start_fetch(l))
		return false;
	if (l->cf->capture != NULL && l->cf->capture->failed == EPIPE) {
		l->failed = true;	/* pcapio_close_or_warn() prints why */
	} else if (!async_worker_is_going(&l->w) &&
	    l->w.in.end != MEMBERSHIP_LEFT) {
		warnx("%s: %s", l->cf->to_name,
		    async_worker_why(&l->w, why));
		l->failed = true;
	}
	l->over = l->failed || !async_worker_is_going(&l->w);
	return l->over;
}

/*
 * Wait without the lock until a packet arrives, the gradient thread (LGC) wakes
 * this thread, or deadline_ns is reached.
 */
static void
wait_for_events(struct weight_thread *l, uint64_t deadline_ns)
{
	struct pollfd p[3] = {
	    {.fd = l->u->fd,
		.events =
		    (short)(POLLIN |
			    (l->w.blocked && !l->u->link_full ? POLLOUT : 0))},
	    {.fd = l->wake_fd, .events = POLLIN},
	    {.fd = l->u->in_multicast_group ? l->u->group_fd : -1,
		.events = POLLIN}};
	const uint64_t now = timer_mono_ns(),
		       held = udp_transmit_deadline_ns(l->out);
	uint64_t ns = deadline_ns > now ? deadline_ns - now : 0, wall;
	int n;

	if (held != UDP_TRANSMIT_NEVER) {
		wall = timer_wall_ns();
		ns = timer_earlier(ns, held > wall ? held - wall : 0);
	}
	pthread_mutex_unlock(&l->lock);
	while (atomic_load(&l->lock_waiters) > 0)
		sched_yield();	/* let the gradient thread (LGC) take the lock,
				 * because a mutex is not fair */
	n = spin_poll(&l->spin, p, 3, timer_earlier(ns, TIMER_SECOND_NS), NULL,
	    now);
	udp_multicast_set_ready(l->u, n, p[0].revents, p[2].revents);
	pthread_mutex_lock(&l->lock);
	if (n <= 0)
		return;
	if ((p[0].revents & POLLERR) != 0)
		udpio_read_errors(l->u);
	if (p[1].revents != 0)
		clear_eventfd(l->wake_fd);
}

/* Flush the capture and warn about unreachable addresses, once a second. */
static void
warn_unreachable(struct weight_thread *l, uint64_t *warned_ns, uint64_t *warned)
{
	const uint64_t now = timer_mono_ns();

	if (now - *warned_ns < TIMER_SECOND_NS)
		return;
	*warned_ns = now;
	worker_tick_files(l->cf);
	if (l->u->unreachable != *warned)
		warnx("%s: unreachable; %" PRIu64 " packets could not be "
		    "delivered so far",
		    l->cf->to_name, l->u->unreachable);
	*warned = l->u->unreachable;
}

/* Run the thread. */
static void *
run_thread(void *arg)
{
	struct weight_thread *l = arg;
	uint64_t warned_ns = 0, warned = 0;
	struct stall_report stall = { 0 };
	char text[STALL_REPORT_LINE_BYTES];

	pthread_mutex_lock(&l->lock);
	while (!is_over(l)) {
		wait_for_events(l, send_due(l));
		receive_packets(l);
		udp_transmit_flush(l->out, timer_wall_ns());
		if (!control_join_group(&l->control, &l->w.in, text,
		    timer_mono_ns()))
			warnx("%s", text);
		report_rounds(l, false);
		warn_unreachable(l, &warned_ns, &warned);
		if (stall_report_join(&stall, l->cf->to_name, &l->w.in, text,
		    timer_mono_ns()))
			warnx("%s", text);
	}
	report_rounds(l, true);
	pthread_mutex_unlock(&l->lock);
	signal_eventfd(l->notify_fd);
	return NULL;
}

void
weight_thread_start(struct weight_thread *l, const struct worker_conf *cf,
    struct udpio *u, struct udp_transmit *out, uint64_t mtu, uint32_t elements,
    const uint8_t *w, uint64_t first, bool ascend)
{
	*l = (struct weight_thread){ .cf = cf, .u = u, .out = out, .mtu = mtu,
	    .elements = elements, .possible = CAN_END, .ascend = ascend,
	    .wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	    .notify_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	    .spin = spin_for(cf->spin_ns),
	    .gradient = malloc(4 * (size_t)elements) };
	state_transfer_init(&l->transfer, cf->worker);
	if (!control_open(&l->control, cf, out,
	    &l->n[WEIGHT_THREAD_MALFORMED], &l->n[WEIGHT_THREAD_BAD_MAC]))
		err(1, "cannot get random numbers");
	if (l->wake_fd == -1 || l->notify_fd == -1)
		err(1, "eventfd");
	if (l->gradient == NULL || !durations_reserve(&l->rounds) ||
	    !join_job(l, w, first, false,
	    control_first_xid(timer_wall_ns())))
		err(1, "no memory for a vector of %" PRIu32 " elements",
		    elements);
	pthread_mutex_init(&l->lock, NULL);
	errno = pthread_create(&l->thread, NULL, run_thread, l);
	if (errno != 0)
		err(1, "cannot start a thread");
}

bool
weight_thread_stop(struct weight_thread *l)
{
	weight_thread_lock(l);
	l->leave = true;
	weight_thread_unlock(l);
	signal_eventfd(l->wake_fd);
	pthread_join(l->thread, NULL);
	close(l->wake_fd);
	close(l->notify_fd);
	free(l->gradient);
	state_transfer_free(&l->transfer);
	return !l->failed;
}

void
weight_thread_lock(struct weight_thread *l)
{
	atomic_fetch_add(&l->lock_waiters, 1);
	pthread_mutex_lock(&l->lock);
	atomic_fetch_sub(&l->lock_waiters, 1);
}

void
weight_thread_unlock(struct weight_thread *l)
{
	pthread_mutex_unlock(&l->lock);
}

void
weight_thread_clear_notice(struct weight_thread *l)
{
	clear_eventfd(l->notify_fd);
}

bool
weight_thread_is_ready(const struct weight_thread *l)
{
	return async_worker_is_ready(&l->w, true, timer_mono_ns()) &&
	    udpio_unsent_bytes(l->u) <= ASYNC_WORKER_UNSENT_BYTES;
}

void
weight_thread_commit(struct weight_thread *l, const uint8_t *vec)
{
	const uint64_t now = timer_mono_ns();

	memcpy(l->gradient, vec, 4 * (size_t)l->w.in.cf.elements);
	if (l->committed_ns == 0)
		l->committed_ns = now;
	async_worker_commit(&l->w, now);
	l->possible &= ~(unsigned)(CAN_END | CAN_COMMIT);
	signal_eventfd(l->wake_fd);
}

bool
weight_thread_copy_weights(
    const struct weight_thread *l, uint8_t *w, uint64_t *seen)
{
	const struct async_weights *a = &l->w.weights;

	if (a->applied == *seen)
		return false;
	*seen = a->applied;
	memcpy(w, a->w, 4 * (size_t)a->elements);
	return true;
}
