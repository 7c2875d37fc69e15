/* writer.c - write numbers and bytes of a checkpoint to a sink */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/wire/stream.h"

#include "cmd/innet-memory/store/writer.h"

enum { BUFFER_BYTES = 1 << 20, LARGE_BYTES = 1 << 16 };

/* Pass all bytes to the sink, or record the error. */
static void
pass_to_sink(struct writer *w, const void *p, size_t len)
{
	int error;

	if (len == 0 || !writer_good(w))
		return;
	w->crc = crc32c(w->crc, p, len);
	error = w->sink(w->arg, p, len);
	if (error != 0)
		writer_fail(w, error);
}

void
writer_flush(struct writer *w)
{
	pass_to_sink(w, w->buf, w->have);
	w->have = 0;
}

void
writer_open(struct writer *w, writer_sink *sink, void *arg)
{
	*w = (struct writer){ .sink = sink, .arg = arg,
		.buf = malloc(BUFFER_BYTES) };
	if (w->buf == NULL)
		writer_fail(w, ENOMEM);
}

int
writer_close(struct writer *w)
{
	writer_flush(w);
	free(w->buf);
	return w->error;
}

void
writer_put_bytes(struct writer *w, const void *p, size_t len)
{
	if (!writer_good(w))
		return;
	if (len > BUFFER_BYTES - w->have)
		writer_flush(w);
	if (len >= LARGE_BYTES) {
		writer_flush(w);
		pass_to_sink(w, p, len);
	} else if (len > 0) {
		memcpy(w->buf + w->have, p, len);
		w->have += len;
	}
}

void
writer_put_uint(struct writer *w, uint64_t v, size_t bytes)
{
	uint8_t p[8];

	stream_put_le(p, v, bytes);
	writer_put_bytes(w, p, bytes);
}

void
writer_put_f32(struct writer *w, float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	writer_put_uint(w, u, sizeof(u));
}

void
writer_put_f64(struct writer *w, double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	writer_put_uint(w, u, sizeof(u));
}

void
writer_put_counted(struct writer *w, const void *p, size_t len)
{
	writer_put_uint(w, len, 8);
	writer_put_bytes(w, p, len);
}
