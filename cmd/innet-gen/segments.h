/*
 * segments.h - generate the trace of --program iswitch: workers of jobs and
 * their gradients, segment by segment
 *
 * Cluster c is job c, and its workers are the members.  All send a Join first,
 * one each microsecond.  A second later every job is open, whatever its H.
 * Then the first of cf->count iterations begins, and the others follow every
 * --interval; each worker is late by up to --jitter.  A vector leaves its
 * worker frame by frame at --port-rate, and the next vector leaves only after
 * it.  Workers do not wait for results, and the trace has none.
 *
 * With --async there are no common iterations: each worker pushes at its own
 * times (sources.h), and its pushes count its iterations.  The vectors have
 * known sums (traffic/synthetic.h).  A push that begins before the end of
 * --duration is whole.
 */
#ifndef INNET_GEN_SEGMENTS_H
#define INNET_GEN_SEGMENTS_H

#include "cmd/innet-gen/gen.h"

/* Write the trace to cf->out, and print a summary; return the exit status. */
int segments_write(const struct conf *cf);

#endif
