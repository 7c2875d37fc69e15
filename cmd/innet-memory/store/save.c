/* save.c - write a checkpoint: a file that is there whole or not at all */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/atomic-file.h"
#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/save.h"

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

/* Write all of it, or note why not. */
static void
out(struct saver *s, const void *p, size_t len)
{
	const struct atomic_file w = { .fd = s->fd };

	s->crc = crc32c(s->crc, p, len);
	if (save_good(s) && !atomic_file_write(&w, p, len))
		save_fail(s, errno);
}

static void
flush(struct saver *s)
{
	out(s, s->buf, s->have);
	s->have = 0;
}

void
save_bytes(struct saver *s, const void *p, size_t len)
{
	if (len > BUFFER_BYTES - s->have)
		flush(s);
	if (len >= LARGE_BYTES) {
		flush(s);
		out(s, p, len);
	} else if (len > 0) {
		memcpy(s->buf + s->have, p, len);
		s->have += len;
	}
}

void
save_uint(struct saver *s, uint64_t v, size_t bytes)
{
	uint8_t p[8];

	stream_put_le(p, v, bytes);
	save_bytes(s, p, bytes);
}

void
save_f32(struct saver *s, float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	save_uint(s, u, sizeof(u));
}

void
save_f64(struct saver *s, double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	save_uint(s, u, sizeof(u));
}

void
save_counted(struct saver *s, const void *p, size_t len)
{
	save_uint(s, len, 8);
	save_bytes(s, p, len);
}

void
save_clock(struct saver *s, uint64_t version)
{
	save_bytes(s, "V", 1);
	save_uint(s, version, 8);
}

void
save_string(struct saver *s, const void *key, size_t key_len, uint64_t version,
    const void *value, size_t len)
{
	save_bytes(s, "S", 1);
	save_counted(s, key, key_len);
	save_uint(s, version, 8);
	save_counted(s, value, len);
}

void
save_list(struct saver *s, const void *key, size_t key_len, uint64_t version,
    uint64_t n)
{
	save_bytes(s, "L", 1);
	save_counted(s, key, key_len);
	save_uint(s, version, 8);
	save_uint(s, n, 8);
}

int
save_to(int fd, void (*fill)(struct saver *s, void *arg), void *arg)
{
	struct saver s = { .fd = fd, .buf = malloc(BUFFER_BYTES) };

	if (s.buf == NULL)
		return ENOMEM;
	save_bytes(&s, SAVE_MAGIC, SAVE_MAGIC_BYTES);
	save_uint(&s, SAVE_VERSION, 4);
	fill(&s, arg);
	save_bytes(&s, "E", 1);
	flush(&s);
	save_uint(&s, s.crc, 4);
	flush(&s);
	free(s.buf);
	return s.error;
}

int
save_file(const char *path, void (*fill)(struct saver *s, void *arg), void *arg)
{
	struct atomic_file w;

	if (atomic_file_open_tmp(&w, path) == -1)
		return errno;
	errno = save_to(w.fd, fill, arg);
	if (atomic_file_close(&w, errno == 0) == -1 ||
	    atomic_file_sync_folder(path) == -1)
		return errno;
	return 0;
}
