/*
 * saved.h - a policy in a file: the first two messages of a gradient stream
 *
 * A hello that names environment and algorithm, then weights, as
 * innet-stream(5) lays them out.  Files are written whole or not at all.
 */
#ifndef INNET_AGENT_SAVED_H
#define INNET_AGENT_SAVED_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/env.h"

/* The agent's hello, in buf: its length in bytes. */
size_t saved_hello(char *buf, size_t len, const char *env, const char *algo,
    size_t params);

/* 0 if a file could be put at path, -1 with a message if not. */
int saved_check(const char *path);

/* Write the policy to path: 0, or -1 with a message. */
int saved_write(const char *path, const char *env, const char *algo,
    const float *w, size_t params);

/*
 * Read the policy at path: its weights, to be freed, and its environment in
 * *kind.  NULL with a message if it cannot, or if the policy does not fit.
 */
float *saved_read(const char *path, const struct env_kind **kind);

#endif
