/* allocate.h - zeroed memory, or the end of the program */
#ifndef INNET_AGENT_ALLOCATE_H
#define INNET_AGENT_ALLOCATE_H

#include <stddef.h>
#include <stdlib.h>

#include "common/base/message.h"

/*
 * Allocate n elements of `each` bytes, all zero, for the caller to free().
 * Exits with status 1 if there is no memory.
 */
static inline void *
allocate(size_t n, size_t each)
{
	void *p = calloc(n, each);

	if (p == NULL)
		err(1, "no memory for %zu times %zu bytes", n, each);
	return p;
}

#endif
