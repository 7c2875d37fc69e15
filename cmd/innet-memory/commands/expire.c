/* expire.c - keys that expire: EXPIRE and its variants, TTL, PERSIST */
#include <limits.h>
#include <string.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"

enum { MS = 1000000, SWEEP_NS = 100 * MS, SWEEP_KEYS = 1000 };

/* Conditions of EXPIRE. */
struct conditions {
	bool nx, xx, gt, lt;
};

static bool
read_conditions(struct client *c, const struct resp_args *a,
    struct conditions *w)
{
	for (size_t i = 3; i < a->n; i++) {
		w->nx |= args_equal(a, i, "nx");
		w->xx |= args_equal(a, i, "xx");
		w->gt |= args_equal(a, i, "gt");
		w->lt |= args_equal(a, i, "lt");
		if (args_equal(a, i, "nx") || args_equal(a, i, "xx") ||
		    args_equal(a, i, "gt") || args_equal(a, i, "lt"))
			continue;
		reply_error(c, "ERR Unsupported option %.*s",
		    (int)(a->v[i].len < 128 ? a->v[i].len : 128),
		    (const char *)a->v[i].p);
		return false;
	}
	if (w->nx && (w->xx || w->gt || w->lt))
		reply_error(c, "ERR NX and XX, GT or LT options at the same "
		    "time are not compatible");
	else if (w->gt && w->lt)
		reply_error(c, "ERR GT and LT options at the same time are "
		    "not compatible");
	else
		return true;
	return false;
}

/*
 * Return true if the options allow key k to get this expiry time.  A key
 * without an expiry time counts as a key that expires later than all others.
 */
static bool
conditions_hold(const struct key *k, const struct conditions *w, int64_t at_ms)
{
	const bool timed = k->expires_ms != 0;
	const int64_t had = (int64_t)k->expires_ms;

	return !(w->nx && timed) && !(w->xx && !timed) &&
	    !(w->gt && (!timed || at_ms <= had)) &&
	    !(w->lt && timed && at_ms >= had);
}

static void
set_expiry(struct client *c, const struct resp_args *a,
    enum keys_time_unit unit, const char *name)
{
	struct conditions w = { 0 };
	struct key *k;
	int64_t at;

	if (!read_conditions(c, a, &w) ||
	    !keys_read_time(c, a, 2, unit, name, &at))
		return;
	k = keys_find_arg(c, a, 1);
	if (k == NULL || !conditions_hold(k, &w, at)) {
		reply_int(c, 0);
		return;
	}
	if (at <= keys_now_ms()) {
		keyspace_remove(&c->srv->keys, k);
		server_mark_changed(c->srv);
	} else {
		keyspace_expire(&c->srv->keys, k, (uint64_t)at);
		keys_mark_changed(c, k);
	}
	reply_int(c, 1);
}

static void
run_expire(struct client *c, const struct resp_args *a)
{
	set_expiry(c, a, KEYS_SECONDS, "expire");
}

static void
run_pexpire(struct client *c, const struct resp_args *a)
{
	set_expiry(c, a, KEYS_MS, "pexpire");
}

static void
run_expireat(struct client *c, const struct resp_args *a)
{
	set_expiry(c, a, KEYS_AT_SECONDS, "expireat");
}

static void
run_pexpireat(struct client *c, const struct resp_args *a)
{
	set_expiry(c, a, KEYS_AT_MS, "pexpireat");
}

/*
 * Reply with the expiry time of a key, or with the time that is left.  The
 * reply is -1 if the key does not expire and -2 if the key does not exist.
 */
static void
reply_expiry(struct client *c, const struct resp_args *a, bool seconds,
    bool left)
{
	const struct key *k = keys_find_arg(c, a, 1);
	int64_t ms;

	if (k == NULL || k->expires_ms == 0) {
		reply_int(c, k == NULL ? -2 : -1);
		return;
	}
	ms = (int64_t)k->expires_ms - (left ? keys_now_ms() : 0);
	ms = ms < 0 ? 0 : ms;
	reply_int(c, seconds ? (ms + 500) / 1000 : ms);
}

static void
run_ttl(struct client *c, const struct resp_args *a)
{
	reply_expiry(c, a, true, true);
}

static void
run_pttl(struct client *c, const struct resp_args *a)
{
	reply_expiry(c, a, false, true);
}

static void
run_expiretime(struct client *c, const struct resp_args *a)
{
	reply_expiry(c, a, true, false);
}

static void
run_pexpiretime(struct client *c, const struct resp_args *a)
{
	reply_expiry(c, a, false, false);
}

static void
run_persist(struct client *c, const struct resp_args *a)
{
	struct key *k = keys_find_arg(c, a, 1);
	const bool timed = k != NULL && k->expires_ms != 0;

	if (timed) {
		keyspace_expire(&c->srv->keys, k, 0);
		keys_mark_changed(c, k);
	}
	reply_int(c, timed);
}

/* Remove a few expired keys that no client has requested. */
static uint64_t
sweep_expired(struct server *srv, uint64_t now_ns)
{
	struct keyspace *ks = &srv->keys;

	if (ks->expiring == 0)
		return TIMER_NEVER;
	if (now_ns < srv->sweep_ns)
		return srv->sweep_ns;
	for (size_t n = 0; n < SWEEP_KEYS && ks->n > 0; n++) {
		/*
		 * count down, because the last key moves to the place of a
		 * removed key
		 */
		srv->sweep_at = (srv->sweep_at == 0 || srv->sweep_at > ks->n ?
		    ks->n : srv->sweep_at) - 1;
		if (keys_is_over(ks->key[srv->sweep_at])) {
			keyspace_remove(ks, ks->key[srv->sweep_at]);
			srv->expired++;
		}
	}
	srv->sweep_ns = now_ns + SWEEP_NS;
	return srv->sweep_ns;
}

enum { READ = COMMAND_READ | COMMAND_FAST,
	WRITE = COMMAND_WRITE | COMMAND_FAST };

#define WHEN " [NX|XX|GT|LT]"

static const struct command commands[] = {
	{ "expire", -3, WRITE, run_expire, "generic",
	    "Sets the expiry time of a key in seconds.",
	    "key seconds" WHEN, 1, 1, 1, NULL },
	{ "expireat", -3, WRITE, run_expireat, "generic",
	    "Sets the expiry time of a key to a Unix time in seconds.",
	    "key unix-time-seconds" WHEN, 1, 1, 1, NULL },
	{ "expiretime", 2, READ, run_expiretime, "generic",
	    "Returns the expiry time of a key as a Unix time in seconds.",
	    "key", 1, 1, 1, NULL },
	{ "persist", 2, WRITE, run_persist, "generic",
	    "Removes the expiry time of a key.",
	    "key", 1, 1, 1, NULL },
	{ "pexpire", -3, WRITE, run_pexpire, "generic",
	    "Sets the expiry time of a key in milliseconds.",
	    "key milliseconds" WHEN, 1, 1, 1, NULL },
	{ "pexpireat", -3, WRITE, run_pexpireat, "generic",
	    "Sets the expiry time of a key to a Unix time in ms.",
	    "key unix-time-ms" WHEN, 1, 1, 1, NULL },
	{ "pexpiretime", 2, READ, run_pexpiretime, "generic",
	    "Returns the expiry time of a key as a Unix time in ms.",
	    "key", 1, 1, 1, NULL },
	{ "pttl", 2, READ, run_pttl, "generic",
	    "Returns the time until a key expires in milliseconds.",
	    "key", 1, 1, 1, NULL },
	{ "ttl", 2, READ, run_ttl, "generic",
	    "Returns the time until a key expires in seconds.",
	    "key", 1, 1, 1, NULL },
	{ 0 }
};

const struct part expire_part = { .name = "expire", .commands = commands,
	.tick = sweep_expired };
