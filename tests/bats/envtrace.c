/*
 * envtrace - play an environment by actions from standard input, and print
 * what it does as tests/data/gym-traces.csv has it
 *
 *	envtrace GYM-NAME SEED <actions >trace.csv
 *
 * An action is one or more numbers between white space.  After an episode
 * another begins, with a row of its own.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/num.h"
#include "tests/bats/envkind.h"

/* The next action; false at the end of the input. */
static bool
read_action(const struct env_kind *k, union env_action *a)
{
	if (k->actions > 0) {
		if (scanf("%u", &a->index) != 1)
			return false;
		if (a->index >= k->actions)
			errx(1, "%s has no action %u", k->gym, a->index);
		return true;
	}
	for (size_t d = 0; d < k->dims; d++) {
		if (scanf("%f", &a->x[d]) != 1)
			return false;
	}
	return true;
}

static void
print_obs(const struct env_kind *k, const float *obs)
{
	for (size_t i = 0; i < k->obs; i++)
		printf("%c%a", i == 0 ? ',' : ' ', (double)obs[i]);
	putchar('\n');
}

static void
print_step(const struct env_kind *k, const union env_action *a,
    const struct env_result *r)
{
	putchar(',');
	if (k->actions > 0)
		printf("%u", a->index);
	for (size_t d = 0; d < k->dims; d++)
		printf("%s%a", d == 0 ? "" : " ", (double)a->x[d]);
	printf(",%a,%d,%d", r->reward, r->terminated, r->truncated);
}

int
main(int argc, char *argv[])
{
	const struct env_kind *k;
	const char *why;
	uint64_t seed;
	union env_action a;
	struct env_result r = { .terminated = true };
	struct env e;
	float *obs;

	if (argc != 3)
		errx(2, "usage: envtrace GYM-NAME SEED <actions");
	k = envkind(argv[1]);
	if (k == NULL)
		errx(2, "no environment '%s'", argv[1]);
	why = num_u64(argv[2], 0, UINT64_MAX, &seed);
	if (why != NULL)
		errx(2, "invalid seed '%s': %s", argv[2], why);
	obs = calloc(k->obs, sizeof(*obs));
	if (obs == NULL)
		err(1, "%s", k->gym);
	e = env_open(k, seed);
	for (;;) {
		if (r.terminated || r.truncated) {
			env_reset(&e, obs);
			printf("%s,%s,reset,,,,", k->gym, argv[2]);
			print_obs(k, obs);
		}
		if (!read_action(k, &a))
			break;
		r = env_step(&e, &a, obs);
		printf("%s,%s,%" PRIu32, k->gym, argv[2], e.steps - 1);
		print_step(k, &a, &r);
		print_obs(k, obs);
	}
	env_close(&e);
	free(obs);
	if (fflush(stdout) == EOF)
		err(1, "standard output");
	return 0;
}
