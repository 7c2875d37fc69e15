/*
 * log.h - print lines about a run on standard error
 */
#ifndef INNET_AOM_LOG_H
#define INNET_AOM_LOG_H

#include <stdbool.h>

#include "cmd/innet-aom/ages/ages-options.h"

/*
 * Print the summary of a run.  Warn if the other value of --end would change
 * the mean age of all clusters by more than 5 %.
 */
void log_summary(const struct ages_options *options, const struct run *r,
    const struct run_files *files, const struct rows *rows);

/* Print warnings that are needed even without the summary. */
void log_warnings(const struct run *r, const struct run_files *files,
    const struct rows *rows);

/* Print the number of packets in each capture. */
void log_captures(const struct source *s);

/*
 * Warn about each capture in which no packet was recognised, with hints about
 * its packets.  Return true if there is such a capture.
 */
bool log_unrecognised(const struct ages_options *options,
    const struct source *s);

#endif
