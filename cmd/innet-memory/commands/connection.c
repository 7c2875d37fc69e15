/* connection.c - commands about the connection: AUTH, HELLO, CLIENT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/commands/client-kill.h"
#include "cmd/innet-memory/commands/command-docs.h"
#include "cmd/innet-memory/server/stranger.h"
#include "cmd/innet-memory/server/transaction.h"

static void
run_ping(struct client *c, const struct resp_args *a)
{
	if (a->n > 2)
		reply_error(c, "ERR wrong number of arguments for 'ping' "
		    "command");
	else if (a->n == 2)
		reply_bulk(c, a->v[1].p, a->v[1].len);
	else
		reply_status(c, "PONG");
}

static void
run_echo(struct client *c, const struct resp_args *a)
{
	reply_bulk(c, a->v[1].p, a->v[1].len);
}

static void
run_quit(struct client *c, const struct resp_args *a)
{
	(void)a;
	reply_status(c, "OK");
	client_close_after_reply(c, DISCONNECT_QUIT);
}

static void
run_select(struct client *c, const struct resp_args *a)
{
	int64_t db;

	if (!args_require_integer(c, a, 1, &db))
		return;
	if (db != 0)
		reply_error(c, "ERR DB index is out of range");
	else
		reply_status(c, "OK");
}

/* Compare the password in a time that does not reveal how many bytes match. */
static bool
is_password(const struct server *srv, const struct resp_arg *v)
{
	const size_t len = strlen(srv->password);
	unsigned differ = len != v->len;

	for (size_t i = 0; i < v->len; i++)
		differ |= v->p[i] ^ (uint8_t)srv->password[i % len];
	return differ == 0;
}

/*
 * Check the password in argument `at`, which may follow a user name.  If the
 * password is wrong, reply with an error, now or after a delay, and return
 * false.
 */
static bool
authenticate(struct client *c, const struct resp_args *a, size_t at,
    bool named)
{
	struct server *srv = c->srv;

	if (srv->password == NULL && !named) {
		reply_error(c, "ERR AUTH <password> called without any "
		    "password configured for the default user. Are you sure "
		    "your configuration is correct?");
		return false;
	}
	if ((named && !args_equal(a, at - 1, "default")) ||
	    (srv->password != NULL && !is_password(srv, &a->v[at]))) {
		stranger_refuse_password(c);
		return false;
	}
	c->authenticated = true;
	client_end_stranger(c);
	return true;
}

static void
run_auth(struct client *c, const struct resp_args *a)
{
	if (a->n > 3)
		reply_error(c, "ERR syntax error");
	else if (authenticate(c, a, a->n - 1, a->n == 3))
		reply_status(c, "OK");
}

static bool
set_name(struct client *c, const struct resp_arg *v)
{
	for (size_t i = 0; i < v->len; i++) {
		if (v->p[i] < '!' || v->p[i] > '~') {
			reply_error(c, "ERR Client names cannot contain "
			    "spaces, newlines or special characters.");
			return false;
		}
	}
	if (v->len >= sizeof(c->name)) {
		reply_error(c, "ERR a client's name can have at most %zu bytes",
		    sizeof(c->name) - 1);
		return false;
	}
	memcpy(c->name, v->p, v->len);
	c->name[v->len] = '\0';
	return true;
}

/*
 * Read the options of HELLO.  If they are invalid, reply with an error and
 * return false.
 */
static bool
read_hello_options(struct client *c, const struct resp_args *a)
{
	size_t auth = 0, name = 0;

	for (size_t i = 2; i < a->n; i++) {
		if (args_equal(a, i, "auth") && i + 2 < a->n) {
			auth = i += 2;
		} else if (args_equal(a, i, "setname") && i + 1 < a->n) {
			name = ++i;
		} else {
			reply_error(c, "ERR Syntax error in HELLO option "
			    "'%.*s'", (int)(a->v[i].len < 128 ? a->v[i].len :
			    128), (const char *)a->v[i].p);
			return false;
		}
	}
	if (auth > 0 && !authenticate(c, a, auth, true))
		return false;
	if (!c->authenticated) {
		reply_error(c, "NOAUTH HELLO must be called with the client "
		    "already authenticated, otherwise the HELLO AUTH "
		    "<user> <pass> option can be used to authenticate the "
		    "client and select the RESP protocol version at the same "
		    "time");
		return false;
	}
	return name == 0 || set_name(c, &a->v[name]);
}

static void
run_hello(struct client *c, const struct resp_args *a)
{
	int64_t version = c->resp3 ? 3 : 2;

	if (a->n > 1 && !args_read_integer(a, 1, &version)) {
		reply_error(c, "ERR Protocol version is not an integer or out "
		    "of range");
		return;
	}
	if (version != 2 && version != 3) {
		reply_error(c, "NOPROTO unsupported protocol version");
		return;
	}
	if (!read_hello_options(c, a))
		return;
	c->resp3 = version == 3;
	reply_map(c, 7);
	reply_text(c, "server");
	reply_text(c, "redis");
	reply_text(c, "version");
	reply_text(c, SERVER_REDIS_VERSION);
	reply_text(c, "proto");
	reply_int(c, version);
	reply_text(c, "id");
	reply_int(c, (int64_t)c->id);
	reply_text(c, "mode");
	reply_text(c, "standalone");
	reply_text(c, "role");
	reply_text(c, "master");
	reply_text(c, "modules");
	reply_array(c, 0);
}

static void
run_reset(struct client *c, const struct resp_args *a)
{
	(void)a;
	transaction_free(&c->transaction, &c->srv->account);
	client_begin_stranger(c);
	c->name[0] = '\0';
	c->no_evict = c->resp3 = false;
	reply_status(c, "RESET");
}

static void
run_setname(struct client *c, const struct resp_args *a)
{
	if (set_name(c, &a->v[2]))
		reply_status(c, "OK");
}

static void
run_getname(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (c->name[0] == '\0')
		reply_nil(c);
	else
		reply_text(c, c->name);
}

static void
run_id(struct client *c, const struct resp_args *a)
{
	(void)a;
	reply_int(c, (int64_t)c->id);
}

/* Accept the name and version of a client library, but do not use them. */
static void
run_setinfo(struct client *c, const struct resp_args *a)
{
	if (args_equal(a, 2, "lib-name") || args_equal(a, 2, "lib-ver"))
		reply_status(c, "OK");
	else
		reply_error(c, "ERR Unrecognized option '%.*s'",
		    (int)(a->v[2].len < 128 ? a->v[2].len : 128),
		    (const char *)a->v[2].p);
}

/*
 * Run NO-EVICT and NO-TOUCH.  They have no effect, because this server never
 * evicts keys.
 */
static void
run_no_evict(struct client *c, const struct resp_args *a)
{
	if (!args_equal(a, 2, "on") && !args_equal(a, 2, "off")) {
		reply_error(c, "ERR syntax error");
		return;
	}
	c->no_evict = args_equal(a, 2, "on");
	reply_status(c, "OK");
}

static void
print_client(FILE *f, const struct client *c)
{
	const uint64_t now = c->srv->now_ns;
	char flags[8], *p = flags, laddr[CLIENT_ADDR_BYTES];

	if (transaction_is_queueing(c->transaction))
		*p++ = 'x';
	if (c->retry != NULL)
		*p++ = 'b';
	if (c->no_evict)
		*p++ = 'e';
	if (p == flags)
		*p++ = 'N';
	*p = '\0';
	fprintf(f,
	    "id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu "
	    "flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d qbuf=%zu qbuf-free=0 "
	    "argv-mem=%zu multi-mem=%zu rbs=%zu rbp=0 obl=0 oll=%zu omem=%zu "
	    "tot-mem=%zu events=%s cmd=%s user=default redir=-1 "
	    "resp=%d\n",
	    (unsigned long long)c->id, c->addr, client_local_address(c, laddr),
	    c->fd, c->name,
	    (unsigned long long)((now - c->connected_ns) / TIMER_SECOND_NS),
	    (unsigned long long)((now - c->received_ns) / TIMER_SECOND_NS),
	    flags, transaction_length(c->transaction), c->unread_len,
	    resp_args_bytes(&c->in.args), transaction_bytes(c->transaction),
	    c->out.text_room, c->out.parts - c->out.first, c->out.pending,
	    c->charged, c->out.pending > 0 ? "w" : "r", c->last_command,
	    c->resp3 ? 3 : 2);
}

/*
 * Reply with the clients whose ids are in argument `from` and the arguments
 * after it.  If `from` is 0, reply with all clients.
 */
static void
list_clients(struct client *c, const struct resp_args *a, size_t from)
{
	struct server *srv = c->srv;
	struct reply_stream w;
	int64_t id;

	if (!reply_open_stream(c, &w))
		return;
	for (size_t i = 0; i < srv->clients; i++) {
		bool wanted = from == 0;

		for (size_t at = from; at > 0 && at < a->n; at++)
			wanted |= args_read_integer(a, at, &id) &&
			    (uint64_t)id == srv->client[i]->id;
		if (wanted && !srv->client[i]->dead)
			print_client(w.f, srv->client[i]);
	}
	reply_close_stream(c, &w);
}

static void
run_list(struct client *c, const struct resp_args *a)
{
	int64_t id;

	if (a->n == 2 || (a->n == 4 && args_equal(a, 2, "type") &&
	    args_equal(a, 3, "normal"))) {
		list_clients(c, a, 0);
		return;
	}
	if (a->n < 4 || !args_equal(a, 2, "id")) {
		reply_error(c, "ERR syntax error");
		return;
	}
	for (size_t i = 3; i < a->n; i++) {
		if (!args_read_integer(a, i, &id) || id < 1) {
			reply_error(c, "ERR Invalid client ID");
			return;
		}
	}
	list_clients(c, a, 3);
}

static void
run_info(struct client *c, const struct resp_args *a)
{
	struct reply_stream w;

	(void)a;
	if (!reply_open_stream(c, &w))
		return;
	print_client(w.f, c);
	reply_close_stream(c, &w);
}

enum { STRANGER = COMMAND_NO_AUTH | COMMAND_FAST,
	NOW = COMMAND_NO_AUTH | COMMAND_FAST | COMMAND_UNQUEUED };

static const struct command subs[] = {
	{ "getname", 2, 0, run_getname, "connection",
	    "Returns the name of the connection.", .subs = NULL },
	{ "help", 2, 0, run_command_help, "connection",
	    "Lists the subcommands.", .subs = NULL },
	{ "id", 2, 0, run_id, "connection",
	    "Returns the unique client ID of the connection.", .subs = NULL },
	{ "info", 2, 0, run_info, "connection",
	    "Returns information about the connection.", .subs = NULL },
	{ "kill", -3, COMMAND_ADMIN, run_client_kill, "connection",
	    "Terminates open connections.",
	    .usage = "ip:port|((ID client-id|TYPE type|USER username|"
	    "ADDR ip:port|LADDR ip:port|SKIPME yes-or-no)...)", .subs = NULL },
	{ "list", -2, COMMAND_ADMIN, run_list, "connection",
	    "Lists open connections.",
	    .usage = "[TYPE NORMAL|ID client-id...]", .subs = NULL },
	{ "no-evict", 3, 0, run_no_evict, "connection",
	    "Accepted; nothing is evicted here.",
	    .usage = "ON|OFF", .subs = NULL },
	{ "no-touch", 3, 0, run_no_evict, "connection",
	    "Accepted; nothing is evicted here.",
	    .usage = "ON|OFF", .subs = NULL },
	{ "setinfo", 4, 0, run_setinfo, "connection",
	    "Accepted; the library makes no difference.",
	    .usage = "LIB-NAME libname|LIB-VER libver", .subs = NULL },
	{ "setname", 3, 0, run_setname, "connection",
	    "Sets the connection name.",
	    .usage = "name", .subs = NULL },
	{ 0 }
};

static const struct command commands[] = {
	{ "auth", -2, STRANGER, run_auth, "connection",
	    "Authenticates the connection.",
	    .usage = "[username] password", .subs = NULL },
	{ "client", -2, 0, NULL, "connection",
	    "A container for client connection commands.", .subs = subs },
	{ "echo", 2, COMMAND_FAST, run_echo, "connection",
	    "Returns the given string.",
	    .usage = "message", .subs = NULL },
	{ "hello", -1, STRANGER, run_hello, "connection",
	    "Handshakes with the server.",
	    .usage = "[protover [AUTH username password] [SETNAME clientname]]",
	    .subs = NULL },
	{ "ping", -1, COMMAND_FAST, run_ping, "connection",
	    "Returns the server's liveliness response.",
	    .usage = "[message]", .subs = NULL },
	{ "quit", -1, NOW, run_quit, "connection",
	    "Closes the connection.", .subs = NULL },
	{ "reset", 1, NOW, run_reset, "connection",
	    "Resets the connection.", .subs = NULL },
	{ "select", 2, COMMAND_FAST, run_select, "connection",
	    "Changes the selected database, which must be 0.",
	    .usage = "index", .subs = NULL },
	{ 0 }
};

const struct part connection_part = { .name = "connection",
	.commands = commands };
