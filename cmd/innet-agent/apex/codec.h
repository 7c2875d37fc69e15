/*
 * codec.h - encode and decode experiences
 *
 * An encoded experience consists of the observation, the next observation, the
 * action (its number, or its components), the reward and the factor `go` of the
 * next value, followed by zeros up to the requested length.  Numbers are
 * little-endian binary32.  Observations of whole numbers from 0 to 255 take one
 * byte for each number.  Large observations are frames: a table stores each
 * frame once for all experiences that contain it.  The tail is everything after
 * the two observations.
 */
#ifndef INNET_AGENT_APEX_CODEC_H
#define INNET_AGENT_APEX_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/batches.h"

/* Return the bytes of an experience of that kind, but at least `least`. */
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
 * Decode the len bytes at p into row i; `bytes` is the expected length.  Return
 * NULL, or an error text; then row i is undefined.
 */
const char *codec_get(const struct env_kind *kind, const uint8_t *p,
    size_t len, size_t bytes, struct rows *rows, size_t i);

/*
 * The distinct frames of several experiences. list[] has the frames. ref[] has
 * two indices into list[] for each experience, little-endian, as PER.ADD
 * expects them.
 */
struct codec_film {
	const uint8_t **list;	/* borrowed bytes; both arrays are owned */
	uint8_t (*ref)[2][2];
	size_t frames;
};

/*
 * Allocate for n experiences, at most CODEC_FILM_MOST.  Exits 1 without memory.
 */
enum { CODEC_FILM_MOST = 32768 };
struct codec_film codec_film_open(size_t n);
void codec_film_close(struct codec_film *f);

/*
 * Add experience i, whose frames are at p; i is the next number, or 0 to start
 * again.  Equal frames are searched among the last `back` frames only.
 */
void codec_film_add(struct codec_film *f, size_t i, const uint8_t *p,
    size_t frame, size_t back);

#endif
