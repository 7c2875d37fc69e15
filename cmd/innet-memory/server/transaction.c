/* transaction.c - the requests that a client queues and its watched keys */
#include <stdlib.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/transaction.h"

bool
transaction_is_queueing(const struct transaction *t)
{
	return t != NULL && t->multi && !t->running;
}

bool
transaction_is_running(const struct transaction *t)
{
	return t != NULL && t->running;
}

void
transaction_spoil(struct transaction *t)
{
	if (transaction_is_queueing(t))
		t->spoilt = true;
}

int
transaction_length(const struct transaction *t)
{
	return t != NULL && t->multi ? (int)t->n : -1;
}

size_t
transaction_bytes(const struct transaction *t)
{
	return t == NULL ? 0 : sizeof(*t) + t->text_bytes +
	    t->room * sizeof(*t->queue) +
	    t->watches_room * sizeof(*t->watched);
}

void
transaction_free(struct transaction **at, struct account *bs)
{
	struct transaction *t = *at;

	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n; i++) {
		args_drop(bs, &t->queue[i].args);
		resp_free_args(&t->queue[i].args);
	}
	for (size_t i = 0; i < t->watches; i++)
		blob_drop(bs, t->watched[i].name);
	free(t->queue);
	free(t->watched);
	free(t);
	*at = NULL;
}

/*
 * Make room in the array p for another entry after n entries of `size` bytes
 * each.  Return NULL if there is no memory.
 */
static void *
grow_array(void *p, size_t n, size_t *room, size_t size)
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

bool
transaction_queue(struct transaction *t, struct command_entry *verb,
    struct resp_args *a)
{
	struct queued_request *q = grow_array(t->queue, t->n, &t->room,
	    sizeof(*q));

	if (q == NULL)
		return false;
	t->queue = q;
	t->queue[t->n++] = (struct queued_request){ verb, *a };
	t->text_bytes += resp_args_bytes(a);
	*a = (struct resp_args){ 0 };
	return true;
}

bool
transaction_watch(struct transaction *t, struct blob *name, uint64_t version)
{
	struct watched_key *w = grow_array(t->watched, t->watches,
	    &t->watches_room, sizeof(*w));

	if (w == NULL)
		return false;
	t->watched = w;
	t->watched[t->watches++] = (struct watched_key){ name, version };
	return true;
}
