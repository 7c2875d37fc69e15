/*
 * bars.c - draw a table as bars: each row is a group, each column is a series
 *
 * The first column labels the groups.  If the name of a column is the name of
 * another column with the suffix "_sd", the column contains the lengths of the
 * other column's error bars.  An empty field draws no bar.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"
#include "cmd/innet-plot/csv-table.h"

struct bars {
	struct figure *fig;
	bool error[TABLE_COLUMNS];	/* the column contains error bars */
	size_t of[TABLE_COLUMNS];	/* index of the column's series */
};

/*
 * If this column contains the error bars of another column, return that column;
 * otherwise return -1.
 */
static int
find_errors(const struct table *t, int column)
{
	const char *name = t->field[column];
	const size_t n = strlen(name);

	if (n <= 3 || strcmp(name + n - 3, "_sd") != 0)
		return -1;
	for (int k = 1; k < t->wide; k++)
		if (strlen(t->field[k]) == n - 3 &&
		    strncmp(t->field[k], name, n - 3) == 0)
			return k;
	return -1;
}

static void
read_heading(const struct table *t, struct bars *b)
{
	int of;

	if (t->wide < 2)
		errx(1, "%s:1: the table has only labels; a column of numbers "
		    "must follow", t->path);
	b->fig->rows = strdup(t->field[0]);
	if (b->fig->rows == NULL)
		err(1, "no memory for a label");
	for (int k = 1; k < t->wide; k++) {
		b->error[k] = find_errors(t, k) != -1;
		if (b->error[k])
			continue;
		b->of[k] = b->fig->n;
		figure_add(b->fig, t->field[k]);
	}
	for (int k = 1; k < t->wide; k++)
		if ((of = find_errors(t, k)) != -1)
			b->of[k] = b->of[of];
}

/* Make room for the error bars of one more point in each series. */
static void
grow_errors(struct figure *fig, size_t rows)
{
	for (size_t i = 0; i < fig->n; i++) {
		struct curve *c = &fig->curve[i];

		c->band = realloc(c->band, rows * sizeof(*c->band));
		if (c->band == NULL)
			err(1, "no memory for %zu bars", rows);
		c->band[rows - 1][0] = c->band[rows - 1][1] = 0;
	}
	fig->tick = realloc(fig->tick, rows * sizeof(*fig->tick));
	if (fig->tick == NULL)
		err(1, "no memory for %zu bars", rows);
}

static void
bars_row(const struct table *t, void *arg)
{
	struct bars *b = arg;
	struct figure *fig = b->fig;
	const size_t row = fig->ticks;

	if (t->line == 1) {
		read_heading(t, b);
		return;
	}
	grow_errors(fig, row + 1);
	fig->tick[row] = strdup(t->field[0]);
	if (fig->tick[fig->ticks++] == NULL)
		err(1, "no memory for a label");
	for (int k = 1; k < t->wide; k++) {
		struct curve *c = &fig->curve[b->of[k]];
		const bool none = t->field[k][0] == '\0';
		const double v = none ? NAN : table_real(t, k);

		if (b->error[k])
			c->band[row][0] = none ? 0 : v;
		else
			curve_point(c, (double)row, v);
	}
}

void
add_bars(struct figure *fig, const char *path)
{
	struct bars b = { .fig = fig };
	struct table t = { .path = path, .row = bars_row, .arg = &b };

	table_each(&t);
}
