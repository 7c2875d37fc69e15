/*
 * memory.h - how much memory the server allows
 */
#ifndef INNET_MEMORY_MODULE_MEMORY_H
#define INNET_MEMORY_MODULE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/module/api.h"

/* Return maxmemory of the server in bytes; 0: there is no limit. */
uint64_t memory_limit(void);

/*
 * Return the bytes that are left below maxmemory; SIZE_MAX: there is no limit.
 * The server's own check, deny-oom, compares the memory that is used before a
 * command, not what the command will take.
 */
size_t memory_room(void);

/*
 * Return the same for a value that the server reads or copies now.  SIZE_MAX
 * also for one from a file or a master, which must not be refused.
 */
size_t memory_room_for_value(void);

#endif
