/*
 * prefetch.h - fetch data that will be used soon into the processor's cache
 *
 * A compiler assumes that a function has no effects if it only prefetches, and
 * removes calls to it.  The empty asm statement prevents this.
 */
#ifndef INNET_BASE_PREFETCH_H
#define INNET_BASE_PREFETCH_H

#include <stddef.h>

enum { PREFETCH_LINE = 64 };	/* number of bytes in a cache line */

/* Fetch the cache line that contains *p, because it will be read. */
static inline void
prefetch_line(const void *p)
{
	__asm__ volatile ("");
	__builtin_prefetch(p);
}

/* Fetch the cache line that contains *p, because it will be written. */
static inline void
prefetch_line_to_write(const void *p)
{
	__asm__ volatile ("");
	__builtin_prefetch(p, 1);
}

/*
 * Fetch the cache lines of the `bytes` bytes at p, because they will be read.
 */
static inline void
prefetch_bytes(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PREFETCH_LINE)
		prefetch_line((const char *)p + i);
}

#endif
