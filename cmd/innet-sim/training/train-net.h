/*
 * train-net.h - what all nodes of a training share: packets, addresses, costs
 */
#ifndef INNET_SIM_TRAIN_NET_H
#define INNET_SIM_TRAIN_NET_H

#include "cmd/innet-sim/training/train.h"

/*
 * Wake the node at at_ns, unless it wakes before that; *wake_ns is the time at
 * which it wakes so far.
 */
void train_wake(struct sim *s, const struct sim_node *n, uint64_t *wake_ns,
    uint64_t at_ns);

/* Return a packet with the len bytes at p; a segment's frame is full-sized. */
struct sim_packet train_packet(struct training *t, uint8_t tos,
    const uint8_t *p, uint32_t len);

/*
 * Return the bytes of a datagram, which are valid until TRAIN_LONGS more long
 * messages are under way.
 */
const uint8_t *train_bytes(const struct sim *s, const struct sim_datagram *d);

/* Return the training that a node belongs to. */
struct training *train_get(const struct sim *s, const struct sim_node *n);

/* Send p over a pipe of the training's; it is ready at ready_ns. */
void train_send_packet(struct sim *s, struct training *t, struct sim_pipe *pipe,
    const struct sim_packet *p, uint64_t ready_ns);

/* Count a packet that is lost. */
void train_count_loss(struct sim *s, const struct sim_packet *p,
    enum sim_loss why);

/* Return what a message of that many bytes costs a host, ns. */
uint64_t train_cost_ns(const struct training *t, uint64_t bytes);

/* Return the address that stands for a node, and the node of an address. */
union addr train_node_addr(const struct training *t, const struct sim_node *n);
struct sim_node *train_node_at(const struct training *t, const union addr *a);

/* Write p, stamped stamp_ns, to a capture. */
void train_put_frame(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

#endif
