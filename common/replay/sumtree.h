/*
 * sumtree.h - a sum tree of integer weights, from which leaves are drawn in
 * proportion to their weights
 *
 * Leaf i has the weight w(i); find(x) is the least i with w(0) + ... + w(i) >
 * x.  So a uniform x below the total finds each leaf with a probability
 * proportional to its weight, and never a leaf of weight 0.  All sums stay
 * exact, even after many changes.
 *
 * From the bottom, the tree consists of leaf nodes, nodes of 32-bit sums,
 * levels of 64-bit sums until at most 256 nodes are left, and a top with a sum
 * for each of these nodes.  Up to 64 Ki leaves there is no level of 64-bit
 * sums, up to 1 Mi leaves there is one, and up to 16 Mi leaves there are two.
 * The prefix sums of the top are computed at the first search after a change.
 * The functions process searches and changes in batches, level by level, and
 * prefetch the nodes of the next level.
 */
#ifndef INNET_REPLAY_SUMTREE_H
#define INNET_REPLAY_SUMTREE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/pages.h"
#include "common/base/rng.h"
#include "common/replay/sumnode.h"

/* The largest weight.  The sum of 256 such weights is below 2^31. */
#define SUMTREE_WEIGHT_MAX ((1u << 23) - 1)

enum {
	SUMTREE_WIDE = 4,	/* maximum number of levels of 64-bit sums,
				 * enough for 2^32 leaves */
	SUMTREE_GROUP = 64,	/* number of leaves of a batch that are
				 * processed together */
};

struct sumtree {
	size_t n;		/* number of leaves */
	uint64_t total;		/* sum of all weights */
	uint32_t *leaf;		/* owned; the block that contains the whole
				 * tree; NULL: the tree is closed */
	uint32_t *mid;		/* 32-bit sums */
	uint64_t *wide[SUMTREE_WIDE];	/* the levels of 64-bit sums, the lowest
					 * level first */
	unsigned wides;		/* number of levels in `wide` */
	uint64_t sum[SUMNODE_TOPS];	/* sum of each node on the level below
					 * the top */
	struct sumnode_top top;	/* computed from `sum` */
	bool stale;		/* `sum` has changed since `top` was computed */
	const struct sumnode_form *form;	/* the functions that
						 * sumnode_best() has
						 * returned */
};

/*
 * Create a tree of n leaves with weight 0, for 1 <= n < 2^32.  Returns false if
 * there is no memory.
 */
static inline bool sumtree_open(struct sumtree *t, size_t n);

/*
 * Create a tree whose leaves have no weights yet.  The caller must zero each
 * leaf with sumtree_zero_nodes() before it sets the leaf, and all leaves before
 * it searches.  Returns false if there is no memory.
 */
static inline bool sumtree_open_raw(struct sumtree *t, size_t n);

/*
 * Set the leaves of `nodes` whole nodes, from leaf `from` on, to weight 0.  Use
 * this function only for a tree that sumtree_open_raw() has created.
 */
static inline void sumtree_zero_nodes(struct sumtree *t, size_t from,
    size_t nodes);

/* Free the tree. */
static inline void sumtree_close(struct sumtree *t);

/* Return the number of nodes that have this number of children together. */
static inline size_t sumtree_nodes(size_t children);

/* Return the weight of leaf i. */
static inline uint32_t sumtree_weight(const struct sumtree *t, size_t i);

/*
 * Set the weights of n leaves in order.  If a leaf occurs more than once, its
 * last weight counts.
 */
static inline void sumtree_update(struct sumtree *t, const uint32_t *at,
    const uint32_t *weight, size_t n);

/*
 * Set the weights of n consecutive leaves, from leaf `from` on.  n is at most
 * t->n.  Leaf 0 follows the last leaf.
 */
static inline void sumtree_insert(struct sumtree *t, size_t from,
    const uint32_t *weight, size_t n);

/*
 * For each of the n sums x, store find(x).  Each x must be below the total.
 * Unless `weight` is NULL, also store the weights of these leaves.
 */
static inline void sumtree_find(struct sumtree *t, const uint64_t *x, size_t n,
    uint32_t *at, uint32_t *weight);

/*
 * Draw n leaves in proportion to their weights.  The total must not be 0.  If
 * strata are requested, draw one leaf from each of n equal parts of the total.
 * The limits of the parts are rounded to integers, so if the total is less than
 * n, some parts are equal.
 */
static inline void sumtree_draw(struct sumtree *t, struct rng *rng, bool strata,
    size_t n, uint32_t *at, uint32_t *weight);

/*
 * Multiply every weight by 2^shift, round the product up, and limit it to
 * SUMTREE_WEIGHT_MAX.
 */
static inline void sumtree_scale(struct sumtree *t, int shift);

/* implementation */

static inline size_t
sumtree_nodes(size_t children)
{
	return (children + SUMNODE_K - 1) / SUMNODE_K;
}

static inline bool
sumtree_open_raw(struct sumtree *t, size_t n)
{
	const size_t leaves = sumtree_nodes(n), mids = sumtree_nodes(leaves);
	size_t wide = 0, nodes;
	uint64_t *p;

	assert(n >= 1 && n <= UINT32_MAX);
	*t = (struct sumtree){ .n = n, .stale = true };
	t->form = sumnode_best();
	for (nodes = mids; nodes > SUMNODE_TOPS; wide += nodes)
		nodes = sumtree_nodes(nodes);
	t->leaf = pages_raw((leaves + mids + 2 * wide) * SUMNODE_LINE);
	if (t->leaf == NULL)
		return false;
	t->mid = t->leaf + leaves * SUMNODE_K;
	pages_zero(t->mid, (mids + 2 * wide) * SUMNODE_LINE);
	p = (void *)(t->mid + mids * SUMNODE_K);
	for (nodes = mids; nodes > SUMNODE_TOPS; p += nodes * SUMNODE_K) {
		nodes = sumtree_nodes(nodes);
		t->wide[t->wides++] = p;
	}
	return true;
}

static inline void
sumtree_zero_nodes(struct sumtree *t, size_t from, size_t nodes)
{
	assert(from % SUMNODE_K == 0);
	memset(t->leaf + from, 0, nodes * SUMNODE_LINE);
}

static inline bool
sumtree_open(struct sumtree *t, size_t n)
{
	if (!sumtree_open_raw(t, n))
		return false;
	pages_zero(t->leaf, sumtree_nodes(n) * SUMNODE_LINE);
	return true;
}

static inline void
sumtree_close(struct sumtree *t)
{
	free(t->leaf);
	t->leaf = NULL;
}

static inline uint32_t
sumtree_weight(const struct sumtree *t, size_t i)
{
	assert(i < t->n);
	return sumnode_weight(t->leaf, i);
}

/* Return the level below level l of 64-bit sums. */
static inline struct sumnode_next
sumtree_level(const struct sumtree *t, unsigned l)
{
	return l == 0 ? (struct sumnode_next){ t->mid, SUMNODE_LINE } :
	    (struct sumnode_next){ t->wide[l - 1], 2 * SUMNODE_LINE };
}

/*
 * Add the changes of n <= SUMTREE_GROUP leaves to all sums above the leaf
 * nodes.
 */
static inline void
sumtree_add_up(struct sumtree *t, const uint32_t *at, const int32_t *delta,
    size_t n)
{
	unsigned shift = SUMNODE_LOG;

	t->form->add32(t->mid, at, shift, delta, n);
	for (unsigned l = 0; l < t->wides; l++)
		t->form->add64(t->wide[l], at, shift += SUMNODE_LOG, delta, n);
	shift += SUMNODE_LOG;
	for (size_t i = 0; i < n; i++) {
		t->sum[at[i] >> shift] += (uint64_t)(int64_t)delta[i];
		t->total += (uint64_t)(int64_t)delta[i];
	}
	t->stale = true;
}

static inline void
sumtree_update(struct sumtree *t, const uint32_t *at, const uint32_t *weight,
    size_t n)
{
	int32_t delta[SUMTREE_GROUP];
	size_t m;

	for (size_t i = 0; i < n && i < SUMNODE_AHEAD; i++)
		sumnode_prefetch_leaf(t->leaf, t->mid, at[i]);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < SUMTREE_GROUP ? n - i : SUMTREE_GROUP;
		for (size_t j = i; j < i + m; j++) {
			assert(at[j] < t->n);
			assert(weight[j] <= SUMTREE_WEIGHT_MAX);
		}
		t->form->set(t->leaf, at + i, weight + i, m, delta, n - i - m,
		    t->mid);
		sumtree_add_up(t, at + i, delta, m);
	}
}

/* Set the weights of the leaves of `nodes` whole nodes, from leaf `from` on. */
static inline void
sumtree_fill(struct sumtree *t, size_t from, const uint32_t *weight,
    size_t nodes)
{
	int32_t delta[SUMTREE_GROUP];
	uint32_t at[SUMTREE_GROUP];
	size_t m;

	for (size_t i = 0; i < nodes; i += m) {
		m = nodes - i < SUMTREE_GROUP ? nodes - i : SUMTREE_GROUP;
		for (size_t j = 0; j < m; j++)
			at[j] = (uint32_t)(from + (i + j) * SUMNODE_K);
		t->form->fill(t->leaf + at[0], weight + i * SUMNODE_K, m,
		    delta);
		sumtree_add_up(t, at, delta, m);
	}
}

static inline void
sumtree_insert(struct sumtree *t, size_t from, const uint32_t *weight,
    size_t n)
{
	uint32_t at[SUMNODE_K];
	size_t m;

	assert(from < t->n && n <= t->n);
	for (; n > 0; n -= m, weight += m, from += m) {
		from = from == t->n ? 0 : from;
		m = n < t->n - from ? n : t->n - from;
		if (from % SUMNODE_K == 0 && m >= SUMNODE_K) {
			m -= m % SUMNODE_K;
			sumtree_fill(t, from, weight, m / SUMNODE_K);
			continue;
		}
		if (m > SUMNODE_K - from % SUMNODE_K)
			m = SUMNODE_K - from % SUMNODE_K;
		for (size_t j = 0; j < m; j++)
			at[j] = (uint32_t)(from + j);
		sumtree_update(t, at, weight, m);
	}
}

/* If a sum has changed, compute the top again. */
static inline void
sumtree_update_top(struct sumtree *t)
{
	struct sumnode_top *top = &t->top;
	const uint64_t part = t->total / SUMNODE_GUIDES;
	uint64_t sum = 0, up;

	if (!t->stale)
		return;
	top->shift = part == 0 ? 0 : 64 - (unsigned)__builtin_clzll(part);
	up = ((uint64_t)1 << top->shift) - 1;
	memset(top->guide, 0, SUMNODE_GUIDES);
	for (size_t i = 0; i < SUMNODE_TOPS; i++) {
		top->before[i] = sum;
		top->guide[(sum + up) >> top->shift] = (uint8_t)i;
		sum += t->sum[i];
	}
	for (size_t i = 0; i < 4; i++)
		top->before[SUMNODE_TOPS + i] = INT64_MAX;
	t->form->spread(top->guide);
	assert(sum == t->total);
	t->stale = false;
}

/* Do the work of sumtree_find() for n <= SUMTREE_GROUP sums. */
static inline void
sumtree_find_group(const struct sumtree *t, const uint64_t *x, size_t n,
    uint32_t *at)
{
	uint32_t node[SUMTREE_GROUP];
	uint64_t left[SUMTREE_GROUP];

	assert(t->form->within(x, n, t->total));
	t->form->enter(&t->top, x, node, left, n,
	    sumtree_level(t, t->wides));
	for (unsigned l = t->wides; l-- > 0;)
		t->form->down64(t->wide[l], node, left, n,
		    sumtree_level(t, l));
	t->form->down32(t->mid, node, left, n,
	    (struct sumnode_next){ t->leaf, SUMNODE_LINE });
	t->form->leaf(t->leaf, node, left, n, at);
}

static inline void
sumtree_find(struct sumtree *t, const uint64_t *x, size_t n, uint32_t *at,
    uint32_t *weight)
{
	size_t m;

	sumtree_update_top(t);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < SUMTREE_GROUP ? n - i : SUMTREE_GROUP;
		sumtree_find_group(t, x + i, m, at + i);
		for (size_t j = i; weight != NULL && j < i + m; j++)
			weight[j] = sumnode_weight(t->leaf, at[j]);
	}
}

static inline void
sumtree_draw(struct sumtree *t, struct rng *rng, bool strata, size_t n,
    uint32_t *at, uint32_t *weight)
{
	const uint64_t part = n == 0 ? 0 : t->total / n;
	const uint64_t rest = n == 0 ? 0 : t->total % n;
	uint64_t x[SUMTREE_GROUP], from = 0, over = 0, room;
	size_t m;

	assert(t->total > 0);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < SUMTREE_GROUP ? n - i : SUMTREE_GROUP;
		for (size_t j = 0; j < m && !strata; j++)
			x[j] = rng_below(rng, t->total);
		for (size_t j = 0; j < m && strata; j++) {
			over += rest;
			room = part + (over >= n);
			over -= over >= n ? n : 0;
			x[j] = from + (room > 1 ? rng_below(rng, room) : 0);
			from += room;
		}
		sumtree_find(t, x, m, at + i,
		    weight == NULL ? NULL : weight + i);
	}
}

/*
 * Return `weight` times 2^shift, rounded up and limited to SUMTREE_WEIGHT_MAX.
 */
static inline uint32_t
sumtree_scaled(uint32_t weight, int shift)
{
	uint64_t w = weight;

	if (shift >= 0)
		w <<= shift < 23 ? shift : 23;
	else
		w = (w + ((uint64_t)1 << (shift > -23 ? -shift : 23)) - 1) >>
		    (shift > -23 ? -shift : 23);
	return w < SUMTREE_WEIGHT_MAX ? (uint32_t)w : SUMTREE_WEIGHT_MAX;
}

static inline void
sumtree_scale(struct sumtree *t, int shift)
{
	uint32_t w[SUMNODE_K * SUMTREE_GROUP];
	size_t m;

	for (size_t i = 0; i < t->n; i += m) {
		m = t->n - i < sizeof(w) / sizeof(*w) ? t->n - i :
		    sizeof(w) / sizeof(*w);
		for (size_t j = 0; j < m; j++)
			w[j] = sumtree_scaled(sumnode_weight(t->leaf, i + j),
			    shift);
		sumtree_insert(t, i, w, m);
	}
}

#endif
