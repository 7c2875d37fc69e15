/*
 * txctl.h - the worker's transmission control and the status it lives by
 * (Olaf section 5)
 *
 * A switch writes its queue's status on each model that passes; a worker
 * keeps the last one and sends with probability min(Qmax / N + f, 1), where f
 * grows with the time d since that status came: nothing up to the threshold
 * T, then v (d - T), d and T in seconds.  v is 1/T a second ("urgent") or T
 * ("fair").  The paper's control is off while N = Qmax, where one slot is
 * locked by what is in transmission and updates are dropped; the kinds "locked"
 * count Qmax - 1 slots, so they act from N = Qmax on.
 * Pure: time and the random draw are arguments.
 */
#ifndef INNET_QUEUE_TXCTL_H
#define INNET_QUEUE_TXCTL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/update.h"

enum txctl_kind {
	TXCTL_NONE, TXCTL_URGENT, TXCTL_FAIR, TXCTL_URGENT_LOCKED,
	TXCTL_FAIR_LOCKED
};

/* The words for them, in their order. */
static const char *const txctl_words[] = {
	"none", "urgent", "fair", "urgent-locked", "fair-locked", NULL
};

struct txctl {
	enum txctl_kind kind;
	uint64_t threshold_ns;	/* T */
	bool known;		/* a status has come */
	struct update_status last;
	uint64_t came_ns;	/* when */
};

/* A status came with a model at now_ns; one no switch filled in is none. */
static inline void
txctl_status(struct txctl *t, const struct update_status *s, uint64_t now_ns)
{
	if (!s->filled)
		return;
	t->last = *s;
	t->came_ns = now_ns;
	t->known = true;
}

/* The probability with which an update ready at now_ns is to be sent. */
static inline double
txctl_probability(const struct txctl *t, uint64_t now_ns)
{
	const bool locked = t->kind >= TXCTL_URGENT_LOCKED;
	const bool fair = t->kind == TXCTL_FAIR ||
	    t->kind == TXCTL_FAIR_LOCKED;
	const unsigned slots = (unsigned)t->last.capacity -
	    (locked && t->last.capacity > 0);
	double d, threshold, p;

	if (t->kind == TXCTL_NONE || !t->known || slots >= t->last.active)
		return 1;
	p = (double)slots / t->last.active;
	if (now_ns > t->came_ns && now_ns - t->came_ns > t->threshold_ns) {
		d = (double)(now_ns - t->came_ns) * 1e-9;
		threshold = (double)t->threshold_ns * 1e-9;
		if (fair)
			p += threshold * (d - threshold);
		else if (threshold > 0)
			p += (d - threshold) / threshold;
		else
			p = 1;
	}
	return p < 1 ? p : 1;
}

/* Send?  draw is uniform in [0, 1). */
static inline bool
txctl_send(const struct txctl *t, uint64_t now_ns, double draw)
{
	return draw < txctl_probability(t, now_ns);
}

/*
 * A switch with status own passes a model that carries *field: it writes its
 * own if nobody has, or if it is the narrower: own Qmax / own N is less than
 * the field's.  True if *field was changed.
 */
static inline bool
txctl_stamp(struct update_status *field, const struct update_status *own)
{
	if (field->filled && (uint64_t)own->capacity * field->active >=
	    (uint64_t)field->capacity * own->active)
		return false;
	*field = *own;
	field->filled = true;
	return true;
}

#endif
