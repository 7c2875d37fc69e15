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
#include "cmd/innet-aom/ages/source.h"
#include "cmd/innet-aom/ages/times-table.h"
#include "common/olaf/aom.h"

enum by { BY_CLUSTER, BY_WORKER };
enum from { FROM_FIRST, FROM_SENT, FROM_TIME, FROM_UNSET };
enum end { END_CLUSTER, END_CAPTURE, END_UNSET };

struct instant {
	uint64_t ns;
	bool set, relative;	/* to the first packet of the run */
};

/* How captures are looked at, the same for every run. */
struct how {
	enum by by;
	enum from from;
	struct instant from_at, until;
	enum end end;
	bool oldest;		/* age of the oldest constituent */
	bool table;		/* -r is a table of times, not captures */
	struct source_how source;
};

/* The files of one run; NULL, or none, where there is none. */
struct inputs {
	struct source_files received, sent;
	const char *report;
};

/* Constituents and packets, as a switch's report has them. */
struct tally {
	uint64_t packets, constituents;
};

struct flow {
	uint64_t key;		/* cluster:16 worker:32 following:16 */
	struct tally got, sent;
	struct aom age;
	struct aom *freshest;	/* if what is ambiguous was sent last; owned */
	uint64_t last_ns;	/* of its packets, sent or received */
	double reward;		/* of all received */
	uint32_t latest;	/* history's newest item of this flow, + 1 */
};

/* What became of a cluster's updates in the switch. */
struct fate {
	uint16_t cluster;
	uint64_t arrived, superseded, dropped;	/* constituents */
};

struct run {
	const struct how *how;
	struct flow *flow;
	size_t flows, room;
	uint32_t *slot;		/* index into flow, + 1 */
	size_t slots;		/* a power of two */
	struct history *history;	/* of what was sent, when needed */
	struct match match;	/* the same, known again by what is in it */
	bool matches;
	struct fate *fate;	/* rising clusters */
	size_t fates;
	struct fate total;	/* of all clusters */
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
void run_read(struct run *r, const struct how *how, const struct inputs *f);

/*
 * Sort the flows: by their keys, which from now on have the places of their
 * names where clusters and workers have names (of all runs, ranked).
 */
void run_sort(struct run *r);

void run_free(struct run *r);

static inline unsigned
flow_cluster(const struct flow *f)
{
	return (unsigned)(f->key >> 48);
}

static inline uint32_t
flow_worker(const struct flow *f)
{
	return (uint32_t)(f->key >> 16);
}

/* Read a switch's report into r; it may exit. */
void report_read(struct run *r, const char *path);

/*
 * history: what was sent, so that a delivery's constituents can be found.
 * The functions exit when there is no memory.
 */
struct history *history_new(void);

/* u of flow f (at flow_at in its array) was sent at t. */
void history_add(struct history *h, struct flow *f, uint32_t flow_at,
    const struct update *u, uint64_t t);

/* All was sent: be ready for questions. */
void history_sort(struct history *h);

/*
 * When the oldest constituent of u, delivered in the flow at flow_at, was
 * generated; false, and *made untouched, if u was never sent.
 */
bool history_oldest(const struct history *h, uint32_t flow_at,
    const struct update *u, uint64_t *made);

void history_free(struct history *h);

#endif
