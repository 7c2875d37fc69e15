/* command-table.c - all commands of all parts, found by name */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/command-table.h"

/* size of the hash table, which is several times the number of commands */
enum { HOMES = 1024 };

/* Return the position of a name in the hash table. */
static size_t
hash_name(const uint8_t *p, size_t len)
{
	uint32_t h = 2166136261;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint32_t)tolower(p[i])) * 16777619;
	return (h ^ h >> 15) % HOMES;
}

static size_t
count_commands(const struct command *c)
{
	size_t n = 0;

	for (; c != NULL && c->name != NULL; c++)
		n += 1 + count_commands(c->subs);
	return n;
}

/*
 * Add the commands of table c, each followed by its subcommands.  `of` is the
 * command that the subcommands in c belong to, or NULL.
 */
static void
add_commands(struct command_table *vs, const struct command *c,
    const struct command_entry *of)
{
	for (; c != NULL && c->name != NULL; c++) {
		struct command_entry *v = &vs->v[vs->n++];
		size_t at = hash_name((const uint8_t *)c->name,
		    strlen(c->name));

		v->cmd = c;
		v->parent = of;
		if (of == NULL)
			snprintf(v->name, sizeof(v->name), "%s", c->name);
		else
			snprintf(v->name, sizeof(v->name), "%.15s|%.15s",
			    of->cmd->name, c->name);
		while (of == NULL && vs->home[at] != 0)
			at = (at + 1) % HOMES;
		if (of == NULL)
			vs->home[at] = (uint16_t)vs->n;
		add_commands(vs, c->subs, v);
	}
}

bool
command_table_open(struct command_table *vs, const struct part *const *parts)
{
	size_t n = 0;

	for (size_t i = 0; parts[i] != NULL; i++)
		n += count_commands(parts[i]->commands);
	*vs = (struct command_table){ .v = calloc(n, sizeof(*vs->v)),
	    .home = calloc(HOMES, sizeof(*vs->home)) };
	if (vs->v == NULL || vs->home == NULL) {
		command_table_close(vs);
		return false;
	}
	for (size_t i = 0; parts[i] != NULL; i++)
		add_commands(vs, parts[i]->commands, NULL);
	return true;
}

void
command_table_close(struct command_table *vs)
{
	free(vs->v);
	free(vs->home);
	*vs = (struct command_table){ 0 };
}

struct command_entry *
command_table_find(const struct command_table *vs, const uint8_t *p, size_t len)
{
	for (size_t at = hash_name(p, len); vs->home[at] != 0;
	    at = (at + 1) % HOMES) {
		struct command_entry *v = &vs->v[vs->home[at] - 1];

		if (word_equals(v->cmd->name, p, len))
			return v;
	}
	return NULL;
}

struct command_entry *
command_table_find_sub(const struct command_table *vs,
    const struct command_entry *of, const uint8_t *p, size_t len)
{
	const size_t from = (size_t)(of - vs->v) + 1;

	for (size_t i = from; i < vs->n && vs->v[i].parent == of; i++) {
		if (word_equals(vs->v[i].cmd->name, p, len))
			return &vs->v[i];
	}
	return NULL;
}
