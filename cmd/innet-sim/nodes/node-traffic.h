/*
 * node-traffic.h - frames of other programs
 *
 * A source is a node: an entry of the scenario's traffic at one switch.  Its
 * frames are packets of kind SIM_REGULAR, which no queue merges.  On their way,
 * these frames occupy slots of the ports, as port.h describes.  Each frame that
 * was sent is counted exactly once: as received, dropped by a full queue, lost,
 * or on its way.
 */
#ifndef INNET_SIM_TRAFFIC_H
#define INNET_SIM_TRAFFIC_H

#include "cmd/innet-sim/engine/result-row.h"
#include "cmd/innet-sim/engine/sim.h"

struct sim_source {
	const struct scenario_traffic *cf;
	struct sim_node *to; /* the switch to which the source sends frames */
	struct arrivals_conf arrivals;
	struct arrivals pace;
	struct rng chance;
	uint64_t stop_ns;	/* the source sends nothing from this time on */
	uint64_t sent, received, dropped, lost[SIM_LOSSES];
	unsigned __int128 delay_ns;	/* total delay of received frames */
};

extern const struct sim_kind node_traffic_kind;

/*
 * Make node n the next source, which sends to the switch `to`, and schedule its
 * first event.
 */
void node_traffic_add(struct sim *s, struct sim_node *n, struct sim_node *to,
    const struct scenario_traffic *cf);

/* Return the source of a frame. */
static inline struct sim_source *
node_traffic_of(const struct sim *s, const struct sim_packet *p)
{
	return &s->source[p->up.worker];
}

/* Count a frame that has arrived at the server. */
void node_traffic_receive(struct sim *s, const struct sim_packet *p);

/*
 * Write a row for each traffic entry of the scenario, and one for the total, to
 * `row`.  If `row` is NULL, only check the counters.  Prints a warning and
 * returns false if a frame is not accounted for.
 */
extern const struct result_figure node_traffic_figures[];
bool node_traffic_result(const struct sim *s, struct result_row *row);

#endif
