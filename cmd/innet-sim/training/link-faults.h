/*
 * link-faults.h - links that lose packets in bursts, duplicate and reorder them
 *
 * Of each pipe, what it does to a packet that has come to its end: it may be
 * lost, alone or in a burst (Gilbert and Elliott: the way is good or bad, and
 * each packet may change that), come a second time later, or come late itself,
 * so that others overtake it.  All chance is its own, of the seed.
 */
#ifndef INNET_SIM_LINK_FAULTS_H
#define INNET_SIM_LINK_FAULTS_H

#include "cmd/innet-sim/engine/sim.h"
#include "common/base/timed-queue.h"

/* What happens to packets on a way; all are shares of them. */
struct trouble_way {
	double loss;
	double burst, calm;		/* one begins; one ends */
	double burst_loss;
	double twice, late;
	uint64_t late_ns;		/* most that either takes longer */
};

enum trouble_count {
	TROUBLE_LOST, TROUBLE_BURST, TROUBLE_TWICE, TROUBLE_LATE, TROUBLE_COUNTS
};

struct trouble {
	struct trouble_way way;		/* of those that have it */
	uint8_t *of;			/* by pipe: bits of enum below; owned */
	struct rng chance;
	struct timed_queue late;
	uint64_t n[TROUBLE_COUNTS];
};

enum { TROUBLE_HAS = 1, TROUBLE_BAD = 2 };

/* Each way of each link has w's trouble with chance share. */
void trouble_open(struct sim *s, const struct trouble_way *w, double share);
void trouble_free(struct sim *s);

/* A packet has come to the end of the pipe: is it there now? */
bool trouble_passes(struct sim *s, struct sim_pipe *pipe,
    const struct sim_packet *p);

/* One that was late is there. */
void trouble_arrives(struct sim *s);

#endif
