/*
 * train-faults.h - faults of the links, workers and switches of a training job
 */
#ifndef INNET_SIM_TRAIN_FAULTS_H
#define INNET_SIM_TRAIN_FAULTS_H

#include "cmd/innet-sim/training/train.h"

/* Schedule the faults of training job t, which begins now, as events. */
void train_add_faults(struct sim *s, const struct training *t);

/* Begin or end a fault: handle the SIM_FAULT event with this number. */
void train_handle_fault(struct sim *s, uint32_t id);

#endif
