/*
 * redis-link.h - a connection that is made again when it is lost
 */
#ifndef INNET_AGENT_APEX_REDIS_LINK_H
#define INNET_AGENT_APEX_REDIS_LINK_H

#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/apex/resp-call.h"

struct link {
	struct respcall call;
	const struct remote *remote;	/* borrowed: the servers, password */
	size_t server;		/* which of them */
	bool alone;		/* no other answers for it: no cluster */
	char moved[128];	/* where a cluster said to go */
	char asked[128];	/* where it said to ask this once */
	const char *home;	/* ... and who said so */
	uint64_t opened;	/* connections made */
	uint64_t again;		/* of them after the first */
	bool begun;
};

/*
 * The caller's part of it: which of the servers, and how to get in there.  Its
 * replies should have so many bytes; they may have LINK_MORE_BYTES more, for
 * rewards, and for experiences that are none.
 */
#define LINK_MORE_BYTES ((uint64_t)64 << 20)
void link_to(struct link *k, const struct conf *cf, size_t server,
    uint64_t bytes, const volatile sig_atomic_t *stop);

/*
 * Do it until it is done: it uses k->call and says false when that failed.
 * Where the connection did, it is made again, up to timeout_ns after the first
 * failure, and so where a Redis Cluster says that a key is elsewhere, or not to
 * be had now.  Where a server of a cluster is gone another one is asked who has
 * taken over.  False then, or where the server's answer was wrong or did not
 * come in time, or *stop says so: the reason is in k->call.why.
 */
bool link_do(struct link *k, bool (*it)(struct link *k, void *arg),
    void *arg);

/* Is that error a cluster's word to ask elsewhere, or later? */
bool link_is_redirect(const char *text);

/* The answer to what is an error, or no answer to it: fail with that; false. */
bool link_refuse(struct link *k, const char *what, const struct respreply *r);

/* Sleep that long, 0 or more ns; false if *stop says so. */
bool link_sleep(const struct link *k, uint64_t ns);

#endif
