/* event-prefetch.h - prefetch the data that the next events will read */
#ifndef INNET_SIM_EVENT_PREFETCH_H
#define INNET_SIM_EVENT_PREFETCH_H

#include "cmd/innet-sim/engine/sim.h"

/*
 * Prefetch the data that the events of the new calendar day will read.  For the
 * events of the next day, prefetch only the data that show which objects these
 * events need.
 */
void event_prefetch_day(const struct sim *s);

#endif
