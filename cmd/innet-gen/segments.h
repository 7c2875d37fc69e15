/*
 * segments.h - the trace of --program iswitch: workers of jobs and their
 * gradients, segment by segment
 *
 * Cluster c is job c, its workers are the members.  All Join first, one a
 * microsecond; a second later, when every job is open whatever its H, the
 * first of cf->count iterations begins, and the others --interval apart, each
 * worker late by up to --jitter.  A vector leaves its worker frame by frame at
 * --port-rate, and the next one not before it is out.  Results are not waited
 * for and not in the trace: the loop is open.
 *
 * With --async there is no common iteration: each worker pushes at times of its
 * own (sources.h), which its iterations count, vectors whose sums are known
 * (traffic/synthetic.h).  A push that --duration lets begin is whole.
 */
#ifndef INNET_GEN_SEGMENTS_H
#define INNET_GEN_SEGMENTS_H

#include "cmd/innet-gen/gen.h"

/* Write it all to cf->out, or exit; say what was done.  The exit status. */
int segments_write(const struct conf *cf);

#endif
