/*
 * columns.h - a table of words, printed in columns as wide as they need be
 *
 * Words are copied; what could upset a terminal is printed as '?', and what is
 * longer than COLUMNS_WORD_MAX is cut.  A struct columns owns its words;
 * columns_free().
 */
#ifndef INNET_CTL_COLUMNS_H
#define INNET_CTL_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

enum { COLUMNS_MAX = 16, COLUMNS_WORD_MAX = 63 };

struct columns {
	size_t n;		/* columns, at most COLUMNS_MAX */
	unsigned left;		/* bit i: column i is aligned to the left */
	char (*word)[COLUMNS_WORD_MAX + 1];
	size_t words, room;
};

/* The next word, row by row; exits 1 without memory. */
void columns_add(struct columns *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void columns_print(const struct columns *, FILE *);
void columns_free(struct columns *);

#endif
