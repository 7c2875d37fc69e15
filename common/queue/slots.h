/*
 * slots.h - the frames that wait for a link, in order
 *
 * A ring of slots, of a size or (0) without a limit.  The frame at the head is
 * in transmission: it occupies its slot until it has left and is locked, nobody
 * may change it.  A slot's bytes are a frame or the payload of a datagram, as
 * the driver likes: the update begins at payload_at.  Slots own their bytes;
 * room grows on demand and is kept, within a budget if there is one.
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

enum { SLOTS_FIRST = 64 };	/* room of a ring without a limit, at first */

/* Where a datagram goes; a whole frame needs none of it. */
struct slot_to {
	union addr to;
	union addr from;	/* family 0: the way's own address */
	uint32_t socket;		/* of the switch: packet.h */
	uint8_t tos;
};

struct slot {
	uint8_t *bytes;		/* owned */
	uint32_t have, room;	/* bytes: filled, allocated */
	uint32_t wire_bytes;	/* length of the frame on the link */
	uint32_t payload_at;	/* where the update begins in bytes */
	uint32_t len;		/* of a frame before it was cut */
	uint32_t tail;		/* bytes of a proof, behind the vector */
	bool framed;		/* bytes are a frame; else a payload */
	bool bare;		/* the update is the paper's own packet */
	bool changed;		/* not as it came: checksum is to be made */
	bool is_update;		/* false: regular traffic that queues */
	struct update up;	/* its vec points into bytes */
	uint64_t opened_ns;	/* when the slot was taken */
	struct slot_to to;	/* of what is not framed */
};

/* Memory that rings share. */
struct slots_budget {
	uint64_t used_bytes;
	uint64_t limit_bytes;	/* 0: none */
};

struct slots {
	struct slot *ring;
	uint32_t size, head, count;	/* size: Qmax, or room so far */
	bool endless;		/* the ring grows */
	struct slots_budget *budget;	/* borrowed; NULL: no limit */
};

/* What arrives: bytes borrowed from the driver, and what they say. */
struct arrival {
	const uint8_t *bytes;
	uint32_t have;
	uint32_t wire_bytes;
	uint32_t payload_at;
	uint32_t len;		/* of a frame before it was cut */
	uint32_t tail;		/* bytes of a proof, behind the vector */
	bool framed, bare;
	bool is_update;
	const struct update *up;	/* its vec points into bytes; or NULL */
	const struct slot_to *to;	/* of what is not framed; or NULL */
};

/* size slots; 0: as many as it takes.  False without memory. */
static inline bool
slots_init(struct slots *s, uint32_t size)
{
	*s = (struct slots){ .size = size > 0 ? size : SLOTS_FIRST,
	    .endless = size == 0 };
	s->ring = calloc(s->size, sizeof(*s->ring));
	return s->ring != NULL;
}

/* Take so many bytes more from the budget; false if there are fewer. */
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

/* What the ring has taken of it, and its bytes. */
static inline uint64_t
slots_bytes(const struct slots *s)
{
	uint64_t bytes = (uint64_t)s->size * sizeof(*s->ring);

	for (uint32_t i = 0; s->ring != NULL && i < s->size; i++)
		bytes += s->ring[i].room;
	return bytes;
}

/* Twice the slots, of an endless ring; false without memory. */
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

/* Fetch a slot, or the one where it goes around, into the cache. */
static inline void
slots_prefetch(const struct slots *s, uint32_t at)
{
	const char *p = (const char *)&s->ring[at < s->size ? at :
	    at - s->size];

	prefetch_line(p);
	prefetch_line(p + PREFETCH_LINE);
}

/*
 * Room for so many bytes in a slot that has less; false without memory.  Apart,
 * as it is rare and what calls it is not.
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

/* Make the slot hold a's bytes and what they say.  False without memory. */
static inline bool
slots_fill(struct slot *s, const struct arrival *a)
{
	if (s->room < a->have && !slots_enlarge(s, a->have, NULL))
		return false;
	if (a->have > 0)	/* a frame may be empty: no bytes, no place */
		memcpy(s->bytes, a->bytes, a->have);
	s->have = a->have;
	s->wire_bytes = a->wire_bytes;
	s->payload_at = a->payload_at;
	s->len = a->len;
	s->tail = a->tail;
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

/* The frame in transmission, or NULL. */
static inline struct slot *
slots_head(const struct slots *s)
{
	return s->count == 0 ? NULL : &s->ring[s->head];
}

/*
 * Take a slot at the tail for a at time now: its index in the ring, which
 * stays its own until it leaves, or -1: no slot is free (or no memory).
 * Inline, as the simulator's speed hangs on it.
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

/* The head has left.  An empty ring begins anew, where it is still cached. */
static inline void
slots_pop(struct slots *s)
{
	if (++s->head == s->size || s->count == 1)
		s->head = 0;
	s->count--;
}

/* Append a at now_ns; false if it is dropped because no slot is free. */
static inline bool
fifo_offer(struct slots *s, const struct arrival *a, uint64_t now_ns)
{
	return slots_append(s, a, now_ns) >= 0;
}

#endif
