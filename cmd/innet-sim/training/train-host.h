/* train-host.h - functions that all kinds of workers use */
#ifndef INNET_SIM_TRAIN_HOST_H
#define INNET_SIM_TRAIN_HOST_H

#include "cmd/innet-sim/training/train.h"

/* Return the time that worker w needs for its next gradient, in ns. */
uint64_t train_compute_ns(struct train_worker *w);

/* Return the switch or server that sums the gradients of worker w. */
const struct sim_node *train_peer(const struct train_worker *w);

/* Send the len bytes at p from worker w to node n. */
void train_send(struct sim *s, struct train_worker *w,
    const struct sim_node *n, uint8_t tos, const uint8_t *p, uint32_t len);

/* End worker w, which has done all its iterations. */
void train_finish(struct sim *s, struct train_worker *w);

/* Add the duration of an aggregation to the statistics. */
void train_count_aggregation(struct training *t, uint64_t ns);

/*
 * Record that worker w has one more result, received directly or as part of a
 * state.  Returns true if all workers have this result now.
 */
bool train_count_result(struct sim *s, struct train_worker *w);

#endif
