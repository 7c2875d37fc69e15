/*
 * command-docs.h - the arguments of a command, written once
 *
 * A usage is a line such as "key [COUNT n] (id priority)...": a word in lower
 * case is a value, one in upper case stands as it is and gives a name to the
 * values that follow it, [ ] is what may be left out, | separates what
 * excludes each other, ( ) holds together, ... is once or more.  Errors show
 * the line; COMMAND DOCS shows what it means.
 */
#ifndef INNET_MEMORY_COMMANDS_COMMAND_DOCS_H
#define INNET_MEMORY_COMMANDS_COMMAND_DOCS_H

#include "cmd/innet-memory/server/resp.h"

struct client;

/* Reply with COMMAND DOCS' array of what a usage names; NULL: an empty one. */
void reply_usage(struct client *c, const char *usage);

/*
 * The function of X HELP, for commands that words may follow: reply with these
 * words and what each is for.
 */
void run_command_help(struct client *c, const struct resp_args *a);

#endif
