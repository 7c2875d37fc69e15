/*
 * serve.h - the driver of sockets: a plane that serves on UDP
 *
 * One socket is the switch's own address; a program that speaks by other ways
 * has one more for each.  Time is monotonic (clock.h): a packet that is looked
 * at only after a departure counts, and is captured, as no earlier than that
 * departure, so that captures hold exactly the order of events that the plane
 * decided by.  What left a port by its link's schedule and finds no room in the
 * kernel is lost, as on a full link; what goes straight on is waited for.
 *
 * For tools: says what is wrong, and exits 1 while it opens.
 */
#ifndef INNET_LIVE_SERVE_H
#define INNET_LIVE_SERVE_H

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/live/clock.h"
#include "common/live/outlet.h"
#include "common/live/pace.h"
#include "common/live/udpio.h"
#include "common/plane/classifier.h"

enum {
	SERVE_BATCHES = 16,		/* received between looks at all else */
	SERVE_CLOCK_EVERY = 32,		/* packets without a look at it */
	SERVE_WAIT_MS = 1000,		/* for room to send, a batch, at most */
	SERVE_WAYS_MAX = 1024		/* sockets beside the own one */
};

struct serve_conf {
	const char *tool;		/* for the summary */
	union addr listen;
	uint64_t duration_ns;		/* TIMER_NEVER: until a signal */
	uint64_t propagation_ns;	/* of every port's link */
	struct impair impair;		/* of what goes out */
	const char *port_file;		/* NULL: none */
	struct pcapio_out *ingress, *egress;	/* captures, or NULL */
	volatile sig_atomic_t *stop, *tell;	/* set by signals */
	const sigset_t *wait_mask;	/* signals let in while waiting */
	bool one_link;			/* hosts share one: wait for room */
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	bool verbose, progress;
	/* Once a second and at the end, and when a signal asks; or NULL. */
	int (*tick)(void *ctx, uint64_t now_ns, bool last);
	void *tick_ctx;
	void (*show)(void *ctx);
	void *show_ctx;
};

/* A socket. */
struct serve_way {
	struct udpio u;
	struct outlet out;
	uint32_t way;
};

/* What the kernel and --impair did, of all sockets. */
struct serve_account {
	uint64_t kernel, unreachable, send_failed;
	uint64_t lost, duplicated, reordered;
};

struct serve {
	const struct serve_conf *cf;
	struct plane *pl;
	struct clock clock;
	struct serve_way own;
	struct serve_way **way;		/* the others; owned */
	uint32_t ways;
	struct pollfd *poll;
	uint64_t told_ns, warned_ns, unreachable;
	struct serve_account gone;	/* of sockets closed */
	bool warned_drops, warned_ways;
	bool hasty;			/* waited enough in this batch */
	int taken;			/* packets since a look at the clock */
	int rc;
	/* what has left a port and is not sent yet: a run to one address */
	struct iovec leaving[UDPIO_RUN_MAX];
	int leavings;
	struct slot_to leaving_to;
	uint64_t left_ns;
};

static inline void
serve_account_one(struct serve_account *c, const struct serve_way *w)
{
	c->kernel += w->u.kernel_drops;
	c->unreachable += w->u.unreachable;
	c->send_failed += w->u.send_failed;
	c->lost += w->out.impair.lost;
	c->duplicated += w->out.impair.duplicated;
	c->reordered += w->out.impair.reordered;
}

static inline struct serve_account
serve_account(const struct serve *s)
{
	struct serve_account c = s->gone;

	serve_account_one(&c, &s->own);
	for (uint32_t k = 0; k < s->ways; k++)
		serve_account_one(&c, s->way[k]);
	return c;
}

/* The same for people: what went wrong, if anything did. */
static inline void
serve_put_summary(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_account(s);
	const uint64_t *n = s->pl->n;
	const struct { const char *name; uint64_t n; } also[] = {
		{ "lost by the kernel", a.kernel },
		{ "answered that nobody listens", a.unreachable },
		{ "not sent", a.send_failed },
		{ "lost by --impair", n[PLANE_IN_LOST] + a.lost },
		{ "duplicated", n[PLANE_IN_DUPLICATED] + a.duplicated },
		{ "reordered", a.reordered },
	};

	for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
		if (also[i].n > 0)
			counters_put(c, also[i].name, also[i].n);
	}
}

/* What the sockets counted, by name. */
static inline void
serve_put_account(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_account(s);

	counters_put(c, "kernel", a.kernel);
	counters_put(c, "unreachable", a.unreachable);
	counters_put(c, "send_failed", a.send_failed);
	counters_put(c, "impaired_lost", a.lost);
	counters_put(c, "impaired_dup", a.duplicated);
	counters_put(c, "impaired_reordered", a.reordered);
	counters_put(c, "latest_departure_ns", s->pl->late_max_ns);
}

/* The socket of way number k is not needed any more. */
static inline void
serve_shut(struct serve *s, uint32_t k)
{
	struct serve_way *w = s->way[k];

	serve_account_one(&s->gone, w);
	outlet_free(&w->out);
	udpio_close(&w->u);
	free(w);
	s->way[k] = s->way[--s->ways];
}

/*
 * The socket of a way, opened towards `to` when it is needed; or NULL: what was
 * to be sent by it is counted as failed.
 */
static inline struct serve_way *
serve_way(struct serve *s, uint32_t way, const union addr *to)
{
	struct serve_way *w;
	char name[ADDR_NAME_BYTES];

	if (way == PACKET_WAY_OWN)
		return &s->own;
	for (uint32_t k = 0; k < s->ways; k++) {
		if (s->way[k]->way == way)
			return s->way[k];
	}
	errno = EMFILE;
	w = s->ways == SERVE_WAYS_MAX ? NULL : calloc(1, sizeof(*w));
	if (w == NULL || udpio_open_towards(&w->u, to,
	    s->pl->program->tos, !s->cf->no_offload, NULL) == -1) {
		if (!s->warned_ways)
			warn("%s: one more socket", addr_print(to, name));
		s->warned_ways = true;
		free(w);
		return NULL;
	}
	udpio_waits(&w->u);
	w->out = outlet_over(&w->u, &s->cf->impair, s->cf->egress);
	w->out.propagation_ns = s->cf->propagation_ns;
	w->way = way;
	s->way[s->ways++] = w;
	return w;
}

/*
 * Wait for room in u to send; false if there is none.  The link's queue may be
 * full while the socket's is not: then sleep a little.  A batch that has waited
 * for long in vain does not wait again: one way that is blocked must not stop
 * all others.
 */
static inline bool
serve_room(struct serve *s, const struct udpio *u, int tries)
{
	struct pollfd p = { .fd = u->fd, .events = POLLOUT };
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (s->hasty)
		return false;
	if (tries > 0 || u->link_full)
		nanosleep(&ms, NULL);
	s->hasty = tries == SERVE_WAIT_MS || poll(&p, 1, SERVE_WAIT_MS) != 1;
	return !s->hasty;
}

/* plane_driver.send: what finds no room in time is counted as failed. */
static inline void
serve_send(void *ctx, uint32_t way, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct serve *s = ctx;
	struct serve_way *w = serve_way(s, way, to);
	uint32_t done = 0;
	int tries = 0, n;

	(void)from;		/* a socket has the one it is bound to */
	if (w == NULL)
		s->gone.send_failed += p->count;
	while (w != NULL && done < p->count) {
		n = outlet_send_run(&w->out, to, p->tos,
		    p->p + (size_t)done * p->bytes, p->bytes,
		    (int)(p->count - done), p->last_bytes, now_ns);
		done += n > 0 ? (uint32_t)n : 0;
		if (done == p->count)
			break;
		if (errno != EAGAIN)
			return;		/* counted in the socket */
		tries = n > 0 ? 0 : tries;
		if (!serve_room(s, &w->u, tries++)) {
			w->u.send_failed += p->count - done;
			return;
		}
	}
}

/* Send what has left: runs of one length, the last of which may be shorter. */
static inline void
serve_send_leaving(struct serve *s)
{
	const struct iovec *v = s->leaving, *end = v + s->leavings;
	const struct slot_to *to = &s->leaving_to;
	struct serve_way *w = s->leavings == 0 ? NULL :
	    serve_way(s, to->way, &to->to);

	if (w == NULL)
		s->gone.send_failed += (uint64_t)s->leavings;
	while (w != NULL && v < end) {
		int n = 1, sent = 0;

		while (v + n < end && v[n - 1].iov_len == v[0].iov_len &&
		    v[n].iov_len <= v[0].iov_len)
			n++;
		if (n > 1)
			sent = outlet_send_gather(&w->out, &to->to, to->tos, v,
			    1, n, v[0].iov_len, s->left_ns);
		v += sent;
		if (sent < n) {
			outlet_send(&w->out, &to->to, to->tos, v->iov_base,
			    v->iov_len, s->left_ns);
			v++;
		}
	}
	s->leavings = 0;
}

/* plane_driver.leave: slots that are popped keep their bytes for a while. */
static inline void
serve_leave(void *ctx, struct port *port, struct slot *slot, uint64_t when_ns)
{
	struct serve *s = ctx;
	const struct slot_to *to = &slot->to;

	(void)port;
	if (slot->changed)
		port_freshen(slot);
	if (s->leavings == UDPIO_RUN_MAX || s->left_ns != when_ns ||
	    (s->leavings > 0 && (s->leaving_to.way != to->way ||
	    s->leaving_to.tos != to->tos ||
	    !addr_same(&s->leaving_to.to, &to->to))))
		serve_send_leaving(s);
	s->left_ns = when_ns;
	s->leaving_to = *to;
	s->leaving[s->leavings++] = (struct iovec){ slot->bytes, slot->have };
}

/* plane_driver.clock: what leaves at once leaves at one time. */
static inline uint64_t
serve_clock(void *ctx)
{
	struct serve *s = ctx;

	return s->leavings > 0 ? s->left_ns : clock_now(&s->clock);
}

/* plane_driver.settle */
static inline void
serve_settle(void *ctx)
{
	serve_send_leaving(ctx);
}

static const struct plane_driver serve_driver = {
	.send = serve_send, .leave = serve_leave, .settle = serve_settle,
	.clock = serve_clock
};

/*
 * It is now_ns; what has left is sent.  A departure is later than it is due:
 * others are due by then as well.
 */
static inline void
serve_advance(struct serve *s, uint64_t now_ns)
{
	plane_advance(s->pl, now_ns);
	plane_advance(s->pl, s->pl->now_ns);
	plane_settle(s->pl);
}

/*
 * One datagram of socket w, at its time.  Time goes on within a batch: links
 * carry what is due while the rest is looked at.
 */
static inline void
serve_take(struct serve *s, struct serve_way *w,
    const struct udpio_packet *d)
{
	uint64_t came;
	struct packet p = { .from = d->from, .to = &w->u.local,
	    .way = w->way, .tos = d->tos, .payload = d->data,
	    .bytes = (uint32_t)d->len,
	    .wire_bytes = (uint32_t)d->len + flow_head_bytes(d->from) };

	if (++s->taken >= SERVE_CLOCK_EVERY) {
		s->taken = 0;
		serve_advance(s, clock_now(&s->clock));
	}
	came = clock_of(&s->clock, d->stamp_ns, s->pl->now_ns);
	serve_advance(s, came);
	for (int n = plane_copies(s->pl); n > 0; n--) {
		if (s->cf->ingress != NULL)
			udpio_capture(s->cf->ingress, d->from, &w->u.local,
			    d->tos, d->data, d->len, s->pl->now_ns);
		plane_take(s->pl, &p);
	}
}

/* What has come to one socket, a part at a time; a flood leaves time. */
static inline void
serve_receive(struct serve *s, struct serve_way *w)
{
	struct udpio_packet p;

	w->u.more = true;
	for (int k = 0; k < SERVE_BATCHES && w->u.more; k++) {
		const int n = udpio_recv(&w->u);

		clock_read(&s->clock);
		s->hasty = false;
		for (int i = 0; i < n; i++) {
			for (size_t at = 0; udpio_next(&w->u.got[i], &at, &p);)
				serve_take(s, w, &p);
		}
		plane_flush(s->pl);
		serve_advance(s, s->clock.now_ns);
	}
}

/*
 * Give what the program owes, a run at a time, as long as the socket has room:
 * who else waits, and what comes in, is not to wait for it.
 */
static inline void
serve_give(struct serve *s)
{
	const struct program *pr = s->pl->program;
	struct pollfd p = { .fd = s->own.u.fd, .events = POLLOUT };

	for (int k = 0; pr->give != NULL && k < SERVE_BATCHES &&
	    poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0 &&
	    pr->give(s->pl->state); k++)
		plane_flush(s->pl);
}

/* How long to sleep at most: until something is due, or the end. */
static inline uint64_t
serve_span(const struct serve *s, uint64_t now_ns, uint64_t end_ns)
{
	uint64_t due = timer_first(plane_due_program(s->pl), end_ns), ns;

	due = timer_first(due, outlet_due(&s->own.out));
	for (uint32_t k = 0; k < s->ways; k++)
		due = timer_first(due, outlet_due(&s->way[k]->out));
	ns = due > now_ns ? due - now_ns : 0;
	ns = timer_first(ns, pace_sleep_ns(now_ns, plane_due_port(s->pl)));
	return timer_first(ns, TIMER_SECOND_NS);
}

/* Sleep until a packet, something due, a signal, or the end. */
static inline void
serve_nap(struct serve *s, uint64_t end_ns)
{
	const struct program *pr = s->pl->program;
	const bool owes = pr->owes != NULL && pr->owes(s->pl->state);
	const struct timespec ts = timer_spec(serve_span(s,
	    clock_now(&s->clock), end_ns));
	int n;

	s->poll[0] = (struct pollfd){ .fd = s->own.u.fd,
	    .events = (short)(POLLIN | (owes ? POLLOUT : 0)) };
	for (uint32_t k = 0; k < s->ways; k++)
		s->poll[k + 1] = (struct pollfd){ .events = POLLIN,
		    .fd = s->way[k]->u.fd };
	n = ppoll(s->poll, s->ways + 1, &ts, s->cf->wait_mask);
	timer_let_signals(s->cf->wait_mask);
	if (n <= 0)
		return;
	if ((s->poll[0].revents & POLLERR) != 0)
		udpio_errors(&s->own.u);
	for (uint32_t k = 0; k < s->ways; k++) {
		if ((s->poll[k + 1].revents & POLLERR) != 0)
			udpio_errors(&s->way[k]->u);
	}
}

/* Somebody is unreachable, or the program is in trouble: now and then. */
static inline void
serve_warn(struct serve *s, uint64_t now_ns)
{
	const struct program *pr = s->pl->program;
	const struct udpio *u = &s->own.u;
	char text[256], name[ADDR_NAME_BYTES];

	udpio_warn_drops(u, &s->warned_drops);
	if (s->warned_ns != 0 && now_ns - s->warned_ns < TIMER_SECOND_NS)
		return;
	if (u->unreachable != s->unreachable && pr->relies != NULL &&
	    pr->relies(s->pl->state, &u->refused)) {
		s->warned_ns = now_ns;
		warnx("%s: unreachable, %" PRIu64 " packets so far",
		    addr_print(&u->refused, name), u->unreachable);
	} else if (pr->trouble != NULL && pr->trouble(s->pl->state, text,
	    sizeof(text)) != NULL) {
		s->warned_ns = now_ns;
		warnx("%s", text);
	}
	s->unreachable = u->unreachable;
}

/* How it goes, on a terminal. */
static inline void
serve_progress(const struct serve *s)
{
	struct counters c = counters_begin(COUNTERS_LINE, NULL);
	const struct tally_cluster t = plane_cluster(s->pl, PLANE_ALL);

	if (plane_has_updates(s->pl)) {
		counters_put(&c, "in", t.of[TALLY_ARRIVED].packets);
		counters_put(&c, "out", t.of[TALLY_DELIVERED].packets);
		counters_put(&c, "merged", t.of[TALLY_AGGREGATED].packets);
	}
	if (s->pl->program->progress != NULL)
		s->pl->program->progress(s->pl->state, &c);
	if (c.text != NULL)
		fprintf(stderr, "\r%s\033[K", c.text);
	counters_free(&c);
}

/* Once a second: captures to the disk, ways that are not needed, progress. */
static inline void
serve_tick(struct serve *s, uint64_t now_ns)
{
	const struct program *pr = s->pl->program;

	if (*s->cf->tell != 0) {
		*s->cf->tell = 0;
		s->cf->show(s->cf->show_ctx);
	}
	serve_warn(s, now_ns);
	if (now_ns - s->told_ns < TIMER_SECOND_NS)
		return;
	s->told_ns = now_ns;
	if (s->cf->ingress != NULL)
		pcapio_flush(s->cf->ingress);
	if (s->cf->egress != NULL)
		pcapio_flush(s->cf->egress);
	if (s->cf->progress)
		serve_progress(s);
	if (s->cf->tick != NULL)
		s->rc |= s->cf->tick(s->cf->tick_ctx, now_ns,
		    false);
	for (uint32_t k = s->ways; k-- > 0;) {
		if (pr->needs != NULL && !pr->needs(s->pl->state,
		    s->way[k]->way) &&
		    outlet_due(&s->way[k]->out) == OUTLET_NEVER)
			serve_shut(s, k);
	}
}

static inline bool
serve_captures_failed(const struct serve_conf *cf)
{
	return (cf->ingress != NULL && cf->ingress->failed != 0) ||
	    (cf->egress != NULL && cf->egress->failed != 0);
}

/*
 * Listen, or exit 1; *own becomes the address that the kernel gave.  Before
 * plane_init(), which needs the address, and serve_run().
 */
static inline void
serve_open(struct serve *s, const struct serve_conf *cf,
    const struct program *pr, union addr *own)
{
	*s = (struct serve){ .cf = cf, .clock = clock_start() };
	s->way = calloc(SERVE_WAYS_MAX, sizeof(struct serve_way *));
	s->poll = calloc(SERVE_WAYS_MAX + 1, sizeof(*s->poll));
	if (s->way == NULL || s->poll == NULL)
		err(1, "sockets");
	udpio_listen_or_exit(&s->own.u, &cf->listen, pr->tos,
	    !cf->no_offload, cf->port_file);
	if (cf->one_link && pr->give != NULL)
		udpio_waits(&s->own.u);
	udpio_tell(&s->own.u, cf->verbose);
	s->own.out = outlet_over(&s->own.u, &cf->impair, cf->egress);
	s->own.out.propagation_ns = cf->propagation_ns;
	*own = s->own.u.local;
}

/* Is it to go on? */
static inline bool
serve_goes_on(const struct serve *s, uint64_t now_ns, uint64_t end_ns)
{
	return !*s->cf->stop && now_ns < end_ns &&
	    !serve_captures_failed(s->cf);
}

/*
 * Serve until the end with a plane that was made over serve_driver and s.  The
 * exit status.
 */
static inline int
serve_run(struct serve *s, struct plane *pl)
{
	uint64_t now = clock_now(&s->clock);
	const uint64_t end = timer_after(now, s->cf->duration_ns);

	s->pl = pl;
	s->told_ns = pl->now_ns = now;
	while (serve_goes_on(s, now, end)) {
		serve_nap(s, end);
		serve_receive(s, &s->own);
		for (uint32_t k = 0; k < s->ways; k++)
			serve_receive(s, s->way[k]);
		now = clock_now(&s->clock);
		serve_advance(s, now);
		plane_flush(pl);
		serve_give(s);
		outlet_flush(&s->own.out, now);
		for (uint32_t k = 0; k < s->ways; k++)
			outlet_flush(&s->way[k]->out, now);
		serve_tick(s, now);
	}
	serve_receive(s, &s->own);	/* what has come counts */
	for (uint32_t k = 0; k < s->ways; k++)
		serve_receive(s, s->way[k]);
	outlet_flush(&s->own.out, OUTLET_NEVER);
	for (uint32_t k = 0; k < s->ways; k++)
		outlet_flush(&s->way[k]->out, OUTLET_NEVER);
	if (s->cf->progress)
		fputs("\r\033[K", stderr);
	plane_end(pl);
	if (s->cf->tick != NULL)
		s->rc |= s->cf->tick(s->cf->tick_ctx, now, true);
	return s->rc;
}

static inline void
serve_close(struct serve *s)
{
	while (s->ways > 0)
		serve_shut(s, 0);
	free(s->way);
	free(s->poll);
	outlet_free(&s->own.out);
	udpio_close(&s->own.u);
}

#endif
