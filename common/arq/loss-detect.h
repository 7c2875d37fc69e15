/*
 * loss-detect.h - a switch's side of repair: what a member's segments lack
 *
 * A switch that is missing what a member has sent says so at once (a NACK),
 * when segments behind it have come, and in answer to a Probe (a STATE); it
 * has no timers.  Segments that overtake others are no loss: `slack` of them
 * may, and more when what was asked for came twice.  t is an iteration, or the
 * push of an asynchronous member.
 */
#ifndef INNET_ARQ_LOSS_DETECT_H
#define INNET_ARQ_LOSS_DETECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/repair.h"

enum {
	LOSS_DETECT_SLACK = 3, LOSS_DETECT_SLACK_MAX = 64,
	LOSS_DETECT_EVERY = 8			/* segments between NACKs */
};

#define LOSS_DETECT_NOTHING INT64_MIN		/* owed */

struct loss_detect {
	int64_t t;			/* its newest segment's iteration */
	int64_t high;			/* highest index of t; -1 none */
	uint32_t from;			/* none before is NACKed any more */
	uint32_t since;			/* segments since the last NACK */
	uint32_t slack;			/* segments that may overtake one */
	uint32_t last;			/* newest of t, not asked for */
	uint32_t mark;			/* of the last Probe */
	uint32_t xid;			/* of the last Probe */
	bool marked;			/* there was one */
	uint32_t held_upto;		/* its upto, when the job was closed */
	uint16_t dups;			/* came though asked for */
	int64_t owed;			/* a notice when it is whole */
	uint32_t owed_xid;		/* the Probe that it answers */
	bool fenced;			/* out of step: the member is told */
	uint32_t fence;			/* ... this mark, since t has come */
	uint8_t asked[];		/* bit i: of t, and asked for */
};

/* Bytes of one, for vectors of so many segments. */
static inline uint64_t
loss_detect_bytes(uint32_t segs)
{
	return sizeof(struct loss_detect) + (segs + 7) / 8;
}

/* Of a member that has just been let in; NULL without memory. */
static inline struct loss_detect *
loss_detect_make(uint32_t segs)
{
	struct loss_detect *g = calloc(1, loss_detect_bytes(segs));

	if (g == NULL)
		return NULL;
	g->t = g->owed = LOSS_DETECT_NOTHING;
	g->high = -1;
	g->slack = LOSS_DETECT_SLACK;
	g->since = LOSS_DETECT_EVERY;
	g->last = REPAIR_NONE;
	return g;
}

static inline bool
loss_detect_asked(const struct loss_detect *g, uint32_t i)
{
	return (g->asked[i / 8] >> i % 8 & 1) != 0;
}

/* Its segments are of iteration t from now on. */
static inline void
loss_detect_turn(struct loss_detect *g, uint32_t segs, int64_t t)
{
	g->t = t;
	g->fenced = false;
	g->high = -1;
	g->from = 0;
	g->since = LOSS_DETECT_EVERY;
	g->last = REPAIR_NONE;
	g->slack -= g->slack > LOSS_DETECT_SLACK;
	memset(g->asked, 0, (segs + 7) / 8);
}

/*
 * What a member has sent, as the caller keeps it: the caller's functions are
 * given its own context and the member's id.
 */
struct loss_detect_view {
	uint32_t segs;			/* of a vector */
	uint32_t id;			/* the member's */
	const void *context;		/* borrowed */
	/* Is the member's part of segment i of t here? */
	bool (*has)(const void *context, uint32_t id, int64_t t, uint32_t i);
	/* Would segment i of t be dropped now, because it has no slot yet? */
	bool (*is_early)(const void *context, uint32_t id, int64_t t,
	    uint32_t i);
};

/* Is the member's part of segment i of t here? */
static inline bool
loss_detect_has(const struct loss_detect_view *v, int64_t t, uint32_t i)
{
	return v->has(v->context, v->id, t, i);
}

/*
 * What of [from, upto) of t is lacking, and has a slot, at room; it is asked
 * for now.
 */
static inline struct repair_bitmap
loss_detect_lacking(struct loss_detect *g, const struct loss_detect_view *v,
    int64_t t, uint32_t from, uint32_t upto, uint8_t *room)
{
	const uint32_t segs = v->segs;
	struct repair_bitmap b = { 0 };

	for (uint32_t i = from; i < upto && i < segs; i++) {
		if (loss_detect_has(v, t, i) ||
		    v->is_early(v->context, v->id, t, i))
			continue;
		if (!repair_add(&b, room, i))
			break;
		if (t == g->t)
			g->asked[i / 8] |= (uint8_t)(1u << i % 8);
	}
	return b;
}

/*
 * Segment i of t has come, and is added.  True if a NACK is due, for what is
 * lacking of [*from, *upto).
 */
static inline bool
loss_detect_took(struct loss_detect *g, const struct loss_detect_view *v,
    int64_t t, uint32_t i, uint32_t *from, uint32_t *upto)
{
	uint32_t end;

	if (g->t == LOSS_DETECT_NOTHING || t > g->t)
		loss_detect_turn(g, v->segs, t);
	if (t != g->t)
		return false;
	if (!loss_detect_asked(g, i))
		g->last = i;
	g->since++;
	if (i > g->high)
		g->high = i;
	if (g->high < g->slack)
		return false;
	end = (uint32_t)(g->high - g->slack) + 1;
	while (g->from < end && loss_detect_has(v, t, g->from))
		g->from++;
	if (g->from >= end || g->since < LOSS_DETECT_EVERY)
		return false;
	*from = g->from;
	*upto = end;
	g->from = end;
	g->since = 0;
	return true;
}

/* Segment i of t has come twice: if it was asked for, it had only been late. */
static inline void
loss_detect_duplicate(struct loss_detect *g, int64_t t, uint32_t i)
{
	if (t != g->t || !loss_detect_asked(g, i))
		return;
	g->dups++;
	if (g->slack < LOSS_DETECT_SLACK_MAX)
		g->slack *= 2;
}

/* A Probe with that xid and mark; false if it is an old one. */
static inline bool
loss_detect_probed(struct loss_detect *g, uint32_t xid, uint32_t mark)
{
	if (g->marked && !control_newer(xid, g->xid))
		return false;
	g->mark = mark;		/* lower, if the member was started again */
	g->xid = xid;
	g->marked = true;
	return true;
}

#endif
