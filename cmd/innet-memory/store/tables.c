/* tables.c - the tables of the server, by name */
#include <err.h>
#include <string.h>

#include "cmd/innet-memory/server/parts.h"
#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/store/table.h"

struct table *
tables_find(const struct tables *ts, const void *name, size_t len)
{
	for (size_t i = 0; i < ts->n; i++) {
		if (ts->v[i]->name_len == len &&
		    memcmp(ts->v[i]->name, name, len) == 0)
			return ts->v[i];
	}
	return NULL;
}

const char *
tables_add(struct tables *ts, struct table *t)
{
	if (tables_find(ts, t->name, t->name_len) != NULL)
		return "there is a table of this name";
	if (ts->n == TABLES_MAX)
		return "there are 256 tables, and that is all there may be";
	ts->v[ts->n++] = t;
	return NULL;
}

void
tables_drop(struct tables *ts, struct table *t)
{
	size_t i = 0;

	while (ts->v[i] != t)
		i++;
	ts->v[i] = ts->v[--ts->n];
	table_close(t);
}

void
tables_clear(struct tables *ts)
{
	while (ts->n > 0)
		tables_drop(ts, ts->v[ts->n - 1]);
}

/* The table of the command line, unless it is there already. */
static bool
open_tables(struct server *srv)
{
	const struct replay_table_conf conf = {
		.capacity = srv->conf.capacity, .alpha = srv->conf.alpha,
		.limit.slack = srv->conf.capacity,
	};
	struct table *t;
	const char *why;

	if (conf.capacity == 0 ||
	    tables_find(&srv->tables, "replay", 6) != NULL)
		return true;
	why = table_wrong(&conf);
	t = why != NULL ? NULL : table_open(&srv->blobs, "replay", 6, &conf);
	if (t == NULL)
		warnx("table 'replay': %s", why != NULL ? why :
		    "--memory has no room for its slots");
	return t != NULL && tables_add(&srv->tables, t) == NULL;
}

/* FLUSHALL: the tables stay, and what is in them goes. */
static void
flush_tables(struct server *srv)
{
	for (size_t i = 0; i < srv->tables.n; i++)
		table_clear(srv->tables.v[i]);
}

static void
close_tables(struct server *srv)
{
	tables_clear(&srv->tables);
}

/* Like Redis's db0: a line a table. */
static void
info_tables(struct server *srv, FILE *f)
{
	fprintf(f, "tables:%zu\r\n", srv->tables.n);
	for (size_t i = 0; i < srv->tables.n; i++) {
		const struct table *t = srv->tables.v[i];

		fprintf(f, "table%zu:have=%zu,capacity=%zu,inserted=%ju,"
		    "sampled=%ju,frames=%zu\r\n", i, t->buf.have,
		    t->buf.conf.capacity, (uintmax_t)t->buf.inserted,
		    (uintmax_t)t->buf.sampled, t->frames.count);
	}
}

const struct part tables_part = {
	.name = "tables", .commands = per_commands, .open = open_tables,
	.flush = flush_tables, .info = info_tables, .close = close_tables,
};
