/*
 * table.h - a table of experiences: a name, a replay buffer and frames
 *
 * The items of the replay buffer are struct experience.  All memory is charged
 * to the account.  The slots and trees are charged when the table is opened,
 * and each experience when it is added.
 */
#ifndef INNET_MEMORY_STORE_TABLE_H
#define INNET_MEMORY_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/replay-dump.h"
#include "cmd/innet-memory/store/frames.h"

enum {
	TABLE_NAME_MAX = 255,		/* longest name, in bytes */
	TABLE_SLICE = 65536	/* number of leaves to rebuild per request,
				 * which takes 0.5 ms */
};
/*
 * Largest experience with frames, in bytes, which is also RESP's largest bulk
 * string.
 */
#define TABLE_EXPERIENCE_MAX ((size_t)512 << 20)
#define TABLE_CAPACITY_MAX ((size_t)1 << 31) /* largest number of experiences */

struct table {
	struct replay_buffer buf;
	struct frames frames;
	size_t charged;		/* number of bytes charged to the account for
				 * buf */
	size_t name_len;
	char name[TABLE_NAME_MAX + 1];
};

/* Names of the enum replay_buffer_selector values; the last entry is NULL. */
extern const char *const table_selectors[];

/*
 * Return NULL if the settings and the size of the frames are valid, or
 * otherwise a description of the error.
 */
const char *table_check_settings(const struct replay_buffer_settings *settings);
const char *table_check_frames(uint64_t bytes, uint64_t stack);

/*
 * Return an empty table, or NULL if there is no room or no memory.  The
 * settings must be valid, and the name must have 1 to TABLE_NAME_MAX bytes.
 */
struct table *table_open(struct account *account, const void *name, size_t len,
    const struct replay_buffer_settings *settings);
/* Free the table and all experiences. */
void table_close(struct table *t);

/*
 * Free up to *n things of the table and subtract their number from *n.  Return
 * true if everything is freed and only table_close() must still be called.
 */
bool table_free_some(struct table *t, size_t *n);

/* Change the name, which must have 1 to TABLE_NAME_MAX bytes. */
void table_rename(struct table *t, const void *name, size_t len);

/* Return the number of bytes that are charged for the slots of a table. */
size_t table_slots_bytes(const struct replay_buffer_settings *settings);

#endif
