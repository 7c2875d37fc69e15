/* request.c - run a function for a request that Redis received */
#include <stdlib.h>

#include "cmd/innet-memory/module/request.h"
#include "cmd/innet-memory/server/reply.h"

enum { ARGS_NEAR = 64 };	/* number of arguments that fit on the stack */

int
request_run(struct rm_ctx *ctx, rm_string **v, int n, request_function *run)
{
	struct client c = { .ctx = ctx, .v = v, .n = n };
	struct resp_arg near[ARGS_NEAR];
	struct resp_args a = { .v = near, .n = (size_t)n };

	if (n > ARGS_NEAR)
		a.v = malloc(a.n * sizeof(*a.v));
	if (a.v == NULL) {
		reply_oom(&c);
		return RM_OK;
	}
	for (size_t i = 0; i < a.n; i++) {
		a.v[i] = (struct resp_arg){ 0 };
		a.v[i].p = (const void *)RM_StringPtrLen(v[i], &a.v[i].len);
	}
	run(&c, &a);
	if (a.v != near)
		free(a.v);
	return c.waits ? RM_ERR : RM_OK;
}
