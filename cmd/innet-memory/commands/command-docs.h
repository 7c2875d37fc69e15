/*
 * command-docs.h - replies of COMMAND DOCS and of HELP
 *
 * The usage of a command is a line such as "key [COUNT n] (id priority)...": a
 * word in lower case is a value; a word in upper case is typed as it is and
 * names the values that follow it; [ ] is optional, | separates alternatives,
 * ( ) groups, and ... means once or more.  Errors show the line, and COMMAND
 * DOCS shows what it means.
 */
#ifndef INNET_MEMORY_COMMANDS_COMMAND_DOCS_H
#define INNET_MEMORY_COMMANDS_COMMAND_DOCS_H

#include "cmd/innet-memory/server/resp.h"

struct client;

/* Reply with the array of COMMAND DOCS for a usage; NULL: an empty one. */
void reply_usage(struct client *c, const char *usage);

/*
 * Run X HELP for commands with subcommands: reply with these and their
 * summaries.
 */
void run_command_help(struct client *c, const struct resp_args *a);

#endif
