/* reader.c - read numbers and bytes of a checkpoint from a source */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/reader.h"
#include "cmd/innet-memory/store/save.h"	/* for SAVE_VERSION */

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

void
reader_open(struct reader *r, reader_source *source, void *arg, uint64_t left,
    struct account *account)
{
	*r = (struct reader){ .source = source, .arg = arg, .left = left,
		.account = account, .version = SAVE_VERSION,
		.buf = malloc(BUFFER_BYTES) };
	if (r->buf == NULL)
		reader_refuse(r, "no memory for reading");
}

bool
reader_close(struct reader *r)
{
	free(r->buf);
	return reader_good(r);
}

void
reader_refuse(struct reader *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!reader_good(r))
		return;
	n = snprintf(r->why, sizeof(r->why), "byte %" PRIu64 ": ", r->offset);
	va_start(ap, fmt);
	vsnprintf(r->why + n, sizeof(r->why) - (size_t)n, fmt, ap);
	va_end(ap);
}

bool
reader_get_rest(struct reader *r, void *p, size_t len)
{
	const char *why = r->source(r->arg, p, len);

	if (why != NULL)
		reader_refuse(r, "%s", why);
	else
		r->crc = crc32c(r->crc, p, len);
	return why == NULL;
}

/* Refill the buffer, which must be empty. */
static void
fill_buffer(struct reader *r)
{
	const size_t len = r->left < BUFFER_BYTES ? (size_t)r->left :
	    BUFFER_BYTES;

	r->at = 0;
	r->have = reader_get_rest(r, r->buf, len) ? len : 0;
}

void
reader_get_bytes(struct reader *r, void *p, size_t len)
{
	uint8_t *to = p;

	if (reader_good(r) && len > r->left)
		reader_refuse(r, "%zu bytes should follow, but only "
		    "%" PRIu64 " are left",
		    len, r->left);
	while (len > 0 && reader_good(r)) {
		size_t n = r->have - r->at;

		if (n == 0 && len >= LARGE_BYTES) {
			n = reader_get_rest(r, to, len) ? len : 0;
		} else if (n == 0) {
			fill_buffer(r);
			continue;
		} else {
			n = n < len ? n : len;
			memcpy(to, r->buf + r->at, n);
			r->at += n;
		}
		to += n;
		len -= n;
		r->left -= n;
		r->offset += n;
	}
}

uint64_t
reader_get_uint(struct reader *r, size_t bytes)
{
	uint8_t p[8] = { 0 };

	reader_get_bytes(r, p, bytes);
	if (!reader_good(r))
		return 0;
	return stream_get_le(p, bytes);
}

float
reader_get_f32(struct reader *r)
{
	const uint32_t u = (uint32_t)reader_get_uint(r, sizeof(u));
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

double
reader_get_f64(struct reader *r)
{
	const uint64_t u = reader_get_uint(r, sizeof(u));
	double d;

	memcpy(&d, &u, sizeof(d));
	return d;
}

struct blob *
reader_get_blob(struct reader *r, uint64_t len)
{
	struct blob *b;

	if (!reader_good(r))
		return NULL;
	if (len > r->left) {
		reader_refuse(r, "%" PRIu64 " bytes should follow, but only "
		    "%" PRIu64 " are left", len, r->left);
		return NULL;
	}
	b = blob_new(r->account, (size_t)len);
	if (b == NULL) {
		reader_refuse(r, "no memory for %" PRIu64 " more bytes: %zu of "
		    "%zu are used; raise --memory", len, r->account->used,
		    r->account->limit);
		return NULL;
	}
	reader_get_bytes(r, b->bytes, (size_t)len);
	if (reader_good(r))
		return b;
	blob_drop(r->account, b);
	return NULL;
}

struct blob *
reader_get_counted(struct reader *r)
{
	return reader_get_blob(r, reader_get_uint(r, 8));
}
