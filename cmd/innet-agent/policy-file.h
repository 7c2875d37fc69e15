/*
 * policy-file.h - a policy in a file: the first two messages of a gradient
 * stream
 *
 * A hello that names environment and algorithm, then weights, as
 * innet-stream(5) lays them out.  Files are written whole or not at all.
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

/* The agent's hello, for vectors of that many elements: its length in bytes. */
size_t policy_file_hello(
    char buf[POLICY_FILE_HELLO_MAX], const struct learner *l, size_t elements);

/*
 * What stands before the weights of l's policy, if these fill a vector of
 * that many elements and are of that iteration: its length in bytes.
 */
size_t policy_file_head(uint8_t to[POLICY_FILE_HEAD_MAX],
    const struct learner *l, size_t elements, uint64_t iteration);

/* What a hello of len bytes names: NULL, or what is wrong. */
const char *policy_file_names(const uint8_t *text, size_t len,
    const struct env_kind **env, const struct algo **algo);

/* 0 if a file could be put at path, -1 with a message if not. */
int policy_file_check(const char *path);

/* Write l's policy to path: 0, or -1 with a message. */
int policy_file_write(const char *path, const struct learner *l);

/*
 * Read the policy at path into a learner of its own, of that seed, to be
 * closed.  False with a message if it cannot, or if the policy does not fit.
 */
bool policy_file_read(const char *path, uint64_t seed, struct tally *t,
    struct learner *l);

#endif
