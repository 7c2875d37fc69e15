/* command-docs.c - replies of COMMAND DOCS and of HELP */
#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/innet-memory/commands/command-docs.h"
#include "cmd/innet-memory/commands/parts.h"

static void
copy_upper(char *out, size_t room, const char *s)
{
	size_t i;

	for (i = 0; i + 1 < room && s[i] != '\0'; i++)
		out[i] = (char)toupper((unsigned char)s[i]);
	out[i] = '\0';
}

void
run_command_help(struct client *c, const struct resp_args *a)
{
	const struct command_table *vs = &c->srv->command_table;
	const struct command_entry *v =
	    command_table_find(vs, a->v[0].p, a->v[0].len);
	char line[160], word[32];
	size_t n = 0;

	while (v->cmd->subs[n].name != NULL)
		n++;
	copy_upper(word, sizeof(word), v->name);
	snprintf(line, sizeof(line), "%s <subcommand> [<arg> [value] [opt] "
	    "...]. Subcommands are:", word);
	reply_array(c, 1 + 2 * n);
	reply_status(c, line);
	for (size_t i = 0; i < n; i++) {
		copy_upper(word, sizeof(word), v->cmd->subs[i].name);
		reply_status(c, word);
		snprintf(line, sizeof(line), "    %s",
		    v->cmd->subs[i].summary);
		reply_status(c, line);
	}
}

enum kind { VALUE, TOKEN, BLOCK, ONE_OF };

enum { NODES = 48, NAME_BYTES = 24 }; /* the longest usage line has 24 nodes */

struct node {
	enum kind kind;
	char name[NAME_BYTES], token[NAME_BYTES]; /* name and token of the node;
						   * "" if the node has none */
	bool optional, many;
	struct node *first, *next;	/* first child; next sibling */
};

struct parse {
	const char *at;
	struct node node[NODES];
	size_t n;
};

static struct node *parse_usage(struct parse *p);

static struct node *
new_node(struct parse *p, enum kind kind)
{
	assert(p->n < NODES);
	p->node[p->n].kind = kind;
	return &p->node[p->n++];
}

static void
skip_blanks(struct parse *p)
{
	while (*p->at == ' ')
		p->at++;
}

static struct node *
parse_word(struct parse *p)
{
	const size_t len = strcspn(p->at, " .|[]()");
	struct node *o = new_node(p, isupper((unsigned char)*p->at) ? TOKEN :
	    VALUE);

	assert(len > 0 && len < NAME_BYTES);
	for (size_t i = 0; i < len; i++)
		o->name[i] = (char)tolower((unsigned char)p->at[i]);
	if (o->kind == TOKEN)
		memcpy(o->token, p->at, len);
	p->at += len;
	return o;
}

/* Parse a word or a bracketed part, and "..." if it follows. */
static struct node *
parse_item(struct parse *p)
{
	const char open = *p->at;
	struct node *o;

	if (open == '[' || open == '(') {
		p->at++;
		o = parse_usage(p);
		assert(*p->at == (open == '[' ? ']' : ')'));
		p->at++;
		o->optional |= open == '[';
	} else {
		o = parse_word(p);
	}
	if (strncmp(p->at, "...", 3) == 0) {
		p->at += 3;
		o->many = true;
	}
	skip_blanks(p);
	return o;
}

/* Combine a token and the values after it into one argument. */
static struct node *
join_token(struct parse *p, struct node *token)
{
	struct node *o = token->next, **end = &o, *rest;

	while (*end != NULL && (*end)->kind != TOKEN && !(*end)->optional &&
	    (*end)->token[0] == '\0')
		end = &(*end)->next;
	rest = *end;
	*end = NULL;
	if (o == NULL) {
		token->next = rest;
		return token;
	}
	if (o->kind == ONE_OF) {
		memcpy(o->name, token->name, NAME_BYTES);
	} else if (o->next != NULL) {
		struct node *block = new_node(p, BLOCK);

		block->first = o;
		memcpy(block->name, token->name, NAME_BYTES);
		o = block;
	}
	memcpy(o->token, token->token, NAME_BYTES);
	o->next = rest;
	return o;
}

/* Parse items up to the character that ends the sequence. */
static struct node *
parse_sequence(struct parse *p)
{
	struct node *first = NULL, **end = &first;

	skip_blanks(p);
	while (*p->at != '\0' && strchr("|])", *p->at) == NULL) {
		*end = parse_item(p);
		end = &(*end)->next;
	}
	for (end = &first; *end != NULL; end = &(*end)->next) {
		if ((*end)->kind == TOKEN)
			*end = join_token(p, *end);
	}
	return first;
}

/* Parse a sequence of items into one node. */
static struct node *
parse_block(struct parse *p)
{
	struct node *first = parse_sequence(p), *o;

	assert(first != NULL);
	if (first->next == NULL)
		return first;
	o = new_node(p, BLOCK);
	snprintf(o->name, NAME_BYTES, "%s", first->name);
	o->first = first;
	return o;
}

static struct node *
parse_usage(struct parse *p)
{
	struct node *first = parse_block(p), **end = &first->next, *o;

	if (*p->at != '|')
		return first;
	while (*p->at == '|') {
		p->at++;
		*end = parse_block(p);
		end = &(*end)->next;
	}
	o = new_node(p, ONE_OF);
	o->first = first;
	snprintf(o->name, NAME_BYTES, "choice");
	return o;
}

static const char *
node_type(const struct node *o)
{
	static const char *const integers[] = { "n", "ms", "count", "index",
		"start", "stop", "since", "id", "batch", "bytes", "stack",
		"client-id", "protover" };
	static const char *const reals[] = { "a", "b", "lo", "hi" };

	switch (o->kind) {
	case TOKEN: return "pure-token";
	case BLOCK: return "block";
	case ONE_OF: return "oneof";
	case VALUE: break;
	}
	for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++) {
		if (strcmp(o->name, integers[i]) == 0)
			return "integer";
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		if (strcmp(o->name, reals[i]) == 0)
			return "double";
	}
	return strcmp(o->name, "key") == 0 ? "key" : "string";
}

static void reply_nodes(struct client *c, const struct node *first);

static void
reply_node(struct client *c, const struct node *o)
{
	const size_t marks = (size_t)o->optional + (size_t)o->many;

	reply_map(c, 2 + (size_t)(o->token[0] != '\0') +
	    (size_t)(marks > 0) + (size_t)(o->first != NULL));
	reply_text(c, "name");
	reply_text(c, o->name);
	reply_text(c, "type");
	reply_text(c, node_type(o));
	if (o->token[0] != '\0') {
		reply_text(c, "token");
		reply_text(c, o->token);
	}
	if (marks > 0) {
		reply_text(c, "flags");
		reply_set(c, marks);
	}
	if (o->optional)
		reply_status(c, "optional");
	if (o->many)
		reply_status(c, "multiple");
	if (o->first != NULL) {
		reply_text(c, "arguments");
		reply_nodes(c, o->first);
	}
}

static void
reply_nodes(struct client *c, const struct node *first)
{
	size_t n = 0;

	for (const struct node *o = first; o != NULL; o = o->next)
		n++;
	reply_array(c, n);
	for (const struct node *o = first; o != NULL; o = o->next)
		reply_node(c, o);
}

void
reply_usage(struct client *c, const char *usage)
{
	struct parse p = { .at = usage == NULL ? "" : usage };
	struct node *o;

	if (*p.at == '\0') {
		reply_array(c, 0);
		return;
	}
	o = parse_usage(&p);
	assert(*p.at == '\0');
	/* if the outermost node is only a sequence, reply with its elements */
	reply_nodes(c, o->kind == BLOCK && o->token[0] == '\0' && !o->many &&
	    !o->optional ? o->first : o);
}
