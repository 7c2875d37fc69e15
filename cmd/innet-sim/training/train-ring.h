/*
 * train-ring.h - workers that sum in a ring (ring AllReduce)
 */
#ifndef INNET_SIM_TRAIN_RING_H
#define INNET_SIM_TRAIN_RING_H

#include "cmd/innet-sim/training/train.h"

/* Allocate the state of the ring in worker w. */
void train_ring_open(struct train_worker *w);

/* Return the size, in bytes, of the part that worker w sends in this step. */
uint64_t train_ring_bytes(const struct train_worker *w);

/* Send the part of this step to the next worker. */
void train_ring_send(struct sim *s, struct train_worker *w);

/* Receive a packet of a part. */
void train_ring_receive(struct train_worker *w, const struct sim_packet *p);

/* Has worker w received the whole part of this step? */
bool train_ring_has(const struct train_worker *w);

/* Go to the next step.  Returns false if this was the last step. */
bool train_ring_next_step(struct train_worker *w);

#endif
