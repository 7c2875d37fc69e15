/*
 * fifo.h - the drop-tail queue (Olaf section 8's baseline)
 *
 * An arrival takes a slot if one is free and is dropped otherwise.
 */
#ifndef INNET_QUEUE_FIFO_H
#define INNET_QUEUE_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/queue/slots.h"

/* Append a at now_ns; false if it is dropped because no slot is free. */
static inline bool
fifo_offer(struct slots *s, const struct arrival *a, uint64_t now_ns)
{
	return slots_append(s, a, now_ns) >= 0;
}

#endif
