/*
 * csv-table.h - read the named columns of a CSV file, a row at a time
 *
 * The first line names the columns.  table_each() reads the file and ends the
 * program with a line "file:line: ..." if the file is malformed.  If no names
 * are wanted, all columns are read, the first line is a row as well, and all
 * rows must have as many columns.
 */
#ifndef INNET_PLOT_CSV_TABLE_H
#define INNET_PLOT_CSV_TABLE_H

#include <stdint.h>

enum { TABLE_COLUMNS = 96, TABLE_FIELD_BYTES = 64 };

struct table {
	const char *path;
	/* names of the columns to read, ended by NULL; or NULL for all */
	const char *const *names;
	void (*row)(const struct table *, void *arg);
	void *arg;
	unsigned long line;
	char field[TABLE_COLUMNS][TABLE_FIELD_BYTES];	/* in their order */
	int place[TABLE_COLUMNS];	/* its column in the file, or -1 */
	int column;			/* of the field read next */
	int wide;			/* columns of the first line */
};

void table_each(struct table *t);

/* Return field k of the row as a number; exit if it is not a number. */
uint64_t table_u64(const struct table *t, int k);
double table_real(const struct table *t, int k);

#endif
