/*
 * program.h - program toy: count packets and echo each of them N times
 *
 * No switch includes it.  tests/bats/toy.bats adds it to a copy of programs.h
 * and shows that a new program needs nothing else.
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

static const struct opt toy_options[] = {
	{ 1, "times", "N", "toy: echo each packet N times (default 1)" },
	{ 0 }
};

static inline void
toy_set_defaults(void *conf)
{
	((struct toy_conf *)conf)->times = 1;
}

static inline const char *
toy_set_option(void *conf, int option, const char *arg)
{
	(void)option;
	return num_u64(arg, 1, 16, &((struct toy_conf *)conf)->times);
}

static inline uint16_t
toy_default_port(const void *conf)
{
	(void)conf;
	return 7;
}

static inline bool
toy_init_state(void *state, const void *conf, const struct program_env *env)
{
	*(struct toy *)state = (struct toy){ .cf = conf, .env = env };
	return true;
}

static inline enum packet_class
toy_classify(void *state, struct packet *p)
{
	const union addr *own = &((struct toy *)state)->env->place->address;

	return addr_same(p->to, own) ? PACKET_FOR_PROGRAM :
	    addr_same(p->from, own) ? PACKET_FROM_PROGRAM : PACKET_REGULAR;
}

static inline void
toy_receive(void *state, struct packet *p, uint64_t now_ns)
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
toy_put_counters(const void *state, int32_t job, bool gauges,
    struct counters *c, uint64_t now_ns)
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
	.name = "toy", .trace_address = "10.255.255.1",
	.default_port = toy_default_port, .conf_bytes = sizeof(struct toy_conf),
	.options = toy_options, .set_defaults = toy_set_defaults,
	.set_option = toy_set_option, .state_bytes = sizeof(struct toy),
	.init_state = toy_init_state, .classify = toy_classify,
	.receive = toy_receive, .put_counters = toy_put_counters
};

#endif
