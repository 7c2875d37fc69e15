/*
 * mt19937.h - the random numbers of numpy's RandomState, bit for bit
 *
 * This is Matsumoto and Nishimura's Mersenne Twister of 1998 with their seeding
 * of 2002.  It is for environments whose originals draw from RandomState; all
 * other random numbers come from rng.h.  mt_seed() starts the stream of
 * RandomState(seed).  A single seed of numpy has at most 32 bits, so mt_seed()
 * uses RandomState([low, high]) for a larger seed.
 */
#ifndef INNET_AGENT_ENV_MT19937_H
#define INNET_AGENT_ENV_MT19937_H

#include <stddef.h>
#include <stdint.h>

enum { MT_N = 624, MT_M = 397 };

struct mt {
	uint32_t s[MT_N];
	unsigned at;		/* index of the next word; MT_N: refill s */
};

static inline void
mt_seed_word(struct mt *m, uint32_t seed)
{
	m->s[0] = seed;
	for (uint32_t i = 1; i < MT_N; i++) {
		const uint32_t last = m->s[i - 1];

		m->s[i] = 1812433253 * (last ^ last >> 30) + i;
	}
	m->at = MT_N;
}

/* Set the seed to the n words at `word`; n is from 1 to MT_N. */
static inline void
mt_seed_words(struct mt *m, const uint32_t *word, uint32_t n)
{
	uint32_t i = 1, last;

	mt_seed_word(m, 19650218);
	for (uint32_t k = 0; k < MT_N; k++) {
		last = m->s[i - 1];
		m->s[i] = (m->s[i] ^ (last ^ last >> 30) * 1664525) +
		    word[k % n] + k % n;
		if (++i == MT_N) {
			m->s[0] = m->s[MT_N - 1];
			i = 1;
		}
	}
	for (uint32_t k = 1; k < MT_N; k++) {
		last = m->s[i - 1];
		m->s[i] = (m->s[i] ^ (last ^ last >> 30) * 1566083941) - i;
		if (++i == MT_N) {
			m->s[0] = m->s[MT_N - 1];
			i = 1;
		}
	}
	m->s[0] = 0x80000000;
}

static inline void
mt_seed(struct mt *m, uint64_t seed)
{
	const uint32_t word[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

	if (word[1] == 0)
		mt_seed_word(m, word[0]);
	else
		mt_seed_words(m, word, 2);
}

/*
 * Return one word of the next state, computed from the adjacent words a and b
 * and the distant word `far`.
 */
static inline uint32_t
mt_twist(uint32_t a, uint32_t b, uint32_t far)
{
	const uint32_t y = (a & 0x80000000) | (b & 0x7fffffff);

	return far ^ y >> 1 ^ (-(y & 1) & 0x9908b0df);
}

static inline void
mt_refill(struct mt *m)
{
	uint32_t *const s = m->s;
	unsigned i = 0;

	for (; i < MT_N - MT_M; i++)
		s[i] = mt_twist(s[i], s[i + 1], s[i + MT_M]);
	for (; i < MT_N - 1; i++)
		s[i] = mt_twist(s[i], s[i + 1], s[i + MT_M - MT_N]);
	s[i] = mt_twist(s[i], s[0], s[MT_M - 1]);
	m->at = 0;
}

/* Return the next 32 random bits. */
static inline uint32_t
mt_u32(struct mt *m)
{
	uint32_t y;

	if (m->at == MT_N)
		mt_refill(m);
	y = m->s[m->at++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680;
	y ^= y << 15 & 0xefc60000;
	return y ^ y >> 18;
}

/* Return a random number in [0, 1) with 53 random bits, like numpy's rand(). */
static inline double
mt_double(struct mt *m)
{
	const uint32_t high = mt_u32(m) >> 5, low = mt_u32(m) >> 6;

	return (high * 0x1p26 + low) * 0x1p-53;
}

#endif
