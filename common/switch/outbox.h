/*
 * outbox.h - the datagrams that a program has decided to send, in order
 *
 * A program posts datagrams.  The outbox passes them to the plane through
 * deliver() when it is flushed, which happens at the latest when it is full.
 * Datagrams that follow each other in memory and have the same receivers become
 * one post.  Such a post is called a run, and a driver may send it with one
 * system call (UDP_SEGMENT).
 *
 * Posted bytes are borrowed until the next flush, except that outbox_copy()
 * posts a copy.  Before a program overwrites bytes that it may have posted, it
 * must call outbox_settle().
 */
#ifndef INNET_SWITCH_OUTBOX_H
#define INNET_SWITCH_OUTBOX_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/addr.h"

enum { OUTBOX_POSTS = 128, OUTBOX_ARENA_BYTES = 65536 };

enum post_to {
	POST_ONE,   /* the receiver is the address in the struct post */
	POST_GROUP, /* the receivers are all addresses of the program's group */
	POST_PARENT /* the receiver is the parent; the post is sent through the
		     * socket of the group */
};

struct post {
	enum post_to to;
	uint32_t group;		/* number of the job whose members are the
				 * group */
	uint8_t tos;
	bool bare;		/* a control message to which no MAC must be
				 * added */
	union addr at;		/* used for POST_ONE */
	union addr from;	/* source address; family 0: use the switch's
				 * own address */
	const uint8_t *p;	/* `count` datagrams that follow each other in
				 * memory */
	uint32_t count;
	uint32_t bytes;		/* length of each datagram except the last */
	uint32_t last_bytes;
};

typedef void outbox_deliver(void *ctx, const struct post *p);

struct outbox {
	outbox_deliver *deliver;
	void *ctx;		/* first argument of deliver() */
	uint32_t n;
	uint32_t used;		/* number of bytes of the arena in use */
	uint64_t round;		/* the current round: number of flushes so far,
				 * plus 1 */
	struct post post[OUTBOX_POSTS];
	uint8_t arena[OUTBOX_ARENA_BYTES];
};

static inline void
outbox_init(struct outbox *o, outbox_deliver *deliver, void *ctx)
{
	o->deliver = deliver;
	o->ctx = ctx;
	o->n = o->used = 0;
	o->round = 1;
}

/* Deliver all posts. */
static inline void
outbox_flush(struct outbox *o)
{
	const uint32_t n = o->n;

	for (uint32_t i = 0; i < n; i++)
		o->deliver(o->ctx, &o->post[i]);
	assert(o->n == n);	/* deliver() must not post anything */
	o->n = o->used = 0;
	o->round++;
}

/*
 * Flush the outbox if bytes that were posted in round `posted` have not been
 * delivered yet.  If `posted` is 0, the bytes were never posted.  Call this
 * function before the bytes change.
 */
static inline void
outbox_settle(struct outbox *o, uint64_t posted)
{
	if (posted == o->round)
		outbox_flush(o);
}

/* Can the datagram of post p extend the run of post q? */
static inline bool
outbox_extends_run(const struct post *q, const struct post *p)
{
	return q->to == p->to && q->group == p->group && q->tos == p->tos &&
	    q->last_bytes == q->bytes && p->bytes <= q->bytes &&
	    q->p + (size_t)q->count * q->bytes == p->p &&
	    (q->to != POST_ONE || addr_same(&q->at, &p->at));
}

/*
 * Post the datagram of `bytes` bytes at p.  `at` is its receiver for POST_ONE,
 * and otherwise NULL.  Returns the current round, which outbox_settle() needs.
 */
static inline uint64_t
outbox_add(struct outbox *o, enum post_to to, uint32_t group,
    const union addr *at, uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	struct post next = { .to = to, .group = group, .tos = tos, .p = p,
	    .count = 1, .bytes = bytes, .last_bytes = bytes };

	if (to == POST_ONE)
		next.at = *at;
	if (o->n > 0 && outbox_extends_run(&o->post[o->n - 1], &next)) {
		o->post[o->n - 1].count++;
		o->post[o->n - 1].last_bytes = bytes;
		return o->round;
	}
	if (o->n == OUTBOX_POSTS)
		outbox_flush(o);
	o->post[o->n++] = next;
	return o->round;
}

/*
 * Return a buffer of `bytes` bytes, at most OUTBOX_ARENA_BYTES.  The caller
 * writes a datagram to the buffer and posts this datagram.  It must not post
 * anything else in between.  The datagram never becomes part of a run.
 */
static inline uint8_t *
outbox_room(struct outbox *o, uint32_t bytes)
{
	uint8_t *q;

	assert(bytes <= sizeof(o->arena));
	if (o->used + bytes > sizeof(o->arena) || o->n == OUTBOX_POSTS)
		outbox_flush(o);
	q = o->arena + o->used;
	o->used += (bytes + 8) & ~7u;	/* leave a gap between copies, so that
					 * they do not form a run */
	return q;
}

/*
 * Post a copy of the datagram at p, so that the caller may change the bytes at
 * p after the call.  The copy never becomes part of a run.
 */
static inline void
outbox_copy(struct outbox *o, enum post_to to, uint32_t group,
    const union addr *at, uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	uint8_t *q = outbox_room(o, bytes);

	memcpy(q, p, bytes);
	outbox_add(o, to, group, at, tos, q, bytes);
}

/*
 * Post a copy of the datagram at p to address `at`, with the source address
 * `from` instead of the switch's own address.
 */
static inline void
outbox_copy_from(struct outbox *o, const union addr *from,
    const union addr *at, uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	outbox_copy(o, POST_ONE, 0, at, tos, p, bytes);
	o->post[o->n - 1].from = *from;
}

#endif
