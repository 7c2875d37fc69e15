/* key-lookup.c - find the key that an argument names, and read expiry times */
#include "common/net/timer.h"

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/reply.h"

enum { MS = 1000000 };

const char keys_wrong_type[] =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

int64_t
keys_now_ms(void)
{
	return (int64_t)(timer_wall_ns() / MS);
}

bool
keys_is_over(const struct key *k)
{
	return k->expires_ms != 0 && k->expires_ms <= (uint64_t)keys_now_ms();
}

struct key *
keys_find_live(struct server *srv, const uint8_t *name, size_t len)
{
	struct key *k = keyspace_find(&srv->keys, name, len);

	if (k == NULL || !keys_is_over(k))
		return k;
	keyspace_remove(&srv->keys, k);
	srv->expired++;
	return NULL;
}

static void
reply_wrong_time(struct client *c, const char *name)
{
	reply_error(c, "ERR invalid expire time in '%s' command", name);
}

bool
keys_read_time(struct client *c, const struct resp_args *a, size_t i,
    enum keys_time_unit unit, const char *name, int64_t *at_ms)
{
	const int64_t by = unit == KEYS_SECONDS || unit == KEYS_AT_SECONDS ?
	    1000 : 1;
	const int64_t base = unit == KEYS_SECONDS || unit == KEYS_MS ?
	    keys_now_ms() : 0;

	if (!args_require_integer(c, a, i, at_ms))
		return false;
	if (!__builtin_mul_overflow(*at_ms, by, at_ms) &&
	    !__builtin_add_overflow(*at_ms, base, at_ms))
		return true;
	reply_wrong_time(c, name);
	return false;
}

bool
keys_read_future_time(struct client *c, const struct resp_args *a, size_t i,
    enum keys_time_unit unit, const char *name, uint64_t *at_ms)
{
	int64_t given, at;

	if (!args_require_integer(c, a, i, &given))
		return false;
	if (given <= 0) {
		reply_wrong_time(c, name);
		return false;
	}
	if (!keys_read_time(c, a, i, unit, name, &at))
		return false;
	*at_ms = (uint64_t)at;
	return true;
}

struct key *
keys_find_arg(struct client *c, const struct resp_args *a, size_t i)
{
	return keys_find_live(c->srv, a->v[i].p, a->v[i].len);
}

bool
keys_find_typed(struct client *c, const struct resp_args *a, size_t i,
    enum key_type type, struct key **k)
{
	*k = keys_find_arg(c, a, i);
	if (*k == NULL || (*k)->type == type)
		return true;
	reply_error(c, "%s", keys_wrong_type);
	return false;
}

void
keys_mark_changed(struct client *c, struct key *k)
{
	k->version = ++c->srv->version;
	server_mark_changed(c->srv);
}
