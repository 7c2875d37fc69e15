/*
 * slots.h - a ring of frames that wait for a link, and the drop-tail queue
 *
 * The ring has a fixed size or, if the size is given as 0, grows without a
 * limit.  The frame at the head is the frame that is being transmitted.  This
 * frame keeps its slot until it has left, and must not be changed.  Depending
 * on the driver, the bytes of a slot are a whole frame or only the payload of a
 * datagram.  If these bytes contain an update, the update begins at offset
 * payload_at.  Slots own their bytes.  The memory of a slot grows on demand and
 * is kept when the slot becomes free.  A budget can limit the memory of all
 * slots.
 *
 * fifo_offer() is the drop-tail queue (the baseline of Olaf, section 8).
 */
#ifndef INNET_QUEUE_SLOTS_H
#define INNET_QUEUE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/prefetch.h"
#include "common/wire/addr.h"
#include "common/wire/update.h"

enum { SLOTS_FIRST = 64 };	/* initial size of a ring without a limit */

/*
 * The destination of a datagram.  It is not used for a whole frame, which
 * contains its destination.
 */
struct slot_to {
	union addr to;
	union addr from;	/* source address; family 0: use the address of
				 * the socket */
	uint32_t socket;	/* number of the switch's socket (see struct
				 * packet) */
	uint8_t tos;
};

struct slot {
	uint8_t *bytes;		/* owned */
	uint32_t have, room;	/* number of bytes in use; number of bytes
				 * allocated */
	uint32_t wire_bytes;	/* length of the frame on the link, in bytes */
	uint32_t payload_at;	/* offset of the update in `bytes` */
	uint32_t len;		/* length of the frame before truncation */
	uint32_t tail;		/* length of the counter and the tag after the
				 * vector */
	uint32_t destination;	/* number of the destination (destinations.h) */
	bool framed;		/* `bytes` is a whole frame, not only a
				 * payload */
	bool bare;		/* the update is a bare packet, which is a
				 * packet in the format of the Olaf paper */
	bool changed;		/* the update was merged, so header and checksum
				 * must be computed again */
	bool is_update;		/* the slot contains an update; if not set, it
				 * contains other traffic */
	struct update up;	/* the parsed update; its `vec` points into
				 * `bytes` */
	uint64_t opened_ns;	/* time when the slot was filled */
	struct slot_to to;	/* destination; used if `framed` is false */
};

/* A limit on memory that several rings share. */
struct slots_budget {
	uint64_t used_bytes;
	uint64_t limit_bytes;	/* 0: no limit */
};

struct slots {
	struct slot *ring;
	uint32_t size, head, count;	/* `size` is Qmax or, if the ring grows,
					 * the current number of slots */
	bool endless;		/* the ring grows without limit */
	struct slots_budget *budget;	/* borrowed; NULL: no limit */
};

/* An arriving frame.  The bytes are borrowed from the driver. */
struct arrival {
	const uint8_t *bytes;
	uint32_t have;
	uint32_t wire_bytes;	/* length of the frame on the link, in bytes */
	uint32_t payload_at;	/* offset of the update in `bytes` */
	uint32_t len;		/* length of the frame before truncation */
	uint32_t tail;		/* length of the counter and the tag after the
				 * vector */
	uint32_t destination;	/* number of the destination, as in struct slot;
				 * 0 if there is only one destination */
	bool framed, bare;	/* as in struct slot */
	bool is_update;
	const struct update *up;	/* the parsed update, whose `vec` points
					 * into `bytes`, or NULL */
	const struct slot_to *to;	/* destination if `framed` is false;
					 * otherwise NULL */
};

/*
 * Make a ring of `size` slots.  If `size` is 0, the ring grows without a limit.
 * Returns false if there is no memory.
 */
static inline bool slots_init(struct slots *s, uint32_t size);

/* Free the ring and the bytes of its slots. */
static inline void slots_free(struct slots *s);

/*
 * Store the arrival a in a new slot at the tail.  Returns the index of this
 * slot in the ring, which is valid until the frame leaves.  Returns -1 if no
 * slot is free or there is no memory.
 */
static inline int64_t slots_append(struct slots *s, const struct arrival *a,
    uint64_t now_ns);

/* Return the frame that is being transmitted, or NULL. */
static inline struct slot *slots_head(const struct slots *s);

/*
 * Remove the frame at the head, which has left.  If the ring is now empty, it
 * starts again at index 0, because the slot with this index is still in the
 * cache.
 */
static inline void slots_pop(struct slots *s);

/*
 * Copy the bytes of arrival a and the description of these bytes into slot s.
 * Returns false if there is no memory.
 */
static inline bool slots_fill(struct slot *s, const struct arrival *a);

/* Prefetch the slot with index `at` modulo the size of the ring. */
static inline void slots_prefetch(const struct slots *s, uint32_t at);

/* Return the number of bytes of memory that the ring and its slots use. */
static inline uint64_t slots_bytes(const struct slots *s);

/*
 * Charge `bytes` bytes to the budget b; NULL means that there is no limit.
 * Returns false, and charges nothing, if the budget would be exceeded.
 */
static inline bool slots_charge_budget(struct slots_budget *b, uint64_t bytes);

/*
 * Offer the arrival a to the drop-tail queue.  Returns false if a is dropped,
 * because no slot is free or there is no memory.
 */
static inline bool fifo_offer(struct slots *s, const struct arrival *a,
    uint64_t now_ns);

/* implementation */

static inline bool
slots_init(struct slots *s, uint32_t size)
{
	*s = (struct slots){ .size = size > 0 ? size : SLOTS_FIRST,
	    .endless = size == 0 };
	s->ring = calloc(s->size, sizeof(*s->ring));
	return s->ring != NULL;
}

static inline bool
slots_charge_budget(struct slots_budget *b, uint64_t bytes)
{
	if (b == NULL)
		return true;
	if (b->limit_bytes > 0 && b->used_bytes + bytes > b->limit_bytes)
		return false;
	b->used_bytes += bytes;
	return true;
}

static inline uint64_t
slots_bytes(const struct slots *s)
{
	uint64_t bytes = (uint64_t)s->size * sizeof(*s->ring);

	for (uint32_t i = 0; s->ring != NULL && i < s->size; i++)
		bytes += s->ring[i].room;
	return bytes;
}

/*
 * Double the size of a ring without a limit.  Returns false if there is no
 * memory.
 */
static inline bool
slots_grow(struct slots *s)
{
	struct slot *p;

	if (!slots_charge_budget(s->budget, s->size * sizeof(*p)))
		return false;
	p = calloc((size_t)s->size * 2, sizeof(*p));
	if (p == NULL)
		return false;
	for (uint32_t i = 0; i < s->size; i++)
		p[i] = s->ring[(s->head + i) % s->size];
	free(s->ring);
	s->ring = p;
	s->head = 0;
	s->size *= 2;
	return true;
}

static inline void
slots_free(struct slots *s)
{
	for (uint32_t i = 0; s->ring != NULL && i < s->size; i++)
		free(s->ring[i].bytes);
	free(s->ring);
	*s = (struct slots){ 0 };
}

static inline void
slots_prefetch(const struct slots *s, uint32_t at)
{
	const char *p = (const char *)&s->ring[at < s->size ? at :
	    at - s->size];

	prefetch_line(p);
	prefetch_line(p + PREFETCH_LINE);
}

/*
 * Enlarge the memory of slot s to `bytes` bytes.  Returns false if there is no
 * memory.  This function is not inline, because it is rarely called.
 */
__attribute__((noinline, unused)) static bool
slots_enlarge(struct slot *s, uint32_t bytes, struct slots_budget *b)
{
	uint8_t *p;

	if (!slots_charge_budget(b, bytes - s->room))
		return false;
	p = realloc(s->bytes, bytes);
	if (p == NULL)
		return false;
	s->bytes = p;
	s->room = bytes;
	return true;
}

static inline bool
slots_fill(struct slot *s, const struct arrival *a)
{
	if (s->room < a->have && !slots_enlarge(s, a->have, NULL))
		return false;
	if (a->have > 0)	/* memcpy() must not get NULL, but an empty
				 * frame may have no bytes */
		memcpy(s->bytes, a->bytes, a->have);
	s->have = a->have;
	s->wire_bytes = a->wire_bytes;
	s->payload_at = a->payload_at;
	s->len = a->len;
	s->tail = a->tail;
	s->destination = a->destination;
	s->framed = a->framed;
	s->bare = a->bare;
	s->is_update = a->is_update;
	s->changed = false;
	if (a->up != NULL)
		s->up = *a->up;
	if (a->is_update)
		s->up.vec = s->bytes + (a->up->vec - a->bytes);
	if (a->to != NULL)
		s->to = *a->to;
	return true;
}

static inline struct slot *
slots_head(const struct slots *s)
{
	return s->count == 0 ? NULL : &s->ring[s->head];
}

/*
 * This function is always inlined, because the speed of the simulator depends
 * on it.
 */
__attribute__((always_inline)) static inline int64_t
slots_append(struct slots *s, const struct arrival *a, uint64_t now_ns)
{
	uint32_t at;

	if (s->count == s->size && !(s->endless && slots_grow(s)))
		return -1;
	at = s->head + s->count;
	if (at >= s->size)
		at -= s->size;
	if ((a->have > s->ring[at].room && !slots_enlarge(&s->ring[at], a->have,
	    s->budget)) || !slots_fill(&s->ring[at], a))
		return -1;
	s->ring[at].opened_ns = now_ns;
	s->count++;
	return at;
}

static inline void
slots_pop(struct slots *s)
{
	if (++s->head == s->size || s->count == 1)
		s->head = 0;
	s->count--;
}

static inline bool
fifo_offer(struct slots *s, const struct arrival *a, uint64_t now_ns)
{
	return slots_append(s, a, now_ns) >= 0;
}

#endif
