/*
 * table.h - a table of experiences: a name, a replay buffer, frames
 *
 * Its items are struct experience.  All of it stands in the server's account:
 * the slots and the tree from the start, experiences as they come.
 */
#ifndef INNET_MEMORY_STORE_TABLE_H
#define INNET_MEMORY_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/replay-dump.h"
#include "cmd/innet-memory/store/frames.h"

enum {
	TABLE_NAME_MAX = 255,		/* bytes */
	TABLE_SLICE = 65536	/* leaves made anew with a request: 0.5 ms */
};
/* Bytes of an experience made of frames: RESP's largest bulk string. */
#define TABLE_EXPERIENCE_MAX ((size_t)512 << 20)
#define TABLE_CAPACITY_MAX ((size_t)1 << 31)	/* experiences */

struct table {
	struct replay_buffer buf;
	struct frames frames;
	size_t charged;		/* bytes in the account for buf */
	size_t name_len;
	char name[TABLE_NAME_MAX + 1];
};

/* Words for enum replay_buffer_selector, with NULL at the end. */
extern const char *const table_selectors[];

/* NULL, or what is wrong with settings or with the size of frames. */
const char *table_check_settings(const struct replay_buffer_settings *settings);
const char *table_check_frames(uint64_t bytes, uint64_t stack);

/*
 * A table with nothing in it; NULL where the account or the machine has no
 * room.  The settings must be right, and the name of 1 to TABLE_NAME_MAX
 * bytes.
 */
struct table *table_open(struct account *account, const void *name, size_t len,
    const struct replay_buffer_settings *settings);
void table_close(struct table *t);

/*
 * The first of what close() does, up to *n things, which are fewer by those
 * then: true if nothing is left but close() itself.
 */
bool table_free_some(struct table *t, size_t *n);

/* Another name, of 1 to TABLE_NAME_MAX bytes. */
void table_rename(struct table *t, const void *name, size_t len);

/* What a table is charged for its slots, bytes. */
size_t table_slots_bytes(const struct replay_buffer_settings *settings);

#endif
