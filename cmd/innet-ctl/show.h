/*
 * show.h - print members and counters as tables, or counters for Prometheus
 *
 * The JSON comes from the network: unknown keys are ignored, and a value that
 * is missing or is not a number is printed as '-'.
 */
#ifndef INNET_CTL_SHOW_H
#define INNET_CTL_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/*
 * Return what the answer to a request (Jobs, Members or Stats) lacks, or NULL
 * if it can be printed.  Call this before the functions below.
 */
const char *show_lacks(uint8_t action, const cJSON *);

/* Print one line for each job. */
void show_jobs(FILE *, const cJSON *jobs);

/*
 * Print a line on the state of the job (job-status.h), the job, its members,
 * and the members that have left.
 */
void show_members(FILE *, const cJSON *members);

/*
 * Print counters and gauges and, unless `before` is NULL, by how much each
 * counter has grown per second since then.  Counters at zero are left out
 * unless `zeros` is set.
 */
void show_stats(FILE *, const cJSON *stats, const cJSON *before,
    double seconds, bool zeros);

/*
 * Print the counters and gauges of a switch (own, or NULL) and of its n jobs in
 * Prometheus' text format.
 */
void show_prometheus(FILE *, const cJSON *own, cJSON *const *job, size_t n);

#endif
