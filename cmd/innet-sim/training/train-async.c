/*
 * train-async.c - asynchronous workers: train-async.h
 *
 * These are iSwitch's Algorithm 1 and the asynchronous workers of a parameter
 * server (its Figure 3).  LGC (local gradient computing) computes a gradient
 * and commits it unless it is too stale.  LWU (local weight update, the machine
 * of async-worker.h) sends it, receives rounds and updates the weights, one
 * thing at a time; this file has the time that these take.  With a server, LGC
 * waits for the answer to its gradient before it computes the next one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-sim/training/train-async.h"
#include "cmd/innet-sim/training/train-host.h"
#include "cmd/innet-sim/training/train-life.h"
#include "cmd/innet-sim/training/train-member.h"
#include "cmd/innet-sim/training/train-net.h"

void
train_async_open(struct train_worker *w, const struct membership_conf *in)
{
	const struct training *t = w->t;
	const struct async_worker_conf cf = { .gamma = 1,
	    .staleness = t->server != NULL ? UINT64_MAX : t->cf->staleness,
	    .run_segments = t->segs };
	uint8_t *zeros = sim_alloc(t->segs, 4 * t->carried, "weights");

	w->a = (struct train_async){ .learn_ns = SIM_NEVER };
	if (!async_worker_init(&w->a.m, in, &cf, zeros, 0))
		err(1, "weights");
	free(zeros);
}

/* LGC takes the weights as they are, and computes. */
static void
start_computing(struct sim *s, struct train_worker *w)
{
	const uint64_t ns = train_compute_ns(w);

	w->a.t_w = w->a.shown;
	durations_add(&w->t->compute, ns);
	w->phase = TRAIN_COMPUTES;
	w->phase_ns = s->now_ns + ns;
}

void
train_async_begin(struct sim *s, struct train_worker *w)
{
	w->a.learnt_ns = s->now_ns;
	start_computing(s, w);
}

/* Return when the link has room for another segment. */
static uint64_t
get_room_ns(const struct train_worker *w)
{
	struct link l = { .rate_bps = w->up->link.rate_bps };
	const uint64_t ns = link_time_ns(&l, ASYNC_WORKER_UNSENT_BYTES);

	return w->up->link.free_ns > ns ? w->up->link.free_ns - ns : 0;
}

static bool
is_ready(const struct sim *s, const struct train_worker *w)
{
	return async_worker_is_ready(&w->a.m, get_room_ns(w) <= s->now_ns,
	    s->now_ns);
}

/* When to ask that again, if nothing comes; SIM_NEVER: then is soon enough. */
static uint64_t
ready_ns(const struct train_worker *w)
{
	const uint64_t room = get_room_ns(w),
	    at = async_worker_ready_ns(&w->a.m);

	return at > room ? at : room;
}

/* A process that may have something else to end first takes so long. */
static uint64_t
occupy_process(struct sim *s, struct train_worker *w, uint64_t ns)
{
	w->busy_ns = (w->busy_ns > s->now_ns ? w->busy_ns : s->now_ns) + ns;
	return w->busy_ns;
}

static uint64_t
get_message_ns(const struct train_worker *w)
{
	return train_cost_ns(w->t, 4 * (uint64_t)w->t->elements);
}

static void
count_staleness(struct training *t, uint64_t stale)
{
	t->stale[stale < TRAIN_STALE ? stale : TRAIN_STALE]++;
	t->stale_sum += stale;
	t->stale_count++;
}

/* LGC's gradient is there, and LWU ready for it. */
static void
commit_gradient(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	struct training *t = w->t;
	const uint64_t stale = async_weights_staleness(a->shown, a->t_w);

	w->phase_ns = SIM_NEVER;
	w->phase = TRAIN_WAITS;
	if (!async_worker_is_fresh(&a->m, stale)) {
		t->n[TRAIN_DISCARDED]++;
		start_computing(s, w);
		return;
	}
	if (a->committed_ns == 0)
		a->committed_ns = w->ready_ns;
	async_worker_commit(&a->m, occupy_process(s, w, get_message_ns(w)));
	if (t->server != NULL)
		return;
	count_staleness(t, stale);
	start_computing(s, w);
}

/* A round is in the weights. */
static void
apply_round(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	struct training *t = w->t;

	a->shown++;
	a->learning = false;
	a->learn_ns = SIM_NEVER;
	w->iterations++;
	if (a->committed_ns != 0)
		train_count_aggregation(t, s->now_ns - a->committed_ns);
	a->committed_ns = 0;
	durations_add(&t->iteration, s->now_ns - a->learnt_ns);
	a->learnt_ns = s->now_ns;
	if (t->server != NULL)
		t->updates++;		/* each answer is one */
	else if (w->iterations > t->updates)
		t->updates++;
	if ((t->server != NULL ? t->updates : w->iterations) >=
	    t->cf->iterations)
		train_finish(s, w);
	else if (t->server != NULL)
		start_computing(s, w);
}

/* What the machine wants sent; is there any? */
static bool
send_messages(struct sim *s, struct train_worker *w)
{
	struct async_worker *m = &w->a.m;
	struct async_worker_out o;
	bool any = false;

	for (; async_worker_next(m, s->now_ns, &o); any = true) {
		if (o.count == 0) {
			train_send_control(s, w, o.message, o.len);
			continue;
		}
		if (!o.again && !m->again)
			w->sent_ns = s->now_ns;
		train_send_segments(s, w, &m->in.tags, o.iteration, o.first,
		    o.count);
		async_worker_count_sent(m, &o, o.count, s->now_ns);
	}
	return any;
}

static bool
advance(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;

	if (w->phase == TRAIN_JOINS)
		return false;
	if (a->learn_ns <= s->now_ns) {
		apply_round(s, w);
	} else if (!a->learning && a->m.weights.t_s > a->shown) {
		a->learning = true;
		a->learn_ns = occupy_process(s, w, get_message_ns(w) +
		    (w->t->server == NULL ? w->t->cf->update_ns : 0));
	} else if (w->phase == TRAIN_COMPUTES && w->phase_ns <= s->now_ns) {
		w->t->n[TRAIN_GRADIENTS]++;
		w->ready_ns = s->now_ns;
		w->phase = TRAIN_SENDS;
		w->phase_ns = SIM_NEVER;
	} else if (w->phase == TRAIN_SENDS && is_ready(s, w)) {
		commit_gradient(s, w);
	} else {
		return false;
	}
	return w->phase != TRAIN_DONE;
}

uint64_t
train_async_step(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	char why[ASYNC_WORKER_WHY_BYTES];
	uint64_t due, at;

	do {
		while (advance(s, w))
			;
		if (w->phase == TRAIN_DONE)
			return SIM_NEVER;
	} while (send_messages(s, w));
	if (!async_worker_is_going(&a->m)) {
		sim_report_wrong(s, "%s: %s", w->node->name,
		    async_worker_why(&a->m, why));
		return SIM_NEVER;
	}
	if (!w->in && a->m.in.joined && !a->m.in.closed) {
		w->in = true;
		w->t->joined++;
	}
	due = async_worker_deadline_ns(&a->m);
	due = w->phase_ns < due ? w->phase_ns : due;
	due = a->learn_ns < due ? a->learn_ns : due;
	at = w->phase == TRAIN_SENDS ? ready_ns(w) : SIM_NEVER;
	return at < due ? at : due;
}

void
train_async_arrive(struct sim *s, struct train_worker *w,
    const struct sim_packet *p)
{
	struct train_async *a = &w->a;
	const struct sim_datagram *d = &p->dg;
	struct training *t = w->t;
	struct control c;
	struct seg g;

	if (w->phase == TRAIN_DONE)
		return;
	if (d->tos == training_tos(t->cf) &&
	    seg_parse_as(d->tos, d->p, d->len, &g)) {
		if (!train_check_tag(w, &a->m.in.tags, d))
			return;
		train_check_result(s, w, &g);
		if (async_worker_receive_result(&a->m, &g, s->now_ns) !=
		    ASYNC_WEIGHTS_APPLIED)
			return;
		if (a->m.weights.t_s > a->shown + (a->learning ? 1 : 0) &&
		    w->sent_ns != 0) {
			durations_add(&t->network, s->now_ns - w->sent_ns);
			w->sent_ns = 0;
		}
		if (t->server == NULL && t->ledger == NULL)
			t->n[TRAIN_WRONG] += !train_is_right_sum(&g);
		else if (t->server != NULL && g.index == 0)
			/* what others did meanwhile */
			count_staleness(t, (uint64_t)vec_get(g.vec, 0) - 1);
	} else if (d->tos == CONTROL_TOS &&
		   train_receive_control(s, w, &a->m.in, NULL, d, &c)) {
		async_worker_receive_control(&a->m, &c, s->now_ns);
	}
}
