/*
 * restore.h - a checkpoint into the server and out of it
 */
#ifndef INNET_MEMORY_SERVER_CHECKPOINT_H
#define INNET_MEMORY_SERVER_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/server/server.h"

/* All that is stored, for save_to() and save_file(); arg is the server. */
void checkpoint_write(struct writer *s, void *arg);

/*
 * What is in the file at path takes the place of all that is stored; false,
 * with nothing changed, and in why what is wrong.  Both need room at once.
 */
bool checkpoint_read(struct server *srv, const char *path, char *why,
    size_t size);

#endif
