/*
 * train-build.h - from the trainings of a scenario to their nodes and pipes
 */
#ifndef INNET_SIM_TRAIN_BUILD_H
#define INNET_SIM_TRAIN_BUILD_H

#include "cmd/innet-sim/training/train.h"

/* The functions that the engine calls. */
extern const struct sim_network train_network;

/* Make the nodes and pipes of all trainings, and the first events. */
void train_build(struct sim *s);

/* Free the trainings; their nodes and pipes are the engine's. */
void train_free(struct sim *s);

#endif
