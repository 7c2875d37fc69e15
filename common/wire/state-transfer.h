/*
 * state-transfer.h - a member's state on its way to another: innet-wire(5)
 *
 * Fetch asks for chunks of a state, and goes from who lacks it over switches to
 * a donor; Chunk is one of them, and goes the same way back.  Neither has an
 * Ack but a refusal.  A switch writes its own number for who asks into what it
 * passes on, and so needs no other memory of the way.
 */
#ifndef INNET_WIRE_STATE_TRANSFER_H
#define INNET_WIRE_STATE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/control.h"

enum {
	HANDOVER_CHUNK_BYTES = 1344,
	HANDOVER_RUN = 32		/* chunks of a Fetch, at most */
};

/* The largest state: so many bytes. */
#define HANDOVER_BYTES_MAX ((uint32_t)1 << 30)

struct handover_fetch {
	uint16_t asker;			/* of the switch it comes from, or 0 */
	bool waits;			/* the job is to wait meanwhile */
	uint32_t worker;		/* who asks, by its number */
	uint32_t snapshot;		/* 0: whichever there is */
	uint32_t first;			/* chunk */
	uint16_t count;			/* 1 to HANDOVER_RUN */
};

struct handover_chunk {
	uint16_t asker;
	bool ready;			/* else there is none yet: ask again */
	uint32_t donor;			/* its worker number */
	uint32_t snapshot;
	uint64_t iteration;		/* results that are in the state */
	uint32_t bytes, crc;		/* of the whole, CRC-32C */
	uint32_t index;			/* of this chunk */
	const uint8_t *data;		/* borrowed */
	size_t data_bytes;
};

/* Chunks of a state of so many bytes: one of nothing has one, too. */
static inline uint32_t
handover_chunks(uint32_t bytes)
{
	return bytes == 0 ? 1 : (bytes - 1) / HANDOVER_CHUNK_BYTES + 1;
}

/* The bytes of chunk i. */
static inline size_t
handover_chunk_bytes(uint32_t bytes, uint32_t i)
{
	const size_t at = (size_t)i * HANDOVER_CHUNK_BYTES;

	return at >= bytes ? 0 : bytes - at < HANDOVER_CHUNK_BYTES ?
	    bytes - at : HANDOVER_CHUNK_BYTES;
}

static inline bool
handover_get_fetch(const struct control *c, struct handover_fetch *f)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	f->asker = bytes_u16(&w);
	f->waits = (bytes_u16(&w) & 1) != 0;
	f->worker = bytes_u32(&w);
	f->snapshot = bytes_u32(&w);
	f->first = bytes_u32(&w);
	f->count = bytes_u16(&w);
	return bytes_ok(&w) && f->count > 0 && f->count <= HANDOVER_RUN;
}

/* The body of a Fetch at p; the place behind. */
static inline uint8_t *
handover_put_fetch(uint8_t *p, const struct handover_fetch *f)
{
	p = bytes_put(p, f->asker, 2);
	p = bytes_put(p, f->waits, 2);
	p = bytes_put(p, f->worker, 4);
	p = bytes_put(p, f->snapshot, 4);
	p = bytes_put(p, f->first, 4);
	return bytes_put(p, f->count, 2);
}

/* False too if the data are not as long as the chunk is, or are not ready. */
static inline bool
handover_get_chunk(const struct control *c, struct handover_chunk *k)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	k->asker = bytes_u16(&w);
	k->ready = (bytes_u16(&w) & 1) != 0;
	k->donor = bytes_u32(&w);
	k->snapshot = bytes_u32(&w);
	k->iteration = bytes_u64(&w);
	k->bytes = bytes_u32(&w);
	k->crc = bytes_u32(&w);
	k->index = bytes_u32(&w);
	k->data = w.p;
	k->data_bytes = w.left;
	if (!k->ready)
		return bytes_ok(&w) && k->data_bytes == 0;
	return bytes_ok(&w) && k->snapshot != 0 &&
	    k->bytes <= HANDOVER_BYTES_MAX &&
	    k->index < handover_chunks(k->bytes) &&
	    k->data_bytes == handover_chunk_bytes(k->bytes, k->index);
}

/* The body of a Chunk at p, with its data; the place behind. */
static inline uint8_t *
handover_put_chunk(uint8_t *p, const struct handover_chunk *k)
{
	p = bytes_put(p, k->asker, 2);
	p = bytes_put(p, k->ready, 2);
	p = bytes_put(p, k->donor, 4);
	p = bytes_put(p, k->snapshot, 4);
	p = bytes_put(p, k->iteration, 8);
	p = bytes_put(p, k->bytes, 4);
	p = bytes_put(p, k->crc, 4);
	p = bytes_put(p, k->index, 4);
	if (k->data_bytes > 0)
		memcpy(p, k->data, k->data_bytes);
	return p + k->data_bytes;
}

#endif
