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
	w->mender.fetches = !w->weights.proving &&
	    (w->weights.t_s < w->need || !async_weights_uniform(&w->weights) ||
	    async_weights_behind(&w->weights));
	w->mender.round = async_weights_wire(w->weights.t_s);
	if (w->busy && mender_whole(&w->mender))
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
	if (!mender_init(&w->mender, segs, false))
		return false;
	w->mender.acks = true;
	mender_window(&w->mender, segs, segs);
	if (w->in.rtt_ns > 0)
		mender_sample(&w->mender, w->in.rtt_ns);
	mender_turn(&w->mender, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	if (w->busy)
		mender_all(&w->mender);	/* all of it once more */
	async_worker_repair_look(w);
	return true;
}

/* A gradient has been committed. */
static inline void
async_worker_repair_push(struct async_worker *w, uint64_t now_ns)
{
	if (!w->repairs)
		return;
	mender_turn(&w->mender, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	mender_all(&w->mender);
}

/* Segment i has taken round `round`, or keeps it until its turn. */
static inline void
async_worker_repair_result(struct async_worker *w, const struct seg *g,
    enum async_weights_verdict v, uint64_t now_ns)
{
	if (!w->repairs || g->index >= w->weights.segs)
		return;
	if (v == ASYNC_WEIGHTS_DUPLICATE)
		mender_duplicate(&w->mender, g->index);
	else if (v == ASYNC_WEIGHTS_APPLIED || v == ASYNC_WEIGHTS_EARLY)
		mender_took_round(&w->mender, g->index, g->iteration,
		    v == ASYNC_WEIGHTS_EARLY, now_ns);
}

/* Is it a STATE or a NACK? */
static inline bool
async_worker_told(struct async_worker *w, const struct control *c,
    uint64_t now_ns)
{
	bool behind;

	if (!w->repairs || c->job != w->in.cf.job ||
	    !mender_told(&w->mender, c, c->xid, &behind, now_ns))
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
	struct mender *m = &w->mender;
	uint8_t room[REPAIR_BITMAP_BYTES];
	struct repair_help h;
	uint32_t xid;

	if (!w->repairs || !mender_probe(m, now_ns))
		return false;
	xid = membership_xid(&w->in);
	mender_fill(m, xid, &h, room, now_ns);
	for (uint32_t i = 0; i < a->segs; i++) {
		if (a->seg[i].next == a->t_s &&
		    !mender_ask_round(m, &h, room, i))
			break;
	}
	o->count = 0;
	o->len = repair_say_help(o->message, w->in.cf.job, xid, &h);
	membership_said(&w->in, now_ns);
	return true;
}

#endif
