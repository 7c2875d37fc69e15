/*
 * captured-run.h - what the captures of one run hold, by cluster
 *
 * A flow is one sequence of updates with an age of its own: those of a
 * cluster (or of one worker in it) for one range of the vector.  Flows are
 * found by hash while captures are read and sorted by key afterwards.
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
	bool set, relative;	/* to the first packet of the run */
};

/* How captures are looked at, the same for every run. */
struct age_rules {
	enum age_grouping grouping;
	enum age_start start;
	struct instant start_at, until;
	enum age_end end;
	bool oldest;		/* age of the oldest constituent */
	bool table;		/* -r is a table of times, not captures */
	struct source_options source;
};

/* The files of one run; NULL, or none, where there is none. */
struct run_files {
	struct source_files received, sent;
	const char *report;
};

struct run {
	const struct age_rules *rules;
	struct flow *flow;
	size_t flows, room;
	uint32_t *slot;		/* index into flow, + 1 */
	size_t slots;		/* a power of two */
	struct history *history;	/* of what was sent, when needed */
	struct match match;	/* the same, known again by what is in it */
	bool matches;
	struct switch_report report;	/* if has_report */
	uint64_t first_ns, from_ns, until_ns, end_ns;
	bool begun;		/* first_ns and what hangs on it are set */
	bool has_sent, has_report;
	struct source in, in_sent;	/* closed: what they counted */
	uint64_t unmatched;	/* deliveries not found in what was sent */
	uint64_t ambiguous;	/* that could be one of several sent */
	double other_end;	/* mean age with the other end, by this one */
	uint64_t rows;		/* of a table */
	uint64_t older;		/* made a second and more before all captures */
	uint64_t oldest_ns;	/* when the first of those was made */
	int rc;			/* 1 if a capture was damaged */
};

/* Read the files of a run; it may exit. */
void run_read(struct run *r, const struct age_rules *rules,
    const struct run_files *f);

/*
 * Sort the flows: by their keys, which from now on have the places of their
 * names where clusters and workers have names (of all runs, ranked).
 */
void run_sort_by_name(struct run *r);

void run_free(struct run *r);

#endif
