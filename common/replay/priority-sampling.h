/*
 * priority-sampling.h - prioritised sampling: draw slots in proportion to a
 *   power of their priorities
 *
 * A priority is a finite float that is not negative, and is stored without
 * change.  Its leaf in a sum tree is round(p^alpha * 2^shift), but at least 1
 * if p > 0.  If p = 0, the leaf is 0.  P = leaf / total is the exact
 * probability that the slot is drawn.
 *
 * `shift` depends on the mean of the leaves that are not 0.  If the mean leaves
 * its range, or if a leaf would exceed SUMTREE_WEIGHT_MAX, all leaves are
 * rebuilt from the priorities with another shift.  This shift brings the mean
 * to about PRIORITIES_MEAN or, if the greatest leaf does not allow this, as
 * near to it as possible.  If p^alpha is below about 2^-15 of the mean, or
 * 2^-23 of the greatest p^alpha, the leaf is raised to 1.
 *
 * If `slice` is set, a rebuild takes several steps.  A second tree is made
 * while draws still use the first tree with the old shift.  If a new leaf is
 * too large for the first tree, it is set to SUMTREE_WEIGHT_MAX.
 */
#ifndef INNET_REPLAY_PRIORITY_SAMPLING_H
#define INNET_REPLAY_PRIORITY_SAMPLING_H

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

#define PRIORITIES_MEAN 0x1p14		/* mean of the leaves after the shift
					 * has changed */
#define PRIORITIES_RANGE 8	/* factor by which the mean may differ from
				 * PRIORITIES_MEAN */
#define PRIORITIES_POWER_MAX 4	/* largest value of alpha and beta; the smallest
				 * value is 0 */
enum { PRIORITIES_GROUP = 256 };	/* number of priorities that are
					 * processed together */

struct priorities {
	struct sumtree tree;
	float *priority;	/* priorities by slot; 0 if a slot has none */
	double alpha;
	int shift;
	float highest;		/* highest priority so far; 0 if there was
				 * none */
	size_t live;		/* number of slots with a priority above 0 */
	size_t used;		/* first slot from which on no slot has ever had
				 * a priority */
	double low;		/* if the mean of the leaves is below this
				 * value, the shift must change */
	uint64_t raised;	/* number of leaves that were raised to 1
				 * because they were below 1/2 */
	bool pinned;		/* the greatest leaf does not allow a larger
				 * `shift` */
	size_t since;		/* number of leaves that were set since `shift`
				 * was chosen */

	size_t slice;		/* number of leaves that one step of a rebuild
				 * makes, as whole nodes; 0: all leaves */
	struct sumtree next;	/* the second tree; `leaf` is NULL if there is
				 * none */
	int next_shift;
	size_t made;		/* first slot whose leaf in the second tree has
				 * not been made */
	double next_most;	/* greatest p^alpha in the second tree */
	bool large;		/* a leaf was too large for the second tree */
	bool second;		/* this rebuild corrects the shift of the last
				 * rebuild */
	size_t most;		/* largest number of leaves that were rebuilt in
				 * one step */

	double back_sum;	/* sum of p^alpha of all priorities that were
				 * passed to priorities_put_back() */
	double back_most;	/* greatest p^alpha of all priorities that were
				 * passed to priorities_put_back() */
};

/*
 * Initialise r with `capacity` slots, none of which has a priority.  alpha must
 * be from 0 to PRIORITIES_POWER_MAX.  Returns false if there is no memory.
 */
static inline bool priorities_open(struct priorities *r, size_t capacity,
    double alpha);

/* Free the memory. */
static inline void priorities_close(struct priorities *r);

/* Is p a valid priority? */
static inline bool priorities_valid(float p);

/*
 * Set n priorities in order.  If a slot occurs more than once, its last
 * priority counts.
 */
static inline void priorities_set(struct priorities *r, const uint32_t *slot,
    const float *p, size_t n);

/*
 * Set the priorities of n consecutive slots, from slot `from` on.  n is at most
 * the capacity.  Slot 0 follows the last slot.
 */
static inline void priorities_insert(struct priorities *r, size_t from,
    const float *p, size_t n);

/* Set the priority of n slots to 0, so that they are not drawn. */
static inline void priorities_clear(struct priorities *r, const uint32_t *slot,
    size_t n);

/*
 * Store the priorities of n slots in an empty tree, to restore a saved table.
 * Pass each slot exactly once, in any number of calls.  Then call
 * priorities_begin_leaves(), and after it priorities_make_leaves() for the same
 * slots.  The shift is chosen only once, so the time is proportional to the
 * number of slots and does not depend on the priorities.
 */
static inline void priorities_put_back(struct priorities *r,
    const uint32_t *slot, const float *p, size_t n);
static inline void priorities_begin_leaves(struct priorities *r);
static inline void priorities_make_leaves(struct priorities *r,
    const uint32_t *slot, size_t n);

/*
 * Draw n slots with probabilities in proportion to their leaves.  Store the
 * probabilities P and the importance weights of these slots.  An importance
 * weight is (N P)^-beta, divided by the greatest such value in the batch.  N
 * cancels out, so the weight is (least leaf of the batch / leaf)^beta.  Returns
 * false if no slot has a priority above 0.
 */
static inline bool priorities_draw(struct priorities *r, struct rng *rng,
    double beta, bool strata, size_t n, uint32_t *slot, double *prob,
    float *weight);

/* If there is a second tree, make the next slice of its leaves. */
static inline void priorities_continue_rebuild(struct priorities *r);

/* Set q[i] to p[i]^alpha, or to 0 if p[i] is 0. */
static inline void priorities_power(double alpha, const float *p, size_t n,
    double *q);

/* implementation */

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
	sumtree_close(&r->next);
	free(r->priority);
	r->priority = NULL;
}

static inline bool
priorities_valid(float p)
{
	return isfinite(p) && p >= 0;
}

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

/*
 * Compute the leaves for n <= PRIORITIES_GROUP values of p^alpha.  Returns
 * false if a leaf was too large and was set to SUMTREE_WEIGHT_MAX.
 */
static inline bool
priorities_round(struct priorities *r, int shift, const double *q, size_t n,
    uint32_t *leaf)
{
	const double scale = logexp_pow2(shift);
	const double end = SUMTREE_WEIGHT_MAX + 1.0;
	uint32_t raised = 0;
	bool fit = true;

	for (size_t i = 0; i < n; i++) {
		const double w = q[i] * scale + 0.5;

		fit &= w < end;
		leaf[i] = (uint32_t)(w < end ? w : SUMTREE_WEIGHT_MAX);
		raised += w < 1 && q[i] > 0;
		leaf[i] += leaf[i] == 0 && q[i] > 0;
	}
	r->raised += raised;
	return fit;
}

/*
 * Return the sum of all p^alpha, and store the greatest p^alpha in *most.  If
 * `make` is true, also rebuild all leaves.
 */
static inline double
priorities_scan(struct priorities *r, bool make, double *most)
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
			priorities_round(r, r->shift, q, m, leaf);
			sumtree_insert(&r->tree, i, leaf, m);
		}
	}
	return sum;
}

/* Return the best shift if p^alpha has this mean and this greatest value. */
static inline int
priorities_shift(double mean, double most, bool *pinned)
{
	const int shift = ilogb(PRIORITIES_MEAN) - ilogb(mean);
	const int fits = ilogb(SUMTREE_WEIGHT_MAX / most);

	*pinned = fits < shift;
	return *pinned ? fits : shift;
}

/*
 * Guess the shift from the tree and the highest priority so far.  The guess is
 * usually right, so one pass over all priorities is enough.  Other requests
 * wait during such a pass.
 */
static inline int
priorities_guess_shift(const struct priorities *r)
{
	double most, mean;
	bool pinned;

	priorities_power(r->alpha, &r->highest, 1, &most);
	mean = r->tree.total == 0 ? most : (double)r->tree.total /
	    (double)r->live * logexp_pow2(-r->shift);
	return priorities_shift(mean, most, &pinned);
}

/* Set the lower limit for the mean of the leaves, which is now `mean`. */
static inline void
priorities_settle(struct priorities *r, double mean)
{
	r->low = (mean < PRIORITIES_MEAN ? mean : PRIORITIES_MEAN) /
	    PRIORITIES_RANGE;
	r->since = 0;
}

/*
 * Choose the shift for the current priorities.  If the shift changes, rebuild
 * all leaves.
 */
static inline void
priorities_rescale(struct priorities *r)
{
	const int was = r->shift;
	double most, mean;
	int shift;

	assert(r->live > 0);
	r->shift = priorities_guess_shift(r);
	mean = priorities_scan(r, r->shift != was, &most) / (double)r->live;
	shift = priorities_shift(mean, most, &r->pinned);
	if (shift != r->shift) {
		r->shift = shift;
		priorities_scan(r, true, &most);
	}
	priorities_settle(r, mean * logexp_pow2(shift));
	r->most = r->used > r->most ? r->used : r->most;
}

/*
 * Begin a second tree with this shift.  If there is a second tree already,
 * begin it again.  Returns false if there is no memory.
 */
static inline bool
priorities_begin_rebuild(struct priorities *r, int shift)
{
	sumtree_close(&r->next);
	r->next_shift = shift;
	r->made = 0;
	r->next_most = 0;
	r->large = false;
	return sumtree_open_raw(&r->next, r->tree.n);
}

/* Rebuild all leaves with this shift, at once or in slices. */
static inline void
priorities_rebuild(struct priorities *r, int shift)
{
	if (r->slice == 0 || r->used <= r->slice || !priorities_begin_rebuild(r,
	    shift))
		priorities_rescale(r);
}

/* Replace the tree with the second tree, which is complete. */
static inline void
priorities_switch_tree(struct priorities *r)
{
	double mean;
	int shift;

	sumtree_close(&r->tree);
	r->tree = r->next;
	r->next = (struct sumtree){ 0 };
	r->shift = r->next_shift;
	r->low = HUGE_VAL;
	r->since = 0;
	if (r->live == 0)
		return;
	mean = (double)r->tree.total / (double)r->live;
	priorities_settle(r, mean);
	shift = priorities_shift(mean * logexp_pow2(-r->shift), r->next_most,
	    &r->pinned);
	r->second = shift != r->shift && !r->second;
	if (r->second)
		priorities_rebuild(r, shift);
}

static inline void
priorities_continue_rebuild(struct priorities *r)
{
	const size_t end = sumtree_nodes(r->next.n) * SUMNODE_K;
	const size_t to = end - r->made < r->slice ? end : r->made + r->slice;
	double q[PRIORITIES_GROUP];
	uint32_t leaf[PRIORITIES_GROUP];
	size_t m, k;

	if (r->next.leaf == NULL)
		return;
	r->most = to - r->made > r->most ? to - r->made : r->most;
	for (; r->made < to; r->made += m) {
		m = to - r->made < PRIORITIES_GROUP ? to - r->made :
		    PRIORITIES_GROUP;
		sumtree_zero_nodes(&r->next, r->made, sumtree_nodes(m));
		if (r->made >= r->used)
			continue;
		k = r->used - r->made < m ? r->used - r->made : m;
		priorities_power(r->alpha, r->priority + r->made, k, q);
		for (size_t i = 0; i < k; i++)
			r->next_most = q[i] > r->next_most ? q[i] :
			    r->next_most;
		r->large |= !priorities_round(r, r->next_shift, q, k, leaf);
		sumtree_insert(&r->next, r->made, leaf, k);
	}
	if (r->large)
		priorities_rebuild(r, priorities_guess_shift(r));
	else if (r->made == end)
		priorities_switch_tree(r);
}

/*
 * Also store the leaves for n <= PRIORITIES_GROUP values of p^alpha in the
 * second tree.
 */
static inline void
priorities_set_next(struct priorities *r, const uint32_t *slot, const double *q,
    size_t n)
{
	uint32_t leaf[PRIORITIES_GROUP], at[PRIORITIES_GROUP];
	double of[PRIORITIES_GROUP];
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		r->next_most = q[i] > r->next_most ? q[i] : r->next_most;
		at[k] = slot[i];
		of[k] = q[i];
		k += slot[i] < r->made;
	}
	r->large |= !priorities_round(r, r->next_shift, of, k, leaf);
	sumtree_update(&r->next, at, leaf, k);
}

/*
 * Rebuild all leaves if the shift no longer suits them.  The caller has just
 * set n leaves, and `fit` says whether none of them was too large for the tree.
 */
static inline void
priorities_check_shift(struct priorities *r, size_t n, bool fit)
{
	const double mean = (double)r->tree.total / (double)r->live;

	r->since += n;
	if (r->live == 0 || r->next.leaf != NULL || (fit && mean >= r->low &&
	    mean <= PRIORITIES_MEAN * 2 * PRIORITIES_RANGE &&
	    !(r->pinned && r->since > r->used)))
		return;
	r->second = false;
	priorities_rebuild(r, priorities_guess_shift(r));
}

/* Store the priority of a slot without setting the slot's leaf in the tree. */
static inline void
priorities_store(struct priorities *r, size_t slot, float p)
{
	assert(priorities_valid(p) && slot < r->tree.n);
	r->live += (p > 0) - (size_t)(r->priority[slot] > 0);
	r->priority[slot] = p;
	r->highest = p > r->highest ? p : r->highest;
	r->used = slot < r->used ? r->used : slot + 1;
}

static inline void
priorities_set(struct priorities *r, const uint32_t *slot, const float *p,
    size_t n)
{
	double q[PRIORITIES_GROUP];
	uint32_t leaf[PRIORITIES_GROUP];
	bool fit;
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = i; j < i + m; j++) {
			if (n - j > SUMNODE_AHEAD)
				__builtin_prefetch(&r->priority[
				    slot[j + SUMNODE_AHEAD]], 1);
			priorities_store(r, slot[j], p[j]);
		}
		priorities_power(r->alpha, p + i, m, q);
		fit = priorities_round(r, r->shift, q, m, leaf);
		sumtree_update(&r->tree, slot + i, leaf, m);
		if (r->next.leaf != NULL)
			priorities_set_next(r, slot + i, q, m);
		priorities_check_shift(r, m, fit);
	}
}

static inline void
priorities_insert(struct priorities *r, size_t from, const float *p, size_t n)
{
	double q[PRIORITIES_GROUP];
	uint32_t leaf[PRIORITIES_GROUP], at[PRIORITIES_GROUP];
	bool fit;
	size_t m;

	assert(from < r->tree.n && n <= r->tree.n);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = 0; j < m; j++) {
			at[j] = (uint32_t)((from + j) % r->tree.n);
			priorities_store(r, at[j], p[i + j]);
		}
		priorities_power(r->alpha, p + i, m, q);
		fit = priorities_round(r, r->shift, q, m, leaf);
		sumtree_insert(&r->tree, from, leaf, m);
		if (r->next.leaf != NULL)
			priorities_set_next(r, at, q, m);
		priorities_check_shift(r, m, fit);
		from = (from + m) % r->tree.n;
	}
}

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

static inline void
priorities_put_back(struct priorities *r, const uint32_t *slot, const float *p,
    size_t n)
{
	double q[PRIORITIES_GROUP];
	size_t m;

	assert(r->tree.total == 0);
	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		priorities_power(r->alpha, p + i, m, q);
		for (size_t j = 0; j < m; j++) {
			priorities_store(r, slot[i + j], p[i + j]);
			r->back_sum += q[j];
			r->back_most = q[j] > r->back_most ? q[j] :
			    r->back_most;
		}
	}
}

static inline void
priorities_begin_leaves(struct priorities *r)
{
	double mean;

	if (r->live == 0)
		return;
	mean = r->back_sum / (double)r->live;
	r->shift = priorities_shift(mean, r->back_most, &r->pinned);
	priorities_settle(r, mean * logexp_pow2(r->shift));
}

static inline void
priorities_make_leaves(struct priorities *r, const uint32_t *slot, size_t n)
{
	float p[PRIORITIES_GROUP];
	double q[PRIORITIES_GROUP];
	uint32_t leaf[PRIORITIES_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = 0; j < m; j++)
			p[j] = r->priority[slot[i + j]];
		priorities_power(r->alpha, p, m, q);
		priorities_round(r, r->shift, q, m, leaf);
		sumtree_update(&r->tree, slot + i, leaf, m);
	}
}

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
