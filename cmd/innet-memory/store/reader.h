/*
 * reader.h - read numbers and bytes of a checkpoint from a source
 *
 * A length is accepted only if the source has that many bytes left, and the
 * memory for the data is charged to the account.  Therefore a damaged file
 * cannot make the caller allocate more than the account allows.  After the
 * first error, every function does nothing and returns 0 or NULL, and r->why
 * contains the position and the reason.  A caller may therefore read many
 * fields and check once.  After an error, reader_get_bytes() does not set the
 * bytes: an attacker could choose a length for which clearing them takes
 * seconds.
 */
#ifndef INNET_MEMORY_STORE_READER_H
#define INNET_MEMORY_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

/* Read exactly the next len bytes.  Return NULL, or the error. */
typedef const char *reader_source(void *arg, void *p, size_t len);

struct reader {
	uint8_t *buf;
	size_t at, have; /* index of the next byte in buf; end of its data */
	uint64_t offset;	/* position of buf[at] in the source */
	uint64_t left;		/* number of bytes left after this position */
	uint32_t crc;		/* CRC of all bytes before buf */
	unsigned version;	/* version of the checkpoint */
	struct account *account;
	char why[128];		/* first error, or "" */
	reader_source *source;
	void *arg;
};

/*
 * Start reading a source of `left` bytes; blobs are charged to the account.
 * reader_close() returns false if an error occurred.
 */
void reader_open(struct reader *r, reader_source *source, void *arg,
    uint64_t left, struct account *account);
bool reader_close(struct reader *r);

/*
 * Read the len bytes that follow the `left` bytes of reader_open().  The buffer
 * must be empty.
 */
bool reader_get_rest(struct reader *r, void *p, size_t len);

void reader_get_bytes(struct reader *r, void *p, size_t len);
uint64_t reader_get_uint(struct reader *r, size_t bytes);
float reader_get_f32(struct reader *r);
double reader_get_f64(struct reader *r);
/*
 * The first function reads a blob of len bytes, and the second reads a blob
 * after its u64 length.  The caller holds the blob.
 */
struct blob *reader_get_blob(struct reader *r, uint64_t len);
struct blob *reader_get_counted(struct reader *r);

/* Record this error, unless an error is already recorded. */
__attribute__((format(printf, 2, 3))) void
reader_refuse(struct reader *r, const char *fmt, ...);
static inline bool
reader_good(const struct reader *r)
{
	return r->why[0] == '\0';
}

#endif
