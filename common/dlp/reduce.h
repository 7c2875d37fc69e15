/*
 * reduce.h - what the gradients of a DLP step come to, element by element
 *
 * The mean of the thesis leaves as a sum, which workers divide, and its median,
 * which Byzantine workers do not move, twice, so that both are whole numbers.
 * Values are signed parameters as in packets; results are exact in 64 bits.
 */
#ifndef INNET_DLP_REDUCE_H
#define INNET_DLP_REDUCE_H

#include <stdint.h>

/* Twice the median of the n values at v, which are sorted. */
static inline int64_t
dlp_reduce_median2(int32_t *v, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		const int32_t x = v[i];
		unsigned k = i;

		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
	return (int64_t)v[(n - 1) / 2] + v[n / 2];
}

/*
 * The sum of `all` values, of which the n at v have come, as if the others were
 * like these: rounded, n > 0.
 */
static inline int64_t
dlp_reduce_sum(const int32_t *v, unsigned n, unsigned all)
{
	int64_t sum = 0, parts = n;

	for (unsigned i = 0; i < n; i++)
		sum += v[i];
	sum *= all;
	return (sum + (sum < 0 ? -parts : parts) / 2) / parts;
}

#endif
