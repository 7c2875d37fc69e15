/*
 * train-build.h - build the nodes and pipes of the training jobs in a scenario
 */
#ifndef INNET_SIM_TRAIN_BUILD_H
#define INNET_SIM_TRAIN_BUILD_H

#include "cmd/innet-sim/training/train.h"

/* The functions that the engine calls. */
extern const struct sim_network train_network;

/* Make the nodes and pipes of all training jobs, and the first events. */
void train_build(struct sim *s);

/* Free the training jobs.  The engine frees their nodes and pipes. */
void train_free(struct sim *s);

#endif
