/*
 * writer.h - write numbers and bytes of a checkpoint into a sink
 *
 * The writer buffers its output and keeps a CRC-32C of all bytes.  After the
 * first error nothing more is written; writer_close() returns that error.
 */
#ifndef INNET_MEMORY_STORE_WRITER_H
#define INNET_MEMORY_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes len bytes, all of them: 0, or an errno. */
typedef int writer_sink(void *arg, const void *p, size_t len);

struct writer {
	uint8_t *buf;
	size_t have;		/* bytes in buf, not yet written */
	uint32_t crc;		/* of all bytes before buf */
	writer_sink *sink;
	void *arg;
	int error;		/* errno of the first error, or 0 */
};

static inline bool
writer_good(const struct writer *w)
{
	return w->error == 0;
}

/* Fail with this errno; nothing more is written. */
static inline void
writer_fail(struct writer *w, int error)
{
	if (writer_good(w))
		w->error = error;
}

/* Start to write into a sink.  writer_close() returns 0 or an errno. */
void writer_open(struct writer *w, writer_sink *sink, void *arg);
void writer_flush(struct writer *w);
int writer_close(struct writer *w);

void writer_put_bytes(struct writer *w, const void *p, size_t len);
void writer_put_uint(struct writer *w, uint64_t v, size_t bytes);
void writer_put_f32(struct writer *w, float f);
void writer_put_f64(struct writer *w, double d);
void writer_put_counted(struct writer *w, const void *p, size_t len);

#endif
