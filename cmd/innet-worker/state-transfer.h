/*
 * state-transfer.h - handing a state over, live: iswitch/state-transfer.h
 * decides
 */
#ifndef INNET_WORKER_STATE_TRANSFER_H
#define INNET_WORKER_STATE_TRANSFER_H

#include "cmd/innet-worker/control-io.h"

/* Send what is due. */
void inherit_send(struct state_transfer *h, struct voice *v,
    struct membership *in, uint64_t now_ns);

/* Why the fetch has failed, in a line of its own; or what has come. */
void inherit_tell(const struct state_transfer *h, const struct worker_conf *cf);

#endif
