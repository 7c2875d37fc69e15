/*
 * timed-queue.h - an event queue: what is to happen next, and when
 *
 * A binary heap of items by time; at one time, in the order they were pushed.
 * Times are ns on the caller's clock and may be before what was popped last.
 * Items are the caller's; the queue owns its own memory alone: evq_free().  A
 * zeroed struct is an empty queue.
 */
#ifndef INNET_BASE_TIMED_QUEUE_H
#define INNET_BASE_TIMED_QUEUE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EVQ_NEVER UINT64_MAX

struct evq_event {
	uint64_t at_ns;
	uint64_t order;		/* of pushing */
	void *item;
};

struct evq {
	struct evq_event *heap;	/* the earliest first; owned */
	size_t count, room;
	uint64_t order;		/* of the next push */
};

static inline void
evq_free(struct evq *q)
{
	free(q->heap);
	*q = (struct evq){ 0 };
}

static inline bool
evq_before(const struct evq_event *a, const struct evq_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns :
	    a->order < b->order;
}

/* Item is due at at_ns, which is not EVQ_NEVER.  False without memory. */
static inline bool
evq_push(struct evq *q, uint64_t at_ns, void *item)
{
	struct evq_event e = { at_ns, q->order, item };
	size_t i;

	assert(at_ns != EVQ_NEVER);
	if (q->count == q->room) {
		size_t room = q->room == 0 ? 64 : q->room * 2;
		struct evq_event *p = realloc(q->heap, room * sizeof(*p));

		if (p == NULL)
			return false;
		q->heap = p;
		q->room = room;
	}
	q->order++;
	for (i = q->count++; i > 0 && evq_before(&e,
	    &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = e;
	return true;
}

/* When the first is due; EVQ_NEVER: there is none. */
static inline uint64_t
evq_due(const struct evq *q)
{
	return q->count == 0 ? EVQ_NEVER : q->heap[0].at_ns;
}

/* Take the first out; NULL if there is none. */
static inline void *
evq_pop(struct evq *q)
{
	struct evq_event last;
	size_t i = 0, k;
	void *first;

	if (q->count == 0)
		return NULL;
	first = q->heap[0].item;
	last = q->heap[--q->count];
	while ((k = 2 * i + 1) < q->count) {
		if (k + 1 < q->count && evq_before(&q->heap[k + 1],
		    &q->heap[k]))
			k++;
		if (!evq_before(&q->heap[k], &last))
			break;
		q->heap[i] = q->heap[k];
		i = k;
	}
	q->heap[i] = last;
	return first;
}

#endif
