/*
 * send - a trace leaves by UDP, at its own pace or as fast as it goes
 *
 * On time: sleep short of each packet's time, spin the rest, send it.  Those of
 * one flow that are late already leave together.  At top speed packets are
 * gathered in a window and leave a five-tuple after the other, in runs of equal
 * length: that is what the kernel takes fastest, and nobody can tell the order
 * of packets that come by different sockets.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "cmd/innet-replay/flows.h"
#include "cmd/innet-replay/replay.h"
#include "common/base/progress.h"
#include "common/net/timer.h"

enum {
	WINDOW_PACKETS = 2048,
	WINDOW_BYTES = 2 << 20,
	SIGNALS_EVERY = 256,		/* packets */
	LATE_NS = 20000,		/* from then on, wait for company */
	NO_ROOM_NS = 50000,		/* to wait for a link's queue */
	GIVE_UP_NS = 1000000000		/* without room for a packet */
};

#define NONE UINT32_MAX

struct waiting {
	const uint8_t *p;
	uint32_t len, flow;
	uint32_t next;		/* of the same flow; NONE */
	uint64_t deadline_ns;	/* by the monotonic clock */
	uint8_t tos;
	bool update;
};

struct sender {
	const struct conf *cf;
	struct tally *n;
	struct flows flows;
	sigset_t wait;
	struct waiting *w;	/* the window */
	uint32_t have;
	uint8_t *bytes;		/* their payloads */
	size_t used;
	uint32_t *first, *last;	/* by flow: of the window, NONE */
	uint32_t *order;	/* flows in it, as they came */
	uint32_t flows_room, in_order;
	uint64_t began_ns, shown_ns;
	bool slow;		/* the trace itself may wait: it is a pipe */
	bool warned;
};

static void *
room(void *old, size_t n, size_t each)
{
	void *p = reallocarray(old, n, each);

	if (p == NULL)
		errx(1, "out of memory");
	return p;
}

/* Sleep up to ns, less if a signal comes. */
static void
sleep_ns(struct sender *s, uint64_t ns)
{
	const struct timespec ts = timer_to_timespec(ns);

	ppoll(NULL, 0, &ts, &s->wait);
}

/* Be there at deadline_ns; false if it ended before. */
static bool
wait_until(struct sender *s, uint64_t deadline_ns)
{
	uint64_t now = timer_mono_ns(), ns;

	while (now < deadline_ns && stopped == 0) {
		ns = pace_sleep_ns(now, deadline_ns);
		if (ns > 0)
			sleep_ns(s, ns);
		now = timer_mono_ns();
	}
	return stopped == 0;
}

static void
show(struct sender *s, const struct trace *t)
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

/* One packet could not leave; the rest goes on. */
static void
lost(struct sender *s, int why)
{
	s->n->failed++;
	if (s->warned)
		return;
	s->warned = true;
	warnx("packet %" PRIu64 " was not sent: %s", s->n->packets +
	    s->n->failed, strerror(why));
}

/* count packets of one flow and length, one after another in iov. */
static void
send_run(struct sender *s, const struct waiting *w, struct iovec *iov,
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
		if (done == count || stopped != 0)
			return;
		if (errno != EAGAIN || timer_mono_ns() - began > GIVE_UP_NS) {
			lost(s, errno);
			done++;
		} else {
			ppoll(u->link_full ? NULL : &fd, u->link_full ? 0 : 1,
			    &ts, &s->wait);
		}
	}
}

/* Write the time of sending into the updates of a run. */
static void
stamp(const struct waiting *w)
{
	if (w->update)
		bytes_put((uint8_t *)(uintptr_t)w->p + UPDATE_GENERATED_AT,
		    timer_wall_ns(), 8);
}

/* The packets of a window from k on, along next or one after another. */
static void
send_from(struct sender *s, uint32_t k, bool along)
{
	struct iovec iov[UDPIO_RUN_MAX];
	uint64_t now = timer_mono_ns();
	int n;

	while (k != NONE && k < s->have && stopped == 0) {
		const struct waiting *head = &s->w[k], *w = head;

		for (n = 0; n < UDPIO_RUN_MAX; n++) {
			if (w->flow != head->flow || w->len != head->len ||
			    w->tos != head->tos)
				break;
			if (s->cf->stamp)
				stamp(w);
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

static void
flush(struct sender *s)
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
full(const struct sender *s, size_t more)
{
	return s->have == WINDOW_PACKETS || s->used + more > WINDOW_BYTES;
}

/* Packet k of the window is the last of its flow, so far. */
static void
join(struct sender *s, uint32_t f, uint32_t k)
{
	const uint32_t had = s->flows_room;

	if (f >= had) {
		s->flows_room = s->flows.room;
		s->first = room(s->first, s->flows_room, sizeof(*s->first));
		s->last = room(s->last, s->flows_room, sizeof(*s->last));
		s->order = room(s->order, s->flows_room, sizeof(*s->order));
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

/* Put a packet into the window. */
static void
keep(struct sender *s, const struct trace_packet *p, uint64_t deadline_ns)
{
	const uint32_t f = flows_find(&s->flows, &p->f.flow);
	const uint32_t k = s->have++;

	s->w[k] = (struct waiting){ .p = s->bytes + s->used,
	    .len = p->f.payload_bytes, .flow = f, .next = NONE,
	    .deadline_ns = deadline_ns, .tos = p->f.tos, .update = p->update };
	memcpy(s->bytes + s->used, p->payload, p->f.payload_bytes);
	s->used += p->f.payload_bytes;
	if (s->cf->topspeed)
		join(s, f, k);
}

/* What is waiting goes before what is not due yet.  False when it is over. */
static bool
make_way(struct sender *s, uint64_t deadline_ns, size_t bytes)
{
	const bool early = !s->cf->topspeed && timer_mono_ns() < deadline_ns;

	if (s->have > 0 && (early || full(s, bytes)))
		flush(s);
	if (s->cf->duration_ns != TIMER_NEVER &&
	    timer_after(s->began_ns, s->cf->duration_ns) <=
	    (early ? deadline_ns : timer_mono_ns()))
		return false;
	return !early || wait_until(s, deadline_ns);
}

static int
play(struct sender *s, struct trace *t)
{
	struct trace_packet p;
	uint64_t k = 0, due;
	int got = 0;

	for (; stopped == 0 && (s->cf->count == 0 || k < s->cf->count); k++) {
		got = trace_next(t, &p);
		if (got != 1)
			break;
		due = s->cf->topspeed ? 0 : s->began_ns +
		    replay_due_ns(s->cf, p.deadline_ns, k);
		if (!make_way(s, due, p.f.payload_bytes))
			break;
		keep(s, &p, due);
		if (!s->cf->topspeed && (s->slow || timer_mono_ns() - due <
		    LATE_NS))
			flush(s);
		if (k % SIGNALS_EVERY == 0) {
			timer_deliver_signals(&s->wait);
			if (s->cf->progress)
				show(s, t);
		}
	}
	flush(s);
	return got == -1;
}

static void
on_signal(int sig)
{
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
		stopped = sig;
}

int
send_trace(const struct conf *cf, struct trace *t, struct tally *n)
{
	struct sender s = { .cf = cf, .n = n,
	    .slow = trace_progress(t) < 0 };
	int rc;

	timer_block_signals(on_signal, &s.wait);
	prctl(PR_SET_TIMERSLACK, 1);	/* sleeps end when they should */
	flows_open(&s.flows, &cf->to, cf->offload);
	s.w = room(NULL, WINDOW_PACKETS, sizeof(*s.w));
	s.bytes = room(NULL, WINDOW_BYTES + UDPIO_PACKET_BYTES, 1);
	memset(s.bytes, 0, WINDOW_BYTES + UDPIO_PACKET_BYTES);
	s.began_ns = s.shown_ns = timer_mono_ns();
	rc = play(&s, t);
	n->elapsed_ns = timer_mono_ns() - s.began_ns;
	n->flows = s.flows.count;
	n->unreachable = flows_unreachable(&s.flows);
	if (cf->progress)
		progress_clear();
	flows_close(&s.flows);
	free(s.w);
	free(s.bytes);
	free(s.first);
	free(s.last);
	free(s.order);
	return rc;
}
