/* host.c - Redis as the host of the PER commands */
#include <stdlib.h>

#include "cmd/innet-memory/module/host.h"
#include "cmd/innet-memory/module/memory.h"
#include "cmd/innet-memory/module/value.h"
#include "cmd/innet-memory/module/waiters.h"

static struct rng rng;

void
host_seed(uint64_t seed)
{
	rng = rng_seed(seed);
}

struct table *
host_find_table(struct client *c, const struct resp_args *a, const char **why)
{
	struct table_value *h = NULL;
	rm_key *key;

	(void)a;
	*why = NULL;
	/*
	 * a key that is being removed must not be opened, because this could
	 * remove the key a second time
	 */
	if (waiters_removing())
		return NULL;
	key = RM_OpenKey(c->ctx, c->v[1], RM_READ);
	if (key == NULL)
		return NULL;
	if (RM_KeyType(key) == RM_KEY_MODULE &&
	    RM_ModuleTypeGetType(key) == value_type)
		h = RM_ModuleTypeGetValue(key);
	else if (RM_KeyType(key) != RM_KEY_EMPTY)
		*why = "WRONGTYPE Operation against a key holding the wrong "
		    "kind of value";
	RM_CloseKey(key);
	c->value = h;
	return h == NULL ? NULL : h->table;
}

bool
host_create_table(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *settings, const char **why)
{
	struct table_value *h = NULL;
	rm_key *key;

	(void)a;
	*why = NULL;
	if (host_is_replicated(c) ||
	    memory_room() >= table_slots_bytes(settings))
		h = value_open(settings);
	if (h == NULL)
		return false;
	key = RM_OpenKey(c->ctx, c->v[1], RM_READ | RM_WRITE);
	if (key == NULL ||
	    RM_ModuleTypeSetValue(key, value_type, h) != RM_OK) {
		value_free(h);
		h = NULL;
		*why = "the key cannot be written";
	}
	RM_CloseKey(key);
	return h != NULL;
}

void
host_drop_table(struct client *c, const struct resp_args *a, struct table *t)
{
	rm_key *key = RM_OpenKey(c->ctx, c->v[1], RM_READ | RM_WRITE);

	(void)a, (void)t;
	RM_UnlinkKey(key);	/* let the server free a large value in another
				 * thread */
	RM_CloseKey(key);
}

static void
signal_change(struct client *c)
{
	RM_SignalModifiedKey(c->ctx, c->v[1]);
	RM_SignalKeyAsReady(c->ctx, c->v[1]);
}

void
host_mark_changed(struct client *c, const struct resp_args *a)
{
	(void)a;
	RM_ReplicateVerbatim(c->ctx);
	signal_change(c);
}

/*
 * Replicate the draws instead of the request, because a replica would draw
 * other experiences.  The ids of the draws matter only if the number of draws
 * is limited.
 */
void
host_mark_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_buffer_draw *d, size_t n)
{
	uint64_t *id;

	(void)a;
	if (n == 0)
		return;
	id = t->buf.settings.times == 0 ? NULL : malloc(n * sizeof(*id));
	for (size_t i = 0; id != NULL && i < n; i++)
		id[i] = d[i].id;
	if (id != NULL)
		RM_Replicate(c->ctx, "PER.TAKEN", "scb", c->v[1], "ids",
		    (const char *)id, n * sizeof(*id));
	else
		RM_Replicate(c->ctx, "PER.TAKEN", "scl", c->v[1], "count",
		    (long long)n);
	free(id);
	signal_change(c);
}

bool
host_is_replicated(const struct client *c)
{
	return RM_GetContextFlags(c->ctx) &
	    (RM_CTX_REPLICATED | RM_CTX_LOADING);
}

uint64_t
host_stream_id(const struct client *c)
{
	return RM_GetClientId(c->ctx);
}

struct rng *
host_rng(struct client *c)
{
	(void)c;
	return &rng;
}

bool
host_park_client(struct client *c, const struct resp_args *a,
    uint64_t timeout_ms, host_retry *retry)
{
	const int alone = RM_CTX_LUA | RM_CTX_MULTI | RM_CTX_DENY_BLOCKING |
	    RM_CTX_REPLICATED | RM_CTX_LOADING;

	(void)a;
	if (RM_GetContextFlags(c->ctx) & alone)
		return false;
	return waiters_add(c, timeout_ms, retry);
}
