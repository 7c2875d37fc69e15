/*
 * train-async.h - asynchronous workers: iSwitch's, and a parameter server's
 */
#ifndef INNET_SIM_TRAIN_ASYNC_H
#define INNET_SIM_TRAIN_ASYNC_H

#include "cmd/innet-sim/training/train.h"

/* Open the machine of worker w, which joins as `in` says. */
void train_async_open(struct train_worker *w,
    const struct membership_conf *in);

/* The training begins: worker w computes. */
void train_async_begin(struct sim *s, struct train_worker *w);

/* Worker w receives a packet. */
void train_async_arrive(struct sim *s, struct train_worker *w,
    const struct sim_packet *p);

/* Do all that can happen now; return when more can. */
uint64_t train_async_step(struct sim *s, struct train_worker *w);

#endif
