/* play - greedy episodes of a saved policy */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-agent/env.h"
#include "cmd/innet-agent/net.h"
#include "cmd/innet-agent/play.h"
#include "cmd/innet-agent/policy.h"
#include "cmd/innet-agent/saved.h"

/* One episode: the sum of its rewards. */
static double
episode(struct env *env, struct net *net, const float *w, float *obs)
{
	struct env_result r = { 0 };
	union env_action a;
	double sum = 0;

	env_reset(env, obs);
	while (!r.terminated && !r.truncated) {
		a.index = policy_best(net_actor(net, w, obs, 1),
		    env->kind->actions);
		r = env_step(env, &a, obs);
		sum += r.reward;
	}
	return sum;
}

static void
show(const char *name, uint64_t n, double sum, double lo, double hi,
    bool json)
{
	if (json)
		printf("{\"env\":\"%s\",\"episodes\":%" PRIu64
		    ",\"mean_reward\":%.9g,\"min_reward\":%.9g"
		    ",\"max_reward\":%.9g}\n", name, n, sum / (double)n, lo,
		    hi);
	else
		printf("%s: mean reward %.1f of %" PRIu64
		    " episodes, least %.9g, most %.9g\n", name,
		    sum / (double)n, n, lo, hi);
}

int
play(const char *path, uint64_t episodes, uint64_t seed, bool json,
    const volatile sig_atomic_t *stop)
{
	const struct env_kind *kind;
	float *w = saved_read(path, &kind), *obs;
	double sum = 0, lo = INFINITY, hi = -INFINITY;
	uint64_t n;
	struct net net;
	struct env env;

	if (w == NULL)
		return 1;
	net = net_open(kern_best(), kind->obs, kind->actions, 1);
	env = env_open(kind, seed);
	obs = calloc(kind->obs, sizeof(*obs));
	if (obs == NULL)
		err(1, "%s", path);
	for (n = 0; n < episodes && *stop == 0; n++) {
		const double got = episode(&env, &net, w, obs);

		sum += got;
		lo = fmin(lo, got);
		hi = fmax(hi, got);
	}
	if (n > 0)
		show(kind->name, n, sum, lo, hi, json);
	env_close(&env);
	net_close(&net);
	free(obs);
	free(w);
	if (fflush(stdout) == EOF) {
		warn("standard output");
		return 1;
	}
	return 0;
}
