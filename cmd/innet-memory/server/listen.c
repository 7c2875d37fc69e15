/* listen.c - the sockets on which clients connect */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/atomic-file.h"
#include "common/base/message.h"

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/listen.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/server/stranger.h"

enum { BACKLOG = 511, ACCEPTS = 64 };

static const char full[] = "-ERR max number of clients reached\r\n";

static void
set_socket_option(int fd, int level, int name, int value)
{
	/*
	 * ignore errors, because the connection also works without the option
	 */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/*
 * Send without delay.  Within this machine, also use Reno instead of BBR.  BBR
 * spaces out the packets, so that 42.7 MB take twice as long.
 */
static void
tune_socket(int fd, const union addr *peer)
{
	set_socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_socket_option(
	    fd, SOL_SOCKET, SO_KEEPALIVE, 1); /* this detects hosts that have
					       * vanished */
	set_socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 300);
	set_socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 100);
	set_socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	if (addr_is_loopback(peer))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* Make room for one more client in srv->client. */
static bool
reserve_client(struct server *srv)
{
	const size_t room = srv->clients_room == 0 ? 64 :
	    2 * srv->clients_room;
	struct client **p;

	if (srv->clients < srv->clients_room)
		return true;
	p = realloc(srv->client, room * sizeof(*p));
	if (p == NULL)
		return false;
	srv->client = p;
	srv->clients_room = room;
	return true;
}

/*
 * Return true if there is room for one more client.  If necessary, disconnect
 * an unauthenticated client to make room.
 */
static bool
find_place(struct server *srv)
{
	return (srv->clients - srv->dead < srv->conf.clients ||
	    stranger_evict(srv)) && reserve_client(srv);
}

/*
 * Add a client that has connected; `far` is true if the client's address is not
 * a loopback address.
 */
static void
add_client(struct server *srv, int fd, const char *addr, bool far)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct client *c;

	if (!find_place(srv) || (c = client_new(srv, fd, addr)) == NULL) {
		srv->refused++;
		(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL |
		    MSG_DONTWAIT);
		close(fd);
		return;
	}
	ev.data.ptr = c;
	if (epoll_ctl(srv->epoll, EPOLL_CTL_ADD, fd, &ev) == -1) {
		srv->refused++;
		client_free(c);
		return;
	}
	c->epoll_events = EPOLLIN;
	c->remote = far;
	c->at = srv->clients;
	srv->client[srv->clients++] = c;
	if (srv->clients > srv->clients_peak)
		srv->clients_peak = srv->clients;
	srv->accepted++;
	if (srv->conf.verbose)
		warnx("client %llu connected from %s",
		    (unsigned long long)c->id, addr);
}

/* Start or stop accepting clients. */
static void
set_listening(struct server *srv, bool yes)
{
	for (int i = 0; i < SERVER_LISTENERS; i++) {
		struct event_source *w = &srv->listener[i];
		struct epoll_event ev = { .events = yes ? EPOLLIN : 0,
		    .data.u64 = (uintptr_t)w | 1 };

		if (w->fd != -1)
			epoll_ctl(srv->epoll, EPOLL_CTL_MOD, w->fd, &ev);
	}
	srv->accept_paused = !yes;
}

static int
open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void
listen_again(struct server *srv)
{
	if (!srv->accept_paused)
		return;
	if (srv->spare_fd == -1)
		srv->spare_fd = open_spare();
	set_listening(srv, true);
}

/*
 * Handle an error of accept(); return true if the caller should try again.  If
 * no descriptor is left, disconnect an unauthenticated client and use its
 * descriptor.  If there is no unauthenticated client, close the spare
 * descriptor, and use it to tell the next client that the server is full.
 * Otherwise the client would wait, and epoll would wake the server again and
 * again.  If there is no spare descriptor either, stop accepting clients for a
 * while.
 */
static bool
handle_accept_error(struct server *srv, struct event_source *w)
{
	bool none;
	int fd;

	if (errno == EINTR || errno == ECONNABORTED)
		return true;
	if (errno != EMFILE && errno != ENFILE && errno != ENOMEM &&
	    errno != ENOBUFS)
		return false;
	if ((errno == EMFILE || errno == ENFILE) && stranger_evict(srv))
		return true;
	if (srv->spare_fd != -1)
		close(srv->spare_fd);
	fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	none = fd == -1 && errno != EAGAIN;
	if (fd != -1) {
		srv->refused++;
		(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL |
		    MSG_DONTWAIT);
		close(fd);
	}
	srv->spare_fd = open_spare();
	if (none || srv->spare_fd == -1)
		set_listening(srv, false);
	return fd != -1;
}

static const char denied[] = "-DENIED without a password this server accepts "
    "only clients on its own machine; start it with --password-file, --allow "
    "or --insecure\r\n";

/*
 * Refuse a client on another machine if nothing protects the server, and tell
 * the client the reason.
 */
static bool
deny_remote(struct server *srv, int fd, const union addr *a, const char *name)
{
	if (addr_is_loopback(a) || srv->password != NULL ||
	    srv->conf.insecure || srv->conf.allow.n > 0)
		return false;
	srv->refused++;
	(void)send(fd, denied, sizeof(denied) - 1, MSG_NOSIGNAL |
	    MSG_DONTWAIT);
	close(fd);
	if (srv->conf.verbose)
		fprintf(stderr, "innet-memory: denied a client at %s\n", name);
	return true;
}

/*
 * Close the connection of a client outside the networks of --allow, without a
 * reply.
 */
static void
reject_client(struct server *srv, int fd, const char *addr)
{
	srv->refused++;
	close(fd);
	if (srv->conf.verbose)
		fprintf(stderr, "innet-memory: refused a client at %s, which "
		    "is not in --allow\n", addr);
}

static void
accept_tcp(struct server *srv, struct event_source *w)
{
	char name[ADDR_NAME_BYTES];

	for (int i = 0; i < ACCEPTS; i++) {
		union addr a = { 0 };
		socklen_t len = sizeof(a);
		const int fd = accept4(w->fd, &a.sa, &len, SOCK_NONBLOCK |
		    SOCK_CLOEXEC);

		if (fd == -1 && handle_accept_error(srv, w))
			continue;
		if (fd == -1)
			return;
		if (!networks_allow(&srv->conf.allow, &a)) {
			reject_client(srv, fd, addr_print(&a, name));
			continue;
		}
		if (deny_remote(srv, fd, &a, addr_print(&a, name)))
			continue;
		tune_socket(fd, &a);
		add_client(srv, fd, addr_print(&a, name),
		    !addr_is_loopback(&a));
	}
}

static void
accept_unix(struct server *srv, struct event_source *w)
{
	char name[CLIENT_ADDR_BYTES];

	snprintf(name, sizeof(name), "%s:0", srv->conf.unix_path);
	for (int i = 0; i < ACCEPTS; i++) {
		const int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK |
		    SOCK_CLOEXEC);

		if (fd == -1 && handle_accept_error(srv, w))
			continue;
		if (fd == -1)
			return;
		add_client(srv, fd, name, false);
	}
}

/* Return true if another program accepts connections on the Unix socket. */
static bool
socket_is_served(const struct sockaddr_un *un)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool yes = fd != -1 && (connect(fd, (const void *)un,
	    sizeof(*un)) == 0 || errno == EAGAIN);

	if (fd != -1)
		close(fd);
	return yes;
}

static void
open_unix(struct server *srv, struct event_source *w)
{
	const char *path = srv->conf.unix_path;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(path) >= sizeof(un.sun_path))
		errx(1, "%s: the path is too long for a socket; the limit is "
		    "%zu bytes",
		    path, sizeof(un.sun_path) - 1);
	strcpy(un.sun_path, path);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			errx(1, "%s: a file with this name exists and is not a "
			    "socket",
			    path);
		if (socket_is_served(&un))
			errx(1, "%s: another program listens on this socket",
			    path);
		if (unlink(path) == -1)
			err(1, "%s", path);
	}
	w->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	w->ready = accept_unix;
	if (w->fd == -1 || bind(w->fd, (void *)&un, sizeof(un)) == -1 ||
	    listen(w->fd, BACKLOG) == -1 || !server_add_source(srv, w))
		err(1, "%s", path);
}

static void
open_tcp(struct server *srv, struct event_source *w)
{
	union addr *a = &srv->conf.listen;
	char name[ADDR_NAME_BYTES];
	socklen_t len = sizeof(*a);
	struct atomic_file file;

	w->fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0);
	w->ready = accept_tcp;
	if (w->fd == -1)
		err(1, "%s", addr_print(a, name));
	set_socket_option(w->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(w->fd, &a->sa, addr_len(a)) == -1 || listen(w->fd,
	    BACKLOG) == -1 || getsockname(w->fd, &a->sa, &len) == -1 ||
	    !server_add_source(srv, w))
		err(1, "%s", addr_print(a, name));
	srv->port = addr_port(a);
	if (srv->conf.port_file != NULL && (atomic_file_open(&file,
	    srv->conf.port_file) == -1 ||
	    atomic_file_close(&file, dprintf(file.fd,
	    "%d\n", srv->port) > 0) == -1))
		err(1, "%s", srv->conf.port_file);
	fprintf(stderr, "listening on %s\n", addr_print(a, name));
	if (addr_is_loopback(a) || srv->password != NULL)
		return;
	if (srv->conf.insecure || srv->conf.allow.n > 0)
		warnx("%s: every host that can reach this address can read and "
		    "write the data; give --password-file, or listen on "
		    "127.0.0.1",
		    addr_print(a, name));
	else
		warnx("%s: clients on other machines are denied; give "
		    "--password-file, --allow or --insecure to serve them",
		    addr_print(a, name));
}

void
listen_open(struct server *srv)
{
	struct event_source *w = srv->listener;

	srv->spare_fd = open_spare();
	if (srv->conf.unix_path != NULL)
		open_unix(srv, &w[1]);
	if (!srv->conf.no_tcp) {
		open_tcp(srv, &w[0]);
	} else {
		fputs("listening on ", stderr);
		message_put(stderr, srv->conf.unix_path);
		fputc('\n', stderr);
	}
}

void
listen_close(struct server *srv)
{
	for (int i = 0; i < SERVER_LISTENERS; i++)
		server_remove_source(srv, &srv->listener[i]);
	if (srv->spare_fd != -1)
		close(srv->spare_fd);
	if (srv->conf.unix_path != NULL)
		unlink(srv->conf.unix_path);
}
