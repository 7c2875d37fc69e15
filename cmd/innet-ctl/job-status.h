/*
 * job-status.h - print one line about the state of a job and the member for
 * which the job waits
 */
#ifndef INNET_CTL_JOB_STATUS_H
#define INNET_CTL_JOB_STATUS_H

#include <stdio.h>

#include <cjson/cJSON.h>

/* Print the line for a job; `members` is the answer to a Members request. */
void job_status_print(FILE *f, const cJSON *members);

#endif
