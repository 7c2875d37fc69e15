/*
 * clock-offset.h - estimate the offset between the clocks of two captures
 *
 * A packet that is in both captures has a later timestamp in one of them
 * because of its delay.  Like NTP, the estimate assumes that the smallest
 * delays of both directions are equal, which gives the offset.  The process
 * exits if there are no packets in both directions or if the delays contradict
 * each other.
 */
#ifndef INNET_AOM_ESTIMATE_H
#define INNET_AOM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return the number of ns to add to the timestamps of the capture at `other` to
 * convert them to the clock of the capture at `by`.  Print a line about the
 * offset unless `quiet` is set.  Both files are read again later, so they
 * cannot be pipes.
 */
int64_t clock_offset_estimate(const char *by, const char *other, bool quiet);

#endif
