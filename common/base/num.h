/*
 * num.h - read numbers with units, from the command line and from text files
 *
 * Every function reads the whole string.  On success it stores the value in
 * *out and returns NULL.  On failure it does not change *out and returns an
 * error text that can be printed after a text such as "invalid rate '10x': ".
 * If the result is an integer, decimal fractions are converted exactly ("1.5us"
 * is 1500 ns) and rounded half up.
 */
#ifndef INNET_BASE_NUM_H
#define INNET_BASE_NUM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/decimal.h"

struct num_unit {
	const char *name;
	uint64_t times;		/* number of units of the result in one of these
				 * units */
};

/*
 * Units of counts: k, M and G are powers of 1000; Ki, Mi and Gi are powers of
 * 1024.
 */
static const struct num_unit num_counts[] = {
	{ "", 1 }, { "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 },
	{ "T", 1000000000000 }, { "Ki", 1024 }, { "Mi", 1048576 },
	{ "Gi", 1073741824 }, { NULL, 0 }
};

/* Read a count in [lo, hi]: 500, 10k, 1Mi. */
static inline const char *num_u64(const char *s, uint64_t lo, uint64_t hi,
    uint64_t *out);

/* Read a number of bytes in [lo, hi]: 256, 256B, 1kB, 64MB, 4KiB. */
static inline const char *num_bytes(const char *s, uint64_t lo, uint64_t hi,
    uint64_t *out);

/*
 * Read the length of a vector, in [lo, hi] elements of 4 bytes.  The text may
 * be a number of elements (366, 10k) or a size (40kB, 1464B).  It may also be
 * dqn, a2c, ppo or ddpg, which stand for the models in Table 1 of the iSwitch
 * paper.
 */
static inline const char *num_vector(const char *s, uint64_t lo, uint64_t hi,
    uint64_t *out);

/* Read a rate in bits per second, in [lo, hi]: 40G, 20Mbit. */
static inline const char *num_rate(const char *s, uint64_t lo, uint64_t hi,
    uint64_t *out);

/*
 * Read a time in nanoseconds, in [lo, hi]: 4us, 100ms, 1.5s, 2min, 1h, 12 (ns).
 */
static inline const char *num_time(const char *s, uint64_t lo, uint64_t hi,
    uint64_t *out);

/*
 * Read a point in time.  It is either a time since the epoch, in nanoseconds or
 * with a unit, or a time after the first packet, such as "+2s".  Sets *relative
 * to whether it is a time after the first packet.
 */
static inline const char *num_instant(const char *s, uint64_t *out,
    bool *relative);

/* Read a real number in [lo, hi].  NaN is not accepted. */
static inline const char *num_real(const char *s, double lo, double hi,
    double *out);

/* Read a share in [0, 1]: 10%, 0.1. */
static inline const char *num_share(const char *s, double *out);

/*
 * Read a decimal number and a unit from the table `units`.  If `tail` is not
 * NULL, the text `tail` may follow the unit.  The value, in units of the
 * result, must be in [lo, hi].
 */
static inline const char *num_scaled(const char *s,
    const struct num_unit *units, const char *tail, uint64_t lo, uint64_t hi,
    uint64_t *out);

/* implementation */

static const char num_unknown_unit[] = "unknown unit";

/*
 * Return the error text `why`.  If the error is an unknown unit, return the
 * text `units` instead, which lists the units.
 */
static inline const char *
num_name_units(const char *why, const char *units)
{
	return why == num_unknown_unit ? units : why;
}

static inline const char *
num_scaled(const char *s, const struct num_unit *units, const char *tail,
    uint64_t lo, uint64_t hi, uint64_t *out)
{
	unsigned __int128 v = 0, part = 0, base = 1;
	const char *p = s;
	size_t len;

	if (*p < '0' || *p > '9')
		return "not a number";
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (unsigned)(*p - '0');
		if (v > UINT64_MAX)
			return "too large";
	}
	if (*p == '.') {
		p++;
		if (*p < '0' || *p > '9')
			return "not a number";
		for (; *p >= '0' && *p <= '9'; p++) {
			if (base < 1000000000000000000u) {
				part = part * 10 + (unsigned)(*p - '0');
				base *= 10;
			}
		}
	}
	for (; units->name != NULL; units++) {
		len = strlen(units->name);
		if (strncmp(p, units->name, len) == 0 && (p[len] == '\0' ||
		    (tail != NULL && strcmp(p + len, tail) == 0)))
			break;
	}
	if (units->name == NULL)
		return *p == '\0' ? "a unit is missing" : num_unknown_unit;
	v = v * units->times + (part * units->times + base / 2) / base;
	if (v > hi)
		return "too large";
	if (v < lo)
		return "too small";
	*out = (uint64_t)v;
	return NULL;
}

static inline const char *
num_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
	return num_name_units(num_scaled(s, num_counts, NULL, lo, hi, out),
	    "unknown unit; use k, M, G, T, Ki, Mi or Gi");
}

static inline const char *
num_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
	return num_name_units(num_scaled(s, num_counts, "B", lo, hi, out),
	    "unknown unit; use B, kB, MB, GB, TB, KiB, MiB or GiB");
}

static inline const char *
num_vector(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
	static const struct { char name[8]; uint64_t elements; } models[] = {
		{ "dqn", 1602500 }, { "a2c", 827500 }, { "ppo", 10005 },
		{ "ddpg", 39380 }
	};
	const size_t len = strlen(s);
	uint64_t bytes;
	const char *why;

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const uint64_t n = models[i].elements;

		if (strcmp(s, models[i].name) != 0)
			continue;
		if (n < lo || n > hi)
			return n > hi ? "too large" : "too small";
		*out = n;
		return NULL;
	}
	if (len == 0 || s[len - 1] != 'B') {
		why = num_u64(s, lo, hi, out);
		return why == NULL || strcmp(why, "not a number") != 0 ? why :
		    "not a size (40kB), a number of elements, dqn, a2c, ppo or "
		    "ddpg";
	}
	why = num_bytes(s, lo > UINT64_MAX / 4 ? UINT64_MAX : 4 * lo,
	    hi > UINT64_MAX / 4 ? UINT64_MAX : 4 * hi, &bytes);
	if (why == NULL && bytes % 4 != 0)
		why = "not a multiple of 4 bytes, the size of an element";
	if (why == NULL)
		*out = bytes / 4;
	return why;
}

static inline const char *
num_rate(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
	return num_name_units(num_scaled(s, num_counts, "bit", lo, hi, out),
	    "unknown unit; use bit, kbit, Mbit or Gbit");
}

static inline const char *
num_time(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
	static const struct num_unit units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { "min", 60000000000 },
		{ "h", 3600000000000 }, { NULL, 0 }
	};

	return num_name_units(num_scaled(s, units, NULL, lo, hi, out),
	    "unknown unit; use ns, us, ms, s, min or h");
}

static inline const char *
num_instant(const char *s, uint64_t *out, bool *relative)
{
	const char *why = num_time(s + (*s == '+'), 0, INT64_MAX, out);

	if (why == NULL)
		*relative = *s == '+';
	return why;
}

static inline const char *
num_real(const char *s, double lo, double hi, double *out)
{
	char *end;
	double v;

	if (!decimal_read(s, &v)) {
		/* reject "nan" and "0x1", which strtod() accepts */
		if (strspn(s, "+-.0123456789eE") != strlen(s))
			return "not a number";
		v = strtod(s, &end);
		if (end == s || *end != '\0')
			return "not a number";
	}
	if (!isfinite(v) || v > hi)
		return "too large";
	if (v < lo)
		return "too small";
	*out = v;
	return NULL;
}

static inline const char *
num_share(const char *s, double *out)
{
	char copy[32];
	size_t len = strlen(s);
	const char *why;
	double v;

	if (len == 0 || s[len - 1] != '%')
		return num_real(s, 0, 1, out);
	if (len >= sizeof(copy))
		return "not a number";
	memcpy(copy, s, len - 1);
	copy[len - 1] = '\0';
	why = num_real(copy, 0, 100, &v);
	if (why == NULL)
		*out = v / 100;
	return why;
}

#endif
