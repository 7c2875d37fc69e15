/*
 * shards.h - draw from many tables, each on its own server
 *
 * Each shard reports the exact sum of its weights, as last seen.  The n items
 * of a draw are divided among the shards by these sums, each item by itself,
 * and every shard draws its share.  The probability P of an item is the share
 * of the draw that its shard really had times its probability within the shard,
 * so it is right although sums are old.  Its importance weight is (N P)^-beta
 * over the greatest of the draw; N cancels out: (least P / P)^beta.
 *
 * Pure: sums, probabilities and generators are the caller's.
 */
#ifndef INNET_REPLAY_SHARDS_H
#define INNET_REPLAY_SHARDS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/logexp.h"
#include "common/base/powers.h"
#include "common/base/rng.h"
#include "common/replay/priority-sampling.h"

enum {
	SHARDS_MAX = 64,
	SHARDS_DRAW_MAX = 1 << 17	/* items that a server gives at once */
};

/*
 * Return the weight of a shard of this sum and scale, as PER.SAMPLE returns
 * them.
 */
static inline double
shards_weight(uint64_t sum, int64_t shift)
{
	assert(shift >= -1000 && shift <= 1000);
	return (double)sum * logexp_pow2((int)-shift);
}

/*
 * Store how many of n items each of 1 to SHARDS_MAX shards draws, by their
 * weights.  If all weights are 0, the first shard is asked and reports that.
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

/*
 * Convert n probabilities within a shard that had `share` of `all` items to
 * those of the whole draw.
 */
static inline void
shards_chances(double *p, size_t n, size_t share, size_t all)
{
	for (size_t i = 0; i < n; i++)
		p[i] *= (double)share / (double)all;
}

/*
 * Store the importance weights of n >= 1 items with these probabilities, which
 * are not 0.
 */
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
