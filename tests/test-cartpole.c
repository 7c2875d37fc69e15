/* Replay Gymnasium's own steps, in argv[1] or tests/data/gym-traces.csv. */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/env.h"
#include "tests/tap.h"

enum { COLUMNS = 8 };

/* Cut line at its commas into exactly COLUMNS fields. */
static bool
split(char *line, char *field[COLUMNS])
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

/* obs is, bit for bit, the n numbers of text. */
static bool
same(const char *text, const float *obs, size_t n)
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

/* One row of the trace; false if the environment does otherwise. */
static bool
replay(struct env *e, char *field[COLUMNS], const char *seed)
{
	float obs[16];
	union env_action a = { 0 };
	struct env_result r;

	if (strcmp(field[2], "reset") == 0) {
		if (strcmp(seed, field[1]) != 0) {
			env_close(e);
			*e = env_open(&env_cartpole,
			    strtoull(field[1], NULL, 10));
		}
		env_reset(e, obs);
		return same(field[7], obs, e->kind->obs);
	}
	a.index = (unsigned)strtoul(field[3], NULL, 10);
	r = env_step(e, &a, obs);
	return same(field[7], obs, e->kind->obs) &&
	    r.reward == strtod(field[4], NULL) &&
	    r.terminated == (*field[5] == '1') &&
	    r.truncated == (*field[6] == '1');
}

int
main(int argc, char *argv[])
{
	const char *dir = getenv("srcdir");
	char path[4096], line[1024], *field[COLUMNS], seed[32] = "";
	struct env e = { 0 };
	unsigned rows = 0, wrong = 0, at = 0, first = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/gym-traces.csv",
	    dir != NULL ? dir : ".");
	f = fopen(argc > 1 ? argv[1] : path, "r");
	if (!ok(f != NULL, "the trace can be read"))
		return tap_end();
	while (fgets(line, sizeof(line), f) != NULL) {
		at++;
		if (!split(line, field) || strcmp(field[0], "CartPole-v1") != 0)
			continue;
		rows++;
		if (!replay(&e, field, seed) && wrong++ == 0)
			first = at;
		snprintf(seed, sizeof(seed), "%s", field[1]);
	}
	fclose(f);
	env_close(&e);
	ok(rows == 624, "624 rows of CartPole-v1");
	if (!ok(wrong == 0, "every one to the last bit"))
		note("%u rows differ, line %u first", wrong, first);
	return tap_end();
}
