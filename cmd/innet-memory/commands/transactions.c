/* tx.c - MULTI, EXEC, DISCARD, WATCH, UNWATCH */
#include <stdlib.h>

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/server/transaction.h"

struct queued {
	struct verb *verb;
	struct resp_args args;
};

struct watched {
	struct blob *name;
	uint64_t version;	/* when it began; 0: it was not there */
};

struct tx {
	bool multi, spoilt, running;
	struct queued *queue;
	size_t n, room, text_bytes;
	struct watched *watched;
	size_t watches, watches_room;
};

bool
tx_queues(const struct client *c)
{
	return c->tx != NULL && c->tx->multi && !c->tx->running;
}

bool
tx_running(const struct client *c)
{
	return c->tx != NULL && c->tx->running;
}

void
tx_spoil(struct client *c)
{
	if (tx_queues(c))
		c->tx->spoilt = true;
}

int
tx_count(const struct client *c)
{
	return c->tx != NULL && c->tx->multi ? (int)c->tx->n : -1;
}

size_t
tx_bytes(const struct client *c)
{
	const struct tx *t = c->tx;

	return t == NULL ? 0 : sizeof(*t) + t->text_bytes +
	    t->room * sizeof(*t->queue) +
	    t->watches_room * sizeof(*t->watched);
}

void
tx_free(struct client *c)
{
	struct tx *t = c->tx;

	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n; i++) {
		client_drop_args(c, &t->queue[i].args);
		resp_free_args(&t->queue[i].args);
	}
	for (size_t i = 0; i < t->watches; i++)
		blob_drop(&c->srv->blobs, t->watched[i].name);
	free(t->queue);
	free(t->watched);
	free(t);
	c->tx = NULL;
}

/* One more of them at *p, which has *room of size bytes each. */
static void *
grow(void *p, size_t n, size_t *room, size_t size)
{
	const size_t want = *room == 0 ? 8 : 2 * *room;
	void *q;

	if (n < *room)
		return p;
	q = realloc(p, want * size);
	if (q != NULL)
		*room = want;
	return q;
}

/* Its own, made if there is none; NULL: no memory, which is said. */
static struct tx *
own(struct client *c)
{
	if (c->tx == NULL)
		c->tx = calloc(1, sizeof(*c->tx));
	if (c->tx == NULL)
		reply_oom(c);
	return c->tx;
}

void
tx_queue(struct client *c, struct verb *verb, struct resp_args *a)
{
	struct tx *t = c->tx;
	struct queued *q = grow(t->queue, t->n, &t->room, sizeof(*q));

	if (q == NULL || !blobs_room(&c->srv->blobs, 0)) {
		if (q != NULL)
			t->queue = q;
		t->spoilt = true;
		reply_oom(c);
		return;
	}
	t->queue = q;
	t->queue[t->n++] = (struct queued){ verb, *a };
	t->text_bytes += resp_args_bytes(a);
	*a = (struct resp_args){ 0 };
	reply_status(c, "QUEUED");
}

static void
run_multi(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (tx_queues(c)) {
		reply_error(c, "ERR MULTI calls can not be nested");
		return;
	}
	if (own(c) == NULL)
		return;
	c->tx->multi = true;
	reply_status(c, "OK");
}

static void
run_discard(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (!tx_queues(c)) {
		reply_error(c, "ERR DISCARD without MULTI");
		return;
	}
	tx_free(c);
	reply_status(c, "OK");
}

/* Has a key that is watched changed since? */
static bool
disturbed(struct client *c)
{
	const struct tx *t = c->tx;

	for (size_t i = 0; i < t->watches; i++) {
		const struct watched *w = &t->watched[i];
		const struct key *k = keys_live(c->srv, w->name->bytes,
		    w->name->len);

		if ((k == NULL ? 0 : k->version) != w->version)
			return true;
	}
	return false;
}

static void
run_exec(struct client *c, const struct resp_args *a)
{
	struct tx *t = c->tx;

	(void)a;
	if (!tx_queues(c)) {
		reply_error(c, "ERR EXEC without MULTI");
		return;
	}
	if (t->spoilt) {
		reply_error(c, "EXECABORT Transaction discarded because of "
		    "previous errors.");
	} else if (disturbed(c)) {
		reply_nil_array(c);
	} else {
		t->running = true;
		reply_array(c, t->n);
		for (size_t i = 0; i < t->n; i++)
			command_call(c, t->queue[i].verb, &t->queue[i].args);
	}
	tx_free(c);
}

static void
run_watch(struct client *c, const struct resp_args *a)
{
	struct tx *t = own(c);

	if (t == NULL)
		return;
	if (t->multi) {
		reply_error(c, "ERR WATCH inside MULTI is not allowed");
		return;
	}
	for (size_t i = 1; i < a->n; i++) {
		const struct key *k = keys_at(c, a, i);
		struct watched *w = grow(t->watched, t->watches,
		    &t->watches_room, sizeof(*w));
		struct blob *name = w == NULL ? NULL : args_blob(c, a, i);

		if (w != NULL)
			t->watched = w;
		if (name == NULL) {
			reply_oom(c);
			return;
		}
		t->watched[t->watches++] = (struct watched){ name,
		    k == NULL ? 0 : k->version };
	}
	reply_status(c, "OK");
}

static void
run_unwatch(struct client *c, const struct resp_args *a)
{
	(void)a;
	if (!tx_running(c))
		tx_free(c);
	reply_status(c, "OK");
}

enum { AT_ONCE = COMMAND_AT_ONCE | COMMAND_FAST };

static const struct command commands[] = {
	{ "discard", 1, AT_ONCE, run_discard, "transactions",
	    "Discards a transaction.", .subs = NULL },
	{ "exec", 1, COMMAND_AT_ONCE, run_exec, "transactions",
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

const struct part tx_part = { .name = "transactions", .commands = commands };
