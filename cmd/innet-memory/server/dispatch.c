/* dispatch.c - check a request, then run it or queue it */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/dispatch.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/server/transaction.h"

/*
 * Reply that the command is unknown.  Like Redis, show up to 128 bytes of its
 * name, and up to 128 bytes of all arguments together.
 */
static void
reply_unknown(struct client *c, const struct resp_args *a)
{
	char args[160];
	size_t n = 0;

	args[0] = '\0';
	for (size_t i = 1; i < a->n && n < 128; i++) {
		const size_t left = 128 - n;
		const int len = (int)(a->v[i].len < left ? a->v[i].len : left);

		n += (size_t)snprintf(args + n, sizeof(args) - n, "'%.*s' ",
		    len, (const char *)a->v[i].p);
	}
	reply_error(c, "ERR unknown command '%.*s', with args beginning with: "
	    "%s", (int)(a->v[0].len < 128 ? a->v[0].len : 128),
	    (const char *)a->v[0].p, args);
}

/* Reply with the error `why`.  A rejected EXEC ends the transaction. */
static void
reject_request(struct client *c, struct command_entry *v, const char *why)
{
	const bool plain = strncmp(why, "ERR ", 4) == 0;

	v->rejected++;
	if (strcmp(v->name, "exec") != 0) {
		reply_error(c, "%s", why);
		transaction_spoil(c->transaction);
		return;
	}
	transaction_free(&c->transaction, &c->srv->account);
	reply_error(c, "EXECABORT Transaction discarded because of: %s",
	    why + (plain ? 4 : 0));
}

static bool
check_arity(const struct command *cmd, size_t n)
{
	return cmd->arity < 0 ? n >= (size_t)-cmd->arity :
	    n == (size_t)cmd->arity;
}

/*
 * Copy the name of a command in upper case.  Every name is shorter than 32
 * bytes.
 */
static void
copy_upper(char up[32], const char *name)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		up[i] = (char)toupper((unsigned char)name[i]);
	up[i] = '\0';
}

/*
 * Print Redis's message for a wrong number of arguments.  For a command that
 * Redis does not have, also print its usage.
 */
static void
print_usage(const struct command_entry *v, char *why, size_t room)
{
	const int n = snprintf(why, room, "ERR wrong number of arguments for "
	    "'%s' command", v->name);
	char up[32];

	if ((v->cmd->flags & COMMAND_NOT_REDIS) == 0)
		return;
	copy_upper(up, v->name);
	snprintf(why + n, room - (size_t)n, "; usage: %s %s", up,
	    v->cmd->usage == NULL ? "" : v->cmd->usage);
}

/*
 * Return the command of a request.  If the command does not exist, reply and
 * return NULL.
 */
static struct command_entry *
find_command(struct client *c, const struct resp_args *a)
{
	struct command_table *vs = &c->srv->command_table;
	struct command_entry *v =
				 command_table_find(vs, a->v[0].p, a->v[0].len),
			     *sub = NULL;
	char why[256];

	if (v == NULL) {
		reply_unknown(c, a);
		return NULL;
	}
	if (v->cmd->subs != NULL && a->n > 1) {
		sub = command_table_find_sub(vs, v, a->v[1].p, a->v[1].len);
		if (sub == NULL) {
			char up[32];

			copy_upper(up, v->name);
			v->rejected++;
			reply_error(c, "ERR unknown subcommand '%.*s'. Try "
			    "%s HELP.", (int)(a->v[1].len < 128 ?
			    a->v[1].len : 128), (const char *)a->v[1].p, up);
			return NULL;
		}
		v = sub;
	}
	if (!check_arity(v->cmd, a->n)) {
		print_usage(v, why, sizeof(why));
		reject_request(c, v, why);
		return NULL;
	}
	return v;
}

/* Return true if the command may run; otherwise reply with the reason. */
static bool
may_run(struct client *c, struct command_entry *v, const struct resp_args *a)
{
	const unsigned flags = v->cmd->flags;

	if (!c->authenticated && (flags & COMMAND_NO_AUTH) == 0) {
		reject_request(c, v, "NOAUTH Authentication required.");
	} else if (a->lost || ((flags & COMMAND_DENY_OOM) != 0 &&
	    !account_has_room(&c->srv->account, 0))) {
		v->rejected++;
		reply_oom(c);
		transaction_spoil(c->transaction);
	} else if (transaction_is_queueing(c->transaction) &&
		   (flags & COMMAND_NOT_IN_MULTI) != 0) {
		reject_request(c, v,
		    "ERR Command not allowed inside a transaction");
	} else {
		return true;
	}
	return false;
}

void
command_call(struct client *c, struct command_entry *v,
    const struct resp_args *a)
{
	const uint64_t from = timer_mono_ns(), errors = c->errors;
	uint64_t took;

	c->last_command = v->name;
	c->commands++;
	c->srv->commands++;
	v->cmd->run(c, a);
	v->failed += c->errors != errors;
	took = timer_mono_ns() - from;
	c->srv->spent_ns += took;
	latency_add(&v->latency, took);
}

/*
 * Return true if this request is an HTTP request, perhaps sent by a web browser
 * on behalf of a web page.  Such a client must be disconnected, because the
 * body of the request could be commands.  The only HTTP method that is also a
 * command is GET, which takes one argument.
 */
static bool
is_http(const struct resp_args *a)
{
	static const char *const words[] = { "post", "host:", "put", "options",
	    "head", "delete", "patch", "connect", "trace" };

	if (a->n == 3 && args_equal(a, 0, "get") && a->v[2].len >= 5 &&
	    memcmp(a->v[2].p, "HTTP/", 5) == 0)
		return true;
	for (size_t i = 0; a->n > 0 && i < sizeof(words) / sizeof(*words);
	    i++) {
		if (args_equal(a, 0, words[i]))
			return true;
	}
	return false;
}

static void
queue_request(struct client *c, struct command_entry *v, struct resp_args *a)
{
	if (account_has_room(&c->srv->account, 0) &&
	    transaction_queue(c->transaction, v, a)) {
		reply_status(c, "QUEUED");
		return;
	}
	transaction_spoil(c->transaction);
	reply_oom(c);
}

/* Reply to a request that was not stored and whose command is unknown. */
static void
reply_lost(struct client *c)
{
	if (c->authenticated)
		reply_oom(c);
	else
		reply_error(c, "NOAUTH Authentication required.");
}

void
command_run(struct client *c, struct resp_args *a)
{
	struct command_entry *v;

	if (is_http(a)) {
		reply_error(c, "DENIED this is not an HTTP server");
		client_close_after_reply(c, DISCONNECT_HTTP);
		return;
	}
	if (a->n == 0) {		/* not even the name of the command was
					 * stored */
		reply_lost(c);
		transaction_spoil(c->transaction);
		return;
	}
	/*
	 * a request that was not stored lacks arguments, so use only its name
	 */
	v = a->lost ? command_table_find(&c->srv->command_table, a->v[0].p,
	    a->v[0].len) : find_command(c, a);
	if (v == NULL && a->lost)
		reply_lost(c);
	if (v == NULL) {
		transaction_spoil(c->transaction);
		return;
	}
	if (!may_run(c, v, a))
		return;
	if (transaction_is_queueing(c->transaction) &&
	    (v->cmd->flags & COMMAND_UNQUEUED) == 0)
		queue_request(c, v, a);
	else
		command_call(c, v, a);
}
