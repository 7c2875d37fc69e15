/* train-async.h - asynchronous workers of iSwitch, and of a parameter server */
#ifndef INNET_SIM_TRAIN_ASYNC_H
#define INNET_SIM_TRAIN_ASYNC_H

#include "cmd/innet-sim/training/train.h"

/* Open the state machine of worker w, which joins with the settings *in. */
void train_async_open(const struct sim *s, struct train_worker *w,
    const struct membership_conf *in);

/*
 * Restart worker w, which was killed, with the first weights.  The first
 * message of the worker has this transaction number (xid).
 */
void train_async_restart(struct sim *s, struct train_worker *w, uint32_t xid);

/* Begin the training job: worker w computes its first gradient. */
void train_async_begin(struct sim *s, struct train_worker *w);

/* Handle a packet that arrives at worker w. */
void train_async_arrive(struct sim *s, struct train_worker *w,
    const struct sim_packet *p);

/* Do all work that can be done now; return the time when more work is due. */
uint64_t train_async_step(struct sim *s, struct train_worker *w);

#endif
