/* kern-avx2.h - the loops of training, eight floats at a time */
#ifndef INNET_AGENT_NET_KERN_AVX2_H
#define INNET_AGENT_NET_KERN_AVX2_H

#include "cmd/innet-agent/net/kern.h"

/* Return the AVX2 loops, or NULL if the compiler or the CPU lacks AVX2. */
const struct kern *kern_avx2(void);

#endif
