/* module.c - load the module into Redis and run its commands */
#include <stdio.h>
#include <string.h>

#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/module/host.h"
#include "cmd/innet-memory/module/request.h"
#include "cmd/innet-memory/module/type.h"
#include "cmd/innet-memory/module/waiters.h"
#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/reply.h"

static const struct command *
find_row(const struct command *rows, const struct resp_args *a)
{
	for (; rows->name != NULL; rows++) {
		if (args_equal(a, 0, rows->name))
			return rows;
	}
	return NULL;
}

/* Reply with the same error message as innet-memory. */
static void
reply_usage_error(struct client *c, const struct command *row)
{
	char up[32];
	size_t i;

	for (i = 0; row->name[i] != '\0' && i < sizeof(up) - 1; i++)
		up[i] = row->name[i] >= 'a' && row->name[i] <= 'z' ?
		    (char)(row->name[i] - 'a' + 'A') : row->name[i];
	up[i] = '\0';
	reply_error(c, "ERR wrong number of arguments for '%s' command; "
	    "usage: %s %s", row->name, up, row->usage);
}

/*
 * Count the draws of a PER.SAMPLE on the master.  The arguments are "key ids
 * PACKED" or "key count N".
 */
static void
run_per_taken(struct client *c, const struct resp_args *a)
{
	static const char *const words[] = { "ids", "count", NULL };
	struct table *t;
	uint64_t count;

	if (!host_is_replicated(c)) {
		reply_error(c, "ERR PER.TAKEN is the server's own");
		return;
	}
	t = per_find_table(c, a);
	if (t == NULL)
		return;
	switch (per_find_word(a, 2, words)) {
	case 0:
		for (size_t i = 0; i + 8 <= a->v[3].len; i += 8) {
			uint64_t id;

			memcpy(&id, a->v[3].p + i, sizeof(id));
			replay_buffer_count_drawn(&t->buf, id);
		}
		break;
	case 1:
		if (!per_read_whole(c, a, 3, "count", 0, INT64_MAX, &count))
			return;
		t->buf.sampled += count;
		break;
	default:
		per_reply_no_word(c, a, 2);
		return;
	}
	host_mark_changed(c, a);
	reply_status(c, "OK");
}

static const struct command module_commands[] = {
	{ "per.put", 5, COMMAND_WRITE | COMMAND_ADMIN, type_put, "per",
	    "Makes a table of an append-only file.",
	    .usage = "table bytes offset piece", .subs = NULL },
	{ "per.taken", 4, COMMAND_WRITE | COMMAND_ADMIN, run_per_taken, "per",
	    "Counts what was sampled at a master.",
	    .usage = "table (COUNT n|IDS ids)", .subs = NULL },
	{ 0 }
};

static void
run_command(struct client *c, const struct resp_args *a)
{
	const struct command *row = find_row(per_commands, a);

	if (row == NULL)
		row = find_row(module_commands, a);
	if (row == NULL)
		reply_error(c, "ERR this command has another name here");
	else if (row->arity < 0 ? a->n < (size_t)-row->arity :
	    a->n != (size_t)row->arity)
		reply_usage_error(c, row);
	else
		row->run(c, a);
}

static int
on_command(struct rm_ctx *ctx, rm_string **v, int n)
{
	return request_run(ctx, v, n, run_command);
}

/* Set the properties that COMMAND shows, if the server supports this. */
static bool
set_command_info(struct rm_ctx *ctx, const struct command *row)
{
	static const struct rm_info_version version = { 1, RM_HISTORY_BYTES,
		sizeof(struct rm_keyspec), RM_ARG_BYTES };
	const uint64_t what = (row->flags & COMMAND_WRITE) == 0 ? RM_KEY_RO |
	    RM_KEY_ACCESS : RM_KEY_RW | RM_KEY_UPDATE | RM_KEY_ACCESS;
	struct rm_keyspec keys[2] = { { .flags = what,
		.begin = RM_BEGIN_INDEX, .bs.index.pos = 1,
		.find = RM_FIND_RANGE, .fk.range = { 0, 1, 0 } } };
	const struct rm_info info = { .version = &version, .keys = keys,
		.summary = row->summary, .arity = row->arity };
	void *command;

	if (RM_GetCommand == NULL || RM_SetCommandInfo == NULL)
		return true;
	command = RM_GetCommand(ctx, row->name);
	if (RM_SetCommandACLCategories != NULL)
		RM_SetCommandACLCategories(command,
		    (row->flags & COMMAND_WRITE) == 0 ? "read" : "write");
	return RM_SetCommandInfo(command, &info) == RM_OK;
}

static bool
add_commands(struct rm_ctx *ctx, const struct command *row)
{
	char flags[64];

	for (; row->name != NULL; row++) {
		snprintf(flags, sizeof(flags), "%s%s%s%s",
		    row->flags & COMMAND_WRITE ? "write" : "readonly",
		    row->flags & COMMAND_DENY_OOM ? " deny-oom" : "",
		    row->flags & COMMAND_FAST ? " fast" : "",
		    row->flags & COMMAND_ADMIN ? " admin" : "");
		if (RM_CreateCommand(ctx, row->name, on_command, flags, 1, 1,
		    1) != RM_OK || !set_command_info(ctx, row))
			return false;
	}
	return true;
}

/* Read the option "seed N". */
static bool
read_seed(struct rm_ctx *ctx, rm_string **v, int n)
{
	uint64_t seed;
	int64_t given;
	const char *p;
	size_t len;

	RM_GetRandomBytes((unsigned char *)&seed, sizeof(seed));
	if (n == 2) {
		p = RM_StringPtrLen(v[0], &len);
		if (!word_equals("seed", (const uint8_t *)p, len))
			n = 1;
		p = RM_StringPtrLen(v[1], &len);
		if (!resp_read_integer((const uint8_t *)p, len, &given))
			n = 1;
		else
			seed = (uint64_t)given;
	}
	if (n == 1 || n > 2) {
		RM_Log(ctx, "warning", "unknown argument; the only one is: "
		    "seed N");
		return false;
	}
	host_seed(seed);
	return true;
}

__attribute__((visibility("default")))
int RedisModule_OnLoad(struct rm_ctx *ctx, rm_string **v, int n);
int
RedisModule_OnLoad(struct rm_ctx *ctx, rm_string **v, int n)
{
	const char *lacking = api_open(ctx);

	if (lacking != NULL) {
		fprintf(stderr, "innet-per: this server has no %s; use Redis "
		    "7.0 or later\n", lacking);
		return RM_ERR;
	}
	RM_SetModuleAttribs(ctx, "innet-per", 1, RM_VERSION);
	if (!read_seed(ctx, v, n) || !type_open(ctx) ||
	    !add_commands(ctx, per_commands) ||
	    !add_commands(ctx, module_commands))
		return RM_ERR;
	RM_SetModuleOptions(ctx, RM_OPTION_IO_ERRORS);
	if (RM_SubscribeToServerEvent(ctx, (struct rm_event){
	    RM_EVENT_SWAPDB, 1 }, waiters_swapped) != RM_OK)
		return RM_ERR;
	return RM_SubscribeToServerEvent(ctx, (struct rm_event){
	    RM_EVENT_FLUSHDB, 1 }, waiters_flushed);
}
