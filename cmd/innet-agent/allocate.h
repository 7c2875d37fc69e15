/* allocate.h - allocate zeroed memory, or end the program */
#ifndef INNET_AGENT_ALLOCATE_H
#define INNET_AGENT_ALLOCATE_H

#include <stddef.h>
#include <stdlib.h>

#include "common/base/message.h"

/*
 * Allocate n elements of `each` bytes and set them to zero.  The caller frees
 * the memory with free().  Exits with status 1 if there is no memory.
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
