/*
 * Test that encoded experiences can be decoded again, and that invalid bytes
 * are refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/apex/codec.h"
#include "common/base/rng.h"
#include "common/base/vec.h"
#include "tests/unit/innet-agent/chance.h"
#include "tests/unit/tap.h"

enum { ROWS = 50 };

static bool
is_same(const struct env_kind *kind, const struct experience *a,
    const struct experience *b)
{
	const size_t bytes = kind->obs * sizeof(float);

	return memcmp(a->obs, b->obs, bytes) == 0 &&
	    memcmp(a->next, b->next, bytes) == 0 && a->reward == b->reward &&
	    a->go == b->go && (kind->actions != 0 ?
	    a->action.index == b->action.index :
	    memcmp(a->action.x, b->action.x, kind->dims * sizeof(float)) ==
	    0);
}

/*
 * Encode and decode random experiences of that kind, of at least that many
 * bytes.
 */
static void
test_round(const struct env_kind *kind, size_t least)
{
	const size_t bytes = codec_bytes(kind, least);
	struct rows rows = rows_open(ROWS, kind->obs);
	struct rng rng = rng_seed(3);
	uint8_t *p = malloc(bytes);
	float *seen = calloc(2 * kind->obs, sizeof(*seen));
	bool good = bytes >= least;

	for (size_t i = 0; i < ROWS; i++) {
		struct experience e = { .obs = seen, .next = seen + kind->obs,
		    .reward = (float)rng_uniform(&rng, -9, 9),
		    .go = (float)rng_double(&rng) }, got;

		for (size_t k = 0; k < 2 * kind->obs; k++)
			seen[k] = kind->whole ? (float)rng_below(&rng, 256) :
			    (float)rng_uniform(&rng, -1e9, 1e9);
		for (size_t k = 0; k < kind->dims; k++)
			e.action.x[k] = (float)rng_uniform(&rng, -1, 3);
		if (kind->actions != 0)
			e.action.index = (unsigned)rng_below(&rng,
			    kind->actions);
		memset(p, 0xff, bytes);
		codec_put(kind, &e, p, bytes);
		good = good && codec_get(kind, p, bytes, bytes, &rows, i) ==
		    NULL;
		got = rows_get(&rows, i, kind->obs);
		good = good && is_same(kind, &e, &got);
	}
	ok(good, "%s in %zu bytes: a decoded experience equals the encoded one",
	    kind->name, bytes);
	rows_close(&rows);
	free(p);
	free(seen);
}

/*
 * Check the layout that other programs read: the 2 * 400 numbers of MinAtar are
 * bytes.
 */
static void
test_layout(void)
{
	const struct experience e = { .obs = (float[]){ 1, 2, 3 },
	    .next = (float[]){ 4, 5, 6 }, .action.index = 2, .reward = 8,
	    .go = 0.5f };
	const float want[] = { 1, 2, 3, 4, 5, 6, 2, 8, 0.5f, 0 };
	uint8_t p[40];
	bool good = codec_bytes(&choices, 0) == 36 &&
	    codec_bytes(&choices, 40) == 40 &&
	    codec_bytes(&numbers, 0) == 40 &&
	    codec_bytes(&env_breakout, 0) == 812;

	codec_put(&choices, &e, p, sizeof(p));
	for (size_t i = 0; i < 10; i++)
		good = good && vec_get(p, i) == want[i];
	ok(good, "the layout is: observation, next observation, action, "
	    "reward, discount, zeros");
}

/*
 * Check observations of bytes: any byte is good, other parts are still checked.
 */
static void
test_whole(void)
{
	const struct env_kind kind = { .name = "whole", .obs = 3, .actions = 3,
	    .whole = true };
	const struct experience e = { .obs = (float[]){ 0, 1, 255 },
	    .next = (float[]){ 254, 127, 128 }, .action.index = 2,
	    .reward = 8, .go = 0.5f };
	const uint8_t want[] = { 0, 1, 255, 254, 127, 128 };
	struct rows rows = rows_open(1, kind.obs);
	uint8_t p[18];

	codec_put(&kind, &e, p, sizeof(p));
	ok(codec_bytes(&kind, 0) == 18 && memcmp(p, want, 6) == 0 &&
	    vec_get(p + 6, 0) == 2 && vec_get(p + 6, 1) == 8 &&
	    vec_get(p + 6, 2) == 0.5f, "observations are bytes, and the other "
	    "parts are floats");
	memset(p, 255, 6);	/* as floats these would not be numbers */
	ok(codec_get(&kind, p, 18, 18, &rows, 0) == NULL &&
	    rows.obs[0] == 255 && rows.next[2] == 255 && rows.reward[0] == 8,
	    "any byte is a valid observation");
	vec_set(p + 6, 1, NAN);
	ok(codec_get(&kind, p, 18, 18, &rows, 0) != NULL,
	    "a reward that is not a number is refused");
	rows_close(&rows);
}

static void
is_refused(const char *why, size_t at, float x, size_t len)
{
	const size_t bytes = codec_bytes(&choices, 0);
	const float seen[CHANCE_OBS] = { 0 };
	struct rows rows = rows_open(1, CHANCE_OBS);
	uint8_t *p = malloc(len < bytes ? bytes : len);
	const char *got;

	codec_put(&choices, &(struct experience){ .obs = seen, .next = seen,
	    .go = 1 }, p, bytes);
	vec_set(p, at, x);
	p = realloc(p, len == 0 ? 1 : len);	/* so that ASan detects a read
						 * past the end */
	got = codec_get(&choices, p, len, bytes, &rows, 0);
	ok(got != NULL && strcmp(got, why) == 0,
	    "invalid bytes are refused: %s (%g at %zu, %zu "
	    "bytes)", why, x, at, len);
	rows_close(&rows);
	free(p);
}

static void
test_hostile(void)
{
	static const char other[] = "another length than this agent's";
	static const char none[] =
	    "an action that the environment does not have";
	static const char future[] = "a discount that is not from 0 to 1";

	for (size_t len = 0; len < 36; len += 35)
		is_refused(other, 0, 0, len);
	is_refused(other, 0, 0, 37);
	for (size_t at = 0; at < 9; at++)
		is_refused("a number that is not finite", at,
		    at % 2 == 0 ? NAN : -INFINITY, 36);
	for (size_t at = 0; at < 9; at++)
		is_refused("a number beyond 1e9", at,
		    at % 2 == 0 ? 3e38f : -1.1e9f, 36);
	is_refused(none, 6, 3, 36);
	is_refused(none, 6, -1, 36);
	is_refused(none, 6, 0.5f, 36);
	is_refused(none, 6, 16777216.0f, 36);
	is_refused(future, 8, 1.5f, 36);
	is_refused(future, 8, -0.5f, 36);
}

/*
 * Encode experiences of n steps of two episodes: each refers to its frames, and
 * every frame is on the list once.  A second film starts again.
 */
static void
test_film(size_t n)
{
	enum { FRAME = 8, STEPS = 20, MOST = 2 * (STEPS + 1) };
	struct codec_film f = codec_film_open(2 * STEPS);
	uint8_t p[2 * STEPS][2][FRAME] = { { { 0 } } };
	bool good = true;

	for (size_t i = 0; i < 2 * STEPS; i++) {
		const size_t game = i / STEPS, at = i % STEPS;
		const size_t to = at + n < STEPS ? at + n : STEPS;

		p[i][0][3] = (uint8_t)(game * 100 + at);
		p[i][1][3] = (uint8_t)(game * 100 + to);
	}
	for (int film = 0; film < 2; film++) {
		for (size_t i = 0; i < 2 * STEPS; i++)
			codec_film_add(&f, i, p[i][0], FRAME, 2 * n + 2);
		good &= f.frames == MOST;
		for (size_t i = 0; i < 2 * STEPS; i++) {
			for (size_t k = 0; k < 2; k++)
				good &= memcmp(f.list[f.ref[i][k][0] +
				    256 * f.ref[i][k][1]], p[i][k], FRAME) ==
				    0;
		}
	}
	ok(good, "steps of %zu: each frame is stored once, and each experience "
	    "refers to its frames",
	    n);
	codec_film_close(&f);
}

int
main(void)
{
	test_film(1);
	test_film(3);
	test_film(30);
	test_round(&choices, 0);
	test_round(&numbers, 0);
	test_round(&env_cartpole, 100);
	test_round(&env_pendulum, 0);
	test_round(&env_breakout, 213 * 1000);
	test_layout();
	test_whole();
	test_hostile();
	return tap_end();
}
