/* reader.c - numbers and bytes of a checkpoint from a source; see load.h */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

void
load_open(struct load *l, load_source *source, void *arg, uint64_t left,
    struct blobs *blobs)
{
	*l = (struct load){ .source = source, .arg = arg, .left = left,
		.blobs = blobs, .version = SAVE_VERSION,
		.buf = malloc(BUFFER_BYTES) };
	if (l->buf == NULL)
		load_refuse(l, "no memory to read with");
}

bool
load_close(struct load *l)
{
	free(l->buf);
	return load_good(l);
}

void
load_refuse(struct load *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!load_good(l))
		return;
	n = snprintf(l->why, sizeof(l->why), "byte %" PRIu64 ": ", l->offset);
	va_start(ap, fmt);
	vsnprintf(l->why + n, sizeof(l->why) - (size_t)n, fmt, ap);
	va_end(ap);
}

bool
load_rest(struct load *l, void *p, size_t len)
{
	const char *why = l->source(l->arg, p, len);

	if (why != NULL)
		load_refuse(l, "%s", why);
	else
		l->crc = crc32c(l->crc, p, len);
	return why == NULL;
}

/* More bytes into the empty buffer. */
static void
fill(struct load *l)
{
	const size_t len = l->left < BUFFER_BYTES ? (size_t)l->left :
	    BUFFER_BYTES;

	l->at = 0;
	l->have = load_rest(l, l->buf, len) ? len : 0;
}

void
load_bytes(struct load *l, void *p, size_t len)
{
	uint8_t *to = p;

	if (load_good(l) && len > l->left)
		load_refuse(l, "%zu bytes are due and %" PRIu64 " are left",
		    len, l->left);
	while (len > 0 && load_good(l)) {
		size_t n = l->have - l->at;

		if (n == 0 && len >= LARGE_BYTES) {
			n = load_rest(l, to, len) ? len : 0;
		} else if (n == 0) {
			fill(l);
			continue;
		} else {
			n = n < len ? n : len;
			memcpy(to, l->buf + l->at, n);
			l->at += n;
		}
		to += n;
		len -= n;
		l->left -= n;
		l->offset += n;
	}
	if (len > 0)
		memset(to, 0, len);
}

uint64_t
load_uint(struct load *l, size_t bytes)
{
	uint8_t p[8];

	load_bytes(l, p, bytes);
	return stream_get_le(p, bytes);
}

float
load_f32(struct load *l)
{
	const uint32_t u = (uint32_t)load_uint(l, sizeof(u));
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

double
load_f64(struct load *l)
{
	const uint64_t u = load_uint(l, sizeof(u));
	double d;

	memcpy(&d, &u, sizeof(d));
	return d;
}

struct blob *
load_blob(struct load *l, uint64_t len)
{
	struct blob *b;

	if (!load_good(l))
		return NULL;
	if (len > l->left) {
		load_refuse(l, "%" PRIu64 " bytes are due and %" PRIu64
		    " are left", len, l->left);
		return NULL;
	}
	b = blob_new(l->blobs, (size_t)len);
	if (b == NULL) {
		load_refuse(l, "no memory for %" PRIu64 " bytes more: %zu of "
		    "%zu are used", len, l->blobs->used, l->blobs->limit);
		return NULL;
	}
	load_bytes(l, b->bytes, (size_t)len);
	if (load_good(l))
		return b;
	blob_drop(l->blobs, b);
	return NULL;
}

struct blob *
load_counted(struct load *l)
{
	return load_blob(l, load_uint(l, 8));
}
