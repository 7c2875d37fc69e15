/*
 * table-checkpoint.h - write a table into a checkpoint and read it back
 *
 * save.h describes the format.
 */
#ifndef INNET_MEMORY_STORE_TABLE_CHECKPOINT_H
#define INNET_MEMORY_STORE_TABLE_CHECKPOINT_H

#include <stddef.h>

#include "cmd/innet-memory/store/reader.h"
#include "cmd/innet-memory/store/table.h"
#include "cmd/innet-memory/store/writer.h"

/*
 * Write a table.  table_read() reads a table; on an error, it returns NULL with
 * the reason in r.
 */
void table_write(struct writer *w, const struct table *t);
struct table *table_read(struct reader *r);

/*
 * Write a table without its name, for a caller that stores the name elsewhere.
 */
void table_write_parts(struct writer *w, const struct table *t);
/* Return the number of bytes that table_write_parts() writes. */
size_t table_checkpoint_bytes(const struct table *t);
/* Read a table that table_write_parts() has written, or return NULL. */
struct table *table_read_parts(struct reader *r, const void *name, size_t len);

#endif
