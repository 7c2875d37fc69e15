/*
 * train-member.h - a worker as a member of a job: its channel, messages and
 * tags
 *
 * All messages and tags are the same as those of the live programs.
 */
#ifndef INNET_SIM_TRAIN_MEMBER_H
#define INNET_SIM_TRAIN_MEMBER_H

#include "cmd/innet-sim/training/train.h"

/*
 * Open the channel from worker w to the switch or server that sums its
 * gradients.
 */
void train_open_channel(const struct sim *s, struct train_worker *w);

/*
 * Return the settings with which worker w joins; xid is its first transaction
 * number.
 */
struct membership_conf train_membership(const struct train_worker *w,
    uint32_t xid);

/*
 * Open the state machine of a synchronous worker that has done `iterations`
 * iterations.
 */
void train_open_sync_worker(const struct sim *s, struct train_worker *w,
    uint64_t iterations, uint32_t xid);

/*
 * Send the control message of len bytes at msg.  The buffer must have room for
 * CONTROL_MAX_BYTES bytes.
 */
void train_send_control(struct sim *s, struct train_worker *w, uint8_t *msg,
    size_t len);

/* Add the authentication tag to a segment of worker w if it needs one. */
void train_add_tag(const struct train_worker *w, struct segment_tag *p,
    uint8_t *seg);

/* Is the authentication tag of a result correct, or is none needed? */
bool train_check_tag(const struct train_worker *w, struct segment_tag *p,
    const struct sim_datagram *d);

/*
 * Send `count` segments of a gradient, beginning with segment `first`, with
 * tags if they are needed.
 */
void train_send_segments(struct sim *s, struct train_worker *w,
    struct segment_tag *tags, uint32_t iteration, uint32_t first,
    uint32_t count);

/* Check a result that arrived at worker w. */
void train_check_result(struct sim *s, struct train_worker *w,
    const struct seg *g);

#endif
