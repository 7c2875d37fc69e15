/*
 * params.h - the learner's parameters as a value on the server, in the format
 * of a policy file
 */
#ifndef INNET_AGENT_APEX_PARAMS_H
#define INNET_AGENT_APEX_PARAMS_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy-file.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct params {
	uint8_t *bytes;		/* `len` bytes, owned */
	size_t len;
	uint8_t head[POLICY_FILE_HEAD_MAX];	/* first bytes of the value */
	size_t head_bytes;
};

/*
 * Open the parameters of l, with room for at least `elements` floats.  Exits
 * with status 1 if there is no memory.
 */
void params_open(struct params *p, const struct learner *l, size_t elements);
void params_close(struct params *p);

/* Copy the weights of learner `l` to p. */
void params_set(struct params *p, const struct learner *l);

/*
 * Read the body of a bulk of n bytes from c into the weights of l.  The bulk is
 * the value of the key `name`.  Set *other to whether the weights have changed.
 * On failure, return false with the reason in c->why.
 */
bool params_take(struct params *p, struct respcall *c, const char *name,
    size_t n, struct learner *l, bool *other);

#endif
