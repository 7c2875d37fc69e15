/* per-host.c - innet-memory as the host of the PER commands */
#include "common/net/timer.h"

#include "cmd/innet-memory/commands/per-host.h"
#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/store/table.h"

/* Return the key that argument 1 names, whatever its type, or NULL. */
static struct key *
find_key(struct client *c, const struct resp_args *a)
{
	return keys_find_arg(c, a, 1);
}

struct table *
host_find_table(struct client *c, const struct resp_args *a, const char **why)
{
	const struct key *k = find_key(c, a);

	*why = k == NULL || k->type == KEY_TABLE ? NULL : keys_wrong_type;
	return k == NULL ? NULL : k->table;
}

bool
host_create_table(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *settings, const char **why)
{
	struct table *t = table_open(&c->srv->account, a->v[1].p, a->v[1].len,
	    settings);
	struct key *k;

	*why = t == NULL ? NULL : keyspace_add_table(&c->srv->keys, t, &k);
	if (t != NULL && *why != NULL)
		table_close(t);
	return t != NULL && *why == NULL;
}

void
host_drop_table(struct client *c, const struct resp_args *a, struct table *t)
{
	(void)t;
	keyspace_remove(&c->srv->keys, find_key(c, a));
}

void
host_mark_changed(struct client *c, const struct resp_args *a)
{
	struct key *k = find_key(c, a);

	if (k != NULL)
		keys_mark_changed(c, k);
	else
		server_mark_changed(c->srv);
}

void
host_mark_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_buffer_draw *d, size_t n)
{
	(void)t, (void)d, (void)n;
	host_mark_changed(c, a);
}

bool
host_is_replicated(const struct client *c)
{
	(void)c;
	return false;
}

uint64_t
host_stream_id(const struct client *c)
{
	return c->id;
}

struct rng *
host_rng(struct client *c)
{
	return &c->srv->rng;
}

bool
host_park_client(struct client *c, const struct resp_args *a,
    uint64_t timeout_ms, host_retry *retry)
{
	(void)a;
	return client_park(c, timer_after(c->srv->now_ns,
	    timeout_ms * 1000000), retry);
}
