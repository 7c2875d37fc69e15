/*
 * nonce.h - open a client channel with a random nonce
 *
 * Only tools include this file, because it asks the kernel for random numbers.
 */
#ifndef INNET_AUTH_NONCE_H
#define INNET_AUTH_NONCE_H

#include <sys/random.h>

#include "common/auth/channel-client.h"
#include "common/base/message.h"
#include "common/wire/addr.h"

/*
 * Open channel ch to the server at `to`.  `key` may be NULL.  Returns false
 * with errno set if the kernel provides no random numbers.
 */
static inline bool
nonce_try_open_channel(
    struct channel_client *ch, const struct key *key, const union addr *to)
{
	uint8_t nonce[COOKIE_NONCE_BYTES];

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return false;
	channel_client_open(
	    ch, key, key != NULL || !addr_is_loopback(to), nonce);
	return true;
}

/* Like nonce_try_open_channel(), but print an error and exit with status 1. */
static inline void
nonce_open_channel(
    struct channel_client *ch, const struct key *key, const union addr *to)
{
	if (!nonce_try_open_channel(ch, key, to))
		err(1, "cannot get random numbers");
}

#endif
