/* client-io.c - receive requests, run them, send replies */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client-io.h"
#include "cmd/innet-memory/server/dispatch.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/store/frames.h"

enum {
	TAIL_BYTES = 512,	/* read past a bulk: its end, what follows */
	TURN_NS = 2000000,	/* of commands of one client, and one more */
	NEAR_BYTES = 512 << 10,	/* sent in a turn to one on this machine */
	FAR_BYTES = 64 << 10,	/* ... and to another machine */
	SPARE_BYTES = 4 << 20,	/* for a request of many arguments */
	SMALL_BYTES = 16 << 10,	/* kept of a line, whatever memory is left */
	LARGE_BYTES = 1 << 20	/* of replies, not kept when there is none */
};

/* A place for a bulk, or the request is refused. */
static void
place(struct client *c)
{
	/* it may become a frame */
	struct blob *b = blob_new_behind(&c->srv->blobs, sizeof(struct frame),
	    c->in.bulk_len);

	if (b == NULL) {
		args_drop(&c->srv->blobs, &c->in.args);
		resp_refuse(&c->in);
		return;
	}
	server_heap(c->srv);
	resp_place(&c->in, b, b->bytes);
}

/* Done with the request that stands. */
static void
next(struct client *c)
{
	args_drop(&c->srv->blobs, &c->in.args);
	resp_next(&c->in);
}

/* May requests of it be run now? */
static bool
runs(const struct client *c)
{
	return !c->dead && c->leaving == LEAVING_NOT && c->retry == NULL &&
	    !client_owes(c);
}

/*
 * Has it had its turn?  What it has sent besides waits until all others have
 * had theirs.
 */
static bool
had_turn(const struct client *c)
{
	return c->fd != -1 && c->srv->spent_ns >= TURN_NS;
}

/* It has a turn, or it has had one and only sends what there is. */
static void
begin_turn(struct client *c, bool turn)
{
	c->srv->spent_ns = turn ? 0 : TURN_NS;
	if (turn)
		c->turn_ns = c->srv->now_ns;
}

/* Keep what cannot be read yet; it may stand in c->rest. */
static void
keep(struct client *c, const uint8_t *p, size_t len)
{
	uint8_t *room = c->rest;

	if (len > c->rest_room) {
		room = malloc(len);
		if (room == NULL) {
			client_kill(c, LEAVING_MEMORY);
			return;
		}
	}
	if (len > 0)
		memmove(room, p, len);
	if (room != c->rest)
		free(c->rest);
	if (room != c->rest)
		c->rest_room = len;
	c->rest = room;
	c->rest_len = len;
	if (len == 0 && c->rest_room > 0) {
		free(c->rest);
		c->rest = NULL;
		c->rest_room = 0;
	}
}

/* Requests that may be kept grow with the memory that is left. */
static void
set_limits(struct client *c)
{
	const struct blobs *bs = &c->srv->blobs;
	const size_t want = SPARE_BYTES + 2 * c->charged;

	/* what was removed must not make a request too large */
	if (lazy_free_is_pending(&c->srv->lazy_free))
		(void)blobs_room(bs, want < bs->limit ? want : bs->limit);
	c->in.keep_bytes = bs->used < bs->limit ? bs->limit - bs->used : 0;
	c->in.stranger = !c->known;
}

/* What it makes us keep must not be without end. */
static void
check_memory(struct client *c)
{
	const struct server *srv = c->srv;
	const bool full = !blobs_room(&srv->blobs, 0);

	if (c->out.bad || (full && (out_bytes(&c->out) > LARGE_BYTES ||
	    (!c->stalled && c->rest_room > SMALL_BYTES))))
		client_kill(c, LEAVING_MEMORY);
}

void
client_feed(struct client *c, const uint8_t *p, size_t len)
{
	enum resp_end end = RESP_REQUEST;
	size_t took;

	while (len > 0 && end != RESP_MORE && runs(c) && !had_turn(c)) {
		set_limits(c);
		end = resp_read(&c->in, p, len, &took);
		p += took;
		len -= took;
		if (end == RESP_PLACE)
			place(c);
		if (end == RESP_REQUEST) {
			command_run(c, &c->in.args);
			if (c->retry == NULL)
				next(c);
			client_charge(c);
			check_memory(c);
		}
		if (end == RESP_BAD) {
			reply_error(c, "%s", c->in.bad);
			client_leave(c, LEAVING_PROTOCOL);
		}
	}
	if (c->leaving != LEAVING_NOT)
		len = 0;
	c->stalled = len > 0 && end != RESP_MORE;
	keep(c, p, len);
	client_charge(c);
	check_memory(c);
}

/* Ask epoll for what matters now. */
static void
watch(struct client *c)
{
	unsigned want = c->out.pending > 0 ? EPOLLOUT : 0;
	struct epoll_event ev;

	if (c->dead || c->fd == -1)
		return;
	if (runs(c) && !c->eof && !c->stalled)
		want |= EPOLLIN;
	else if (c->retry != NULL)	/* one that has gone need not wait */
		want |= EPOLLRDHUP;
	if (want == c->watching)
		return;
	ev = (struct epoll_event){ .events = want, .data.ptr = c };
	if (epoll_ctl(c->srv->epoll, EPOLL_CTL_MOD, c->fd, &ev) == -1)
		client_kill(c, LEAVING_ERROR);
	c->watching = want;
}

/* It has been answered: close, but let it read the answer first. */
static void
part_with(struct client *c)
{
	struct server *srv = c->srv;

	/* unread input would make the kernel forget what it has yet to send */
	for (int i = 0; i < 16; i++) {
		if (recv(c->fd, srv->in, SERVER_IN_BYTES, MSG_DONTWAIT) <= 0)
			break;
	}
	client_kill(c, c->leaving);
}

/*
 * Send what goes, and run what waited for that.  Over a link a call with more
 * than FAR_BYTES can last until that has taken it all, for acknowledgements
 * that come meanwhile are worked off before it is done.
 */
static void
flush(struct client *c)
{
	const size_t most = c->far ? FAR_BYTES : NEAR_BYTES;
	const uint64_t had = c->out.sent;

	do {
		if (c->stalled && runs(c) && !had_turn(c))
			client_feed(c, c->rest, c->rest_len);
		if (!c->dead && c->out.pending > 0 && !out_flush(&c->out,
		    &c->srv->blobs, c->fd, most))
			client_kill(c, LEAVING_GONE);
	} while (c->stalled && runs(c) && !had_turn(c));
	c->srv->more |= c->stalled && runs(c);
	if (c->out.sent != had) {
		c->srv->out_bytes += c->out.sent - had;
		c->moved_ns = c->srv->now_ns;
	}
	if (!c->dead && c->leaving == LEAVING_NOT && c->eof)
		client_leave(c, LEAVING_GONE);
	if (!c->dead && c->leaving != LEAVING_NOT && c->out.pending == 0)
		part_with(c);
	client_charge(c); /* also of those who have read all and ask no more */
	if (c->out.bad)
		client_kill(c, LEAVING_MEMORY);
	watch(c);
}

/*
 * Read once, a bulk straight to its place; the bytes that came.  Of a client
 * that sends megabytes others who ask for little see SERVER_IN_BYTES at most.
 */
static ssize_t
receive(struct client *c)
{
	struct server *srv = c->srv;
	uint8_t *hole;
	const size_t all = resp_hole(&c->in, &hole);
	const size_t left = all < SERVER_IN_BYTES ? all : SERVER_IN_BYTES;
	const size_t had = all > 0 ? 0 : c->rest_len;
	const size_t free = SERVER_IN_BYTES - had;
	const size_t room = all > left ? 0 : all > 0 ? TAIL_BYTES : free;
	struct iovec v[] = { { hole, left }, { srv->in + had, room } };
	struct msghdr m = { .msg_iov = left > 0 ? v : v + 1,
	    .msg_iovlen = left > 0 && room > 0 ? 2 : 1 };
	const ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	size_t there;

	if (n <= 0)
		return n;
	there = (size_t)n < left ? (size_t)n : left;
	if (there > 0)
		resp_filled(&c->in, there);
	if (had > 0)
		memcpy(srv->in, c->rest, had);
	client_feed(c, srv->in, had + (size_t)n - there);
	return n;
}

void
client_readable(struct client *c)
{
	ssize_t n;

	begin_turn(c, !c->stalled);
	if (runs(c) && !c->stalled) {
		n = receive(c);
		if (n == 0)
			c->eof = true;
		if (n == -1 && errno != EAGAIN && errno != EINTR)
			client_kill(c, LEAVING_GONE);
		if (n > 0) {
			c->in_bytes += (size_t)n;
			c->srv->in_bytes += (size_t)n;
			c->heard_ns = c->srv->now_ns;
		}
	}
	flush(c);
}

void
client_writable(struct client *c)
{
	begin_turn(c, false);
	flush(c);
}

void
client_go_on(struct client *c)
{
	if (!c->stalled || !runs(c))
		return;
	if (c->turn_ns == c->srv->now_ns) {
		c->srv->more = true;	/* in the next turn of the loop */
		return;
	}
	begin_turn(c, true);
	flush(c);
}

void
client_retry_parked(struct client *c, bool late)
{
	client_retry *retry = c->retry;

	begin_turn(c, false);	/* this is one, however long it takes */
	c->parked_seen = c->srv->changes;
	if (!retry(c, &c->in.args, late))
		return;
	client_unpark(c);
	next(c);
	flush(c);
}
