/*
 * pages.h - zeroed memory for large tables that are read at random
 *
 * It begins on a cache line; from 2 MiB on, in a huge page, which the kernel is
 * asked for: one TLB entry then does for 512.  All of pages_new() is touched,
 * so that its first use costs no page fault.  free() gives it back.
 */
#ifndef INNET_BASE_PAGES_H
#define INNET_BASE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES_LINE 64
#define PAGES_HUGE ((size_t)2 << 20)

/* So many bytes, not touched yet; NULL without memory. */
static inline void *
pages_raw(size_t bytes)
{
	const size_t unit = bytes < PAGES_HUGE ? PAGES_LINE : PAGES_HUGE;
	void *p;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + unit - 1) / unit * unit;
	p = aligned_alloc(unit, bytes);
	if (p == NULL)
		return NULL;
#ifdef MADV_HUGEPAGE
	if (unit == PAGES_HUGE)
		madvise(p, bytes, MADV_HUGEPAGE);	/* as well without */
#endif
	return p;
}

/* So many bytes, all 0; NULL without memory. */
static inline void *
pages_new(size_t bytes)
{
	void *p = pages_raw(bytes);

	return p == NULL ? NULL : memset(p, 0, bytes);
}

#endif
