/* params.h - the learner's parameters as a value on the server: a policy */
#ifndef INNET_AGENT_APEX_PARAMS_H
#define INNET_AGENT_APEX_PARAMS_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy-file.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct params {
	uint8_t *bytes;		/* len of them, owned */
	size_t len;
	uint8_t head[POLICY_FILE_HEAD_MAX];	/* they must begin with this */
	size_t head_bytes;
};

/*
 * Open the parameters of l, at least `elements` floats; exits 1 without memory.
 */
void params_open(struct params *p, const struct learner *l, size_t elements);
void params_close(struct params *p);

/* Copy the weights of l. */
void params_set(struct params *p, const struct learner *l);

/*
 * Read the bulk of n bytes that follows on c, from the key name, into the
 * weights of l; *other: they differ from the weights before.  Return false with
 * c->why.
 */
bool params_take(struct params *p, struct respcall *c, const char *name,
    size_t n, struct learner *l, bool *other);

#endif
