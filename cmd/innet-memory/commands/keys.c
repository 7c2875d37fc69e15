/* keys.c - commands for keys of all types */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/innet-memory/commands/glob.h"

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/store/table.h"

static void
run_del(struct client *c, const struct resp_args *a)
{
	int64_t n = 0;

	for (size_t i = 1; i < a->n; i++) {
		struct key *k = keys_find_arg(c, a, i);

		if (k == NULL)
			continue;
		keyspace_remove(&c->srv->keys, k);
		n++;
	}
	if (n > 0)
		server_mark_changed(c->srv);
	reply_int(c, n);
}

static void
run_exists(struct client *c, const struct resp_args *a)
{
	int64_t n = 0;

	for (size_t i = 1; i < a->n; i++)
		n += keys_find_arg(c, a, i) != NULL;
	reply_int(c, n);
}

static const char *
key_type_name(const struct key *k)
{
	static const char *const names[] = {
		[KEY_STRING] = "string", [KEY_LIST] = "list",
		[KEY_TABLE] = "innet-per" /* the module for Redis uses the same
					   * name for this type */
	};

	return names[k->type];
}

static void
run_type(struct client *c, const struct resp_args *a)
{
	const struct key *k = keys_find_arg(c, a, 1);

	reply_status(c, k == NULL ? "none" : key_type_name(k));
}

/*
 * Rename the key in argument 1 to the name in argument 2.  If this is
 * impossible, reply with the reason and return false.
 */
static bool
rename_key(struct client *c, const struct resp_args *a, bool over)
{
	const struct resp_arg *to = &a->v[2];
	struct key *k = keys_find_arg(c, a, 1), *old;

	if (k == NULL) {
		reply_error(c, "ERR no such key");
		return false;
	}
	old = keys_find_arg(c, a, 2);
	if (old != NULL && !over) {
		reply_int(c, 0);
		return false;
	}
	if (old == k)
		return true;
	if (k->table != NULL && (to->len < 1 || to->len > TABLE_NAME_MAX)) {
		reply_error(c, "ERR a table's name is 1 to %d bytes, not %zu",
		    TABLE_NAME_MAX, to->len);
		return false;
	}
	if (!account_has_room(&c->srv->account, sizeof(*k) + to->len)) {
		reply_oom(c);
		return false;
	}
	if (old != NULL)
		keyspace_remove(&c->srv->keys, old);
	k = keyspace_rename(&c->srv->keys, k, to->p, to->len);
	if (k == NULL)
		reply_oom(c);
	else
		keys_mark_changed(c, k);
	return k != NULL;
}

static void
run_rename(struct client *c, const struct resp_args *a)
{
	if (rename_key(c, a, true))
		reply_status(c, "OK");
}

static void
run_renamenx(struct client *c, const struct resp_args *a)
{
	if (rename_key(c, a, false))
		reply_int(c, 1);
}

/* Parse a pattern.  If it is invalid, reply with an error and return false. */
static bool
read_pattern(struct client *c, const struct resp_arg *v, struct glob *g)
{
	const char *why = glob_compile(g, v->p, v->len);

	if (why != NULL)
		reply_error(c, "%s", why);
	return why == NULL;
}

/*
 * Count the matching keys before the reply begins.  Counting removes expired
 * keys.  When a key is removed, the last key moves to its place.
 */
static void
run_keys(struct client *c, const struct resp_args *a)
{
	struct keyspace *ks = &c->srv->keys;
	struct glob g;
	size_t n = 0;

	if (!read_pattern(c, &a->v[1], &g))
		return;
	for (size_t i = ks->n; i-- > 0; ) {
		const struct key *k = ks->key[i];

		if (k->expires_ms == 0 || keys_find_live(c->srv, k->name,
		    k->name_len) != NULL)
			n += glob_match(&g, k->name, k->name_len);
	}
	reply_array(c, n);
	for (size_t i = 0; i < ks->n && n > 0; i++) {
		const struct key *k = ks->key[i];

		if (!glob_match(&g, k->name, k->name_len))
			continue;
		reply_bulk(c, k->name, k->name_len);
		n--;
	}
	glob_free(&g);
}

static void
run_per_list(struct client *c, const struct resp_args *a)
{
	const struct keyspace *ks = &c->srv->keys;

	(void)a;
	reply_array(c, ks->tables);
	for (size_t i = 0; i < ks->tables; i++)
		reply_bulk(c, ks->table_keys[i]->name,
		    ks->table_keys[i]->name_len);
}

struct scan {
	const struct resp_arg *pattern, *type;	/* NULL: match all keys */
	struct glob glob;			/* compiled pattern */
	uint64_t cursor;
	int64_t count;
};

static bool
read_scan(struct client *c, const struct resp_args *a, struct scan *s)
{
	int64_t cursor;

	*s = (struct scan){ .count = 10 };
	if (!args_read_integer(a, 1, &cursor) || cursor < 0) {
		reply_error(c, "ERR invalid cursor");
		return false;
	}
	s->cursor = (uint64_t)cursor;
	for (size_t i = 2; i < a->n; i += 2) {
		const bool count = args_equal(a, i, "count");

		if (i + 1 < a->n && args_equal(a, i, "match")) {
			s->pattern = &a->v[i + 1];
		} else if (i + 1 < a->n && args_equal(a, i, "type")) {
			s->type = &a->v[i + 1];
		} else if (i + 1 < a->n && count) {
			if (!args_require_integer(c, a, i + 1, &s->count))
				return false;
		}
		if (i + 1 < a->n && (!count || s->count >= 1) &&
		    (count || args_equal(a, i, "match") ||
			args_equal(a, i, "type")))
			continue;
		reply_error(c, "ERR syntax error");
		return false;
	}
	return true;
}

static bool
scan_matches(const struct scan *s, const struct key *k)
{
	return (s->pattern == NULL ||
	    glob_match(&s->glob, k->name, k->name_len)) && (s->type == NULL ||
	    word_equals(key_type_name(k), s->type->p, s->type->len));
}

/*
 * A cursor is the number of keys that are still to be visited; SCAN visits them
 * from the last to the first.  When a key is removed, the last key takes its
 * place.  So keys only move towards the beginning, where SCAN will visit them,
 * perhaps for a second time.  Therefore SCAN never misses a key that exists
 * during the whole scan.
 */
static void
run_scan(struct client *c, const struct resp_args *a)
{
	struct keyspace *ks = &c->srv->keys;
	struct scan s;
	size_t to, from, n = 0;
	char text[24];

	if (!read_scan(c, a, &s) || (s.pattern != NULL &&
	    !read_pattern(c, s.pattern, &s.glob)))
		return;
	for (from = to = s.cursor == 0 || s.cursor > ks->n ? ks->n :
	    (size_t)s.cursor; from > 0 && (int64_t)(to - from) < s.count;
	    from--) {
		const struct key *k = ks->key[from - 1];

		if (k->expires_ms != 0)
			keys_find_live(c->srv, k->name, k->name_len);
	}
	to = to < ks->n ? to : ks->n;
	for (size_t i = from; i < to; i++)
		n += scan_matches(&s, ks->key[i]);
	snprintf(text, sizeof(text), "%zu", from);
	reply_array(c, 2);
	reply_text(c, text);
	reply_array(c, n);
	for (size_t i = to; i-- > from; ) {
		if (scan_matches(&s, ks->key[i]))
			reply_bulk(c, ks->key[i]->name, ks->key[i]->name_len);
	}
	glob_free(&s.glob);
}

static void
run_dbsize(struct client *c, const struct resp_args *a)
{
	(void)a;
	reply_int(c, (int64_t)c->srv->keys.n);
}

/*
 * Run FLUSHDB and FLUSHALL, which do the same because there is only one
 * database.
 */
static void
run_flush(struct client *c, const struct resp_args *a)
{
	if (a->n > 2 || (a->n == 2 && !args_equal(a, 1, "async") &&
	    !args_equal(a, 1, "sync"))) {
		reply_error(c, "ERR syntax error");
		return;
	}
	server_flush(c->srv);
	reply_status(c, "OK");
}

static void
flush_keys(struct server *srv)
{
	keyspace_clear(&srv->keys);
}

static void
info_keys(struct server *srv, FILE *f)
{
	if (srv->keys.n > 0)
		fprintf(f, "db0:keys=%zu,expires=%zu,avg_ttl=0\r\n",
		    srv->keys.n, srv->keys.expiring);
}

enum { READ = COMMAND_READ | COMMAND_FAST };

static const struct command commands[] = {
	{ "dbsize", 1, READ, run_dbsize, "server",
	    "Returns the number of keys in the database.", .subs = NULL },
	{ "del", -2, COMMAND_WRITE, run_del, "generic",
	    "Deletes one or more keys.",
	    "key...", 1, -1, 1, NULL },
	{ "exists", -2, READ, run_exists, "generic",
	    "Determines whether one or more keys exist.",
	    "key...", 1, -1, 1, NULL },
	{ "flushall", -1, COMMAND_WRITE, run_flush, "server",
	    "Removes all keys and tables.",
	    .usage = "[ASYNC|SYNC]", .subs = NULL },
	{ "flushdb", -1, COMMAND_WRITE, run_flush, "server",
	    "Removes all keys and tables.",
	    .usage = "[ASYNC|SYNC]", .subs = NULL },
	{ "keys", 2, COMMAND_READ, run_keys, "generic",
	    "Returns the names of all keys that match a pattern.",
	    .usage = "pattern", .subs = NULL },
	{ "per.list", 1, COMMAND_READ | COMMAND_NOT_REDIS, run_per_list, "per",
	    "Returns the names of all tables.", .subs = NULL },
	{ "rename", 3, COMMAND_WRITE, run_rename, "generic",
	    "Renames a key, and replaces a key of the new name.",
	    "key newkey", 1, 2, 1, NULL },
	{ "renamenx", 3, COMMAND_WRITE | COMMAND_FAST, run_renamenx, "generic",
	    "Renames a key if the new name does not exist.",
	    "key newkey", 1, 2, 1, NULL },
	{ "scan", -2, COMMAND_READ, run_scan, "generic",
	    "Iterates over the names of keys.",
	    .usage = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
	    .subs = NULL },
	{ "touch", -2, READ, run_exists, "generic",
	    "Returns the number of the keys that exist.",
	    "key...", 1, -1, 1, NULL },
	{ "type", 2, READ, run_type, "generic",
	    "Determines the type of value stored at a key.",
	    "key", 1, 1, 1, NULL },
	{ "unlink", -2, COMMAND_WRITE, run_del, "generic",
	    "Deletes one or more keys.",
	    "key...", 1, -1, 1, NULL },
	{ 0 }
};

const struct part keys_part = { .name = "keyspace",
	.commands = commands,
	.flush = flush_keys, .info = info_keys, .close = flush_keys };
