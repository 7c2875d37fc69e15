/*
 * host.h - what the PER commands need of the program they run in
 *
 * They stand once, in per*.c, and have two hosts: innet-memory (host.c) and
 * Redis (module/).  Arguments are args.h's, replies reply.h's; all else that
 * differs is here.  A client is whoever asks, and the host's own.
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
 * The table that argument 1 names.  NULL: there is none, and *why is NULL, or
 * what else is wrong with the name.
 */
struct table *host_find_table(struct client *c, const struct resp_args *a,
    const char **why);

/*
 * A new table where host_find_table() finds none, of settings that are right.
 * False: *why says why not; if it is NULL there is no memory.
 */
bool host_create_table(struct client *c, const struct resp_args *a,
    const struct replay_buffer_settings *settings, const char **why);
void host_drop_table(struct client *c, const struct resp_args *a,
    struct table *t);

/*
 * The request has changed the table as it says: whoever waits for it is tried
 * again, and copies of the table change likewise.
 */
void host_mark_changed(struct client *c, const struct resp_args *a);

/* The same of a sample, whose outcome was a matter of chance: n draws are d. */
void host_mark_sampled(struct client *c, const struct resp_args *a,
    const struct table *t, const struct replay_buffer_draw *d, size_t n);

/*
 * Does the request tell what has been done elsewhere?  Then no limit refuses
 * it, and it never waits.
 */
bool host_is_replicated(const struct client *c);

/* Whose experiences follow one another: the number of the connection. */
uint64_t host_stream_id(const struct client *c);

struct rng *host_rng(struct client *c);

/*
 * A parked request's function: answer it and return true, or return false to
 * go on waiting.  late: the time is over, so it must answer.
 */
typedef bool host_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Park the client: retry() is called when the table has changed, and at the
 * latest after timeout_ms.  False if it may not wait: then answer now.
 */
bool host_park_client(struct client *c, const struct resp_args *a,
    uint64_t timeout_ms, host_retry *retry);

#endif
