/* kern-best.h - choose the fastest set of loops for this processor */
#ifndef INNET_AGENT_NET_KERN_BEST_H
#define INNET_AGENT_NET_KERN_BEST_H

#include "cmd/innet-agent/net/kern.h"

/* Return the fastest set of loops that this processor supports. */
const struct kern *kern_best(void);

#endif
