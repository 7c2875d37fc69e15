/*
 * request.h - run a function for a request that Redis received
 */
#ifndef INNET_MEMORY_MODULE_REQUEST_H
#define INNET_MEMORY_MODULE_REQUEST_H

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/server/resp.h"

typedef void request_function(struct client *c, const struct resp_args *a);

/*
 * Call run() with the arguments v[0] to v[n-1].  Return RM_OK, or RM_ERR if the
 * client must wait longer.
 */
int request_run(struct rm_ctx *ctx, rm_string **v, int n,
    request_function *run);

#endif
