/*
 * segment-tag.h - the proofs of what a member and its switch exchange, at the
 * member
 *
 * A worker, or a rack below its parent, proves its segments under the salt
 * that the Ack of its Join told, and judges results by it (tag.h).  A proof
 * is of 2^24 iterations: both sides know where they are, and count on from
 * there.  Pushes of an asynchronous job are counted apart from its rounds.
 */
#ifndef INNET_AUTH_SEGMENT_TAG_H
#define INNET_AUTH_SEGMENT_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/tag.h"
#include "common/wire/seg.h"

struct segment_tag {
	bool on;			/* an Ack has told the salt */
	struct tag_key key;
	uint16_t job;
	uint8_t cookie[TAG_COOKIE_BYTES];
	int64_t newest[TAG_DOWN + 1];	/* newest iteration, by way; the
					   epoch is what is above 24 bits */
	bool pushes;			/* has none proved yet: it will be of */
	uint32_t epoch;			/* this epoch */
};

/*
 * An Ack, which has told the salt, and the epoch of iteration `next`.  fresh:
 * we were no member before.  async: pushes have numbers of their own.
 */
static inline void
segment_tag_set_key(struct segment_tag *p, const struct hmac_sha256_ctx *key,
    uint16_t job, const uint8_t salt[TAG_SALT_BYTES], uint32_t epoch,
    uint32_t next, bool fresh, bool async)
{
	const bool same = p->on && memcmp(p->key.salt, salt,
	    TAG_SALT_BYTES) == 0;

	if (same && !fresh)
		return;
	if (!same)
		tag_key_set(&p->key, key, salt);
	p->on = true;
	p->job = job;
	p->newest[TAG_UP] = p->newest[TAG_DOWN] = (int64_t)epoch << 24 |
	    (next & (SEG_ITERATIONS - 1));
	p->pushes = async;
	p->epoch = epoch;
}

static inline struct tag_head
segment_tag_head(const struct segment_tag *p, enum tag_direction direction,
    const uint8_t *seg, int64_t *t)
{
	*t = seg_unwrap((uint32_t)bytes_get(seg, 3), p->newest[direction]);
	return tag_head(direction, p->job, (uint32_t)(*t >> 24),
	    direction == TAG_UP ? p->cookie : NULL);
}

/* Prove the segment at seg, whose floats are at vec, so many bytes. */
static inline void
segment_tag_put(
    struct segment_tag *p, uint8_t *seg, const void *vec, size_t bytes)
{
	struct tag_head h;
	int64_t t;

	if (p->pushes)			/* as the switch takes the first */
		p->newest[TAG_UP] = (int64_t)p->epoch << 24 |
		    (int64_t)bytes_get(seg, 3);
	p->pushes = false;
	h = segment_tag_head(p, TAG_UP, seg, &t);
	if (t > p->newest[TAG_UP])
		p->newest[TAG_UP] = t;
	tag_segment_put(&p->key, h, seg, vec, bytes);
}

/*
 * May the result of len bytes at seg, which seg_parse_as() could read with
 * that ToS, be believed?
 */
static inline bool
segment_tag_check(
    struct segment_tag *p, uint8_t tos, const uint8_t *seg, size_t len)
{
	struct tag_head h;
	int64_t t;

	if (!p->on || (tos & 0xfc) != SEG_TAGGED_TOS)
		return false;
	h = segment_tag_head(p, TAG_DOWN, seg, &t);
	if (!tag_segment_good(&p->key, h, seg, len))
		return false;
	if (t > p->newest[TAG_DOWN])
		p->newest[TAG_DOWN] = t;
	return true;
}

#endif
