/*
 * params.h - the learner's parameters as they stand on the server: a policy
 */
#ifndef INNET_AGENT_APEX_PARAMS_H
#define INNET_AGENT_APEX_PARAMS_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy-file.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct params {
	uint8_t *bytes;		/* len of them, owned */
	size_t len;
	uint8_t head[POLICY_FILE_HEAD_MAX];	/* what they must begin with */
	size_t head_bytes;
};

/* Those of l, of `elements` floats at least; exits 1 without memory. */
void params_open(struct params *p, const struct learner *l, size_t elements);
void params_close(struct params *p);

/* They are l's weights. */
void params_set(struct params *p, const struct learner *l);

/*
 * The bulk of n bytes that is to come on c, known by name, becomes l's weights;
 * *other: they differ from those there were.  False with c->why.
 */
bool params_take(struct params *p, struct respcall *c, const char *name,
    size_t n, struct learner *l, bool *other);

#endif
