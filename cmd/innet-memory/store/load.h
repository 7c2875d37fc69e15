/*
 * load.h - read a checkpoint (save.h): whole and undamaged, or not at all
 *
 * A length is believed only while the file has as many bytes left, and what
 * is read is charged to the account, so a damaged file costs no memory.  A
 * reader that fails returns 0 or NULL, says in *why what is wrong and where,
 * and fails from then on, so a caller may read much and ask once.
 */
#ifndef INNET_MEMORY_STORE_LOAD_H
#define INNET_MEMORY_STORE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

/* Gives the next len bytes, all of them: NULL, or why not. */
typedef const char *load_source(void *arg, void *p, size_t len);

struct load {
	uint8_t *buf;
	size_t at, have;	/* in buf */
	uint64_t offset;	/* in the file, of buf[at] */
	uint64_t left;		/* bytes of the file from there on */
	uint32_t crc;		/* of all before buf */
	unsigned version;	/* of what is read */
	struct blobs *blobs;
	char why[128];		/* empty: nothing is wrong */
	load_source *source;
	void *arg;
};

struct table;

/*
 * Where what is read goes.  Each takes what it is given, or leaves it and
 * says why not: NULL is good.  A list is followed by its elements.
 */
struct load_into {
	void *arg;
	const char *(*clock)(void *arg, uint64_t version);
	const char *(*string)(void *arg, const struct blob *key,
	    uint64_t version, struct blob *value);
	const char *(*list)(void *arg, const struct blob *key,
	    uint64_t version, uint64_t n);
	const char *(*element)(void *arg, struct blob *b);
	const char *(*table)(void *arg, struct table *t);
	/* of the key before it, elements and all */
	const char *(*expiry)(void *arg, uint64_t at_ms);
};

/*
 * A reader of a source that has so many bytes, into an account; to be closed:
 * false then if something was wrong.
 */
void load_open(struct load *l, load_source *source, void *arg, uint64_t left,
    struct blobs *blobs);
bool load_close(struct load *l);

/* What is behind the bytes that are left, past the buffer, which is empty. */
bool load_rest(struct load *l, void *p, size_t len);

void load_bytes(struct load *l, void *p, size_t len);
uint64_t load_uint(struct load *l, size_t bytes);
float load_f32(struct load *l);
double load_f64(struct load *l);
/* A blob of the next len bytes, or of as many as a u64 says: yours. */
struct blob *load_blob(struct load *l, uint64_t len);
struct blob *load_counted(struct load *l);

/* What is wrong with what has just been read; the first complaint stays. */
__attribute__((format(printf, 2, 3))) void
load_refuse(struct load *l, const char *fmt, ...);
static inline bool
load_good(const struct load *l)
{
	return l->why[0] == '\0';
}

/*
 * Read the file that fd is open on; false if it is refused, and l->why says
 * "byte N: reason".  What into has been given by then is its own.
 */
bool load_from(struct load *l, int fd, struct blobs *blobs,
    const struct load_into *into);

#endif
