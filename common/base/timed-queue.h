/*
 * timed-queue.h - an event queue: items in the order of their times
 *
 * The queue is a binary heap.  Items with equal times come out in the order in
 * which they were pushed.  Times are in ns on the clock of the caller.  A new
 * item may have an earlier time than the item that was popped last.  Items
 * belong to the caller; the queue owns only its own memory, which
 * timed_queue_free() frees.  A zeroed struct is an empty queue.
 */
#ifndef INNET_BASE_TIMED_QUEUE_H
#define INNET_BASE_TIMED_QUEUE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define TIMED_QUEUE_NEVER UINT64_MAX

struct timed_queue_event {
	uint64_t at_ns;
	uint64_t order;		/* number of pushes before this one */
	void *item;
};

struct timed_queue {
	struct timed_queue_event *heap;	/* owned; the earliest event comes
					 * first */
	size_t count, room;
	uint64_t order;		/* number of pushes so far */
};

/* Free the memory of the queue, but not its items. */
static inline void
timed_queue_free(struct timed_queue *q)
{
	free(q->heap);
	*q = (struct timed_queue){ 0 };
}

/* Does event a come out before event b? */
static inline bool
timed_queue_before(const struct timed_queue_event *a,
    const struct timed_queue_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns :
	    a->order < b->order;
}

/*
 * Add an item with its time, which must not be TIMED_QUEUE_NEVER.  Returns
 * false if there is no memory.
 */
static inline bool
timed_queue_push(struct timed_queue *q, uint64_t at_ns, void *item)
{
	struct timed_queue_event e = { at_ns, q->order, item };
	size_t i;

	assert(at_ns != TIMED_QUEUE_NEVER);
	if (q->count == q->room) {
		size_t room = q->room == 0 ? 64 : q->room * 2;
		struct timed_queue_event *p =
		    realloc(q->heap, room * sizeof(*p));

		if (p == NULL)
			return false;
		q->heap = p;
		q->room = room;
	}
	q->order++;
	for (i = q->count++; i > 0 && timed_queue_before(&e,
	    &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = e;
	return true;
}

/*
 * Return the time of the first item, or TIMED_QUEUE_NEVER if the queue is
 * empty.
 */
static inline uint64_t
timed_queue_due(const struct timed_queue *q)
{
	return q->count == 0 ? TIMED_QUEUE_NEVER : q->heap[0].at_ns;
}

/* Remove the first item and return it, or NULL if the queue is empty. */
static inline void *
timed_queue_pop(struct timed_queue *q)
{
	struct timed_queue_event last;
	size_t i = 0, k;
	void *first;

	if (q->count == 0)
		return NULL;
	first = q->heap[0].item;
	last = q->heap[--q->count];
	while ((k = 2 * i + 1) < q->count) {
		if (k + 1 < q->count && timed_queue_before(&q->heap[k + 1],
		    &q->heap[k]))
			k++;
		if (!timed_queue_before(&q->heap[k], &last))
			break;
		q->heap[i] = q->heap[k];
		i = k;
	}
	q->heap[i] = last;
	return first;
}

#endif
