/*
 * synthetic.h - made-up gradients whose sums are known
 *
 * Whole numbers from -512 to 511 by worker, iteration and place: the sum over
 * as many workers as there can be is exact in binary32, in any order.
 */
#ifndef INNET_TRAFFIC_SYNTHETIC_H
#define INNET_TRAFFIC_SYNTHETIC_H

#include <stdint.h>

static inline int32_t
synthetic_value(uint32_t worker, uint32_t t, uint32_t i)
{
	return (int32_t)((worker * 37 + t * 29 + i * 13) & 1023) - 512;
}

static inline void
synthetic_fill(float *v, uint32_t n, uint32_t worker, uint32_t t)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = (float)synthetic_value(worker, t, i);
}

/* The sum that workers 0 ... workers-1 should come to at place i. */
static inline float
synthetic_sum(uint32_t workers, uint32_t t, uint32_t i)
{
	int32_t sum = 0;

	for (uint32_t w = 0; w < workers; w++)
		sum += synthetic_value(w, t, i);
	return (float)sum;
}

/* The first of n places where the sum is wrong, or n. */
static inline uint32_t
synthetic_wrong(const float *v, uint32_t n, uint32_t workers, uint32_t t)
{
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] != synthetic_sum(workers, t, i))
			return i;
	}
	return n;
}

#endif
