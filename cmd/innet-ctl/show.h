/*
 * show.h - print members and counters as tables, or counters for Prometheus
 *
 * The JSON comes from the network.  Unknown keys are ignored.  A value that is
 * missing or not a number is printed as '-'.
 */
#ifndef INNET_CTL_SHOW_H
#define INNET_CTL_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/*
 * Check the answer to a Jobs, Members or Stats request.  Return NULL if the
 * answer can be printed, or a text that describes what is wrong with it.  Call
 * this before the functions below.
 */
const char *show_lacks(uint8_t action, const cJSON *);

/* Print one line for each job. */
void show_jobs(FILE *, const cJSON *jobs);

/*
 * Print a line about the state of the job (see job-status.h), the job, its
 * members, and its former members.
 */
void show_members(FILE *, const cJSON *members);

/*
 * Print the counters and gauges.  If `before` is not NULL, also print the
 * growth of each counter per second since `before`.  Counters that are zero are
 * left out, unless `zeros` is set.
 */
void show_stats(FILE *, const cJSON *stats, const cJSON *before,
    double seconds, bool zeros);

/*
 * Print the counters and gauges of a switch and of its n jobs in Prometheus'
 * text format.  `own` is the stats of the switch, or NULL.
 */
void show_prometheus(FILE *, const cJSON *own, cJSON *const *job, size_t n);

#endif
