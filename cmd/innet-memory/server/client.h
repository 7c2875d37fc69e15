/*
 * client.h - a connected client: its state, and how it is parked and closed
 */
#ifndef INNET_MEMORY_SERVER_CLIENT_H
#define INNET_MEMORY_SERVER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/server/out.h"
#include "cmd/innet-memory/server/resp.h"
#include "cmd/innet-memory/server/server.h"

struct client;
struct transaction;

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
	uint8_t *unread;			/* input that waits */
	size_t unread_len, unread_room;
	struct out out;
	size_t charged;			/* in the account, for its buffers */
	uint64_t connected_ns;		/* connected, monotonic */
	uint64_t received_ns;		/* last time something came */
	uint64_t progress_ns;		/* last time something went out */
	uint64_t turn_ns;		/* srv->now_ns of its last turn */
	int queued;			/* bytes with the kernel then */
	uint64_t commands, in_bytes, errors;
	unsigned epoll_events;		/* epoll events asked for */
	enum disconnect_reason disconnect; /* goes when all is sent */
	bool dead;			/* goes at once */
	bool stalled;			/* rest could be read, but not run */
	bool eof;			/* it will send no more */
	bool remote;			/* on another machine, or maybe */
	bool authenticated;			/* has given the password */
	bool no_evict;
	bool resp3;			/* what it speaks, or RESP2 */
	const char *last_command;		/* name of its last command */
	struct transaction *transaction; /* MULTI and WATCH; NULL: neither */
	client_retry *retry;		/* it is parked */
	uint64_t deadline_ns;		/* ... until then, monotonic */
	uint64_t parked_seen;		/* srv->changes it was tried with */
	struct client *parked_prev,
	    *parked_next; /* parked before it, and after */
	char name[CLIENT_NAME_BYTES];
	char addr[CLIENT_ADDR_BYTES];
};

/* Make a client of a connected socket; fd -1: none.  NULL: no memory. */
struct client *client_new(struct server *srv, int fd, const char *addr);

/* Close the socket and free the client. */
void client_free(struct client *c);

/* Charge the client's buffers, as large as they are now, to the account. */
void client_charge(struct client *c);

/*
 * Park the client until its request can be answered: retry() is called when
 * something was changed (server_mark_changed()), and at the latest at
 * deadline_ns (monotonic, timer.h; TIMER_NEVER: no end).  Others are served
 * meanwhile; its own further requests wait.  False if it may not wait (it is
 * within EXEC): then answer now.
 */
bool client_park(struct client *c, uint64_t deadline_ns, client_retry *retry);

/*
 * Has it left so much unread that it must read before its next requests run?
 * While memory is short (text grows by doubling), less will do: the rest is for
 * what others store.
 */
bool client_has_backlog(const struct client *c);

/* It goes, when what it is owed is sent. */
void client_close_after_reply(struct client *c, enum disconnect_reason why);

/* It goes at once. */
void client_close_now(struct client *c, enum disconnect_reason why);

/* Take a client out of the row of parked ones, after its answer. */
void client_unpark(struct client *c);

#endif
