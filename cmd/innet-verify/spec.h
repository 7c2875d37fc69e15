/*
 * spec.h - the specification to verify: a switch, its clusters, an objective
 *
 * Times are in ns.  Clusters are ordered by id, and the lower id wins ties.
 */
#ifndef INNET_VERIFY_SPEC_H
#define INNET_VERIFY_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/json-reader.h"
#include "common/queue/txctl.h"

enum {
	SPEC_CLUSTERS_MAX = 64,
	SPEC_UPDATES_MAX = 10000,	/* limit on the updates of all clusters
					 * before the horizon */
	SPEC_BILLION = 1000000000	/* shares are counted in billionths */
};
#define SPEC_SERVICE_MAX 4000000000u	/* 4 s */
#define SPEC_TIME_MAX 86400000000000u	/* a day */

struct spec_cluster {
	uint64_t id;
	uint64_t period_ns;
	uint64_t offset_lo_ns, offset_hi_ns; /* bounds of the arrival of update
					      * 0 */
	uint64_t jitter_ns;	/* greatest delay of an update */
	struct txctl control; /* transmission control before the first status */
};

struct spec {
	uint64_t service_ns;	/* p/C: time to transmit one update */
	uint64_t slots;		/* Qmax: number of slots, including that of the
				 * update being sent */
	uint64_t ack_ns;	/* R: time from the departure of an update until
				 * the cluster gets the status */
	uint64_t horizon_ns;	/* the end of all runs */
	size_t n;
	struct spec_cluster cluster[SPEC_CLUSTERS_MAX];
};

enum objective_kind { OBJECTIVE_FAIR, OBJECTIVE_PEAK, OBJECTIVE_NO_LOSS };

struct objective {
	enum objective_kind kind;
	bool relative;		/* for fair: the bound is a share of the larger
				 * average */
	uint64_t bound;		/* bound in ns, or in billionths if it is
				 * relative */
	const char *text; /* the objective as the user wrote it; borrowed */
};

/*
 * Read a specification from root, after json_reader_parse() or
 * json_reader_load() has set r.  If horizon_ns is not 0, use horizon_ns instead
 * of the horizon of the specification.  On failure, set r->why and return
 * false.
 */
bool spec_read(struct json_reader *r, const cJSON *root, uint64_t horizon_ns,
    struct spec *s);

/*
 * Return the number of updates of c that can arrive before a horizon.  If there
 * are more than SPEC_UPDATES_MAX, return any larger number.
 */
uint64_t spec_updates(const struct spec_cluster *c, uint64_t horizon_ns);

/* Return the sum of spec_updates() for all clusters. */
uint64_t spec_updates_all(const struct spec *s, uint64_t horizon_ns);

/* Return the arrival time of update k of c with this offset and this jitter. */
static inline uint64_t
spec_arrival(const struct spec_cluster *c, uint64_t k, uint64_t offset_ns,
    uint64_t jitter_ns)
{
	return offset_ns + k * c->period_ns + jitter_ns;
}

/*
 * Read an objective such as "fair<=0.1", "peak<=710ms" or "no-loss".  Return
 * NULL, or a description of the error.
 */
const char *objective_read(const char *text, struct objective *o);

#endif
