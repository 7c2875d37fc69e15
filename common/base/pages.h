/*
 * pages.h - allocate zeroed memory for large tables that are read at random
 *
 * The memory begins on a cache line.  If its size is 2 MiB or more, it begins
 * at a multiple of 2 MiB, and pages_new() asks the kernel to use huge pages, so
 * that one TLB entry covers 512 pages.  If the size is below 64 MiB,
 * pages_new() writes all of the memory, so that its first use causes no page
 * faults.  If the memory is larger, the kernel zeroes each page at its first
 * use, because zeroing all pages at once would take seconds.  The caller frees
 * the memory with free().
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

/*
 * Allocate `bytes` bytes without writing to them.  Returns NULL if there is no
 * memory.
 */
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
		madvise(p, bytes, MADV_HUGEPAGE);	/* this may fail */
#endif
	return p;
}

/*
 * Set the `bytes` bytes at p to zero.  They may be any part of memory that
 * pages_raw() allocated.
 */
static inline void
pages_zero(void *p, size_t bytes)
{
	const size_t before = -(uintptr_t)p & (PAGES_HUGE - 1);
	char *const at = (char *)p + before;
	const size_t later = bytes < PAGES_LATER ? 0 : (bytes - before) /
	    PAGES_HUGE * PAGES_HUGE;

	/* The kernel zeroes private anonymous memory at the next use. */
	if (later == 0 || madvise(at, later, MADV_DONTNEED) == -1) {
		memset(p, 0, bytes);
		return;
	}
	memset(p, 0, before);
	memset(at + later, 0, bytes - before - later);
}

/* Allocate `bytes` zeroed bytes.  Returns NULL if there is no memory. */
static inline void *
pages_new(size_t bytes)
{
	void *p = pages_raw(bytes);

	if (p != NULL)
		pages_zero(p, bytes);
	return p;
}

#endif
