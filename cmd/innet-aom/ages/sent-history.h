/*
 * sent-history.h - find the constituents of a delivery among sent updates
 *
 * A merged packet has the worker and the sequence number of the last update
 * that was merged into it, and the number of updates in it.  A switch merges
 * the updates of a cluster in order of arrival, so the other constituents were
 * sent before the last one.  The functions exit if there is no memory.
 */
#ifndef INNET_AOM_SENT_HISTORY_H
#define INNET_AOM_SENT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/ages/flow.h"
#include "common/wire/update.h"

struct history *history_new(void);

/*
 * Add update u, which was sent at time t and belongs to flow f, whose number is
 * flow_at.
 */
void history_add(struct history *h, struct flow *f, uint32_t flow_at,
    const struct update *u, uint64_t t);

/* Sort the history after all updates have been added. */
void history_sort(struct history *h);

/*
 * Set *made to the time at which the oldest constituent of update u was
 * generated.  The number of the flow of u is flow_at.  Return false if not all
 * constituents of u are in the history.
 */
bool history_oldest(const struct history *h, uint32_t flow_at,
    const struct update *u, uint64_t *made);

void history_free(struct history *h);

#endif
