/* link - a connection that is made again when it is lost */
#include "config.h"

#include "cmd/innet-agent/apex/redis-link.h"

enum { RETRY_NS = 50000000 };

bool
link_sleep(const struct link *k, uint64_t ns)
{
	return wait_until(NULL, 0, timer_after(timer_mono_ns(), ns),
	    k->call.stop) == WAIT_DUE;
}

void
link_to(struct link *k, const struct conf *cf, size_t server, uint64_t bytes,
    const volatile sig_atomic_t *stop)
{
	k->call.name = cf->remote.at[server];
	k->call.timeout_ns = cf->timeout_ns;
	k->call.most_bytes = bytes + LINK_MORE_BYTES;
	k->call.stop = stop;
	k->password = cf->remote.password;
}

/*
 * The first words on a connection.  Without a password a server that wants one
 * says so here, and not to something so long that it hangs up.
 */
static bool
greet(struct link *k)
{
	const char *const what = k->password != NULL ? "AUTH" : "PING";
	struct respreply r = { 0 };

	respcall_words(&k->call, (const char *[]){ what, k->password, NULL });
	return respcall_send(&k->call, what) &&
	    respcall_want(&k->call, RESPREPLY_STATUS, &r, what);
}

bool
link_refuse(struct link *k, const char *what, const struct respreply *r)
{
	k->call.refused = true;
	return respcall_fail(&k->call, "%s: %s", what, r->kind ==
	    RESPREPLY_ERROR ? r->text : "an answer of another kind");
}

/* The connection could not be made again in time. */
static bool
gone(struct respcall *c)
{
	char why[sizeof(c->why)];

	snprintf(why, sizeof(why), "%s", c->why + strlen(c->name) + 2);
	return respcall_fail(c, "no connection for %g s: %s",
	    (double)c->timeout_ns * 1e-9, why);
}

/*
 * The answer that was refused is a cluster's word to ask elsewhere, which k
 * does from now on, or later: not a failure.
 */
static bool
redirected(struct link *k)
{
	static const char *const later[] = { ": ASK ", ": TRYAGAIN ",
	    ": CLUSTERDOWN ", ": LOADING ", ": MASTERDOWN ", NULL };
	const char *said = strstr(k->call.why, ": MOVED ");
	char at[sizeof(k->moved)];

	if (said != NULL && sscanf(said, ": MOVED %*u %127s", at) == 1) {
		memcpy(k->moved, at, sizeof(at));
		k->call.name = k->moved;
		return true;
	}
	for (size_t i = 0; later[i] != NULL; i++) {
		if (strstr(k->call.why, later[i]) != NULL)
			return link_sleep(k, RETRY_NS);
	}
	return false;
}

bool
link_do(struct link *k, bool (*it)(struct link *k, void *arg), void *arg)
{
	struct respcall *c = &k->call;
	uint64_t heap_ns = TIMER_NEVER;	/* unless something has failed */

	c->refused = false;
	for (;;) {
		const bool open = k->begun && c->fd != -1;

		if (open && it(k, arg))
			return true;
		if (k->begun && c->refused && !redirected(k))
			return false;
		if (heap_ns == TIMER_NEVER)
			heap_ns = timer_after(timer_mono_ns(), c->timeout_ns);
		else if (timer_mono_ns() >= heap_ns)
			return gone(c);
		if (respcall_open(c) && greet(k))
			k->again += k->opened++ > 0;
		else if (c->refused || !link_sleep(k, RETRY_NS))
			return false;
		k->begun = true;
	}
}
