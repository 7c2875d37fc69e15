/*
 * priorities.h - prioritised sampling: slots drawn by their priorities to a
 * power
 *
 * A priority is a float, finite and not negative, kept as it was given.  The
 * leaf of its slot in a sum tree is round(p^alpha 2^shift), at least 1 where
 * p > 0 and 0 where p = 0, and P = leaf / total is the chance with which it is
 * really drawn.  shift follows the mean: where that of the leaves that are not
 * 0 leaves its range, or a leaf would be above SUMTREE_WEIGHT_MAX, all leaves
 * are made anew from the priorities with a shift that brings the mean to about
 * PRIORITIES_MEAN, or as near to it as the greatest leaf allows.
 */
#ifndef INNET_REPLAY_PRIORITIES_H
#define INNET_REPLAY_PRIORITIES_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/logexp.h"
#include "common/base/pages.h"
#include "common/base/powers.h"
#include "common/base/rng.h"
#include "common/replay/sumtree.h"

#define PRIORITIES_MEAN 0x1p14		/* where a rescale puts the mean leaf */
#define PRIORITIES_RANGE 8		/* and how far from there it may move */
#define PRIORITIES_POWER_MAX 4	/* alpha and beta are 0 to this */
enum { PRIORITIES_GROUP = 256 };

struct priorities {
	struct sumtree tree;
	float *priority;	/* by slot; 0 where there is none */
	double alpha;
	int shift;
	float highest;		/* priority that ever was, 0 before any */
	size_t live;		/* slots with a priority above 0 */
	size_t used;		/* slots from here on never had one */
	double low;		/* mean leaf below which to rescale */
	uint64_t raised;	/* leaves made 1 that were below 1/2 */
	bool pinned;		/* the greatest leaf keeps shift down */
	size_t since;		/* leaves set since shift was chosen */
};

/*
 * No priorities in capacity slots, 0 <= alpha <= PRIORITIES_POWER_MAX; false
 * without memory.  Close it in the end.
 */
static inline bool
priorities_open(struct priorities *r, size_t capacity, double alpha)
{
	assert(alpha >= 0 && alpha <= PRIORITIES_POWER_MAX);
	*r = (struct priorities){ .alpha = alpha, .low = HUGE_VAL };
	if (!sumtree_open(&r->tree, capacity))
		return false;
	r->priority = pages_new(capacity * sizeof(*r->priority));
	if (r->priority == NULL)
		sumtree_close(&r->tree);
	return r->priority != NULL;
}

static inline void
priorities_close(struct priorities *r)
{
	sumtree_close(&r->tree);
	free(r->priority);
	r->priority = NULL;
}

/* Can this be a priority? */
static inline bool
priorities_valid(float p)
{
	return isfinite(p) && p >= 0;
}

/* q[i] = p[i]^alpha; 0 of 0. */
static inline void
priorities_power(double alpha, const float *p, size_t n, double *q)
{
	if (alpha == 1) {
		for (size_t i = 0; i < n; i++)
			q[i] = (double)p[i];
	} else if (alpha == 0.5) {
		for (size_t i = 0; i < n; i++)
			q[i] = sqrt((double)p[i]);
	} else if (alpha == 0) {
		for (size_t i = 0; i < n; i++)
			q[i] = p[i] > 0;
	} else {
		for (size_t i = 0; i < n; i++)
			q[i] = p[i] > 0 ? (double)p[i] : 1;
		powers(q, n, alpha);
		for (size_t i = 0; i < n; i++)
			q[i] = p[i] > 0 ? q[i] : 0;
	}
}

/* Leaves of n <= PRIORITIES_GROUP powers; false if one would be too large. */
static inline bool
priorities_round(struct priorities *r, const double *q, size_t n,
    uint32_t *leaf)
{
	const double scale = logexp_pow2(r->shift);
	const double end = SUMTREE_WEIGHT_MAX + 1.0;
	uint32_t raised = 0;
	bool fit = true;

	for (size_t i = 0; i < n; i++) {
		const double w = q[i] * scale + 0.5;

		fit &= w < end;
		leaf[i] = (uint32_t)(w < end ? w : 0);
		raised += w < 1 && q[i] > 0;
		leaf[i] += leaf[i] == 0 && q[i] > 0;
	}
	r->raised += raised;
	return fit;
}

/* The same of n <= PRIORITIES_GROUP priorities. */
static inline bool
priorities_leaves(struct priorities *r, const float *p, size_t n,
    uint32_t *leaf)
{
	double q[PRIORITIES_GROUP];

	priorities_power(r->alpha, p, n, q);
	return priorities_round(r, q, n, leaf);
}

/* The sum of all p^alpha, and the greatest; with make, all leaves anew. */
static inline double
priorities_pass(struct priorities *r, bool make, double *most)
{
	double q[PRIORITIES_GROUP], sum = 0;
	uint32_t leaf[PRIORITIES_GROUP];
	size_t m;

	*most = 0;
	for (size_t i = 0; i < r->used; i += m) {
		m = r->used - i < PRIORITIES_GROUP ? r->used - i :
		    PRIORITIES_GROUP;
		priorities_power(r->alpha, r->priority + i, m, q);
		for (size_t j = 0; j < m; j++) {
			sum += q[j];
			*most = q[j] > *most ? q[j] : *most;
		}
		if (make) {
			priorities_round(r, q, m, leaf);
			sumtree_insert(&r->tree, i, leaf, m);
		}
	}
	return sum;
}

/* The shift for that mean of p^alpha and the greatest. */
static inline int
priorities_shift(double mean, double most, bool *pinned)
{
	const int shift = ilogb(PRIORITIES_MEAN) - ilogb(mean);
	const int fits = ilogb(SUMTREE_WEIGHT_MAX / most);

	*pinned = fits < shift;
	return *pinned ? fits : shift;
}

/*
 * What that will be, by the tree and the highest priority ever, so that one
 * pass over all priorities does for most changes, not two: others wait.
 */
static inline int
priorities_guess(const struct priorities *r)
{
	double most, mean;
	bool pinned;

	priorities_power(r->alpha, &r->highest, 1, &most);
	mean = r->tree.total == 0 ? most : (double)r->tree.total /
	    (double)r->live * logexp_pow2(-r->shift);
	return priorities_shift(mean, most, &pinned);
}

/*
 * Choose the shift for the priorities that are there, and make all leaves anew
 * if it is another or they are not made yet.
 */
static inline void
priorities_rescale(struct priorities *r, bool made)
{
	const int was = r->shift;
	double most, mean;
	int shift;

	assert(r->live > 0);
	r->shift = priorities_guess(r);
	mean = priorities_pass(r, !made || r->shift != was, &most) /
	    (double)r->live;
	shift = priorities_shift(mean, most, &r->pinned);
	if (shift != r->shift) {
		r->shift = shift;
		priorities_pass(r, true, &most);
	}
	mean *= logexp_pow2(shift);
	r->low = (mean < PRIORITIES_MEAN ? mean : PRIORITIES_MEAN) /
	    PRIORITIES_RANGE;
	r->since = 0;
}

/* n leaves were set, or, if not made, could not be: see to the shift. */
static inline void
priorities_follow(struct priorities *r, size_t n, bool made)
{
	const double mean = (double)r->tree.total / (double)r->live;
	double most;

	r->since += n;
	if (r->live == 0 && !made)
		/* one too large, and then 0 */
		priorities_pass(r, true, &most);
	else if (r->live > 0 && (!made || mean < r->low ||
	    mean > PRIORITIES_MEAN * 2 * PRIORITIES_RANGE ||
	    (r->pinned && r->since > r->used)))
		priorities_rescale(r, made);
}

static inline void
priorities_keep(struct priorities *r, size_t slot, float p)
{
	assert(priorities_valid(p) && slot < r->tree.n);
	r->live += (p > 0) - (size_t)(r->priority[slot] > 0);
	r->priority[slot] = p;
	r->highest = p > r->highest ? p : r->highest;
	r->used = slot < r->used ? r->used : slot + 1;
}

/* Set priorities, in order: of duplicates the last one stays. */
static inline void
priorities_set(struct priorities *r, const uint32_t *slot, const float *p,
    size_t n)
{
	uint32_t leaf[PRIORITIES_GROUP];
	bool made;
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = i; j < i + m; j++) {
			if (n - j > SUMNODE_AHEAD)
				__builtin_prefetch(&r->priority[
				    slot[j + SUMNODE_AHEAD]], 1);
			priorities_keep(r, slot[j], p[j]);
		}
		made = priorities_leaves(r, p + i, m, leaf);
		if (made)
			sumtree_update(&r->tree, slot + i, leaf, m);
		priorities_follow(r, m, made);
	}
}

/* Set n <= capacity priorities from a slot on; behind the last is slot 0. */
static inline void
priorities_insert(struct priorities *r, size_t from, const float *p, size_t n)
{
	uint32_t leaf[PRIORITIES_GROUP];
	bool made;
	size_t m;

	assert(from < r->tree.n && n <= r->tree.n);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = 0; j < m; j++)
			priorities_keep(r, (from + j) % r->tree.n, p[i + j]);
		made = priorities_leaves(r, p + i, m, leaf);
		if (made)
			sumtree_insert(&r->tree, from, leaf, m);
		priorities_follow(r, m, made);
		from = (from + m) % r->tree.n;
	}
}

/* Priority 0: these slots are not drawn. */
static inline void
priorities_clear(struct priorities *r, const uint32_t *slot, size_t n)
{
	static const float none[PRIORITIES_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		priorities_set(r, slot + i, none, m);
	}
}

/*
 * Draw n slots by weight, with their chances P and importance weights
 * (N P)^-beta over the greatest of the batch, from which N falls out: (the
 * batch's least leaf / leaf)^beta.  False where there is nothing to draw.
 */
static inline bool
priorities_draw(struct priorities *r, struct rng *rng, double beta, bool strata,
    size_t n,
    uint32_t *slot, double *prob, float *weight)
{
	const double total = (double)r->tree.total;
	uint32_t leaf, least = UINT32_MAX;
	double q[PRIORITIES_GROUP];
	size_t m;

	assert(beta >= 0 && beta <= PRIORITIES_POWER_MAX);
	if (r->tree.total == 0)
		return false;
	sumtree_draw(&r->tree, rng, strata, n, slot, NULL);
	for (size_t i = 0; i < n; i++) {
		leaf = sumtree_weight(&r->tree, slot[i]);
		prob[i] = leaf;
		least = leaf < least ? leaf : least;
	}
	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = 0; j < m; j++) {
			q[j] = least / prob[i + j];
			prob[i + j] /= total;
		}
		powers(q, m, beta);
		for (size_t j = 0; j < m; j++)
			weight[i + j] = (float)q[j];
	}
	return true;
}

#endif
