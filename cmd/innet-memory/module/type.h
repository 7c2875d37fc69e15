/*
 * type.h - tables as a data type of the server
 */
#ifndef INNET_MEMORY_MODULE_TYPE_H
#define INNET_MEMORY_MODULE_TYPE_H

#include <stdbool.h>

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/server/resp.h"

/* Create the data type; return false if the server refuses it. */
bool type_open(struct rm_ctx *ctx);

/*
 * Run PER.PUT from an append-only file.  Its arguments are "key total offset
 * bytes", and the pieces must arrive in order.
 */
void type_put(struct client *c, const struct resp_args *a);

#endif
