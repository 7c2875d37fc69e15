/*
 * show.h - members and counters as tables, counters for Prometheus
 *
 * What is read is JSON from the network: keys that are not known are passed
 * over, those that are missing or no numbers show as '-'.
 */
#ifndef INNET_CTL_SHOW_H
#define INNET_CTL_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/*
 * What is not there, of that which the answer to Jobs, to Members or to Stats
 * is to have; NULL if it can be shown.  Ask this first.
 */
const char *show_lacks(uint8_t action, const cJSON *);

/* A word as a terminal may have it. */
void show_word(FILE *, const char *);

void show_jobs(FILE *, const cJSON *jobs);

/*
 * A line that says how a job stands and whom it waits for; then the job, its
 * members, and those who no longer are.
 */
void show_verdict(FILE *, const cJSON *members);
void show_members(FILE *, const cJSON *members);

/*
 * Counters and gauges; unless before is NULL also what was added to each
 * counter a second since then.  Counters at zero only with zeros.
 */
void show_stats(FILE *, const cJSON *stats, const cJSON *before,
    double seconds, bool zeros);

/*
 * The same of a switch and of its n jobs, each of which may be none, in
 * Prometheus' text format.
 */
void show_prometheus(FILE *, const cJSON *own, cJSON *const *job, size_t n);

#endif
