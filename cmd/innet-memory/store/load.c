/* load.c - read a checkpoint: whole and undamaged, or not at all */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/store/table.h"

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

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

/* Read len bytes of the file at p; false if they do not come. */
static bool
in(struct load *l, uint8_t *p, size_t len)
{
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = read(l->fd, p + done, len - done);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n <= 0) {
			load_refuse(l, "%s", n == 0 ? "the file ends here" :
			    strerror(errno));
			return false;
		}
	}
	l->crc = crc32c(l->crc, p, len);
	return true;
}

/* More bytes into the empty buffer. */
static void
fill(struct load *l)
{
	const size_t len = l->left < BUFFER_BYTES ? (size_t)l->left :
	    BUFFER_BYTES;

	l->at = 0;
	l->have = in(l, l->buf, len) ? len : 0;
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
			n = in(l, to, len) ? len : 0;
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

/* The sink has been offered b: its complaint, if any, is ours, and b too. */
static void
offered(struct load *l, const char *why, struct blob *b)
{
	if (why == NULL)
		return;
	blob_drop(l->blobs, b);
	load_refuse(l, "%s", why);
}

static void
load_string(struct load *l, const struct load_into *into)
{
	struct blob *key = load_counted(l);
	const uint64_t version = load_uint(l, 8);
	struct blob *value = load_counted(l);

	if (value != NULL)
		offered(l, into->string(into->arg, key, version, value), value);
	blob_drop(l->blobs, key);
}

static void
load_list(struct load *l, const struct load_into *into)
{
	struct blob *key = load_counted(l), *b;
	const uint64_t version = load_uint(l, 8), n = load_uint(l, 8);
	const char *why = NULL;

	if (load_good(l) && n > l->left / 8)	/* each has its length */
		load_refuse(l, "%" PRIu64 " elements, which are not here", n);
	if (load_good(l))
		why = into->list(into->arg, key, version, n);
	if (why != NULL)
		load_refuse(l, "%s", why);
	blob_drop(l->blobs, key);
	for (uint64_t i = 0; i < n && load_good(l); i++) {
		b = load_counted(l);
		if (b != NULL)
			offered(l, into->element(into->arg, b), b);
	}
}

static void
load_table(struct load *l, const struct load_into *into)
{
	struct table *t = table_load(l);
	const char *why;

	if (t == NULL)
		return;
	why = into->table(into->arg, t);
	if (why == NULL)
		return;
	table_close(t);
	load_refuse(l, "%s", why);
}

/* The records up to the end. */
static void
load_records(struct load *l, const struct load_into *into)
{
	const char *why;

	for (;;) {
		const char kind = (char)load_uint(l, 1);

		if (!load_good(l) || kind == 'E')
			return;
		switch (kind) {
		case 'V':
			why = into->clock(into->arg, load_uint(l, 8));
			if (why != NULL)
				load_refuse(l, "%s", why);
			break;
		case 'S': load_string(l, into); break;
		case 'L': load_list(l, into); break;
		case 'T': load_table(l, into); break;
		default:
			load_refuse(l, "a record of no known kind");
		}
	}
}

static void
load_whole(struct load *l, const struct load_into *into)
{
	char magic[SAVE_MAGIC_BYTES];
	uint8_t end[4];
	uint32_t crc;

	load_bytes(l, magic, sizeof(magic));
	if (load_good(l) && memcmp(magic, SAVE_MAGIC, sizeof(magic)) != 0) {
		l->offset = 0;
		load_refuse(l, "not a checkpoint of innet-memory");
	}
	if (load_uint(l, 4) != SAVE_VERSION)
		load_refuse(l, "a checkpoint of another version");
	load_records(l, into);
	if (load_good(l) && l->left > 0)
		load_refuse(l, "%" PRIu64 " bytes behind the end", l->left);
	crc = l->crc;
	if (load_good(l) && in(l, end, sizeof(end)) &&
	    stream_get_le(end, sizeof(end)) != crc)
		load_refuse(l,
		    "damaged: the CRC-32C of all before is not this");
}

bool
load_from(struct load *l, int fd, struct blobs *blobs,
    const struct load_into *into)
{
	struct stat st;

	*l = (struct load){ .fd = fd, .blobs = blobs,
		.buf = malloc(BUFFER_BYTES) };
	if (l->buf == NULL)
		load_refuse(l, "%s", strerror(ENOMEM));
	else if (fstat(fd, &st) == -1)
		load_refuse(l, "%s", strerror(errno));
	else if (st.st_size < SAVE_HEAD_BYTES + 5)
		load_refuse(l, "too short for a checkpoint: %" PRIu64 " bytes",
		    (uint64_t)st.st_size);
	if (load_good(l)) {
		l->left = (uint64_t)st.st_size - sizeof(l->crc);
		load_whole(l, into);
	}
	free(l->buf);
	return load_good(l);
}
