/*
 * timing-rows.h - the figures of jobs, members and iterations as rows
 */
#ifndef INNET_AOM_TIMING_ROWS_H
#define INNET_AOM_TIMING_ROWS_H

#include "cmd/innet-aom/timing/figures.h"
#include "cmd/innet-aom/timing/job.h"

enum timing_program { TIMING_ISWITCH, TIMING_DLP };
enum timing_by { TIMING_JOB, TIMING_MEMBER, TIMING_ITERATION };

/* Return the columns of a program's rows; the last has no key. */
const struct sheet_column *timing_columns(enum timing_program program,
    enum timing_by by);
void timing_job_row(struct sheet *s, struct job *j);
void timing_member_rows(struct sheet *s, const struct job *j);
void timing_iteration_row(struct sheet *s, const struct job *j,
    const struct job_closed *c);

/* Add the sums of j to those of all, whose address has no family. */
void timing_add(struct job *all, const struct job *j);

#endif
