/* stranger.c - limits for clients that have not given the password yet */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/server/stranger.h"

/* Delay of the reply to the first wrong password. */
enum { GUESS_NS = 100000000 };

void
stranger_limit_memory(struct server *srv)
{
	while (srv->stranger_bytes > srv->account.limit / STRANGER_SHARE &&
	       stranger_evict(srv))
		;
}

/*
 * Close the socket immediately, so that another client can have the descriptor.
 * The client itself is freed at the end of this pass of the event loop.
 */
bool
stranger_evict(struct server *srv)
{
	static const char full[] = "-ERR max number of clients reached\r\n";
	struct client *c = srv->stranger_first;

	if (c == NULL)
		return false;
	client_close_now(c, DISCONNECT_AUTH);
	(void)send(c->fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	epoll_ctl(srv->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
	return true;
}

void
stranger_count_request(struct client *c)
{
	if (c->stranger && ++c->asked >= STRANGER_REQUESTS)
		client_close_after_reply(c, DISCONNECT_AUTH);
}

static void
reply_wrong(struct client *c)
{
	reply_error(c, "WRONGPASS invalid username-password pair or user is "
	    "disabled.");
	if (c->stranger && c->guesses >= STRANGER_GUESSES)
		client_close_after_reply(c, DISCONNECT_AUTH);
}

static bool
retry_wrong(struct client *c, const struct resp_args *a, bool late)
{
	(void)a;
	if (late)
		reply_wrong(c);
	return late;
}

void
stranger_refuse_password(struct client *c)
{
	c->srv->auth_failed++;
	if (!c->stranger || !client_park(c, timer_after(c->srv->now_ns,
	    (uint64_t)GUESS_NS << c->guesses++), retry_wrong))
		reply_wrong(c);
}

bool
stranger_is_late(const struct client *c)
{
	return c->stranger && c->srv->now_ns >= timer_after(c->stranger_ns,
	    c->srv->conf.auth_ns);
}
