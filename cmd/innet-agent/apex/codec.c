/* codec - an experience in bytes */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/innet-agent/apex/codec.h"
#include "common/base/vec.h"

/* Numbers that say what was done. */
static size_t
deeds(const struct env_kind *kind)
{
	return kind->actions != 0 ? 1 : kind->dims;
}

static size_t
numbers(const struct env_kind *kind)
{
	return 2 * kind->obs + deeds(kind) + 2;
}

size_t
codec_bytes(const struct env_kind *kind, size_t least)
{
	const size_t n = 4 * numbers(kind);

	return n > least ? n : least;
}

/* Write n numbers at *p, which moves on; and read them. */
static void
put(uint8_t **p, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_set(*p, i, from[i]);
	*p += 4 * n;
}

static void
get(const uint8_t **p, float *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = vec_get(*p, i);
	*p += 4 * n;
}

void
codec_put(const struct env_kind *kind, const struct experience *e,
    uint8_t *to, size_t bytes)
{
	const float index = (float)e->action.index;
	uint8_t *const end = to + bytes;

	put(&to, e->obs, kind->obs);
	put(&to, e->next, kind->obs);
	put(&to, kind->actions != 0 ? &index : e->action.x, deeds(kind));
	put(&to, &e->reward, 1);
	put(&to, &e->go, 1);
	memset(to, 0, (size_t)(end - to));
}

/* The action that n numbers are; false if there is no such action. */
static bool
action(const struct env_kind *kind, const float *x, union env_action *a)
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

/* Numbers from which no gradient becomes infinite. */
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
	float x[ENV_DIMS_MAX];

	if (len != bytes)
		return "an experience of another length";
	if (!vec_finite(p, numbers(kind)))
		return "an experience that is not finite";
	if (!is_sane(p, numbers(kind)))
		return "an experience of numbers beyond 1e9";
	get(&p, rows->obs + i * kind->obs, kind->obs);
	get(&p, rows->next + i * kind->obs, kind->obs);
	get(&p, x, deeds(kind));
	get(&p, rows->reward + i, 1);
	get(&p, rows->go + i, 1);
	if (!action(kind, x, &rows->action[i]))
		return "an experience of no known action";
	return rows->go[i] >= 0 && rows->go[i] <= 1 ? NULL :
	    "an experience whose future counts more than 1 or less than 0";
}
