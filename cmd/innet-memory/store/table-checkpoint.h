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

/* Into a checkpoint and from one: NULL, and r says why, if it is refused. */
void table_write(struct writer *w, const struct table *t);
struct table *table_read(struct reader *r);

/* The same without the name, for those who keep that elsewhere. */
void table_write_parts(struct writer *w, const struct table *t);
/* The bytes that table_write_parts() writes. */
size_t table_checkpoint_bytes(const struct table *t);
struct table *table_read_parts(struct reader *r, const void *name, size_t len);

#endif
