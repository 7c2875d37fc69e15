/*
 * captured-run.h - read the captures of one run into flows of updates
 *
 * While captures are read, flows (flow.h) are found by hash.  After the last
 * capture, the flows are sorted by key.
 */
#ifndef INNET_AOM_RUN_H
#define INNET_AOM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-aom/ages/match.h"
#include "cmd/innet-aom/ages/sent-history.h"
#include "cmd/innet-aom/ages/source.h"
#include "cmd/innet-aom/ages/switch-report.h"
#include "cmd/innet-aom/ages/times-table.h"

enum age_grouping { BY_CLUSTER, BY_WORKER };
enum age_start { FROM_FIRST, FROM_SENT, FROM_TIME, FROM_UNSET };
enum age_end { END_CLUSTER, END_CAPTURE, END_UNSET };

struct instant {
	uint64_t ns;
	bool set, relative;	/* the time is set; the time counts from the
				 * first packet of the run */
};

/* The rules for counting ages, which are the same for every run. */
struct age_rules {
	enum age_grouping grouping;
	enum age_start start;
	struct instant start_at, until;
	enum age_end end;
	bool oldest;		/* measure the age of the oldest constituent of
				 * each packet */
	bool table;		/* -r is a table of times, not captures */
	struct source_options source;
};

/* The files of one run; report may be NULL. */
struct run_files {
	struct source_files received, sent;
	const char *report;
};

struct run {
	const struct age_rules *rules;
	struct flow *flow;
	size_t flows, room;
	uint32_t *slot;		/* hash table whose values are indices into
				 * `flow`, plus 1 */
	size_t slots;		/* a power of two */
	struct history *history;	/* history of sent updates; NULL: not
					 * needed */
	struct match match;	/* index that finds sent updates by their
				 * content */
	bool matches;
	struct switch_report report;	/* valid if has_report */
	uint64_t first_ns, from_ns, until_ns, end_ns;
	bool begun;		/* first_ns, from_ns and until_ns are set */
	bool has_sent, has_report;
	struct source in, in_sent;	/* the sources are closed, but their
					 * counters stay valid */
	uint64_t unmatched;	/* number of deliveries not found among sent
				 * updates */
	uint64_t ambiguous;	/* number of deliveries that match several sent
				 * updates */
	double other_end; /* mean age with the other value of --end, divided by
			   * the mean age */
	uint64_t rows;		/* number of rows read from a table of times */
	/*
	 * Number of updates that were generated more than a second before the
	 * captures begin.
	 */
	uint64_t older;
	uint64_t oldest_ns;	/* time of the oldest update that was generated
				 * more than a second before the captures
				 * begin */
	int rc;			/* 1 if a capture was damaged */
};

/* Read the files of a run.  Exit after an error. */
void run_read(struct run *r, const struct age_rules *rules,
    const struct run_files *f);

/*
 * Sort the flows by name, if clusters and workers have names.  Call
 * names_rank() first.  After the call, the keys of the flows contain the places
 * of the names.
 */
void run_sort_by_name(struct run *r);

/* Free all memory of r. */
void run_free(struct run *r);

#endif
