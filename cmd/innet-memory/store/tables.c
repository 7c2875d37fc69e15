/* tables.c - the tables of the server, and the commands on them */
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

enum {
	READ = COMMAND_OWN | COMMAND_READ, WRITE = COMMAND_OWN | COMMAND_WRITE,
	MORE = COMMAND_OWN | COMMAND_WRITE | COMMAND_MORE
};

static const struct command commands[] = {
	{ "per.add", -4, MORE, per_add, "per",
	    "Adds experiences with their priorities.",
	    .usage = "table [TIMEOUT ms] [FRAMES n frame...] (priority "
	    "blob)...",
	    .subs = NULL },
	{ "per.create", -4, MORE, per_create, "per",
	    "Makes a table of experiences.",
	    .usage = "table CAPACITY n [ALPHA a] "
	    "[SELECTOR (PER|UNIFORM|FIFO|LIFO)] [TIMES n] [RATIO lo hi] "
	    "[SLACK n]",
	    .subs = NULL },
	{ "per.drop", 2, WRITE, per_drop, "per",
	    "Removes a table and all that is in it.",
	    .usage = "table", .subs = NULL },
	{ "per.dump", -2, READ, per_dump, "per",
	    "Returns a page of ids and priorities.",
	    .usage = "table [FROM id] [COUNT n]", .subs = NULL },
	{ "per.frames", 4, WRITE, per_frames, "per",
	    "Declares that experiences are stacks of frames.",
	    .usage = "table bytes stack", .subs = NULL },
	{ "per.info", 2, READ | COMMAND_FAST, per_info, "per",
	    "Returns what there is to know of a table.",
	    .usage = "table", .subs = NULL },
	{ "per.limit", -5, WRITE | COMMAND_FAST, per_limit, "per",
	    "Sets the limits of samples per insert.",
	    .usage = "table RATIO lo hi [SLACK n]", .subs = NULL },
	{ "per.remove", -3, WRITE, per_remove, "per",
	    "Removes experiences by id.",
	    .usage = "table id...", .subs = NULL },
	{ "per.sample", -3, READ, per_sample, "per",
	    "Draws experiences.",
	    .usage = "table batch [BETA b] [STRATIFIED] [TIMEOUT ms] [BINARY] "
	    "[REFS] [SUM]",
	    .subs = NULL },
	{ "per.update", -4, WRITE, per_update, "per",
	    "Sets the priorities of experiences by id.",
	    .usage = "table ((id priority)...|BINARY ids priorities)",
	    .subs = NULL },
	{ 0 }
};

const struct part tables_part = {
	.name = "tables", .commands = commands, .open = open_tables,
	.flush = flush_tables, .info = info_tables, .close = close_tables,
};
