/*
 * out.h - what a client is still to be sent: text, and blobs as they are
 *
 * Text is copied and joined; a blob is held, not copied, and dropped when it
 * has left.  An out whose memory failed is `bad` and takes nothing more.
 */
#ifndef INNET_MEMORY_SERVER_OUT_H
#define INNET_MEMORY_SERVER_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

struct out_part {
	struct blob *blob;	/* NULL: it is of the text */
	size_t at, len;		/* bytes of it still to go */
};

struct out {
	struct out_part *part;
	size_t first, parts;	/* those from first on are still to go */
	size_t parts_room;
	uint8_t *text;
	size_t text_len, text_room;
	size_t pending;		/* bytes, of text and of blobs */
	uint64_t sent;		/* bytes, ever */
	bool bad;
};

/* Room for n more bytes of text; NULL if there is none. */
uint8_t *out_reserve(struct out *o, size_t n);

/* n of the bytes at out_reserve() are to go. */
void out_commit(struct out *o, size_t n);

void out_add_text(struct out *o, const void *p, size_t len);

/* A blob from a byte on, that the caller holds: now out does. */
void out_add_blob(struct out *o, struct account *bs, struct blob *b,
    size_t from);

/* Send what goes, at most `most` bytes.  False with errno if it will never. */
bool out_send(struct out *o, struct account *bs, int fd, size_t most);

/* Bytes in its buffers. */
size_t out_bytes(const struct out *o);

void out_free(struct out *o, struct account *bs);

#endif
