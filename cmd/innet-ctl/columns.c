/* columns.c - a table of words, printed in columns as wide as they need be */
#include <assert.h>
#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-ctl/columns.h"

void
columns_add(struct columns *t, const char *fmt, ...)
{
	va_list ap;
	char *w;

	if (t->words == t->room) {
		t->room = t->room == 0 ? 64 : 2 * t->room;
		t->word = realloc(t->word, t->room * sizeof(*t->word));
		if (t->word == NULL)
			err(1, "a table of %zu words", t->room);
	}
	w = t->word[t->words++];
	va_start(ap, fmt);
	vsnprintf(w, sizeof(*t->word), fmt, ap);
	va_end(ap);
	for (; *w != '\0'; w++)
		if (*w < 0x20 || *w > 0x7e)
			*w = '?';
}

void
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

void
columns_free(struct columns *t)
{
	free(t->word);
	t->word = NULL;
	t->words = t->room = 0;
}
