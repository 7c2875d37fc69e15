/*
 * reply.h - replies of commands
 *
 * For an array, call reply_array(n) and then add n replies.  An error must not
 * follow a part of a reply.  Therefore first check the request, then change the
 * data, then reply.  The Redis module implements the first half of these
 * functions for its own struct client.
 */
#ifndef INNET_MEMORY_SERVER_REPLY_H
#define INNET_MEMORY_SERVER_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-memory/server/resp.h"
#include "cmd/innet-memory/store/blob.h"

struct client;

void reply_status(struct client *c, const char *word);
/* The text is one line that begins with an error code such as ERR. */
void reply_error(struct client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void reply_int(struct client *c, int64_t v);
void reply_bulk(struct client *c, const void *p, size_t len);
void reply_text(struct client *c, const char *s);	/* adds the string s as
							 * a bulk */
void reply_blob(struct client *c, struct blob *b); /* adds the blob b as a bulk,
						    * and takes another hold of
						    * b */
void reply_array(struct client *c, size_t n);
/* Begin a map; the caller adds n pairs of a name and a value. */
void reply_map(struct client *c, size_t n);
void reply_double(struct client *c, double v);	/* 9 digits */
/*
 * Reply with a bulk of len bytes in pieces.  A piece is a blob without its
 * first `from` bytes, or plain bytes.
 */
void reply_bulk_begin(struct client *c, size_t len);
void reply_bulk_piece(struct client *c, struct blob *b, size_t from);
void reply_bulk_bytes(struct client *c, const void *p, size_t len);
void reply_bulk_end(struct client *c);
void reply_nil(struct client *c);
void reply_oom(struct client *c);	/* replies with the error that memory is
					 * full */

/* ---- only in innet-memory, not in the module for Redis ---- */

/*
 * Read argument i as an integer; if it is not an integer, reply with an error
 * and return false.
 */
bool args_require_integer(struct client *c, const struct resp_args *a, size_t i,
    int64_t *out);

/* Call args_hold_blob() with the server's account. */
struct blob *args_keep_blob(struct client *c, const struct resp_args *a,
    size_t i);

void reply_nil_array(struct client *c);
void reply_set(struct client *c, size_t n);	/* RESP2: array */

/* A reply that the caller prints to f; reply_close_stream() sends it. */
struct reply_stream {
	FILE *f;
	char *text;
	size_t len;
};

/* If there is no memory, reply with an error and return false. */
bool reply_open_stream(struct client *c, struct reply_stream *w);
void reply_close_stream(struct client *c, struct reply_stream *w);

#endif
