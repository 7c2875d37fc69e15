/*
 * thread.c - the thread of libinnet.so, which carries the vectors of one member
 *
 * The thread does the work of sync.c in innet-worker, without a child: it puts
 * the operations of the caller into the ring, sends and receives packets, and
 * records completed operations.  It holds the lock only to look at the queue,
 * and never while it copies or waits.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-worker/library/handle.h"
#include "cmd/innet-worker/udp-multicast.h"
#include "common/iswitch/sync-worker-control.h"
#include "common/net/timer.h"

#define NAP_NS 50000000u	/* longest wait */
#define LINK_NS 1000000u	/* time to wait until a full link has room
				 * again */

/* Tell all callers that wait that something has changed.  The lock is held. */
static void
wake_callers(struct innet_worker *w)
{
	if (w->waiters > 0)
		pthread_cond_broadcast(&w->changed);
}

/*
 * Fail all operations that are not complete, with this reason.  From now on the
 * thread does not use the caller's vectors.
 */
static void
fail(struct innet_worker *w, const char *why)
{
	pthread_mutex_lock(&w->lock);
	if (!w->failed)
		snprintf(w->failure, sizeof(w->failure), "%s", why);
	w->failed = true;
	wake_callers(w);
	pthread_mutex_unlock(&w->lock);
}

/* Fail because sums lack contributions, or the caller starts no operation. */
static void __attribute__((format(printf, 2, 3)))
fail_job(struct innet_worker *w, const char *fmt, ...)
{
	char text[INNET_WORKER_TEXT_BYTES];
	va_list ap;
	int n = snprintf(text, sizeof(text), "%s: job %u: ", w->name,
	    w->cf.job);

	n = n < (int)sizeof(text) ? n : 0;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	fail(w, text);
}

/*
 * Wait until packets arrive, the caller wants something, or a deadline is over.
 */
static void
wait_for_events(struct innet_worker *w, uint64_t now_ns)
{
	const uint64_t due = sync_worker_deadline_ns(&w->io.l);
	struct pollfd p[3] = {
	    { .fd = w->u.fd, .events = (short)(POLLIN | (w->io.blocked &&
		!w->u.link_full ? POLLOUT : 0)) },
	    { .fd = w->u.in_multicast_group ? w->u.group_fd : -1,
		.events = POLLIN },
	    { .fd = w->wake_fd, .events = POLLIN } };
	uint64_t ns = timer_earlier(due > now_ns ? due - now_ns : 0, NAP_NS);
	uint64_t wakes;
	int n;

	if (w->io.blocked && w->u.link_full)
		ns = timer_earlier(ns, LINK_NS);
	w->io.blocked = false;
	if (udp_transmit_deadline_ns(&w->out) != UDP_TRANSMIT_NEVER)
		ns = timer_earlier(ns, pace_sleep_ns(timer_wall_ns(),
		    udp_transmit_deadline_ns(&w->out)));
	n = spin_poll(&w->spin, p, 3, ns, NULL, now_ns);
	udp_receiver_waited(&w->in);
	udp_multicast_set_ready(&w->u, n, p[0].revents, p[1].revents);
	if (n > 0 && (p[0].revents & POLLERR) != 0)
		udpio_read_errors(&w->u);
	if (n > 0 && p[2].revents != 0 &&
	    read(w->wake_fd, &wakes, sizeof(wakes)) == -1)
		wakes = 0;		/* another read has reset it */
	if (udp_transmit_deadline_ns(&w->out) != UDP_TRANSMIT_NEVER)
		udp_transmit_flush(&w->out, timer_wall_ns());
}

/* Wait, and handle the packets that have arrived.  Returns the time. */
static uint64_t
run_once(struct innet_worker *w, uint64_t now_ns)
{
	struct udpio_packet p;

	wait_for_events(w, now_ns);
	now_ns = timer_mono_ns();
	while (udp_receiver_next(&w->in, &p))
		sync_io_receive(&w->io, &p, now_ns);
	return now_ns;
}

/* Remove the next operation that is not in the ring yet. */
static bool
take_operation(struct innet_worker *w, struct operation *o)
{
	bool has;

	pthread_mutex_lock(&w->lock);
	has = w->taken < w->started;
	if (has)
		*o = w->queue[w->taken++ & (w->room - 1)];
	pthread_mutex_unlock(&w->lock);
	return has;
}

/*
 * Complete the oldest operation, whose sum has these numbers of contributions.
 * The lock is held.
 */
static void
complete_operation(struct innet_worker *w, uint16_t most, uint16_t least)
{
	struct innet_worker_count *count =
	    w->queue[w->done & (w->room - 1)].count;

	if (count != NULL)
		*count = (struct innet_worker_count){ most, least };
	w->done++;
	wake_callers(w);
}

/* Complete the operations whose sums have arrived. */
static void
complete_operations(struct innet_worker *w, uint64_t now_ns)
{
	const uint16_t all = sync_io_all_contributions(&w->io);
	struct sync_ring_piece p;
	bool lacks = false;

	pthread_mutex_lock(&w->lock);
	while (w->done < w->taken && !lacks) {
		const struct operation *o =
		    &w->queue[w->done & (w->room - 1)];

		if (o->n == 0)
			p = (struct sync_ring_piece){ .most = all,
			    .least = all };
		else if (!sync_ring_take(&w->io.ring, &p))
			break;
		lacks = o->count == NULL && p.least < all;
		if (!lacks)
			complete_operation(w, p.most, p.least);
		w->used_ns = now_ns;
	}
	pthread_mutex_unlock(&w->lock);
	if (lacks)
		fail_job(w, "a sum has %u of %u contributions; does the switch "
		    "run with --straggler, or a rack without -H?", p.least,
		    all);
}

/* Put operations into the ring and complete those whose sums are there. */
static void
run_operations(struct innet_worker *w, uint64_t now_ns)
{
	struct operation o;

	sync_ring_run(&w->io.ring, &w->io.l, now_ns);
	complete_operations(w, now_ns);
	while (sync_ring_has_room(&w->io.ring) && take_operation(w, &o)) {
		w->used_ns = now_ns;
		if (o.n > 0)
			sync_ring_add(&w->io.ring, o.in, o.out, o.n);
		sync_ring_run(&w->io.ring, &w->io.l, now_ns);
	}
	complete_operations(w, now_ns);
}

/* Record for innet_worker_error() why operations are not complete. */
static void
record_wait(struct innet_worker *w, uint64_t now_ns)
{
	char text[STALL_REPORT_LINE_BYTES];
	const bool due = stall_report_result(&w->stall, w->name, &w->io.l, 0,
	    text, now_ns);

	/* keep a report until the wait that it describes is over */
	if (!due && (w->stalled[0] == '\0' ||
	    w->stall.since_ns == w->stalled_since_ns))
		return;
	w->stalled_since_ns = w->stall.since_ns;
	pthread_mutex_lock(&w->lock);
	snprintf(w->stalled, sizeof(w->stalled), "%s", due ? text : "");
	pthread_mutex_unlock(&w->lock);
}

/* Fail if the membership has ended, or if the caller is idle for too long. */
static void
check_end(struct innet_worker *w, bool idle, uint64_t now_ns)
{
	char text[SYNC_IO_WHY_BYTES];

	if (!sync_worker_is_going(&w->io.l)) {
		sync_io_explain_end(&w->io, "this program", text);
		fail(w, text);
	} else if (idle && now_ns - w->used_ns >= w->silence_ns) {
		fail_job(w, "the program has started no operation for %.1f s",
		    (double)w->silence_ns / 1e9);
	}
}

/*
 * Record that the switch has accepted this member.  Returns whether the thread
 * must end.
 */
static bool
check_callers(struct innet_worker *w, uint64_t now_ns)
{
	bool idle, leaving;

	pthread_mutex_lock(&w->lock);
	if (!w->joined && w->io.l.in.joined) {
		w->joined = true;
		w->floats = w->io.l.floats;
		w->used_ns = now_ns;
		wake_callers(w);
	}
	idle = w->joined && w->done == w->started;
	leaving = w->leaving;
	pthread_mutex_unlock(&w->lock);
	if (!leaving)
		check_end(w, idle, now_ns);
	return leaving || w->failed;	/* this thread alone sets `failed` */
}

/* Leave the job, and wait a short time for the answer. */
static void
leave_job(struct innet_worker *w, uint64_t now_ns)
{
	sync_worker_leave(&w->io.l, now_ns);
	for (;;) {
		sync_io_send(&w->io, now_ns);
		if (!sync_worker_is_going(&w->io.l))
			return;
		now_ns = run_once(w, now_ns);
	}
}

void *
innet_worker_thread(void *arg)
{
	struct innet_worker *w = arg;
	char text[CONTROL_IO_TEXT_BYTES];
	uint64_t now = timer_mono_ns();

	w->used_ns = now;
	do {
		now = run_once(w, now);
		run_operations(w, now);
		now = timer_mono_ns();
		sync_io_send(&w->io, now);
		/* without a group, the switch sends this member copies */
		(void)control_join_group(&w->io.control, &w->io.l.in, text,
		    now);
		record_wait(w, now);
	} while (!check_callers(w, now));
	leave_job(w, now);
	udp_transmit_flush(&w->out, UDP_TRANSMIT_NEVER);
	return NULL;
}
