/*
 * stranger.h - limits for clients that have not given the password yet
 *
 * If the server has a password, each client is unauthenticated at first; the
 * code calls it a stranger.  Unauthenticated clients must not take connections
 * or memory from clients that know the password:
 *
 *	clients	If --max-clients is reached, the oldest unauthenticated client
 *		is closed to make room for a new client.  A client that sends
 *		the password immediately can therefore always connect.
 *	memory	The buffers of all unauthenticated clients may use a part of
 *		the memory.  Above this limit, the oldest of these clients are
 *		closed.  Arguments of RESP_BULK bytes or more are not stored
 *		for an unauthenticated client.  Its requests wait while more
 *		than CLIENT_STRANGER_OUT_BYTES of replies are unread.
 *	time	An unauthenticated client is closed --auth-timeout after it
 *		connected.
 *	guesses	The reply to a wrong password is delayed, and the delay doubles
 *		each time.  The connection is closed after STRANGER_GUESSES.
 *
 * client.h has the list of unauthenticated clients.  If a client is
 * authenticated, the functions here do nothing, except
 * stranger_refuse_password().
 */
#ifndef INNET_MEMORY_SERVER_STRANGER_H
#define INNET_MEMORY_SERVER_STRANGER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/server/client.h"

enum {
	STRANGER_GUESSES = 5,	/* limit on wrong passwords per connection */
	STRANGER_REQUESTS = 64,		/* limit on requests before the
					 * password, per connection */
	STRANGER_SHARE = 8,	/* all unauthenticated clients may use 1/8 of
				 * --memory */
	STRANGER_IN_BYTES = 16 << 10	/* largest number of bytes to receive at
					 * once */
};

/*
 * Close the oldest unauthenticated clients until their total memory is below
 * the limit.
 */
void stranger_limit_memory(struct server *srv);

/*
 * Close the oldest unauthenticated client and its socket; return false if there
 * is none.
 */
bool stranger_evict(struct server *srv);

/*
 * Count a request of c.  If c has sent too many requests, close c after the
 * reply.
 */
void stranger_count_request(struct client *c);

/*
 * Reply to a wrong password; if c is an unauthenticated client, delay the
 * reply.
 */
void stranger_refuse_password(struct client *c);

/*
 * Return true if c is an unauthenticated client and --auth-timeout has passed.
 */
bool stranger_is_late(const struct client *c);

#endif
