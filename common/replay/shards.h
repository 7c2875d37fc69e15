/*
 * shards.h - one draw over many tables, each on a server of its own
 *
 * A shard says the exact sum of what it is drawn by, as it was seen last.  The
 * n items of a draw are shared out by these sums, each by itself, and every
 * shard draws its share.  The chance P of an item is the share of the draw that
 * its shard really had times its chance within the shard, so that it is right
 * though sums are old; and its importance weight is (N P)^-beta over the
 * greatest of the draw, from which N falls out: (the least P / P)^beta.
 *
 * Pure: sums, chances and generators are the caller's.
 */
#ifndef INNET_REPLAY_SHARDS_H
#define INNET_REPLAY_SHARDS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/logexp.h"
#include "common/base/powers.h"
#include "common/base/rng.h"
#include "common/replay/priorities.h"

enum {
	SHARDS_MAX = 64,
	SHARDS_DRAW_MAX = 1 << 17	/* that a server gives at once */
};

/* What a shard of that sum and scale, as PER.SAMPLE tells them, weighs. */
static inline double
shards_weight(uint64_t sum, int64_t shift)
{
	assert(shift >= -1000 && shift <= 1000);
	return (double)sum * logexp_pow2((int)-shift);
}

/*
 * How many of n each of 1 to SHARDS_MAX shards is to draw, by what they weigh.
 * Where none weighs anything the first is asked, which says so.
 */
static inline void
shards_divide(const double *weigh, size_t shards, size_t n, struct rng *rng,
    size_t *share)
{
	double upto[SHARDS_MAX], all = 0;

	assert(shards >= 1 && shards <= SHARDS_MAX);
	for (size_t k = 0; k < shards; k++) {
		upto[k] = all += weigh[k];
		share[k] = 0;
	}
	if (shards == 1 || !(all > 0)) {
		share[0] = n;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const double x = rng_double(rng) * all;
		size_t k = 0;

		while (x >= upto[k])	/* x < all, the last of them */
			k++;
		share[k]++;
	}
}

/* n chances within a shard that had a share of all, to those of the union. */
static inline void
shards_chances(double *p, size_t n, size_t share, size_t all)
{
	for (size_t i = 0; i < n; i++)
		p[i] *= (double)share / (double)all;
}

/* The importance weights of n >= 1 items with those chances, not 0. */
static inline void
shards_weights(const double *p, size_t n, double beta, float *weight)
{
	double least = p[0], q[PRIORITIES_GROUP];
	size_t m;

	for (size_t i = 1; i < n; i++)
		least = p[i] < least ? p[i] : least;
	for (size_t i = 0; i < n; i += m) {
		m = n - i < PRIORITIES_GROUP ? n - i : PRIORITIES_GROUP;
		for (size_t j = 0; j < m; j++)
			q[j] = least / p[i + j];
		powers(q, m, beta);
		for (size_t j = 0; j < m; j++)
			weight[i + j] = (float)q[j];
	}
}

#endif
