/* per-part.c - the PER commands as a part of innet-memory */
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/store/table.h"

/* Create the table of --capacity, unless it already exists. */
static bool
open_tables(struct server *srv)
{
	const struct replay_buffer_settings settings = {
		.capacity = srv->conf.capacity, .alpha = srv->conf.alpha,
		.limit.slack = srv->conf.capacity,
	};
	const uint8_t *name = (const uint8_t *)"replay";
	const char *why;
	struct table *t;
	struct key *k;

	if (settings.capacity == 0 ||
	    keyspace_find(&srv->keys, name, 6) != NULL)
		return true;
	why = table_check_settings(&settings);
	t = why != NULL ? NULL : table_open(&srv->account, name, 6, &settings);
	if (t != NULL)
		why = keyspace_add_table(&srv->keys, t, &k);
	else if (why == NULL)
		why = "--memory is too small for its slots; raise it, or lower "
		    "--capacity";
	if (why == NULL) {
		k->version = ++srv->version;
		return true;
	}
	warnx("table 'replay': %s", why);
	if (t != NULL)
		table_close(t);
	return false;
}

/* Print one line for each table, in the format of Redis's db0 line. */
static void
info_tables(struct server *srv, FILE *f)
{
	const struct keyspace *ks = &srv->keys;

	fprintf(f, "tables:%zu\r\n", ks->tables);
	for (size_t i = 0; i < ks->tables; i++) {
		const struct table *t = ks->table_keys[i]->table;

		fprintf(f, "table%zu:have=%zu,capacity=%zu,inserted=%ju,"
		    "sampled=%ju,frames=%zu\r\n", i, t->buf.have,
		    t->buf.settings.capacity, (uintmax_t)t->buf.inserted,
		    (uintmax_t)t->buf.sampled, t->frames.count);
	}
}

const struct part per_part = {
	.name = "tables", .commands = per_commands, .open = open_tables,
	.info = info_tables,
};
