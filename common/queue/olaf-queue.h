/*
 * olaf-queue.h - the Olaf queue, which merges waiting updates of the same
 *   cluster (Olaf, section 3, section 4 Algorithm 1, section 12.1)
 *
 * The frames are in slots (slots.h).  The key of an update consists of its
 * destination, its cluster and its field `following`.  For each key, the queue
 * records the position of the update that waits and is not locked.  It uses an
 * array for keys below `plain` and a map for other keys.  If an update with the
 * same key waits, the arriving update is merged with the waiting update,
 * replaces it, or is dropped.  innet-olaf(7) describes these rules, and what
 * innet does if the paper does not define a rule.  These functions do not read
 * a clock; the caller passes the time.
 */
#ifndef INNET_QUEUE_OLAF_QUEUE_H
#define INNET_QUEUE_OLAF_QUEUE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/hashmap.h"
#include "common/base/vec.h"
#include "common/queue/slots.h"
#include "common/wire/update.h"

enum olaf_queue_combine { OLAF_QUEUE_MEAN, OLAF_QUEUE_SUM };

enum olaf_queue_verdict {
	OLAF_QUEUE_APPENDED,		/* the update was put into a free
					 * slot */
	OLAF_QUEUE_AGGREGATED,	/* the update was merged with the waiting
				 * update */
	OLAF_QUEUE_REPLACED,	/* the update replaced an older update of the
				 * same worker */
	OLAF_QUEUE_REPLACED_REWARD,	/* the update replaced an update with a
					 * lower reward */
	OLAF_QUEUE_SUPERSEDED,	/* the update was dropped, because a waiting
				 * update of the same worker is not older */
	OLAF_QUEUE_DROPPED_REWARD,	/* dropped: reward too low */
	OLAF_QUEUE_DROPPED_LIMIT,	/* the update was dropped, because more
					 * than 65,535 updates would be
					 * merged */
	OLAF_QUEUE_DROPPED_FULL	/* the update was dropped, because no slot is
				 * free */
};

#define OLAF_QUEUE_NONE UINT32_MAX	/* no update is waiting */

struct olaf_queue {
	struct slots *slots;	/* borrowed */
	uint32_t *at;		/* owned; for each key below `plain`: index in
				 * the ring plus 1, or 0 if no update waits */
	uint32_t plain;		/* number of entries of `at` */
	struct hashmap waiting;	/* maps each key >= plain to the index of the
				 * waiting update in the ring */
	enum olaf_queue_combine combine;
	double threshold;	/* threshold for the rewards of updates; NAN:
				 * rewards are not compared */
};

/*
 * Initialise q with the slots at `slots`.  Keys below `plain` are the usual
 * keys; `hash_seed` is the multiplier of the map for the other keys.  Returns
 * false if there is no memory; in this case q owns nothing.
 */
static inline bool olaf_queue_init(struct olaf_queue *q, struct slots *slots,
    enum olaf_queue_combine combine, double threshold, uint32_t plain,
    const struct hashmap_multiplier *hash_seed);

/* Free the maps; the slots belong to the caller. */
static inline void olaf_queue_free(struct olaf_queue *q);

/*
 * Return the key of update u to the destination with number `destination`.  At
 * most one unlocked update with each key waits.  If a vector fits into one
 * packet and the destination is 0, the key is the number of the cluster.
 */
static inline uint64_t olaf_queue_key(const struct update *u,
    uint32_t destination);

/*
 * Return the index in the ring of the waiting update with key `key`, or
 * OLAF_QUEUE_NONE.
 */
static inline uint32_t olaf_queue_find(const struct olaf_queue *q,
    uint64_t key);

/*
 * Offer an update that arrives at now_ns.  If the update replaces another
 * update, set *lost to the number of constituents that this removes from the
 * queue, otherwise to 0.
 */
static inline enum olaf_queue_verdict olaf_queue_offer(struct olaf_queue *q,
    const struct arrival *a, uint64_t now_ns, uint16_t *lost);

/* Lock the update at the head, because its transmission starts now. */
static inline void olaf_queue_lock(struct olaf_queue *q,
    const struct slot *head);

/* implementation */

static inline uint64_t
olaf_queue_key(const struct update *u, uint32_t destination)
{
	return (uint64_t)destination << 32 | (uint32_t)u->following << 16 |
	    u->cluster;
}

static inline bool
olaf_queue_init(struct olaf_queue *q, struct slots *slots,
    enum olaf_queue_combine combine, double threshold, uint32_t plain,
    const struct hashmap_multiplier *hash_seed)
{
	*q = (struct olaf_queue){ .slots = slots, .combine = combine,
	    .threshold = threshold, .plain = plain,
	    .at = calloc(plain, sizeof(*q->at)) };
	hashmap_seed(&q->waiting, hash_seed);
	return q->at != NULL;
}

static inline void
olaf_queue_free(struct olaf_queue *q)
{
	hashmap_free(&q->waiting);
	free(q->at);
}

static inline uint32_t
olaf_queue_find(const struct olaf_queue *q, uint64_t key)
{
	const uint32_t *at;

	if (key < q->plain)
		return q->at[key] - 1;
	at = hashmap_get(&q->waiting, key);
	return at == NULL ? OLAF_QUEUE_NONE : *at;
}

/*
 * Merge the waiting update e and the arrival a by computing their mean or sum.
 * Store the result, which has the headers of the arrival, in e.  Returns false
 * if there is no memory.
 */
static inline bool
olaf_queue_merge(struct olaf_queue *q, struct slot *e, const struct arrival *a)
{
	const uint32_t me = e->up.merged, ma = a->up->merged;
	const double all = (double)(me + ma);
	const double reward = ((double)e->up.reward * me +
	    (double)a->up->reward * ma) / all;
	const uint64_t generated = e->up.generated_ns > a->up->generated_ns ?
	    e->up.generated_ns : a->up->generated_ns;
	const size_t vec_at = (size_t)(a->up->vec - a->bytes);
	const uint32_t have = (uint32_t)vec_at + 4 * a->up->n + a->tail;
	uint8_t *vec = e->bytes + (e->up.vec - e->bytes);

	if (q->combine == OLAF_QUEUE_SUM)
		vec_add(vec, a->up->vec, a->up->n);
	else
		vec_mean(vec, vec, a->up->vec, a->up->n, me / all, ma / all);
	/* Put the headers of the arrival before the merged vector. */
	if (vec_at != (size_t)(vec - e->bytes)) {
		if (e->room < have) {
			uint8_t *p = realloc(e->bytes, have);

			if (p == NULL)
				return false;
			vec = p + (vec - e->bytes);
			e->bytes = p;
			e->room = have;
		}
		memmove(e->bytes + vec_at, vec, 4 * (size_t)a->up->n);
	}
	memcpy(e->bytes, a->bytes, vec_at);
	if (a->tail > 0)		/* the tag is not copied, because it is
					 * replaced when the update leaves */
		memcpy(e->bytes + have - a->tail, a->bytes + have - a->tail,
		    a->tail);
	e->have = have;
	e->wire_bytes = a->wire_bytes;
	e->payload_at = a->payload_at;
	e->len = e->have;
	if (a->to != NULL)
		e->to = *a->to;
	e->changed = true;
	e->up = *a->up;
	e->up.vec = e->bytes + vec_at;
	e->up.merged = (uint16_t)(me + ma);
	e->up.reward = (float)reward;
	e->up.generated_ns = generated;
	return true;
}

/*
 * The update e waits and has the same key as the arriving update a.  Merge a
 * with e, replace e by a, or drop a.  Returns what was done.
 */
static inline enum olaf_queue_verdict
olaf_queue_decide(struct olaf_queue *q, struct slot *e, const struct arrival *a)
{
	const double r = (double)a->up->reward, re = (double)e->up.reward;

	/*
	 * A different job now uses the cluster (port.h), so the two updates
	 * cannot be merged.
	 */
	if (a->up->n != e->up.n || a->up->elements != e->up.elements ||
	    a->tail != e->tail)
		return slots_fill(e, a) ? OLAF_QUEUE_REPLACED :
		    OLAF_QUEUE_DROPPED_FULL;
	if (a->up->worker == e->up.worker &&
	    (int32_t)(a->up->sequence - e->up.sequence) <= 0)
		return OLAF_QUEUE_SUPERSEDED;
	if (a->up->worker == e->up.worker && a->up->merged == 1 &&
	    e->up.merged == 1)
		return slots_fill(e, a) ? OLAF_QUEUE_REPLACED :
		    OLAF_QUEUE_DROPPED_FULL;
	if (!isnan(q->threshold) && r > re + q->threshold)
		return slots_fill(e, a) ? OLAF_QUEUE_REPLACED_REWARD :
		    OLAF_QUEUE_DROPPED_FULL;
	if (!isnan(q->threshold) && r < re - q->threshold)
		return OLAF_QUEUE_DROPPED_REWARD;
	if ((uint32_t)e->up.merged + a->up->merged > UINT16_MAX)
		return OLAF_QUEUE_DROPPED_LIMIT;
	return olaf_queue_merge(q, e, a) ? OLAF_QUEUE_AGGREGATED :
	    OLAF_QUEUE_DROPPED_FULL;
}

static inline enum olaf_queue_verdict
olaf_queue_offer(struct olaf_queue *q, const struct arrival *a, uint64_t now_ns,
    uint16_t *lost)
{
	const uint64_t key = olaf_queue_key(a->up, a->destination);
	const uint32_t at = olaf_queue_find(q, key);
	enum olaf_queue_verdict v;
	int64_t slot;

	*lost = 0;
	if (at != OLAF_QUEUE_NONE) {
		struct slot *e = &q->slots->ring[at];
		uint16_t had = e->up.merged;

		v = olaf_queue_decide(q, e, a);
		if (v == OLAF_QUEUE_REPLACED || v == OLAF_QUEUE_REPLACED_REWARD)
			*lost = had;
		return v;
	}
	slot = slots_append(q->slots, a, now_ns);
	if (slot < 0)
		return OLAF_QUEUE_DROPPED_FULL;
	/*
	 * If the queue was empty, the transmission of the frame starts at once.
	 * The update never waits, so it needs no entry.
	 */
	if (q->slots->count > 1 && key < q->plain)
		q->at[key] = (uint32_t)slot + 1;
	else if (q->slots->count > 1)
		hashmap_put(&q->waiting, key, (uint32_t)slot);
	return OLAF_QUEUE_APPENDED;
}

static inline void
olaf_queue_lock(struct olaf_queue *q, const struct slot *head)
{
	const uint64_t key = olaf_queue_key(&head->up, head->destination);

	if (!head->is_update)
		return;
	if (key < q->plain)
		q->at[key] = 0;
	else
		hashmap_remove(&q->waiting, key);
}

#endif
