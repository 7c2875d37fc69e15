/*
 * log.h - lines on the standard error about a run that was read
 */
#ifndef INNET_AOM_LOG_H
#define INNET_AOM_LOG_H

#include <stdbool.h>

#include "cmd/innet-aom/ages/ages-options.h"

/* The summary line of a run, and where its ages end if that matters. */
void log_summary(const struct ages_options *options, const struct run *r,
    const struct run_files *files, const struct rows *rows);

/* What a reader must know though the summary is left out. */
void log_warnings(const struct run *r, const struct run_files *files,
    const struct rows *rows);

/* What each capture held. */
void log_captures(const struct source *s);

/*
 * Where a capture has packets and none was recognised, what was there; true if
 * that is so of any.
 */
bool log_unrecognised(const struct ages_options *options,
    const struct source *s);

#endif
