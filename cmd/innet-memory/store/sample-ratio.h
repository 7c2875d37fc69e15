/*
 * sample-ratio.h - limit the number of samples for each inserted experience
 *
 * Let I be the number of experiences inserted so far, and S the number of
 * samples so far.  For a request of n more,
 *	an insert is refused while S < lo (I + n - slack), never if lo is 0;
 *	a sample is refused while S + n > hi I, never if hi is 0.
 * The first `slack` inserts are allowed for any lo.
 *
 * Inserts and samples cannot block each other forever.  If inserts of
 * n <= slack are refused, then I > slack - n and S < lo (I + n - slack), so
 * with lo <= hi
 *	hi I - S > (hi - lo) I + lo (slack - n) >= hi (slack - n),
 * and samples of up to hi (slack - n) at once are allowed.  A client can wait
 * forever if it inserts more than `slack` experiences at once, or samples more
 * than hi (slack - n) at once.  Such a client should use a timeout.
 *
 * The caller keeps the counts.  They must be below 2^53, because this
 * arithmetic is exact only up to there.  The limits may change at any time.
 */
#ifndef INNET_MEMORY_STORE_SAMPLE_RATIO_H
#define INNET_MEMORY_STORE_SAMPLE_RATIO_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sample_ratio {
	double lo, hi;		/* limits on samples per insert; 0: no limit */
	uint64_t slack;		/* number of inserts allowed for any `lo` */
};

/*
 * Return NULL if the limits are valid, or otherwise a description of the error.
 */
static inline const char *
sample_ratio_check(const struct sample_ratio *l)
{
	if (!isfinite(l->lo) || !isfinite(l->hi) || l->lo < 0 || l->hi < 0)
		return "a limit must be a number, 0 or more";
	if (l->hi != 0 && l->hi < l->lo)
		return "the upper limit is below the lower one";
	return NULL;
}

/* Return true if n more experiences may be inserted. */
static inline bool
sample_ratio_allows_insert(const struct sample_ratio *l, uint64_t inserted,
    uint64_t sampled, uint64_t n)
{
	const uint64_t all = inserted + n;

	return all <= l->slack ||
	    (double)sampled >= l->lo * (double)(all - l->slack);
}

/* Return true if n more experiences may be sampled. */
static inline bool
sample_ratio_allows_sample(const struct sample_ratio *l, uint64_t inserted,
    uint64_t sampled, uint64_t n)
{
	return l->hi == 0 ||
	    (double)(sampled + n) <= l->hi * (double)inserted;
}

/*
 * Print the reason why n more inserts or samples were refused.  Return the
 * length of the text, like snprintf().
 */
static inline int
sample_ratio_explain(const struct sample_ratio *l, bool insert,
    uint64_t inserted, uint64_t sampled, uint64_t n, char *buf, size_t size)
{
	return snprintf(buf, size, "LIMIT %.2f samples per insert, but at %s "
	    "%.2f are required: %ju inserted, %ju sampled, %ju more requested",
	    inserted == 0 ? 0 : (double)sampled / (double)inserted,
	    insert ? "least" : "most", insert ? l->lo : l->hi,
	    (uintmax_t)inserted, (uintmax_t)sampled, (uintmax_t)n);
}

#endif
