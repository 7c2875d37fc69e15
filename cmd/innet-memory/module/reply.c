/* reply.c - replies of commands, with the server's functions */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/module/memory.h"
#include "cmd/innet-memory/server/reply.h"

void
reply_status(struct client *c, const char *word)
{
	RM_ReplyWithSimpleString(c->ctx, word);
}

void
reply_error(struct client *c, const char *fmt, ...)
{
	char s[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	for (char *p = s; *p != '\0'; p++) {
		if (*p == '\r' || *p == '\n')
			*p = ' ';
	}
	RM_ReplyWithError(c->ctx, s);
}

void
reply_int(struct client *c, int64_t v)
{
	RM_ReplyWithLongLong(c->ctx, v);
}

void
reply_bulk(struct client *c, const void *p, size_t len)
{
	RM_ReplyWithStringBuffer(c->ctx, p, len);
}

void
reply_text(struct client *c, const char *s)
{
	reply_bulk(c, s, strlen(s));
}

void
reply_array(struct client *c, size_t n)
{
	RM_ReplyWithArray(c->ctx, (long)n);
}

void
reply_map(struct client *c, size_t n)
{
	if (RM_ReplyWithMap != NULL)
		RM_ReplyWithMap(c->ctx, (long)n);
	else
		reply_array(c, 2 * n);
}

/* Reply with a double in RESP3, or with a bulk of 9 digits in RESP2. */
void
reply_double(struct client *c, double v)
{
	char s[32];
	int len;

	if (c->protocol == 0)
		c->protocol = RM_GetContextFlags(c->ctx) & RM_CTX_RESP3 ? 3 :
		    2;
	if (c->protocol == 3 && RM_ReplyWithDouble != NULL) {
		RM_ReplyWithDouble(c->ctx, v);
		return;
	}
	len = snprintf(s, sizeof(s), "%.9g", v);
	reply_bulk(c, s, (size_t)len);
}

void
reply_nil(struct client *c)
{
	RM_ReplyWithNull(c->ctx);
}

void
reply_oom(struct client *c)
{
	reply_error(c, "%s", memory_limit() == 0 ? "OOM there is not enough "
	    "memory" : "OOM command not allowed when used memory > "
	    "'maxmemory'.");
}

/*
 * The server accepts a bulk only as a whole.  A single piece is passed on as it
 * is, and several pieces are joined first.  If there is no memory for joining,
 * the reply is nil.
 */
void
reply_bulk_begin(struct client *c, size_t len)
{
	c->want = len;
	c->have = 0;
	c->bulk = NULL;
	c->sent = false;
}

void
reply_bulk_bytes(struct client *c, const void *p, size_t len)
{
	if (len == 0 || c->sent)
		return;
	if (len == c->want) {
		reply_bulk(c, p, len);
		c->sent = true;
		return;
	}
	if (c->bulk == NULL)
		c->bulk = malloc(c->want);
	if (c->bulk == NULL) {
		reply_nil(c);
		c->sent = true;
		return;
	}
	memcpy(c->bulk + c->have, p, len);
	c->have += len;
}

void
reply_bulk_piece(struct client *c, struct blob *b, size_t from)
{
	reply_bulk_bytes(c, b->bytes + from, b->len - from);
}

void
reply_bulk_end(struct client *c)
{
	if (!c->sent)
		reply_bulk(c, c->bulk, c->have);
	free(c->bulk);
	c->bulk = NULL;
}

void
reply_blob(struct client *c, struct blob *b)
{
	reply_bulk(c, b->bytes, b->len);
}
