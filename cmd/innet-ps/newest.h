/*
 * newest.h - which update of a worker came last, of each range
 *
 * A network may bring an update twice, or late: a server that applied it again
 * would learn it again.  So of each worker, cluster and range the sequence of
 * the last update is known, and one that is not newer (as serial numbers of 32
 * bits) is not taken.  Weights say where their worker's count stands: a worker
 * that is started again counts from 0 and sends weights first, with which the
 * last falls back to there.  Weights that are not newer than the last by their
 * stamp say nothing.
 *
 * The workers heard last are known; owns its memory: newest_free().
 */
#ifndef INNET_PS_NEWEST_H
#define INNET_PS_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "common/wire/update.h"

enum { NEWEST_BYTES = 128, NEWEST_LEAST = 1024, NEWEST_MAX = 1 << 24 };

struct newest_row {
	uint64_t begun_ns;		/* stamp of its last weights */
	uint32_t sequence;
	bool any;			/* that sequence was heard */
};

struct newest {
	struct lru rows;
};

/* To take so many bytes at most; 0: no limit.  by: of its map, hashmap.h. */
static inline struct newest
newest_within(uint64_t bytes, const struct hashmap_multiplier *by)
{
	const uint64_t rows = bytes == 0 ? NEWEST_MAX : bytes / NEWEST_BYTES;

	return (struct newest){ .rows = lru_new(rows < NEWEST_LEAST ?
	    NEWEST_LEAST : rows > NEWEST_MAX ? NEWEST_MAX : (uint32_t)rows,
	    sizeof(struct newest_row), by) };
}

static inline void
newest_free(struct newest *n)
{
	lru_free(&n->rows);
}

/* Cluster, range from the end, worker. */
static inline uint64_t
newest_key(const struct update *u)
{
	return (uint64_t)u->cluster << 48 | (uint64_t)u->following << 32 |
	    u->worker;
}

/* Is update u newer than its worker's last? */
static inline bool
newest_is(const struct newest *n, const struct update *u)
{
	const uint32_t at = lru_find(&n->rows, newest_key(u));
	const struct newest_row *row;

	if (at == 0)
		return true;
	row = lru_row(&n->rows, at);
	return !row->any || (int32_t)(u->sequence - row->sequence) > 0;
}

/* Update u has been taken.  Without memory that is not noted. */
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

/* Weights u have come: their worker may count from lower down. */
static inline void
newest_begin(struct newest *n, const struct update *u)
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
