/*
 * times-table.h - updates from a table of times, as CSV: innet-format(5)
 *
 * A line of names, then a line an update: when it was made and when it came.
 * An update that never came has no time of receipt.
 */
#ifndef INNET_AOM_TABLE_H
#define INNET_AOM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-aom/ages/names.h"

struct times_row {
	uint64_t generated_ns, received_ns;
	uint32_t cluster, worker;	/* their numbers in names */
	uint32_t sequence;
	uint16_t merged;
	bool came;
	double reward;
};

struct times_table {
	struct times_row *row;	/* owned */
	size_t n, room;
	bool lost;		/* there is one that never came */
};

enum { TIMES_TABLE_ERROR_BYTES = 512 };

/*
 * Add the rows of f, named path, to t: 0, or -1 and why, with its line.
 * Columns that are not used are named unless quiet.
 */
int times_table_parse(struct times_table *t, FILE *f, const char *path,
    struct names *clusters, struct names *workers, bool quiet,
    char why[TIMES_TABLE_ERROR_BYTES]);

/* Read path ("-": standard input), or say what is wrong and exit 1. */
void times_table_read(struct times_table *t, const char *path,
    struct names *clusters, struct names *workers);

/* Sort the rows by when they came (those that never did last), or were made. */
void times_table_sort(struct times_table *t, bool compare_receipt);

#endif
