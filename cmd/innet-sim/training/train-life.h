/*
 * train-life.h - state transfer, and a synchronous worker that is killed and
 * restarted
 *
 * A worker copies the state of another worker, as innet-worker does
 * (iswitch/state-transfer.h).
 */
#ifndef INNET_SIM_TRAIN_LIFE_H
#define INNET_SIM_TRAIN_LIFE_H

#include "cmd/innet-sim/training/train.h"

/* Prepare worker w to be killed and to send its state to others. */
void train_life_open(struct train_worker *w);

/* Free what train_life_open() allocated. */
void train_life_free(struct train_worker *w);

/*
 * Send the state of worker w if the state was requested, and send all packets
 * that are due.
 */
void train_life_send_state(struct sim *s, struct train_worker *w);

/* Report that worker w could not get a state. */
void train_life_report_failure(struct sim *s, const struct train_worker *w);

/* Kill worker w. */
void train_life_end(struct train_worker *w);

/*
 * Return the transaction number (xid) of the first message of worker w since
 * its last start.
 */
uint32_t train_life_xid(const struct train_worker *w);

/*
 * Restart worker w.  Returns false if another fault still keeps the worker
 * down.  The caller restarts the state machine of an asynchronous worker.
 */
bool train_life_begin(struct sim *s, struct train_worker *w);

/* Store a segment of a result that worker w did not have yet. */
void train_life_add_segment(struct train_worker *w, const struct seg *g);

/* Let worker w apply a complete result to its weights. */
void train_life_use_result(struct train_worker *w);

/*
 * Receive a control datagram.  If h is not NULL, answer messages that belong to
 * this state transfer.  Returns true if the datagram is a message for the state
 * machine of worker w, which is then in *c.
 */
bool train_receive_control(struct sim *s, struct train_worker *w,
    struct membership *in, struct state_transfer *h,
    const struct sim_datagram *d, struct control *c);

/*
 * Fetch a state for worker w if its state machine has ended.  While w fetches a
 * state, returns true and sets *due to the time of the next check.
 */
bool train_life_receive_state(struct sim *s, struct train_worker *w,
    uint64_t *due);

#endif
