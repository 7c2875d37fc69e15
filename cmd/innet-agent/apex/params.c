/* params.c - the learner's parameters as a value on the server */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/apex/params.h"
#include "common/base/vec.h"

void
params_open(struct params *p, const struct learner *l, size_t elements)
{
	elements = elements < l->params ? l->params : elements;
	p->head_bytes = policy_file_head(p->head, l, elements, 0);
	p->len = p->head_bytes + elements * sizeof(float);
	p->bytes = allocate(1, p->len);
	memcpy(p->bytes, p->head, p->head_bytes);
}

void
params_close(struct params *p)
{
	free(p->bytes);
}

void
params_set(struct params *p, const struct learner *l)
{
	memcpy(p->bytes, p->head, p->head_bytes);
	memcpy(p->bytes + p->head_bytes, l->w, l->params * sizeof(*l->w));
}

static bool
refuse_params(struct respcall *c, const char *name, const char *why)
{
	c->refused = true;
	return respcall_fail(c, "%s: %s", name, why);
}

bool
params_take(struct params *p, struct respcall *c, const char *name,
    size_t n, struct learner *l, bool *other)
{
	const uint8_t *w = p->bytes + p->head_bytes;

	*other = false;
	if (n != p->len)
		return refuse_params(c, name,
		    "parameters of another length than this agent's");
	if (!respcall_body(c, p->bytes, n, name))
		return false;
	if (memcmp(p->bytes, p->head, p->head_bytes) != 0)
		return refuse_params(c, name,
		    "parameters of another environment or algorithm than this "
		    "agent's");
	if (!vec_finite(w, l->params))
		return refuse_params(c, name, "parameters that are not finite");
	for (size_t i = 0; i < l->params; i++) {
		const float x = vec_get(w, i);

		*other |= x != l->w[i];
		l->w[i] = x;
	}
	return true;
}
