/*
 * out.h - data to be sent to a client: text and blobs
 *
 * Text is copied and joined.  A blob is not copied: it is held until it has
 * been sent.  If there is no memory, or if the buffers would become larger than
 * `most`, `bad` is set and the struct accepts nothing more.
 */
#ifndef INNET_MEMORY_SERVER_OUT_H
#define INNET_MEMORY_SERVER_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

struct out_part {
	struct blob *blob;	/* blob to send; NULL if this part is text */
	size_t at, len;		/* range of bytes that are still to be sent */
};

struct out {
	struct out_part *part;
	size_t first, parts;	/* the parts from parts[first] on are still to
				 * be sent */
	size_t parts_room;
	uint8_t *text;
	size_t text_len, text_room;
	size_t pending;		/* number of bytes that are still to be sent */
	uint64_t sent;		/* number of bytes sent so far */
	size_t most;		/* limit of out_bytes(); 0: no limit */
	bool bad;
};

/* Return room for n more bytes of text, or NULL. */
uint8_t *out_reserve(struct out *o, size_t n);

/* Send the n bytes that the caller wrote to the room of out_reserve(). */
void out_commit(struct out *o, size_t n);

/* Send a copy of these bytes. */
void out_add_text(struct out *o, const void *p, size_t len);

/*
 * Send a blob, beginning at byte `from`.  The caller's hold of the blob passes
 * to o.
 */
void out_add_blob(struct out *o, struct account *bs, struct blob *b,
    size_t from);

/*
 * Send up to `most` bytes; return false and set errno if the connection is
 * broken.
 */
bool out_send(struct out *o, struct account *bs, int fd, size_t most);

/* Return the size of the buffers in bytes. */
size_t out_bytes(const struct out *o);

/* Free the buffers and drop all blobs. */
void out_free(struct out *o, struct account *bs);

#endif
