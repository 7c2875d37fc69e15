/*
 * clock-offset.h - how far the clocks of two captures are apart
 *
 * Of packets that are in both captures, those of one direction were seen later
 * by their delay, and those of the other earlier: the smallest of both are
 * taken to be equal, so the clocks are apart by the middle.  It exits where
 * that cannot be known: no packets in both directions, or delays that
 * contradict each other.
 */
#ifndef INNET_AOM_ESTIMATE_H
#define INNET_AOM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What has to be added to the stamps of the capture `other` to be on the clock
 * of the capture `by`; a line says what was taken unless quiet.  Both are files
 * that can be read again.
 */
int64_t clock_offset_estimate(const char *by, const char *other, bool quiet);

#endif
