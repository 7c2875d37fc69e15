/*
 * logexp.h - natural logarithm and exponential, the same on every machine
 *
 * The functions use plain IEEE double arithmetic in a fixed order, without
 * libm.  So the results have the same bits with every compiler and at every
 * optimisation level.  The log() and exp() functions of libm do not guarantee
 * this.  The file must be built with -ffp-contract=off.  The error of
 * logexp_log() and logexp_exp() is at most 3 units in the last place.
 */
#ifndef INNET_BASE_LOGEXP_H
#define INNET_BASE_LOGEXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 = HI + LO; HI has 32 bits, so k * HI is exact for any exponent k. */
#define LOGEXP_LN2_HI 0x1.62e42feep-1
#define LOGEXP_LN2_LO 0x1.a39ef35793c76p-33

/* Return 2^k for -1022 <= k <= 1023. */
static inline double
logexp_pow2(int k)
{
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * Return the natural logarithm of x > 0, which must be normal and finite.  With
 * x = 2^k m and m in [sqrt(1/2), sqrt(2)), the logarithm is k ln 2 + 2 artanh
 * s, where s = (m - 1) / (m + 1).
 */
static inline double
logexp_log(double x)
{
	const uint64_t half = 0x3fe6a09e667f3bcd;	/* sqrt(1/2) */
	double m, s, z, z2, z4, p, q;
	uint64_t bits;
	int k;

	memcpy(&bits, &x, sizeof(bits));
	bits -= half;		/* computed without a branch, because the branch
				 * would be unpredictable */
	k = (int)((int64_t)bits >> 52);
	bits = (bits & 0xfffffffffffff) + half;
	memcpy(&m, &bits, sizeof(m));
	s = (m - 1) / (m + 1);
	z = s * s;
	/*
	 * Evaluate the polynomial in pairs of terms and not by Horner's rule,
	 * because this makes the chain of dependent operations half as long.
	 */
	z2 = z * z;
	z4 = z2 * z2;
	p = (2.0 / 3 + 2.0 / 5 * z) + (2.0 / 7 + 2.0 / 9 * z) * z2;
	q = (2.0 / 11 + 2.0 / 13 * z) + (2.0 / 15 + 2.0 / 17 * z) * z2;
	p += z4 * (q + z4 * ((2.0 / 19 + 2.0 / 21 * z) + 2.0 / 23 * z2));
	return k * LOGEXP_LN2_HI + (2 * s + (s * z * p + k * LOGEXP_LN2_LO));
}

/* Return e^x.  The result is 0 below -745 and HUGE_VAL above 709.78. */
static inline double
logexp_exp(double x)
{
	double r, p = 1;
	int k;

	if (x < -745)
		return 0;
	if (x > 709.78)
		return HUGE_VAL;
	k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
	r = (x - k * LOGEXP_LN2_HI) - k * LOGEXP_LN2_LO;
	for (int i = 13; i > 1; i--)
		p = 1 + p * r / i;
	p = 1 + (r + r * (p - 1));
	return p * logexp_pow2(k / 2) * logexp_pow2(k - k / 2);
}

/*
 * Return x^y within a relative error of 1e-11.  x must be positive, normal and
 * finite, and |y ln x| must be below 700.  The function has no branch, so that
 * a loop over many numbers is fast.
 */
static inline double
logexp_pow(double x, double y)
{
	const double shift = 0x1.8p52;	/* adding and then subtracting this
					 * number rounds to an integer */
	const double t = y * logexp_log(x);
	const double k = (t * 0x1.71547652b82fep+0 + shift) - shift;
	const double r = (t - k * LOGEXP_LN2_HI) - k * LOGEXP_LN2_LO;
	const double r2 = r * r, r4 = r2 * r2;
	double p, q;

	p = (1 + r) + (1.0 / 2 + 1.0 / 6 * r) * r2;
	q = (1.0 / 24 + 1.0 / 120 * r) + (1.0 / 720 + 1.0 / 5040 * r) * r2;
	q += (1.0 / 40320 + 1.0 / 362880 * r) * r4;
	return (p + q * r4) * logexp_pow2((int)k);
}

#endif
