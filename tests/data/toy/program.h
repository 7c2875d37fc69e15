/*
 * program.h - program toy: count what comes and echo it, each packet N times
 *
 * It stands in no switch: tests/bats/toy.bats puts it into a row of
 * programs.h and shows that no more is needed.
 */
#ifndef INNET_TOY_PROGRAM_H
#define INNET_TOY_PROGRAM_H

#include "common/base/num.h"
#include "common/switch/program.h"

struct toy_conf {
	uint64_t times;
};

struct toy {
	const struct toy_conf *cf;
	const struct program_env *env;
	uint64_t packets, bytes;
};

static const struct opt toy_opts[] = {
	{ 1, "times", "N", "toy: echo each packet N times (default 1)" },
	{ 0 }
};

static inline void
toy_defaults(void *conf)
{
	((struct toy_conf *)conf)->times = 1;
}

static inline const char *
toy_set(void *conf, int option, const char *arg)
{
	(void)option;
	return num_u64(arg, 1, 16, &((struct toy_conf *)conf)->times);
}

static inline uint16_t
toy_port(const void *conf)
{
	(void)conf;
	return 7;
}

static inline bool
toy_init(void *state, const void *conf, const struct program_env *env)
{
	*(struct toy *)state = (struct toy){ .cf = conf, .env = env };
	return true;
}

static inline enum program_claim
toy_claim(void *state, struct packet *p)
{
	const struct toy *t = state;

	return addr_same(p->to, &t->env->place->address) ? PROGRAM_TAKES :
	    addr_same(p->from, &t->env->place->address) ? PROGRAM_OWN :
	    PROGRAM_REGULAR;
}

static inline void
toy_take(void *state, struct packet *p, uint64_t now_ns)
{
	struct toy *t = state;

	(void)now_ns;
	t->packets++;
	t->bytes += p->bytes;
	for (uint64_t i = 0; i < t->cf->times; i++)
		outbox_add(t->env->out, POST_ONE, 0, p->from, p->tos,
		    p->payload, p->bytes);
}

static inline bool
toy_stats(const void *state, int32_t job, bool gauges, struct counters *c,
    uint64_t now_ns)
{
	const struct toy *t = state;

	(void)now_ns;
	if (job < 0 && !gauges) {
		counters_put(c, "echoed", t->packets);
		counters_put(c, "bytes", t->bytes);
	}
	return job < 0;
}

static const struct program toy_program = {
	.name = "toy", .port = toy_port, .trace_address = "10.255.255.1",
	.conf_bytes = sizeof(struct toy_conf), .opts = toy_opts,
	.defaults = toy_defaults, .set = toy_set,
	.state_bytes = sizeof(struct toy), .init = toy_init,
	.claim = toy_claim, .take = toy_take, .stats = toy_stats
};

#endif
