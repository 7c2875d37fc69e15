/* client.c - a connected client: its state, and how it is parked and closed */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/transaction.h"

/*
 * While memory is short, a client that has more unread bytes of replies than
 * this must read them before its next requests run.
 */
enum { LARGE_BYTES = 1 << 20 };

void
client_begin_stranger(struct client *c)
{
	struct server *srv = c->srv;

	c->authenticated = srv->password == NULL;
	if (c->authenticated || c->stranger)
		return;
	c->stranger = true;
	c->stranger_ns = srv->now_ns;
	c->guesses = c->asked = 0;
	c->stranger_prev = srv->stranger_last;
	c->stranger_next = NULL;
	*(c->stranger_prev != NULL ? &c->stranger_prev->stranger_next :
	    &srv->stranger_first) = c;
	srv->stranger_last = c;
	srv->strangers++;
	srv->stranger_bytes += c->charged;
}

void
client_end_stranger(struct client *c)
{
	struct server *srv = c->srv;

	if (!c->stranger)
		return;
	c->stranger = false;
	*(c->stranger_prev != NULL ? &c->stranger_prev->stranger_next :
	    &srv->stranger_first) = c->stranger_next;
	*(c->stranger_next != NULL ? &c->stranger_next->stranger_prev :
	    &srv->stranger_last) = c->stranger_prev;
	srv->strangers--;
	srv->stranger_bytes -= c->charged;
}

struct client *
client_new(struct server *srv, int fd, const char *addr)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->srv = srv;
	c->fd = fd;
	c->id = ++srv->next_id;
	c->connected_ns = c->received_ns = c->progress_ns = srv->now_ns;
	client_begin_stranger(c);
	c->last_command = "NULL";
	snprintf(c->addr, sizeof(c->addr), "%s", addr);
	return c;
}

void
client_charge(struct client *c)
{
	struct account *bs = &c->srv->account;
	const size_t now = sizeof(*c) + resp_args_bytes(&c->in.args) +
			   c->unread_room + out_bytes(&c->out) +
			   transaction_bytes(c->transaction);
	const size_t had = c->charged;

	account_uncharge(bs, c->charged);
	account_force(bs, now);
	c->charged = now;
	c->out.most = out_bytes(&c->out) + (bs->used < bs->limit ?
	    bs->limit - bs->used : 0);
	if (c->out.most < LARGE_BYTES)
		c->out.most = LARGE_BYTES;
	if (c->stranger)
		c->srv->stranger_bytes += now - had;
}

void
client_free(struct client *c)
{
	client_end_stranger(c);
	args_drop(&c->srv->account, &c->in.args);
	resp_free(&c->in);
	out_free(&c->out, &c->srv->account);
	transaction_free(&c->transaction, &c->srv->account);
	free(c->unread);
	account_uncharge(&c->srv->account, c->charged);
	if (c->fd != -1) {
		/*
		 * needed because epoll keeps a socket that is still open in a
		 * child process that saves the keys
		 */
		epoll_ctl(c->srv->epoll, EPOLL_CTL_DEL, c->fd, NULL);
		close(c->fd);
	}
	free(c);
}

/* Leave c->parked_next as it is, because retry_parked() may be visiting c. */
void
client_unpark(struct client *c)
{
	struct server *srv = c->srv;

	*(c->parked_prev != NULL ? &c->parked_prev->parked_next :
	    &srv->parked_first) = c->parked_next;
	*(c->parked_next != NULL ? &c->parked_next->parked_prev :
	    &srv->parked_last) = c->parked_prev;
	srv->parked--;
	c->retry = NULL;
}

void
client_close_now(struct client *c, enum disconnect_reason why)
{
	if (c->dead)
		return;
	c->dead = true;
	c->disconnect = why;
	c->srv->dead++;
	client_end_stranger(c);
	if (c->retry != NULL)
		client_unpark(c);
}

void
client_close_after_reply(struct client *c, enum disconnect_reason why)
{
	if (c->disconnect == DISCONNECT_NONE)
		c->disconnect = why;
}

bool
client_has_backlog(const struct client *c)
{
	const struct account *bs = &c->srv->account;

	if (c->resume != NULL && c->out.pending > CLIENT_RESUME_BYTES)
		return true;
	if (c->stranger && c->out.pending > CLIENT_STRANGER_OUT_BYTES)
		return true;
	return c->out.pending > c->srv->conf.output_bytes ||
	    (c->out.pending > LARGE_BYTES && bs->used > bs->limit / 4);
}

bool
client_reply_in_slices(struct client *c, const struct resp_args *a,
    client_resume *resume)
{
	if (transaction_is_running(c->transaction) || a != &c->in.args)
		return false;
	c->resume = resume;
	c->resume_at = 0;
	return true;
}

bool
client_park(struct client *c, uint64_t deadline_ns, client_retry *retry)
{
	struct server *srv = c->srv;

	if (transaction_is_running(c->transaction) || c->fd == -1)
		return false;
	c->retry = retry;
	c->deadline_ns = deadline_ns;
	c->parked_seen = srv->changes;
	c->parked_next = NULL;
	c->parked_prev = srv->parked_last;
	*(c->parked_prev != NULL ? &c->parked_prev->parked_next :
	    &srv->parked_first) = c;
	srv->parked_last = c;
	srv->parked++;
	return true;
}
