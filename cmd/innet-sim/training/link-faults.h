/*
 * link-faults.h - links that lose, double and reorder packets
 *
 * At the end of a pipe, a packet may be lost, alone or in a burst (the model of
 * Gilbert and Elliott: a pipe is good or bad, and each packet may change that).
 * It may arrive a second time later, or it may be late, so that other packets
 * overtake it.  The random numbers depend on the seed only.
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
	struct link_fault_rates rates;		/* of those that have it */
	uint8_t *of;			/* by pipe: bits of enum below; owned */
	struct rng chance;
	struct timed_queue late;
	uint64_t n[LINK_FAULTS_COUNTS];
};

enum { LINK_FAULTS_HAS = 1, LINK_FAULTS_BAD = 2 };

/* Give each pipe of a link these faults, with probability share. */
void link_faults_open(struct sim *s, const struct link_fault_rates *w,
    double share);
void link_faults_free(struct sim *s);

#endif
