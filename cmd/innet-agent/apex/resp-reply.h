/*
 * resp-reply.h - parse the replies of a Redis server (RESP2) from a stream of
 * bytes
 *
 * The caller puts bytes into the reader through respreply_room(), in pieces of
 * any size. respreply_next() returns the elements of replies one by one; an
 * array is returned as its number of elements, followed by the elements.  The
 * reader does not collect the body of a bulk.  After the element of a bulk, the
 * caller gets the bytes that have arrived with respreply_body(), or reads them
 * directly into its own memory and reports this with respreply_past().  Bytes
 * that the caller does not take are skipped.
 *
 * The reader is pure: the buffer belongs to the caller, and nothing is
 * allocated.  After bytes that are not RESP2, nothing more can be read.
 */
#ifndef INNET_AGENT_APEX_RESP_REPLY_H
#define INNET_AGENT_APEX_RESP_REPLY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	RESPREPLY_LINE_MAX = 16384,	/* maximum number of bytes in a line,
					 * including its end */
	RESPREPLY_BULK_MAX = 512 << 20,	/* Redis's limit on the number of bytes
					 * in a bulk */
	RESPREPLY_LEAST = 3		/* number of bytes in a minimal line,
					 * "+\r\n" */
};

enum respreply_kind {
	RESPREPLY_STATUS, RESPREPLY_ERROR, RESPREPLY_INT, RESPREPLY_BULK,
	RESPREPLY_NIL, RESPREPLY_ARRAY
};

struct respreply {
	enum respreply_kind kind;
	int64_t n;		/* value of an integer, number of bytes in a
				 * bulk, or number of elements in an array */
	const char *text;	/* text of a status or an error, ended by 0;
				   valid until the reader is used again */
};

struct respreply_in {
	uint8_t *buf;		/* `size` bytes, borrowed */
	size_t size;
	size_t from, have;	/* unread bytes are buf[from ... have-1] */
	size_t body;		/* number of missing bytes of a bulk's body */
	unsigned tail;		/* number of missing bytes of the line end after
				 * the body */
	uint64_t due;		/* number of missing elements of this reply */
	uint64_t bytes;		/* number of bytes of this reply that have
				 * arrived; number announced so far */
	uint64_t most;		/* maximum size of a reply, or UINT64_MAX */
};

/* Open a reader with the buffer `buf`, which must be larger than a line. */
static inline void respreply_open(struct respreply_in *in, void *buf,
    size_t size);

/*
 * Return the address for the next *n > 0 bytes; the caller adds the number of
 * bytes that it puts there to in->have.
 */
static inline uint8_t *respreply_room(struct respreply_in *in, size_t *n);

/*
 * Return 1 with the next element in *r, 0 if the element is incomplete, or -1
 * with the reason in *why if the bytes are not a reply.  in->due is the number
 * of elements that are still missing from the reply.
 */
static inline int respreply_next(struct respreply_in *in, struct respreply *r,
    const char **why);

/* Copy up to len bytes of a bulk's body; return the number of bytes copied. */
static inline size_t respreply_body(struct respreply_in *in, void *to,
    size_t len);

/* Report that len body bytes were read elsewhere; the buffer must be empty. */
static inline void respreply_past(struct respreply_in *in, size_t len);

/* implementation */

static inline void
respreply_open(struct respreply_in *in, void *buf, size_t size)
{
	assert(size > RESPREPLY_LINE_MAX);
	*in = (struct respreply_in){ .buf = buf, .size = size,
	    .most = UINT64_MAX };
}

static inline uint8_t *
respreply_room(struct respreply_in *in, size_t *n)
{
	if (in->from == in->have) {
		in->from = in->have = 0;
	} else if (in->size - in->have < in->size / 2) {
		memmove(in->buf, in->buf + in->from, in->have - in->from);
		in->have -= in->from;
		in->from = 0;
	}
	*n = in->size - in->have;
	return in->buf + in->have;
}

static inline size_t
respreply_body(struct respreply_in *in, void *to, size_t len)
{
	const size_t here = in->have - in->from;

	len = len < in->body ? len : in->body;
	len = len < here ? len : here;
	if (len > 0 && to != NULL)
		memcpy(to, in->buf + in->from, len);
	in->from += len;
	in->body -= len;
	return len;
}

static inline void
respreply_past(struct respreply_in *in, size_t len)
{
	assert(in->from == in->have && len <= in->body);
	in->body -= len;
}

/*
 * Parse the number at p, up to the terminating 0.  Return false if it is
 * invalid.
 */
static inline bool
respreply_number(const char *p, int64_t *out)
{
	const bool minus = *p == '-';
	uint64_t v = 0;
	size_t n = 0;

	for (p += minus; *p >= '0' && *p <= '9' && n < 19; p++, n++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p != '\0' || n == 0 || v > (uint64_t)INT64_MAX + minus)
		return false;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/*
 * Parse the first character of a line and the number after it.  Return NULL, or
 * an error text.
 */
static inline const char *
respreply_line(const char *line, struct respreply *r)
{
	r->text = line + 1;
	switch (*line) {
	case '+': r->kind = RESPREPLY_STATUS; return NULL;
	case '-': r->kind = RESPREPLY_ERROR; return NULL;
	case ':': r->kind = RESPREPLY_INT; break;
	case '$': r->kind = RESPREPLY_BULK; break;
	case '*': r->kind = RESPREPLY_ARRAY; break;
	default: return "a reply of an unknown kind";
	}
	if (!respreply_number(line + 1, &r->n))
		return "a reply in which a number is missing";
	if (r->kind == RESPREPLY_INT)
		return NULL;
	if (r->n < -1 || r->n > (r->kind == RESPREPLY_BULK ?
	    RESPREPLY_BULK_MAX : INT32_MAX))
		return "a reply of an impossible length";
	if (r->n == -1)
		r->kind = RESPREPLY_NIL;
	return NULL;
}

/*
 * Skip the rest of a bulk.  Return false if a part of the bulk has not arrived
 * yet or, with *why, if the bulk has a wrong end.
 */
static inline bool
respreply_skip(struct respreply_in *in, const char **why)
{
	respreply_body(in, NULL, in->body);
	for (; in->tail > 0 && in->from < in->have; in->from++) {
		if (in->buf[in->from] != (in->tail == 2 ? '\r' : '\n')) {
			*why = "a string that is longer than the length before "
			    "it";
			return false;
		}
		in->tail--;
	}
	return in->body == 0 && in->tail == 0;
}

/*
 * Count the element *r, whose line has len bytes.  Return false if the reply is
 * too large.
 */
static inline bool
respreply_count(struct respreply_in *in, const struct respreply *r, size_t len)
{
	if (in->due == 0) {
		in->due = 1;
		in->bytes = RESPREPLY_LEAST;
	}
	in->due--;
	in->bytes += len - RESPREPLY_LEAST;
	in->body = r->kind == RESPREPLY_BULK ? (size_t)r->n : 0;
	in->tail = r->kind == RESPREPLY_BULK ? 2 : 0;
	in->bytes += in->body + in->tail;
	if (r->kind == RESPREPLY_ARRAY) {
		in->due += (uint64_t)r->n;
		in->bytes += (uint64_t)r->n * RESPREPLY_LEAST;
	}
	return in->bytes <= in->most;
}

static inline int
respreply_next(struct respreply_in *in, struct respreply *r, const char **why)
{
	char *line, *end;

	*why = NULL;
	if (!respreply_skip(in, why))
		return *why != NULL ? -1 : 0;
	line = (char *)in->buf + in->from;
	end = memchr(line, '\n', in->have - in->from);
	if (end == NULL && in->have - in->from < RESPREPLY_LINE_MAX)
		return 0;
	if (end == NULL || end - line >= RESPREPLY_LINE_MAX) {
		*why = "a line that is too long";
		return -1;
	}
	if (end == line || end[-1] != '\r' ||
	    memchr(line, '\0', (size_t)(end - line)) != NULL) {
		*why = "a line that is not valid";
		return -1;
	}
	in->from += (size_t)(end - line) + 1;
	end[-1] = '\0';
	*why = respreply_line(line, r);
	if (*why == NULL && !respreply_count(in, r, (size_t)(end - line) + 1))
		*why = "a reply that is too long";
	return *why == NULL ? 1 : -1;
}

#endif
