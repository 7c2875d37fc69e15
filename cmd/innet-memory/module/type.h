/*
 * type.h - tables as a data type of the server
 */
#ifndef INNET_MEMORY_MODULE_TYPE_H
#define INNET_MEMORY_MODULE_TYPE_H

#include <stdbool.h>

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/server/resp.h"

/* Make the data type; false: the server refuses it. */
bool type_open(struct rm_ctx *ctx);

/* Run PER.PUT of an append-only file: key total offset bytes, in order. */
void type_put(struct client *c, const struct resp_args *a);

#endif
