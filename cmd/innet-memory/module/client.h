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
	rm_string **v;		/* the arguments as the server has them */
	int n;			/* number of arguments */
	const struct table_value *value;	/* of the key in argument 1 */
	int protocol;		/* 2 or 3 of RESP; 0: not asked yet */
	bool waits;		/* it could not be answered yet */
	/* a bulk reply in pieces: `have` of its `want` bytes so far */
	uint8_t *bulk;
	size_t want, have;
	bool sent;		/* that bulk was sent */
};

#endif
