/*
 * newest.h - the sequence number of the last update of each worker and range
 *
 * A network can deliver an update twice or late.  A server that applied such an
 * update again would learn from it twice.  Therefore the server stores the
 * sequence number of the last update for each worker, cluster and range.  It
 * ignores an update that is not newer (serial number arithmetic of 32 bits).
 *
 * A worker that restarts counts from 0 again.  It sends its weights first.
 * When the server receives these weights, it lowers the stored sequence number.
 * The server ignores weights if their timestamp is not newer than the timestamp
 * of the last weights.
 *
 * If the table is full, the least recently seen workers are forgotten.  The
 * table owns its memory; newest_free() frees it.
 */
#ifndef INNET_PS_NEWEST_H
#define INNET_PS_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "common/wire/update.h"

enum { NEWEST_BYTES = 128, NEWEST_LEAST = 1024, NEWEST_MAX = 1 << 24 };

struct newest_row {
	uint64_t begun_ns;		/* timestamp of the last weights */
	uint32_t sequence;
	bool any;			/* `sequence` is valid */
};

struct newest {
	struct lru rows;
};

/*
 * Return an empty table of at most `bytes` bytes, or of any size if bytes is 0.
 */
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

/*
 * Return the table key for the cluster, range and worker of u.  Ranges are
 * counted from the end.
 */
static inline uint64_t
newest_key(const struct update *u)
{
	return (uint64_t)u->cluster << 48 | (uint64_t)u->following << 32 |
	    u->worker;
}

/* Return true if update u is newer than the last update of its worker. */
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

/* Record update u, which was accepted.  If there is no memory, do nothing. */
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

/*
 * Record the weights u.  After these weights, the worker may count from a lower
 * number.
 */
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
