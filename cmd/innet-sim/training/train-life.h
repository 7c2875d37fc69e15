/*
 * train-life.h - a synchronous worker that is killed and started again, and
 * state transfer
 *
 * A worker copies the state of another worker, as innet-worker does
 * (iswitch/state-transfer.h).
 */
#ifndef INNET_SIM_TRAIN_LIFE_H
#define INNET_SIM_TRAIN_LIFE_H

#include "cmd/innet-sim/training/train.h"

/* Prepare worker w for being killed and for sending its state to others. */
void train_life_open(struct train_worker *w);

/* Free what train_life_open() allocated. */
void train_life_free(struct train_worker *w);

/* Give the state of worker w if it was requested, and send what is due. */
void train_life_send_state(struct sim *s, struct train_worker *w);

/* Report that worker w could not get a state. */
void train_life_report_failure(struct sim *s, const struct train_worker *w);

/* Worker w is killed. */
void train_life_end(struct train_worker *w);

/* Worker w is started again. */
void train_life_begin(struct sim *s, struct train_worker *w);

/* A segment of a result is new to worker w. */
void train_life_add_segment(struct train_worker *w, const struct seg *g);

/* Worker w uses a whole result. */
void train_life_use_result(struct train_worker *w);

/*
 * Receive a datagram; true if it is a message for the machine of worker w, then
 * in *c.  Messages of a state transfer h (NULL: there is none) are answered.
 */
bool train_receive_control(struct sim *s, struct train_worker *w,
    struct membership *in, struct state_transfer *h,
    const struct sim_datagram *d, struct control *c);

/*
 * Does worker w receive a state, or begin to, because its machine has ended?
 * Then *due is when to look again.
 */
bool train_life_receive_state(struct sim *s, struct train_worker *w,
    uint64_t *due);

#endif
