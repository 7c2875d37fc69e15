/*
 * per-host.h - what the PER commands need from the program that hosts them
 *
 * The code in per*.c runs in two hosts: innet-memory (per-host.c) and Redis
 * (module/host.c).  It reads arguments by args.h and replies by reply.h;
 * everything else that differs is declared here.  Each host has its own struct
 * client.
 */
#ifndef INNET_MEMORY_COMMANDS_PER_HOST_H
#define INNET_MEMORY_COMMANDS_PER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rng.h"
#include "cmd/innet-memory/store/replay-buffer.h"

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/reply.h"

struct table;

/*
 * Return the table that argument 1 names.  NULL: *why is NULL if the key does
 * not exist, and otherwise the error.
 */
struct table *host_find_table(struct client *c, const struct resp_args *a,
    const char **why);

/*
 * Create a table with valid settings at a name for which host_find_table()
 * finds no key.  False: *why is the error, or NULL without memory.
 */
bool host_create_table(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *settings, const char **why);
/* Remove the table that argument 1 names. */
void host_drop_table(struct client *c, const struct resp_args *a,
    struct table *t);

/*
 * Note that the request has changed the table: waiting requests are tried
 * again, and replicas run the same request.
 */
void host_mark_changed(struct client *c, const struct resp_args *a);

/* Do the same for n draws, whose result was random: replicas count these. */
void host_mark_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_buffer_draw *d, size_t n);

/*
 * Does the request come from a master or a file?  Then no limit refuses it, and
 * it never waits.
 */
bool host_is_replicated(const struct client *c);

/* Return the number of the connection, whose experiences follow one another. */
uint64_t host_stream_id(const struct client *c);

/* Return the random number generator of the host. */
struct rng *host_rng(struct client *c);

/*
 * Tries a parked request again: it answers and returns true, or returns false
 * to continue to wait.  If late is set the time is over and it must answer.
 */
typedef bool host_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Park the client: retry() is called after the table has changed, and at the
 * latest after timeout_ms.  False: it must be answered now.
 */
bool host_park_client(struct client *c, const struct resp_args *a,
    uint64_t timeout_ms, host_retry *retry);

#endif
