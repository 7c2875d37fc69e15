/*
 * newest.h - the sequence number of the last update of each worker and range
 *
 * A network can deliver an update twice or late, and a server that applied it
 * again would learn from it again.  So the server keeps the sequence of the
 * last update of each worker, cluster and range, and ignores one that is not
 * newer (serial numbers of 32 bits).  A worker that restarts counts from 0; it
 * sends weights first, which set the sequence back.  Weights whose time stamp
 * is not newer than that of the last weights are ignored.
 *
 * The most recently seen workers are known.  Owns its memory: newest_free().
 */
#ifndef INNET_PS_NEWEST_H
#define INNET_PS_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "common/wire/update.h"

enum { NEWEST_BYTES = 128, NEWEST_LEAST = 1024, NEWEST_MAX = 1 << 24 };

struct newest_row {
	uint64_t begun_ns;		/* time stamp of its last weights */
	uint32_t sequence;
	bool any;			/* sequence is valid */
};

struct newest {
	struct lru rows;
};

/* Return an empty table of at most `bytes` bytes (0: no limit). */
static inline struct newest
newest_with_limit(uint64_t bytes, const struct hashmap_multiplier *hash_seed)
{
	const uint64_t rows = bytes == 0 ? NEWEST_MAX : bytes / NEWEST_BYTES;

	return (struct newest){ .rows = lru_new(rows < NEWEST_LEAST ?
	    NEWEST_LEAST : rows > NEWEST_MAX ? NEWEST_MAX : (uint32_t)rows,
	    sizeof(struct newest_row), hash_seed) };
}

/* Free the table. */
static inline void
newest_free(struct newest *n)
{
	lru_free(&n->rows);
}

/* Return the key of cluster, range (counted from the end) and worker. */
static inline uint64_t
newest_key(const struct update *u)
{
	return (uint64_t)u->cluster << 48 | (uint64_t)u->following << 32 |
	    u->worker;
}

/* Is update u newer than its worker's last? */
static inline bool
newest_is_newer(const struct newest *n, const struct update *u)
{
	const uint32_t at = lru_find(&n->rows, newest_key(u));
	const struct newest_row *row;

	if (at == 0)
		return true;
	row = lru_row(&n->rows, at);
	return !row->any || (int32_t)(u->sequence - row->sequence) > 0;
}

/* Note update u, which was taken.  Without memory nothing is noted. */
static inline void
newest_note(struct newest *n, const struct update *u)
{
	const uint32_t at = lru_find_or_add(&n->rows, newest_key(u));
	struct newest_row *row;

	if (at == 0)
		return;
	row = lru_row(&n->rows, at);
	row->sequence = u->sequence;
	row->any = true;
}

/* Take weights u: their worker may count from a lower sequence now. */
static inline void
newest_restart(struct newest *n, const struct update *u)
{
	const uint32_t at = lru_find_or_add(&n->rows, newest_key(u));
	struct newest_row *row;

	if (at == 0)
		return;
	row = lru_row(&n->rows, at);
	if (u->generated_ns <= row->begun_ns)
		return;
	row->begun_ns = u->generated_ns;
	if ((int32_t)(u->sequence - row->sequence) < 0)
		row->sequence = u->sequence;
}

#endif
