/* command.c - the table of commands, and what is checked before one runs */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/server/command.h"
#include "cmd/innet-memory/server/server.h"
#include "cmd/innet-memory/server/transaction.h"

enum { HOMES = 1024 };	/* several times the commands there are */

static size_t
home_of(const uint8_t *p, size_t len)
{
	uint32_t h = 2166136261;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint32_t)tolower(p[i])) * 16777619;
	return (h ^ h >> 15) % HOMES;
}

static size_t
count(const struct command *c)
{
	size_t n = 0;

	for (; c != NULL && c->name != NULL; c++)
		n += 1 + count(c->subs);
	return n;
}

/* Add the commands of a table; those with words are followed by them. */
static void
add(struct verbs *vs, const struct command *c, const struct verb *of)
{
	for (; c != NULL && c->name != NULL; c++) {
		struct verb *v = &vs->v[vs->n++];
		size_t at = home_of((const uint8_t *)c->name,
		    strlen(c->name));

		v->cmd = c;
		v->of = of;
		if (of == NULL)
			snprintf(v->name, sizeof(v->name), "%s", c->name);
		else
			snprintf(v->name, sizeof(v->name), "%.15s|%.15s",
			    of->cmd->name, c->name);
		while (of == NULL && vs->home[at] != 0)
			at = (at + 1) % HOMES;
		if (of == NULL)
			vs->home[at] = (uint16_t)vs->n;
		add(vs, c->subs, v);
	}
}

bool
verbs_open(struct verbs *vs)
{
	size_t n = 0;

	for (size_t i = 0; server_parts[i] != NULL; i++)
		n += count(server_parts[i]->commands);
	*vs = (struct verbs){ .v = calloc(n, sizeof(*vs->v)),
	    .home = calloc(HOMES, sizeof(*vs->home)) };
	if (vs->v == NULL || vs->home == NULL) {
		verbs_close(vs);
		return false;
	}
	for (size_t i = 0; server_parts[i] != NULL; i++)
		add(vs, server_parts[i]->commands, NULL);
	return true;
}

void
verbs_close(struct verbs *vs)
{
	free(vs->v);
	free(vs->home);
	*vs = (struct verbs){ 0 };
}

struct verb *
verbs_find(const struct verbs *vs, const uint8_t *p, size_t len)
{
	for (size_t at = home_of(p, len); vs->home[at] != 0;
	    at = (at + 1) % HOMES) {
		struct verb *v = &vs->v[vs->home[at] - 1];

		if (word_is(v->cmd->name, p, len))
			return v;
	}
	return NULL;
}

struct verb *
verbs_sub(const struct verbs *vs, const struct verb *of, const uint8_t *p,
    size_t len)
{
	const size_t from = (size_t)(of - vs->v) + 1;

	for (size_t i = from; i < vs->n && vs->v[i].of == of; i++) {
		if (word_is(vs->v[i].cmd->name, p, len))
			return &vs->v[i];
	}
	return NULL;
}

/* Redis shows up to 128 bytes of a word, and of all that follow it. */
static void
say_unknown(struct client *c, const struct resp_args *a)
{
	char args[160];
	size_t n = 0;

	args[0] = '\0';
	for (size_t i = 1; i < a->n && n < 128; i++) {
		const size_t left = 128 - n;
		const int len = (int)(a->v[i].len < left ? a->v[i].len : left);

		n += (size_t)snprintf(args + n, sizeof(args) - n, "'%.*s' ",
		    len, (const char *)a->v[i].p);
	}
	reply_error(c, "ERR unknown command '%.*s', with args beginning with: "
	    "%s", (int)(a->v[0].len < 128 ? a->v[0].len : 128),
	    (const char *)a->v[0].p, args);
}

/* It will not run: say why, which ends a transaction if it is EXEC. */
static void
reject(struct client *c, struct verb *v, const char *why)
{
	const bool plain = strncmp(why, "ERR ", 4) == 0;

	v->rejected++;
	if (strcmp(v->name, "exec") != 0) {
		reply_error(c, "%s", why);
		tx_spoil(c);
		return;
	}
	tx_free(c);
	reply_error(c, "EXECABORT Transaction discarded because of: %s",
	    why + (plain ? 4 : 0));
}

static bool
arity_fits(const struct command *cmd, size_t n)
{
	return cmd->arity < 0 ? n >= (size_t)-cmd->arity :
	    n == (size_t)cmd->arity;
}

/* The name of a verb, all of which are shorter than 32. */
static void
upper(char up[32], const char *name)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		up[i] = (char)toupper((unsigned char)name[i]);
	up[i] = '\0';
}

/* Redis' commands are answered with Redis' bytes, our own with the usage. */
static void
say_usage(const struct verb *v, char *why, size_t room)
{
	const int n = snprintf(why, room, "ERR wrong number of arguments for "
	    "'%s' command", v->name);
	char up[32];

	if ((v->cmd->flags & COMMAND_OWN) == 0)
		return;
	upper(up, v->name);
	snprintf(why + n, room - (size_t)n, "; usage: %s %s", up,
	    v->cmd->usage == NULL ? "" : v->cmd->usage);
}

/* The verb of a request; NULL: why not has been said. */
static struct verb *
look_up(struct client *c, const struct resp_args *a)
{
	struct verbs *vs = &c->srv->verbs;
	struct verb *v = verbs_find(vs, a->v[0].p, a->v[0].len), *sub = NULL;
	char why[256];

	if (v == NULL) {
		say_unknown(c, a);
		return NULL;
	}
	if (v->cmd->subs != NULL && a->n > 1) {
		sub = verbs_sub(vs, v, a->v[1].p, a->v[1].len);
		if (sub == NULL) {
			char up[32];

			upper(up, v->name);
			v->rejected++;
			reply_error(c, "ERR unknown subcommand '%.*s'. Try "
			    "%s HELP.", (int)(a->v[1].len < 128 ?
			    a->v[1].len : 128), (const char *)a->v[1].p, up);
			return NULL;
		}
		v = sub;
	}
	if (!arity_fits(v->cmd, a->n)) {
		say_usage(v, why, sizeof(why));
		reject(c, v, why);
		return NULL;
	}
	return v;
}

/* May it run?  If not, that has been said. */
static bool
allowed(struct client *c, struct verb *v, const struct resp_args *a)
{
	const unsigned flags = v->cmd->flags;

	if (!c->known && (flags & COMMAND_STRANGER) == 0) {
		reject(c, v, "NOAUTH Authentication required.");
	} else if (a->lost || ((flags & COMMAND_MORE) != 0 &&
	    !blobs_room(&c->srv->blobs, 0))) {
		v->rejected++;
		reply_oom(c);
		tx_spoil(c);
	} else if (tx_queues(c) && (flags & COMMAND_NOT_QUEUED) != 0) {
		reject(c, v, "ERR Command not allowed inside a transaction");
	} else {
		return true;
	}
	return false;
}

void
command_call(struct client *c, struct verb *v, const struct resp_args *a)
{
	const uint64_t from = timer_mono_ns(), errors = c->errors;
	uint64_t took;

	c->last = v->name;
	c->commands++;
	c->srv->commands++;
	v->cmd->run(c, a);
	v->failed += c->errors != errors;
	took = timer_mono_ns() - from;
	c->srv->spent_ns += took;
	latency_add(&v->latency, took);
}

/* Other programs' protocols are not spoken here. */
static bool
is_http(const struct resp_args *a)
{
	return a->n > 0 && (args_is(a, 0, "post") || args_is(a, 0, "host:"));
}

void
command_run(struct client *c, struct resp_args *a)
{
	struct verb *v;

	if (is_http(a)) {
		reply_error(c, "DENIED this is no HTTP");
		client_leave(c, LEAVING_HTTP);
		return;
	}
	if (a->n == 0) {		/* not even its name was kept */
		reply_oom(c);
		tx_spoil(c);
		return;
	}
	/* a lost request lacks arguments: only its name counts */
	v = a->lost ? verbs_find(&c->srv->verbs, a->v[0].p, a->v[0].len) :
	    look_up(c, a);
	if (v == NULL && a->lost)
		reply_oom(c);
	if (v == NULL) {
		tx_spoil(c);
		return;
	}
	if (!allowed(c, v, a))
		return;
	if (tx_queues(c) && (v->cmd->flags & COMMAND_AT_ONCE) == 0)
		tx_queue(c, v, a);
	else
		command_call(c, v, a);
}
