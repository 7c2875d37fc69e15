/*
 * fetch.h - fetch into the cache what will be read soon
 *
 * A compiler takes a function that does nothing else for one without effect,
 * and leaves out its calls.  The empty asm statement is an effect.
 */
#ifndef INNET_BASE_FETCH_H
#define INNET_BASE_FETCH_H

#include <stddef.h>

enum { FETCH_LINE = 64 };	/* bytes */

/* The line of the cache that p is in. */
static inline void
fetch_line(const void *p)
{
	__asm__ volatile ("");
	__builtin_prefetch(p);
}

/* The same, which will be written. */
static inline void
fetch_line_to_write(const void *p)
{
	__asm__ volatile ("");
	__builtin_prefetch(p, 1);
}

/* So many bytes from there on. */
static inline void
fetch_bytes(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += FETCH_LINE)
		fetch_line((const char *)p + i);
}

#endif
