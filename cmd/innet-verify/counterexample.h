/*
 * replay.h - one schedule through the suite's own queue, link, transmission
 * control and ages, in virtual time
 *
 * The formulas of model.h say the same a second time; this is the check.
 */
#ifndef INNET_VERIFY_REPLAY_H
#define INNET_VERIFY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-verify/spec.h"

enum fate { FATE_HELD, FATE_OPENED, FATE_MERGED, FATE_DROPPED };

/* An update as scheduled, and what became of it. */
struct planned {
	size_t c;		/* place of its cluster in the specification */
	uint64_t k;		/* which of its updates, from 0 */
	uint64_t at_ns;		/* arrival */
	bool sent;		/* not held back */
	enum fate fate;		/* the rest is replay's */
	uint64_t begins_ns;	/* transmission, if it opens a slot */
	uint64_t leaves_ns;	/* if it opened one */
	uint64_t peak_ns;	/* ... the age just before; 0 of the first */
};

struct schedule {
	struct planned *row;	/* owned, in order of arrival */
	size_t n;
};

struct replay_cluster {
	uint64_t sent, held, delivered, merged, dropped;
	uint64_t peaks, peak_sum_ns;	/* the first delivery left out */
	uint64_t max_age_ns;	/* counted from its first update sent */
};

struct replay {
	struct replay_cluster of[SPEC_CLUSTERS_MAX];
	const char *why;	/* the specification does not admit it */
};

/* The name of a fate in reports. */
const char *fate_name(enum fate f);

/*
 * Play s, which is in order of arrival and then of clusters, and let the queue
 * drain.  Is it a schedule that the specification admits?
 */
bool replay_run(const struct spec *spec, uint64_t horizon_ns,
    struct schedule *s, struct replay *r);

/* Does the run miss the objective? */
bool replay_misses(const struct spec *spec, const struct objective *o,
    const struct replay *r);

/*
 * A payload of innet-gen's, and the rate of a link that takes service_ns for
 * its frame, to the nanosecond: false if there is none.
 */
bool replay_repeat(uint64_t service_ns, uint64_t *payload_bytes,
    uint64_t *rate_bps);

#endif
