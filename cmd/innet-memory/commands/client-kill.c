/* client-kill.c - CLIENT KILL in all its forms */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/wire/addr.h"

#include "cmd/innet-memory/commands/client-kill.h"
#include "cmd/innet-memory/commands/parts.h"

/* Selects the clients to close; NULL or 0 selects all. */
struct kill_filter {
	const struct resp_arg *addr, *laddr;
	uint64_t id;
	bool none;		/* no client has the given type */
	bool skipme;
};

const char *
client_local_address(const struct client *c, char name[CLIENT_ADDR_BYTES])
{
	union addr a = { 0 };
	socklen_t len = sizeof(a);
	char text[ADDR_NAME_BYTES];

	if (c->fd == -1 || getsockname(c->fd, &a.sa, &len) == -1)
		return "";
	if (a.sa.sa_family == AF_UNIX)
		return c->addr;
	snprintf(name, CLIENT_ADDR_BYTES, "%s", addr_print(&a, text));
	return name;
}

static bool
arg_equals(const struct resp_arg *v, const char *s)
{
	return strlen(s) == v->len && memcmp(s, v->p, v->len) == 0;
}

static bool
filter_matches(const struct kill_filter *k, const struct client *self,
    const struct client *o)
{
	char laddr[CLIENT_ADDR_BYTES];

	return !o->dead && !k->none && !(k->skipme && o == self) &&
	       (k->id == 0 || o->id == k->id) &&
	       (k->addr == NULL || arg_equals(k->addr, o->addr)) &&
	       (k->laddr == NULL ||
		   arg_equals(k->laddr, client_local_address(o, laddr)));
}

/* Read the type in argument i.  All clients of this server have type normal. */
static bool
read_type(struct client *c, const struct resp_args *a, size_t i,
    struct kill_filter *k)
{
	static const char *const types[] = { "normal", "slave", "replica",
	    "pubsub", "master" };

	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		if (args_equal(a, i, types[t])) {
			k->none |= t > 0;
			return true;
		}
	}
	reply_error(c, "ERR Unknown client type '%.*s'", (int)(a->v[i].len <
	    128 ? a->v[i].len : 128), (const char *)a->v[i].p);
	return false;
}

/*
 * Read the filter in argument i and its value.  If they are invalid, reply with
 * an error and return false.
 */
static bool
read_filter(struct client *c, const struct resp_args *a, size_t i,
    struct kill_filter *k)
{
	const struct resp_arg *v = &a->v[i + 1];
	int64_t id;

	if (i + 1 >= a->n) {
		reply_error(c, "ERR syntax error");
	} else if (args_equal(a, i, "id")) {
		if (args_read_integer(a, i + 1, &id) && id >= 1) {
			k->id = (uint64_t)id;
			return true;
		}
		reply_error(c, "ERR client-id should be greater than 0");
	} else if (args_equal(a, i, "type")) {
		return read_type(c, a, i + 1, k);
	} else if (args_equal(a, i, "addr")) {
		k->addr = v;
		return true;
	} else if (args_equal(a, i, "laddr")) {
		k->laddr = v;
		return true;
	} else if (args_equal(a, i, "user")) {
		if (arg_equals(v, "default"))
			return true;
		reply_error(c, "ERR No such user '%.*s'", (int)(v->len < 128 ?
		    v->len : 128), (const char *)v->p);
	} else if (args_equal(a, i, "skipme") && (args_equal(a, i + 1, "yes") ||
	    args_equal(a, i + 1, "no"))) {
		k->skipme = args_equal(a, i + 1, "yes");
		return true;
	} else {
		reply_error(c, "ERR syntax error");
	}
	return false;
}

static int64_t
kill_matching(struct client *c, const struct kill_filter *k)
{
	struct server *srv = c->srv;
	int64_t killed = 0;

	for (size_t i = 0; i < srv->clients; i++) {
		struct client *o = srv->client[i];

		if (!filter_matches(k, c, o))
			continue;
		killed++;
		if (o == c)	/* the client that sent the command gets the
				 * reply before it is closed */
			client_close_after_reply(c, DISCONNECT_KILLED);
		else
			client_close_now(o, DISCONNECT_KILLED);
	}
	return killed;
}

void
run_client_kill(struct client *c, const struct resp_args *a)
{
	struct kill_filter k = { .addr = a->n == 3 ? &a->v[2] : NULL,
		.skipme = a->n > 3 };

	for (size_t i = 2; i < a->n && a->n > 3; i += 2) {
		if (!read_filter(c, a, i, &k))
			return;
	}
	if (a->n > 3)
		reply_int(c, kill_matching(c, &k));
	else if (kill_matching(c, &k) > 0)
		reply_status(c, "OK");
	else
		reply_error(c, "ERR No such client");
}
