/*
 * writer.h - write numbers and bytes of a checkpoint to a sink
 *
 * The writer buffers its output and computes a CRC-32C of all bytes.  After the
 * first error, the writer writes nothing more, and writer_close() returns that
 * error.
 */
#ifndef INNET_MEMORY_STORE_WRITER_H
#define INNET_MEMORY_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write all len bytes.  Return 0 or an errno value. */
typedef int writer_sink(void *arg, const void *p, size_t len);

struct writer {
	uint8_t *buf;
	size_t have;		/* number of unwritten bytes in buf */
	uint32_t crc;		/* CRC of all bytes before buf */
	writer_sink *sink;
	void *arg;
	int error;		/* errno of the first error, or 0 */
};

static inline bool
writer_good(const struct writer *w)
{
	return w->error == 0;
}

/*
 * Record this errno value as the error.  After this, nothing more is written.
 */
static inline void
writer_fail(struct writer *w, int error)
{
	if (writer_good(w))
		w->error = error;
}

/* Start writing to a sink.  writer_close() returns 0 or an errno value. */
void writer_open(struct writer *w, writer_sink *sink, void *arg);
void writer_flush(struct writer *w);
int writer_close(struct writer *w);

void writer_put_bytes(struct writer *w, const void *p, size_t len);
void writer_put_uint(struct writer *w, uint64_t v, size_t bytes);
void writer_put_f32(struct writer *w, float f);
void writer_put_f64(struct writer *w, double d);
void writer_put_counted(struct writer *w, const void *p, size_t len);

#endif
