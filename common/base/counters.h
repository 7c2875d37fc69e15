/*
 * counters.h - what was counted, as a JSON object or as a line for people
 *
 *	{"answers":12,"ignored":{"short":1}}
 *	innet-ps: 12 answers; ignored: 1 short
 *
 * A name that is a noun in the plural loses its s in a line that has one of it.
 * The one printer of counters: reports, summaries and the answers to
 * innet-ctl are all written here.  A struct counters owns its text, which
 * grows: counters_free().  Without memory it says nothing until
 * counters_text() gives NULL.  Names are plain words and are not escaped;
 * words may be anything.
 */
#ifndef INNET_BASE_COUNTERS_H
#define INNET_BASE_COUNTERS_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ending of a regular noun of which there are n. */
static inline const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * Where the s stands that "updates in" is to lose for n of them: behind its
 * first word; or the length of what is counted, if it keeps all it has.  Names
 * of several_words are keys, and stay as they are.
 */
static inline size_t
plural_end(const char *what, uint64_t n)
{
	const size_t all = strlen(what), word = strcspn(what, " ");

	if (n != 1 || word < 2 || what[word - 1] != 's' ||
	    what[word - 2] == 's' || strchr(what, '_') != NULL)
		return all;
	return word - 1;
}

enum counters_form {
	COUNTERS_JSON,		/* on one line */
	COUNTERS_PAGE,		/* JSON over several lines, indented */
	COUNTERS_LINE		/* for people */
};

struct counters {
	char *text;
	size_t len, room;
	enum counters_form form;
	unsigned depth;		/* groups that are open */
	bool begun;		/* something stands before, in this group */
	bool parted;		/* what follows is of another kind */
	bool failed;
};

static inline void
counters_free(struct counters *c)
{
	free(c->text);
	c->text = NULL;
}

/* More room than `need` bytes; false without memory. */
static inline bool
counters_grow(struct counters *c, size_t need)
{
	size_t room = c->room == 0 ? 1024 : c->room;
	char *p;

	while (room <= need)
		room *= 2;
	p = realloc(c->text, room);
	c->failed = p == NULL;
	if (p == NULL)
		return false;
	c->text = p;
	c->room = room;
	return true;
}

__attribute__((format(printf, 2, 3))) static inline void
counters_add(struct counters *c, const char *fmt, ...)
{
	va_list ap;
	int n;

	do {
		va_start(ap, fmt);
		n = vsnprintf(c->text == NULL ? NULL : c->text + c->len,
		    c->room - c->len, fmt, ap);
		va_end(ap);
		if (n <= 0 || c->failed)
			return;
		if ((size_t)n < c->room - c->len) {
			c->len += (size_t)n;
			return;
		}
	} while (counters_grow(c, c->len + (size_t)n));
}

/* What stands between two members of a group. */
static inline void
counters_next(struct counters *c)
{
	if (c->begun)
		counters_add(c, c->form != COUNTERS_LINE ? "," : c->parted ?
		    "; " : ", ");
	c->parted = false;
	if (c->form == COUNTERS_PAGE)
		counters_add(c, "\n%*s", (int)c->depth, "");
	c->begun = true;
}

/* A string with what JSON does not take escaped. */
static inline void
counters_quote(struct counters *c, const char *s)
{
	counters_add(c, "\"");
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < 0x20)
			counters_add(c, "\\u%04x", (unsigned char)*s);
		else
			counters_add(c, *s == '"' || *s == '\\' ? "\\%c" :
			    "%c", *s);
	}
	counters_add(c, "\"");
}

/* Begin; `who`, unless it is NULL, stands in front of a line for people. */
static inline struct counters
counters_begin(enum counters_form form, const char *who)
{
	struct counters c = { .form = form, .depth = 1 };

	if (form != COUNTERS_LINE)
		counters_add(&c, "{");
	else if (who != NULL)
		counters_add(&c, "%s: ", who);
	return c;
}

static inline void
counters_put(struct counters *c, const char *name, uint64_t v)
{
	const size_t s = plural_end(name, v);

	counters_next(c);
	if (c->form == COUNTERS_LINE)
		counters_add(c, "%" PRIu64 " %.*s%s", v, (int)s, name,
		    name + s + (name[s] != '\0'));
	else
		counters_add(c, "\"%s\":%" PRIu64, name, v);
}

/* The same of a number that may be negative. */
static inline void
counters_int(struct counters *c, const char *name, int64_t v)
{
	counters_next(c);
	if (c->form == COUNTERS_LINE)
		counters_add(c, "%" PRId64 " %s", v, name);
	else
		counters_add(c, "\"%s\":%" PRId64, name, v);
}

static inline void
counters_flag(struct counters *c, const char *name, bool v)
{
	counters_next(c);
	if (c->form == COUNTERS_LINE)
		counters_add(c, "%s%s", v ? "" : "not ", name);
	else
		counters_add(c, "\"%s\":%s", name, v ? "true" : "false");
}

static inline void
counters_word(struct counters *c, const char *name, const char *word)
{
	counters_next(c);
	if (c->form == COUNTERS_LINE) {
		counters_add(c, "%s %s", name, word);
		return;
	}
	counters_add(c, "\"%s\":", name);
	counters_quote(c, word);
}

/* Open a group, by its name or (NULL) as a member of a list. */
static inline void
counters_open(struct counters *c, const char *name, char bracket)
{
	if (c->form == COUNTERS_LINE) {
		counters_add(c, "%s", c->begun ? "; " : "");
		if (name != NULL)
			counters_add(c, "%s: ", name);
	} else {
		counters_next(c);
		if (name != NULL)
			counters_add(c, "\"%s\":", name);
		counters_add(c, "%c", bracket);
	}
	c->depth++;
	c->begun = false;
}

static inline void
counters_close(struct counters *c, char bracket)
{
	c->depth--;
	if (c->form == COUNTERS_PAGE && c->begun)
		counters_add(c, "\n%*s", (int)c->depth, "");
	if (c->form != COUNTERS_LINE)
		counters_add(c, "%c", bracket);
	else if (!c->begun)
		counters_add(c, "none");
	c->begun = true;
}

/* A group of counters within; counters_out() is its end. */
static inline void
counters_in(struct counters *c, const char *name)
{
	counters_open(c, name, '{');
}

static inline void
counters_out(struct counters *c)
{
	counters_close(c, '}');
}

/* A list within, of groups that are opened without a name. */
static inline void
counters_list(struct counters *c, const char *name)
{
	counters_open(c, name, '[');
}

static inline void
counters_list_end(struct counters *c)
{
	counters_close(c, ']');
}

/* In a line for people: what follows is of another kind. */
static inline void
counters_part(struct counters *c)
{
	c->parted = c->begun;
}

/* The end: the text, with a line feed, or NULL without memory. */
static inline const char *
counters_text(struct counters *c)
{
	if (c->form == COUNTERS_PAGE)
		counters_add(c, "\n");
	counters_add(c, c->form == COUNTERS_LINE ? "\n" : "}\n");
	return c->failed ? NULL : c->text;
}

#endif
