/*
 * event-prefetch.h - fetch what the next events will read into the cache
 */
#ifndef INNET_SIM_EVENT_PREFETCH_H
#define INNET_SIM_EVENT_PREFETCH_H

#include "cmd/innet-sim/engine/sim.h"

/*
 * Prefetch what the events of the calendar's day that begins will read, and
 * where those of the next day find out what they are about.
 */
void event_prefetch_day(const struct sim *s);

#endif
