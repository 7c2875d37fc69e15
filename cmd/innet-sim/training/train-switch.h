/*
 * train-switch.h - switches and servers of a training job
 *
 * A switch or server that computes sums has a plane; other switches only
 * forward packets.
 */
#ifndef INNET_SIM_TRAIN_SWITCH_H
#define INNET_SIM_TRAIN_SWITCH_H

#include "cmd/innet-sim/training/train.h"

extern const struct sim_kind train_switch_kind, train_server_kind;

/*
 * Open the state machine of a node that aggregates, with the default settings
 * of innet-switch.
 */
void train_open_machine(struct train_switch *w);

/*
 * May the packets of node n be captured?  This is possible only if the node
 * sums gradients.
 */
bool train_is_captured(const struct sim_node *n);

#endif
