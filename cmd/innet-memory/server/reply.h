/*
 * reply.h - how a command answers
 *
 * An array is reply_array(n) and then n replies.  Nothing is sent before the
 * command returns, so an error may not follow a part of an answer: check
 * first, then change, then answer.  struct client is the host's own (host.h).
 */
#ifndef INNET_MEMORY_COMMANDS_REPLY_H
#define INNET_MEMORY_COMMANDS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-memory/server/resp.h"
#include "cmd/innet-memory/store/blob.h"

struct client;

void reply_status(struct client *c, const char *word);
/* "ERR what is wrong", on one line. */
void reply_error(struct client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void reply_int(struct client *c, int64_t v);
void reply_bulk(struct client *c, const void *p, size_t len);
void reply_text(struct client *c, const char *s);	/* a bulk */
void reply_blob(struct client *c, struct blob *b);	/* holds it itself */
void reply_array(struct client *c, size_t n);
/* n pairs follow, of a name and a value each. */
void reply_map(struct client *c, size_t n);
void reply_double(struct client *c, double v);	/* to 9 digits */
/* A bulk of len bytes in pieces: blobs from a byte on, or bytes. */
void reply_bulk_begin(struct client *c, size_t len);
void reply_bulk_piece(struct client *c, struct blob *b, size_t from);
void reply_bulk_bytes(struct client *c, const void *p, size_t len);
void reply_bulk_end(struct client *c);
void reply_nil(struct client *c);
void reply_oom(struct client *c);	/* memory is full */

/* ---- of innet-memory alone; not in the module for Redis ---- */

/* args_read_integer(), and if it is none that is the answer. */
bool args_require_integer(struct client *c, const struct resp_args *a, size_t i,
    int64_t *out);

/* args_hold_blob() in the server's account. */
struct blob *args_keep_blob(struct client *c, const struct resp_args *a,
    size_t i);

/* Replies besides those of reply.h. */
void reply_nil_array(struct client *c);
void reply_set(struct client *c, size_t n);	/* an array in RESP2 */

/* Text that is printed: what goes to w.f until reply_close_stream(). */
struct reply_stream {
	FILE *f;
	char *text;
	size_t len;
};

/* False if there is no memory, which is the answer then. */
bool reply_open_stream(struct client *c, struct reply_stream *w);
void reply_close_stream(struct client *c, struct reply_stream *w);

#endif
