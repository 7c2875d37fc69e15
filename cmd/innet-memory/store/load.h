/* load.h - read a checkpoint file (save.h) if it is complete and undamaged */
#ifndef INNET_MEMORY_STORE_LOAD_H
#define INNET_MEMORY_STORE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/reader.h"

struct table;

/*
 * Functions that receive the records of a checkpoint.  Each function takes
 * ownership of its arguments and returns NULL.  A function that refuses its
 * arguments leaves them to the caller and returns the reason.  After list(),
 * element() is called for each element.
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
	/*
	 * receives the expiry time of the previous key, after the elements of
	 * that key
	 */
	const char *(*expiry)(void *arg, uint64_t at_ms);
};

/*
 * Read the file that is open as fd.  If the file is refused, return false and
 * set r->why to "byte N: reason".  The target owns everything that it has
 * received before the error.
 */
bool load_file(struct reader *r, int fd, struct account *account,
    const struct load_target *into);

#endif
