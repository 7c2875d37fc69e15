/*
 * rng.h - random numbers that are equal, bit for bit, to those of numpy's PCG64
 *
 * After rng_seed(s), the functions return the stream of numpy's
 * Generator(PCG64(s)).  The generator is a 128-bit linear congruential
 * generator with the XSL-RR output function (O'Neill, PCG, 2014), and its seed
 * is made by numpy's SeedSequence.  The numbers are the same on every machine.
 * Distributions that need a logarithm are in draw.h.
 */
#ifndef INNET_BASE_RNG_H
#define INNET_BASE_RNG_H

#include <stdint.h>

struct rng {
	unsigned __int128 state, inc;
};

/* Return the next 64 random bits. */
static inline uint64_t
rng_u64(struct rng *r)
{
	const unsigned __int128 mult =
	    (unsigned __int128)0x2360ed051fc65da4 << 64 | 0x4385df649fccf645;
	uint64_t x;
	unsigned rot;

	r->state = r->state * mult + r->inc;
	x = (uint64_t)(r->state >> 64) ^ (uint64_t)r->state;
	rot = (unsigned)(r->state >> 122);
	return x >> rot | x << (-rot & 63);
}

/* Return SeedSequence's hash of one word.  Each call changes *mult. */
static inline uint32_t
rng_hash(uint32_t v, uint32_t *mult)
{
	v ^= *mult;
	*mult *= 0x931e8875;
	v *= *mult;
	return v ^ v >> 16;
}

/* Return numpy's Generator(PCG64(seed)). */
static inline struct rng
rng_seed(uint64_t seed)
{
	const uint32_t word[4] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	uint32_t pool[4], mult = 0x43b0d7e5, v;
	uint64_t q[4] = { 0 };
	struct rng r;

	for (int i = 0; i < 4; i++)
		pool[i] = rng_hash(word[i], &mult);
	for (int from = 0; from < 4; from++) {
		for (int to = 0; to < 4; to++) {
			if (from == to)
				continue;
			v = 0xca01f9ddu * pool[to] -
			    0x4973f715u * rng_hash(pool[from], &mult);
			pool[to] = v ^ v >> 16;
		}
	}
	mult = 0x8b51f9dd;
	for (int i = 0; i < 8; i++) {
		v = pool[i % 4] ^ mult;
		mult *= 0x58f38ded;
		v *= mult;
		q[i / 2] |= (uint64_t)(v ^ v >> 16) << 32 * (i % 2);
	}
	r.inc = ((unsigned __int128)q[2] << 64 | q[3]) << 1 | 1;
	r.state = 0;
	rng_u64(&r);
	r.state += (unsigned __int128)q[0] << 64 | q[1];
	rng_u64(&r);
	return r;
}

/*
 * Return a uniform random number in [0, 1) with 53 random bits, like numpy's
 * random().
 */
static inline double
rng_double(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* Return a uniform random number in [lo, hi), like numpy's uniform(). */
static inline double
rng_uniform(struct rng *r, double lo, double hi)
{
	return lo + (hi - lo) * rng_double(r);
}

/*
 * Return a uniform random integer from 0 to n - 1, for n > 0, without bias
 * (Lemire, 2019).
 */
static inline uint64_t
rng_below(struct rng *r, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)rng_u64(r) * n;

	if ((uint64_t)m < n) {
		for (uint64_t floor = -n % n; (uint64_t)m < floor;)
			m = (unsigned __int128)rng_u64(r) * n;
	}
	return (uint64_t)(m >> 64);
}

#endif
