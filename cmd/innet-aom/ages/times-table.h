/*
 * times-table.h - read updates from a CSV table of times (innet-format(5))
 *
 * The first line has the names of the columns.  Each other line is an update,
 * with the times when it was generated and received.  A lost update has no time
 * of receipt.
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
	uint32_t cluster, worker;	/* numbers given by names.h */
	uint32_t sequence;
	uint16_t merged;
	bool came;
	double reward;
};

struct times_table {
	struct times_row *row;	/* owned */
	size_t n, room;
	bool lost;		/* at least one update was lost */
};

enum { TIMES_TABLE_ERROR_BYTES = 512 };

/*
 * Add the rows of f, whose name is path, to t.  Return 0, or -1 with the reason
 * and the line in `why`.  Warn about unused columns unless `quiet` is set.
 */
int times_table_parse(struct times_table *t, FILE *f, const char *path,
    struct names *clusters, struct names *workers, bool quiet,
    char why[TIMES_TABLE_ERROR_BYTES]);

/*
 * Read the table at path ("-": standard input).  Exit with status 1 after an
 * error.
 */
void times_table_read(struct times_table *t, const char *path,
    struct names *clusters, struct names *workers);

/*
 * Sort the rows by time of receipt, with lost updates last, or by generation
 * time.
 */
void times_table_sort(struct times_table *t, bool compare_receipt);

#endif
