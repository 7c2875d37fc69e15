/*
 * latency.h - a histogram of durations that has a fixed number of buckets, and
 * percentiles of the durations
 *
 * Each bucket covers an eighth of a power of two, so the error of a percentile
 * is at most 12.5 %.  Unlike durations.h, this file allocates no memory, and
 * its percentiles are those of all durations, not only of the last ones.
 */
#ifndef INNET_BASE_LATENCY_H
#define INNET_BASE_LATENCY_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LATENCY_BUCKETS = 8 * 40 };	/* enough for durations up to 2^42 ns,
					 * which is 73 minutes */

struct latency {
	uint64_t count, sum_ns, most_ns;
	uint64_t bucket[LATENCY_BUCKETS];
};

/* Return the index of the bucket that counts durations of `ns` nanoseconds. */
static inline size_t
latency_bucket(uint64_t ns)
{
	unsigned top;
	size_t at;

	if (ns < 8)
		return (size_t)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	at = (size_t)(top - 2) * 8 + (ns >> (top - 3) & 7);
	return at < LATENCY_BUCKETS ? at : LATENCY_BUCKETS - 1;
}

/* Return the longest duration in a bucket, in ns. */
static inline uint64_t
latency_edge_ns(size_t at)
{
	if (at < 8)
		return at;
	return ((uint64_t)(8 + at % 8 + 1) << (at / 8 - 1)) - 1;
}

/* Add a duration. */
static inline void
latency_add(struct latency *l, uint64_t ns)
{
	l->count++;
	l->sum_ns += ns;
	if (ns > l->most_ns)
		l->most_ns = ns;
	l->bucket[latency_bucket(ns)]++;
}

/*
 * Return the duration, in ns, that the given share (0 to 1) of all durations
 * did not exceed.  Returns 0 if there are no durations.
 */
static inline uint64_t
latency_ns(const struct latency *l, double share)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += l->bucket[i];
		if (seen > 0 && (double)seen >= share * (double)l->count)
			return latency_edge_ns(i) < l->most_ns ?
			    latency_edge_ns(i) : l->most_ns;
	}
	return l->most_ns;
}

/*
 * Print ,"name":{"count":1,"mean_s":0.1,"p50_s":0.1,"p99_s":0.1} to descriptor
 * fd.  Returns the result of dprintf().
 */
static inline int
latency_print(int fd, const char *name, const struct latency *l)
{
	return dprintf(fd, ",\"%s\":{\"count\":%" PRIu64 ",\"mean_s\":%.9f"
	    ",\"p50_s\":%.9f,\"p99_s\":%.9f}", name, l->count,
	    l->count == 0 ? 0 : (double)l->sum_ns / (double)l->count * 1e-9,
	    (double)latency_ns(l, 0.5) * 1e-9,
	    (double)latency_ns(l, 0.99) * 1e-9);
}

#endif
