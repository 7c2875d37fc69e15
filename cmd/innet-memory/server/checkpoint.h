/*
 * checkpoint.h - write all keys into a checkpoint, and replace them from one
 */
#ifndef INNET_MEMORY_SERVER_CHECKPOINT_H
#define INNET_MEMORY_SERVER_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/server/server.h"

/*
 * Write all keys.  This is a fill() callback for save_to() and save_file(); arg
 * is the struct server.
 */
void checkpoint_write(struct writer *s, void *arg);

/*
 * Replace all keys by those in the file at `path`.  On an error, change
 * nothing, write the reason to `why` and return false.  Memory must hold the
 * old and the new keys at the same time.
 */
bool checkpoint_read(struct server *srv, const char *path, char *why,
    size_t size);

#endif
