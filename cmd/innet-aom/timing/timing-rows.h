/* timing-rows.h - the figures of jobs, members and iterations as rows */
#ifndef INNET_AOM_TIMING_ROWS_H
#define INNET_AOM_TIMING_ROWS_H

#include "cmd/innet-aom/timing/figures.h"
#include "cmd/innet-aom/timing/job.h"

enum timing_program { TIMING_ISWITCH, TIMING_DLP };
enum timing_grouping { TIMING_BY_JOB, TIMING_BY_MEMBER, TIMING_BY_ITERATION };

/* Return the columns of a program's rows; the last element has no key. */
const struct figures_column *timing_columns(enum timing_program program,
    enum timing_grouping by);
void timing_job_row(struct figures *s, struct job *j);
void timing_member_rows(struct figures *s, const struct job *j);
void timing_iteration_row(struct figures *s, const struct job *j,
    const struct job_closed *c);

/* Add the sums of j to `all`, the job of the total, which has no address. */
void timing_add_job(struct job *all, const struct job *j);

#endif
