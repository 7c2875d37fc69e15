/*
 * reader.h - read numbers and bytes of a checkpoint from a source
 *
 * A length is believed only while the source has that many bytes left, and
 * memory for the data is charged to the account, so a damaged file cannot make
 * the caller allocate more than the account allows.  After the first error
 * every function returns 0 or NULL and does nothing; r->why says what is wrong
 * and at which byte.  A caller may therefore read many fields and check once.
 */
#ifndef INNET_MEMORY_STORE_READER_H
#define INNET_MEMORY_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

/* Gives the next len bytes, all of them: NULL, or why not. */
typedef const char *reader_source(void *arg, void *p, size_t len);

struct reader {
	uint8_t *buf;
	size_t at, have;	/* in buf */
	uint64_t offset;	/* in the file, of buf[at] */
	uint64_t left;		/* bytes of the file from there on */
	uint32_t crc;		/* of all before buf */
	unsigned version;	/* of what is read */
	struct account *account;
	char why[128];		/* empty: nothing is wrong */
	reader_source *source;
	void *arg;
};

/*
 * A reader of a source that has so many bytes, into an account; to be closed:
 * false then if something was wrong.
 */
void reader_open(struct reader *r, reader_source *source, void *arg,
    uint64_t left, struct account *account);
bool reader_close(struct reader *r);

/* What is behind the bytes that are left, past the buffer, which is empty. */
bool reader_get_rest(struct reader *r, void *p, size_t len);

void reader_get_bytes(struct reader *r, void *p, size_t len);
uint64_t reader_get_uint(struct reader *r, size_t bytes);
float reader_get_f32(struct reader *r);
double reader_get_f64(struct reader *r);
/* A blob of the next len bytes, or of as many as a u64 says: yours. */
struct blob *reader_get_blob(struct reader *r, uint64_t len);
struct blob *reader_get_counted(struct reader *r);

/* What is wrong with what has just been read; the first complaint stays. */
__attribute__((format(printf, 2, 3))) void
reader_refuse(struct reader *r, const char *fmt, ...);
static inline bool
reader_good(const struct reader *r)
{
	return r->why[0] == '\0';
}

#endif
