/*
 * txctl.h - transmission control (Olaf, section 5): a switch counts the active
 *   clusters, and workers send less often if there are many
 *
 * A switch uses struct active_clusters to count N, the number of keys seen
 * within a time window.  The keys are in a list in the order in which they were
 * last seen, so recording or forgetting a key takes constant time.  Keys below
 * `plain` are indices of the array that contains the list.  For other keys that
 * are in the window, a map contains the index.  Untrusted hosts can choose
 * these other keys, so at most ACTIVE_CLUSTERS_OTHERS such keys are counted.
 * This is no restriction, because a status can report at most 65,535 keys.
 *
 * A switch writes its status (Qmax and N) into each model that passes.  A
 * worker keeps the last status and sends an update with probability min(Qmax /
 * N + f, 1).  The term f grows with the time d since the last status arrived.
 * The term f is 0 while d is at most the threshold T, and v (d - T) after that,
 * with d and T in seconds.  The factor v is 1/T ("urgent") or T ("fair").  As
 * in the paper, these two kinds do not limit sending if N = Qmax, although one
 * of the Qmax slots is locked during a transmission, so updates are dropped.
 * The kinds "urgent-locked" and "fair-locked" count only Qmax - 1 slots, so
 * they already limit sending when N = Qmax.
 *
 * These functions use no clock and no random number generator.  The caller
 * passes times (in ns, never decreasing) and random numbers.
 */
#ifndef INNET_QUEUE_TXCTL_H
#define INNET_QUEUE_TXCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"
#include "common/wire/update.h"

enum {
	ACTIVE_CLUSTERS_PLAIN = 65536,	/* default value of `plain` */
	ACTIVE_CLUSTERS_OTHERS = 262144	/* maximum number of keys that are not
					 * below `plain` */
};

struct active_clusters_node {
	uint64_t seen;		/* time when the key was last seen, plus 1 ns;
				 * 0: the key is not in the list */
	uint32_t older, newer;	/* indices of the neighbours in the list; 0 at
				 * the ends of the list */
};

struct active_clusters {
	struct hashmap index;	/* maps each key >= plain to its index in
				 * `node` */
	struct active_clusters_node *node;	/* owned; node[0] is both ends
						 * of the list */
	uint64_t *key;		/* owned; the key of each node whose index is
				 * above `plain` */
	uint32_t plain;
	uint32_t room, used;	/* number of nodes that are allocated; number of
				 * nodes that were ever used */
	uint32_t free;		/* index of the first released node, or 0;
				 * released nodes are linked by `newer` */
	uint32_t count;		/* number of keys in the list; after
				 * active_clusters_count() this is N */
	uint64_t window_ns;
};

enum txctl_kind {
	TXCTL_NONE, TXCTL_URGENT, TXCTL_FAIR, TXCTL_URGENT_LOCKED,
	TXCTL_FAIR_LOCKED
};

/* The values of --control, in the order of enum txctl_kind. */
static const char *const txctl_words[] = {
	"none", "urgent", "fair", "urgent-locked", "fair-locked", NULL
};

struct txctl {
	enum txctl_kind kind;
	uint64_t threshold_ns;	/* the threshold T */
	bool known;		/* a status has arrived */
	struct update_status last;
	uint64_t came_ns;	/* time when the last status arrived */
};

/*
 * Initialise `a`.  Keys below `plain`, which must be at least 1, are the usual
 * keys; `hash_seed` is the multiplier of the map for the other keys.  Returns
 * false if there is no memory.  The caller must call active_clusters_free() in
 * either case.
 */
static inline bool active_clusters_init(struct active_clusters *a,
    uint64_t window_ns, uint32_t plain,
    const struct hashmap_multiplier *hash_seed);

/* Free the list and the map. */
static inline void active_clusters_free(struct active_clusters *a);

/*
 * Return the maximum number of bytes that the list and the map use for keys
 * that are not below `plain`.
 */
static inline uint64_t active_clusters_other_bytes(uint32_t plain);

/*
 * Record that `key` was seen at now_ns.  Returns false if the key cannot be
 * counted because there is no memory or there are too many keys.
 */
static inline bool active_clusters_note(struct active_clusters *a, uint64_t key,
    uint64_t now_ns);

/*
 * Forget the keys that were not seen within the window that ends at now_ns.
 * Returns N.
 */
static inline uint32_t active_clusters_count(struct active_clusters *a,
    uint64_t now_ns);

/*
 * Store the status s of a model that arrived at now_ns, if a switch has written
 * the status.
 */
static inline void txctl_set_status(struct txctl *t,
    const struct update_status *s, uint64_t now_ns);

/*
 * Return the probability with which the worker should send an update that is
 * ready at now_ns.
 */
static inline double txctl_probability(const struct txctl *t, uint64_t now_ns);

/*
 * Should the worker send an update that is ready at now_ns?  `draw` is a random
 * number from the uniform distribution over [0, 1).
 */
static inline bool txctl_should_send(const struct txctl *t, uint64_t now_ns,
    double draw);

/*
 * Merge `own`, the status of a switch, into *field, the status field of a model
 * that passes through this switch.  Write `own` if no switch has written the
 * field, or if Qmax / N is less in `own` than in the field.  Returns whether
 * *field was changed.
 */
static inline bool txctl_write_status(struct update_status *field,
    const struct update_status *own);

/* implementation */

static inline bool
active_clusters_init(struct active_clusters *a, uint64_t window_ns,
    uint32_t plain, const struct hashmap_multiplier *hash_seed)
{
	*a = (struct active_clusters){ .window_ns = window_ns, .plain = plain,
	    .room = plain + 1, .used = plain + 1 };
	hashmap_seed(&a->index, hash_seed);
	a->node = calloc(a->room, sizeof(*a->node));
	return a->node != NULL;
}

static inline void
active_clusters_free(struct active_clusters *a)
{
	hashmap_free(&a->index);
	free(a->node);
	free(a->key);
}

static inline uint64_t
active_clusters_other_bytes(uint32_t plain)
{
	uint64_t room = (uint64_t)plain + 1;

	while (room < (uint64_t)plain + 1 + ACTIVE_CLUSTERS_OTHERS)
		room *= 2;
	return (room - plain - 1) * (sizeof(struct active_clusters_node) +
	    sizeof(uint64_t)) + hashmap_most_bytes(ACTIVE_CLUSTERS_OTHERS);
}

/* Remove a node from the list. */
static inline void
active_clusters_unlink(struct active_clusters *a,
    struct active_clusters_node *n)
{
	a->node[n->older].newer = n->newer;
	a->node[n->newer].older = n->older;
	n->seen = 0;
	a->count--;
}

/* Double the number of nodes.  Returns false if there is no memory. */
static inline bool
active_clusters_grow(struct active_clusters *a)
{
	const uint32_t room = 2 * a->room;
	struct active_clusters_node *n = realloc(a->node, room * sizeof(*n));
	uint64_t *key;

	if (n == NULL)
		return false;
	a->node = n;
	key = realloc(a->key, (room - a->plain - 1) * sizeof(*key));
	if (key == NULL)
		return false;
	memset(n + a->room, 0, a->room * sizeof(*n));
	a->key = key;
	a->room = room;
	return true;
}

/* Release the node at index `at`, whose key is not below `plain`. */
static inline void
active_clusters_release(struct active_clusters *a, uint32_t at)
{
	hashmap_remove(&a->index, a->key[at - a->plain - 1]);
	a->node[at].newer = a->free;
	a->free = at;
}

/*
 * Return the index of a key that is not below `plain`.  If the key has no
 * index, assign an index to it.  Returns 0 if that is not possible.
 */
__attribute__((noinline, unused)) static uint32_t
active_clusters_find_other(
    struct active_clusters *a, uint64_t key, uint64_t now_ns)
{
	const uint32_t *have = hashmap_get(&a->index, key);
	uint32_t at;

	if (have != NULL)
		return *have;
	if (a->index.count >= ACTIVE_CLUSTERS_OTHERS)
		active_clusters_count(a, now_ns);
	if (a->index.count >= ACTIVE_CLUSTERS_OTHERS ||
	    (a->free == 0 && a->used == a->room && !active_clusters_grow(a)))
		return 0;
	at = a->free != 0 ? a->free : a->used;
	if (hashmap_put(&a->index, key, at) == NULL)
		return 0;
	if (a->free != 0)
		a->free = a->node[at].newer;
	else
		a->used++;
	a->key[at - a->plain - 1] = key;
	return at;
}

static inline uint32_t
active_clusters_count(struct active_clusters *a, uint64_t now_ns)
{
	struct active_clusters_node *oldest;

	while (a->count > 0 && (oldest = &a->node[a->node[0].newer])->seen +
	    a->window_ns <= now_ns) {
		const uint32_t at = (uint32_t)(oldest - a->node);

		active_clusters_unlink(a, oldest);
		if (at > a->plain)
			active_clusters_release(a, at);
	}
	return a->count;
}

static inline bool
active_clusters_note(struct active_clusters *a, uint64_t key, uint64_t now_ns)
{
	const uint32_t at = key < a->plain ? (uint32_t)key + 1 :
	    active_clusters_find_other(a, key, now_ns);
	struct active_clusters_node *n = &a->node[at], *end = &a->node[0];

	if (at == 0)
		return false;
	if (end->older == at) {
		n->seen = now_ns + 1;
		return true;
	}
	if (n->seen != 0)
		active_clusters_unlink(a, n);
	*n = (struct active_clusters_node){ now_ns + 1, end->older, 0 };
	a->node[end->older].newer = at;
	end->older = at;
	a->count++;
	return true;
}

static inline void
txctl_set_status(
    struct txctl *t, const struct update_status *s, uint64_t now_ns)
{
	if (!s->filled)
		return;
	t->last = *s;
	t->came_ns = now_ns;
	t->known = true;
}

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

static inline bool
txctl_should_send(const struct txctl *t, uint64_t now_ns, double draw)
{
	return draw < txctl_probability(t, now_ns);
}

static inline bool
txctl_write_status(struct update_status *field, const struct update_status *own)
{
	if (field->filled && (uint64_t)own->capacity * field->active >=
	    (uint64_t)field->capacity * own->active)
		return false;
	*field = *own;
	field->filled = true;
	return true;
}

#endif
