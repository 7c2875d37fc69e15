/*
 * model-state.h - the variables of a model, and Z3's context
 *
 * model.c builds formulas from these variables, terms.h makes single terms, and
 * violation.c defines violations of an objective.
 */
#ifndef INNET_VERIFY_MODEL_STATE_H
#define INNET_VERIFY_MODEL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <z3.h>

#include "cmd/innet-verify/spec.h"

/* An update that can arrive. */
struct model_update {
	size_t c;		/* index of the update's cluster in the
				 * specification */
	uint64_t k;		/* number of the update in its cluster, from
				 * 0 */
	uint64_t lo_ns, hi_ns;	/* bounds of the update's arrival time, in ns */
	Z3_ast jitter;
	Z3_ast at;		/* time when the update arrives */
	Z3_ast present;		/* the update arrives before the horizon */
	Z3_ast sent;		/* the update arrives and is not held back */
	Z3_ast head;		/* the update opens a slot */
	Z3_ast dropped;		/* the update finds no slot */
	Z3_ast begins, leaves;	/* start and end of the transmission of the
				 * update's slot, if the update opens one */
	Z3_ast newest;	/* time of the cluster's last accepted arrival */
	Z3_ast some;		/* the cluster has an accepted update */
};

struct model {
	const struct spec *spec;	/* borrowed */
	uint64_t horizon_ns;
	uint64_t unit_ns;
	bool whole;
	Z3_context z3;
	Z3_ast_vector facts;
	Z3_ast yes, no;
	Z3_ast offset[SPEC_CLUSTERS_MAX];
	struct model_update *update;	/* ordered by cluster; owned */
	size_t n;
	size_t first[SPEC_CLUSTERS_MAX + 1]; /* index of each cluster's first
					      * update */
};

#endif
