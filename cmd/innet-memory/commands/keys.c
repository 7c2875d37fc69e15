/* keys.c - strings, and what all keys have in common */
#include <string.h>

#include "cmd/innet-memory/commands/keys.h"
#include "cmd/innet-memory/server/parts.h"
#include "cmd/innet-memory/server/server.h"

static const char wrong_type[] =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

struct key *
keys_at(struct client *c, const struct resp_args *a, size_t i)
{
	return keyspace_find(&c->srv->keys, a->v[i].p, a->v[i].len);
}

bool
keys_find(struct client *c, const struct resp_args *a, size_t i,
    enum key_type type, struct key **k)
{
	*k = keys_at(c, a, i);
	if (*k == NULL || (*k)->type == type)
		return true;
	reply_error(c, "%s", wrong_type);
	return false;
}

void
keys_changed(struct client *c, struct key *k)
{
	k->version = ++c->srv->version;
	server_changed(c->srv);
}

static void
run_get(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (!keys_find(c, a, 1, KEY_STRING, &k))
		return;
	if (k == NULL)
		reply_nil(c);
	else
		reply_blob(c, k->string);
}

/* The value, and its version, if that is greater than `since`. */
static void
run_getv(struct client *c, const struct resp_args *a)
{
	struct key *k;
	int64_t since;

	if (!args_want_integer(c, a, 2, &since) || !keys_find(c, a, 1,
	    KEY_STRING, &k))
		return;
	if (k == NULL || (since > 0 && k->version <= (uint64_t)since)) {
		reply_nil_array(c);
		return;
	}
	reply_array(c, 2);
	reply_int(c, (int64_t)k->version);
	reply_blob(c, k->string);
}

struct how {
	bool nx, xx, get;
};

/* The options of SET; false: what is wrong has been said. */
static bool
parse_set(struct client *c, const struct resp_args *a, struct how *how)
{
	static const char *const timed[] = { "ex", "px", "exat", "pxat",
	    "keepttl" };

	for (size_t i = 3; i < a->n; i++) {
		for (size_t t = 0; t < sizeof(timed) / sizeof(*timed); t++) {
			if (!args_is(a, i, timed[t]))
				continue;
			reply_error(c, "ERR keys do not expire here, so SET "
			    "takes no %.*s", (int)a->v[i].len,
			    (const char *)a->v[i].p);
			return false;
		}
		if (args_is(a, i, "nx") && !how->xx) {
			how->nx = true;
		} else if (args_is(a, i, "xx") && !how->nx) {
			how->xx = true;
		} else if (args_is(a, i, "get")) {
			how->get = true;
		} else {
			reply_error(c, "ERR syntax error");
			return false;
		}
	}
	return true;
}

/* Set k, or a new key where k is NULL, to the blob; false: memory is full. */
static bool
set(struct client *c, struct key *k, const struct resp_arg *name,
    struct blob *b)
{
	if (k == NULL)
		k = keyspace_add(&c->srv->keys, name->p, name->len);
	if (k == NULL) {
		blob_drop(&c->srv->blobs, b);
		reply_oom(c);
		return false;
	}
	blob_drop(&c->srv->blobs, k->string);
	k->string = b;
	keys_changed(c, k);
	return true;
}

static void
run_set(struct client *c, const struct resp_args *a)
{
	struct how how = { 0 };
	struct key *k;
	struct blob *b, *old;
	bool done;

	if (!parse_set(c, a, &how))
		return;
	k = keys_at(c, a, 1);
	if (how.get && k != NULL && k->type != KEY_STRING) {
		reply_error(c, "%s", wrong_type);
		return;
	}
	old = how.get && k != NULL ? blob_hold(k->string) : NULL;
	done = !((how.nx && k != NULL) || (how.xx && k == NULL));
	if (done) {
		b = args_blob(c, a, 2);
		if (b == NULL) {
			blob_drop(&c->srv->blobs, old);
			reply_oom(c);
			return;
		}
		if (k != NULL && k->type != KEY_STRING) {
			keyspace_remove(&c->srv->keys, k);
			k = NULL;
		}
		if (!set(c, k, &a->v[1], b)) {
			blob_drop(&c->srv->blobs, old);
			return;
		}
	}
	if (old != NULL)
		reply_blob(c, old);
	else if (how.get || !done)
		reply_nil(c);
	else
		reply_status(c, "OK");
	blob_drop(&c->srv->blobs, old);
}

static void
run_mget(struct client *c, const struct resp_args *a)
{
	reply_array(c, a->n - 1);
	for (size_t i = 1; i < a->n; i++) {
		const struct key *k = keys_at(c, a, i);

		if (k == NULL || k->type != KEY_STRING)
			reply_nil(c);
		else
			reply_blob(c, k->string);
	}
}

static void
run_strlen(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (keys_find(c, a, 1, KEY_STRING, &k))
		reply_int(c, k == NULL ? 0 : (int64_t)k->string->len);
}

static void
run_del(struct client *c, const struct resp_args *a)
{
	int64_t n = 0;

	for (size_t i = 1; i < a->n; i++) {
		struct key *k = keys_at(c, a, i);

		if (k == NULL)
			continue;
		keyspace_remove(&c->srv->keys, k);
		n++;
	}
	if (n > 0)
		server_changed(c->srv);
	reply_int(c, n);
}

static void
run_exists(struct client *c, const struct resp_args *a)
{
	int64_t n = 0;

	for (size_t i = 1; i < a->n; i++)
		n += keys_at(c, a, i) != NULL;
	reply_int(c, n);
}

static void
run_type(struct client *c, const struct resp_args *a)
{
	const struct key *k = keys_at(c, a, 1);

	reply_status(c, k == NULL ? "none" : k->type == KEY_LIST ? "list" :
	    "string");
}

static void
run_dbsize(struct client *c, const struct resp_args *a)
{
	(void)a;
	reply_int(c, (int64_t)c->srv->keys.n);
}

/* FLUSHDB and FLUSHALL: there is one database. */
static void
run_flush(struct client *c, const struct resp_args *a)
{
	if (a->n > 2 || (a->n == 2 && !args_is(a, 1, "async") &&
	    !args_is(a, 1, "sync"))) {
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
		fprintf(f, "db0:keys=%zu,expires=0,avg_ttl=0\r\n",
		    srv->keys.n);
}

enum { READ = COMMAND_READ | COMMAND_FAST,
	ADD = COMMAND_WRITE | COMMAND_MORE };

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
	{ "get", 2, READ, run_get, "string",
	    "Returns the string value of a key.",
	    "key", 1, 1, 1, NULL },
	{ "getv", 3, READ | COMMAND_OWN, run_getv, "string",
	    "Returns version and value of a key if newer than a version.",
	    "key since", 1, 1, 1, NULL },
	{ "mget", -2, READ, run_mget, "string",
	    "Returns the string values of one or more keys.",
	    "key...", 1, -1, 1, NULL },
	{ "set", -3, ADD, run_set, "string",
	    "Sets the string value of a key.",
	    "key value [NX|XX] [GET]", 1, 1, 1, NULL },
	{ "strlen", 2, READ, run_strlen, "string",
	    "Returns the length of a string value.",
	    "key", 1, 1, 1, NULL },
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
