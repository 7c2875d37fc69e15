/*
 * waiters.h - clients with a request that waits until a table changes
 *
 * The server retries a blocked client only while its key exists.  The module
 * therefore keeps a list of these clients, so that it can also tell them that
 * their table was removed.
 */
#ifndef INNET_MEMORY_MODULE_WAITERS_H
#define INNET_MEMORY_MODULE_WAITERS_H

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/module/value.h"
#include "cmd/innet-memory/server/resp.h"

/*
 * Reply and return true, or return false to wait longer.  If `late` is true,
 * the function must reply.
 */
typedef bool waiters_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Block the client until retry() replies.  The server calls retry() when the
 * key in argument 1 changes, and at the latest after timeout_ms.  Return false
 * if there is no memory.
 */
bool waiters_add(struct client *c, uint64_t timeout_ms, waiters_retry *retry);

/*
 * Return true if a table is being removed now.  While this is true, the key of
 * the table must not be opened.
 */
bool waiters_removing(void);

/* Answer all clients that wait for `value`, because it will be removed. */
void waiters_wake(const struct table_value *value);

/*
 * Answer all clients that wait in the databases that FLUSHDB clears or SWAPDB
 * swaps.  These functions are handlers of server events.
 */
void waiters_flushed(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);
void waiters_swapped(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);

#endif
