/*
 * async-worker-repair.h - an asynchronous worker's repair
 *
 * A push is over when a STATE says that the switch has all of it; until then
 * its gradient is kept, and what is lacking is sent again.  The Probe behind
 * a push, and those amid a round, also ask for the round's results.  (A lost
 * push would leave its segments one contribution behind the others for good:
 * iSwitch, Algorithm 1.)
 */
#ifndef INNET_ISWITCH_ASYNC_WORKER_REPAIR_H
#define INNET_ISWITCH_ASYNC_WORKER_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/async-worker-state.h"

/* Is the push over, and what round is owed to us? */
static inline void
async_worker_repair_look(struct async_worker *w)
{
	if (!w->repairs)
		return;
	w->retransmit.fetches = !w->weights.proving &&
	    (w->weights.t_s < w->need || !async_weights_uniform(&w->weights) ||
	    async_weights_behind(&w->weights));
	w->retransmit.round = async_weights_wire(w->weights.t_s);
	if (w->busy && retransmit_whole(&w->retransmit))
		w->busy = false;
}

/* We are in: does the switch repair?  False without memory. */
static inline bool
async_worker_repair_begin(struct async_worker *w, uint64_t now_ns)
{
	const uint32_t segs = w->weights.segs;

	w->repairs = w->in.repairs;
	w->weights.repairs = w->repairs;
	if (!w->repairs)
		return true;
	if (!retransmit_init(&w->retransmit, segs, false))
		return false;
	w->retransmit.acks = true;
	retransmit_window(&w->retransmit, segs, segs);
	if (w->in.rtt_ns > 0)
		retransmit_sample(&w->retransmit, w->in.rtt_ns);
	retransmit_turn(&w->retransmit, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	if (w->busy)
		retransmit_all(&w->retransmit);	/* all of it once more */
	async_worker_repair_look(w);
	return true;
}

/* A gradient has been committed. */
static inline void
async_worker_repair_push(struct async_worker *w, uint64_t now_ns)
{
	if (!w->repairs)
		return;
	retransmit_turn(&w->retransmit, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	retransmit_all(&w->retransmit);
}

/* Segment i has taken round `round`, or keeps it until its turn. */
static inline void
async_worker_repair_result(struct async_worker *w, const struct seg *g,
    enum async_weights_verdict v, uint64_t now_ns)
{
	if (!w->repairs || g->index >= w->weights.segs)
		return;
	if (v == ASYNC_WEIGHTS_DUPLICATE)
		retransmit_duplicate(&w->retransmit, g->index);
	else if (v == ASYNC_WEIGHTS_APPLIED || v == ASYNC_WEIGHTS_EARLY)
		retransmit_took_round(&w->retransmit, g->index, g->iteration,
		    v == ASYNC_WEIGHTS_EARLY, now_ns);
}

/* Is it a STATE or a NACK? */
static inline bool
async_worker_told(struct async_worker *w, const struct control *c,
    uint64_t now_ns)
{
	bool behind;

	if (!w->repairs || c->job != w->in.cf.job ||
	    !retransmit_told(&w->retransmit, c, c->xid, &behind, now_ns))
		return false;
	async_worker_repair_look(w);
	return true;
}

/* A Probe, if one is to be sent now. */
static inline bool
async_worker_say_probe(struct async_worker *w, struct async_worker_out *o,
    uint64_t now_ns)
{
	struct async_weights *a = &w->weights;
	struct retransmit *m = &w->retransmit;
	uint8_t room[REPAIR_BITMAP_BYTES];
	struct repair_help h;
	uint32_t xid;

	if (!w->repairs || !retransmit_probe(m, now_ns))
		return false;
	xid = membership_xid(&w->in);
	retransmit_fill(m, xid, &h, room, now_ns);
	for (uint32_t i = 0; i < a->segs; i++) {
		if (a->seg[i].next == a->t_s &&
		    !retransmit_ask_round(m, &h, room, i))
			break;
	}
	o->count = 0;
	o->len = repair_write_help(o->message, w->in.cf.job, xid, &h);
	membership_said(&w->in, now_ns);
	return true;
}

#endif
