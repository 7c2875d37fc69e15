/*
 * train-worker.h - the workers of a training job, and the phases of a
 * synchronous worker
 */
#ifndef INNET_SIM_TRAIN_WORKER_H
#define INNET_SIM_TRAIN_WORKER_H

#include "cmd/innet-sim/training/train.h"

extern const struct sim_kind train_worker_kind;

/* Begin the training job after all workers have joined. */
void train_begin(struct sim *s, struct training *t);

#endif
