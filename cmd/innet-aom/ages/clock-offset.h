/*
 * clock-offset.h - estimate the offset between the clocks of two captures
 *
 * A packet that is in both captures appears later in one of them by its delay.
 * The smallest delays of both directions are assumed to be equal, as NTP does,
 * which gives the offset.  The process exits if there are no packets in both
 * directions or if the delays contradict each other.
 */
#ifndef INNET_AOM_ESTIMATE_H
#define INNET_AOM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return the ns to add to the time stamps of the capture at `other` so that
 * they are on the clock of the capture at `by`.  Print a line about it unless
 * quiet. Both files are read a second time later, so they cannot be pipes.
 */
int64_t clock_offset_estimate(const char *by, const char *other, bool quiet);

#endif
