/* admin.c - COMMAND, CONFIG, SHUTDOWN */
#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/num.h"
#include "common/net/timer.h"

#include "cmd/innet-memory/commands/command-docs.h"
#include "cmd/innet-memory/commands/parts.h"

enum { VALUE_BYTES = 256 };

static size_t
count_subcommands(const struct command_table *vs, const struct command_entry *v)
{
	const size_t at = (size_t)(v - vs->v) + 1;
	size_t n = 0;

	while (at + n < vs->n && vs->v[at + n].parent == v)
		n++;
	return n;
}

static const struct {
	unsigned flag;
	const char *name;
} flags[] = {
	{ COMMAND_READ, "readonly" }, { COMMAND_WRITE, "write" },
	{ COMMAND_DENY_OOM, "denyoom" }, { COMMAND_NO_AUTH, "no_auth" },
	{ COMMAND_FAST, "fast" }, { COMMAND_ADMIN, "admin" }
};

enum { FLAGS = sizeof(flags) / sizeof(*flags) };

/* Reply with the ten fields that COMMAND shows for each command. */
static void
reply_command(struct client *c, const struct command_entry *v)
{
	const struct command_table *vs = &c->srv->command_table;
	const struct command *cmd = v->cmd;
	const size_t subs = count_subcommands(vs, v);
	size_t n = 0;

	reply_array(c, 10);
	reply_text(c, v->name);
	reply_int(c, cmd->arity);
	for (size_t i = 0; i < FLAGS; i++)
		n += (cmd->flags & flags[i].flag) != 0;
	reply_set(c, n);
	for (size_t i = 0; i < FLAGS; i++) {
		if ((cmd->flags & flags[i].flag) != 0)
			reply_status(c, flags[i].name);
	}
	reply_int(c, cmd->first_key);
	reply_int(c, cmd->last_key);
	reply_int(c, cmd->step);
	reply_set(c, 0); /* these lists are empty: there are no ACL categories,
			  * tips or key specifications */
	reply_set(c, 0);
	reply_set(c, 0);
	reply_array(c, subs);
	for (size_t i = 0; i < subs; i++)
		reply_command(c, v + 1 + i);
}

static void
reply_command_docs(struct client *c, const struct command_entry *v)
{
	const struct command_table *vs = &c->srv->command_table;
	const size_t subs = count_subcommands(vs, v);

	reply_text(c, v->name);
	reply_map(c, subs > 0 ? 5 : 4);
	reply_text(c, "summary");
	reply_text(c, v->cmd->summary);
	reply_text(c, "since");
	reply_text(c, "1.0.0");
	reply_text(c, "group");
	reply_text(c, v->cmd->group);
	reply_text(c, "arguments");
	reply_usage(c, v->cmd->usage);
	if (subs == 0)
		return;
	reply_text(c, "subcommands");
	reply_map(c, subs);
	for (size_t i = 0; i < subs; i++)
		reply_command_docs(c, v + 1 + i);
}

static size_t
count_commands(const struct command_table *vs)
{
	size_t n = 0;

	for (size_t i = 0; i < vs->n; i++)
		n += vs->v[i].parent == NULL;
	return n;
}

static void
run_command(struct client *c, const struct resp_args *a)
{
	const struct command_table *vs = &c->srv->command_table;

	(void)a;
	reply_array(c, count_commands(vs));
	for (size_t i = 0; i < vs->n; i++) {
		if (vs->v[i].parent == NULL)
			reply_command(c, &vs->v[i]);
	}
}

static void
run_count(struct client *c, const struct resp_args *a)
{
	(void)a;
	reply_int(c, (int64_t)count_commands(&c->srv->command_table));
}

static void
run_command_info(struct client *c, const struct resp_args *a)
{
	if (a->n == 2) {
		run_command(c, a);
		return;
	}
	reply_array(c, a->n - 2);
	for (size_t i = 2; i < a->n; i++) {
		const struct command_entry *v =
		    command_table_find(&c->srv->command_table, a->v[i].p,
		    a->v[i].len);

		if (v == NULL)
			reply_nil_array(c);
		else
			reply_command(c, v);
	}
}

/* Reply with a map of the requested commands that exist. */
static void
run_docs(struct client *c, const struct resp_args *a)
{
	const struct command_table *vs = &c->srv->command_table;
	size_t n = 0;

	for (size_t i = 2; i < a->n; i++)
		n += command_table_find(vs, a->v[i].p, a->v[i].len) != NULL;
	reply_map(c, a->n == 2 ? count_commands(vs) : n);
	for (size_t i = 2; i < a->n; i++) {
		const struct command_entry *v =
		    command_table_find(vs, a->v[i].p, a->v[i].len);

		if (v != NULL)
			reply_command_docs(c, v);
	}
	for (size_t i = 0; a->n == 2 && i < vs->n; i++) {
		if (vs->v[i].parent == NULL)
			reply_command_docs(c, &vs->v[i]);
	}
}

static void
run_command_list(struct client *c, const struct resp_args *a)
{
	const struct command_table *vs = &c->srv->command_table;

	(void)a;
	reply_array(c, count_commands(vs));
	for (size_t i = 0; i < vs->n; i++) {
		if (vs->v[i].parent == NULL)
			reply_text(c, vs->v[i].name);
	}
}

/*
 * A parameter of CONFIG, which is either a fixed text or a number in struct
 * conf.
 */
struct parameter {
	const char *name;
	const char *fixed;	/* fixed text, or NULL for a number */
	size_t at;		/* offset of the number, a uint64_t, in struct
				 * conf */
	/*
	 * range of the number in units of `unit`; if hi is 0, the parameter
	 * cannot be set
	 */
	uint64_t unit, lo, hi;
	bool never;		/* a value of 0 means TIMER_NEVER */
};

static const struct parameter parameters[] = {
	{ .name = "appendonly", .fixed = "no" },
	{ .name = "databases", .fixed = "1" },
	{ .name = "maxclients", .at = offsetof(struct conf, clients),
	    .unit = 1, .lo = 1, .hi = 1000000 },
	{ .name = "maxmemory", .at = offsetof(struct conf, memory_bytes),
	    .unit = 1, .lo = 1 << 20, .hi = INT64_MAX },
	{ .name = "maxmemory-policy", .fixed = "noeviction" },
	{ .name = "output-limit", .at = offsetof(struct conf, output_bytes),
	    .unit = 1, .lo = 1, .hi = INT64_MAX },
	{ .name = "port", .fixed = "" },
	{ .name = "proto-max-bulk-len", .fixed = "536870912" },
	{ .name = "save", .fixed = "" },
	{ .name = "timeout", .at = offsetof(struct conf, idle_ns),
	    .unit = TIMER_SECOND_NS, .hi = INT32_MAX, .never = true }
};

enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters) };

static uint64_t *
parameter_number(struct server *srv, const struct parameter *s)
{
	return (uint64_t *)(void *)((char *)&srv->conf + s->at);
}

static void
reply_parameter(struct client *c, const struct parameter *s)
{
	char value[32];
	uint64_t v;

	reply_text(c, s->name);
	if (strcmp(s->name, "port") == 0) {
		snprintf(value, sizeof(value), "%d", c->srv->port);
	} else if (s->fixed != NULL) {
		reply_text(c, s->fixed);
		return;
	} else {
		v = *parameter_number(c->srv, s);
		snprintf(value, sizeof(value), "%" PRIu64, s->never && v ==
		    TIMER_NEVER ? 0 : v / s->unit);
	}
	reply_text(c, value);
}

/*
 * Copy argument i to `out` as a string, cut to `room` bytes.  Return false if
 * the string was cut or contains a NUL byte.
 */
static bool
copy_arg(const struct resp_args *a, size_t i, char *out, size_t room)
{
	const size_t len = a->v[i].len < room - 1 ? a->v[i].len : room - 1;

	memcpy(out, a->v[i].p, len);
	out[len] = '\0';
	return len == a->v[i].len && strlen(out) == len;
}

static bool
parameter_matches(const struct resp_args *a, const struct parameter *s)
{
	char pattern[64];

	for (size_t i = 2; i < a->n; i++) {
		if (copy_arg(a, i, pattern, sizeof(pattern)) && fnmatch(pattern,
		    s->name, FNM_CASEFOLD) == 0)
			return true;
	}
	return false;
}

static void
run_config_get(struct client *c, const struct resp_args *a)
{
	size_t n = 0;

	for (size_t i = 0; i < PARAMETERS; i++)
		n += parameter_matches(a, &parameters[i]);
	reply_map(c, n);
	for (size_t i = 0; i < PARAMETERS; i++) {
		if (parameter_matches(a, &parameters[i]))
			reply_parameter(c, &parameters[i]);
	}
}

/*
 * The units of Redis: 100mb means 100 MiB, and 100m means 100 MB.  Case does
 * not matter.
 */
static const struct num_unit memory_units[] = {
	{ "", 1 }, { "b", 1 }, { "k", 1000 }, { "kb", 1024 },
	{ "m", 1000000 }, { "mb", 1048576 }, { "g", 1000000000 },
	{ "gb", 1073741824 }, { NULL, 0 }
};

/*
 * Return the parameter that argument i names, and store its new value in *v.
 * If the name or the value is invalid, reply with an error and return NULL.
 */
static const struct parameter *
read_parameter(struct client *c, const struct resp_args *a, size_t i,
    uint64_t *v)
{
	char name[64], value[64];
	const struct parameter *s = NULL;
	const char *why;

	copy_arg(a, i, name, sizeof(name));
	copy_arg(a, i + 1, value, sizeof(value));
	for (size_t k = 0; k < PARAMETERS; k++) {
		if (args_equal(a, i, parameters[k].name))
			s = &parameters[k];
	}
	if (s == NULL) {
		reply_error(c, "ERR Unknown option or number of arguments for "
		    "CONFIG SET - '%s'", name);
		return NULL;
	}
	if (s->hi == 0) {
		reply_error(c, "ERR CONFIG SET failed (possibly related to "
		    "argument '%s') - can't set immutable config", name);
		return NULL;
	}
	for (char *p = value; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	why = num_scaled(value, memory_units, NULL, s->lo, s->hi, v);
	if (why != NULL) {
		reply_error(c, "ERR CONFIG SET failed (possibly related to "
		    "argument '%s') - %s", name, why);
		return NULL;
	}
	return s;
}

static void
run_config_set(struct client *c, const struct resp_args *a)
{
	struct server *srv = c->srv;
	const struct parameter *s;
	uint64_t v;

	if (a->n % 2 != 0) {
		reply_error(c, "ERR wrong number of arguments for "
		    "'config|set' command");
		return;
	}
	/* check all values before setting the first value */
	for (size_t i = 2; i < a->n; i += 2) {
		if (read_parameter(c, a, i, &v) == NULL)
			return;
	}
	for (size_t i = 2; i < a->n; i += 2) {
		s = read_parameter(c, a, i, &v);
		*parameter_number(srv, s) = s->never && v == 0 ? TIMER_NEVER :
		    v * s->unit;
	}
	server_raise_file_limit(srv);
	srv->account.limit = srv->conf.memory_bytes;
	srv->next_tick_ns = srv->now_ns;
	reply_status(c, "OK");
}

static void
run_resetstat(struct client *c, const struct resp_args *a)
{
	struct server *srv = c->srv;
	struct command_table *vs = &srv->command_table;

	(void)a;
	for (size_t i = 0; i < vs->n; i++) {
		vs->v[i].latency = (struct latency){ 0 };
		vs->v[i].failed = vs->v[i].rejected = 0;
	}
	srv->accepted = srv->refused = srv->commands = srv->in_bytes = 0;
	srv->out_bytes = srv->oom = srv->errors = srv->auth_failed = 0;
	memset(srv->disconnects, 0, sizeof(srv->disconnects));
	srv->account.most = srv->account.used;
	srv->lazy_free.freed = srv->lazy_free.most = 0;
	reply_status(c, "OK");
}

/*
 * Save the keys and then stop; NOSAVE skips the save.  If the save fails, the
 * server does not stop.
 */
static void
run_shutdown(struct client *c, const struct resp_args *a)
{
	const bool nosave = a->n == 2 && args_equal(a, 1, "nosave");

	if (a->n > 2 || (a->n == 2 && !nosave && !args_equal(a, 1, "save"))) {
		reply_error(c, "ERR syntax error");
		return;
	}
	if (!nosave && server_save(c->srv) != 0)
		reply_error(c, "ERR Errors trying to SHUTDOWN. Check logs.");
	else
		c->srv->stop = true;
}

static const struct command command_subs[] = {
	{ "count", 2, COMMAND_FAST, run_count, "server",
	    "Returns a count of commands.", .subs = NULL },
	{ "docs", -2, 0, run_docs, "server",
	    "Returns documentary information about commands.",
	    .usage = "[command...]", .subs = NULL },
	{ "help", 2, 0, run_command_help, "server",
	    "Lists the words that may follow.", .subs = NULL },
	{ "info", -2, 0, run_command_info, "server",
	    "Returns information about commands.",
	    .usage = "[command...]", .subs = NULL },
	{ "list", -2, 0, run_command_list, "server",
	    "Returns a list of command names.", .subs = NULL },
	{ 0 }
};

static const struct command config_subs[] = {
	{ "get", -3, COMMAND_ADMIN, run_config_get, "server",
	    "Returns the values of settings.",
	    .usage = "pattern...", .subs = NULL },
	{ "help", 2, 0, run_command_help, "server",
	    "Lists the words that may follow.", .subs = NULL },
	{ "resetstat", 2, COMMAND_ADMIN, run_resetstat, "server",
	    "Resets the server's statistics.", .subs = NULL },
	{ "set", -4, COMMAND_ADMIN, run_config_set, "server",
	    "Changes settings while the server runs.",
	    .usage = "(parameter value)...", .subs = NULL },
	{ 0 }
};

static const struct command commands[] = {
	{ "command", -1, 0, run_command, "server",
	    "Returns information about all commands.",
	    .subs = command_subs },
	{ "config", -2, 0, NULL, "server",
	    "A container for server configuration commands.",
	    .subs = config_subs },
	{ "shutdown", -1, COMMAND_ADMIN | COMMAND_NOT_IN_MULTI, run_shutdown,
	    "server", "Saves and ends the server.",
	    .usage = "[NOSAVE|SAVE]", .subs = NULL },
	{ 0 }
};

const struct part admin_part = { .name = "server", .commands = commands };
