/* kern-best.h - choose the fastest loops that this processor runs */
#ifndef INNET_AGENT_NET_KERN_BEST_H
#define INNET_AGENT_NET_KERN_BEST_H

#include "cmd/innet-agent/net/kern.h"

/* Return the fastest set of loops that this processor runs. */
const struct kern *kern_best(void);

#endif
