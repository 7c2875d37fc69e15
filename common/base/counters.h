/*
 * counters.h - print counters as a JSON object or as a line for people
 *
 * 	{"answers":12,"ignored":{"short":1}}
 * 	innet-ps: 12 answers; ignored: 1 short
 *
 * This file prints the counters in reports, in summaries and in answers to
 * innet-ctl.  A caller begins with counters_begin(), adds members, and gets the
 * text from counters_text().
 *
 * In a line for people, if the count is 1 and the name is a plural noun, the
 * name loses its "s".  Names must be plain words, because they are not escaped.
 * The values of counters_word() may be any text.
 *
 * A struct counters owns its text, which grows; counters_free() frees it.  If
 * memory runs out, the functions do nothing and counters_text() returns NULL.
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

enum counters_form {
	COUNTERS_JSON,		/* JSON on one line */
	COUNTERS_PAGE,		/* write JSON in several indented lines */
	COUNTERS_LINE		/* a line for people */
};

struct counters {
	char *text;
	size_t len, room;	/* length of the text and memory allocated for
				 * it, both in bytes */
	enum counters_form form;
	unsigned depth;		/* number of open groups and lists */
	bool begun;		/* the innermost open group has at least one
				 * member */
	bool parted;		/* put a semicolon before the next member */
	bool failed;		/* memory ran out */
};

/*
 * Return the ending of a regular noun that counts n things: "" if n is 1,
 * otherwise "s".
 */
static inline const char *plural(uint64_t n);

/*
 * Begin a text.  A line for people begins with `name` and a colon, unless
 * `name` is NULL.
 */
static inline struct counters counters_begin(enum counters_form form,
    const char *name);

/* Add a counter. */
static inline void counters_put(struct counters *c, const char *name,
    uint64_t v);

/* Add a member whose value is a number that may be negative. */
static inline void counters_int(struct counters *c, const char *name,
    int64_t v);

/*
 * Add a member whose value is true or false.  A line for people contains "name"
 * or "not name".
 */
static inline void counters_flag(struct counters *c, const char *name, bool v);

/* Add a member whose value is a text. */
static inline void counters_word(struct counters *c, const char *name,
    const char *word);

/*
 * Begin a group of members.  counters_out() ends the group.  For a group in a
 * list, `name` is NULL.
 */
static inline void counters_in(struct counters *c, const char *name);
static inline void counters_out(struct counters *c);

/* Begin a list of groups.  counters_list_end() ends the list. */
static inline void counters_list(struct counters *c, const char *name);
static inline void counters_list_end(struct counters *c);

/* In a line for people, put a semicolon before the next member. */
static inline void counters_part(struct counters *c);

/*
 * Append text that is formatted as by printf(3), without quotes or separators.
 */
__attribute__((format(printf, 2, 3)))
static inline void counters_add(struct counters *c, const char *fmt, ...);

/*
 * End the text.  Returns the text with a line feed at its end, or NULL if there
 * was no memory.
 */
static inline const char *counters_text(struct counters *c);

/* Free the text. */
static inline void counters_free(struct counters *c);

/* implementation */

static inline const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * Return the number of bytes of `what` before its plural "s" if n is 1, so that
 * the caller can omit this "s".  In "updates in" the plural "s" is that of the
 * first word.  Returns the length of `what` if there is no "s" to omit.  Names
 * that contain an underscore are JSON keys and do not change.
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

static inline void
counters_free(struct counters *c)
{
	free(c->text);
	c->text = NULL;
}

/*
 * Enlarge the text so that it has room for more than `need` bytes.  Returns
 * false if there is no memory.
 */
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

/* Append the separator between two members of a group. */
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

/* Append s as a JSON string. */
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

static inline struct counters
counters_begin(enum counters_form form, const char *name)
{
	struct counters c = { .form = form, .depth = 1 };

	if (form != COUNTERS_LINE)
		counters_add(&c, "{");
	else if (name != NULL)
		counters_add(&c, "%s: ", name);
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

/* Open a group or a list.  `name` is NULL for a member of a list. */
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

/* Close the group or list that was opened last. */
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

static inline void
counters_part(struct counters *c)
{
	c->parted = c->begun;
}

static inline const char *
counters_text(struct counters *c)
{
	if (c->form == COUNTERS_PAGE)
		counters_add(c, "\n");
	counters_add(c, c->form == COUNTERS_LINE ? "\n" : "}\n");
	return c->failed ? NULL : c->text;
}

#endif
