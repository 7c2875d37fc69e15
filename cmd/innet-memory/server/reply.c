/* reply.c - replies of commands in innet-memory */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/reply.h"

enum { SHORT_BYTES = 1024 };	/* blobs shorter than this are copied instead of
				 * held */

bool
args_require_integer(struct client *c, const struct resp_args *a, size_t i,
    int64_t *out)
{
	if (args_read_integer(a, i, out))
		return true;
	reply_error(c, "ERR value is not an integer or out of range");
	return false;
}

struct blob *
args_keep_blob(struct client *c, const struct resp_args *a, size_t i)
{
	return args_hold_blob(&c->srv->account, a, i);
}

/* Add a line that consists of the character `kind` and a number. */
static void
add_number_line(struct client *c, char kind, int64_t v)
{
	char s[24], *p = s + sizeof(s);
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

	*--p = '\n';
	*--p = '\r';
	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u > 0);
	if (v < 0)
		*--p = '-';
	*--p = kind;
	out_add_text(&c->out, p, (size_t)(s + sizeof(s) - p));
}

void
reply_status(struct client *c, const char *word)
{
	out_add_text(&c->out, "+", 1);
	out_add_text(&c->out, word, strlen(word));
	out_add_text(&c->out, "\r\n", 2);
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
	c->errors++;
	c->srv->errors++;
	out_add_text(&c->out, "-", 1);
	out_add_text(&c->out, s, strlen(s));
	out_add_text(&c->out, "\r\n", 2);
}

void
reply_int(struct client *c, int64_t v)
{
	add_number_line(c, ':', v);
}

void
reply_bulk(struct client *c, const void *p, size_t len)
{
	add_number_line(c, '$', (int64_t)len);
	out_add_text(&c->out, p, len);
	out_add_text(&c->out, "\r\n", 2);
}

void
reply_text(struct client *c, const char *s)
{
	reply_bulk(c, s, strlen(s));
}

void
reply_bulk_begin(struct client *c, size_t len)
{
	add_number_line(c, '$', (int64_t)len);
}

void
reply_bulk_piece(struct client *c, struct blob *b, size_t from)
{
	if (b->len - from < SHORT_BYTES)
		out_add_text(&c->out, b->bytes + from, b->len - from);
	else
		out_add_blob(&c->out, &c->srv->account, blob_hold(b), from);
}

void
reply_bulk_bytes(struct client *c, const void *p, size_t len)
{
	out_add_text(&c->out, p, len);
}

void
reply_bulk_end(struct client *c)
{
	out_add_text(&c->out, "\r\n", 2);
}

void
reply_blob(struct client *c, struct blob *b)
{
	reply_bulk_begin(c, b->len);
	reply_bulk_piece(c, b, 0);
	reply_bulk_end(c);
}

void
reply_array(struct client *c, size_t n)
{
	add_number_line(c, '*', (int64_t)n);
}

void
reply_map(struct client *c, size_t n)
{
	add_number_line(c, c->resp3 ? '%' : '*', (int64_t)(c->resp3 ? n : 2 *
	    n));
}

void
reply_set(struct client *c, size_t n)
{
	add_number_line(c, c->resp3 ? '~' : '*', (int64_t)n);
}

/* Add a null.  RESP3 has a null type; RESP2 uses the text `resp2`. */
static void
add_null(struct client *c, const char *resp2)
{
	const char *s = c->resp3 ? "_\r\n" : resp2;

	out_add_text(&c->out, s, strlen(s));
}

void
reply_nil(struct client *c)
{
	add_null(c, "$-1\r\n");
}

void
reply_nil_array(struct client *c)
{
	add_null(c, "*-1\r\n");
}

void
reply_double(struct client *c, double v)
{
	char s[40];
	const int len = snprintf(s, sizeof(s), "%.9g", v);

	if (!c->resp3) {
		reply_bulk(c, s, (size_t)len);
		return;
	}
	out_add_text(&c->out, ",", 1);
	out_add_text(&c->out, s, (size_t)len);
	out_add_text(&c->out, "\r\n", 2);
}

void
reply_oom(struct client *c)
{
	c->srv->oom++;
	reply_error(c, "OOM command not allowed when used memory > "
	    "'maxmemory'. (%zu bytes used, %zu allowed)",
	    c->srv->account.used, c->srv->account.limit);
}

bool
reply_open_stream(struct client *c, struct reply_stream *w)
{
	*w = (struct reply_stream){ 0 };
	w->f = open_memstream(&w->text, &w->len);
	if (w->f == NULL)
		reply_oom(c);
	return w->f != NULL;
}

void
reply_close_stream(struct client *c, struct reply_stream *w)
{
	if (fclose(w->f) != 0) {
		reply_oom(c);
	} else if (!c->resp3) {
		reply_bulk(c, w->text, w->len);
	} else {
		add_number_line(c, '=', (int64_t)w->len + 4);
		out_add_text(&c->out, "txt:", 4);
		out_add_text(&c->out, w->text, w->len);
		out_add_text(&c->out, "\r\n", 2);
	}
	free(w->text);
}
