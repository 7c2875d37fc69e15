/* client-io.c - receive requests, run them, send replies */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client-io.h"
#include "cmd/innet-memory/server/dispatch.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/server/stranger.h"
#include "cmd/innet-memory/store/frames.h"

enum {
	TAIL_BYTES = 512, /* number of bytes to receive after a bulk, for the
			   * line end of the bulk */
	TURN_NS = 2000000, /* time in a client's turn after which no command
			    * starts */
	NEAR_BYTES = 512 << 10,	/* limit on bytes to send in a client's turn, to
				 * this host */
	FAR_BYTES = 64 << 10,	/* limit on bytes to send in a client's turn, to
				 * other hosts */
	SPARE_BYTES = 4 << 20,	/* extra room for a request with many
				 * arguments */
	SMALL_BYTES = 16 << 10,	/* size of input that is kept even if memory is
				 * full */
	LARGE_BYTES = 1 << 20 /* size of replies kept even if memory is full */
};

/* Allocate a blob for the bulk that is beginning, or refuse the request. */
static void
place_bulk(struct client *c)
{
	/* leave room for a header, because the blob may become a frame */
	struct blob *b = blob_new_behind(&c->srv->account, sizeof(struct frame),
	    c->in.bulk_len);

	if (b == NULL) {
		args_drop(&c->srv->account, &c->in.args);
		resp_refuse_request(&c->in);
		return;
	}
	server_advise_heap(c->srv);
	resp_place_bulk(&c->in, b, b->bytes);
}

/* Drop the request that was run, and prepare for the next request. */
static void
finish_request(struct client *c)
{
	args_drop(&c->srv->account, &c->in.args);
	resp_finish_request(&c->in);
}

/* Return true if requests of the client may run now. */
static bool
may_run(const struct client *c)
{
	return !c->dead && c->disconnect == DISCONNECT_NONE &&
	       c->retry == NULL && !client_has_backlog(c);
}

/*
 * Return true if the client has used its share of time.  Its remaining requests
 * wait until all other clients have had a turn.
 */
static bool
turn_is_over(const struct client *c)
{
	return c->fd != -1 && c->srv->spent_ns >= TURN_NS;
}

/*
 * Begin a turn of the client.  If `turn` is false, replies are sent but no
 * requests may run.
 */
static void
begin_turn(struct client *c, bool turn)
{
	c->srv->spent_ns = turn ? 0 : TURN_NS;
	if (turn)
		c->turn_ns = c->srv->now_ns;
}

/* Keep input that cannot be processed yet; p may point into c->unread. */
static void
keep_unread(struct client *c, const uint8_t *p, size_t len)
{
	uint8_t *room = c->unread;

	if (len > c->unread_room) {
		room = malloc(len);
		if (room == NULL) {
			client_close_now(c, DISCONNECT_MEMORY);
			return;
		}
	}
	if (len > 0)
		memmove(room, p, len);
	if (room != c->unread)
		free(c->unread);
	if (room != c->unread)
		c->unread_room = len;
	c->unread = room;
	c->unread_len = len;
	if (len == 0 && c->unread_room > 0) {
		free(c->unread);
		c->unread = NULL;
		c->unread_room = 0;
	}
}

/* Limit the size of the next request to the memory that is left. */
static void
set_limits(struct client *c)
{
	const struct account *bs = &c->srv->account;
	const size_t want = SPARE_BYTES + 2 * c->charged;

	/* free removed keys first, so that they do not reduce the limit */
	if (lazy_free_is_pending(&c->srv->lazy_free))
		(void)account_has_room(bs, want < bs->limit ? want : bs->limit);
	c->in.keep_bytes = bs->used < bs->limit && c->authenticated ?
	    bs->limit - bs->used : 0;
	c->in.no_auth = !c->authenticated;
}

/* Close the client if its buffers are large while memory is full. */
static void
check_memory(struct client *c)
{
	const struct server *srv = c->srv;
	const bool full = !account_has_room(&srv->account, 0);

	if (c->out.bad || (full && (out_bytes(&c->out) > LARGE_BYTES ||
	    (!c->stalled && c->unread_room > SMALL_BYTES))))
		client_close_now(c, DISCONNECT_MEMORY);
	stranger_limit_memory(c->srv);
}

/* Continue the reply to a request that is answered in slices. */
static void
resume_request(struct client *c)
{
	const uint64_t from = timer_mono_ns();

	if (c->resume(c, &c->in.args)) {
		c->resume = NULL;
		finish_request(c);
	}
	c->srv->spent_ns += timer_mono_ns() - from;
	client_charge(c);
	check_memory(c);
}

void
client_feed(struct client *c, const uint8_t *p, size_t len)
{
	enum resp_end end = RESP_REQUEST;
	size_t took;

	while ((len > 0 || c->resume != NULL) && end != RESP_MORE &&
	       may_run(c) && !turn_is_over(c)) {
		if (c->resume != NULL) {
			resume_request(c);
			continue;
		}
		set_limits(c);
		end = resp_read(&c->in, p, len, &took);
		p += took;
		len -= took;
		if (end == RESP_PLACE)
			place_bulk(c);
		if (end == RESP_REQUEST) {
			command_run(c, &c->in.args);
			stranger_count_request(c);
			if (c->retry == NULL && c->resume == NULL)
				finish_request(c);
			client_charge(c);
			check_memory(c);
		}
		if (end == RESP_BAD) {
			reply_error(c, "%s", c->in.bad);
			client_close_after_reply(c, DISCONNECT_PROTOCOL);
		}
	}
	if (c->disconnect != DISCONNECT_NONE)
		len = 0;
	c->stalled = c->resume != NULL || (len > 0 && end != RESP_MORE);
	keep_unread(c, p, len);
	client_charge(c);
	check_memory(c);
}

/*
 * Tell epoll which events matter for this client now.  An unauthenticated
 * client that has closed its sending side still gets the delayed reply to a
 * wrong password.
 */
static void
update_epoll(struct client *c)
{
	unsigned want = c->out.pending > 0 ? EPOLLOUT : 0;
	struct epoll_event ev;

	if (c->dead || c->fd == -1)
		return;
	if (may_run(c) && !c->eof && !c->stalled)
		want |= EPOLLIN;
	else if (c->retry != NULL && !c->stranger) /* to notice a disconnect */
		want |= EPOLLRDHUP;
	if (want == c->epoll_events)
		return;
	ev = (struct epoll_event){ .events = want, .data.ptr = c };
	if (epoll_ctl(c->srv->epoll, EPOLL_CTL_MOD, c->fd, &ev) == -1)
		client_close_now(c, DISCONNECT_ERROR);
	c->epoll_events = want;
}

/* Close the connection without losing replies that the client has not read. */
static void
close_after_reply(struct client *c)
{
	struct server *srv = c->srv;

	/* if input is unread at close(), the kernel discards pending output */
	for (int i = 0; i < 16; i++) {
		if (recv(c->fd, srv->input, SERVER_IN_BYTES, MSG_DONTWAIT) <= 0)
			break;
	}
	client_close_now(c, c->disconnect);
}

/*
 * Send replies, and run requests that waited until replies were sent.  One call
 * sends at most FAR_BYTES over a network.  The kernel handles acknowledgements
 * during the call, so a larger call could last until the network has taken all
 * bytes.
 */
static void
send_and_run(struct client *c)
{
	const size_t most = c->remote ? FAR_BYTES : NEAR_BYTES;
	const uint64_t had = c->out.sent;

	do {
		if (c->stalled && may_run(c) && !turn_is_over(c))
			client_feed(c, c->unread, c->unread_len);
		if (!c->dead && c->out.pending > 0 && !out_send(&c->out,
		    &c->srv->account, c->fd, most))
			client_close_now(c, DISCONNECT_GONE);
	} while (c->stalled && may_run(c) && !turn_is_over(c));
	c->srv->turns_wanted |= c->stalled && may_run(c);
	if (c->out.sent != had) {
		c->srv->out_bytes += c->out.sent - had;
		c->progress_ns = c->srv->now_ns;
	}
	if (!c->dead && c->disconnect == DISCONNECT_NONE && c->eof)
		client_close_after_reply(c, DISCONNECT_GONE);
	if (!c->dead && c->disconnect != DISCONNECT_NONE && c->out.pending == 0)
		close_after_reply(c);
	client_charge(c); /* charge the buffers now, because nothing else may
			   * arrive */
	if (c->out.bad)
		client_close_now(c, DISCONNECT_MEMORY);
	update_epoll(c);
}

/*
 * Receive once and return the number of bytes.  The bytes of a bulk are stored
 * directly in its blob.  A client that sends megabytes delays the others by at
 * most SERVER_IN_BYTES.
 */
static ssize_t
receive_once(struct client *c)
{
	struct server *srv = c->srv;
	uint8_t *hole;
	const size_t all = resp_get_hole(&c->in, &hole);
	const size_t left = all < SERVER_IN_BYTES ? all : SERVER_IN_BYTES;
	const size_t had = all > 0 ? 0 : c->unread_len;
	const size_t free = c->stranger ? STRANGER_IN_BYTES :
	    SERVER_IN_BYTES - had;
	const size_t room = all > left ? 0 : all > 0 ? TAIL_BYTES : free;
	struct iovec v[] = { { hole, left }, { srv->input + had, room } };
	struct msghdr m = { .msg_iov = left > 0 ? v : v + 1,
	    .msg_iovlen = left > 0 && room > 0 ? 2 : 1 };
	const ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	size_t there;

	if (n <= 0)
		return n;
	there = (size_t)n < left ? (size_t)n : left;
	if (there > 0)
		resp_add_filled(&c->in, there);
	if (had > 0)
		memcpy(srv->input, c->unread, had);
	client_feed(c, srv->input, had + (size_t)n - there);
	return n;
}

void
client_readable(struct client *c)
{
	ssize_t n;

	begin_turn(c, !c->stalled);
	if (may_run(c) && !c->stalled) {
		n = receive_once(c);
		if (n == 0)
			c->eof = true;
		if (n == -1 && errno != EAGAIN && errno != EINTR)
			client_close_now(c, DISCONNECT_GONE);
		if (n > 0) {
			c->in_bytes += (size_t)n;
			c->srv->in_bytes += (size_t)n;
			c->received_ns = c->srv->now_ns;
		}
	}
	send_and_run(c);
}

void
client_writable(struct client *c)
{
	begin_turn(c, false);
	send_and_run(c);
}

void
client_take_turn(struct client *c)
{
	if (!c->stalled || !may_run(c))
		return;
	if (c->turn_ns == c->srv->now_ns) {
		/* try again in the next pass of the event loop */
		c->srv->turns_wanted = true;
		return;
	}
	begin_turn(c, true);
	send_and_run(c);
}

void
client_retry_parked(struct client *c, bool late)
{
	client_retry *retry = c->retry;

	begin_turn(c, false);	/* no requests may follow in this turn of the
				 * client */
	c->parked_seen = c->srv->changes;
	if (!retry(c, &c->in.args, late))
		return;
	client_unpark(c);
	finish_request(c);
	send_and_run(c);
}
