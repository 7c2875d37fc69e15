/*
 * nonce.h - a channel of this process, which nobody else can speak for
 *
 * For tools: exits 1 without random numbers.
 */
#ifndef INNET_AUTH_NONCE_H
#define INNET_AUTH_NONCE_H

#include <err.h>
#include <sys/random.h>

#include "common/auth/channel-client.h"
#include "common/wire/addr.h"

/* A channel to the server at `to`, with a key or NULL. */
static inline void
nonce_open_channel(
    struct channel_client *ch, const struct key *key, const union addr *to)
{
	uint8_t nonce[COOKIE_NONCE_BYTES];

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		err(1, "random numbers");
	channel_client_open(
	    ch, key, key != NULL || !addr_is_loopback(to), nonce);
}

#endif
