/*
 * segment-tag.h - authentication tags of gradient segments, at a member of a
 * job
 *
 * A member is a worker, or a switch that has a parent.  A member tags its
 * segments under the salt from the Ack of its Join, and checks the tags of
 * results (tag.h).  A tag covers the epoch, which consists of the bits of the
 * iteration above the 24 bits on the wire.  Both sides start with the same
 * epoch, and each side counts the epochs from then on.  Pushes of an
 * asynchronous job have their own iteration numbers, which are independent of
 * its rounds.
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
	bool on;			/* an Ack with the salt has arrived */
	struct tag_key key;
	uint16_t job;
	uint8_t cookie[TAG_COOKIE_BYTES];	/* cookie of the channel through
						 * which the member joined */
	int64_t newest[TAG_DOWN + 1];	/* by direction: newest iteration; the
					 * epoch consists of the bits above the
					 * low 24 bits */
	bool pushes; /* the next push is the first one */
	uint32_t epoch;			/* epoch of the first push */
};

/*
 * Use the salt and the epoch from an Ack.  `epoch` is the epoch of iteration
 * `next`.  `fresh` says whether we have just become a member.  `async` says
 * whether pushes have their own iteration numbers.
 */
static inline void
segment_tag_set_key(struct segment_tag *p, const struct key *key,
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

/*
 * Build the context of a tag for the segment at `seg`, and set *t to the
 * unwrapped iteration of the segment.
 */
static inline struct tag_head
segment_tag_head(const struct segment_tag *p, enum tag_direction direction,
    const uint8_t *seg, int64_t *t)
{
	*t = seg_unwrap((uint32_t)bytes_get(seg, 3), p->newest[direction]);
	return tag_head(direction, p->job, (uint32_t)(*t >> 24),
	    direction == TAG_UP ? p->cookie : NULL);
}

/*
 * Write the tag of the segment at `seg`, whose floats are the `bytes` bytes at
 * vec.
 */
static inline void
segment_tag_put(
    struct segment_tag *p, uint8_t *seg, const void *vec, size_t bytes)
{
	struct tag_head h;
	int64_t t;

	if (p->pushes)			/* the switch does the same, so both
					 * sides agree on the epoch */
		p->newest[TAG_UP] = (int64_t)p->epoch << 24 |
		    (int64_t)bytes_get(seg, 3);
	p->pushes = false;
	h = segment_tag_head(p, TAG_UP, seg, &t);
	if (t > p->newest[TAG_UP])
		p->newest[TAG_UP] = t;
	tag_segment_put(&p->key, h, seg, vec, bytes);
}

/*
 * Is the tag of the result of len bytes at `seg` correct, and was the result
 * sent with the ToS byte of tagged segments?  seg_parse_as() must have accepted
 * the segment.
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
