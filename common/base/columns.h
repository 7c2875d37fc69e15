/*
 * columns.h - print a table of words; each column is as wide as its longest
 * word
 *
 * Words are copied.  Characters that could change the state of a terminal are
 * printed as '?', and words longer than COLUMNS_WORD_MAX are truncated.  A
 * struct columns owns its words; columns_free() frees them.
 */
#ifndef INNET_BASE_COLUMNS_H
#define INNET_BASE_COLUMNS_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/nearest.h"

enum { COLUMNS_MAX = 64, COLUMNS_WORD_MAX = 63 };

struct columns {
	size_t n;		/* number of columns, at most COLUMNS_MAX */
	uint64_t left;		/* bit i: column i is left-aligned */
	char (*word)[COLUMNS_WORD_MAX + 1];
	size_t words, room;
};

/*
 * Add the next word of the table; words are added row by row.  Exits with
 * status 1 if there is no memory.
 */
__attribute__((format(printf, 2, 3))) static inline void
columns_add(struct columns *t, const char *fmt, ...)
{
	va_list ap;
	char *w;

	if (t->words == t->room) {
		t->room = t->room == 0 ? 64 : 2 * t->room;
		t->word = realloc(t->word, t->room * sizeof(*t->word));
		if (t->word == NULL)
			err(1, "no memory for a table of %zu words", t->room);
	}
	w = t->word[t->words++];
	va_start(ap, fmt);
	vsnprintf(w, sizeof(*t->word), fmt, ap);
	va_end(ap);
	for (; *w != '\0'; w++)
		if (*w < 0x20 || *w > 0x7e)
			*w = '?';
}

/*
 * Print the words that were added, which must form whole rows.  No line ends in
 * a blank.
 */
static inline void
columns_print(const struct columns *t, FILE *f)
{
	int width[COLUMNS_MAX] = { 0 };

	assert(t->n > 0 && t->n <= COLUMNS_MAX && t->words % t->n == 0);
	for (size_t i = 0; i < t->words; i++) {
		int len = (int)strlen(t->word[i]);

		if (len > width[i % t->n])
			width[i % t->n] = len;
	}
	for (size_t i = 0; i < t->words; i++) {
		size_t c = i % t->n;
		bool left = (t->left >> c & 1) != 0, last = c == t->n - 1;

		if (!last || !left || t->word[i][0] != '\0')
			fprintf(f, "%s%*s", c == 0 ? "" : "  ", left ? last ?
			    0 : -width[c] : width[c], t->word[i]);
		if (last)
			putc('\n', f);
	}
}

/* Free the words.  The table is then empty. */
static inline void
columns_free(struct columns *t)
{
	free(t->word);
	t->word = NULL;
	t->words = t->room = 0;
}

/* The indices of the columns that a table shows, from left to right. */
struct columns_choice {
	int n;
	int column[COLUMNS_MAX];
	char why[NEAREST_TEXT + NEAREST_MAX + 32];	/* room for an error
							 * message */
};

/*
 * Write an error message to to->why: there is no column with the name of len
 * characters at p.  The message also names the column with the most similar
 * name.  Returns to->why.
 */
static inline const char *
columns_name_nearest(struct columns_choice *to, const char *p, size_t len,
    int n, const char *(*name)(int i, const void *arg), const void *arg)
{
	char typed[NEAREST_MAX + 1], hint[NEAREST_TEXT];
	struct nearest near = { 0 };

	snprintf(typed, sizeof(typed), "%.*s", (int)len, p);
	for (int i = 0; i < n; i++)
		nearest_offer(&near, typed, name(i, arg));
	nearest_hint(&near, typed, "", hint);
	snprintf(to->why, sizeof(to->why), "unknown column '%s'%s", typed,
	    hint[0] != '\0' ? hint : "; --csv prints the names of all");
	return to->why;
}

/*
 * Store in *to the columns that a list such as "mean_age_ns,lost" names.  There
 * are n columns (at most COLUMNS_MAX), and name(i, arg) returns the name of
 * column i.  Returns NULL, or an error message that is valid as long as *to
 * exists.
 */
static inline const char *
columns_choose(struct columns_choice *to, const char *list, int n,
    const char *(*name)(int i, const void *arg), const void *arg)
{
	bool had[COLUMNS_MAX] = { false };

	to->n = 0;
	for (const char *p = list; ; p++) {
		const size_t len = strcspn(p, ",");
		int k = 0;

		while (k < n && (strlen(name(k, arg)) != len ||
		    memcmp(name(k, arg), p, len) != 0))
			k++;
		if (k == n)
			return columns_name_nearest(to, p, len, n, name, arg);
		if (had[k])
			return "a column is given twice";
		had[k] = true;
		to->column[to->n++] = k;
		p += len;
		if (*p == '\0')
			return NULL;
	}
}

#endif
