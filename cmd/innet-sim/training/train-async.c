/*
 * train-async.c - asynchronous workers; see train-async.h
 *
 * These are the workers of iSwitch's Algorithm 1, and the asynchronous workers
 * of a parameter server (Figure 3 of the iSwitch paper).  LGC (local gradient
 * computing) computes a gradient and commits it unless it is too stale.  LWU
 * (local weight update) sends the gradient, receives rounds and updates the
 * weights, one task at a time.  async-worker.h implements LWU as a state
 * machine; this file adds the time that the tasks of LWU take.  With a server,
 * LGC waits for the answer to its gradient before it computes the next one.
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

/*
 * Shortest time in which a worker computes a gradient after its last iteration.
 */
#define SLOW_NS 20000000u
enum {
	SLOWER = 16	/* in a random training job, SLOW_NS grows to 1/16 of
			 * the time since the last iteration */
};

/* Open the state machine of worker w with the weights before round `first`. */
static void
open_machine(struct train_worker *w, const struct membership_conf *in,
    const uint8_t *weights, int64_t first, uint64_t now_ns)
{
	const struct training *t = w->t;
	const struct async_worker_conf cf = { .gamma = 1, .first = first,
	    .staleness = t->server != NULL ? UINT64_MAX : t->cf->staleness,
	    .run_segments = t->segs };

	if (!async_worker_init(&w->a.m, in, &cf, weights, now_ns))
		err(1, "weights");
}

/*
 * Open the state machine of worker w with the first weights.  If the number of
 * the round will soon wrap around, the number of the push will wrap around as
 * well.
 */
static void
open_first_machine(const struct sim *s, struct train_worker *w,
    const struct membership_conf *in)
{
	const struct training *t = w->t;
	uint8_t *zeros = sim_alloc(t->segs, 4 * t->carried, "weights");

	w->a = (struct train_async){ .learn_ns = SIM_NEVER,
	    .shown = train_first_round(s) };
	open_machine(w, in, zeros, w->a.shown, s->now_ns);
	w->a.m.pushes = train_first_round(s);
	free(zeros);
}

void
train_async_open(const struct sim *s, struct train_worker *w,
    const struct membership_conf *in)
{
	open_first_machine(s, w, in);
}

/*
 * Return the shortest time in which worker w computes a gradient.  A worker
 * that has finished only helps the others, which may need minutes to fetch a
 * state over links that lose many packets.  In a random training job, such a
 * worker becomes slower and slower, so that its packets are not mistaken for
 * packets that never stop.
 */
static uint64_t
get_least_ns(const struct sim *s, const struct train_worker *w)
{
	const uint64_t since_ns = s->now_ns - w->t->end_ns;

	if (!w->a.finished)
		return 0;
	return w->t->ledger != NULL && since_ns / SLOWER > SLOW_NS ?
	    since_ns / SLOWER : SLOW_NS;
}

/* Let LGC (local gradient computing) use the current weights for a gradient. */
static void
start_computing(struct sim *s, struct train_worker *w)
{
	const uint64_t least_ns = get_least_ns(s, w);
	uint64_t ns = train_compute_ns(w);

	ns = ns > least_ns ? ns : least_ns;
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

void
train_async_restart(struct sim *s, struct train_worker *w, uint32_t xid)
{
	const struct membership_conf in = train_membership(w, xid);

	open_first_machine(s, w, &in);
	train_async_begin(s, w);
}

/* Return the time from which the link has room for another segment. */
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

/*
 * Return the time at which is_ready() must be called again if no packet arrives
 * earlier.  Returns SIM_NEVER if only a packet can change the result of
 * is_ready().
 */
static uint64_t
ready_ns(const struct train_worker *w)
{
	const uint64_t room = get_room_ns(w),
	    at = async_worker_ready_ns(&w->a.m);

	return at > room ? at : room;
}

/*
 * Occupy the worker's process for `ns` nanoseconds, after the work that the
 * process has already begun.  Returns the time when it is free again.
 */
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

/*
 * Commit the gradient of LGC (local gradient computing) unless the gradient is
 * too stale.  LWU (local weight update) must be ready for a gradient.
 */
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

/*
 * Finish a round: from now on, LGC (local gradient computing) uses weights that
 * contain the result of the round.
 */
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
		t->updates++;	/* with a server, each answer counts as an
				 * update */
	else if (w->iterations > t->updates)
		t->updates++;
	if ((t->server != NULL ? t->updates : w->iterations) >=
	    t->cf->iterations)
		train_finish(s, w);
	else if (t->server != NULL)
		start_computing(s, w);
}

/*
 * Send all messages of the state machine that are due.  Returns false if there
 * were none.
 */
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

/*
 * Join again with the weights before round `first`, as innet-worker does.
 * After that, LGC (local gradient computing) must still get the result of the
 * round before `first`.
 */
static void
rejoin_job(struct sim *s, struct train_worker *w, const uint8_t *weights,
    int64_t first, bool creates_job)
{
	const size_t bytes = 4 * (size_t)w->a.m.weights.elements;
	struct membership_conf in = train_membership(w,
	    w->life.transfer.receiver.xid);
	uint8_t *copy = sim_alloc(bytes, 1, "weights");

	memcpy(copy, weights, bytes);
	in.creates_job = creates_job;
	async_worker_free(&w->a.m);
	/* the pushes are counted from 0 again */
	channel_client_renew(&w->channel);
	open_machine(w, &in, copy, first, s->now_ns);
	free(copy);
	w->a.learning = false;
	w->a.learn_ns = SIM_NEVER;
	w->a.shown = first > train_first_round(s) ? first - 1 : first;
	w->iterations = (uint64_t)(w->a.shown - train_first_round(s));
}

/*
 * Handle the end of a fetch: join with the state, start the job again, or
 * report the failure.
 */
static void
end_fetch(struct sim *s, struct train_worker *w)
{
	struct state_receiver *e = &w->life.transfer.receiver;
	const struct async_weights *a = &w->a.m.weights;

	w->life.transfer.fetching = false;
	if (e->end == STATE_RECEIVER_REFUSED && w->a.was_member) {
		w->t->ledger->restarted = true;
		rejoin_job(s, w, a->w, a->most, true);
	} else if (e->end != STATE_RECEIVER_HAS) {
		train_life_report_failure(s, w);
	} else if (e->bytes != 4 * a->elements) {
		sim_report_wrong(s, "state: %s: has %u bytes", w->node->name,
		    e->bytes);
	} else {
		rejoin_job(s, w, e->body, (int64_t)e->iteration, false);
		state_receiver_free(e);
	}
}

/*
 * Send states to other workers.  Fetch a state if the state machine of worker w
 * has ended and a state would help.  While w fetches a state, returns true and
 * sets *due to the time of the next check.
 */
static bool
transfer_state(struct sim *s, struct train_worker *w, uint64_t *due)
{
	struct state_transfer *h = &w->life.transfer;
	struct async_worker *m = &w->a.m;

	if (!w->t->sends_state)
		return false;
	state_sender_drop_unused(&h->sender, s->now_ns);
	w->a.was_member |= m->in.joined;
	if (!h->fetching && m->weights.t_s > m->weights.first)
		h->tries = 0;
	if (!h->fetching && !async_worker_is_going(m) &&
	    state_transfer_is_useful(h, &m->in, m->end >= ASYNC_WORKER_AHEAD,
	    w->a.was_member))
		state_transfer_start_fetch(h, &m->in, !w->a.was_member,
		    s->now_ns);
	train_life_send_state(s, w);
	if (!h->fetching)
		return false;
	*due = state_transfer_deadline_ns(h);
	if (h->receiver.end != STATE_RECEIVER_GOING) {
		end_fetch(s, w);
		*due = s->now_ns;
	}
	return true;
}

/*
 * Do all work that can be done now.  While worker w fetches a state, returns
 * true and sets *due to the time of the next check.
 */
static bool
run_machine(struct sim *s, struct train_worker *w, uint64_t *due)
{
	do {
		while (advance(s, w))
			;
		if (w->phase == TRAIN_DONE)
			return false;
		if (transfer_state(s, w, due))
			return true;
	} while (send_messages(s, w));
	/* a time-out may have ended the state machine */
	return transfer_state(s, w, due);
}

uint64_t
train_async_step(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	char why[ASYNC_WORKER_WHY_BYTES];
	uint64_t due, at;

	if (run_machine(s, w, &due))
		return w->phase_ns < due ? w->phase_ns : due;
	if (w->phase == TRAIN_DONE)
		return SIM_NEVER;
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
			/* number of updates by other workers in between */
			count_staleness(t, (uint64_t)vec_get(g.vec, 0) - 1);
	} else if (d->tos == CONTROL_TOS &&
		   train_receive_control(s, w, &a->m.in,
		       t->sends_state ? &w->life.transfer : NULL, d, &c)) {
		async_worker_receive_control(&a->m, &c, s->now_ns);
	}
}
