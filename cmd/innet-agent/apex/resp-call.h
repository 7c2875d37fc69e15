/*
 * resp-call.h - a client's connection to a server that speaks the Redis
 * protocol
 *
 * To send a request, call respcall_begin() with the number of its arguments and
 * then append the arguments one by one.  Several requests can be begun before
 * respcall_send() sends them all.  Arguments longer than RESPCALL_SMALL bytes
 * are not copied but borrowed until respcall_send() returns.  Replies arrive in
 * the order of the requests; read them element by element (resp-reply.h).  Long
 * bulks are read directly into the caller's memory.
 *
 * A function that fails returns false and leaves a line in c->why that names
 * the server and the operation.  The connection is then closed, and all calls
 * fail until it is opened again.  All requests of one respcall_send() must be
 * sent within timeout_ns.  Their replies must be complete within timeout_ns of
 * the first wait for a reply, even if data keep arriving.  No reply may exceed
 * most_bytes.  An error reply from the server is a reply like any other and
 * does not close the connection.  In all functions below, `what` names the
 * request in messages.  Only one thread may use a struct respcall, except for
 * respcall_abort().
 */
#ifndef INNET_AGENT_APEX_RESP_CALL_H
#define INNET_AGENT_APEX_RESP_CALL_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/decimal.h"
#include "cmd/innet-agent/apex/wait.h"
#include "common/wire/addr.h"
#include "cmd/innet-agent/apex/resp-reply.h"

enum {
	RESPCALL_BUFFER = 65536,
	RESPCALL_SMALL = 1024,	/* longest argument that is copied, in bytes */
	RESPCALL_IOV = 256	/* maximum number of pieces in one sendmsg() */
};
#define RESPCALL_MOST ((uint64_t)1 << 30)	/* limit on the size of a reply,
						 * in bytes */

/* A sequence of bytes that will be sent. */
struct respcall_piece {
	const void *p;		/* the bytes, borrowed; NULL: the bytes are in
				 * `scratch` */
	size_t at;		/* offset in scratch */
	size_t len;
};

struct respcall {
	/* The caller sets the following members before respcall_open(): */
	const char *name;	/* HOST:PORT, or a path that contains / */
	uint64_t timeout_ns;
	uint64_t most_bytes;	/* limit on the size of a reply, in bytes; 0:
				 * RESPCALL_MOST */
	/* If not NULL, all waits end when *stop is not 0. */
	const volatile sig_atomic_t *stop;
	bool asking;		/* send ASKING before each request, because a
				   node of a Redis Cluster requires it of a
				   client that was redirected */

	int fd;			/* -1 if closed */
	uint64_t deadline_ns;	/* time limit of the exchange; 0: no exchange
				 * has begun */
	bool moved;		/* a part of the exchange has already been
				 * transferred */
	struct respreply_in in;
	uint8_t *buffer;	/* RESPCALL_BUFFER bytes, owned */
	struct respcall_piece *piece;	/* owned */
	size_t pieces, room;
	char *scratch;		/* owned */
	size_t used, size;
	unsigned args;		/* number of arguments still missing in this
				 * request */
	bool starved;		/* no memory was available for a request */
	bool refused;		/* do not connect again: a reply was wrong or
				   late, or the address is invalid */
	char why[512];
};

/* Close the connection, set c->why and return false. */
__attribute__((format(printf, 2, 3))) static inline bool
respcall_fail(struct respcall *c, const char *fmt, ...);

/* Connect or reconnect; requests that were begun are discarded. */
static inline bool respcall_open(struct respcall *c);

/* Close the connection and free the memory. */
static inline void respcall_close(struct respcall *c);

/* Make all waits of c fail at once; this may be called from another thread. */
static inline void respcall_abort(const struct respcall *c);

/* Begin a request of `args` arguments, including the name of the command. */
static inline void respcall_begin(struct respcall *c, size_t args);

/* Append the next argument: len bytes, borrowed until respcall_send(). */
static inline void respcall_arg(struct respcall *c, const void *p, size_t len);

/* Append a word as the next argument. */
static inline void respcall_word(struct respcall *c, const char *word);

/* Append a whole number as the next argument. */
static inline void respcall_count(struct respcall *c, uint64_t n);

/* Append a number with nine significant digits as the next argument. */
static inline void respcall_real(struct respcall *c, double x);

/* Append a float, with all digits that identify it, as the next argument. */
static inline void respcall_float(struct respcall *c, float x);

/* Begin and complete a request that consists of words; NULL ends the list. */
static inline void respcall_words(struct respcall *c,
    const char *const word[]);

/* Send all requests that were begun. */
static inline bool respcall_send(struct respcall *c, const char *what);

/* Read the next element of a reply; replies to ASKING are skipped. */
static inline bool respcall_next(struct respcall *c, struct respreply *r,
    const char *what);

/*
 * Read the next element, which must be of the given kind.  Fail on an error
 * reply.
 */
static inline bool respcall_want(struct respcall *c, enum respreply_kind kind,
    struct respreply *r, const char *what);

/* Read the first len bytes of the current bulk's body into `to`. */
static inline bool respcall_body(struct respcall *c, void *to, size_t len,
    const char *what);

/* Skip the rest of the reply. */
static inline bool respcall_rest(struct respcall *c, const char *what);

/* implementation */

static inline bool
respcall_fail(struct respcall *c, const char *fmt, ...)
{
	const int n = snprintf(c->why, sizeof(c->why), "%s: ", c->name);
	va_list ap;

	va_start(ap, fmt);
	if (n > 0 && (size_t)n < sizeof(c->why))
		vsnprintf(c->why + n, sizeof(c->why) - (size_t)n, fmt, ap);
	va_end(ap);
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	return false;
}

/* Start the time limit of an exchange. */
static inline void
respcall_clock(struct respcall *c)
{
	c->deadline_ns = timer_after(timer_mono_ns(), c->timeout_ns);
	c->moved = false;
}

/*
 * Continue after a wait with the result rc.  Fail if the wait ended because of
 * the time limit or a signal.
 */
static inline bool
respcall_on(struct respcall *c, enum wait_result rc, const char *doing,
    const char *what)
{
	if (rc == WAIT_READY)
		return true;
	c->refused = true;
	if (rc == WAIT_STOP)
		return respcall_fail(c, "stopped while %s %s", doing, what);
	return respcall_fail(c, "%s %s: %s %g s", doing, what, c->moved ?
	    "still incomplete after" : "no progress for",
	    (double)c->timeout_ns * 1e-9);
}

/* Wait until the socket is ready for events.  Fail if the time limit passes. */
static inline bool
respcall_wait(struct respcall *c, short events, const char *doing,
    const char *what)
{
	struct pollfd p = { .fd = c->fd, .events = events };

	return respcall_on(c, wait_until(&p, 1, c->deadline_ns, c->stop), doing,
	    what);
}

/*
 * Set *to to the address of the server `name`.  Return the length of the
 * address, or 0 with the reason in *why.
 */
static inline socklen_t
respcall_address(const char *name, struct sockaddr_storage *to,
    const char **why)
{
	struct sockaddr_un *un = (struct sockaddr_un *)to;
	union addr at;

	memset(to, 0, sizeof(*to));
	*why = NULL;
	if (strchr(name, '/') != NULL) {
		un->sun_family = AF_UNIX;
		if (strlen(name) >= sizeof(un->sun_path))
			*why = "the path is too long";
		else
			memcpy(un->sun_path, name, strlen(name) + 1);
		return *why == NULL ? sizeof(*un) : 0;
	}
	*why = addr_parse(name, "6399", &at);
	if (*why != NULL)
		return 0;
	memcpy(to, &at, addr_len(&at));
	return addr_len(&at);
}

/* Connect the new socket. */
static inline bool
respcall_connect(struct respcall *c, const struct sockaddr_storage *to,
    socklen_t len)
{
	const int yes = 1;
	int bad = 0;
	socklen_t n = sizeof(bad);

	if (connect(c->fd, (const struct sockaddr *)to, len) == -1 &&
	    errno != EINPROGRESS)
		return respcall_fail(c, "%s", strerror(errno));
	if (!respcall_wait(c, POLLOUT, "waiting for", "a connection"))
		return false;
	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &bad, &n);
	if (bad != 0)
		return respcall_fail(c, "%s", strerror(bad));
	if (to->ss_family == AF_UNIX)
		return true;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (addr_is_loopback((const union addr *)to))	/* no pacing */
		setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	return true;
}

static inline bool
respcall_open(struct respcall *c)
{
	struct sockaddr_storage to;
	const char *why;
	socklen_t len;

	if (c->buffer == NULL)
		c->fd = -1;	/* only the first time */
	else if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	c->pieces = c->used = c->args = 0;
	c->starved = c->refused = false;
	if (c->buffer == NULL)
		c->buffer = malloc(RESPCALL_BUFFER);
	if (c->buffer == NULL)
		return respcall_fail(c, "out of memory");
	respreply_open(&c->in, c->buffer, RESPCALL_BUFFER);
	c->in.most = c->most_bytes != 0 ? c->most_bytes : RESPCALL_MOST;
	len = respcall_address(c->name, &to, &why);
	c->refused = len == 0;
	if (c->refused)
		return respcall_fail(c, "%s", why);
	respcall_clock(c);
	c->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (c->fd == -1)
		return respcall_fail(c, "socket: %s", strerror(errno));
	if (!respcall_connect(c, &to, len))
		return false;
	c->deadline_ns = 0;
	return true;
}

static inline void
respcall_close(struct respcall *c)
{
	if (c->buffer != NULL && c->fd != -1)
		close(c->fd);
	free(c->buffer);
	free(c->piece);
	free(c->scratch);
	c->buffer = NULL;
	c->piece = NULL;
	c->scratch = NULL;
	c->pieces = c->room = c->used = c->size = 0;
	c->fd = -1;
}

static inline void
respcall_abort(const struct respcall *c)
{
	shutdown(c->fd, SHUT_RDWR);
}

/* Make room for one more piece.  Return false if there is no memory. */
static inline bool
respcall_grow(struct respcall *c)
{
	const size_t room = 2 * c->room + 64;
	struct respcall_piece *more;

	if (c->pieces < c->room)
		return true;
	more = realloc(c->piece, room * sizeof(*more));
	if (more == NULL) {
		c->starved = true;
		return false;
	}
	c->piece = more;
	c->room = room;
	return true;
}

/* Append a copy of the bytes. */
static inline void
respcall_put(struct respcall *c, const void *p, size_t len)
{
	struct respcall_piece *last = c->pieces == 0 ? NULL :
	    &c->piece[c->pieces - 1];

	if (c->used + len > c->size) {
		const size_t size = 2 * c->size + len + 1024;
		char *more = realloc(c->scratch, size);

		if (more == NULL) {
			c->starved = true;
			return;
		}
		c->scratch = more;
		c->size = size;
	}
	if (last == NULL || last->p != NULL) {
		if (!respcall_grow(c))
			return;
		last = &c->piece[c->pieces++];
		*last = (struct respcall_piece){ .at = c->used };
	}
	if (len > 0)
		memcpy(c->scratch + c->used, p, len);
	c->used += len;
	last->len += len;
}

/* Append a line of RESP: its kind and a number. */
static inline void
respcall_line(struct respcall *c, char kind, size_t n)
{
	char line[32];
	char *p = line + sizeof(line);

	*--p = '\n';
	*--p = '\r';
	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	*--p = kind;
	respcall_put(c, p, (size_t)(line + sizeof(line) - p));
}

static inline void
respcall_begin(struct respcall *c, size_t args)
{
	assert(c->args == 0 && args > 0 && args <= INT32_MAX);
	c->args = (unsigned)args;
	if (c->asking)
		respcall_put(c, "*1\r\n$6\r\nASKING\r\n", 16);
	respcall_line(c, '*', args);
}

static inline void
respcall_arg(struct respcall *c, const void *p, size_t len)
{
	assert(c->args > 0);
	c->args--;
	respcall_line(c, '$', len);
	if (len <= RESPCALL_SMALL)
		respcall_put(c, p, len);
	else if (respcall_grow(c))
		c->piece[c->pieces++] = (struct respcall_piece){
		    .p = p, .len = len };
	respcall_put(c, "\r\n", 2);
}

static inline void
respcall_word(struct respcall *c, const char *word)
{
	respcall_arg(c, word, strlen(word));
}

static inline void
respcall_count(struct respcall *c, uint64_t n)
{
	char text[24];

	respcall_arg(c, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64,
	    n));
}

static inline void
respcall_real(struct respcall *c, double x)
{
	char text[40];

	respcall_arg(c, text, (size_t)snprintf(text, sizeof(text), "%.9g",
	    x));
}

static inline void
respcall_float(struct respcall *c, float x)
{
	char text[DECIMAL_TEXT];

	respcall_arg(c, text, decimal_put(text, x));
}

static inline void
respcall_words(struct respcall *c, const char *const word[])
{
	size_t n = 0;

	while (word[n] != NULL)
		n++;
	respcall_begin(c, n);
	for (size_t i = 0; i < n; i++)
		respcall_word(c, word[i]);
}

/*
 * Fill iov with the pieces, beginning with index `first`.  The first `gone`
 * bytes of these pieces have been sent already.
 */
static inline size_t
respcall_pieces(const struct respcall *c, size_t first, size_t gone,
    struct iovec *iov)
{
	size_t n = 0;

	for (; n < RESPCALL_IOV && first + n < c->pieces; n++) {
		const struct respcall_piece *q = &c->piece[first + n];
		const char *p = q->p != NULL ? q->p : c->scratch + q->at;
		const size_t skip = n == 0 ? gone : 0;

		iov[n] = (struct iovec){ (void *)(uintptr_t)(p + skip),
		    q->len - skip };
	}
	return n;
}

static inline bool
respcall_send(struct respcall *c, const char *what)
{
	struct iovec iov[RESPCALL_IOV];
	size_t at = 0, gone = 0;

	assert(c->args == 0);
	if (c->fd == -1)
		return false;
	if (c->starved)
		return respcall_fail(c, "out of memory for %s", what);
	respcall_clock(c);
	while (at < c->pieces) {
		const struct msghdr m = { .msg_iov = iov,
		    .msg_iovlen = respcall_pieces(c, at, gone, iov) };
		ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL);

		if (n == -1 && errno == EAGAIN) {
			if (!respcall_wait(c, POLLOUT, "sending", what))
				return false;
		} else if (n == -1 && errno != EINTR) {
			return respcall_fail(c, "sending %s: %s", what,
			    strerror(errno));
		}
		c->moved |= n > 0;
		for (gone += n > 0 ? (size_t)n : 0; at < c->pieces &&
		    gone >= c->piece[at].len; at++)
			gone -= c->piece[at].len;
	}
	c->pieces = c->used = 0;
	c->deadline_ns = 0;
	return true;
}

/*
 * Start the time limit before the first read, and check it before later reads.
 */
static inline bool
respcall_in_time(struct respcall *c, const char *what)
{
	enum wait_result rc = WAIT_READY;

	if (c->deadline_ns == 0)
		respcall_clock(c);
	else if (c->stop != NULL && *c->stop != 0)
		rc = WAIT_STOP;
	else if (timer_mono_ns() >= c->deadline_ns)
		rc = WAIT_DUE;
	return respcall_on(c, rc, "waiting for", what);
}

/*
 * Read once into the buffer.  If len is not 0, fill the len bytes at `to`
 * first.  Set *into to the number of bytes that were read into `to`.
 */
static inline bool
respcall_read(struct respcall *c, void *to, size_t len, size_t *into,
    const char *what)
{
	size_t room;
	uint8_t *p = respreply_room(&c->in, &room);
	struct iovec iov[2] = { { to, len }, { p, room } };
	ssize_t n;

	*into = 0;
	if (c->fd == -1 || !respcall_in_time(c, what))
		return false;
	n = len > 0 ? readv(c->fd, iov, 2) : read(c->fd, p, room);
	if (n == 0)
		return respcall_fail(c, "waiting for %s: the server closed the "
		    "connection", what);
	if (n == -1 && errno == EAGAIN)
		return respcall_wait(c, POLLIN, "waiting for", what);
	if (n == -1 && errno != EINTR)
		return respcall_fail(c, "waiting for %s: %s", what,
		    strerror(errno));
	if (n <= 0)
		return true;
	c->moved = true;
	*into = (size_t)n < len ? (size_t)n : len;
	if (*into > 0)
		respreply_past(&c->in, *into);
	c->in.have += (size_t)n - *into;
	return true;
}

/* Read the next element. */
static inline bool
respcall_element(struct respcall *c, struct respreply *r, const char *what)
{
	const char *why;
	size_t into;
	int got;

	if (c->fd == -1)
		return false;
	while ((got = respreply_next(&c->in, r, &why)) == 0) {
		if (!respcall_read(c, NULL, 0, &into, what))
			return false;
	}
	c->refused = got != 1;
	if (c->in.bytes > c->in.most)
		return respcall_fail(c, "waiting for %s: the reply has at "
		    "least %" PRIu64 " bytes, but the limit is %" PRIu64, what,
		    c->in.bytes, c->in.most);
	return got == 1 || respcall_fail(c, "waiting for %s: %s", what, why);
}

static inline bool
respcall_next(struct respcall *c, struct respreply *r, const char *what)
{
	if (c->asking && c->in.due == 0 && (!respcall_element(c, r, what) ||
	    r->kind == RESPREPLY_ERROR))
		return c->fd != -1 && respcall_fail(c, "%s: %s", what,
		    r->text);
	return respcall_element(c, r, what);
}

static inline bool
respcall_body(struct respcall *c, void *to, size_t len, const char *what)
{
	size_t done = 0, into;

	assert(len <= c->in.body);
	while (c->fd != -1) {
		char *p = (char *)to + done;

		done += respreply_body(&c->in, p, len - done);
		if (done == len)
			return true;
		p = (char *)to + done;
		if (!respcall_read(c, p, len - done < RESPCALL_BUFFER ? 0 :
		    len - done, &into, what))
			return false;
		done += into;
	}
	return false;
}

static inline bool
respcall_rest(struct respcall *c, const char *what)
{
	struct respreply r;

	while (c->in.due > 0) {
		if (!respcall_next(c, &r, what))
			return false;
	}
	return c->fd != -1;
}

static inline bool
respcall_want(struct respcall *c, enum respreply_kind kind,
    struct respreply *r, const char *what)
{
	if (!respcall_next(c, r, what))
		return false;
	c->refused = r->kind != kind;
	if (r->kind == RESPREPLY_ERROR && c->refused)
		return respcall_fail(c, "%s: %s", what, r->text);
	if (c->refused)
		return respcall_fail(c, "%s: an unexpected kind of answer",
		    what);
	return true;
}

#endif
