/*
 * state-transfer.h - messages that copy a state from one member to another:
 * innet-wire(5)
 *
 * A Fetch requests chunks of a state.  Switches relay it from the member that
 * lacks the state to a member that sends the state.  A Chunk contains one chunk
 * of the state, and switches relay it back on the same path.  Neither message
 * is acknowledged; an Ack is sent only to refuse a Fetch.  A switch that
 * forwards a Fetch writes a number into it that identifies the requesting
 * member.  The Chunk contains the same number, so the switch knows where to
 * send the Chunk.
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
	TRANSFER_RUN = 32		/* maximum number of chunks that one
					 * Fetch requests */
};

/* The largest state, in bytes. */
#define TRANSFER_BYTES_MAX ((uint32_t)1 << 30)

struct transfer_fetch {
	uint16_t receiver;		/* number by which the last switch
					 * identifies the requesting member, or
					 * 0 */
	bool waits;			/* the job should wait for the
					 * transfer */
	uint32_t worker;		/* number of the requesting worker */
	uint32_t snapshot;		/* number of the requested snapshot; 0:
					 * any snapshot */
	uint32_t first;			/* index of the first requested chunk */
	uint16_t count;			/* number of requested chunks, from 1 to
					 * TRANSFER_RUN */
};

struct transfer_chunk {
	uint16_t receiver;
	bool ready;			/* the sender has a state; if not set,
					 * the sender has no state yet, so the
					 * receiver must ask again */
	uint32_t sender;		/* worker number of the member that
					 * sends the state */
	uint32_t snapshot;
	uint64_t iteration;		/* number of results that the state
					 * includes */
	uint32_t bytes, crc;		/* length of the whole state in bytes;
					 * CRC-32C of the whole state */
	uint32_t index;			/* index of this chunk */
	const uint8_t *data;		/* borrowed */
	size_t data_bytes;
};

/*
 * Return the number of chunks of a state of `bytes` bytes.  An empty state has
 * one chunk.
 */
static inline uint32_t
transfer_chunks(uint32_t bytes)
{
	return bytes == 0 ? 1 : (bytes - 1) / TRANSFER_CHUNK_BYTES + 1;
}

/* Return the number of bytes in chunk i of a state of `bytes` bytes. */
static inline size_t
transfer_chunk_bytes(uint32_t bytes, uint32_t i)
{
	const size_t at = (size_t)i * TRANSFER_CHUNK_BYTES;

	return at >= bytes ? 0 : bytes - at < TRANSFER_CHUNK_BYTES ?
	    bytes - at : TRANSFER_CHUNK_BYTES;
}

/* Read the body of a Fetch.  Returns false if it is not valid. */
static inline bool
transfer_get_fetch(const struct control *c, struct transfer_fetch *f)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	f->receiver = bytes_u16(&w);
	f->waits = (bytes_u16(&w) & 1) != 0;
	f->worker = bytes_u32(&w);
	f->snapshot = bytes_u32(&w);
	f->first = bytes_u32(&w);
	f->count = bytes_u16(&w);
	return bytes_ok(&w) && f->count > 0 && f->count <= TRANSFER_RUN;
}

/* Write the body of a Fetch to p.  Returns the position after the body. */
static inline uint8_t *
transfer_put_fetch(uint8_t *p, const struct transfer_fetch *f)
{
	p = bytes_put(p, f->receiver, 2);
	p = bytes_put(p, f->waits, 2);
	p = bytes_put(p, f->worker, 4);
	p = bytes_put(p, f->snapshot, 4);
	p = bytes_put(p, f->first, 4);
	return bytes_put(p, f->count, 2);
}

/*
 * Read the body of a Chunk.  Returns false if the body is not valid or if its
 * data has the wrong length.
 */
static inline bool
transfer_get_chunk(const struct control *c, struct transfer_chunk *k)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	k->receiver = bytes_u16(&w);
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

/*
 * Write the body of a Chunk, including its data, to p.  Returns the position
 * after the body.
 */
static inline uint8_t *
transfer_put_chunk(uint8_t *p, const struct transfer_chunk *k)
{
	p = bytes_put(p, k->receiver, 2);
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
