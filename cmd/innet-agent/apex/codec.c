/* codec.c - encode and decode experiences */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/learner.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

enum { FRAME_LEAST = 256 };	/* smallest observation that is stored as a
				 * frame, in bytes */

/* Return the number of floats in an encoded action. */
static size_t
action_numbers(const struct env_kind *kind)
{
	return kind->actions != 0 ? 1 : kind->dims;
}

/*
 * observation_bytes() returns the number of bytes in an observation, and
 * tail_bytes() returns the number of bytes after both observations.
 */
static size_t
observation_bytes(const struct env_kind *kind)
{
	return (kind->whole ? 1 : sizeof(float)) * kind->obs;
}

static size_t
tail_bytes(const struct env_kind *kind)
{
	return sizeof(float) * (action_numbers(kind) + 2);
}

size_t
codec_bytes(const struct env_kind *kind, size_t least)
{
	const size_t n = 2 * observation_bytes(kind) + tail_bytes(kind);

	return n > least ? n : least;
}

size_t
codec_frame(const struct env_kind *kind)
{
	const size_t bytes = observation_bytes(kind);

	return bytes >= FRAME_LEAST ? bytes : 0;
}

/* Write or read n numbers at *p, and advance *p. */
static void
write_numbers(uint8_t **p, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_set(*p, i, from[i]);
	*p += 4 * n;
}

static void
read_numbers(const uint8_t **p, float *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = vec_get(*p, i);
	*p += 4 * n;
}

/* Write or read an observation at *p, and advance *p. */
static void
write_observation(const struct env_kind *kind, uint8_t **p, const float *from)
{
	if (!kind->whole) {
		write_numbers(p, from, kind->obs);
		return;
	}
	for (size_t i = 0; i < kind->obs; i++)
		(*p)[i] = (uint8_t)from[i];
	*p += kind->obs;
}

static void
read_observation(const struct env_kind *kind, const uint8_t **p, float *to)
{
	if (!kind->whole) {
		read_numbers(p, to, kind->obs);
		return;
	}
	for (size_t i = 0; i < kind->obs; i++)
		to[i] = (*p)[i];
	*p += kind->obs;
}

void
codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes)
{
	const float index = (float)e->action.index;
	uint8_t *const end = to + bytes;

	write_observation(kind, &to, e->obs);
	write_observation(kind, &to, e->next);
	write_numbers(&to, kind->actions != 0 ? &index : e->action.x,
	    action_numbers(kind));
	write_numbers(&to, &e->reward, 1);
	write_numbers(&to, &e->go, 1);
	memset(to, 0, (size_t)(end - to));
}

/* Decode an action.  Return false if there is no such action. */
static bool
decode_action(const struct env_kind *kind, const float *x, union env_action *a)
{
	for (size_t i = 0; i < kind->dims; i++)
		a->x[i] = x[i];
	if (kind->actions == 0)
		return true;
	for (unsigned i = 0; i < kind->actions; i++) {
		if (x[0] == (float)i) {
			a->index = i;
			return true;
		}
	}
	return false;
}

/* Return whether the numbers are small enough to keep all gradients finite. */
static bool
is_sane(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fabsf(vec_get(p, i)) > 1e9f)
			return false;
	}
	return true;
}

const char *
codec_get(const struct env_kind *kind, const uint8_t *p, size_t len,
    size_t bytes, struct rows *rows, size_t i)
{
	/* bytes before the floats */
	const size_t bare = kind->whole ? 2 * kind->obs : 0;
	const size_t n =
	    (2 * observation_bytes(kind) + tail_bytes(kind) - bare) /
	    sizeof(float);
	float x[ENV_DIMS_MAX];

	if (len != bytes)
		return "another length than this agent's";
	if (!vec_finite(p + bare, n))
		return "a number that is not finite";
	if (!is_sane(p + bare, n))
		return "a number beyond 1e9";
	read_observation(kind, &p, rows->obs + i * kind->obs);
	read_observation(kind, &p, rows->next + i * kind->obs);
	read_numbers(&p, x, action_numbers(kind));
	read_numbers(&p, rows->reward + i, 1);
	read_numbers(&p, rows->go + i, 1);
	if (!decode_action(kind, x, &rows->action[i]))
		return "an action that the environment does not have";
	return rows->go[i] >= 0 && rows->go[i] <= 1 ? NULL :
	    "a discount that is not from 0 to 1";
}

struct codec_film
codec_film_open(size_t n)
{
	struct codec_film f = { 0 };

	assert(n <= CODEC_FILM_MOST);
	f.list = allocate(2 * n, sizeof(*f.list));
	f.ref = allocate(n, sizeof(*f.ref));
	return f;
}

void
codec_film_close(struct codec_film *f)
{
	free(f->list);
	free(f->ref);
}

/* Return the index of the frame at p.  Append the frame if it is new. */
static size_t
frame_number(struct codec_film *f, const uint8_t *p, size_t frame, size_t back)
{
	const size_t end = f->frames > back ? f->frames - back : 0;

	for (size_t i = f->frames; i-- > end;) {
		if (memcmp(f->list[i], p, frame) == 0)
			return i;
	}
	f->list[f->frames] = p;
	return f->frames++;
}

void
codec_film_add(struct codec_film *f, size_t i, const uint8_t *p,
    size_t frame, size_t back)
{
	if (i == 0)
		f->frames = 0;
	stream_put_le(f->ref[i][0], frame_number(f, p, frame, back), 2);
	stream_put_le(f->ref[i][1], frame_number(f, p + frame, frame, back), 2);
}
