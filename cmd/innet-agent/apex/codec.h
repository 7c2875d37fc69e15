/*
 * codec.h - an experience in bytes, as it travels
 *
 * What was seen, what was seen after it, the action (its number, or what it
 * consists of), the reward and what is to go; then zeros up to a length that
 * was asked for.  Numbers are little-endian binary32, but a byte each in what
 * is seen where that is whole numbers from 0 to 255.  Where what is seen is
 * large, both are frames, which a table has once for all experiences that show
 * them; the tail is what comes behind.
 */
#ifndef INNET_AGENT_APEX_CODEC_H
#define INNET_AGENT_APEX_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/batches.h"

/* Bytes of an experience of that kind, at least `least`. */
size_t codec_bytes(const struct env_kind *kind, size_t least);

/* Bytes of a frame; 0: what is seen there is not stored by itself. */
size_t codec_frame(const struct env_kind *kind);

/* Write it to `to`, which has room for bytes of them, as said above. */
void codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes);

/*
 * Row i is what the len bytes at p say, of which bytes are due.  NULL, or what
 * is wrong with them, and then the row is nothing.
 */
const char *codec_get(const struct env_kind *kind, const uint8_t *p,
    size_t len, size_t bytes, struct rows *rows, size_t i);

/*
 * The frames of experiences, each once: list[] has them, and ref[] two numbers
 * of them an experience, little-endian, as PER.ADD takes them.
 */
struct codec_film {
	const uint8_t **list;	/* borrowed bytes; both owned */
	uint8_t (*ref)[2][2];
	size_t frames;
};

/* Room for n experiences, 32768 at most; exits 1 without memory. */
enum { CODEC_FILM_MOST = 32768 };
struct codec_film codec_film_open(size_t n);
void codec_film_close(struct codec_film *f);

/*
 * Experience i, the next of a film or, if it is 0, the first of another: its
 * frames are at p.  They are looked for among the last `back` frames.
 */
void codec_film_add(struct codec_film *f, size_t i, const uint8_t *p,
    size_t frame, size_t back);

#endif
