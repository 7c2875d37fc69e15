/*
 * shards.h - draw items from many tables, each on its own server
 *
 * Each shard reports the exact sum of its weights; the client uses the last
 * report.  The n items of a draw are distributed over the shards at random in
 * proportion to these sums, each item independently.  Every shard draws its
 * share of the items.  The probability P of an item is the actual share of its
 * shard in the draw times the probability of the item within the shard.  So P
 * is correct even if the sums are old.  The importance weight of an item is (N
 * P)^-beta divided by the greatest weight in the draw.  N cancels out, so the
 * weight is (least P / P)^beta.
 *
 * The functions have no side effects: the caller passes sums, probabilities and
 * random number generators.
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
	SHARDS_DRAW_MAX = 1 << 17	/* maximum number of items that a server
					 * returns at once */
};

/*
 * Return the weight of a shard.  `sum` and `scale` are the values that
 * PER.SAMPLE of this shard has returned.
 */
static inline double
shards_weight(uint64_t sum, int64_t shift)
{
	assert(shift >= -1000 && shift <= 1000);
	return (double)sum * logexp_pow2((int)-shift);
}

/*
 * Decide how many of n items each shard draws, at random according to the
 * weights of the shards, and store these numbers.  There are 1 to SHARDS_MAX
 * shards.  If all weights are 0, the first shard gets the whole request, and
 * its answer says that its weight is 0.
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

		while (x >= upto[k])	/* the search ends, because x is less
					 * than the last sum, `all` */
			k++;
		share[k]++;
	}
}

/*
 * Convert n probabilities within a shard to probabilities in the whole draw.
 * The shard drew `share` of `all` items.
 */
static inline void
shards_chances(double *p, size_t n, size_t share, size_t all)
{
	for (size_t i = 0; i < n; i++)
		p[i] *= (double)share / (double)all;
}

/*
 * Store the importance weights of n >= 1 items with these probabilities, which
 * must not be 0.
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
