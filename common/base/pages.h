/*
 * pages.h - zeroed memory for large tables that are read at random
 *
 * It begins on a cache line; from 2 MiB on, in a huge page, which the kernel is
 * asked for: one TLB entry then does for 512.  Below 64 MiB pages_new() touches
 * all of it, so that its first use costs no page fault; from there on the
 * kernel zeroes each page when it is first used, for all of them at once take
 * up to seconds.  free() gives it back.
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
#define PAGES_LATER ((size_t)64 << 20)

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

/* So many bytes are 0 now, of pages_raw() from its beginning on. */
static inline void
pages_zero(void *p, size_t bytes)
{
	size_t later = bytes < PAGES_LATER ? 0 : bytes / PAGES_HUGE *
	    PAGES_HUGE;

	/* private memory without a file comes back as zeros */
	if (later > 0 && madvise(p, later, MADV_DONTNEED) == -1)
		later = 0;
	memset((char *)p + later, 0, bytes - later);
}

/* So many bytes, all 0; NULL without memory. */
static inline void *
pages_new(size_t bytes)
{
	void *p = pages_raw(bytes);

	if (p != NULL)
		pages_zero(p, bytes);
	return p;
}

#endif
