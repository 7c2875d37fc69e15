/*
 * codec.h - encode and decode experiences
 *
 * An encoded experience has the observation, the next observation, the action
 * (its number, or its components), the reward and the factor `go` of the next
 * value; then zeros up to a length that was asked for.  Numbers are
 * little-endian binary32, but a byte each in observations of whole numbers from
 * 0 to 255.  Large observations are frames: a table stores each once for all
 * experiences that contain it.  The tail is all that follows both observations.
 */
#ifndef INNET_AGENT_APEX_CODEC_H
#define INNET_AGENT_APEX_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/batches.h"

/* Return the bytes of an experience of that kind, at least `least`. */
size_t codec_bytes(const struct env_kind *kind, size_t least);

/*
 * Return the bytes of a frame, or 0 if observations of that kind are not stored
 * separately.
 */
size_t codec_frame(const struct env_kind *kind);

/* Encode e into the `bytes` bytes at to. */
void codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes);

/*
 * Decode the len bytes at p, which should be `bytes`, into row i.  Return NULL,
 * or what is wrong; the row is then undefined.
 */
const char *codec_get(const struct env_kind *kind, const uint8_t *p,
    size_t len, size_t bytes, struct rows *rows, size_t i);

/*
 * The distinct frames of experiences: list[] has them, and ref[] has two
 * indices into it for each experience, little-endian, as PER.ADD takes them.
 */
struct codec_film {
	const uint8_t **list;	/* borrowed bytes; both owned */
	uint8_t (*ref)[2][2];
	size_t frames;
};

/* Allocate for n experiences, at most 32768; exits 1 without memory. */
enum { CODEC_FILM_MOST = 32768 };
struct codec_film codec_film_open(size_t n);
void codec_film_close(struct codec_film *f);

/*
 * Add experience i, whose frames are at p; i is the next number, or 0 to start
 * again.  Equal frames are looked for among the last `back`.
 */
void codec_film_add(struct codec_film *f, size_t i, const uint8_t *p,
    size_t frame, size_t back);

#endif
