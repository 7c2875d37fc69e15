/*
 * loss-detect.h - a receiver's detection of lost segments
 *
 * A switch reports missing segments of a member in two kinds of message.  It
 * sends a NACK as soon as later segments have arrived, and it answers a Probe
 * with a STATE.  The switch has no timers.  A segment that later segments have
 * merely overtaken is not lost.  As in RFC 9002, a missing segment i counts as
 * lost once a segment i + `slack` or later has arrived (the packet threshold).
 * The slack grows if a requested segment arrives twice.
 *
 * `t` is the number of an iteration, or of a push if the member is
 * asynchronous.  The caller records which segments have arrived, and gives
 * these functions access to this record through a struct loss_detect_view.  The
 * functions use no clock and no socket.  The caller frees a struct loss_detect
 * with free().
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
	LOSS_DETECT_EVERY = 8			/* least number of segments
						 * between two NACKs */
};

#define LOSS_DETECT_NOTHING INT64_MIN		/* stands for no iteration */

struct loss_detect {
	int64_t t;			/* iteration of the newest segment */
	int64_t high;			/* highest index of a segment of t that
					 * has arrived; -1: none */
	uint32_t from;			/* missing segments with lower indices
					 * were reported in a NACK */
	uint32_t since;			/* number of segments since the last
					 * NACK */
	uint32_t slack;			/* a segment counts as lost if a segment
					 * this number of positions later has
					 * arrived */
	uint32_t last;			/* index of the newest segment of t that
					 * arrived and had not been requested */
	uint32_t mark;			/* mark of the last Probe */
	uint32_t xid;			/* xid of the last Probe */
	bool marked;			/* a Probe has arrived */
	uint32_t held_upto;		/* `upto` of a Probe that waits until
					   the job opens; 0: no Probe waits */
	uint16_t dups;			/* number of segments that arrived twice
					 * because they had been requested */
	int64_t owed;			/* iteration for which the member
					   expects a notice, or
					   LOSS_DETECT_NOTHING */
	uint32_t owed_xid;		/* xid of the Probe that the notice
					 * answers */
	uint32_t owed_upto;		/* the member expects another notice
					 * when this number of segments is
					 * complete; 0: it does not */
	uint32_t owed_from;		/* the first of these segments that was
					 * not complete at the last check */
	bool fenced;			/* asynchronous: `fence` has been set
					 * since t began */
	uint32_t fence;			/* asynchronous: mark made when a Probe
					 * for an earlier push arrives; if
					 * another such Probe contains this
					 * mark, the member was restarted */
	uint8_t asked[]; /* bit i: segment i of t was requested */
};

/*
 * The caller's record of the segments that a member has sent.  The functions
 * has() and is_early() get the context and the id of the member.
 */
struct loss_detect_view {
	uint32_t segs;			/* number of segments in a vector */
	uint32_t id;			/* id of the member */
	const void *context;		/* borrowed */
	/* Has the member's part of segment i of t arrived? */
	bool (*has)(const void *context, uint32_t id, int64_t t, uint32_t i);
	/* Would segment i of t be dropped now, because it has no slot yet? */
	bool (*is_early)(const void *context, uint32_t id, int64_t t,
	    uint32_t i);
};

/*
 * Return the size of a struct loss_detect, in bytes, for vectors of `segs`
 * segments.
 */
static inline uint64_t loss_detect_bytes(uint32_t segs);

/*
 * Create the state of a member that has just joined.  Returns NULL if there is
 * no memory.
 */
static inline struct loss_detect * loss_detect_make(uint32_t segs);

/* Start iteration t, to which the next segments of the member belong. */
static inline void loss_detect_start(struct loss_detect *g, uint32_t segs,
    int64_t t);

/* Tell whether the member's part of segment i of t has arrived. */
static inline bool loss_detect_has(const struct loss_detect_view *v, int64_t t,
    uint32_t i);

/*
 * List the segments of t in [from, upto) that are missing and have a slot.
 * Write the list to `room` as a bitmap.  After this, the listed segments count
 * as requested.
 */
static inline struct repair_bitmap loss_detect_list_lacking(struct loss_detect
    *g, const struct loss_detect_view *v, int64_t t, uint32_t from, uint32_t
    upto, uint8_t *room);

/*
 * Count segment i of t, which has arrived and was added.  Returns true if a
 * NACK must be sent for the missing segments in [*from, *upto).
 */
static inline bool loss_detect_receive(struct loss_detect *g, const struct
    loss_detect_view *v, int64_t t, uint32_t i, uint32_t *from, uint32_t *upto);

/*
 * Count a repeated segment i of t.  If the segment had been requested, it was
 * late and not lost, so the slack doubles.
 */
static inline void loss_detect_duplicate(struct loss_detect *g, int64_t t,
    uint32_t i);

/* Count a Probe with this xid and mark.  Returns false if the Probe is old. */
static inline bool loss_detect_receive_probe(struct loss_detect *g, uint32_t
    xid, uint32_t mark);

/* implementation */

static inline uint64_t
loss_detect_bytes(uint32_t segs)
{
	return sizeof(struct loss_detect) + (segs + 7) / 8;
}

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

/* Tell whether segment i of g->t was requested. */
static inline bool
loss_detect_was_requested(const struct loss_detect *g, uint32_t i)
{
	return (g->asked[i / 8] >> i % 8 & 1) != 0;
}

static inline void
loss_detect_start(struct loss_detect *g, uint32_t segs, int64_t t)
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

static inline bool
loss_detect_has(const struct loss_detect_view *v, int64_t t, uint32_t i)
{
	return v->has(v->context, v->id, t, i);
}

static inline struct repair_bitmap
loss_detect_list_lacking(struct loss_detect *g,
    const struct loss_detect_view *v, int64_t t, uint32_t from, uint32_t upto,
    uint8_t *room)
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

static inline bool
loss_detect_receive(struct loss_detect *g, const struct loss_detect_view *v,
    int64_t t, uint32_t i, uint32_t *from, uint32_t *upto)
{
	uint32_t end;

	if (g->t == LOSS_DETECT_NOTHING || t > g->t)
		loss_detect_start(g, v->segs, t);
	if (t != g->t)
		return false;
	if (!loss_detect_was_requested(g, i))
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

static inline void
loss_detect_duplicate(struct loss_detect *g, int64_t t, uint32_t i)
{
	if (t != g->t || !loss_detect_was_requested(g, i))
		return;
	g->dups++;
	if (g->slack < LOSS_DETECT_SLACK_MAX)
		g->slack *= 2;
}

static inline bool
loss_detect_receive_probe(struct loss_detect *g, uint32_t xid, uint32_t mark)
{
	if (g->marked && !control_newer(xid, g->xid))
		return false;
	g->mark = mark;		/* a lower mark means that the member was
				 * restarted */
	g->xid = xid;
	g->marked = true;
	return true;
}

#endif
