/*
 * aggport.h - an aggregation switch on UDP sockets
 *
 * Drives iswitch.h live: one socket for members and whoever commands, and for
 * each job one more towards the parent, if there is one.  For tools: says what
 * is wrong and may exit while it opens.  Time for the machine is the
 * monotonic clock, set once to the wall's; captures have the kernel's stamps.
 */
#ifndef INNET_LIVE_AGGPORT_H
#define INNET_LIVE_AGGPORT_H

#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/iswitch/switch-control.h"
#include "common/live/outlet.h"
#include "common/live/timer.h"
#include "common/live/udpio.h"

enum {
	AGGPORT_BATCHES = 16,		/* received between looks at all else */
	AGGPORT_WAIT_MS = 1000		/* for room to send, a batch, at most */
};

struct aggport_conf {
	struct iswitch_conf iswitch;
	union addr listen, parent;	/* parent: if iswitch.job.child */
	uint64_t duration_ns;		/* TIMER_NEVER: until a signal */
	struct impair impair;		/* of what goes out, and comes in */
	const char *port_file;		/* NULL: none */
	struct pcapio_out *ingress, *egress;	/* captures, or NULL */
	volatile sig_atomic_t *stop, *tell;	/* set by signals */
	const sigset_t *wait_mask;	/* signals let in while waiting */
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	bool quiet, verbose, progress;
};

/* The socket of one job towards the parent. */
struct aggport_up {
	struct udpio u;
	struct outlet out;
	uint16_t job;
};

/* What the kernel and --impair did, of all sockets. */
struct aggport_account {
	uint64_t kernel, unreachable, send_failed;
	uint64_t lost, duplicated, reordered, in_lost, in_duplicated;
};

struct aggport {
	const struct aggport_conf *cf;
	struct udpio u;
	struct outlet out;
	struct impair in;		/* the same chances, on the way in */
	struct iswitch s;
	struct outbox box;
	struct aggport_up **up;		/* by job index, NULL: none yet */
	uint32_t ups;			/* places in up */
	struct pollfd *poll;
	uint64_t base_ns;		/* wall - monotonic, at the start */
	uint64_t now_ns;		/* of the machine */
	uint64_t told_ns, warned_ns;	/* told, warned of the parent */
	struct aggport_account gone;	/* of sockets closed */
	bool warned_drops;
	bool hasty;			/* waited enough in this batch */
};

static inline uint64_t
aggport_now(const struct aggport *a)
{
	return timer_mono_ns() + a->base_ns;
}

/*
 * Wait for room in u to send; false if there is none.  The link's queue may
 * be full while the socket's is not: then sleep a little.  Who has waited for
 * long in vain does not wait again for the rest of the batch: one way that is
 * blocked must not stop all others.
 */
static inline bool
aggport_room(struct aggport *a, const struct udpio *u, int tries)
{
	struct pollfd p = { .fd = u->fd, .events = POLLOUT };
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (a->hasty)
		return false;
	if (tries > 0 || u->link_full)
		nanosleep(&ms, NULL);
	a->hasty = tries == AGGPORT_WAIT_MS ||
	    poll(&p, 1, AGGPORT_WAIT_MS) != 1;
	return !a->hasty;
}

/* Send a run; what finds no room in time is counted as failed. */
static inline void
aggport_send(struct aggport *a, struct outlet *out, const union addr *to,
    const struct post *p)
{
	uint32_t done = 0;
	int tries = 0, n;

	while (done < p->count) {
		n = outlet_send_run(out, to, p->tos,
		    p->p + (size_t)done * p->bytes, p->bytes,
		    (int)(p->count - done), p->last_bytes, a->now_ns);
		done += n > 0 ? (uint32_t)n : 0;
		if (done == p->count)
			break;
		if (errno != EAGAIN)
			return;		/* counted in the socket */
		tries = n > 0 ? 0 : tries;
		if (!aggport_room(a, out->u, tries++)) {
			out->u->send_failed += p->count - done;
			return;
		}
	}
}

static inline void
aggport_account_one(struct aggport_account *c, const struct udpio *u,
    const struct outlet *o)
{
	c->kernel += u->kernel_drops;
	c->unreachable += u->unreachable;
	c->send_failed += u->send_failed;
	c->lost += o->impair.lost;
	c->duplicated += o->impair.duplicated;
	c->reordered += o->impair.reordered;
}

/* The socket of job index k towards the parent is not needed any more. */
static inline void
aggport_down(struct aggport *a, uint32_t k)
{
	if (a->up[k] == NULL)
		return;
	aggport_account_one(&a->gone, &a->up[k]->u, &a->up[k]->out);
	outlet_free(&a->up[k]->out);
	udpio_close(&a->up[k]->u);
	free(a->up[k]);
	a->up[k] = NULL;
}

/* The socket of job index k towards the parent, opened when it is needed. */
static inline struct aggport_up *
aggport_up(struct aggport *a, uint32_t k)
{
	struct aggport_up *up;
	char name[ADDR_NAME_BYTES];

	if (a->up[k] != NULL && a->up[k]->job == a->s.job[k]->j.id)
		return a->up[k];
	aggport_down(a, k);	/* its place is another job's now */
	up = calloc(1, sizeof(*up));
	if (up == NULL || udpio_open_towards(&up->u, &a->cf->parent, SEG_TOS,
	    !a->cf->no_offload, NULL) == -1) {
		warn("%s: a socket for job %u", addr_print(&a->cf->parent,
		    name), a->s.job[k]->j.id);
		free(up);
		return NULL;
	}
	udpio_waits(&up->u);
	up->out = outlet_over(&up->u, &a->cf->impair, a->cf->egress);
	up->job = a->s.job[k]->j.id;
	a->up[k] = up;
	a->ups = k >= a->ups ? k + 1 : a->ups;
	return up;
}

/* outbox_deliver: put a post on its sockets. */
static inline void
aggport_deliver(void *ctx, const struct post *p)
{
	struct aggport *a = ctx;
	struct aggport_up *up;
	const struct member *m;
	uint32_t next = 0;

	switch (p->to) {
	case POST_ONE: aggport_send(a, &a->out, &p->at, p); break;
	case POST_GROUP:
		while ((m = members_next(&a->s.job[p->group]->j.members,
		    &next)) != NULL)
			aggport_send(a, &a->out, &m->at, p);
		break;
	case POST_UP:
		up = aggport_up(a, p->group);
		if (up != NULL)
			aggport_send(a, &up->out, &a->cf->parent, p);
		break;
	}
}

/* How often --impair lets a datagram in; what it holds back comes at once. */
static inline int
aggport_copies(struct aggport *a)
{
	uint64_t at[2];

	return impair_any(&a->in) ? impair_plan(&a->in, 0, at) : 1;
}

/* One datagram, from below or (up) from the parent. */
static inline void
aggport_take(struct aggport *a, const struct udpio *u,
    const struct udpio_packet *p, const struct aggport_up *up)
{
	if (a->cf->ingress != NULL)
		udpio_capture(a->cf->ingress, p->from, &u->local, p->tos,
		    p->data, p->len, p->stamp_ns);
	for (int n = aggport_copies(a); n > 0; n--) {
		if (up == NULL)
			iswitch_take(&a->s, p->from, p->tos, p->data, p->len,
			    a->now_ns);
		else if (addr_same(p->from, &a->cf->parent))
			iswitch_take_parent(&a->s, up->job, p->tos, p->data,
			    p->len, a->now_ns);
		else
			a->s.n[ISWITCH_FOREIGN]++;
	}
}

/*
 * What has come to one socket, so much at a time; what it leads to leaves
 * after each batch.
 */
static inline void
aggport_receive(struct aggport *a, struct udpio *u,
    const struct aggport_up *up)
{
	struct udpio_packet p;

	u->more = true;
	for (int k = 0; k < AGGPORT_BATCHES && u->more; k++) {
		const int n = udpio_recv(u);

		a->now_ns = aggport_now(a);
		a->hasty = false;
		for (int i = 0; i < n; i++) {
			for (size_t at = 0; udpio_next(&u->got[i], &at, &p);)
				aggport_take(a, u, &p, up);
		}
		outbox_flush(a->s.out);
	}
}

/*
 * Give what servers owe, a run at a time, as long as the socket has room: who
 * else waits, and what comes in, is not to wait for it.
 */
static inline void
aggport_give(struct aggport *a)
{
	struct pollfd p = { .fd = a->u.fd, .events = POLLOUT };

	for (int k = 0; k < AGGPORT_BATCHES && poll(&p, 1, 0) == 1 &&
	    (p.revents & POLLOUT) != 0 && iswitch_give(&a->s); k++)
		outbox_flush(a->s.out);
}

/* When the next thing is due, on the machine's clock. */
static inline uint64_t
aggport_due(const struct aggport *a)
{
	uint64_t due = iswitch_due(&a->s);

	due = timer_first(due, outlet_due(&a->out));
	for (uint32_t k = 0; k < a->ups; k++) {
		if (a->up[k] != NULL)
			due = timer_first(due, outlet_due(&a->up[k]->out));
	}
	return due;
}

/* Sleep until a packet, a time-out, a signal, or the end. */
static inline void
aggport_nap(struct aggport *a, uint64_t end_ns)
{
	const uint64_t now = aggport_now(a);
	uint64_t due = timer_first(aggport_due(a), end_ns);
	struct timespec ts = timer_spec(timer_first(due > now ? due - now : 0,
	    TIMER_SECOND_NS));

	a->poll[0] = (struct pollfd){ .fd = a->u.fd, .events = (short)(POLLIN |
	    (iswitch_owes(&a->s) ? POLLOUT : 0)) };
	for (uint32_t k = 0; k < a->ups; k++)
		a->poll[k + 1] = (struct pollfd){ .events = POLLIN,
		    .fd = a->up[k] == NULL ? -1 : a->up[k]->u.fd };
	if (ppoll(a->poll, a->ups + 1, &ts, a->cf->wait_mask) <= 0)
		return;
	timer_let_signals(a->cf->wait_mask);
	if ((a->poll[0].revents & POLLERR) != 0)
		udpio_errors(&a->u);
	for (uint32_t k = 0; k < a->ups; k++) {
		if ((a->poll[k + 1].revents & POLLERR) != 0)
			udpio_errors(&a->up[k]->u);
	}
}

static inline struct aggport_account
aggport_account(const struct aggport *a)
{
	struct aggport_account c = a->gone;

	c.in_lost = a->in.lost;
	c.in_duplicated = a->in.duplicated;
	aggport_account_one(&c, &a->u, &a->out);
	for (uint32_t k = 0; k < a->ups; k++) {
		if (a->up[k] != NULL)
			aggport_account_one(&c, &a->up[k]->u,
			    &a->up[k]->out);
	}
	return c;
}

/* How it goes, on a terminal. */
static inline void
aggport_progress(const struct aggport *a)
{
	uint64_t segments = 0, results = 0;
	uint32_t members = 0;

	for (uint32_t k = 0; k < a->s.jobs; k++) {
		segments += a->s.job[k]->j.n[JOB_SEGMENTS];
		results += a->s.job[k]->j.n[JOB_RESULTS];
		members += a->s.job[k]->j.members.present;
	}
	fprintf(stderr, "\r%" PRIu32 " jobs, %" PRIu32 " members, %" PRIu64
	    " segments, %" PRIu64 " results\033[K", a->s.jobs, members,
	    segments, results);
}

/*
 * Once a second: captures to the disk, sockets of jobs at rest, a parent that
 * is not there.
 */
static inline void
aggport_tick(struct aggport *a)
{
	char name[ADDR_NAME_BYTES];

	udpio_warn_drops(&a->u, &a->warned_drops);
	if (a->now_ns - a->told_ns < TIMER_SECOND_NS)
		return;
	a->told_ns = a->now_ns;
	if (a->cf->ingress != NULL)
		pcapio_flush(a->cf->ingress);
	if (a->cf->egress != NULL)
		pcapio_flush(a->cf->egress);
	if (a->cf->progress)
		aggport_progress(a);
	for (uint32_t k = 0; k < a->s.jobs; k++) {
		const struct iswitch_up *up = &a->s.job[k]->up;

		if (a->up[k] != NULL && !up->wanted &&
		    outlet_due(&a->up[k]->out) == OUTLET_NEVER)
			aggport_down(a, k);
		if (up->wanted && !up->joined && up->tries >= 10 &&
		    a->now_ns - a->warned_ns >= 2 * TIMER_SECOND_NS) {
			a->warned_ns = a->now_ns;
			warnx("%s: no answer to %" PRIu32 " Joins of job %u",
			    addr_print(&a->cf->parent, name), up->tries,
			    a->s.job[k]->j.id);
		}
	}
}

static inline bool
aggport_captures_failed(const struct aggport_conf *cf)
{
	return (cf->ingress != NULL && cf->ingress->failed != 0) ||
	    (cf->egress != NULL && cf->egress->failed != 0);
}

/* Open, or exit 1. */
static inline void
aggport_open_or_exit(struct aggport *a, const struct aggport_conf *cf)
{
	const uint32_t xid = control_first_xid(timer_wall_ns());

	*a = (struct aggport){ .cf = cf };
	outbox_init(&a->box, aggport_deliver, a);
	iswitch_init(&a->s, &cf->iswitch, xid, &a->box);
	a->up = calloc(ISWITCH_JOBS_MAX, sizeof(*a->up));
	a->poll = calloc(ISWITCH_JOBS_MAX + 1, sizeof(*a->poll));
	if (a->up == NULL || a->poll == NULL)
		err(1, "jobs");
	a->base_ns = timer_wall_ns() - timer_mono_ns();
	udpio_listen_or_exit(&a->u, &cf->listen, SEG_TOS, !cf->no_offload,
	    cf->port_file);
	if (cf->iswitch.job.whole || cf->iswitch.job.server)
		udpio_waits(&a->u);	/* one link; a switch has many */
	udpio_tell(&a->u, cf->verbose);
	a->out = outlet_over(&a->u, &cf->impair, cf->egress);
	a->in = cf->impair;
	a->in.rng = rng_seed(rng_u64(&a->in.rng));
}

/* Serve until the end; `tell` is called when a signal asks for counters. */
static inline void
aggport_serve(struct aggport *a, void (*tell)(struct aggport *))
{
	const uint64_t end = timer_after(aggport_now(a), a->cf->duration_ns);

	a->told_ns = a->now_ns = aggport_now(a);
	while (!*a->cf->stop && a->now_ns < end &&
	    !aggport_captures_failed(a->cf)) {
		aggport_nap(a, end);
		aggport_receive(a, &a->u, NULL);
		for (uint32_t k = 0; k < a->ups; k++) {
			if (a->up[k] != NULL)
				aggport_receive(a, &a->up[k]->u, a->up[k]);
		}
		a->now_ns = aggport_now(a);
		iswitch_fire(&a->s, a->now_ns);
		outbox_flush(a->s.out);
		aggport_give(a);
		outlet_flush(&a->out, a->now_ns);
		for (uint32_t k = 0; k < a->ups; k++) {
			if (a->up[k] != NULL)
				outlet_flush(&a->up[k]->out, a->now_ns);
		}
		aggport_tick(a);
		if (*a->cf->tell != 0) {
			*a->cf->tell = 0;
			tell(a);
		}
	}
	if (a->cf->progress)
		fputs("\r\033[K", stderr);
}

static inline void
aggport_close(struct aggport *a)
{
	for (uint32_t k = 0; k < a->ups; k++)
		aggport_down(a, k);
	free(a->up);
	free(a->poll);
	outlet_free(&a->out);
	udpio_close(&a->u);
	iswitch_free(&a->s);
}

#endif
