/*
 * repair.h - read and write the messages Probe, NACK and STATE, as described in
 * innet-wire(5)
 *
 * A Probe is a Help message from a member that contains a bitmap, and a NACK is
 * a Help message from a switch that contains a bitmap.  A STATE is the Ack of a
 * Probe.  Each message lists the segments that its sender lacks.  Bit k of the
 * bitmap is set if segment base + k is missing; it is in byte k / 8, and the
 * least significant bit comes first.  A bitmap of REPAIR_BITMAP_BYTES gives no
 * information about segments after its end.  `mark` and `seen` are serial
 * numbers.  The parsers borrow the bytes and do not trust them.
 */
#ifndef INNET_WIRE_REPAIR_H
#define INNET_WIRE_REPAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/control.h"
#include "common/wire/seg.h"

enum {
	REPAIR_HELP_BYTES = 30,		/* length of the body before the
					 * bitmap */
	REPAIR_STATE_BYTES = 24,
	REPAIR_BITMAP_BYTES = 1366,	/* length of the longest bitmap; a
					 * message with such a bitmap has
					 * CONTROL_MAX_BYTES */
	REPAIR_NONE = 0xffffff		/* value that means that there is no
					 * index */
};

struct repair_bitmap {
	uint32_t base;
	const uint8_t *bits;		/* borrowed */
	uint32_t bytes;
};

/* A Probe or a NACK. */
struct repair_help {
	uint32_t iteration;		/* iteration or, in an asynchronous job,
					 * number of the push */
	uint32_t mark;			/* number of segments that were sent so
					 * far, at all iterations */
	uint32_t seen;			/* highest mark that the sender of this
					 * message has received */
	uint32_t last; /* index of the newest result that arrived without a
		        * request, or REPAIR_NONE */
	uint32_t upto;			/* number of segments that were sent at
					 * least once */
	uint32_t round;			/* in an asynchronous job: the round
					 * whose results are requested */
	uint32_t last_round;		/* in an asynchronous job: the round of
					 * result `last` */
	struct repair_bitmap lacks;
};

/* The answer to a Probe. */
struct repair_state {
	uint32_t iteration;
	uint32_t mark;			/* number of results that were completed
					 * so far */
	uint32_t seen;			/* mark of the Probe */
	uint32_t resent;		/* number of results that were sent
					 * again before this STATE */
	bool whole;			/* the iteration is complete */
	bool notice;			/* this STATE is a notice, which is sent
					 * some time after the Probe that it
					 * answers */
	uint16_t dups;			/* number of segments that arrived twice
					 * because they were requested, modulo
					 * 2^16 */
	struct repair_bitmap lacks;
};

/* Is c a Probe or a NACK? */
static inline bool repair_is_help(const struct control *c);

/*
 * Read the body of a Probe or a NACK.  Returns false if the body is truncated.
 */
static inline bool repair_get_help(const struct control *c,
    struct repair_help *h);

/*
 * Write the body of a Probe or a NACK to p.  Returns the position after the
 * body.
 */
static inline uint8_t *repair_put_help(uint8_t *p, const struct repair_help *h);

/*
 * Write a whole Probe or NACK, without a MAC, to `msg`.  Returns the length of
 * the message.
 */
static inline size_t repair_write_help(uint8_t *msg, uint16_t job, uint32_t xid,
    const struct repair_help *h);

/* Is c a STATE? */
static inline bool repair_is_state(const struct control *c);

/* Read the body of a STATE.  Returns false if the body is truncated. */
static inline bool repair_get_state(const struct control *c,
    struct repair_state *s);

/* Write the body of a STATE to p.  Returns the position after the body. */
static inline uint8_t *repair_put_state(uint8_t *p,
    const struct repair_state *s);

/* Is segment i marked in the bitmap? */
static inline bool repair_lacks(const struct repair_bitmap *b, uint32_t i);

/*
 * Return the index of the first segment that the bitmap does not cover, or
 * `end` if the bitmap covers all segments.
 */
static inline uint32_t repair_covers(const struct repair_bitmap *b,
    uint32_t end);

/*
 * Mark segment i, which must come after all marked segments.  `room` is a
 * buffer of REPAIR_BITMAP_BYTES for the bits.  Returns false if the bitmap does
 * not reach to segment i.
 */
static inline bool repair_add(struct repair_bitmap *b, uint8_t *room,
    uint32_t i);

/* implementation */

static inline uint32_t
repair_covers(const struct repair_bitmap *b, uint32_t end)
{
	return b->bytes < REPAIR_BITMAP_BYTES ? end :
	    b->base + 8 * REPAIR_BITMAP_BYTES;
}

static inline bool
repair_lacks(const struct repair_bitmap *b, uint32_t i)
{
	const uint32_t k = i - b->base;

	return i >= b->base && k / 8 < b->bytes &&
	    (b->bits[k / 8] >> k % 8 & 1) != 0;
}

static inline bool
repair_add(struct repair_bitmap *b, uint8_t *room, uint32_t i)
{
	uint32_t k;

	if (b->bytes == 0)
		b->base = i;
	b->bits = room;
	k = i - b->base;
	if (k / 8 >= REPAIR_BITMAP_BYTES) {
		memset(room + b->bytes, 0, REPAIR_BITMAP_BYTES - b->bytes);
		b->bytes = REPAIR_BITMAP_BYTES;
		return false;
	}
	for (; b->bytes <= k / 8; b->bytes++)
		room[b->bytes] = 0;
	room[k / 8] |= (uint8_t)(1u << k % 8);
	return true;
}

static inline bool
repair_is_help(const struct control *c)
{
	return c->action == CONTROL_HELP && c->body_bytes >= REPAIR_HELP_BYTES;
}

static inline bool
repair_is_state(const struct control *c)
{
	return c->action == CONTROL_ACK && c->body_bytes >=
	    REPAIR_STATE_BYTES && c->body[0] == CONTROL_HELP &&
	    c->body[1] == CONTROL_DONE;
}

static inline struct repair_bitmap
repair_get_bitmap(struct bytes *w, uint32_t base)
{
	struct repair_bitmap b = { .base = base, .bytes = bytes_u16(w) };

	b.bits = w->p;
	bytes_take(w, b.bytes);
	return b;
}

static inline uint8_t *
repair_put_bitmap(uint8_t *p, const struct repair_bitmap *b)
{
	p = bytes_put(p, b->bytes, 2);
	if (b->bytes > 0)
		memcpy(p, b->bits, b->bytes);
	return p + b->bytes;
}

static inline bool
repair_get_help(const struct control *c, struct repair_help *h)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);
	const struct seg s = seg_split(bytes_u64(&w));

	h->iteration = s.iteration;
	h->mark = bytes_u32(&w);
	h->seen = bytes_u32(&w);
	h->last = bytes_u24(&w);
	h->upto = bytes_u24(&w);
	h->round = bytes_u24(&w);
	h->last_round = bytes_u24(&w);
	h->lacks = repair_get_bitmap(&w, s.index);
	return bytes_ok(&w);
}

static inline uint8_t *
repair_put_help(uint8_t *p, const struct repair_help *h)
{
	p = bytes_put(p, seg_word(h->iteration, 0, h->lacks.base), 8);
	p = bytes_put(p, h->mark, 4);
	p = bytes_put(p, h->seen, 4);
	p = bytes_put(p, h->last, 3);
	p = bytes_put(p, h->upto, 3);
	p = bytes_put(p, h->round, 3);
	p = bytes_put(p, h->last_round, 3);
	return repair_put_bitmap(p, &h->lacks);
}

static inline size_t
repair_write_help(uint8_t *msg, uint16_t job, uint32_t xid,
    const struct repair_help *h)
{
	return (size_t)(repair_put_help(control_put(msg, CONTROL_HELP, job,
	    xid), h) - msg);
}

static inline bool
repair_get_state(const struct control *c, struct repair_state *s)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);
	struct seg g;
	uint8_t flags;

	bytes_take(&w, 2);
	g = seg_split(bytes_u64(&w));
	s->iteration = g.iteration;
	s->mark = bytes_u32(&w);
	s->seen = bytes_u32(&w);
	s->resent = bytes_u24(&w);
	flags = bytes_u8(&w);
	s->whole = (flags & 1) != 0;
	s->notice = (flags & 2) != 0;
	s->dups = bytes_u16(&w);
	s->lacks = repair_get_bitmap(&w, g.index);
	return bytes_ok(&w);
}

static inline uint8_t *
repair_put_state(uint8_t *p, const struct repair_state *s)
{
	*p++ = CONTROL_HELP;
	*p++ = CONTROL_DONE;
	p = bytes_put(p, seg_word(s->iteration, 0, s->lacks.base), 8);
	p = bytes_put(p, s->mark, 4);
	p = bytes_put(p, s->seen, 4);
	p = bytes_put(p, s->resent, 3);
	*p++ = (uint8_t)(s->whole | s->notice << 1);
	p = bytes_put(p, s->dups, 2);
	return repair_put_bitmap(p, &s->lacks);
}

#endif
