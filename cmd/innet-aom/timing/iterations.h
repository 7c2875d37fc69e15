/*
 * iterations.h - the iterations of a synchronous job, or steps of a session
 *
 * Only the two newest iterations are open: a member that sends iteration t has
 * the result of t - 1, so that all members have that of t - 2.
 */
#ifndef INNET_AOM_ITERATIONS_H
#define INNET_AOM_ITERATIONS_H

#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"

/* Member m sent the segment s, or got it. */
void iterations_add_segment(struct job *j, struct job_context *context,
    uint32_t m, const struct job_segment *s);

/* Close the iterations that are open, because nothing more comes. */
void iterations_end(struct job *j, struct job_context *context);

#endif
