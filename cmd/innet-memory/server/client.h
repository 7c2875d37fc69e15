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
 * Tries a parked request again: it answers and returns true, or returns false
 * to continue to wait.  If late is set the deadline has passed and it must
 * answer.
 */
typedef bool client_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Continues the reply to a request, by a slice of at most about 1 ms; true: the
 * reply is complete.
 */
typedef bool client_resume(struct client *c, struct resp_args *a);

enum { CLIENT_NAME_BYTES = 128, CLIENT_ADDR_BYTES = 120,
	/* replies that a stranger may leave unread */
	CLIENT_STRANGER_OUT_BYTES = 16 << 10,
	/* unread replies at which a reply in slices waits */
	CLIENT_RESUME_BYTES = 1 << 20 };

struct client {
	struct server *srv;
	int fd;				/* -1: none, in tests */
	uint64_t id;
	size_t at;			/* index in srv->client */
	struct resp in;
	uint8_t *unread;			/* input that is not read yet */
	size_t unread_len, unread_room;
	struct out out;
	size_t charged;			/* to the account, for its buffers */
	uint64_t connected_ns;		/* monotonic, as all times here */
	uint64_t received_ns;		/* last input */
	uint64_t progress_ns;		/* last time that output was sent */
	uint64_t turn_ns;		/* srv->now_ns of its last turn */
	int queued;			/* bytes in the kernel at progress_ns */
	uint64_t commands, in_bytes, errors;
	unsigned epoll_events;		/* that epoll waits for */
	/* closed after its replies, or not */
	enum disconnect_reason disconnect;
	/* closed at the end of the loop's turn */
	bool dead;
	bool stalled;			/* requests in unread may not run yet */
	bool eof;			/* the client has closed its side */
	bool remote;			/* may be on another machine */
	bool authenticated;		/* or no password is needed */
	bool stranger;			/* in the list of stranger.h */
	unsigned guesses, asked;	/* wrong passwords, requests, as one */
	uint64_t stranger_ns;		/* since when it is one */
	/* list srv->stranger_first */
	struct client *stranger_prev, *stranger_next;
	bool no_evict;
	bool resp3;			/* it speaks RESP3, not RESP2 */
	const char *last_command;		/* its name */
	struct transaction *transaction; /* NULL: neither MULTI nor WATCH */
	client_retry *retry;		/* not NULL: the client is parked */
	client_resume *resume;		/* not NULL: a reply is incomplete */
	size_t resume_at;		/* for resume(), 0 at first */
	uint64_t deadline_ns;		/* parked until then */
	uint64_t parked_seen;		/* srv->changes at the last try */
	/* list srv->parked_first */
	struct client *parked_prev, *parked_next;
	char name[CLIENT_NAME_BYTES];
	char addr[CLIENT_ADDR_BYTES];
};

/* Make a client of a connected socket; fd -1: none.  NULL: no memory. */
struct client *client_new(struct server *srv, int fd, const char *addr);

/*
 * Take c as a stranger, a client that has not given the password, from now on;
 * without a password it is authenticated.
 */
void client_begin_stranger(struct client *c);

/* Remove c from the strangers: it gave the password, or it is closed. */
void client_end_stranger(struct client *c);

/* Close the socket and free the client. */
void client_free(struct client *c);

/* Charge the client's buffers, as large as they are now, to the account. */
void client_charge(struct client *c);

/*
 * Park the client until its request can be answered: retry() is called after
 * each change (server_mark_changed()), and at the latest at deadline_ns
 * (monotonic; TIMER_NEVER: no deadline).  Other clients are served meanwhile;
 * further requests of this client wait.  False within EXEC, where the request
 * must be answered now.
 */
bool client_park(struct client *c, uint64_t deadline_ns, client_retry *retry);

/*
 * Complete the reply to request a later: resume() is called until it returns
 * true, while the client reads.  False within EXEC, where the reply must be
 * complete at once.
 */
bool client_reply_in_slices(struct client *c, const struct resp_args *a,
    client_resume *resume);

/*
 * Must the client read replies before its next requests run?  The limit of
 * unsent bytes is lower while memory is short, because the rest is needed for
 * data.
 */
bool client_has_backlog(const struct client *c);

/* Close the client after its replies are sent. */
void client_close_after_reply(struct client *c, enum disconnect_reason why);

/* Close the client without sending more. */
void client_close_now(struct client *c, enum disconnect_reason why);

/* Remove a client from the list of parked clients. */
void client_unpark(struct client *c);

#endif
