/*
 * redis-link.h - a connection to a Redis server that reconnects when it fails
 */
#ifndef INNET_AGENT_APEX_REDIS_LINK_H
#define INNET_AGENT_APEX_REDIS_LINK_H

#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct link {
	struct respcall call;
	const struct remote *remote;	/* servers, password; borrowed */
	size_t server;		/* index of the server */
	bool alone; /* no other server can replace it: no cluster */
	char moved[128];	/* address in the last MOVED reply */
	char asked[128];	/* address in the last ASK, for one request */
	const char *home;	/* the server that sent this ASK */
	uint64_t opened;	/* number of connections made */
	uint64_t again;		/* connections made after the first one */
	bool begun;		/* a first connection was tried */
};

/*
 * Set up k for a server of cf; call this before the first link_do().  Replies
 * are expected to have up to `bytes` bytes.  They may be LINK_MORE_BYTES
 * longer, to allow for rewards and malformed experiences.
 */
#define LINK_MORE_BYTES ((uint64_t)64 << 20)
void link_to(struct link *k, const struct conf *cf, size_t server,
    uint64_t bytes, const volatile sig_atomic_t *stop);

/*
 * Call it(k, arg), which uses k->call and returns false on failure, until it
 * succeeds.  If the connection failed, connect again, up to timeout_ns after
 * the first failure.  Do the same if a Redis Cluster redirects a key or has no
 * node for the key now.  If a server of a cluster is gone, ask another server
 * which node has replaced it.  Return false with the reason in k->call.why if
 * that time has passed, if a reply was wrong or late, or if *stop is set.
 */
bool link_do(struct link *k, bool (*it)(struct link *k, void *arg),
    void *arg);

/*
 * Return whether an error text redirects the client to another node of a
 * cluster, or asks it to retry later.
 */
bool link_is_redirect(const char *text);

/*
 * Fail because the reply to `what` is an error or has the wrong kind.  Return
 * false.
 */
bool link_refuse(struct link *k, const char *what, const struct respreply *r);

/* Sleep for ns nanoseconds.  Return false if *stop is set. */
bool link_sleep(const struct link *k, uint64_t ns);

#endif
