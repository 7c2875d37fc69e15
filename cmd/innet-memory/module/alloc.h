/*
 * alloc.h - replace malloc(3) by the server's allocator
 *
 * As a result, used_memory and maxmemory of the server include the tables and
 * everything in them.  The compiler includes this file before each source file
 * of the module.  The server has no aligned_alloc(), so the address of the
 * whole allocation is stored before each block.  These functions return NULL if
 * there is no memory.
 */
#ifndef INNET_MEMORY_MODULE_ALLOC_H
#define INNET_MEMORY_MODULE_ALLOC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *module_aligned(size_t unit, size_t bytes);
void *module_zeroed(size_t n, size_t size);
void module_free(void *p);

#define malloc(n) module_aligned(16, n)
#define calloc(n, size) module_zeroed(n, size)
#define aligned_alloc(unit, n) module_aligned(unit, n)
#define free(p) module_free(p)

#endif
