/*
 * policy-file.h - a policy in a file
 *
 * The file holds the first two messages of a gradient stream, as
 * innet-stream(5) lays them out: a hello that names environment and algorithm,
 * and weights.  Files are written whole or not at all.
 */
#ifndef INNET_AGENT_POLICY_FILE_H
#define INNET_AGENT_POLICY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-agent/learner.h"

enum {
	POLICY_FILE_HELLO_MAX = 320,
	POLICY_FILE_HEAD_MAX = POLICY_FILE_HELLO_MAX + 64
};

/* Write the hello of l for vectors of that many elements; return its bytes. */
size_t policy_file_hello(char buf[POLICY_FILE_HELLO_MAX],
    const struct learner *l, size_t elements);

/*
 * Write all that precedes the weights of l in a vector of that many elements,
 * of that iteration; return its length in bytes.
 */
size_t policy_file_head(uint8_t to[POLICY_FILE_HEAD_MAX],
    const struct learner *l, size_t elements, uint64_t iteration);

/*
 * Read which environment and algorithm a hello names; return NULL, or what is
 * wrong with it.
 */
const char *policy_file_names(const uint8_t *text, size_t len,
    const struct env_kind **env, const struct algo **algo);

/* Check that a file can be written at path: 0, or -1 with a message. */
int policy_file_check(const char *path);

/* Write the policy of l to path: 0, or -1 with a message. */
int policy_file_write(const char *path, const struct learner *l);

/*
 * Read the policy at path into a learner of that seed, which the caller closes.
 * Return false with a message if it cannot be read or does not fit.
 */
bool policy_file_read(const char *path, uint64_t seed, struct tally *t,
    struct learner *l);

#endif
