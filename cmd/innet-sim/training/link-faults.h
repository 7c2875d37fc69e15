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

/* Each way of each link has w's trouble with chance share. */
void link_faults_open(struct sim *s, const struct link_fault_rates *w,
    double share);
void link_faults_free(struct sim *s);

#endif
