/*
 * calendar.h - who is due next, among many: a calendar of days
 *
 * The same order as due.h's heap, time and then id, at a cost that does not
 * grow with how many wait.  Times are cut into days of 1 << shift ns; what is
 * due in the next days waits, unsorted, in one short list a day; today is
 * sorted when it begins; what comes into today later, and what is days away,
 * waits in a heap each.  The length of a day follows the events: a few in
 * each.
 *
 * Times may not go back: not before what was popped last.  A zeroed struct is
 * an empty calendar; it owns its memory: calendar_free().
 */
#ifndef INNET_CALENDAR_H
#define INNET_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/due.h"

enum {
	CALENDAR_DAYS = 256,		/* at first */
	CALENDAR_DAYS_MAX = 1 << 20,
	CALENDAR_SHIFT = 16,		/* a day: 65 us, at first */
	CALENDAR_WANT = 16,		/* events a day, within a factor of 4 */
	CALENDAR_TRIAL = 256,		/* days before it is judged */
	CALENDAR_SORT = 32		/* events that insertion sorts well */
};

struct calendar_list {
	struct due *item;		/* from due_new() */
	size_t n, room;
};

struct calendar {
	struct calendar_list today;	/* sorted */
	size_t at;			/* the next of them */
	struct calendar_list late, far;	/* heaps */
	struct calendar_list *day;	/* mask + 1 of them, by day & mask */
	size_t mask;
	unsigned shift;
	uint64_t now;			/* the day today is */
	size_t waiting;			/* in all days */
	uint64_t days, seen;		/* gone by since the last change */
};

static inline void
calendar_free(struct calendar *c)
{
	for (size_t i = 0; c->day != NULL && i <= c->mask; i++)
		due_free(c->day[i].item);
	free(c->day);
	due_free(c->today.item);
	due_free(c->late.item);
	due_free(c->far.item);
	*c = (struct calendar){ 0 };
}

/* Room for one more.  False without memory. */
static inline bool
calendar_room(struct calendar_list *l)
{
	size_t room = l->room == 0 ? 16 : 2 * l->room;
	struct due *p;

	if (l->n < l->room)
		return true;
	p = due_new(room);
	if (p == NULL)
		return false;
	if (l->n > 0)
		memcpy(p, l->item, l->n * sizeof(*p));
	due_free(l->item);
	l->item = p;
	l->room = room;
	return true;
}

static inline bool
calendar_heap_push(struct calendar_list *l, struct due x)
{
	if (!calendar_room(l))
		return false;
	l->n = due_push(l->item, l->n, x);
	return true;
}

/* As many days of that length, all empty.  False without memory. */
static inline bool
calendar_lay_out(struct calendar *c, size_t days, unsigned shift)
{
	c->day = calloc(days, sizeof(*c->day));
	c->mask = days - 1;
	c->shift = shift;
	return c->day != NULL;
}

/* x is due; not before what was popped last.  False without memory. */
static inline bool
calendar_push(struct calendar *c, struct due x)
{
	struct calendar_list *l;
	uint64_t day;

	if (c->day == NULL && !calendar_lay_out(c, CALENDAR_DAYS,
	    CALENDAR_SHIFT))
		return false;
	day = due_ns(&x) >> c->shift;
	if (day <= c->now)
		return calendar_heap_push(&c->late, x);
	if (day - c->now > c->mask + 1)
		return calendar_heap_push(&c->far, x);
	l = &c->day[day & c->mask];
	if (!calendar_room(l))
		return false;
	l->item[l->n++] = x;
	c->waiting++;
	return true;
}

static inline int
calendar_compare(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static inline void
calendar_sort(struct due *x, size_t n)
{
	if (n > CALENDAR_SORT) {
		qsort(x, n, sizeof(*x), calendar_compare);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct due it = x[i];
		size_t k = i;

		for (; k > 0 && it.key < x[k - 1].key; k--)
			x[k] = x[k - 1];
		x[k] = it;
	}
}

/* All events again, in other days.  False without memory. */
static inline bool
calendar_change(struct calendar *c, size_t days, unsigned shift)
{
	struct calendar old = *c;
	bool have;

	c->now = c->now << old.shift >> shift;
	if (c->now > 0)		/* nothing of it may be left behind */
		c->now--;
	c->far = (struct calendar_list){ 0 };
	c->waiting = 0;
	c->days = c->seen = 0;
	have = calendar_lay_out(c, days, shift);
	for (size_t i = 0; i <= old.mask; i++) {
		for (size_t k = 0; k < old.day[i].n && have; k++)
			have = calendar_push(c, old.day[i].item[k]);
		due_free(old.day[i].item);
	}
	for (size_t k = 0; k < old.far.n && have; k++)
		have = calendar_push(c, old.far.item[k]);
	due_free(old.far.item);
	free(old.day);
	return have;
}

/* Is a day too long or too short, or are there too few? */
static inline bool
calendar_judge(struct calendar *c)
{
	unsigned shift = c->shift;
	size_t days = c->mask + 1;
	uint64_t each;

	if (c->days < CALENDAR_TRIAL)
		return true;
	each = c->seen / c->days;
	for (; each > 4 * CALENDAR_WANT && shift > 0; each /= 2)
		shift--;
	if (each < CALENDAR_WANT / 4 && shift < 62)
		shift += each == 0 ? 4 : 2;
	if (c->far.n > c->waiting && days < CALENDAR_DAYS_MAX &&
	    c->far.n > CALENDAR_DAYS)
		days *= 4;
	c->days = c->seen = 0;
	return (shift == c->shift && days == c->mask + 1) ||
	    calendar_change(c, days, shift);
}

/* What is no longer far away goes into its day.  False without memory. */
static inline bool
calendar_approach(struct calendar *c)
{
	while (c->far.n > 0 && (due_ns(&c->far.item[0]) >> c->shift) -
	    c->now <= c->mask + 1) {
		struct due x = c->far.item[0];

		c->far.n = due_drop(c->far.item, c->far.n);
		if (!calendar_push(c, x))
			return false;
	}
	return true;
}

/* On to the next day with something in it.  False without memory. */
static inline bool
calendar_turn(struct calendar *c)
{
	struct calendar_list was = c->today, *l;

	if (!calendar_judge(c))
		return false;
	c->today.n = c->at = 0;
	while (c->late.n == 0 && c->waiting + c->far.n > 0) {
		if (c->waiting == 0)
			c->now = (due_ns(&c->far.item[0]) >> c->shift) - 1;
		c->now++;
		c->days++;
		l = &c->day[c->now & c->mask];
		if (l->n > 0) {
			c->today = *l;
			*l = (struct calendar_list){ was.item, 0, was.room };
			c->waiting -= c->today.n;
			c->seen += c->today.n;
			calendar_sort(c->today.item, c->today.n);
		}
		if (!calendar_approach(c))
			return false;
		if (c->today.n > 0)
			break;
	}
	return true;
}

/* Take the next out into *x: 1, 0 if there is none, or -1 without memory. */
static inline int
calendar_pop(struct calendar *c, struct due *x)
{
	if (c->at == c->today.n && c->late.n == 0) {
		if (c->day == NULL || c->waiting + c->far.n == 0)
			return 0;
		if (!calendar_turn(c))
			return -1;
	}
	if (c->late.n > 0 && (c->at == c->today.n ||
	    c->late.item[0].key < c->today.item[c->at].key)) {
		*x = c->late.item[0];
		c->late.n = due_drop(c->late.item, c->late.n);
	} else {
		*x = c->today.item[c->at++];
	}
	return 1;
}

#endif
