/*
 * stranger.h - limits for clients that have not given the password yet
 *
 * If the server has a password, each client begins as a stranger.  Strangers
 * must not keep places or memory from the clients that know the password:
 *
 *	places	if there is no place for a new client, the oldest stranger
 *		is closed.  A client that sends the password at once
 *		therefore always gets in.
 *	memory	the buffers of all strangers may use a part of the memory;
 *		beyond it the oldest strangers are closed.  A stranger keeps
 *		no argument of RESP_BULK bytes or more, and its requests wait
 *		while it has CLIENT_STRANGER_OUT_BYTES of replies to read.
 *	time	a stranger is closed --auth-timeout after it connected.
 *	guesses	the reply to a wrong password is delayed, twice as long each
 *		time, and the connection is closed after STRANGER_GUESSES.
 *
 * client.h keeps the list of strangers.  All functions here accept a client
 * that is no stranger, and then do nothing.
 */
#ifndef INNET_MEMORY_SERVER_STRANGER_H
#define INNET_MEMORY_SERVER_STRANGER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/server/client.h"

enum {
	STRANGER_GUESSES = 5,		/* wrong passwords on a connection */
	STRANGER_REQUESTS = 64,		/* of any kind on a connection */
	STRANGER_SHARE = 8,		/* divides --memory: all may use this */
	STRANGER_IN_BYTES = 16 << 10	/* received at a time */
};

/* Close the oldest strangers while all together use too much memory. */
void stranger_limit_memory(struct server *srv);

/* Close the oldest stranger and its socket; false: there is none. */
bool stranger_evict(struct server *srv);

/* Count a request of c, and close c after its reply if there were too many. */
void stranger_count_request(struct client *c);

/* Reply to a wrong password, later if c is a stranger. */
void stranger_refuse_password(struct client *c);

/* Has c had --auth-timeout to give the password? */
bool stranger_is_late(const struct client *c);

#endif
