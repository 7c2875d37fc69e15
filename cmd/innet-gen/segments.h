/*
 * segments.h - generate the capture of --program iswitch: Joins, and gradients
 * in segments
 *
 * Cluster c is job c, and the workers of the cluster are the members of the
 * job.  First, all workers send a Join, 1 us apart.  One second after the last
 * Join, every job is open, whatever the job's H is.  Then the first of
 * cf->count iterations begins, and a new iteration follows every --interval.
 * In each iteration, each worker is delayed by up to --jitter.  A vector leaves
 * its worker frame by frame at --port-rate, and the next vector of the worker
 * leaves only after this vector.  Workers do not wait for results, and the
 * capture has no results.
 *
 * With --async, the workers have no common iterations.  Each worker pushes at
 * its own times (sources.h), and numbers its pushes as iterations.  The sums of
 * the vectors are known (traffic/synthetic.h).  A push that begins before the
 * end of --duration is written completely.
 */
#ifndef INNET_GEN_SEGMENTS_H
#define INNET_GEN_SEGMENTS_H

#include "cmd/innet-gen/gen.h"

/* Write the capture to cf->out and print a summary; return the exit status. */
int segments_write(const struct conf *cf);

#endif
