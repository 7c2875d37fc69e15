/*
 * client.h - one who is connected: requests in, replies out
 *
 * How to write a command's function, run(c, a): a has its arguments (args.h),
 * and it answers by the functions of reply.h.  To keep an argument,
 * args_blob() gives a blob with one more holder.  c->srv is the server, with
 * all there is.
 *
 * What it cannot answer now it may park: see client_park().
 */
#ifndef INNET_MEMORY_SERVER_CLIENT_H
#define INNET_MEMORY_SERVER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-memory/store/blob.h"
#include "cmd/innet-memory/server/resp.h"

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/server/out.h"

struct server;
struct client;

/* Why clients are disconnected by us; the last is their own doing. */
enum leaving {
	LEAVING_NOT, LEAVING_QUIT, LEAVING_KILLED, LEAVING_PROTOCOL,
	LEAVING_OUTPUT, LEAVING_STUCK, LEAVING_IDLE, LEAVING_MEMORY,
	LEAVING_HTTP, LEAVING_SHUTDOWN, LEAVING_ERROR, LEAVING_GONE,
	LEAVING_KINDS
};

extern const char *const leaving_names[LEAVING_KINDS];

/*
 * A parked request's function: answer it and return true, or return false to
 * go on waiting.  late: the time is over, so it must answer.
 */
typedef bool client_retry(struct client *c, const struct resp_args *a,
    bool late);

enum { CLIENT_NAME_BYTES = 128, CLIENT_ADDR_BYTES = 120 };

struct client {
	struct server *srv;
	int fd;				/* -1: none, as in tests */
	uint64_t id;
	size_t at;			/* in srv->client */
	struct resp in;
	uint8_t *rest;			/* input that waits */
	size_t rest_len, rest_room;
	struct out out;
	size_t charged;			/* in the account, for its buffers */
	uint64_t since_ns;		/* connected, monotonic */
	uint64_t heard_ns;		/* last time something came */
	uint64_t moved_ns;		/* last time something went out */
	uint64_t turn_ns;		/* srv->now_ns of its last turn */
	int queued;			/* bytes with the kernel then */
	uint64_t commands, in_bytes, errors;
	unsigned watching;		/* epoll events asked for */
	enum leaving leaving;		/* goes when all is sent */
	bool dead;			/* goes at once */
	bool stalled;			/* rest could be read, but not run */
	bool eof;			/* it will send no more */
	bool far;			/* on another machine, or maybe */
	bool known;			/* has given the password */
	bool no_evict;
	bool resp3;			/* what it speaks, or RESP2 */
	const char *last;		/* name of its last command */
	struct tx *tx;			/* MULTI and WATCH; NULL: neither */
	client_retry *retry;		/* it is parked */
	uint64_t deadline_ns;		/* ... until then, monotonic */
	uint64_t parked_seen;		/* srv->changes it was tried with */
	struct client *ahead, *behind;	/* parked before it, and after */
	char name[CLIENT_NAME_BYTES];
	char addr[CLIENT_ADDR_BYTES];
};

/* args_integer(), and if it is none that is the answer. */
bool args_want_integer(struct client *c, const struct resp_args *a, size_t i,
    int64_t *out);

/* args_hold() in the server's account. */
struct blob *args_blob(struct client *c, const struct resp_args *a, size_t i);

/* Replies besides those of reply.h. */
void reply_nil_array(struct client *c);
void reply_set(struct client *c, size_t n);	/* an array in RESP2 */

/* Text that is printed: what goes to w.f until reply_printed(). */
struct writing {
	FILE *f;
	char *text;
	size_t len;
};

/* False if there is no memory, which is the answer then. */
bool reply_print(struct client *c, struct writing *w);
void reply_printed(struct client *c, struct writing *w);

/*
 * Park the client until its request can be answered: retry() is called when
 * something was changed (server_changed()), and at the latest at deadline_ns
 * (monotonic, timer.h; TIMER_NEVER: no end).  Others are served meanwhile; its
 * own further requests wait.  False if it may not wait (it is within EXEC):
 * then answer now.
 */
bool client_park(struct client *c, uint64_t deadline_ns, client_retry *retry);

/*
 * Has it left so much unread that it must read before its next requests run?
 * While memory is short (text grows by doubling), less will do: the rest is for
 * what others store.
 */
bool client_owes(const struct client *c);

/* It goes, when what it is owed is sent. */
void client_leave(struct client *c, enum leaving why);

/* It goes at once. */
void client_kill(struct client *c, enum leaving why);

/* The server's own: a client, what it reads, and its end. */
struct client *client_new(struct server *srv, int fd, const char *addr);
void client_free(struct client *c);
void client_readable(struct client *c);
void client_writable(struct client *c);
void client_go_on(struct client *c);	/* after the others' turns, one */
void client_retry_parked(struct client *c, bool late);
void client_feed(struct client *c, const uint8_t *p, size_t len);

/* Let go of a request that is done with. */
void client_drop_args(struct client *c, struct resp_args *a);

#endif
