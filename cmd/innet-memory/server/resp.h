/*
 * resp.h - parse requests of the Redis protocol (RESP2 and inline)
 *
 * The caller passes the bytes that have arrived, in pieces of any size.
 * resp_read() sets *took to the number of bytes that it has consumed.  The
 * caller passes the remaining bytes again, together with the next ones.
 * resp_read() returns
 *
 *	RESP_MORE	the bytes end within a request; more are needed
 *	RESP_PLACE	a bulk of RESP_BULK bytes or more begins: give it a
 *			place with resp_place_bulk(), or refuse the request
 *	RESP_REQUEST	r->args is a request; use or move it before the next
 *			resp_read(); resp_finish_request() empties it
 *	RESP_BAD	r->bad is the error in the words of Redis; nothing
 *			more can be read
 *
 * The caller can receive directly into a placed bulk: resp_get_hole() returns
 * the address for its next bytes, and resp_add_filled() adds the number of
 * bytes stored there.  Shorter arguments are copied into the request, which
 * owns them.
 *
 * Some requests are read to their end without being stored, and are marked
 * `lost`: a request that needs more than the sum of r->keep_bytes and
 * RESP_SMALL_BYTES, a request for which there is no memory, a request with a
 * placed bulk before AUTH, and a request that resp_refuse_request() refuses.
 * The code is pure: it uses no sockets and no clock.
 */
#ifndef INNET_MEMORY_SERVER_RESP_H
#define INNET_MEMORY_SERVER_RESP_H

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESP_BULK_MAX ((size_t)512 << 20)
enum {
	RESP_BULK = 4096,	/* bulks of this many bytes or more get a
				 * separate buffer */
	RESP_LINE_MAX = 64 << 10,	/* longest inline request, in bytes */
	RESP_ARGS_MAX = 1024 * 1024,
	/* the limits that Redis applies before AUTH */
	RESP_NO_AUTH_ARGS = 10,
	RESP_NO_AUTH_BULK = 16384,
	RESP_BAD_BYTES = 64,
	RESP_SMALL_BYTES = 16 << 10	/* buffers up to this size are kept for
					 * the next request */
};

struct resp_arg {
	const uint8_t *p;	/* the argument; valid as long as the request is
				 * valid */
	size_t len;
	void *bulk;		/* pointer that was passed to resp_place_bulk(),
				 * or NULL */
};

/* A request.  Its owner drops the bulks and then calls resp_free_args(). */
struct resp_args {
	struct resp_arg *v;
	size_t n;
	bool lost;		/* some arguments were not stored */
	size_t room;		/* number of allocated entries of v */
	uint8_t *text;		/* bytes of the arguments that have no separate
				 * buffer */
	size_t text_len, text_room;
};

enum resp_end { RESP_MORE, RESP_PLACE, RESP_REQUEST, RESP_BAD };

struct resp {
	struct resp_args args;
	size_t keep_bytes;	/* the limit of a stored request is keep_bytes +
				 * RESP_SMALL_BYTES */
	bool no_auth;		/* apply the limits that are valid before
				 * AUTH */
	char bad[RESP_BAD_BYTES];
	size_t bulk_len;	/* size of the bulk that needs memory from
				 * resp_place_bulk() */
	size_t to_come;		/* number of arguments still missing */
	uint8_t *hole;		/* address for the next `left` bytes of the
				 * bulk, or NULL */
	size_t left;		/* number of bytes of this bulk still missing */
	size_t skip;	/* number of bytes of the final "\r\n" still missing */
	bool place;	/* RESP_PLACE was returned, but resp_place_bulk() was
			 * not called yet */
	bool whole;		/* args holds a complete request */
};

/*
 * Read len bytes at p and set *took to the number of bytes that were consumed.
 */
static inline enum resp_end resp_read(struct resp *r, const uint8_t *p,
    size_t len, size_t *took);

/*
 * Store the bulk's bytes at `bytes`.  `bulk`, which must not be NULL, is the
 * caller's own pointer to the bulk.
 */
static inline void resp_place_bulk(struct resp *r, void *bulk, uint8_t *bytes);

/* Read the rest of this request without storing it. */
static inline void resp_refuse_request(struct resp *r);

/*
 * Set *p to the address for the next bytes of a bulk, and return their number;
 * return 0 if no such bytes are expected.
 */
static inline size_t resp_get_hole(const struct resp *r, uint8_t **p);

/* Record that n bytes were stored at the address from resp_get_hole(). */
static inline void resp_add_filled(struct resp *r, size_t n);

/* Empty the request.  The caller must drop its bulks first. */
static inline void resp_finish_request(struct resp *r);

/*
 * Return true if an incomplete request has arrived whose buffers are larger
 * than RESP_SMALL_BYTES or which has a placed bulk.
 */
static inline bool resp_holds_partial(const struct resp *r);

/* Return the size in bytes of a request's buffers, without its bulks. */
static inline size_t resp_args_bytes(const struct resp_args *a);

/* Free the memory of a request, without its bulks. */
static inline void resp_free_args(struct resp_args *a);

/* Free the memory of the parser. */
static inline void resp_free(struct resp *r);

/* Read an integer as Redis does: without spaces, plus sign or leading zeros. */
static inline bool resp_read_integer(const uint8_t *p, size_t len,
    int64_t *out);

/* implementation */

static inline void
resp_free_args(struct resp_args *a)
{
	free(a->v);
	free(a->text);
	*a = (struct resp_args){ 0 };
}

static inline void
resp_free(struct resp *r)
{
	resp_free_args(&r->args);
}

static inline size_t
resp_args_bytes(const struct resp_args *a)
{
	return a->room * sizeof(*a->v) + a->text_room;
}

static inline bool
resp_holds_partial(const struct resp *r)
{
	bool bulk = false;

	if (r->whole || (r->to_come == 0 && r->left == 0 && r->skip == 0))
		return false;
	for (size_t i = 0; i < r->args.n && !bulk; i++)
		bulk = r->args.v[i].bulk != NULL;
	return bulk || resp_args_bytes(&r->args) > RESP_SMALL_BYTES;
}

static inline void
resp_finish_request(struct resp *r)
{
	struct resp_args *a = &r->args;

	if (resp_args_bytes(a) > RESP_SMALL_BYTES)
		resp_free_args(a);
	a->n = 0;
	a->text_len = 0;
	a->lost = false;
	r->whole = false;
}

static inline void
resp_refuse_request(struct resp *r)
{
	r->args.lost = true;
	r->place = false;
	r->hole = NULL;
}

static inline enum resp_end
resp_fail(struct resp *r, const char *why)
{
	snprintf(r->bad, sizeof(r->bad), "ERR Protocol error: %s", why);
	return RESP_BAD;
}

/*
 * Make room for one more argument with `text` bytes of text.  Return false if
 * the argument cannot be stored.
 */
static inline bool
resp_reserve(struct resp *r, size_t text)
{
	struct resp_args *a = &r->args;
	size_t room = a->room, text_room = a->text_room;
	void *p;

	if (a->n == room)
		room = room == 0 ? 8 : 2 * room;
	if (a->text_len + text > text_room)
		text_room = 2 * (a->text_len + text) + 64;
	if (room == a->room && text_room == a->text_room)
		return true;
	if (room * sizeof(*a->v) + text_room > r->keep_bytes +
	    RESP_SMALL_BYTES)
		return false;
	p = realloc(a->v, room * sizeof(*a->v));
	if (p == NULL)
		return false;
	a->v = p;
	a->room = room;
	p = realloc(a->text, text_room + 1);
	if (p == NULL)
		return false;
	a->text = p;
	a->text_room = text_room;
	return true;
}

/* Store an argument of len bytes at p if the limits allow it. */
static inline void
resp_keep_arg(struct resp *r, const uint8_t *p, size_t len)
{
	struct resp_args *a = &r->args;

	if (a->lost || !resp_reserve(r, len)) {
		a->lost = true;
		return;
	}
	if (len > 0)
		memcpy(a->text + a->text_len, p, len);
	a->v[a->n++] = (struct resp_arg){ .len = len };
	a->text_len += len;
}

/* Set the address of each argument, now that the text no longer moves. */
static inline enum resp_end
resp_finish_args(struct resp *r)
{
	struct resp_args *a = &r->args;
	size_t at = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].bulk != NULL)
			continue;
		a->v[i].p = a->text + at;
		at += a->v[i].len;
	}
	r->whole = true;
	return RESP_REQUEST;
}

static inline void
resp_place_bulk(struct resp *r, void *bulk, uint8_t *bytes)
{
	/* resp_read_bulk() has made room for the bulk */
	assert(r->place && bulk != NULL && r->args.n < r->args.room);
	r->place = false;
	r->args.v[r->args.n++] = (struct resp_arg){ bytes, r->bulk_len, bulk };
	r->hole = bytes;
}

static inline size_t
resp_get_hole(const struct resp *r, uint8_t **p)
{
	*p = r->hole;
	return r->hole == NULL ? 0 : r->left;
}

static inline void
resp_add_filled(struct resp *r, size_t n)
{
	assert(n <= r->left);
	r->left -= n;
	r->hole = r->left == 0 ? NULL : r->hole + n;
}

static inline bool
resp_read_integer(const uint8_t *p, size_t len, int64_t *out)
{
	const bool minus = len > 0 && *p == '-';
	uint64_t v = 0;

	if (len == 1 && *p == '0') {
		*out = 0;
		return true;
	}
	if (minus) {
		p++;
		len--;
	}
	if (len == 0 || len > 19 || *p == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	if (v > (uint64_t)INT64_MAX + minus)
		return false;
	*out = minus ? (int64_t)-v : (int64_t)v;
	return true;
}

static inline int
resp_hex_digit(uint8_t c)
{
	return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/*
 * Read a character after a backslash in a quoted word, and return the number of
 * bytes read.
 */
static inline size_t
resp_read_escape(const uint8_t *p, size_t len, uint8_t *out)
{
	static const char from[] = "nrtba", to[] = "\n\r\t\b\a";
	const char *at;

	if (len >= 3 && p[0] == 'x' && resp_hex_digit(p[1]) >= 0 &&
	    resp_hex_digit(p[2]) >= 0) {
		*out =
		    (uint8_t)(resp_hex_digit(p[1]) << 4 | resp_hex_digit(p[2]));
		return 3;
	}
	at = p[0] == '\0' ? NULL : strchr(from, p[0]);
	*out = at == NULL ? p[0] : (uint8_t)to[at - from];
	return 1;
}

/*
 * Copy the word at p, which may be quoted, to `out`.  Return the number of
 * bytes read, or 0 if the quotes are unbalanced.
 */
static inline size_t
resp_read_word(const uint8_t *p, size_t len, uint8_t *out, size_t *out_len)
{
	uint8_t quote = 0;
	size_t i = 0, n = 0;

	for (; i < len; i++) {
		if (quote == '"' && p[i] == '\\' && i + 1 < len) {
			i +=
			    resp_read_escape(p + i + 1, len - i - 1, &out[n++]);
		} else if (quote == '\'' && p[i] == '\\' && i + 1 < len &&
		    p[i + 1] == '\'') {
			out[n++] = p[++i];
		} else if (quote != 0 && p[i] == quote) {
			/* a word must end after its closing quote */
			if (i + 1 < len && !isspace(p[i + 1]))
				return 0;
			quote = 0;
			i++;
			break;
		} else if (quote == 0 && (isspace(p[i]) || p[i] == '\0')) {
			break;
		} else if (quote == 0 && (p[i] == '"' || p[i] == '\'')) {
			quote = p[i];
		} else {
			out[n++] = p[i];
		}
	}
	*out_len = n;
	return quote != 0 ? 0 : i;
}

/* Read a line of words.  An empty line is not a request. */
static inline enum resp_end
resp_read_inline(struct resp *r, const uint8_t *p, size_t len)
{
	uint8_t *word = malloc(len + 1);
	size_t took, n;

	if (word == NULL)
		r->args.lost = true;
	while (word != NULL) {
		while (len > 0 && isspace(*p)) {
			p++;
			len--;
		}
		/* Redis also stops at a zero byte */
		if (len == 0 || *p == '\0')
			break;
		took = resp_read_word(p, len, word, &n);
		if (took == 0) {
			free(word);
			return resp_fail(r, "unbalanced quotes in request");
		}
		resp_keep_arg(r, word, n);
		p += took;
		len -= took;
	}
	free(word);
	return r->args.n == 0 && !r->args.lost ? RESP_MORE :
	    resp_finish_args(r);
}

/*
 * Read the number that follows the first character of the line at p.  Set *took
 * to the length of the line, or to 0 if the line is incomplete.  Return NULL,
 * or an error message.
 */
static inline const char *
resp_read_count(const uint8_t *p, size_t len, const char *too_big,
    const char *invalid, int64_t hi, int64_t *out, size_t *took)
{
	const uint8_t *cr = memchr(p, '\r', len);

	*took = 0;
	if (cr == NULL)
		return len > RESP_LINE_MAX ? too_big : NULL;
	if ((size_t)(cr - p) + 2 > len)
		return NULL;
	if (!resp_read_integer(p + 1, (size_t)(cr - p) - 1, out) || *out > hi)
		return invalid;
	*took = (size_t)(cr - p) + 2;
	return NULL;
}

/* Return the limit of an inline request in bytes. */
static inline size_t
resp_line_max(const struct resp *r)
{
	return r->no_auth ? RESP_NO_AUTH_BULK : RESP_LINE_MAX;
}

/*
 * Read the beginning of a request at p, and set *took to the number of bytes
 * consumed.
 */
static inline enum resp_end
resp_read_header(struct resp *r, const uint8_t *p, size_t len, size_t *took)
{
	const uint8_t *nl;
	const char *why;
	int64_t n = 0;

	*took = 0;
	if (*p != '*') {
		nl = memchr(p, '\n', len);
		if (nl == NULL)
			return len > resp_line_max(r) ? resp_fail(r,
			    "too big inline request") : RESP_MORE;
		*took = (size_t)(nl - p) + 1;
		return resp_read_inline(r, p, (size_t)(nl - p) -
		    (nl > p && nl[-1] == '\r'));
	}
	why = resp_read_count(p, len, "too big mbulk count string",
	    "invalid multibulk length", RESP_ARGS_MAX, &n, took);
	if (why == NULL && r->no_auth && n > RESP_NO_AUTH_ARGS)
		why = "unauthenticated multibulk length";
	if (why != NULL)
		return resp_fail(r, why);
	r->to_come = n > 0 ? (size_t)n : 0;
	return RESP_MORE;
}

/*
 * Read the beginning of an argument at p, and set *took to the number of bytes
 * consumed.
 */
static inline enum resp_end
resp_read_bulk(struct resp *r, const uint8_t *p, size_t len, size_t *took)
{
	char say[32];
	const char *why;
	int64_t n = 0;

	*took = 0;
	if (*p != '$') {
		/*
		 * Redis checks this after it has received the line and one more
		 * byte
		 */
		if (memchr(p, '\r', len - 1) == NULL && len <= RESP_LINE_MAX)
			return RESP_MORE;
		snprintf(say, sizeof(say), "expected '$', got '%c'", *p);
		return resp_fail(r, say);
	}
	why = resp_read_count(p, len, "too big bulk count string",
	    "invalid bulk length", RESP_BULK_MAX, &n, took);
	if (why == NULL && n < 0)
		why = "invalid bulk length";
	if (why == NULL && r->no_auth && n > RESP_NO_AUTH_BULK)
		why = "unauthenticated bulk length";
	if (why != NULL)
		return resp_fail(r, why);
	if (*took == 0)
		return RESP_MORE;
	r->bulk_len = (size_t)n;
	if (r->bulk_len >= RESP_BULK) {
		r->to_come--;
		r->left = r->bulk_len;
		r->skip = 2;
		r->args.lost |= r->no_auth || !resp_reserve(r, 0);
		r->place = !r->args.lost;
		return r->place ? RESP_PLACE : RESP_MORE;
	}
	if (len - *took < r->bulk_len + 2) {
		*took = 0;
		return RESP_MORE;
	}
	r->to_come--;
	resp_keep_arg(r, p + *took, r->bulk_len);
	*took += r->bulk_len + 2;
	return RESP_MORE;
}

/* Read bytes of a bulk and of its end, and return their number. */
static inline size_t
resp_fill_bulk(struct resp *r, const uint8_t *p, size_t len)
{
	const size_t n = r->left < len ? r->left : len;
	const size_t end = r->skip < len - n ? r->skip : len - n;

	if (n > 0 && r->hole != NULL) {
		memcpy(r->hole, p, n);
		r->hole += n;
	}
	r->left -= n;
	if (r->left == 0) {
		r->hole = NULL;
		r->skip -= end;
	}
	return r->left == 0 ? n + end : n;
}

static inline enum resp_end
resp_read(struct resp *r, const uint8_t *p, size_t len, size_t *took)
{
	enum resp_end end;
	size_t n;

	*took = 0;
	assert(!r->whole && !r->place);
	for (;;) {
		n = resp_fill_bulk(r, p + *took, len - *took);
		*took += n;
		if (r->left > 0 || r->skip > 0)
			return RESP_MORE;
		if (r->to_come == 0 && (r->args.n > 0 || r->args.lost))
			return resp_finish_args(r);
		if (*took == len)
			return RESP_MORE;
		end = (r->to_come > 0 ? resp_read_bulk : resp_read_header)(r, p
		    + *took, len - *took, &n);
		*took += n;
		if (end != RESP_MORE || n == 0)
			return end;
	}
}

#endif
