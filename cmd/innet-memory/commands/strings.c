/* strings.c - commands for strings */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/parts.h"

/* Number of keys whose values MGET adds to the reply at a time. */
enum { MGET_SLICE = 256 };

static void
run_get(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (!keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	if (k == NULL)
		reply_nil(c);
	else
		reply_blob(c, k->string);
}

/* Reply with the version and the value if the version is above `since`. */
static void
run_getv(struct client *c, const struct resp_args *a)
{
	struct key *k;
	int64_t since;

	if (!args_require_integer(c, a, 2, &since) || !keys_find_typed(c, a, 1,
	    KEY_STRING, &k))
		return;
	if (k == NULL || (since > 0 && k->version <= (uint64_t)since)) {
		reply_nil_array(c);
		return;
	}
	reply_array(c, 2);
	reply_int(c, (int64_t)k->version);
	reply_blob(c, k->string);
}

static void
run_getdel(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (!keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	if (k == NULL) {
		reply_nil(c);
		return;
	}
	reply_blob(c, k->string);
	keyspace_remove(&c->srv->keys, k);
	server_mark_changed(c->srv);
}

/*
 * Add up to MGET_SLICE of the values that hold_values() has collected to the
 * reply.
 */
static bool
resume_mget(struct client *c, struct resp_args *a)
{
	for (int i = 0; i < MGET_SLICE && c->resume_at + 1 < a->n &&
	    !client_has_backlog(c); i++) {
		struct resp_arg *v = &a->v[++c->resume_at];

		if (v->bulk == NULL)
			reply_nil(c);
		else
			reply_blob(c, v->bulk);
		blob_drop(&c->srv->account, v->bulk);
		v->bulk = NULL;
	}
	return c->resume_at + 1 == a->n;
}

/*
 * Replace the names of keys in the client's request by the current values of
 * these keys.
 */
static void
hold_values(struct client *c)
{
	struct resp_args *a = &c->in.args;

	for (size_t i = 1; i < a->n; i++) {
		const struct key *k = keys_find_arg(c, a, i);

		blob_drop(&c->srv->account, a->v[i].bulk);
		a->v[i] = (struct resp_arg){ .bulk = k == NULL || k->type !=
		    KEY_STRING ? NULL : blob_hold(k->string) };
	}
}

/*
 * The values of many keys can be a million times larger than the request.  With
 * many keys, the request therefore holds the values instead of the names of the
 * keys, and the reply grows only as fast as the client reads it.
 */
static void
run_mget(struct client *c, const struct resp_args *a)
{
	reply_array(c, a->n - 1);
	if (a->n > MGET_SLICE && client_reply_in_slices(c, a, resume_mget)) {
		hold_values(c);
		return;
	}
	for (size_t i = 1; i < a->n; i++) {
		const struct key *k = keys_find_arg(c, a, i);

		if (k == NULL || k->type != KEY_STRING)
			reply_nil(c);
		else
			reply_blob(c, k->string);
	}
}

static void
run_strlen(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (keys_find_typed(c, a, 1, KEY_STRING, &k))
		reply_int(c, k == NULL ? 0 : (int64_t)k->string->len);
}

/*
 * Set the key in argument i to b, with the expiry time expires_ms.  A key of
 * any type may already exist.  The function takes over the caller's hold of b.
 * `b` may be NULL if there was no memory for it.  If there is no memory, reply
 * with an error and return false.
 */
static bool
set_string(struct client *c, const struct resp_args *a, size_t i,
    struct blob *b, uint64_t expires_ms)
{
	struct keyspace *ks = &c->srv->keys;
	struct key *k = b == NULL ? NULL : keys_find_arg(c, a, i);

	if (k != NULL && k->type != KEY_STRING) {
		keyspace_remove(ks, k);
		k = NULL;
	}
	if (b != NULL && k == NULL)
		k = keyspace_add(ks, a->v[i].p, a->v[i].len);
	if (k == NULL) {
		blob_drop(&c->srv->account, b);
		reply_oom(c);
		return false;
	}
	blob_drop(&c->srv->account, k->string);
	k->string = b;
	keyspace_expire(ks, k, expires_ms);
	keys_mark_changed(c, k);
	return true;
}

/* Options of SET. */
struct set_options {
	bool nx, xx, get;
	bool keep;		/* the option KEEPTTL was given */
	size_t time;	/* index of the argument with the expiry, or 0 */
	enum keys_time_unit unit;
};

/*
 * Return true if argument *i is an option with an expiry time.  In this case,
 * set *i to the last argument of the option.
 */
static bool
read_expiry_option(const struct resp_args *a, size_t *i,
    struct set_options *options)
{
	static const char *const words[] = {
		[KEYS_SECONDS] = "ex", [KEYS_MS] = "px",
		[KEYS_AT_SECONDS] = "exat", [KEYS_AT_MS] = "pxat"
	};

	for (unsigned t = 0; t < sizeof(words) / sizeof(*words); t++) {
		if (!args_equal(a, *i, words[t]) || *i + 1 >= a->n ||
		    options->time != 0 || options->keep)
			continue;
		options->unit = (enum keys_time_unit)t;
		options->time = ++*i;
		return true;
	}
	return false;
}

/*
 * Read the options of SET.  If they are invalid, reply with an error and return
 * false.
 */
static bool
read_set_options(struct client *c, const struct resp_args *a,
    struct set_options *options)
{
	for (size_t i = 3; i < a->n; i++) {
		if (args_equal(a, i, "nx") && !options->xx) {
			options->nx = true;
		} else if (args_equal(a, i, "xx") && !options->nx) {
			options->xx = true;
		} else if (args_equal(a, i, "get")) {
			options->get = true;
		} else if (args_equal(a, i, "keepttl") && options->time == 0) {
			options->keep = true;
		} else if (!read_expiry_option(a, &i, options)) {
			reply_error(c, "ERR syntax error");
			return false;
		}
	}
	return true;
}

static void
run_set(struct client *c, const struct resp_args *a)
{
	struct set_options options = { 0 };
	uint64_t expires_ms = 0;
	struct blob *old;
	struct key *k;
	bool done;

	if (!read_set_options(c, a, &options) || (options.time > 0 &&
	    !keys_read_future_time(c, a, options.time, options.unit, "set",
	    &expires_ms)))
		return;
	k = keys_find_arg(c, a, 1);
	if (options.get && !keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	old = options.get && k != NULL ? blob_hold(k->string) : NULL;
	done = !((options.nx && k != NULL) || (options.xx && k == NULL));
	if (options.keep && k != NULL)
		expires_ms = k->expires_ms;
	if (!done || set_string(c, a, 1, args_keep_blob(c, a, 2), expires_ms)) {
		if (old != NULL)
			reply_blob(c, old);
		else if (options.get || !done)
			reply_nil(c);
		else
			reply_status(c, "OK");
	}
	blob_drop(&c->srv->account, old);
}

static void
run_setnx(struct client *c, const struct resp_args *a)
{
	if (keys_find_arg(c, a, 1) != NULL)
		reply_int(c, 0);
	else if (set_string(c, a, 1, args_keep_blob(c, a, 2), 0))
		reply_int(c, 1);
}

/* Run SETEX and PSETEX, in which the time is the argument before the value. */
static void
set_timed(struct client *c, const struct resp_args *a,
    enum keys_time_unit unit, const char *name)
{
	uint64_t expires_ms;

	if (keys_read_future_time(c, a, 2, unit, name, &expires_ms) &&
	    set_string(c, a, 1, args_keep_blob(c, a, 3), expires_ms))
		reply_status(c, "OK");
}

static void
run_setex(struct client *c, const struct resp_args *a)
{
	set_timed(c, a, KEYS_SECONDS, "setex");
}

static void
run_psetex(struct client *c, const struct resp_args *a)
{
	set_timed(c, a, KEYS_MS, "psetex");
}

static void
run_getset(struct client *c, const struct resp_args *a)
{
	struct blob *old;
	struct key *k;

	if (!keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	old = k == NULL ? NULL : blob_hold(k->string);
	if (set_string(c, a, 1, args_keep_blob(c, a, 2), 0)) {
		if (old == NULL)
			reply_nil(c);
		else
			reply_blob(c, old);
	}
	blob_drop(&c->srv->account, old);
}

/*
 * Set pairs of a key and a value, beginning with argument 1.  If memory runs
 * out, only the first pairs are set.
 */
static bool
set_pairs(struct client *c, const struct resp_args *a)
{
	for (size_t i = 1; i < a->n; i += 2) {
		if (!set_string(c, a, i, args_keep_blob(c, a, i + 1), 0))
			return false;
	}
	return true;
}

static bool
check_pairs(struct client *c, const struct resp_args *a, const char *name)
{
	if (a->n % 2 == 0)
		reply_error(c, "ERR wrong number of arguments for '%s' "
		    "command", name);
	return a->n % 2 != 0;
}

static void
run_mset(struct client *c, const struct resp_args *a)
{
	if (check_pairs(c, a, "mset") && set_pairs(c, a))
		reply_status(c, "OK");
}

static void
run_msetnx(struct client *c, const struct resp_args *a)
{
	if (!check_pairs(c, a, "msetnx"))
		return;
	for (size_t i = 1; i < a->n; i += 2) {
		if (keys_find_arg(c, a, i) != NULL) {
			reply_int(c, 0);
			return;
		}
	}
	if (set_pairs(c, a))
		reply_int(c, 1);
}

/* Set the key in argument 1 to the digits at s, and keep its expiry time. */
static bool
set_number(struct client *c, const struct resp_args *a, const struct key *k,
    const char *s, size_t len)
{
	return set_string(c, a, 1, blob_copy(&c->srv->account, s, len),
	    k == NULL ? 0 : k->expires_ms);
}

static void
increase_number(struct client *c, const struct resp_args *a, int64_t by)
{
	int64_t v = 0;
	struct key *k;
	char s[24];
	int len;

	if (!keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	if (k != NULL &&
	    !resp_read_integer(k->string->bytes, k->string->len, &v)) {
		reply_error(c, "ERR value is not an integer or out of range");
		return;
	}
	if (__builtin_add_overflow(v, by, &v)) {
		reply_error(c, "ERR increment or decrement would overflow");
		return;
	}
	len = snprintf(s, sizeof(s), "%" PRId64, v);
	if (set_number(c, a, k, s, (size_t)len))
		reply_int(c, v);
}

static void
run_incr(struct client *c, const struct resp_args *a)
{
	increase_number(c, a, 1);
}

static void
run_decr(struct client *c, const struct resp_args *a)
{
	increase_number(c, a, -1);
}

static void
run_incrby(struct client *c, const struct resp_args *a)
{
	int64_t by;

	if (args_require_integer(c, a, 2, &by))
		increase_number(c, a, by);
}

static void
run_decrby(struct client *c, const struct resp_args *a)
{
	int64_t by;

	if (!args_require_integer(c, a, 2, &by))
		return;
	if (by == INT64_MIN)
		reply_error(c, "ERR decrement would overflow");
	else
		increase_number(c, a, -by);
}

/*
 * Read a number in the same way as INCRBYFLOAT of Redis.  Return false if it is
 * not a number.
 */
static bool
read_long_double(const uint8_t *p, size_t len, long double *v)
{
	char s[5120], *end;	/* the array has the same size in Redis */

	if (len == 0 || len >= sizeof(s) || (p[0] != '-' && p[0] != '+' &&
	    p[0] != '.' && (p[0] < '0' || p[0] > '9') && p[0] != 'i' &&
	    p[0] != 'I'))
		return false;
	memcpy(s, p, len);
	s[len] = '\0';
	*v = strtold(s, &end);
	return end == s + len && !isnan(*v);
}

static void
run_incrbyfloat(struct client *c, const struct resp_args *a)
{
	const struct resp_arg *by = &a->v[2];
	long double v = 0, more = 0;
	struct key *k;
	char s[5200];		/* the largest number has 4933 digits */
	int len;

	if (!keys_find_typed(c, a, 1, KEY_STRING, &k))
		return;
	if ((k != NULL && !read_long_double(k->string->bytes, k->string->len,
	    &v)) || !read_long_double(by->p, by->len, &more)) {
		reply_error(c, "ERR value is not a valid float");
		return;
	}
	v += more;
	if (isnan(v) || isinf(v)) {
		reply_error(c, "ERR increment would produce NaN or Infinity");
		return;
	}
	len = snprintf(s, sizeof(s), "%.17Lf", v);
	while (s[len - 1] == '0')
		len--;
	len -= s[len - 1] == '.';
	if (len == 2 && memcmp(s, "-0", 2) == 0)
		len = snprintf(s, sizeof(s), "0");
	if (set_number(c, a, k, s, (size_t)len))
		reply_bulk(c, s, (size_t)len);
}

enum { READ = COMMAND_READ | COMMAND_FAST,
	ADD = COMMAND_WRITE | COMMAND_DENY_OOM,
	QUICK = COMMAND_WRITE | COMMAND_DENY_OOM | COMMAND_FAST };

static const struct command commands[] = {
	{ "decr", 2, QUICK, run_decr, "string",
	    "Decrements the integer value of a key by one.",
	    "key", 1, 1, 1, NULL },
	{ "decrby", 3, QUICK, run_decrby, "string",
	    "Decrements the integer value of a key by a number.",
	    "key decrement", 1, 1, 1, NULL },
	{ "get", 2, READ, run_get, "string",
	    "Returns the string value of a key.",
	    "key", 1, 1, 1, NULL },
	{ "getdel", 2, COMMAND_WRITE | COMMAND_FAST, run_getdel, "string",
	    "Returns the string value of a key, and deletes the key.",
	    "key", 1, 1, 1, NULL },
	{ "getset", 3, QUICK, run_getset, "string",
	    "Returns the string value of a key, and sets another.",
	    "key value", 1, 1, 1, NULL },
	{ "getv", 3, READ | COMMAND_NOT_REDIS, run_getv, "string",
	    "Returns version and value of a key if newer than a version.",
	    "key since", 1, 1, 1, NULL },
	{ "incr", 2, QUICK, run_incr, "string",
	    "Increments the integer value of a key by one.",
	    "key", 1, 1, 1, NULL },
	{ "incrby", 3, QUICK, run_incrby, "string",
	    "Increments the integer value of a key by a number.",
	    "key increment", 1, 1, 1, NULL },
	{ "incrbyfloat", 3, QUICK, run_incrbyfloat, "string",
	    "Increments the value of a key by a real number.",
	    "key increment", 1, 1, 1, NULL },
	{ "mget", -2, READ, run_mget, "string",
	    "Returns the string values of one or more keys.",
	    "key...", 1, -1, 1, NULL },
	{ "mset", -3, ADD, run_mset, "string",
	    "Sets the string values of one or more keys.",
	    "(key value)...", 1, -1, 2, NULL },
	{ "msetnx", -3, ADD, run_msetnx, "string",
	    "Sets the string values of keys if none of them exists.",
	    "(key value)...", 1, -1, 2, NULL },
	{ "psetex", 4, ADD, run_psetex, "string",
	    "Sets the string value of a key and its time in milliseconds.",
	    "key milliseconds value", 1, 1, 1, NULL },
	{ "set", -3, ADD, run_set, "string",
	    "Sets the string value of a key.",
	    "key value [NX|XX] [GET] [EX seconds|PX milliseconds|"
	    "EXAT seconds|PXAT milliseconds|KEEPTTL]", 1, 1, 1, NULL },
	{ "setex", 4, ADD, run_setex, "string",
	    "Sets the string value of a key and its time in seconds.",
	    "key seconds value", 1, 1, 1, NULL },
	{ "setnx", 3, QUICK, run_setnx, "string",
	    "Sets the string value of a key that does not exist.",
	    "key value", 1, 1, 1, NULL },
	{ "strlen", 2, READ, run_strlen, "string",
	    "Returns the length of a string value.",
	    "key", 1, 1, 1, NULL },
	{ 0 }
};

const struct part strings_part = { .name = "strings", .commands = commands };
