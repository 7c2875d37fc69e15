/* memory.h - the amount of memory that the server allows */
#ifndef INNET_MEMORY_MODULE_MEMORY_H
#define INNET_MEMORY_MODULE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/module/api.h"

/* Return the server's maxmemory in bytes, or 0 if there is no limit. */
uint64_t memory_limit(void);

/*
 * Return the number of bytes that are left below maxmemory, or SIZE_MAX if
 * there is no limit.  The server's own check, deny-oom, looks only at the
 * memory in use before a command; it does not know how much memory the command
 * will use.
 */
size_t memory_room(void);

/*
 * Return memory_room() for a value that the server is reading or copying.  A
 * value from a file or a master must not be refused, so the result for such a
 * value is SIZE_MAX.
 */
size_t memory_room_for_value(void);

#endif
