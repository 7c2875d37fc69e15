/*
 * figures.h - rows of named figures, as a table, as JSON or as CSV
 *
 * A row has a cell for each column.  JSON and CSV are printed at once; a table
 * is kept until figures_close(), which knows how wide it is and in which unit
 * its times are best read, unless it may be long: then it is printed at once,
 * with times in microseconds.  What is not known is "-", null or empty.
 */
#ifndef INNET_AOM_FIGURES_H
#define INNET_AOM_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/columns.h"

enum figures_unit { FIGURES_TEXT, FIGURES_COUNT, FIGURES_NS, FIGURES_REAL };
enum figures_form { FIGURES_TABLE, FIGURES_JSON, FIGURES_CSV };

enum { FIGURES_TEXT_BYTES = 64 };

struct figures_column {
	const char *key;	/* in JSON and CSV */
	const char *title;	/* in a table; NULL: only if asked for */
	enum figures_unit unit;
	int figure;		/* for who makes the rows */
};

struct figures_cell {
	bool known;
	bool quoted;		/* a text that JSON has in quotes */
	uint64_t whole;		/* COUNT and NS */
	double real;
	char text[FIGURES_TEXT_BYTES];
};

struct figures {
	const struct figures_column *column;	/* the last has no key */
	int n;
	enum figures_form form;
	bool at_once;		/* a table, too */
	bool chosen;		/* shows is of --columns */
	struct columns_choice shows;
	struct figures_cell *row;	/* kept ones, n each; owned */
	size_t rows, room;
	size_t printed;
};

/* Begin one; list: of columns, or NULL.  NULL, or what is wrong with it. */
const char *figures_open(struct figures *s, const struct figures_column *column,
    enum figures_form form, bool at_once, const char *list);

/* Print, or keep, a row of s->n cells. */
void figures_add_row(struct figures *s, const struct figures_cell *cell);

/* Print what was kept, and give it back. */
void figures_close(struct figures *s);

/* Cells. */
static inline struct figures_cell
figures_count(uint64_t v)
{
	return (struct figures_cell){ .known = true, .whole = v };
}

static inline struct figures_cell
figures_real(double v)
{
	return (struct figures_cell){ .known = true, .real = v };
}

static inline struct figures_cell
figures_text(const char *s, bool quoted)
{
	struct figures_cell c = { .known = true, .quoted = quoted };

	snprintf(c.text, sizeof(c.text), "%s", s);
	return c;
}

#endif
