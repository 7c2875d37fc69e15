/*
 * codec.h - an experience in bytes, as it travels
 *
 * Little-endian binary32 all of it: what was seen, what was seen after it, the
 * action (its number, or what it consists of), the reward and what is to go;
 * then zeros up to a length that was asked for.
 */
#ifndef INNET_AGENT_APEX_CODEC_H
#define INNET_AGENT_APEX_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/batches.h"

/* Bytes of an experience of that kind, at least `least`. */
size_t codec_bytes(const struct env_kind *kind, size_t least);

/* Write it to `to`, which has room for bytes of them, as said above. */
void codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes);

/*
 * Row i is what the len bytes at p say, of which bytes are due.  NULL, or what
 * is wrong with them, and then the row is nothing.
 */
const char *codec_get(const struct env_kind *kind, const uint8_t *p,
    size_t len, size_t bytes, struct rows *rows, size_t i);

#endif
