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
	bool alone; /* the server is not in a cluster, so no other server can
		     * replace it */
	char moved[128];	/* address in the last MOVED reply */
	char asked[128];	/* address in the last ASK reply */
	const char *home;	/* the server that sent the last ASK */
	uint64_t opened;	/* number of connections made */
	uint64_t again;		/* number of reconnections */
	bool begun;		/* the first connection was attempted */
};

/*
 * Set up k for the server with the index `server` in cf.  Call this before the
 * first link_do().  Replies are expected to have up to `bytes` bytes.  A reply
 * may be LINK_MORE_BYTES longer, to allow for rewards and malformed
 * experiences.
 */
#define LINK_MORE_BYTES ((uint64_t)64 << 20)
void link_to(struct link *k, const struct conf *cf, size_t server,
    uint64_t bytes, const volatile sig_atomic_t *stop);

/*
 * Call it(k, arg) until the call returns true.  The function it() uses k->call
 * and returns false on failure.  If the connection failed, or if a Redis
 * Cluster redirects a key or has no node for the key now, connect again, until
 * timeout_ns after the first failure.  If a server of a cluster is gone, ask
 * another server which node has replaced it.  Return false with the reason in
 * k->call.why if timeout_ns has passed, if a reply was wrong or late, or if
 * *stop is set.
 */
bool link_do(struct link *k, bool (*it)(struct link *k, void *arg),
    void *arg);

/*
 * Return whether an error text redirects the client to another node of a
 * cluster, or asks it to retry later.
 */
bool link_is_redirect(const char *text);

/*
 * Set the error message, because the reply to `what` is an error or has the
 * wrong type.  Return false.
 */
bool link_refuse(struct link *k, const char *what, const struct respreply *r);

/* Sleep for ns nanoseconds.  Return false if *stop is set. */
bool link_sleep(const struct link *k, uint64_t ns);

#endif
