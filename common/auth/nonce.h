/*
 * nonce.h - open a client channel with a random nonce
 *
 * Only tools include this file, because it asks the kernel for random numbers
 * and exits with status 1 if the kernel provides none.
 */
#ifndef INNET_AUTH_NONCE_H
#define INNET_AUTH_NONCE_H

#include <sys/random.h>

#include "common/auth/channel-client.h"
#include "common/base/message.h"
#include "common/wire/addr.h"

/* Open channel ch to the server at `to`.  `key` may be NULL. */
static inline void
nonce_open_channel(
    struct channel_client *ch, const struct key *key, const union addr *to)
{
	uint8_t nonce[COOKIE_NONCE_BYTES];

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		err(1, "cannot get random numbers");
	channel_client_open(
	    ch, key, key != NULL || !addr_is_loopback(to), nonce);
}

#endif
