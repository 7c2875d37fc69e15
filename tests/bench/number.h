/* number.h - read a number from the arguments of a bench program */
#ifndef INNET_BENCH_NUMBER_H
#define INNET_BENCH_NUMBER_H

#include <err.h>
#include <inttypes.h>
#include <stdint.h>

#include "common/base/num.h"

/* Return the number, from 1 to most, or exit. */
static inline uint64_t
number(const char *s, uint64_t most)
{
	uint64_t v = 0;

	if (num_u64(s, 1, most, &v) != NULL)
		errx(2, "not a number from 1 to %" PRIu64 ": %s", most, s);
	return v;
}

#endif
