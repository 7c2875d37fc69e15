/*
 * train-net.h - functions for all nodes of a training job: packets, addresses,
 * processing times
 */
#ifndef INNET_SIM_TRAIN_NET_H
#define INNET_SIM_TRAIN_NET_H

#include "cmd/innet-sim/training/train.h"

/*
 * Wake node n at the time at_ns unless it wakes earlier.  *wake_ns is the time
 * of its next wake, and is updated.
 */
void train_wake(struct sim *s, const struct sim_node *n, uint64_t *wake_ns,
    uint64_t at_ns);

/*
 * Return a packet with the len bytes at p.  The frame of a segment has the
 * length that it would have with all floats.
 */
struct sim_packet train_packet(struct training *t, uint8_t tos,
    const uint8_t *p, uint32_t len);

/*
 * Return the bytes of a datagram.  They are valid until TRAIN_LONGS more long
 * messages have been sent.
 */
const uint8_t *train_bytes(const struct sim *s, const struct sim_datagram *d);

/*
 * Have later messages overwritten the bytes of this datagram?  This happens to
 * a worker that was paused for seconds.
 */
bool train_is_overwritten(const struct sim *s, const struct sim_datagram *d);

/* Free the messages of a training job.  Their room may be used again. */
void train_free_messages(struct training *t);

/* Return the training job that a node belongs to. */
struct training *train_get(const struct sim *s, const struct sim_node *n);

/* Send p over a pipe of the training job. p is ready at ready_ns. */
void train_send_packet(struct sim *s, struct training *t, struct sim_pipe *pipe,
    const struct sim_packet *p, uint64_t ready_ns);

/* Count a lost packet. */
void train_count_loss(struct sim *s, const struct sim_packet *p,
    enum sim_loss why);

/* Return the time that a host needs for a message of `bytes` bytes, in ns. */
uint64_t train_cost_ns(const struct training *t, uint64_t bytes);

/*
 * Return the address that represents node n.  train_node_at() returns the node
 * with this address.
 */
union addr train_node_addr(const struct training *t, const struct sim_node *n);
struct sim_node *train_node_at(const struct training *t, const union addr *a);

/* Write p to a capture with the timestamp stamp_ns. */
void train_put_frame(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

#endif
