/*
 * state-transfer.h - a member's state on its way to another: innet-wire(5)
 *
 * Fetch asks for chunks of a state, and goes from who lacks it over switches to
 * a sender; Chunk is one of them, and goes the same way back.  Neither has an
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
	TRANSFER_CHUNK_BYTES = 1344,
	TRANSFER_RUN = 32		/* chunks of a Fetch, at most */
};

/* The largest state: so many bytes. */
#define TRANSFER_BYTES_MAX ((uint32_t)1 << 30)

struct transfer_fetch {
	uint16_t asker;			/* of the switch it comes from, or 0 */
	bool waits;			/* the job is to wait meanwhile */
	uint32_t worker;		/* who asks, by its number */
	uint32_t snapshot;		/* 0: whichever there is */
	uint32_t first;			/* chunk */
	uint16_t count;			/* 1 to TRANSFER_RUN */
};

struct transfer_chunk {
	uint16_t asker;
	bool ready;			/* else there is none yet: ask again */
	uint32_t sender;			/* its worker number */
	uint32_t snapshot;
	uint64_t iteration;		/* results that are in the state */
	uint32_t bytes, crc;		/* of the whole, CRC-32C */
	uint32_t index;			/* of this chunk */
	const uint8_t *data;		/* borrowed */
	size_t data_bytes;
};

/* Chunks of a state of so many bytes: one of nothing has one, too. */
static inline uint32_t
transfer_chunks(uint32_t bytes)
{
	return bytes == 0 ? 1 : (bytes - 1) / TRANSFER_CHUNK_BYTES + 1;
}

/* The bytes of chunk i. */
static inline size_t
transfer_chunk_bytes(uint32_t bytes, uint32_t i)
{
	const size_t at = (size_t)i * TRANSFER_CHUNK_BYTES;

	return at >= bytes ? 0 : bytes - at < TRANSFER_CHUNK_BYTES ?
	    bytes - at : TRANSFER_CHUNK_BYTES;
}

static inline bool
transfer_get_fetch(const struct control *c, struct transfer_fetch *f)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	f->asker = bytes_u16(&w);
	f->waits = (bytes_u16(&w) & 1) != 0;
	f->worker = bytes_u32(&w);
	f->snapshot = bytes_u32(&w);
	f->first = bytes_u32(&w);
	f->count = bytes_u16(&w);
	return bytes_ok(&w) && f->count > 0 && f->count <= TRANSFER_RUN;
}

/* The body of a Fetch at p; the place behind. */
static inline uint8_t *
transfer_put_fetch(uint8_t *p, const struct transfer_fetch *f)
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
transfer_get_chunk(const struct control *c, struct transfer_chunk *k)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	k->asker = bytes_u16(&w);
	k->ready = (bytes_u16(&w) & 1) != 0;
	k->sender = bytes_u32(&w);
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
	    k->bytes <= TRANSFER_BYTES_MAX &&
	    k->index < transfer_chunks(k->bytes) &&
	    k->data_bytes == transfer_chunk_bytes(k->bytes, k->index);
}

/* The body of a Chunk at p, with its data; the place behind. */
static inline uint8_t *
transfer_put_chunk(uint8_t *p, const struct transfer_chunk *k)
{
	p = bytes_put(p, k->asker, 2);
	p = bytes_put(p, k->ready, 2);
	p = bytes_put(p, k->sender, 4);
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
