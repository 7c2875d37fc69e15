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
 * Try a parked request again.  Return true after a reply, or false if the
 * request must wait longer.  If `late` is true, the deadline has passed and the
 * function must reply.
 */
typedef bool client_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Add the next slice of a reply, which takes at most about 1 ms.  Return true
 * if the reply is complete.
 */
typedef bool client_resume(struct client *c, struct resp_args *a);

enum { CLIENT_NAME_BYTES = 128, CLIENT_ADDR_BYTES = 120,
	/*
	 * limit on the bytes of replies that an unauthenticated client leaves
	 * unread
	 */
	CLIENT_STRANGER_OUT_BYTES = 16 << 10,
	/* a reply in slices pauses above this number of unread bytes */
	CLIENT_RESUME_BYTES = 1 << 20 };

struct client {
	struct server *srv;
	int fd;				/* socket; -1 in tests without a
					 * socket */
	uint64_t id;
	size_t at;			/* index in srv->client */
	struct resp in;
	uint8_t *unread;	/* input that the parser has not consumed yet */
	size_t unread_len, unread_room;
	struct out out;
	size_t charged;	/* number of bytes charged to the account */
	uint64_t connected_ns;		/* all times here are monotonic */
	uint64_t received_ns;		/* time of the last input */
	uint64_t progress_ns;		/* time of the last output */
	uint64_t turn_ns;	/* value of srv->now_ns at the client's last
				 * turn */
	int queued;	/* number of bytes in the kernel's send queue at
			 * progress_ns */
	uint64_t commands, in_bytes, errors;
	unsigned epoll_events;		/* events that epoll watches for */
	/* reason to close the client after its replies, or DISCONNECT_NONE */
	enum disconnect_reason disconnect;
	/*
	 * set if the client will be closed at the end of this pass of the event
	 * loop
	 */
	bool dead;
	bool stalled;			/* requests in `unread` must wait */
	bool eof;	/* the client has closed its sending side */
	bool remote;	/* the client's address is not a loopback address */
	bool authenticated;		/* true after authentication, and also
					 * if there is no password */
	bool stranger;	/* the client is in the list of unauthenticated
			 * clients */
	/*
	 * Number of wrong passwords, and of requests, since the client became
	 * unauthenticated.
	 */
	unsigned guesses, asked;
	uint64_t stranger_ns;		/* time when the client became
					 * unauthenticated */
	/* links of the list that begins at srv->stranger_first */
	struct client *stranger_prev, *stranger_next;
	bool no_evict;
	bool resp3;	/* the client uses RESP3; otherwise RESP2 */
	const char *last_command;	/* name of the client's last command */
	struct transaction *transaction; /* transaction of the client; NULL
					  * unless MULTI or WATCH was called */
	client_retry *retry;		/* called to retry the request; not NULL
					 * if the client is parked */
	client_resume *resume;		/* called to continue a reply; not NULL
					 * if a reply is incomplete */
	size_t resume_at;		/* position for resume(); initially 0 */
	uint64_t deadline_ns;		/* deadline of the parked request */
	uint64_t parked_seen; /* value of srv->changes when the request was last
			       * tried */
	/* links of the list that begins at srv->parked_first */
	struct client *parked_prev, *parked_next;
	char name[CLIENT_NAME_BYTES];
	char addr[CLIENT_ADDR_BYTES];
};

/*
 * Create a client for the connected socket fd (-1 for none, in tests) at
 * address addr.  Return NULL if there is no memory.
 */
struct client *client_new(struct server *srv, int fd, const char *addr);

/*
 * Mark c as unauthenticated, because it has not given the password.  If the
 * server has no password, mark c as authenticated instead.
 */
void client_begin_stranger(struct client *c);

/*
 * Remove c from the list of unauthenticated clients, because it has given the
 * password or is being closed.
 */
void client_end_stranger(struct client *c);

/* Close the socket and free the client. */
void client_free(struct client *c);

/* Charge the current size of the client's buffers to the account. */
void client_charge(struct client *c);

/*
 * Park the client until its request can be answered.  The loop calls retry()
 * after each change (see server_mark_changed()), and at the latest at
 * deadline_ns, a monotonic time or TIMER_NEVER.  Meanwhile other clients are
 * served, and further requests of this client wait.  Return false within EXEC,
 * because the request must be answered immediately there.
 */
bool client_park(struct client *c, uint64_t deadline_ns, client_retry *retry);

/*
 * Complete the reply to request a in slices.  The server calls resume() until
 * it returns true, as fast as the client reads.  Return false within EXEC,
 * because the reply must be complete immediately there.
 */
bool client_reply_in_slices(struct client *c, const struct resp_args *a,
    client_resume *resume);

/*
 * Return true if the client must read replies before its next requests run.
 * While memory is short, the limit of unsent bytes is lower, so that more
 * memory is left for data.
 */
bool client_has_backlog(const struct client *c);

/* Close the client after all its replies are sent. */
void client_close_after_reply(struct client *c, enum disconnect_reason why);

/* Close the client without sending anything more. */
void client_close_now(struct client *c, enum disconnect_reason why);

/* Remove a client from the list of parked clients. */
void client_unpark(struct client *c);

#endif
