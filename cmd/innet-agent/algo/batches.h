/* batches.h - rows of experiences, and a batch of them to learn from */
#ifndef INNET_AGENT_ALGO_BATCHES_H
#define INNET_AGENT_ALGO_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/nstep.h"

struct rows {
	float *obs, *next;		/* `wide` floats in each row */
	union env_action *action;
	float *reward, *go;
};

struct batch {
	struct rows rows;
	float *weight;		/* importance weights, at most 1 */
	float *priority;	/* new priorities, set by the learner */
	uint64_t *id;		/* identifiers that the memory has assigned */
};

/*
 * Allocate n rows with observations of `wide` floats.  Exits with status 1 if
 * there is no memory.
 */
struct rows rows_open(size_t n, size_t wide);
void rows_close(struct rows *r);

/* Copy e into row i. */
void rows_put(struct rows *r, size_t i, size_t wide,
    const struct experience *e);

/* Return row i; obs and next of the result are borrowed. */
struct experience rows_get(const struct rows *r, size_t i, size_t wide);

/*
 * Allocate a batch of n experiences with observations of `wide` floats.  Exits
 * with status 1 if there is no memory.
 */
struct batch batch_open(size_t n, size_t wide);
void batch_close(struct batch *b);

#endif
