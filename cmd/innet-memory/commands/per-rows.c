/* per-rows.c - the command table of the PER commands, for both hosts */
#include "cmd/innet-memory/commands/per.h"

enum {
	READ = COMMAND_NOT_REDIS | COMMAND_READ,
	WRITE = COMMAND_NOT_REDIS | COMMAND_WRITE,
	MORE = COMMAND_NOT_REDIS | COMMAND_WRITE | COMMAND_DENY_OOM
};

const struct command per_commands[] = {
	{ "per.add", -4, MORE, per_add, "per",
	    "Adds experiences with their priorities.",
	    .usage = "table [TIMEOUT ms] [FRAMES n frame...] (priority "
	    "blob)...",
	    .subs = NULL },
	{ "per.create", -4, MORE, per_create, "per",
	    "Makes a table of experiences.",
	    .usage = "table CAPACITY n [ALPHA a] "
	    "[SELECTOR (PER|UNIFORM|FIFO|LIFO)] [TIMES n] [RATIO lo hi] "
	    "[SLACK n]",
	    .subs = NULL },
	{ "per.drop", 2, WRITE, per_drop, "per",
	    "Removes a table and all its experiences.",
	    .usage = "table", .subs = NULL },
	{ "per.dump", -2, READ, per_dump, "per",
	    "Returns a page of ids and priorities.",
	    .usage = "table [FROM id] [COUNT n]", .subs = NULL },
	{ "per.frames", 4, WRITE, per_frames, "per",
	    "Declares that experiences are stacks of frames.",
	    .usage = "table bytes stack", .subs = NULL },
	{ "per.info", 2, READ | COMMAND_FAST, per_info, "per",
	    "Returns the settings and counters of a table.",
	    .usage = "table", .subs = NULL },
	{ "per.limit", -5, WRITE | COMMAND_FAST, per_limit, "per",
	    "Sets the limits of samples per insert.",
	    .usage = "table RATIO lo hi [SLACK n]", .subs = NULL },
	{ "per.remove", -3, WRITE, per_remove, "per",
	    "Removes experiences by id.",
	    .usage = "table id...", .subs = NULL },
	{ "per.sample", -3, WRITE, per_sample, "per",
	    "Draws experiences.",
	    .usage = "table batch [BETA b] [STRATIFIED] [TIMEOUT ms] [BINARY] "
	    "[REFS] [SUM]",
	    .subs = NULL },
	{ "per.sample_ro", -3, READ, per_sample_ro, "per",
	    "Draws experiences and counts nothing.",
	    .usage = "table batch [BETA b] [STRATIFIED] [BINARY] [REFS] "
	    "[SUM]",
	    .subs = NULL },
	{ "per.update", -4, WRITE, per_update, "per",
	    "Sets the priorities of experiences by id.",
	    .usage = "table ((id priority)...|BINARY ids priorities)",
	    .subs = NULL },
	{ 0 }
};
