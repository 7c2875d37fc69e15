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
 * Write all keys, as a fill() of save_to() and save_file(); arg is the server.
 */
void checkpoint_write(struct writer *s, void *arg);

/*
 * Replace all keys by those in the file at path; false, with nothing changed
 * and the reason in why.  There must be room for both at once.
 */
bool checkpoint_read(struct server *srv, const char *path, char *why,
    size_t size);

#endif
