/*
 * load.h - read a checkpoint file (save.h): complete and undamaged, or not at
 * all
 */
#ifndef INNET_MEMORY_STORE_LOAD_H
#define INNET_MEMORY_STORE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/reader.h"

struct table;

/*
 * Functions that receive the records of a checkpoint.  Each takes what it is
 * given and returns NULL, or leaves it to the caller and returns the reason.
 * list() is followed by one element() for each element.
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
	/* of the key before it and its elements */
	const char *(*expiry)(void *arg, uint64_t at_ms);
};

/*
 * Read the file that is open on fd; false if it is refused, and r->why is "byte
 * N: reason".  The target owns all that it has received by then.
 */
bool load_file(struct reader *r, int fd, struct account *account,
    const struct load_target *into);

#endif
