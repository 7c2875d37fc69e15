/*
 * show.h - members and counters as tables, counters for Prometheus
 *
 * What is read is JSON from the network: keys that are not known are passed
 * over, those that are missing or no numbers show as '-'.
 */
#ifndef INNET_CTL_SHOW_H
#define INNET_CTL_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/*
 * What is not there, of that which the answer to Jobs, to Members or to Stats
 * is to have; NULL if it can be shown.  Ask this first.
 */
const char *show_lacks(uint8_t action, const cJSON *);

void show_jobs(FILE *, const cJSON *jobs);
void show_members(FILE *, const cJSON *members);

/*
 * Counters and gauges; unless before is NULL also what was added to each
 * counter a second since then.
 */
void show_stats(FILE *, const cJSON *stats, const cJSON *before,
    double seconds);

/*
 * The same of a switch and of its n jobs, each of which may be none, in
 * Prometheus' text format.
 */
void show_prometheus(FILE *, const cJSON *own, cJSON *const *job, size_t n);

#endif
