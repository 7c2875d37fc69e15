/* writer.c - numbers and bytes of a checkpoint into a sink; see save.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/save.h"

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

/* Give all of it to the sink, or note why not. */
static void
out(struct saver *s, const void *p, size_t len)
{
	int error;

	if (len == 0 || !save_good(s))
		return;
	s->crc = crc32c(s->crc, p, len);
	error = s->sink(s->arg, p, len);
	if (error != 0)
		save_fail(s, error);
}

void
save_flush(struct saver *s)
{
	out(s, s->buf, s->have);
	s->have = 0;
}

void
save_open(struct saver *s, save_sink *sink, void *arg)
{
	*s = (struct saver){ .sink = sink, .arg = arg,
		.buf = malloc(BUFFER_BYTES) };
	if (s->buf == NULL)
		save_fail(s, ENOMEM);
}

int
save_close(struct saver *s)
{
	save_flush(s);
	free(s->buf);
	return s->error;
}

void
save_bytes(struct saver *s, const void *p, size_t len)
{
	if (!save_good(s))
		return;
	if (len > BUFFER_BYTES - s->have)
		save_flush(s);
	if (len >= LARGE_BYTES) {
		save_flush(s);
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
