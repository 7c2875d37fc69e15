/*
 * calendar.h - a priority queue for many events: a calendar of days and months
 *
 * The order is that of base/heap.h: by time, then by id.  The cost does not
 * grow with the number of events.  Time is divided into days of 1 << shift ns,
 * and days are grouped into months.  An event of this month or the next waits
 * in an unsorted list of its day.  A later event waits in a list of its month.
 * At the beginning of the preceding month, the events of this list are
 * distributed to their days.  Few lists are written at a time, so they stay in
 * the cache.  A day is sorted when it begins.  Two heaps hold the other events:
 * events that are added to the current day, and events that are more than
 * CALENDAR_MONTHS months ahead.  The length of a day is adapted to the number
 * of events in it.
 *
 * Time must not go back: no event may be earlier than the last one popped.  A
 * zeroed struct is an empty calendar.  The struct owns its memory.
 */
#ifndef INNET_SIM_CALENDAR_H
#define INNET_SIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/heap.h"

enum {
	CALENDAR_MONTH = 8,		/* 1 << 8 = 256 days in a month */
	CALENDAR_DAYS = 2 << CALENDAR_MONTH,	/* number of days that have a
						 * list */
	CALENDAR_MONTHS = 1024,		/* number of months that have a list */
	CALENDAR_SHIFT = 16,		/* initial length of a day: 2^16 ns = 65
					 * us */
	CALENDAR_FEW = 4, CALENDAR_MANY = 32,	/* limits on the mean number of
						 * events in a day */
	CALENDAR_TRIAL = 256,	/* number of days after which `shift` is
				 * checked */
	CALENDAR_SORT = 64	/* insertion sort is used only for lists up to
				 * this length */
};

struct calendar_list {
	struct heap *item;		/* memory that heap_new() allocated */
	size_t n, room;
};

struct calendar {
	struct calendar_list today;	/* events of the current day, sorted */
	size_t at;			/* index of the next event of today */
	struct calendar_list late, far;	/* heap of events added to the current
					 * day; heap of distant events */
	struct calendar_list *day;	/* lists of the days, indexed by day %
					 * CALENDAR_DAYS */
	struct calendar_list *month;	/* lists of the months, indexed by month
					 * % CALENDAR_MONTHS; allocated with
					 * `day` */
	unsigned shift;
	uint64_t now;			/* number of the current day */
	size_t near, later;		/* number of events in lists of days; in
					 * lists of months */
	uint64_t days, seen;	/* number of days and of events since the last
				 * check of `shift` */
};

/*
 * Add x, which must not be earlier than the event that was popped last.
 * Returns false if out of memory.
 */
static inline bool calendar_push(struct calendar *c, struct heap x);

/*
 * Remove the next event and write it to *x.  Returns 1 on success, 0 if there
 * is no event, or -1 if out of memory.
 */
static inline int calendar_pop(struct calendar *c, struct heap *x);

/* Return the events of the next day, in no particular order. */
static inline const struct calendar_list *
calendar_tomorrow(const struct calendar *c);

/* Free all memory; c is empty after that. */
static inline void calendar_free(struct calendar *c);

/* implementation */

static inline void
calendar_free(struct calendar *c)
{
	for (size_t i = 0; c->day != NULL && i < CALENDAR_DAYS +
	    CALENDAR_MONTHS; i++)
		heap_free(c->day[i].item);
	free(c->day);
	heap_free(c->today.item);
	heap_free(c->late.item);
	heap_free(c->far.item);
	*c = (struct calendar){ 0 };
}

/* Make room for one more event.  Returns false if out of memory. */
static inline bool
calendar_room(struct calendar_list *l)
{
	size_t room = l->room == 0 ? 16 : 2 * l->room;
	struct heap *p;

	if (l->n < l->room)
		return true;
	p = heap_new(room);
	if (p == NULL)
		return false;
	if (l->n > 0)
		memcpy(p, l->item, l->n * sizeof(*p));
	heap_free(l->item);
	l->item = p;
	l->room = room;
	return true;
}

static inline bool
calendar_heap_push(struct calendar_list *l, struct heap x)
{
	if (!calendar_room(l))
		return false;
	l->n = heap_push(l->item, l->n, x);
	return true;
}

/*
 * Allocate empty lists for days of 1 << shift ns.  Returns false if out of
 * memory.
 */
static inline bool
calendar_lay_out(struct calendar *c, unsigned shift)
{
	c->day = calloc(CALENDAR_DAYS + CALENDAR_MONTHS, sizeof(*c->day));
	c->month = c->day + CALENDAR_DAYS;
	c->shift = shift;
	return c->day != NULL;
}

static inline bool
calendar_push(struct calendar *c, struct heap x)
{
	struct calendar_list *l;
	uint64_t day, ahead;

	if (c->day == NULL && !calendar_lay_out(c, CALENDAR_SHIFT))
		return false;
	day = heap_ns(&x) >> c->shift;
	if (day <= c->now)
		return calendar_heap_push(&c->late, x);
	ahead = (day >> CALENDAR_MONTH) - (c->now >> CALENDAR_MONTH);
	if (ahead > CALENDAR_MONTHS)
		return calendar_heap_push(&c->far, x);
	l = ahead <= 1 ? &c->day[day % CALENDAR_DAYS] :
	    &c->month[(day >> CALENDAR_MONTH) % CALENDAR_MONTHS];
	if (!calendar_room(l))
		return false;
	l->item[l->n++] = x;
	c->near += ahead <= 1;
	c->later += ahead > 1;
	return true;
}

static inline int
calendar_compare(const void *a, const void *b)
{
	const struct heap *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static inline void
calendar_sort(struct heap *x, size_t n)
{
	if (n > CALENDAR_SORT) {
		qsort(x, n, sizeof(*x), calendar_compare);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct heap it = x[i];
		size_t k = i;

		for (; k > 0 && it.key < x[k - 1].key; k--)
			x[k] = x[k - 1];
		x[k] = it;
	}
}

/* Push all events of a list into the calendar again, and free the list. */
static inline bool
calendar_push_all(struct calendar *c, struct calendar_list *l)
{
	bool have = true;

	for (size_t k = 0; k < l->n && have; k++)
		have = calendar_push(c, l->item[k]);
	heap_free(l->item);
	*l = (struct calendar_list){ 0 };
	return have;
}

/*
 * Move all events to days of another length.  Returns false if out of memory.
 */
static inline bool
calendar_change(struct calendar *c, unsigned shift)
{
	struct calendar old = *c;
	bool have;

	c->now = c->now << old.shift >> shift;
	if (c->now > 0)		/* this way no event is before the current
				 * day */
		c->now--;
	c->far = (struct calendar_list){ 0 };
	c->near = c->later = 0;
	have = calendar_lay_out(c, shift);
	for (size_t i = 0; i < CALENDAR_DAYS + CALENDAR_MONTHS; i++)
		have = calendar_push_all(c, &old.day[i]) && have;
	have = calendar_push_all(c, &old.far) && have;
	free(old.day);
	return have;
}

/*
 * After CALENDAR_TRIAL days, change the length of a day if days have too many
 * or too few events.  Returns false if out of memory.
 */
static inline bool
calendar_judge(struct calendar *c)
{
	unsigned shift = c->shift;
	uint64_t each;

	if (c->days < CALENDAR_TRIAL)
		return true;
	each = c->seen / c->days;
	for (; each > CALENDAR_MANY && shift > 0; each /= 2)
		shift--;
	if (each < CALENDAR_FEW && shift < 62)
		shift += each == 0 ? 4 : 2;
	c->days = c->seen = 0;
	return shift == c->shift || calendar_change(c, shift);
}

/*
 * Begin a month.  Distribute the events of the next month to its days.  Move
 * events that are no longer distant from the heap to the lists of their
 * months.  Returns false if out of memory.
 */
static inline bool
calendar_open_month(struct calendar *c)
{
	const uint64_t month = c->now >> CALENDAR_MONTH;
	struct calendar_list *l = &c->month[(month + 1) % CALENDAR_MONTHS];
	struct calendar_list was = *l;

	*l = (struct calendar_list){ 0 };
	c->later -= was.n;
	if (!calendar_push_all(c, &was))
		return false;
	while (c->far.n > 0 && (heap_ns(&c->far.item[0]) >> c->shift >>
	    CALENDAR_MONTH) - month <= CALENDAR_MONTHS) {
		struct heap x = c->far.item[0];

		c->far.n = heap_drop(c->far.item, c->far.n);
		if (!calendar_push(c, x))
			return false;
	}
	return true;
}

/* Return the day before the next day that may have events. */
static inline uint64_t
calendar_eve(const struct calendar *c)
{
	const uint64_t month = ((uint64_t)1 << CALENDAR_MONTH) - 1;

	if (c->near > 0)
		return c->now;
	if (c->later > 0)
		return c->now | month;
	return (heap_ns(&c->far.item[0]) >> c->shift & ~month) - 1;
}

/* Go to the next day that has events.  Returns false if out of memory. */
static inline bool
calendar_turn(struct calendar *c)
{
	struct calendar_list was = c->today, *l;

	c->today.n = c->at = 0;
	if (!calendar_judge(c))
		return false;
	while (c->late.n == 0 && c->near + c->later + c->far.n > 0) {
		const uint64_t eve = calendar_eve(c);

		c->days += eve - c->now < CALENDAR_TRIAL ? eve - c->now + 1 :
		    CALENDAR_TRIAL;
		c->now = eve + 1;
		if (c->now % (1u << CALENDAR_MONTH) == 0 &&
		    !calendar_open_month(c))
			return false;
		l = &c->day[c->now % CALENDAR_DAYS];
		if (l->n == 0)
			continue;
		c->today = *l;
		*l = (struct calendar_list){ was.item, 0, was.room };
		c->near -= c->today.n;
		c->seen += c->today.n;
		calendar_sort(c->today.item, c->today.n);
		break;
	}
	return true;
}

static inline int
calendar_pop(struct calendar *c, struct heap *x)
{
	if (c->at == c->today.n && c->late.n == 0) {
		if (c->near + c->later + c->far.n == 0)
			return 0;
		if (!calendar_turn(c))
			return -1;
	}
	if (c->late.n > 0 && (c->at == c->today.n ||
	    c->late.item[0].key < c->today.item[c->at].key)) {
		*x = c->late.item[0];
		c->late.n = heap_drop(c->late.item, c->late.n);
	} else {
		*x = c->today.item[c->at++];
	}
	return 1;
}

static inline const struct calendar_list *
calendar_tomorrow(const struct calendar *c)
{
	return &c->day[(c->now + 1) % CALENDAR_DAYS];
}

#endif
