/*
 * command-docs.h - replies of COMMAND DOCS and of HELP
 *
 * The usage of a command is a line such as "key [COUNT n] (id priority)...".  A
 * word in lower case is a value.  A word in upper case is typed as it is and
 * names the values that follow it. [ ] encloses an optional part, | separates
 * alternatives, ( ) groups, and ... means once or more.  Errors show this line;
 * COMMAND DOCS shows its parsed form.
 */
#ifndef INNET_MEMORY_COMMANDS_COMMAND_DOCS_H
#define INNET_MEMORY_COMMANDS_COMMAND_DOCS_H

#include "cmd/innet-memory/server/resp.h"

struct client;

/*
 * Reply with the array that COMMAND DOCS shows for this usage.  If usage is
 * NULL, the array is empty.
 */
void reply_usage(struct client *c, const char *usage);

/*
 * Run X HELP for a command with subcommands: list each subcommand and its
 * summary.
 */
void run_command_help(struct client *c, const struct resp_args *a);

#endif
