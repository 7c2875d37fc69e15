/*
 * Replay recorded steps of Gymnasium, from argv[1] or
 * tests/data/gym-traces.csv.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bats/envkind.h"
#include "tests/unit/tap.h"

enum { NAME, SEED, STEP, ACTION, REWARD, TERMINATED, TRUNCATED, OBS, COLUMNS };

/* Split line at its commas into exactly COLUMNS fields. */
static bool
split_line(char *line, char *field[COLUMNS])
{
	int n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *p = line; p != NULL && n < COLUMNS; n++) {
		field[n] = p;
		p = strchr(p, ',');
		if (p != NULL)
			*p++ = '\0';
	}
	return n == COLUMNS;
}

/* Is obs, bit for bit, the n numbers of text? */
static bool
is_same(const char *text, const float *obs, size_t n)
{
	char *end;

	for (size_t i = 0; i < n; i++) {
		const float f = strtof(text, &end);

		if (end == text || memcmp(&f, &obs[i], sizeof(f)) != 0)
			return false;
		text = end;
	}
	return true;
}

/* Replay a row of the trace; return false if the environment differs. */
static bool
replay_row(struct env *e, char *field[COLUMNS])
{
	const struct env_kind *k = e->kind;
	float obs[16];
	union env_action a = { 0 };
	struct env_result r;

	if (strcmp(field[STEP], "reset") == 0) {
		env_reset(e, obs);
		return is_same(field[OBS], obs, k->obs);
	}
	if (k->dims > 0)
		a.x[0] = strtof(field[ACTION], NULL);
	else
		a.index = (unsigned)strtoul(field[ACTION], NULL, 10);
	r = env_step(e, &a, obs);
	return is_same(field[OBS], obs, k->obs) &&
	    r.reward == strtod(field[REWARD], NULL) &&
	    r.terminated == (*field[TERMINATED] == '1') &&
	    r.truncated == (*field[TRUNCATED] == '1');
}

/* Replay all rows of kind k; each seed opens a new environment. */
static void
check_kind(FILE *f, const struct env_kind *k, unsigned want)
{
	char line[1024], *field[COLUMNS], seed[32] = "";
	struct env e = { 0 };
	unsigned rows = 0, wrong = 0, at = 0, first = 0;

	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		at++;
		if (!split_line(line, field) ||
		    strcmp(field[NAME], k->gym) != 0)
			continue;
		if (strcmp(seed, field[SEED]) != 0) {
			if (rows > 0)
				env_close(&e);
			e = env_open(k, strtoull(field[SEED], NULL, 10));
			snprintf(seed, sizeof(seed), "%s", field[SEED]);
		}
		rows++;
		if (!replay_row(&e, field) && wrong++ == 0)
			first = at;
	}
	if (rows > 0)
		env_close(&e);
	ok(rows == want, "the trace has %u rows of %s", want, k->gym);
	if (!ok(wrong == 0, "every row is right to the last bit"))
		note("%u rows differ, line %u first", wrong, first);
}

int
main(int argc, char *argv[])
{
	static const struct {
		const char *gym;
		unsigned rows;
	} recorded[] = {
		{ "CartPole-v1", 624 },
		{ "MountainCar-v0", 604 },
		{ "MountainCarContinuous-v0", 602 },
		{ "Acrobot-v1", 602 },
		{ "Pendulum-v1", 604 },
	};
	const char *dir = getenv("srcdir");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/gym-traces.csv",
	    dir != NULL ? dir : ".");
	f = fopen(argc > 1 ? argv[1] : path, "r");
	if (!ok(f != NULL, "the trace can be read"))
		return tap_end();
	for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++) {
		const struct env_kind *k = envkind(recorded[i].gym);

		if (ok(k != NULL, "the environment %s exists", recorded[i].gym))
			check_kind(f, k, recorded[i].rows);
	}
	fclose(f);
	return tap_end();
}
