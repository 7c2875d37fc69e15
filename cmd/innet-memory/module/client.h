/*
 * module.h - the PER commands inside Redis: what its files share
 *
 * A table is the value of a key, with an account of its own: what is in it
 * belongs to it alone, so that the server may free it in another thread.
 */
#ifndef INNET_MEMORY_MODULE_MODULE_H
#define INNET_MEMORY_MODULE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rng.h"

#include "cmd/innet-memory/server/command.h"
#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/module/api.h"
#include "cmd/innet-memory/store/table-checkpoint.h"

/* The value of a key. */
struct held {
	struct blobs account;
	struct table *table;
};

/* A request: whoever asks, and the arguments as the server has them. */
struct client {
	struct rm_ctx *ctx;
	rm_string **v;
	int n;
	const struct held *held;	/* that its command is about */
	int protocol;		/* 2 or 3 of RESP; 0: not asked yet */
	bool waits;		/* it could not be answered yet */
	uint8_t *bulk;		/* a reply that comes in pieces */
	size_t want, have;	/* bytes of it */
	bool sent;		/* it is answered */
};

extern struct rng module_rng;
extern rm_type *module_type;
extern const struct command module_commands[];	/* in this host alone */

/* A request to a function: RM_OK, or RM_ERR if it has to wait on. */
typedef void module_run(struct client *c, const struct resp_args *a);
int module_serve(struct rm_ctx *ctx, rm_string **v, int n, module_run *run);

/* maxmemory of the server; 0: there is no limit. */
uint64_t module_limit(struct client *c);

/* Those that wait for this value are told that there is no such table. */
void module_wake(const struct held *h);
void module_flushed(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);
void module_swapped(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);

/* A value without a table in it, or NULL; and with one, of these settings. */
struct held *held_new(void);
struct held *held_open(const struct replay_buffer_settings *conf);
void held_free(void *value);

bool type_open(struct rm_ctx *ctx);

/* Of an AOF: key total offset bytes, in order. */
void type_put(struct client *c, const struct resp_args *a);

#endif
