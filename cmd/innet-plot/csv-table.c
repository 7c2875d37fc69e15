/* csv-table.c - read a CSV file by the names of its columns */
#include "cmd/innet-plot/csv-table.h"

#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/capture/pcapio.h"

/* Return the name of column k, such as "reward" or "column 3". */
static const char *
column_name(const struct table *t, int k)
{
	static char name[32];

	if (t->names != NULL)
		return t->names[k];
	snprintf(name, sizeof(name), "column %d", k + 1);
	return name;
}

static void
keep_field(struct table *t, int k, const char *s, size_t len)
{
	if (len >= TABLE_FIELD_BYTES)
		errx(1, "%s:%lu: %s is too long: %zu characters",
		    t->path, t->line,
		    column_name(t, k), len);
	memcpy(t->field[k], s, len);
	t->field[k][len] = '\0';
}

static void
on_field(void *field, size_t len, void *arg)
{
	struct table *t = arg;
	const char *s = field != NULL ? field : "";

	if (t->names == NULL) {
		if (t->column == TABLE_COLUMNS)
			errx(1, "%s:%lu: more than %d columns", t->path,
			    t->line, TABLE_COLUMNS);
		keep_field(t, t->column, s, len);
	}
	for (int k = 0; t->names != NULL && t->names[k] != NULL; k++) {
		if (t->line == 1 && strcmp(s, t->names[k]) == 0)
			t->place[k] = t->column;
		if (t->line > 1 && t->place[k] == t->column)
			keep_field(t, k, s, len);
	}
	t->column++;
}

static void
on_row(int ch, void *arg)
{
	struct table *t = arg;

	(void)ch;
	if (t->line == 1)
		t->wide = t->column;
	if (t->names == NULL && t->column != t->wide)
		errx(1, "%s:%lu: the line has %d columns, but the first line "
		    "has %d",
		    t->path, t->line,
		    t->column, t->wide);
	for (int k = 0; t->names != NULL && t->names[k] != NULL; k++) {
		if (t->line == 1 && t->place[k] == -1)
			errx(1, "%s:1: there is no column '%s'",
			    t->path, t->names[k]);
		if (t->place[k] >= t->column)
			errx(1, "%s:%lu: only %d columns; %s is missing",
			    t->path,
			    t->line, t->column, t->names[k]);
	}
	if (t->line > 1 || t->names == NULL)
		t->row(t, t->arg);
	t->column = 0;
}

void
table_each(struct table *t)
{
	const bool in = strcmp(t->path, "-") == 0;
	FILE *f = in ? stdin : file_open_stream(t->path, false);
	struct csv_parser csv;
	char *s = NULL;
	size_t room = 0;
	ssize_t len;

	t->path = pcapio_name(t->path, false);
	if (f == NULL || csv_init(&csv, CSV_APPEND_NULL) != 0)
		err(1, "%s", t->path);
	memset(t->place, -1, sizeof(t->place));
	while ((len = getline(&s, &room, f)) != -1) {
		t->line++;
		if (csv_parse(&csv, s, (size_t)len, on_field, on_row, t) !=
		    (size_t)len)
			errx(1, "%s:%lu: %s", t->path, t->line,
			    csv_strerror(csv_error(&csv)));
	}
	csv_fini(&csv, on_field, on_row, t);
	csv_free(&csv);
	free(s);
	if (ferror(f))
		err(1, "%s", t->path);
	if (t->line == 0)
		errx(1, "%s: empty file", t->path);
	if (!in)
		fclose(f);
}

uint64_t
table_u64(const struct table *t, int k)
{
	const char *s = t->field[k];
	uint64_t v = 0;
	const char *why = num_time(s, 0, INT64_MAX, &v);

	if (why != NULL || strspn(s, "0123456789") != strlen(s))
		errx(1, "%s:%lu: %s '%s' is %s", t->path, t->line,
		    column_name(t, k), s,
		    why != NULL ? why : "not a whole number");
	return v;
}

double
table_real(const struct table *t, int k)
{
	double v = 0;
	const char *why = num_real(t->field[k], -HUGE_VAL, HUGE_VAL, &v);

	if (why != NULL)
		errx(1, "%s:%lu: %s '%s' is %s", t->path, t->line,
		    column_name(t, k), t->field[k], why);
	return v;
}
