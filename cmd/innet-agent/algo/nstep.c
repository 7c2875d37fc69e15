/* nstep.c - sum the rewards of several steps */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/nstep.h"

struct nstep
nstep_open(size_t n, size_t wide, double gamma)
{
	return (struct nstep){
		.n = n, .wide = wide, .gamma = gamma,
		.obs = allocate(n * wide, sizeof(float)),
		.action = allocate(n, sizeof(union env_action)),
		.reward = allocate(n, sizeof(double)),
	};
}

void
nstep_close(struct nstep *s)
{
	free(s->obs);
	free(s->action);
	free(s->reward);
}

void
nstep_push(struct nstep *s, const float *obs, const union env_action *action,
    double reward)
{
	const size_t at = (s->first + s->have) % s->n;

	assert(s->have < s->n);
	memcpy(s->obs + at * s->wide, obs, s->wide * sizeof(*obs));
	s->action[at] = *action;
	s->reward[at] = reward;
	s->have++;
}

bool
nstep_pull(struct nstep *s, struct env_result end, const float *next,
    struct experience *e)
{
	const bool over = end.terminated || end.truncated;
	double sum = 0, go = 1;

	if (s->have == 0 || (s->have < s->n && !over))
		return false;
	for (size_t k = 0; k < s->have; k++) {
		sum += go * s->reward[(s->first + k) % s->n];
		go *= s->gamma;
	}
	*e = (struct experience){
		.obs = s->obs + s->first * s->wide, .next = next,
		.action = s->action[s->first], .reward = (float)sum,
		.go = end.terminated ? 0 : (float)go,
	};
	s->first = (s->first + 1) % s->n;
	s->have--;
	return true;
}
