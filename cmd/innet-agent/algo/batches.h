/*
 * batches.h - experiences by row, and a draw of them to learn from
 */
#ifndef INNET_AGENT_ALGO_BATCHES_H
#define INNET_AGENT_ALGO_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/algo/nstep.h"

struct rows {
	float *obs, *next;		/* wide floats each */
	union env_action *action;
	float *reward, *go;
};

struct batch {
	struct rows rows;
	float *weight;		/* of importance, 1 at most */
	float *priority;	/* what each has from now on; the learner's */
	uint64_t *id;		/* by which the memory knows them */
};

/* Room for n; exits 1 without memory. */
struct rows rows_open(size_t n, size_t wide);
void rows_close(struct rows *r);

void rows_put(struct rows *r, size_t i, size_t wide,
    const struct experience *e);

/* Row i; its obs and next are borrowed. */
struct experience rows_get(const struct rows *r, size_t i, size_t wide);

struct batch batch_open(size_t n, size_t wide);
void batch_close(struct batch *b);

#endif
