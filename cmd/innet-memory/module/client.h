/*
 * client.h - a request to the module: the client that sent it and its reply
 */
#ifndef INNET_MEMORY_MODULE_CLIENT_H
#define INNET_MEMORY_MODULE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/module/api.h"

struct table_value;

struct client {
	struct rm_ctx *ctx;
	rm_string **v;		/* arguments, as strings of the server */
	int n;			/* number of arguments */
	const struct table_value *value; /* value of the key in argument 1 */
	int protocol;		/* RESP version, 2 or 3; 0: unknown */
	bool waits;		/* the request could not be answered yet */
	/*
	 * A bulk reply that is built from pieces.  It has `have` bytes so far,
	 * and needs `want` bytes.
	 */
	uint8_t *bulk;
	size_t want, have;
	bool sent;		/* the bulk was sent to the server */
};

#endif
