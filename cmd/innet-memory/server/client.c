/* client.c - a connected client: its state, and how it is parked and closed */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/transaction.h"

/* Bytes of replies that are not kept while memory is short. */
enum { LARGE_BYTES = 1 << 20 };

struct client *
client_new(struct server *srv, int fd, const char *addr)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->srv = srv;
	c->fd = fd;
	c->id = ++srv->next_id;
	c->since_ns = c->heard_ns = c->moved_ns = srv->now_ns;
	c->known = srv->password == NULL;
	c->last = "NULL";
	snprintf(c->addr, sizeof(c->addr), "%s", addr);
	return c;
}

/* What its buffers take now stands in the account. */
void
client_charge(struct client *c)
{
	struct blobs *bs = &c->srv->blobs;
	const size_t now = sizeof(*c) + resp_args_bytes(&c->in.args) +
	    c->rest_room + out_bytes(&c->out) + transaction_bytes(c->tx);

	blobs_give(bs, c->charged);
	blobs_force(bs, now);
	c->charged = now;
}

void
client_free(struct client *c)
{
	args_drop(&c->srv->blobs, &c->in.args);
	resp_free(&c->in);
	out_free(&c->out, &c->srv->blobs);
	transaction_free(&c->tx, &c->srv->blobs);
	free(c->rest);
	blobs_give(&c->srv->blobs, c->charged);
	if (c->fd != -1) {
		/* epoll would keep it while a child that saves has it open */
		epoll_ctl(c->srv->epoll, EPOLL_CTL_DEL, c->fd, NULL);
		close(c->fd);
	}
	free(c);
}

/*
 * It waits no more.  c->behind is left, for whoever goes along the row and
 * has just come to c.
 */
void
client_unpark(struct client *c)
{
	struct server *srv = c->srv;

	*(c->ahead != NULL ? &c->ahead->behind : &srv->parked_first) =
	    c->behind;
	*(c->behind != NULL ? &c->behind->ahead : &srv->parked_last) =
	    c->ahead;
	srv->parked--;
	c->retry = NULL;
}

void
client_kill(struct client *c, enum leaving why)
{
	if (c->dead)
		return;
	c->dead = true;
	c->leaving = why;
	if (c->retry != NULL)
		client_unpark(c);
}

void
client_leave(struct client *c, enum leaving why)
{
	if (c->leaving == LEAVING_NOT)
		c->leaving = why;
}

bool
client_owes(const struct client *c)
{
	const struct blobs *bs = &c->srv->blobs;

	return c->out.pending > c->srv->conf.output_bytes ||
	    (c->out.pending > LARGE_BYTES && bs->used > bs->limit / 4);
}

bool
client_park(struct client *c, uint64_t deadline_ns, client_retry *retry)
{
	struct server *srv = c->srv;

	if (transaction_running(c->tx) || c->fd == -1)
		return false;
	c->retry = retry;
	c->deadline_ns = deadline_ns;
	c->parked_seen = srv->changes;
	c->behind = NULL;
	c->ahead = srv->parked_last;
	*(c->ahead != NULL ? &c->ahead->behind : &srv->parked_first) = c;
	srv->parked_last = c;
	srv->parked++;
	return true;
}
