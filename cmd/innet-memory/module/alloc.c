/* alloc.c - malloc(3) with the server's allocator */
#include <stdint.h>

#include "cmd/innet-memory/module/alloc.h"
#include "cmd/innet-memory/module/api.h"

/* Return the place where the address of the whole allocation is stored. */
static void **
block_origin(void *p)
{
	return (void **)p - 1;
}

void *
module_aligned(size_t unit, size_t bytes)
{
	const size_t more = unit + sizeof(void *);
	char *raw = bytes > SIZE_MAX / 2 ? NULL : RM_TryAlloc(bytes + more);
	char *p;

	if (raw == NULL)
		return NULL;
	p = raw + sizeof(void *);
	p += -(uintptr_t)p & (unit - 1);
	*block_origin(p) = raw;
	return p;
}

void *
module_zeroed(size_t n, size_t size)
{
	void *p = size > 0 && n > SIZE_MAX / size ? NULL :
	    module_aligned(16, n * size);

	return p == NULL ? NULL : memset(p, 0, n * size);
}

void
module_free(void *p)
{
	if (p != NULL)
		RM_Free(*block_origin(p));
}
