/*
 * redis-link.h - a connection to a Redis server that is repaired when it fails
 */
#ifndef INNET_AGENT_APEX_REDIS_LINK_H
#define INNET_AGENT_APEX_REDIS_LINK_H

#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct link {
	struct respcall call;
	const struct remote *remote;	/* borrowed: the servers, password */
	size_t server;		/* index of the server */
	bool alone; /* not a cluster: no other server can stand in */
	char moved[128];	/* address of the last MOVED */
	char asked[128];	/* address of the last ASK, for one request */
	const char *home;	/* the server that sent this ASK */
	uint64_t opened;	/* connections made */
	uint64_t again;		/* of these, after the first */
	bool begun;		/* a first connection was tried */
};

/*
 * Set up k for a server of cf, before the first link_do().  Replies are
 * expected to have up to `bytes` bytes; they may have LINK_MORE_BYTES more, for
 * rewards and malformed experiences.
 */
#define LINK_MORE_BYTES ((uint64_t)64 << 20)
void link_to(struct link *k, const struct conf *cf, size_t server,
    uint64_t bytes, const volatile sig_atomic_t *stop);

/*
 * Call it(k, arg), which uses k->call and returns false on failure, until it
 * succeeds.  If the connection failed, connect again, up to timeout_ns after
 * the first failure.  Do the same if a Redis Cluster redirects a key or has no
 * node for it now.  If a server of a cluster is gone, ask another one which
 * node has replaced it.  Return false with k->call.why after that time, if a
 * reply was wrong or late, or if *stop is set.
 */
bool link_do(struct link *k, bool (*it)(struct link *k, void *arg),
    void *arg);

/*
 * Does that error redirect the client to another node of a cluster, or ask it
 * to retry later?
 */
bool link_is_redirect(const char *text);

/*
 * Fail because the reply to `what` is an error or of another kind; return
 * false.
 */
bool link_refuse(struct link *k, const char *what, const struct respreply *r);

/* Sleep for ns; return false if *stop is set. */
bool link_sleep(const struct link *k, uint64_t ns);

#endif
