/* play.c - play with a saved policy */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/play.h"
#include "cmd/innet-agent/algo/policy.h"
#include "cmd/innet-agent/policy-file.h"
#include "common/base/files.h"
#include "common/base/message.h"

/* Play one episode.  Return the sum of its rewards. */
static double
play_episode(struct env *env, struct learner *l, float *obs)
{
	struct env_result r = { 0 };
	union env_action a;
	double sum = 0;

	env_reset(env, obs);
	while (!r.terminated && !r.truncated && *l->tally->stop == 0) {
		l->algo->greedy(l, l->w, obs, &a);
		a = policy_within(l->kind, a);
		r = env_step(env, &a, obs);
		sum += r.reward;
	}
	return sum;
}

static void
print_result(const char *name, uint64_t n, double sum, double lo, double hi,
    FILE *json)
{
	if (json != NULL)
		fprintf(json, "{\"env\":\"%s\",\"episodes\":%" PRIu64
		    ",\"mean_reward\":%.9g,\"min_reward\":%.9g"
		    ",\"max_reward\":%.9g}\n", name, n, sum / (double)n, lo,
		    hi);
	else
		printf("%s: mean reward %.1f of %" PRIu64
		    " episodes, least %.9g, most %.9g\n", name,
		    sum / (double)n, n, lo, hi);
}

int
play_policy(const char *path, uint64_t episodes, uint64_t seed, FILE *json,
    const volatile sig_atomic_t *stop)
{
	struct tally tally = { .stop = stop };
	double sum = 0, lo = INFINITY, hi = -INFINITY;
	struct learner l;
	struct env env;
	uint64_t n;
	float *obs;

	if (!policy_file_read(path, seed, &tally, &l))
		return 1;
	env = env_open(l.kind, seed);
	obs = allocate(l.kind->obs, sizeof(*obs));
	for (n = 0; n < episodes && *stop == 0; n++) {
		const double got = play_episode(&env, &l, obs);

		sum += got;
		lo = fmin(lo, got);
		hi = fmax(hi, got);
	}
	if (n > 0)
		print_result(l.kind->name, n, sum, lo, hi, json);
	env_close(&env);
	learner_close(&l);
	free(obs);
	return files_flush(json != NULL ? json : stdout);
}
