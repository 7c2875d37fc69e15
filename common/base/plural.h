/*
 * plural.h - "1 packet, 2 packets": what stands behind a word that is counted
 */
#ifndef INNET_BASE_PLURAL_H
#define INNET_BASE_PLURAL_H

#include <stdint.h>

/* The ending of a regular noun of which there are n. */
static inline const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
