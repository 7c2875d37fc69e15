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

/* Return the size of an encoded experience, or `least` if that is greater. */
size_t codec_bytes(const struct env_kind *kind, size_t least);

/*
 * Return the number of bytes in a frame, or 0 if observations of this kind are
 * not stored as frames.
 */
size_t codec_frame(const struct env_kind *kind);

/* Encode e into the `bytes` bytes at `to`. */
void codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes);

/*
 * Decode the len bytes at p into row i; `bytes` is the expected length.  Return
 * NULL, or an error text.  After an error, row i is undefined.
 */
const char *codec_get(const struct env_kind *kind, const uint8_t *p,
    size_t len, size_t bytes, struct rows *rows, size_t i);

/*
 * The distinct frames of several experiences.  The frames are in list[].  For
 * each experience, ref[] has two indices into list[], little-endian, as PER.ADD
 * expects them.
 */
struct codec_film {
	const uint8_t **list;	/* the bytes of the frames are borrowed; both
				 * arrays are owned */
	uint8_t (*ref)[2][2];
	size_t frames;
};

/*
 * Allocate the arrays of a struct codec_film for n <= CODEC_FILM_MOST
 * experiences.  Exits with status 1 if there is no memory.
 */
enum { CODEC_FILM_MOST = 32768 };
struct codec_film codec_film_open(size_t n);
void codec_film_close(struct codec_film *f);

/*
 * Add experience i, whose two frames of `frame` bytes are at p.  The number i
 * is 0, or one more than in the last call; 0 starts a new list of frames.  Only
 * the last `back` frames are searched for an equal frame.
 */
void codec_film_add(struct codec_film *f, size_t i, const uint8_t *p,
    size_t frame, size_t back);

#endif
