/*
 * seg.h - gradient segments on the wire: innet-wire(5)
 *
 * An 8-byte Seg, then little-endian float32 (iSwitch, Figure 5b; the split of
 * the Seg into fields is innet's own).  Segment i of a vector holds F elements
 * from i * F on, the last one the rest.  Parsing borrows the payload and trusts
 * nothing in it.
 *
 * Iterations count modulo 2^24 and are compared as serial numbers: one of two
 * that are less than 2^23 apart is older.
 */
#ifndef INNET_WIRE_SEG_H
#define INNET_WIRE_SEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

enum {
	SEG_HEADER_BYTES = 8,
	SEG_TOS = 0x1c,			/* DSCP 7 */
	SEG_TAGGED_TOS = 0x3c,		/* DSCP 15: Seg, tag, vector */
	SEG_TAG_BYTES = 8,
	SEG_TAG_FLOATS = 2,		/* that the tag displaces */
	SEG_FLOATS_V4 = 366,		/* in 1,500 bytes */
	SEG_FLOATS_V6 = 361,
	SEG_FLOATS_MAX_V4 = 16374,	/* over the loopback */
	SEG_FLOATS_MAX_V6 = 16370,
	SEG_ITERATIONS = 1 << 24,	/* then from 0 again */
	SEG_NEAR = 2,			/* synchronous iterations are no further
					   apart */
	SEG_INDEX_MAX = (1 << 24) - 1
};

struct seg {
	uint32_t iteration;	/* below SEG_ITERATIONS */
	uint32_t index;		/* of the segment */
	uint16_t contributions;	/* worker vectors summed; 1 from a worker */
	const uint8_t *vec;	/* n float32, borrowed, at any address */
	uint32_t n;
};

/* Is iteration a older than b?  Of two equal ones, neither is. */
static inline bool
seg_before(uint32_t a, uint32_t b)
{
	uint32_t d = (b - a) & (SEG_ITERATIONS - 1);

	return d != 0 && d < SEG_ITERATIONS / 2;
}

/* Return iteration t plus by. */
static inline uint32_t
seg_step(uint32_t t, int32_t by)
{
	return (t + (uint32_t)by) & (SEG_ITERATIONS - 1);
}

/* Return the 64 bits of a Seg, which Help and FBcast carry too. */
static inline uint64_t
seg_word(uint32_t iteration, uint16_t contributions, uint32_t index)
{
	return (uint64_t)(iteration & (SEG_ITERATIONS - 1)) << 40 |
	    (uint64_t)contributions << 24 | (index & SEG_INDEX_MAX);
}

/* Return the fields of a Seg; no vector. */
static inline struct seg
seg_split(uint64_t word)
{
	return (struct seg){ .iteration = (uint32_t)(word >> 40),
	    .contributions = (uint16_t)(word >> 24),
	    .index = (uint32_t)word & SEG_INDEX_MAX };
}

/* Write the 8 bytes of a Seg at p; return the place of the vector. */
static inline uint8_t *
seg_put(uint8_t *p, uint32_t iteration, uint16_t contributions,
    uint32_t index)
{
	return bytes_put(p, seg_word(iteration, contributions, index), 8);
}

/*
 * Read the len bytes of UDP payload at p; return false if they are not at least
 * one whole float behind a Seg.
 */
static inline bool
seg_parse(const uint8_t *p, size_t len, struct seg *s)
{
	if (len < SEG_HEADER_BYTES + 4 || len % 4 != 0)
		return false;
	*s = seg_split(bytes_get(p, 8));
	s->vec = p + SEG_HEADER_BYTES;
	s->n = (uint32_t)(len - SEG_HEADER_BYTES) / 4;
	return true;
}

/* Is it the ToS, without ECN bits, of a segment with or without a tag? */
static inline bool
seg_is(uint8_t tos)
{
	return tos == SEG_TOS || tos == SEG_TAGGED_TOS;
}

/* Return the bytes before the vector of a segment with that ToS. */
static inline uint32_t
seg_head_bytes(uint8_t tos)
{
	return SEG_HEADER_BYTES + ((tos & 0xfc) == SEG_TAGGED_TOS ?
	    SEG_TAG_BYTES : 0);
}

/*
 * Read a segment with or without a tag, by its ToS; the tag is not checked
 * (tag.h).
 */
static inline bool
seg_parse_as(uint8_t tos, const uint8_t *p, size_t len, struct seg *s)
{
	const uint32_t tag = seg_head_bytes(tos) - SEG_HEADER_BYTES;

	if (len < tag || !seg_parse(p, len - tag, s))
		return false;
	s->vec += tag;
	return true;
}

/* Return the iteration nearest to `near` that is t on the wire. */
static inline int64_t
seg_unwrap(uint32_t t, int64_t near)
{
	uint32_t d = (t - (uint32_t)near) & (SEG_ITERATIONS - 1);

	return near + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}

/*
 * Return the number of segments of a vector of `elements` at `floats` a
 * segment.
 */
static inline uint32_t
seg_count(uint32_t elements, uint32_t floats)
{
	return elements == 0 ? 0 : (elements - 1) / floats + 1;
}

/* Return the elements of segment i of that vector; i < seg_count(). */
static inline uint32_t
seg_floats_at(uint32_t elements, uint32_t floats, uint32_t i)
{
	uint32_t first = i * floats;

	return elements - first < floats ? elements - first : floats;
}

/*
 * Return how many floats a segment holds under an MTU of `mtu` bytes: 0 if not
 * even one, and at most SEG_FLOATS_MAX_V4 or _V6.
 */
static inline uint32_t
seg_floats(size_t mtu, bool v6)
{
	size_t most = v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4;
	size_t head = (v6 ? 40 : 20) + 8 + SEG_HEADER_BYTES;
	size_t n = mtu < head ? 0 : (mtu - head) / 4;

	return (uint32_t)(n < most ? n : most);
}

#endif
