/*
 * env-speed - measure the speed of the environments: print a line for each,
 * with its name and the millions of steps a second on one core with random
 * actions, including resets; the best of a few rounds
 */
#include <stdio.h>
#include <time.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/env/env.h"

enum { ROUNDS = 2, DRAWN = 4096 };

static const double round_seconds = 0.1;

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
draw(const struct env_kind *k, union env_action a[DRAWN])
{
	struct rng rng = rng_seed(1);

	for (int i = 0; i < DRAWN; i++) {
		if (k->actions > 0)
			a[i].index = (unsigned)rng_below(&rng, k->actions);
		for (size_t d = 0; d < k->dims; d++)
			a[i].x[d] = (float)rng_uniform(&rng, k->low, k->high);
	}
}

/* Return the steps a second in one round. */
static double
steps_per_s(struct env *e, const union env_action a[DRAWN], float *obs)
{
	const double from = cpu_seconds();
	uint64_t steps = 0;
	double took;

	do {
		for (int i = 0; i < DRAWN; i++) {
			const struct env_result r = env_step(e, &a[i], obs);

			if (r.terminated || r.truncated)
				env_reset(e, obs);
		}
		steps += DRAWN;
		took = cpu_seconds() - from;
	} while (took < round_seconds);
	return (double)steps / took;
}

int
main(void)
{
	static union env_action a[DRAWN];
	static float obs[1024];

	for (size_t i = 0; env_kinds[i] != NULL; i++) {
		const struct env_kind *k = env_kinds[i];
		struct env e = env_open(k, 1);
		double best = 0;

		draw(k, a);
		env_reset(&e, obs);
		for (int n = 0; n < ROUNDS; n++) {
			const double s = steps_per_s(&e, a, obs);

			best = s > best ? s : best;
		}
		printf("%s %.2f\n", k->name, best / 1e6);
		env_close(&e);
	}
	return 0;
}
