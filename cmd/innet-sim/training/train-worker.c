/*
 * train-worker.c - workers and the phases of an iteration; see train-worker.h
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/innet-sim/training/train-async.h"
#include "cmd/innet-sim/training/train-dlp.h"
#include "cmd/innet-sim/training/train-faults.h"
#include "cmd/innet-sim/training/train-host.h"
#include "cmd/innet-sim/training/train-life.h"
#include "cmd/innet-sim/training/train-member.h"
#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-pieces.h"
#include "cmd/innet-sim/training/train-ring.h"
#include "cmd/innet-sim/training/train-worker.h"

void
train_begin(struct sim *s, struct training *t)
{
	t->began_ns = s->now_ns;
	train_add_faults(s, t);
	for (uint32_t i = 0; i < t->cf->workers; i++) {
		struct train_worker *w = &t->w[i];

		if (t->cf->mode == TRAINING_ASYNC) {
			train_async_begin(s, w);
		} else {
			w->phase = TRAIN_UPDATES;
			w->phase_ns = s->now_ns;
			w->began_ns = SIM_NEVER;
		}
		w->wake_ns = SIM_NEVER;
		train_wake(s, w->node, &w->wake_ns, s->now_ns);
	}
}

static bool
is_ring(const struct train_worker *w)
{
	return w->t->cf->approach == TRAINING_RING;
}

/*
 * Return the time that a host spends on a message of this iteration, or of this
 * step in a ring.
 */
static uint64_t
get_cost_ns(const struct train_worker *w)
{
	return train_cost_ns(w->t, is_ring(w) ? train_ring_bytes(w) :
	    4 * (uint64_t)training_elements(w->t->cf));
}

/* Enter a phase that lasts span_ns. */
static void
enter_phase(struct sim *s, struct train_worker *w, enum train_phase phase,
    uint64_t span_ns)
{
	w->phase = phase;
	w->phase_ns = s->now_ns + span_ns;
}

/* Begin the time that worker w needs to apply a result. */
static void
use_result(struct sim *s, struct train_worker *w)
{
	train_count_aggregation(w->t, s->now_ns - w->ready_ns);
	enter_phase(s, w, TRAIN_UPDATES, w->t->server != NULL ? 0 :
	    w->t->cf->update_ns);
}

/* Handle the result of an iteration after the host has read it. */
static void
complete_result(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	const bool last = w->counted <= w->iterations &&
	    train_count_result(s, w);

	if (!t->cf->barrier) {
		use_result(s, w);
		return;
	}
	w->phase = TRAIN_MEETS;
	w->phase_ns = SIM_NEVER;
	for (uint32_t i = 0; last && i < t->cf->workers; i++) {
		use_result(s, &t->w[i]);
		train_wake(s, t->w[i].node, &t->w[i].wake_ns,
		    t->w[i].phase_ns);
	}
}

/* Begin the next iteration, and end the previous one if there was one. */
static void
begin_iteration(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	uint64_t ns;

	if (w->began_ns != SIM_NEVER) {
		durations_add(&t->iteration, s->now_ns - w->began_ns);
		t->updates += ++w->iterations > t->updates;
	}
	if (w->iterations == t->cf->iterations) {
		train_finish(s, w);
		return;
	}
	w->began_ns = s->now_ns;
	ns = train_compute_ns(w);
	durations_add(&t->compute, ns);
	enter_phase(s, w, TRAIN_COMPUTES, ns);
}

/* Handle a gradient that has been computed. */
static void
complete_gradient(struct sim *s, struct train_worker *w)
{
	struct train_round *r = &w->t->round[w->iterations & 1];

	w->ready_ns = r->ready_ns = s->now_ns;
	w->t->n[TRAIN_GRADIENTS]++;
	enter_phase(s, w, TRAIN_SENDS, get_cost_ns(w));
}

/* Send the gradient, or a part of it in a ring. */
static void
send_gradient(struct sim *s, struct train_worker *w)
{
	w->sent_ns = s->now_ns;
	if (is_ring(w))
		train_ring_send(s, w);
	else if (w->dlp != NULL)
		train_dlp_gradient(w, s->now_ns);
	else if (w->pieces != NULL)
		train_pieces_add(s, w);
	else
		sync_worker_set_gradient(&w->l, s->now_ns);
	w->phase = TRAIN_WAITS;
	w->phase_ns = SIM_NEVER;
}

/* Let the worker continue after the expected message has arrived. */
static void
take_result(struct sim *s, struct train_worker *w)
{
	durations_add(&w->t->network, s->now_ns - w->sent_ns);
	if (w->dlp != NULL) {
		w->dlp->has = false;
	} else if (!is_ring(w) && w->pieces == NULL) {
		train_life_use_result(w);
		sync_worker_advance(&w->l, s->now_ns);
	}
	enter_phase(s, w, TRAIN_RECEIVES, get_cost_ns(w));
}

/* Handle the end of a phase. */
static void
end_phase(struct sim *s, struct train_worker *w)
{
	switch (w->phase) {
	case TRAIN_COMPUTES: complete_gradient(s, w); break;
	case TRAIN_SENDS: send_gradient(s, w); break;
	case TRAIN_RECEIVES:
		if (is_ring(w) && train_ring_next_step(w))
			enter_phase(s, w, TRAIN_SENDS, get_cost_ns(w));
		else
			complete_result(s, w);
		break;
	case TRAIN_UPDATES: begin_iteration(s, w); break;
	case TRAIN_JOINS:
	case TRAIN_WAITS:
	case TRAIN_MEETS:
	case TRAIN_DONE: break;
	}
}

/*
 * Send all messages of the synchronous state machine that are due; return its
 * next deadline.
 */
static uint64_t
send_pending(struct sim *s, struct train_worker *w)
{
	char why[SYNC_WORKER_WHY_BYTES];
	struct sync_worker_out o;
	uint64_t due;

	if (is_ring(w))
		return SIM_NEVER;
	if (w->dlp != NULL)
		return train_dlp_send_pending(s, w);
	if (train_life_receive_state(s, w, &due))
		return due;
	if (w->pieces != NULL)
		train_pieces_run(s, w);
	while (sync_worker_next(&w->l, s->now_ns, &o)) {
		if (o.count == 0)
			train_send_control(s, w, o.message, o.len);
		else
			train_send_segments(s, w, &w->l.in.tags, o.iteration,
			    o.first, o.count);
	}
	if (train_life_receive_state(s, w, &due))
		return due;
	if (!sync_worker_is_going(&w->l)) {
		sim_report_wrong(s, "%s: %s", w->node->name,
		    sync_worker_why(&w->l, why));
		return SIM_NEVER;
	}
	if (!w->in && w->l.in.joined) {
		w->in = true;
		w->t->joined++;
	}
	return sync_worker_deadline_ns(&w->l);
}

static bool
has_result(const struct train_worker *w)
{
	return is_ring(w) ? train_ring_has(w) : w->dlp != NULL ?
	    w->dlp->has : w->pieces != NULL ? train_pieces_has(w) :
	    sync_worker_is_whole(&w->l);
}

/*
 * Do all work that a synchronous worker can do now; return its next deadline.
 */
static uint64_t
advance(struct sim *s, struct train_worker *w)
{
	uint64_t due;

	do {
		while (w->phase_ns <= s->now_ns)
			end_phase(s, w);
		due = send_pending(s, w);
		if (w->phase == TRAIN_WAITS && has_result(w))
			take_result(s, w);
	} while (w->phase_ns <= s->now_ns);
	return w->phase_ns < due ? w->phase_ns : due;
}

static void
run_worker(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	uint64_t due;

	if (w->phase == TRAIN_DONE || w->paused_ns > s->now_ns ||
	    w->life.dead > 0 || (w->a.finished && train_is_over(t)))
		return;
	due = t->cf->mode == TRAINING_ASYNC ? train_async_step(s, w) :
	    advance(s, w);
	if (w->phase == TRAIN_JOINS && t->joined == t->cf->workers) {
		train_begin(s, t);
		return;
	}
	if (w->phase != TRAIN_DONE)
		train_wake(s, w->node, &w->wake_ns, due);
}

static void
receive_datagram(struct sim *s, struct train_worker *w,
    const struct sim_datagram *d)
{
	struct control c;
	struct seg g;

	if (d->tos == training_tos(w->t->cf) &&
	    seg_parse_as(d->tos, d->p, d->len, &g)) {
		if (!train_check_tag(w, &w->l.in.tags, d))
			return;
		train_check_result(s, w, &g);
		if (sync_worker_receive_result(&w->l, &g, s->now_ns) !=
		    SYNC_WORKER_TAKE)
			return;
		if (w->pieces != NULL)
			train_pieces_store(w, &g);
		train_life_add_segment(w, &g);
		w->t->n[TRAIN_WRONG] += w->t->ledger == NULL &&
		    !train_is_right_sum(&g);
	} else if (d->tos == CONTROL_TOS &&
		   train_receive_control(s, w, &w->l.in,
		       w->t->sends_state ? &w->life.transfer : NULL, d, &c)) {
		sync_worker_receive_control(&w->l, &c, s->now_ns);
	}
}

static void
receive_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct train_worker *w = n->own;
	struct training *t = w->t;

	if (w->life.dead > 0 || (t->sends_state && p->dg.dport !=
	    train_life_port(w))) {
		train_count_loss(s, p, SIM_LOST_DOWN);
		return;
	}
	if (train_is_overwritten(s, &p->dg)) {	/* its socket was full */
		train_count_loss(s, p, SIM_LOST_QUEUE);
		return;
	}
	t->n[TRAIN_CAME]++;
	if ((by->port != TRAIN_INSIDE && t->cf->packet_ns > 0) ||
	    w->paused_ns > s->now_ns) {
		const uint64_t at = w->paused_ns > s->now_ns ?
		    w->paused_ns : s->now_ns;

		w->rx_ns = (w->rx_ns > at ? w->rx_ns : at) +
		    t->cf->packet_ns;
		train_send_packet(s, t, w->rx, p, w->rx_ns);
		return;
	}
	if (is_ring(w))
		train_ring_receive(w, p);
	else if (t->cf->mode == TRAINING_ASYNC)
		train_async_arrive(s, w, p);
	else if (w->dlp != NULL)
		train_dlp_receive(s, w, &p->dg);
	else
		receive_datagram(s, w, &p->dg);
	run_worker(s, w);
}

static void
handle_wake(struct sim *s, struct sim_node *n)
{
	struct train_worker *w = n->own;

	if (w->paused_ns > s->now_ns)
		return;		/* the worker wakes when the pause is over */
	if (w->wake_ns > s->now_ns)
		return;
	w->wake_ns = SIM_NEVER;
	run_worker(s, w);
}

const struct sim_kind train_worker_kind = { .name = "worker",
	.arrive = receive_packet, .wake = handle_wake };
