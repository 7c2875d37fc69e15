/*
 * alloc.h - malloc(3) by the server's allocator, before all that a module has
 *
 * So that used_memory and maxmemory know of tables and of all that is in them.
 * Each source of the module is compiled behind this file.  The server has no
 * aligned_alloc(), so each block is preceded by the address of what was really
 * allocated.  Where memory ends these give NULL, as malloc(3) does.
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
