/*
 * counterexample.h - simulate a schedule with the queue of the other tools
 *
 * The replay uses the queue, the link, the transmission control and the ages of
 * the other tools, in virtual time.  It checks the formulas of model.h, which
 * describe the same behaviour independently.
 */
#ifndef INNET_VERIFY_COUNTEREXAMPLE_H
#define INNET_VERIFY_COUNTEREXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-verify/spec.h"

enum fate { FATE_HELD, FATE_OPENED, FATE_MERGED, FATE_DROPPED };

/* An update of the schedule, and how the queue handled it. */
struct planned_update {
	size_t c;		/* index of the update's cluster in the
				 * specification */
	uint64_t k;		/* number of the update in the cluster, from
				 * 0 */
	uint64_t at_ns;		/* arrival */
	bool sent;		/* not held back */
	/* counterexample_play() sets the following fields */
	enum fate fate;
	uint64_t begins_ns;	/* start of transmission, if the update opens a
				 * slot */
	uint64_t leaves_ns; /* departure time, if the update opened a slot */
	uint64_t peak_ns;	/* age just before the departure; 0 if this is
				 * the cluster's first departure */
};

struct schedule {
	struct planned_update *row;	/* updates in order of arrival; owned */
	size_t n;
};

struct played_cluster {
	uint64_t sent, held, delivered, merged, dropped;
	uint64_t peaks, peak_sum_ns;	/* number of peaks and their sum,
					 * without the first delivery */
	uint64_t max_age_ns;	/* largest age; the age begins at the first
				 * update */
};

struct played {
	struct played_cluster of[SPEC_CLUSTERS_MAX];
	const char *why;	/* why the schedule is not allowed, or NULL */
};

/* Return the name of a fate (enum), as it is printed. */
const char *fate_name(enum fate f);

/*
 * Play s and drain the queue.  The updates of s must be ordered by arrival,
 * then by cluster.  Return whether the specification allows the schedule.
 */
bool counterexample_play(const struct spec *spec, uint64_t horizon_ns,
    struct schedule *s, struct played *r);

/* Does the run violate the objective? */
bool counterexample_violates(const struct spec *spec, const struct objective *o,
    const struct played *r);

/*
 * Choose a payload for innet-gen and the rate of a link, so that the link sends
 * a frame in exactly service_ns; return false if there is no such pair.
 */
bool counterexample_link(uint64_t service_ns, uint64_t *payload_bytes,
    uint64_t *rate_bps);

#endif
