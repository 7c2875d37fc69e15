/*
 * waiters.h - clients whose request waits until a table changes
 *
 * The server tries a blocked client again only while its key exists.  So that
 * clients also learn that their table is gone, the module keeps a list of them.
 */
#ifndef INNET_MEMORY_MODULE_WAITERS_H
#define INNET_MEMORY_MODULE_WAITERS_H

#include "cmd/innet-memory/module/client.h"
#include "cmd/innet-memory/module/value.h"
#include "cmd/innet-memory/server/resp.h"

/* Answer and return true, or return false to wait; late: it must answer. */
typedef bool waiters_retry(struct client *c, const struct resp_args *a,
    bool late);

/*
 * Block the client until retry() answers, which is called when the key of
 * argument 1 changes and at the latest after timeout_ms.  False: no memory.
 */
bool waiters_add(struct client *c, uint64_t timeout_ms, waiters_retry *retry);

/* Is a table being removed now?  Then its key must not be opened. */
bool waiters_removing(void);

/* Answer all clients that wait for this value: it is about to be removed. */
void waiters_wake(const struct table_value *value);

/* Do the same for FLUSHDB and SWAPDB, as handlers of the server's events. */
void waiters_flushed(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);
void waiters_swapped(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
    void *data);

#endif
