/* kern-avx512.h - the loops of training with AVX-512 */
#ifndef INNET_AGENT_NET_KERN_AVX512_H
#define INNET_AGENT_NET_KERN_AVX512_H

#include "cmd/innet-agent/net/kern.h"

/* Return the AVX-512 loops, or NULL if the compiler or the CPU lacks them. */
const struct kern *kern_avx512(void);

#endif
