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

#include "cmd/innet-memory/store/reader.h"

struct table;

/*
 * Where what is read goes.  Each takes what it is given, or leaves it and
 * says why not: NULL is good.  A list is followed by its elements.
 */
struct load_target {
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
 * Read the file that fd is open on; false if it is refused, and r->why says
 * "byte N: reason".  What into has been given by then is its own.
 */
bool load_file(struct reader *r, int fd, struct account *account,
    const struct load_target *into);

#endif
