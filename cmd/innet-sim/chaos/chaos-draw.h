/* chaos-draw.h - draw a random training job and its faults from a seed */
#ifndef INNET_SIM_CHAOS_DRAW_H
#define INNET_SIM_CHAOS_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-sim/scenario/chaos-plan.h"

enum chaos_kind {
	CHAOS_PARTITION, CHAOS_FLAP, CHAOS_KILL, CHAOS_PAUSE, CHAOS_DEATH,
	CHAOS_KINDS
};

/* The kind of training jobs to draw. */
struct chaos_draw_kind {
	bool kills_racks, ring, severe;
};

/*
 * Draw a training job from `seed`: its topology, sizes and faults.  If
 * kind->kills_racks is true, draw an asynchronous training job whose racks are
 * killed and restarted.  If kind->ring is true, draw a synchronous training job
 * with a ring, whose workers are not killed.  If kind->severe is true, draw
 * more faults: at least two, many of them at the same time, and more losses and
 * duplicates.
 */
void chaos_draw(struct chaos_plan *p, uint64_t seed,
    const struct chaos_draw_kind *kind);

/* Print a plan as one line of JSON. */
void chaos_print(FILE *f, const struct chaos_plan *p);

/* Return the kind of the fault with the index `fault` in the plan. */
enum chaos_kind chaos_kind(const struct chaos_plan *p, uint32_t fault);

#endif
