/*
 * redis-link.c - a connection to a Redis server that reconnects when it fails
 */
#include "config.h"

#include "cmd/innet-agent/apex/redis-link.h"
#include "cmd/innet-agent/apex/realtime.h"

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
	k->remote = &cf->remote;
	k->server = server;
	k->alone = cf->remote.redis;
}

/*
 * Send AUTH, or PING if there is no password.  A server that requires a
 * password rejects the PING.  Without the PING, such a server might close the
 * connection during a long first request.
 */
static bool
authenticate(struct link *k)
{
	const char *const password = k->remote->password;
	const char *const what = password != NULL ? "AUTH" : "PING";
	struct respreply r = { 0 };

	respcall_words(&k->call, (const char *[]){ what, password, NULL });
	return respcall_send(&k->call, what) &&
	    respcall_want(&k->call, RESPREPLY_STATUS, &r, what);
}

static bool
open_one(struct link *k)
{
	if (!respcall_open(&k->call) || !authenticate(k))
		return false;
	k->again += k->opened++ > 0;
	return true;
}

/* Return whether the connected server is part of a cluster. */
static bool
is_clustered(struct link *k)
{
	struct respcall *c = &k->call;
	char text[256] = "";
	struct respreply r;
	size_t n;

	respcall_words(c, (const char *[]){ "INFO", "cluster", NULL });
	if (!respcall_send(c, "INFO") || !respcall_next(c, &r, "INFO") ||
	    r.kind != RESPREPLY_BULK)
		return false;
	n = (size_t)r.n < sizeof(text) - 1 ? (size_t)r.n : sizeof(text) - 1;
	return respcall_body(c, text, n, "INFO") &&
	    strstr(text, "cluster_enabled:1") != NULL;
}

/*
 * Handle the loss of a server.  In a cluster, connect to another node, which
 * knows which node has replaced the server.
 */
static void
find_successor(struct link *k)
{
	const struct remote *rm = k->remote;
	struct respcall *c = &k->call;
	const char *const gone = c->asking ? k->home : c->name;

	c->name = gone;
	c->asking = false;
	for (size_t i = 0; i < rm->servers && !k->alone; i++) {
		c->name = rm->at[(k->server + i) % rm->servers];
		if (strcmp(c->name, gone) == 0 || !open_one(k))
			continue;
		if (is_clustered(k))
			return;
		k->alone = c->fd != -1;
	}
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	c->name = gone;
	c->refused = false;
}

bool
link_refuse(struct link *k, const char *what, const struct respreply *r)
{
	k->call.refused = true;
	return respcall_fail(&k->call, "%s: %s", what, r->kind ==
	    RESPREPLY_ERROR ? r->text : "an unexpected kind of answer");
}

/* Fail because the connection could not be repaired in time. */
static bool
fail_reconnecting(struct respcall *c)
{
	/* in the text, the reason follows the server's name */
	const char *text_at = strstr(c->why, ": ");
	char why[sizeof(c->why)];

	snprintf(why, sizeof(why), "%s", text_at == NULL ? c->why : text_at +
	    2);
	return respcall_fail(c, "no connection for %g s: %s",
	    (double)c->timeout_ns * 1e-9, why);
}

/*
 * The errors that redirect a client.  The errors at index LATER and above ask
 * the client to retry later.
 */
static const char *const redirects[] = { "MOVED ", "ASK ", "TRYAGAIN ",
	"CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", NULL };
enum { MOVED, ASK, LATER };

/*
 * Return the index of the redirecting error with which `text` begins.  If there
 * is none, return the index of the NULL at the end.
 */
static size_t
match_redirect(const char *text)
{
	size_t i = 0;

	while (redirects[i] != NULL &&
	       strncmp(text, redirects[i], strlen(redirects[i])))
		i++;
	return i;
}

bool
link_is_redirect(const char *text)
{
	return redirects[match_redirect(text)] != NULL;
}

/*
 * Follow the redirection in c->why, at once or later.  Return false if c->why
 * is not a redirection.  Wait before a second redirection in a row, because the
 * nodes may not agree yet on the owner of the key.
 */
static bool
follow_redirect(struct link *k, bool first)
{
	struct respcall *c = &k->call;
	char at[sizeof(k->moved)] = "";
	const char *text_at = c->why;
	size_t which;

	do {	/* skip the server's name and the name of the request */
		text_at = strstr(text_at, ": ");
		text_at += text_at == NULL ? 0 : 2;
		which = text_at == NULL ? 0 : match_redirect(text_at);
	} while (text_at != NULL && redirects[which] == NULL);
	if (text_at == NULL)
		return false;
	if ((which >= LATER || !first) && !link_sleep(k, RETRY_NS))
		return false;
	if (which >= LATER)
		return true;
	if (sscanf(text_at, "%*s %*u %127s", at) != 1)
		return false;
	if (which == ASK && !c->asking)
		k->home = c->name;
	memcpy(which == ASK ? k->asked : k->moved, at, sizeof(at));
	c->name = which == ASK ? k->asked : k->moved;
	c->asking = which == ASK;
	return true;
}

/* Return to the node that sent ASK, because ASK applies to one request only. */
static void
return_home(struct link *k)
{
	struct respcall *c = &k->call;

	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	c->name = k->home;
	c->asking = false;
}

static bool
run_exchange(struct link *k, bool (*it)(struct link *k, void *arg), void *arg)
{
	struct respcall *c = &k->call;
	uint64_t deadline_ns = TIMER_NEVER; /* until something has failed */
	bool sent = false;	/* a redirection was followed before */

	c->refused = false;
	for (;;) {
		const bool open = k->begun && c->fd != -1;

		if (open && it(k, arg)) {
			if (c->asking)
				return_home(k);
			return true;
		}
		if (k->begun && c->refused) {
			if (!follow_redirect(k, !sent))
				return false;
			sent = true;
		}
		if (deadline_ns == TIMER_NEVER)
			deadline_ns =
			    timer_after(timer_mono_ns(), c->timeout_ns);
		else if (timer_mono_ns() >= deadline_ns)
			return fail_reconnecting(c);
		if (!open_one(k)) {
			if (c->refused || !link_sleep(k, RETRY_NS))
				return false;
			find_successor(k);
		}
		k->begun = true;
	}
}

bool
link_do(struct link *k, bool (*it)(struct link *k, void *arg), void *arg)
{
	struct realtime before;
	bool good;

	if (!k->remote->realtime)
		return run_exchange(k, it, arg);
	realtime_begin(&before);
	good = run_exchange(k, it, arg);
	realtime_end(&before);
	return good;
}
