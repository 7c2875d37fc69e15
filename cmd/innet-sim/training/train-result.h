/* train-result.h - the results of training jobs */
#ifndef INNET_SIM_TRAIN_RESULT_H
#define INNET_SIM_TRAIN_RESULT_H

#include "cmd/innet-sim/engine/result-row.h"
#include "cmd/innet-sim/training/train.h"

/* The figures in a row; the last entry has no key. */
extern const struct result_figure train_figures[];

/*
 * Write a row for each training job.  Prints a warning and returns false if a
 * check of a training job fails.
 */
bool train_result(struct sim *s, struct result_row *row);

/* Are all packets in t accounted for, all sums right, and all weights equal? */
bool train_is_sound(struct sim *s, struct training *t);

#endif
