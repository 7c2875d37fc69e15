/* host.c - Redis as the host of the PER commands: keys, effects, waiting */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/module/client.h"

/*
 * Who waits, for when a key goes: the server tries those anew whose key is
 * there, and leaves the others.
 */
struct waiter {
	rm_blocked *blocked;
	host_retry *retry;
	const struct held *on;
	int db;
	bool told;		/* it is being answered */
	struct waiter *next, **here;
};
static struct waiter *waiters;
static const struct held *leaving;	/* its key is about to go */

struct table *
host_table(struct client *c, const struct resp_args *a, const char **why)
{
	struct held *h = NULL;
	rm_key *key;

	(void)a;
	*why = NULL;
	/* while a key goes nobody may look for it: that might end it again */
	if (leaving != NULL)
		return NULL;
	key = RM_OpenKey(c->ctx, c->v[1], RM_READ);
	if (key == NULL)
		return NULL;
	if (RM_KeyType(key) == RM_KEY_MODULE &&
	    RM_ModuleTypeGetType(key) == module_type)
		h = RM_ModuleTypeGetValue(key);
	else if (RM_KeyType(key) != RM_KEY_EMPTY)
		*why = "WRONGTYPE Operation against a key holding the wrong "
		    "kind of value";
	RM_CloseKey(key);
	c->held = h;
	return h == NULL ? NULL : h->table;
}

/* A figure of the server's memory. */
static uint64_t
figure(struct client *c, const char *name)
{
	void *i = RM_GetServerInfo(c->ctx, "memory");
	const uint64_t v = RM_ServerInfoGetFieldUnsigned(i, name, NULL);

	RM_FreeServerInfo(c->ctx, i);
	return v;
}

uint64_t
module_limit(struct client *c)
{
	return figure(c, "maxmemory");
}

/* deny-oom looks at what is used before a command, not at what it takes. */
static bool
room(struct client *c, size_t bytes)
{
	const uint64_t most = module_limit(c);
	const uint64_t used = figure(c, "used_memory");

	return most == 0 || (used < most && bytes <= most - used);
}

bool
host_create(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *conf, const char **why)
{
	struct held *h = NULL;
	rm_key *key;

	(void)a;
	*why = NULL;
	if (host_told(c) || room(c, table_slots_bytes(conf)))
		h = held_open(conf);
	if (h == NULL)
		return false;
	key = RM_OpenKey(c->ctx, c->v[1], RM_READ | RM_WRITE);
	if (key == NULL ||
	    RM_ModuleTypeSetValue(key, module_type, h) != RM_OK) {
		held_free(h);
		h = NULL;
		*why = "the key cannot be written";
	}
	RM_CloseKey(key);
	return h != NULL;
}

void
host_drop(struct client *c, const struct resp_args *a, struct table *t)
{
	rm_key *key = RM_OpenKey(c->ctx, c->v[1], RM_READ | RM_WRITE);

	(void)a, (void)t;
	RM_UnlinkKey(key);	/* freed in another thread, if it is large */
	RM_CloseKey(key);
}

static void
changed(struct client *c)
{
	RM_SignalModifiedKey(c->ctx, c->v[1]);
	RM_SignalKeyAsReady(c->ctx, c->v[1]);
}

void
host_changed(struct client *c, const struct resp_args *a)
{
	(void)a;
	RM_ReplicateVerbatim(c->ctx);
	changed(c);
}

/*
 * What was drawn, not the request: elsewhere chance would draw others.  Which
 * items they were counts only where items wear out.
 */
void
host_sampled(struct client *c, const struct resp_args *a,
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
	changed(c);
}

bool
host_told(const struct client *c)
{
	return RM_GetContextFlags(c->ctx) &
	    (RM_CTX_REPLICATED | RM_CTX_LOADING);
}

uint64_t
host_stream(const struct client *c)
{
	return RM_GetClientId(c->ctx);
}

struct rng *
host_rng(struct client *c)
{
	(void)c;
	return &module_rng;
}

static void
waiter_free(struct rm_ctx *ctx, void *arg)
{
	struct waiter *w = arg;

	(void)ctx;
	*w->here = w->next;
	if (w->next != NULL)
		w->next->here = w->here;
	free(w);
}

static void
try_again(struct client *c, const struct resp_args *a)
{
	const struct waiter *w = RM_GetBlockedClientPrivateData(c->ctx);

	c->waits = !w->retry(c, a, false);
}

static void
try_late(struct client *c, const struct resp_args *a)
{
	const struct waiter *w = RM_GetBlockedClientPrivateData(c->ctx);

	w->retry(c, a, true);
}

static int
on_ready(struct rm_ctx *ctx, rm_string **v, int n)
{
	return module_serve(ctx, v, n, try_again);
}

static int
on_late(struct rm_ctx *ctx, rm_string **v, int n)
{
	return module_serve(ctx, v, n, try_late);
}

bool
host_park(struct client *c, const struct resp_args *a, uint64_t timeout_ms,
    host_retry *retry)
{
	const int alone = RM_CTX_LUA | RM_CTX_MULTI | RM_CTX_DENY_BLOCKING |
	    RM_CTX_REPLICATED | RM_CTX_LOADING;
	struct waiter *w;

	(void)a;
	if (RM_GetContextFlags(c->ctx) & alone)
		return false;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return false;
	*w = (struct waiter){ .retry = retry, .on = c->held, .next = waiters,
		.here = &waiters, .db = RM_GetSelectedDb(c->ctx) };
	if (w->next != NULL)
		w->next->here = &w->next;
	waiters = w;
	w->blocked = RM_BlockClientOnKeys(c->ctx, on_ready, on_late,
	    waiter_free, (long long)timeout_ms, &c->v[1], 1, w);
	return true;
}

/*
 * Answer those who wait; on_late() is called at once.  Its waiter is freed
 * later, from the loop.
 */
static void
tell(const struct held *h, bool (*is)(const struct waiter *w, const void *arg),
    const void *arg)
{
	const struct held *before = leaving;
	struct waiter *next;

	for (struct waiter *w = waiters; w != NULL; w = next) {
		next = w->next;
		if (w->told || !is(w, arg))
			continue;
		w->told = true;
		leaving = h != NULL ? h : w->on;
		RM_UnblockClient(w->blocked, NULL);
	}
	leaving = before;
}

static bool
waits_on(const struct waiter *w, const void *arg)
{
	return w->on == arg;
}

void
module_wake(const struct held *h)
{
	if (waiters != NULL)
		tell(h, waits_on, h);
}

static bool
waits_in(const struct waiter *w, const void *arg)
{
	const struct rm_flush *f = arg;

	return f->db == -1 || w->db == f->db;
}

void
module_flushed(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data)
{
	(void)ctx, (void)event;
	if (part == RM_FLUSHDB_START && data != NULL)
		tell(NULL, waits_in, data);
}

static bool
waits_in_either(const struct waiter *w, const void *arg)
{
	const struct rm_swap *s = arg;

	return w->db == s->db[0] || w->db == s->db[1];
}

void
module_swapped(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data)
{
	const struct rm_swap *s = data;

	(void)ctx, (void)event, (void)part;
	if (s != NULL && s->db[0] != s->db[1])
		tell(NULL, waits_in_either, s);
}
