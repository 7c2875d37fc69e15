/*
 * train-faults.h - links, workers and switches of a training that fail
 */
#ifndef INNET_SIM_TRAIN_FAULTS_H
#define INNET_SIM_TRAIN_FAULTS_H

#include "cmd/innet-sim/training/train.h"

/* Add the faults of t, which begins now, as events. */
void train_add_faults(struct sim *s, const struct training *t);

/* A fault begins or ends: the event of that number. */
void train_handle_fault(struct sim *s, uint32_t id);

#endif
