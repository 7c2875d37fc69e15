/*
 * csv-table.h - read the named columns of a CSV file row by row
 *
 * The first line names the columns.  table_each() reads the file and calls
 * row() for each row.  If the file is malformed, table_each() prints an error
 * that begins with "file:line:" and exits.  If `names` is NULL, all columns are
 * read, and row() is also called for the first line.  All rows must then have
 * the same number of columns.
 */
#ifndef INNET_PLOT_CSV_TABLE_H
#define INNET_PLOT_CSV_TABLE_H

#include <stdint.h>

enum { TABLE_COLUMNS = 96, TABLE_FIELD_BYTES = 64 };

struct table {
	const char *path;
	/*
	 * names of the columns to read, with NULL at the end; NULL: read all
	 * columns
	 */
	const char *const *names;
	void (*row)(const struct table *, void *arg);
	void *arg;
	unsigned long line;
	char field[TABLE_COLUMNS][TABLE_FIELD_BYTES]; /* fields of the current
						       * row */
	int place[TABLE_COLUMNS]; /* index of the column of each name, or -1 */
	int column;			/* index of the column of the next
					 * field */
	int wide;			/* number of columns in line 1 */
};

void table_each(struct table *t);

/* Return field k of the row as a number; exit if it is not a number. */
uint64_t table_u64(const struct table *t, int k);
double table_real(const struct table *t, int k);

#endif
