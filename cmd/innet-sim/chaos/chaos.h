/*
 * chaos.h - random trainings under random faults, and what must hold of them
 *
 * A seed is a training: chaos_draw() makes its topology, sizes and faults from
 * it alone.  chaos_one() runs it and says what is wrong, if anything is: a sum
 * that is not exact, results or weights that differ, counters that do not add
 * up, something that waits for ever, packets without end, memory that grows.
 */
#ifndef INNET_SIM_CHAOS_H
#define INNET_SIM_CHAOS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-sim/scenario/training-keys.h"
#include "cmd/innet-sim/training/link-faults.h"

enum { CHAOS_FAULTS = 8 };

enum chaos_kind {
	CHAOS_PARTITION, CHAOS_FLAP, CHAOS_KILL, CHAOS_PAUSE, CHAOS_DEATH,
	CHAOS_KINDS
};

/* What a scenario cannot say. */
struct chaos_plan {
	uint64_t seed;
	struct scenario sc;		/* of one training; points to: */
	struct scenario_training t;
	struct scenario_fault fault[CHAOS_FAULTS];
	struct trouble_way way;
	double share;			/* of ways that have that trouble */
	uint32_t first;			/* iteration, in step */
	uint32_t old;			/* bit: a worker that does not repair */
	bool killed;			/* a switch or a worker is */
	uint32_t flaps;			/* bit: a fault that is one of some */
	uint64_t memory_bytes;		/* that a switch may take; 0: any */
};

/* What happened, of all runs. */
struct chaos_tally {
	uint64_t runs, findings, events, packets, results;
	uint64_t refused;		/* runs that ended for want of memory */
	uint64_t trouble[TROUBLE_COUNTS];
	uint64_t fault[CHAOS_KINDS];
};

/* chaos-draw.c: the training of that seed. */
void chaos_draw(struct chaos_plan *p, uint64_t seed);

/* As JSON, on a line. */
void chaos_print(FILE *f, const struct chaos_plan *p);

/* What one of its faults is. */
enum chaos_kind chaos_kind(const struct chaos_plan *p, uint32_t fault);

/* chaos-run.c: run p and add to *n; true, or false and what is wrong. */
bool chaos_one(const struct chaos_plan *p, struct chaos_tally *n,
    char wrong[SIM_WRONG_BYTES]);

struct chaos_conf {
	uint64_t seed, runs, jobs;
	enum tag_auth auth;
	bool json, quiet, verbose;
	const volatile int *stopped;
};

/* chaos.c: the runs of these seeds.  0, or 1: there were findings. */
int chaos_run(const struct chaos_conf *cf);

#endif
