/*
 * per-host.h - functions that the PER commands need from their host program
 *
 * The code in per*.c runs in two hosts: innet-memory (per-host.c) and Redis
 * (module/host.c).  It reads arguments with args.h and replies with reply.h.
 * This file declares everything else that differs between the hosts.  Each host
 * has its own struct client.
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
 * Return the table that argument 1 names.  If the key is not a table, return
 * NULL and set *why to the error.  If the key does not exist, return NULL and
 * set *why to NULL.
 */
struct table *host_find_table(struct client *c, const struct resp_args *a,
    const char **why);

/*
 * Create a table with these settings, which must be valid.  host_find_table()
 * must have found no key with its name.  On failure, return false and set *why
 * to the error, or to NULL if there is no memory.
 */
bool host_create_table(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *settings, const char **why);
/* Remove table t, whose key is argument 1. */
void host_drop_table(struct client *c, const struct resp_args *a,
    struct table *t);

/*
 * Record that the request has changed the table.  The host then retries waiting
 * requests, and replicas run the same request.
 */
void host_mark_changed(struct client *c, const struct resp_args *a);

/*
 * Record that the n draws d were taken.  Because the draws were random,
 * replicas do not run the request but count these draws.
 */
void host_mark_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_buffer_draw *d, size_t n);

/*
 * Return true if the request comes from a master or a file.  Such a request is
 * never refused because of a limit, and never waits.
 */
bool host_is_replicated(const struct client *c);

/*
 * Return the number of the connection.  Successive experiences of a connection
 * come from the same game.
 */
uint64_t host_stream_id(const struct client *c);

/* Return the random number generator of the host. */
struct rng *host_rng(struct client *c);

/*
 * Try a parked request again.  Return true after a reply, or false if the
 * request must wait longer.  If `late` is true, the deadline has passed and the
 * function must reply.
 */
typedef bool host_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Park the client.  The host calls retry() after each change of the table, and
 * at the latest after timeout_ms.  Return false if the request must be answered
 * now.
 */
bool host_park_client(struct client *c, const struct resp_args *a,
    uint64_t timeout_ms, host_retry *retry);

#endif
