/* waiters.c - clients with a request that waits until a table changes */
#include <stdlib.h>

#include "cmd/innet-memory/module/request.h"
#include "cmd/innet-memory/module/waiters.h"

struct waiter {
	rm_blocked *blocked;
	waiters_retry *retry;
	const struct table_value *value;
	int db;
	bool answered;		/* the client was answered, or is about to be
				 * answered */
	struct waiter *next, **here;
};
static struct waiter *waiters;
/* value that is being removed, or NULL */
static const struct table_value *removing;

static void
free_waiter(struct rm_ctx *ctx, void *arg)
{
	struct waiter *w = arg;

	(void)ctx;
	*w->here = w->next;
	if (w->next != NULL)
		w->next->here = w->here;
	free(w);
}

static void
retry_request(struct client *c, const struct resp_args *a)
{
	const struct waiter *w = RM_GetBlockedClientPrivateData(c->ctx);

	c->waits = !w->retry(c, a, false);
}

static void
retry_late_request(struct client *c, const struct resp_args *a)
{
	const struct waiter *w = RM_GetBlockedClientPrivateData(c->ctx);

	w->retry(c, a, true);
}

static int
on_ready(struct rm_ctx *ctx, rm_string **v, int n)
{
	return request_run(ctx, v, n, retry_request);
}

static int
on_late(struct rm_ctx *ctx, rm_string **v, int n)
{
	return request_run(ctx, v, n, retry_late_request);
}

bool
waiters_add(struct client *c, uint64_t timeout_ms, waiters_retry *retry)
{
	struct waiter *w = malloc(sizeof(*w));

	if (w == NULL)
		return false;
	*w = (struct waiter){.retry = retry,
	    .value = c->value,
	    .next = waiters,
	    .here = &waiters,
	    .db = RM_GetSelectedDb(c->ctx)};
	if (w->next != NULL)
		w->next->here = &w->next;
	waiters = w;
	w->blocked = RM_BlockClientOnKeys(c->ctx, on_ready, on_late,
	    free_waiter, (long long)timeout_ms, &c->v[1], 1, w);
	return true;
}

bool
waiters_removing(void)
{
	return removing != NULL;
}

/*
 * Answer the clients for which matches() is true.  For each client, the server
 * calls on_late() immediately, and frees the waiter later in its event loop.
 */
static void
answer_waiters(const struct table_value *h,
    bool (*matches)(const struct waiter *w, const void *arg), const void *arg)
{
	const struct table_value *before = removing;
	struct waiter *next;

	for (struct waiter *w = waiters; w != NULL; w = next) {
		next = w->next;
		if (w->answered || !matches(w, arg))
			continue;
		w->answered = true;
		removing = h != NULL ? h : w->value;
		RM_UnblockClient(w->blocked, NULL);
	}
	removing = before;
}

static bool
waits_on_value(const struct waiter *w, const void *arg)
{
	return w->value == arg;
}

void
waiters_wake(const struct table_value *h)
{
	if (waiters != NULL)
		answer_waiters(h, waits_on_value, h);
}

static bool
waits_in_db(const struct waiter *w, const void *arg)
{
	const struct rm_flush *f = arg;

	return f->db == -1 || w->db == f->db;
}

void
waiters_flushed(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data)
{
	(void)ctx, (void)event;
	if (part == RM_FLUSHDB_START && data != NULL)
		answer_waiters(NULL, waits_in_db, data);
}

static bool
waits_in_either_db(const struct waiter *w, const void *arg)
{
	const struct rm_swap *s = arg;

	return w->db == s->db[0] || w->db == s->db[1];
}

void
waiters_swapped(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data)
{
	const struct rm_swap *s = data;

	(void)ctx, (void)event, (void)part;
	if (s != NULL && s->db[0] != s->db[1])
		answer_waiters(NULL, waits_in_either_db, s);
}
