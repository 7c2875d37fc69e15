/*
 * spec.h - the specification to verify: a switch, its clusters, an objective
 *
 * Times are in ns.  Clusters are in order of their id, which decides ties.
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
	SPEC_UPDATES_MAX = 10000,	/* of all clusters up to the horizon */
	SPEC_BILLION = 1000000000	/* shares are counted in billionths */
};
#define SPEC_SERVICE_MAX 4000000000u	/* 4 s */
#define SPEC_TIME_MAX 86400000000000u	/* a day */

struct spec_cluster {
	uint64_t id;
	uint64_t period_ns;
	uint64_t offset_lo_ns, offset_hi_ns;	/* of update 0 */
	uint64_t jitter_ns;	/* each update is late by 0 to this */
	struct txctl control;	/* its state before the first status */
};

struct spec {
	uint64_t service_ns;	/* p/C */
	uint64_t slots;		/* Qmax, with the one in transmission */
	uint64_t ack_ns;	/* R: from a departure to its status */
	uint64_t horizon_ns;	/* updates that arrive before it */
	size_t n;
	struct spec_cluster cluster[SPEC_CLUSTERS_MAX];
};

enum objective_kind { OBJECTIVE_FAIR, OBJECTIVE_PEAK, OBJECTIVE_NO_LOSS };

struct objective {
	enum objective_kind kind;
	bool relative;		/* fair: a share of the larger average */
	uint64_t bound;		/* ns, or billionths when relative */
	const char *text;	/* as given, borrowed */
};

/*
 * Read a specification. horizon_ns, unless it is 0, replaces its own.  Return
 * false with r->why. r is as json_reader_parse() or json_reader_load() left it.
 */
bool spec_read(struct json_reader *r, const cJSON *root, uint64_t horizon_ns,
    struct spec *s);

/*
 * Return how many updates of c can arrive before a horizon, or more than
 * SPEC_UPDATES_MAX.
 */
uint64_t spec_updates(const struct spec_cluster *c, uint64_t horizon_ns);

/* Return the sum of these for all clusters. */
uint64_t spec_updates_all(const struct spec *s, uint64_t horizon_ns);

/* Return the arrival of update k of c with that offset and that jitter. */
static inline uint64_t
spec_arrival(const struct spec_cluster *c, uint64_t k, uint64_t offset_ns,
    uint64_t jitter_ns)
{
	return offset_ns + k * c->period_ns + jitter_ns;
}

/* Read "fair<=0.1", "peak<=710ms" or "no-loss": NULL, or what is wrong. */
const char *objective_read(const char *text, struct objective *o);

#endif
