/*
 * seg.h - read and write gradient segments, as described in innet-wire(5)
 *
 * A segment consists of an 8-byte Seg and little-endian float32 numbers
 * (iSwitch, Figure 5b; the fields of the Seg are innet's own).  Segment i of a
 * vector contains F elements, beginning with element i * F; the last segment
 * contains the rest.  The parsers borrow the payload and do not trust it.
 *
 * Iterations are numbered modulo 2^24, and their numbers are compared as serial
 * numbers.  So of two iterations that are less than 2^23 apart, it is clear
 * which one is older.
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
	SEG_TAGGED_TOS = 0x3c,		/* DSCP 15: there is an authentication
					 * tag between the Seg and the vector */
	SEG_TAG_BYTES = 8,
	SEG_TAG_FLOATS = 2,		/* number of floats whose place in a
					 * packet the tag needs */
	SEG_FLOATS_V4 = 366,		/* number of floats in a segment if the
					 * MTU is 1,500 bytes */
	SEG_FLOATS_V6 = 361,
	SEG_FLOATS_MAX_V4 = 16374,	/* number of floats in a segment over
					 * the loopback interface */
	SEG_FLOATS_MAX_V6 = 16370,
	SEG_ITERATIONS = 1 << 24,	/* number of different iteration
					 * numbers, after which they start again
					 * at 0 */
	SEG_NEAR = 2,			/* largest distance between two
					 * iterations that a synchronous job
					 * processes at the same time */
	SEG_INDEX_MAX = (1 << 24) - 1
};

struct seg {
	uint32_t iteration;	/* less than SEG_ITERATIONS */
	uint32_t index;		/* index of the segment */
	uint16_t contributions;	/* number of workers whose vectors are in the
				 * sum; 1 if a worker sent the segment */
	const uint8_t *vec;	/* borrowed; n float32 numbers at any address */
	uint32_t n;
};

/* Is iteration a older than iteration b?  Equal iterations are not older. */
static inline bool
seg_before(uint32_t a, uint32_t b)
{
	uint32_t d = (b - a) & (SEG_ITERATIONS - 1);

	return d != 0 && d < SEG_ITERATIONS / 2;
}

/* Return the number of the iteration that is `by` iterations after t. */
static inline uint32_t
seg_step(uint32_t t, int32_t by)
{
	return (t + (uint32_t)by) & (SEG_ITERATIONS - 1);
}

/*
 * Return the 64 bits of a Seg.  Help and FBcast messages also contain these
 * bits.
 */
static inline uint64_t
seg_word(uint32_t iteration, uint16_t contributions, uint32_t index)
{
	return (uint64_t)(iteration & (SEG_ITERATIONS - 1)) << 40 |
	    (uint64_t)contributions << 24 | (index & SEG_INDEX_MAX);
}

/* Return the fields that the 64 bits of a Seg contain. */
static inline struct seg
seg_split(uint64_t word)
{
	return (struct seg){ .iteration = (uint32_t)(word >> 40),
	    .contributions = (uint16_t)(word >> 24),
	    .index = (uint32_t)word & SEG_INDEX_MAX };
}

/* Write the 8 bytes of a Seg to p.  Returns the position of the vector. */
static inline uint8_t *
seg_put(uint8_t *p, uint32_t iteration, uint16_t contributions,
    uint32_t index)
{
	return bytes_put(p, seg_word(iteration, contributions, index), 8);
}

/*
 * Read the segment in the len bytes of UDP payload at p.  Returns false unless
 * the bytes are a Seg and one or more whole floats.
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

/*
 * Is `tos` the ToS byte of a segment with or without a tag?  Its ECN bits must
 * be 0.
 */
static inline bool
seg_is(uint8_t tos)
{
	return tos == SEG_TOS || tos == SEG_TAGGED_TOS;
}

/*
 * Return the number of bytes before the vector in a segment with the ToS byte
 * `tos`.
 */
static inline uint32_t
seg_head_bytes(uint8_t tos)
{
	return SEG_HEADER_BYTES + ((tos & 0xfc) == SEG_TAGGED_TOS ?
	    SEG_TAG_BYTES : 0);
}

/*
 * Read a segment with or without a tag, as its ToS byte indicates.  The tag is
 * skipped; tag.h checks it.  Returns false if the bytes are not a segment.
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

/*
 * Return the 64-bit iteration nearest to `near` that has the number t in
 * packets.
 */
static inline int64_t
seg_unwrap(uint32_t t, int64_t near)
{
	uint32_t d = (t - (uint32_t)near) & (SEG_ITERATIONS - 1);

	return near + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}

/*
 * Return the number of segments of a vector of `elements` elements, if a
 * segment contains `floats` floats.
 */
static inline uint32_t
seg_count(uint32_t elements, uint32_t floats)
{
	return elements == 0 ? 0 : (elements - 1) / floats + 1;
}

/*
 * Return the number of elements in segment i of a vector of `elements`
 * elements, if a segment contains `floats` floats.  i must be less than
 * seg_count().
 */
static inline uint32_t
seg_floats_at(uint32_t elements, uint32_t floats, uint32_t i)
{
	uint32_t first = i * floats;

	return elements - first < floats ? elements - first : floats;
}

/*
 * Return the number of floats that fit into a segment with an MTU of `mtu`
 * bytes.  The result is 0 if not even one float fits, and at most
 * SEG_FLOATS_MAX_V4 or SEG_FLOATS_MAX_V6.
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
