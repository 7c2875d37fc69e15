/*
 * iterations.h - the iterations of a synchronous job, or the steps of a session
 *
 * Only the two newest iterations are open.  A member that sends iteration t has
 * the result of t - 1, so every member has the result of t - 2.
 */
#ifndef INNET_AOM_ITERATIONS_H
#define INNET_AOM_ITERATIONS_H

#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"

/* Add segment s, which member m sent or received. */
void iterations_add_segment(struct job *j, struct job_context *context,
    uint32_t m, const struct job_segment *s);

/* Close the iterations that are open, because no packets follow. */
void iterations_end(struct job *j, struct job_context *context);

#endif
