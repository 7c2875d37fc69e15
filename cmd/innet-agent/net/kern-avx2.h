/* kern-avx2.h - the loops of training, eight floats at a time */
#ifndef INNET_AGENT_NET_KERN_AVX2_H
#define INNET_AGENT_NET_KERN_AVX2_H

#include "cmd/innet-agent/net/kern.h"

/*
 * Return the AVX2 loops, or NULL if the compiler or the CPU lacks AVX2 or FMA.
 */
const struct kern *kern_avx2(void);

/* The loops of this set over single numbers, on x86-64 only. */
void avx2_relu(float *x, size_t n);
void avx2_tanh(float *x, size_t n);
void avx2_relu_back(float *x, const float *by, size_t n);
void avx2_tanh_back(float *x, const float *by, size_t n);
void avx2_adam(float *w, float *m, float *v, const float *g, size_t n,
    const struct kern_adam *k);

#endif
