/*
 * link-faults.h - links that lose, duplicate and reorder packets
 *
 * At the end of a pipe, a packet may be lost, either alone or in a burst.
 * Bursts follow the model of Gilbert and Elliott: a pipe is good or bad, and
 * each packet may change its state.  A packet may also arrive a second time, or
 * arrive so late that other packets overtake it.  The random numbers depend
 * only on the seed.
 */
#ifndef INNET_SIM_LINK_FAULTS_H
#define INNET_SIM_LINK_FAULTS_H

#include "cmd/innet-sim/engine/sim.h"
#include "cmd/innet-sim/scenario/chaos-plan.h"
#include "common/base/timed-queue.h"

enum link_faults_count {
	LINK_FAULTS_LOST,
	LINK_FAULTS_BURST,
	LINK_FAULTS_TWICE,
	LINK_FAULTS_LATE,
	LINK_FAULTS_COUNTS
};

struct link_faults {
	struct link_fault_rates rates; /* rates of the faults, for pipes that
					* have faults */
	uint8_t *of;	/* for each pipe, a set of bits of the enum below;
			 * owned */
	struct rng chance;
	struct timed_queue late;
	uint64_t n[LINK_FAULTS_COUNTS];
};

enum { LINK_FAULTS_HAS = 1, LINK_FAULTS_BAD = 2 };

/*
 * Give each direction of each link these faults, with the probability `share`.
 */
void link_faults_open(struct sim *s, const struct link_fault_rates *w,
    double share);
void link_faults_free(struct sim *s);

#endif
