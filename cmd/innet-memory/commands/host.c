/* host.c - innet-memory as the host of the PER commands */
#include "common/live/timer.h"

#include "cmd/innet-memory/commands/host.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/store/table.h"

struct table *
host_table(struct client *c, const struct resp_args *a, const char **why)
{
	*why = NULL;
	return tables_find(&c->srv->tables, a->v[1].p, a->v[1].len);
}

bool
host_create(struct client *c, const struct resp_args *a,
    const struct replay_table_conf *conf, const char **why)
{
	struct table *t = table_open(&c->srv->blobs, a->v[1].p, a->v[1].len,
	    conf);

	*why = t == NULL ? NULL : tables_add(&c->srv->tables, t);
	if (t != NULL && *why != NULL)
		table_close(t);
	return t != NULL && *why == NULL;
}

void
host_drop(struct client *c, const struct resp_args *a, struct table *t)
{
	(void)a;
	tables_drop(&c->srv->tables, t);
}

void
host_changed(struct client *c, const struct resp_args *a)
{
	(void)a;
	server_changed(c->srv);
}

void
host_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_table_draw *d, size_t n)
{
	(void)t, (void)d, (void)n;
	host_changed(c, a);
}

bool
host_told(const struct client *c)
{
	(void)c;
	return false;
}

struct rng *
host_rng(struct client *c)
{
	return &c->srv->rng;
}

bool
host_park(struct client *c, const struct resp_args *a, uint64_t timeout_ms,
    host_retry *retry)
{
	(void)a;
	return client_park(c, timer_after(c->srv->now_ns,
	    timeout_ms * 1000000), retry);
}
