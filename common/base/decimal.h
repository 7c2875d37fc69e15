/*
 * decimal.h - read and write decimal numbers with few digits quickly
 *
 * The results are the same as those of strtod(3) and printf(3).  The library
 * functions take five times as long because they are exact for any number of
 * digits.  If decimal_read() returns false, the caller uses strtod(3).
 * decimal_put() itself uses printf(3) if its fast method is not certain.  The
 * functions have no side effects.
 */
#ifndef INNET_BASE_DECIMAL_H
#define INNET_BASE_DECIMAL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DECIMAL_EXACT = 22,	/* 10^22 is the largest power that is an exact
				 * double */
	DECIMAL_DIGITS = 9,	/* number of significant digits that are enough
				 * to identify every float */
	DECIMAL_TEXT = 24	/* size of the buffer for a text, including the
				 * final 0 */
};

/*
 * Return 10^e.  The result is exact for e up to DECIMAL_EXACT.  For larger e
 * its relative error is at most 2^-50.
 */
static inline double
decimal_power(unsigned e)
{
	static const double ten[] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
		1e22
	};
	double p = 1;

	for (; e > DECIMAL_EXACT; e -= DECIMAL_EXACT)
		p *= ten[DECIMAL_EXACT];
	return p * ten[e];
}

/*
 * Append the decimal digits at *s to the number *m, and advance *s past these
 * digits.  Returns false if the number becomes too large.
 */
static inline bool
decimal_digits(const char **s, uint64_t *m)
{
	while (**s >= '0' && **s <= '9') {
		if (*m > ((uint64_t)1 << 53) / 10 - 1)
			return false;
		*m = 10 * *m + (uint64_t)(*(*s)++ - '0');
	}
	return true;
}

/*
 * Read a number without a sign.  Returns true if the number is an integer below
 * 2^53, multiplied or divided by a power of ten that is an exact double.  In
 * this case only one operation rounds, so the result is equal to that of
 * strtod(3) (Clinger, 1990).  Otherwise returns false.
 */
static inline bool
decimal_read(const char *s, double *out)
{
	const char *begun = s, *point;
	uint64_t m = 0, power = 0;
	int e = 0;
	bool minus;

	if (!decimal_digits(&s, &m))
		return false;
	if (*s == '.') {
		point = ++s;
		if (!decimal_digits(&s, &m))
			return false;
		e = -(int)(s - point);
		begun++;
	}
	if (s == begun)
		return false;
	if (*s == 'e' || *s == 'E') {
		minus = *++s == '-';
		s += *s == '-' || *s == '+';
		begun = s;
		if (!decimal_digits(&s, &power) || s == begun || power > 99)
			return false;
		e += minus ? -(int)power : (int)power;
	}
	if (*s != '\0' || e < -DECIMAL_EXACT || e > DECIMAL_EXACT ||
	    FLT_EVAL_METHOD != 0)
		return false;
	*out = e < 0 ? (double)m / decimal_power((unsigned)-e) :
	    (double)m * decimal_power((unsigned)e);
	return true;
}

/*
 * Store the decimal exponent of x > 0 in *e.  Return the first DECIMAL_DIGITS
 * digits of x as an integer, which is x times 10^(8 - *e), rounded.  Returns 0
 * if x is so close to the middle between two integers that the rounding is not
 * certain.
 */
static inline uint32_t
decimal_scaled(double x, int *e)
{
	const double least = 1e8, most = 1e9, near = 1e-5;
	int two, by;
	double m, whole;

	frexp(x, &two);
	/* the exponent of x is this value or one more */
	*e = (int)floor((two - 1) * 0.3010299956639812);
	for (;; ++*e) {
		by = DECIMAL_DIGITS - 1 - *e;
		m = by < 0 ? x / decimal_power((unsigned)-by) :
		    x * decimal_power((unsigned)by);
		if (m < most)
			break;
	}
	whole = floor(m);
	if (m < least || fabs(m - whole - 0.5) < near || m > most - 1)
		return 0;
	return (uint32_t)whole + (m - whole > 0.5);
}

/*
 * Write the last n digits of m at `to`, with leading zeros.  Returns the
 * position after the digits.
 */
static inline char *
decimal_put_digits(char *to, uint32_t m, int n)
{
	for (int i = n; i-- > 0; m /= 10)
		to[i] = (char)('0' + m % 10);
	return to + n;
}

/*
 * Write x at `to` as printf(3) would with %.9g, so that x can be read back
 * exactly.  `to` must have room for DECIMAL_TEXT bytes.  Returns the number of
 * characters.
 */
static inline size_t
decimal_put(char *to, float x)
{
	char *p = to;
	int e = 0, n = DECIMAL_DIGITS;
	uint32_t m = x > 0 && x <= FLT_MAX ? decimal_scaled((double)x, &e) : 0;

	if (m == 0)
		return (size_t)snprintf(to, DECIMAL_TEXT, "%.9g", (double)x);
	for (; m % 10 == 0; m /= 10)
		n--;
	if (e < -4 || e >= DECIMAL_DIGITS) {	/* for example 1.25e-07 */
		p = decimal_put_digits(p + (n > 1), m, n);
		if (n > 1) {
			to[0] = to[1];
			to[1] = '.';
		}
		*p++ = 'e';
		*p++ = e < 0 ? '-' : '+';
		p = decimal_put_digits(p, (uint32_t)abs(e), 2);
	} else if (e < 0) {	/* for example 0.00125 */
		memcpy(p, "0.0000", 6);
		p = decimal_put_digits(p + 1 - e, m, n);
	} else {	/* for example 125, 12.5 or 12500 */
		p = decimal_put_digits(p, m, n);
		for (; n <= e; n++)
			*p++ = '0';
		if (n > e + 1) {
			memmove(to + e + 2, to + e + 1, (size_t)(n - e - 1));
			to[e + 1] = '.';
			p++;
		}
	}
	*p = '\0';
	return (size_t)(p - to);
}

#endif
