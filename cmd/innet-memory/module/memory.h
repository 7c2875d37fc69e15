/*
 * memory.h - how much memory the server allows
 */
#ifndef INNET_MEMORY_MODULE_MEMORY_H
#define INNET_MEMORY_MODULE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/module/client.h"

/* Return maxmemory of the server in bytes; 0: there is no limit. */
uint64_t memory_limit(struct client *c);

/*
 * Are these bytes left below maxmemory?  The server's own check, deny-oom,
 * compares the memory that is used before a command, not what the command will
 * take.
 */
bool memory_has_room(struct client *c, size_t bytes);

#endif
