/*
 * sent-history.h - find the constituents of a delivery among sent updates
 *
 * A merged packet carries worker and sequence of the last update that was
 * merged into it, and how many are inside.  Merging takes a cluster's updates
 * in the order in which they came, so the others are those sent before it.
 * The functions exit when there is no memory.
 */
#ifndef INNET_AOM_SENT_HISTORY_H
#define INNET_AOM_SENT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/ages/flow.h"
#include "common/wire/update.h"

struct history *history_new(void);

/* Add update u of flow f (number flow_at), which was sent at t. */
void history_add(struct history *h, struct flow *f, uint32_t flow_at,
    const struct update *u, uint64_t t);

/* Sort the history once it is complete. */
void history_sort(struct history *h);

/*
 * Write the time at which the oldest constituent of u, delivered in flow number
 * flow_at, was generated to *made; false if u was not sent.
 */
bool history_oldest(const struct history *h, uint32_t flow_at,
    const struct update *u, uint64_t *made);

void history_free(struct history *h);

#endif
