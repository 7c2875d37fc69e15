/*
 * model.h - every run of a specification up to a horizon, as formulas for Z3
 *
 * An update that may come is a struct model_update; its formulas are in units
 * of unit_ns, the greatest time that divides all times given, so numbers stay
 * small and exact.  innet-olaf(7) has the formulas in words.  Facts hold in
 * every run; the question put is facts and model_deny().
 *
 * With `whole`, offsets and jitters are whole ns, as time is everywhere else
 * in the suite; without, they are rational numbers, which is faster and
 * allows more: what is unsatisfiable so is unsatisfiable in whole ns too.
 *
 * Nothing here returns an error: Z3's own end the program.
 */
#ifndef INNET_VERIFY_MODEL_H
#define INNET_VERIFY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <z3.h>

#include "cmd/innet-verify/spec.h"

struct model_update {
	size_t c;		/* place of its cluster in the specification */
	uint64_t k;		/* which of its updates, from 0 */
	uint64_t lo_ns, hi_ns;	/* it arrives within these */
	Z3_ast jitter;
	Z3_ast at;		/* when it arrives */
	Z3_ast present;		/* before the horizon */
	Z3_ast sent;		/* present, and not held back */
	Z3_ast head;		/* it opens a slot */
	Z3_ast dropped;		/* it finds no slot */
	Z3_ast begins, leaves;	/* transmission of its slot, of heads only */
	Z3_ast newest;		/* of its cluster accepted by now: when */
	Z3_ast some;		/* one was accepted by now */
};

struct worker_model {
	const struct spec *spec;	/* borrowed */
	uint64_t horizon_ns;
	uint64_t unit_ns;
	bool whole;
	Z3_context z3;
	Z3_ast_vector facts;
	Z3_ast yes, no;
	Z3_ast offset[SPEC_CLUSTERS_MAX];
	struct model_update *update;	/* owned; cluster by cluster */
	size_t n;
	size_t first[SPEC_CLUSTERS_MAX + 1];	/* of a cluster's updates */
};

/* All runs up to horizon_ns; o is needed for the unit only. */
void model_open(struct worker_model *m, const struct spec *s,
    uint64_t horizon_ns,
    const struct objective *o, bool whole);
void model_close(struct worker_model *m);

/* The objective is missed; of fairness, by two clusters that have averages. */
Z3_ast model_deny(struct worker_model *m, const struct objective *o);

/*
 * Fairness is asked for, and a cluster has no second delivery: no average to
 * compare.
 */
Z3_ast model_alone(const struct worker_model *m, const struct objective *o);

/*
 * How many pairs of updates can meet in the queue, or by a status: a little
 * more, for memory and time go with them.
 */
uint64_t model_pairs(const struct spec *s);

#endif
