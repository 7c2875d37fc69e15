/* transactions.c - MULTI, EXEC, DISCARD, WATCH, UNWATCH */
#include <stdlib.h>

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/server/dispatch.h"
#include "cmd/innet-memory/server/transaction.h"

/*
 * Return the client's transaction; create it if necessary.  If there is no
 * memory, reply with an error and return NULL.
 */
static struct transaction *
begin_transaction(struct client *c)
{
	if (c->transaction == NULL)
		c->transaction = calloc(1, sizeof(*c->transaction));
	if (c->transaction == NULL)
		reply_oom(c);
	return c->transaction;
}

static void
run_multi(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (transaction_is_queueing(c->transaction)) {
		reply_error(c, "ERR MULTI calls can not be nested");
		return;
	}
	if (begin_transaction(c) == NULL)
		return;
	c->transaction->multi = true;
	reply_status(c, "OK");
}

static void
run_discard(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (!transaction_is_queueing(c->transaction)) {
		reply_error(c, "ERR DISCARD without MULTI");
		return;
	}
	transaction_free(&c->transaction, &c->srv->account);
	reply_status(c, "OK");
}

/* Return true if a watched key has changed since WATCH. */
static bool
watched_key_changed(struct client *c)
{
	const struct transaction *t = c->transaction;

	for (size_t i = 0; i < t->watches; i++) {
		const struct watched_key *w = &t->watched[i];
		const struct key *k = keys_find_live(c->srv, w->name->bytes,
		    w->name->len);

		if ((k == NULL ? 0 : k->version) != w->version)
			return true;
	}
	return false;
}

static void
run_exec(struct client *c, const struct resp_args *a)
{
	struct transaction *t = c->transaction;

	(void)a;
	if (!transaction_is_queueing(c->transaction)) {
		reply_error(c, "ERR EXEC without MULTI");
		return;
	}
	if (t->spoilt) {
		reply_error(c, "EXECABORT Transaction discarded because of "
		    "previous errors.");
	} else if (watched_key_changed(c)) {
		reply_nil_array(c);
	} else {
		t->running = true;
		reply_array(c, t->n);
		/* if there is no memory for replies, the client is closed */
		for (size_t i = 0; i < t->n && !c->out.bad; i++)
			command_call(c, t->queue[i].verb, &t->queue[i].args);
	}
	transaction_free(&c->transaction, &c->srv->account);
}

static void
run_watch(struct client *c, const struct resp_args *a)
{
	struct transaction *t = begin_transaction(c);

	if (t == NULL)
		return;
	if (t->multi) {
		reply_error(c, "ERR WATCH inside MULTI is not allowed");
		return;
	}
	for (size_t i = 1; i < a->n; i++) {
		const struct key *k = keys_find_arg(c, a, i);
		struct blob *name = args_keep_blob(c, a, i);

		if (name == NULL || !transaction_watch(t, name, k == NULL ? 0 :
		    k->version)) {
			blob_drop(&c->srv->account, name);
			reply_oom(c);
			return;
		}
	}
	reply_status(c, "OK");
}

static void
run_unwatch(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (!transaction_is_running(c->transaction))
		transaction_free(&c->transaction, &c->srv->account);
	reply_status(c, "OK");
}

enum { AT_ONCE = COMMAND_UNQUEUED | COMMAND_FAST };

static const struct command commands[] = {
	{ "discard", 1, AT_ONCE, run_discard, "transactions",
	    "Discards a transaction.", .subs = NULL },
	{ "exec", 1, COMMAND_UNQUEUED, run_exec, "transactions",
	    "Executes all commands in a transaction.", .subs = NULL },
	{ "multi", 1, AT_ONCE, run_multi, "transactions",
	    "Starts a transaction.", .subs = NULL },
	{ "unwatch", 1, COMMAND_FAST, run_unwatch, "transactions",
	    "Forgets about watched keys of a transaction.", .subs = NULL },
	{ "watch", -2, AT_ONCE, run_watch, "transactions",
	    "Monitors changes to keys to determine the "
	    "execution of a transaction.",
	    "key...", 1, -1, 1, NULL },
	{ 0 }
};

const struct part transactions_part = {
    .name = "transactions", .commands = commands};
