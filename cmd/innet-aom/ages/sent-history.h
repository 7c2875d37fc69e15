/*
 * sent-history.h - what was sent, so that a delivery's constituents are found
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

/* u of flow f (at flow_at in its array) was sent at t. */
void history_add(struct history *h, struct flow *f, uint32_t flow_at,
    const struct update *u, uint64_t t);

/* All was sent: be ready for questions. */
void history_sort(struct history *h);

/*
 * When the oldest constituent of u, delivered in the flow at flow_at, was
 * generated; false, and *made untouched, if u was never sent.
 */
bool history_oldest(const struct history *h, uint32_t flow_at,
    const struct update *u, uint64_t *made);

void history_free(struct history *h);

#endif
