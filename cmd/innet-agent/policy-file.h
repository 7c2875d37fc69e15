/*
 * policy-file.h - write a policy to a file and read it back
 *
 * The file holds the first two messages of a gradient stream, in the layout of
 * innet-stream(5): a hello that names the environment and the algorithm, and
 * the weights.  Files are written completely or not at all.
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

/*
 * Write the hello of learner l for vectors of `elements` floats to buf.  Return
 * the length of the hello in bytes.
 */
size_t policy_file_hello(char buf[POLICY_FILE_HELLO_MAX],
    const struct learner *l, size_t elements);

/*
 * Write the part of the file before the weights of l to `to`, for a vector of
 * `elements` floats and the given iteration.  Return its length in bytes.
 */
size_t policy_file_head(uint8_t to[POLICY_FILE_HEAD_MAX],
    const struct learner *l, size_t elements, uint64_t iteration);

/*
 * Find the environment and the algorithm that a hello names.  Return NULL, or a
 * description of the error.
 */
const char *policy_file_names(const uint8_t *text, size_t len,
    const struct env_kind **env, const struct algo **algo);

/*
 * Check that a file can be written at path.  Return 0, or -1 after printing a
 * message.
 */
int policy_file_check(const char *path);

/* Write the policy of l to path.  Return 0, or -1 after printing a message. */
int policy_file_write(const char *path, const struct learner *l);

/*
 * Read the policy at path into a new learner whose seed is `seed`.  The caller
 * closes the learner.  Return false after printing a message if the policy
 * cannot be read or does not fit its environment.
 */
bool policy_file_read(const char *path, uint64_t seed, struct tally *t,
    struct learner *l);

#endif
