/*
 * reader.h - read numbers and bytes of a checkpoint from a source
 *
 * A length is believed only while the source has that many bytes left, and
 * memory for the data is charged to the account, so a damaged file cannot make
 * the caller allocate more than the account allows.  After the first error
 * every function returns 0 or NULL and does nothing; r->why says what is wrong
 * and at which byte.  A caller may therefore read many fields and check once.
 * reader_get_bytes() leaves the bytes as they are then: to zero a length that a
 * stranger chose would take seconds.
 */
#ifndef INNET_MEMORY_STORE_READER_H
#define INNET_MEMORY_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

/* Reads the next len bytes, all of them: NULL, or the reason against it. */
typedef const char *reader_source(void *arg, void *p, size_t len);

struct reader {
	uint8_t *buf;
	size_t at, have;	/* next byte in buf, and its end */
	uint64_t offset;	/* of buf[at] in the source */
	uint64_t left;		/* bytes of the source from there on */
	uint32_t crc;		/* of all bytes before buf */
	unsigned version;	/* of the checkpoint */
	struct account *account;
	char why[128];		/* empty: no error */
	reader_source *source;
	void *arg;
};

/*
 * Start to read a source of `left` bytes; blobs are charged to the account.
 * reader_close() returns false if an error occurred.
 */
void reader_open(struct reader *r, reader_source *source, void *arg,
    uint64_t left, struct account *account);
bool reader_close(struct reader *r);

/* Read len bytes behind the `left` ones; the buffer must be empty. */
bool reader_get_rest(struct reader *r, void *p, size_t len);

void reader_get_bytes(struct reader *r, void *p, size_t len);
uint64_t reader_get_uint(struct reader *r, size_t bytes);
float reader_get_f32(struct reader *r);
double reader_get_f64(struct reader *r);
/*
 * Read a blob of len bytes, or of a u64 length that precedes it; the caller
 * holds it.
 */
struct blob *reader_get_blob(struct reader *r, uint64_t len);
struct blob *reader_get_counted(struct reader *r);

/* Fail with this reason; the first reason stays. */
__attribute__((format(printf, 2, 3))) void
reader_refuse(struct reader *r, const char *fmt, ...);
static inline bool
reader_good(const struct reader *r)
{
	return r->why[0] == '\0';
}

#endif
