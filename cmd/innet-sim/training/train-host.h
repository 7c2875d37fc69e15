/* train-host.h - functions that all kinds of workers use */
#ifndef INNET_SIM_TRAIN_HOST_H
#define INNET_SIM_TRAIN_HOST_H

#include "cmd/innet-sim/training/train.h"

/* Return the time that worker w needs for its next gradient, in ns. */
uint64_t train_compute_ns(struct train_worker *w);

/* Return the switch or server that sums for worker w. */
const struct sim_node *train_peer(const struct train_worker *w);

/* Send the len bytes at p from worker w to node n. */
void train_send(struct sim *s, struct train_worker *w,
    const struct sim_node *n, uint8_t tos, const uint8_t *p, uint32_t len);

/* End worker w, which has done all its iterations. */
void train_finish(struct sim *s, struct train_worker *w);

/* Count the duration of an aggregation. */
void train_count_aggregation(struct training *t, uint64_t ns);

/*
 * Count one more result of worker w, or a state that includes it.  Returns true
 * if all workers have that result now.
 */
bool train_count_result(struct sim *s, struct train_worker *w);

#endif
