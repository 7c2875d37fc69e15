/*
 * synthetic.h - generate gradients with known sums
 *
 * Values are integers from -512 to 511 that depend on worker, iteration and
 * index.  So the sum over all workers is exact in binary32, however many
 * workers there are and in whatever order the values are added.
 */
#ifndef INNET_TRAFFIC_SYNTHETIC_H
#define INNET_TRAFFIC_SYNTHETIC_H

#include <stdint.h>

/*
 * Return the value that worker number `worker` has at index i in iteration t.
 */
static inline int32_t
synthetic_value(uint32_t worker, uint32_t t, uint32_t i)
{
	return (int32_t)((worker * 37 + t * 29 + i * 13) & 1023) - 512;
}

/* Fill v with the n values of a worker in iteration t. */
static inline void
synthetic_fill(float *v, uint32_t n, uint32_t worker, uint32_t t)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = (float)synthetic_value(worker, t, i);
}

/*
 * Return the correct sum over the workers 0 to workers - 1, at index i in
 * iteration t.
 */
static inline float
synthetic_sum(uint32_t workers, uint32_t t, uint32_t i)
{
	int32_t sum = 0;

	for (uint32_t w = 0; w < workers; w++)
		sum += synthetic_value(w, t, i);
	return (float)sum;
}

/*
 * Return the first index below n at which the sum in v is wrong, or n if all
 * sums are correct.
 */
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
