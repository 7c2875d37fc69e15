/*
 * link.h - a link that sends one frame at a time, at a rate in bits per second
 *
 * This file contains only arithmetic.  The transmission of a frame starts when
 * the frame arrives or when the previous frame departs, whichever is later.
 * The transmission takes (8e9 length + rate / 2) / rate ns, rounded down.  A
 * constant time is added for each frame, because hardware starts a frame some
 * cycles after the end of the previous frame.  The departure of the frame in
 * transmission can be delayed.  Times are in ns on one clock, and are at most
 * LINK_END_NS.  A capture may contain frames of any length up to 4 GB, but no
 * frame leaves later than LINK_END_NS.
 */
#ifndef INNET_QUEUE_LINK_H
#define INNET_QUEUE_LINK_H

#include <stdint.h>

#define LINK_END_NS ((uint64_t)INT64_MAX)

struct link {
	uint64_t rate_bps;	/* rate in bit/s; 0: no limit, so transmission
				 * takes no time */
	uint32_t extra_bytes;	/* number of bytes added to the length of each
				 * frame */
	uint64_t frame_ns;	/* time added to the transmission of each
				 * frame */
	uint64_t free_ns;	/* departure time of the frame whose
				 * transmission was started last */
	uint32_t last_bytes;	/* frame length for which last_ns was
				 * computed */
	uint64_t last_ns;	/* time for which a frame of last_bytes bytes
				 * occupies the link, stored to save a
				 * division */
};

/*
 * Return the time, in ns, for which a frame of `bytes` bytes occupies the link.
 */
static inline uint64_t
link_time_ns(struct link *l, uint32_t bytes)
{
	if (l->rate_bps == 0)
		return l->frame_ns;
	if (bytes != l->last_bytes || l->last_ns == 0) {
		const unsigned __int128 ns = ((unsigned __int128)8000000000u *
		    ((uint64_t)bytes + l->extra_bytes) + l->rate_bps / 2) /
		    l->rate_bps;

		l->last_bytes = bytes;
		l->last_ns = ns + l->frame_ns < LINK_END_NS ?
		    (uint64_t)ns + l->frame_ns : LINK_END_NS;
	}
	return l->last_ns;
}

/*
 * Start the transmission of a frame that has waited since arrival_ns.  Returns
 * the time at which the last bit of the frame leaves.
 */
static inline uint64_t
link_start_frame(struct link *l, uint64_t arrival_ns, uint32_t bytes)
{
	uint64_t start = arrival_ns > l->free_ns ? arrival_ns : l->free_ns;
	uint64_t left = start < LINK_END_NS ? LINK_END_NS - start : 0;
	uint64_t time = link_time_ns(l, bytes);

	l->free_ns = start + (time < left ? time : left);
	return l->free_ns;
}

/*
 * Delay the departure of the frame whose transmission was started last by `ns`.
 * Returns the new departure time.
 */
static inline uint64_t
link_delay(struct link *l, uint64_t ns)
{
	const uint64_t left = l->free_ns < LINK_END_NS ?
	    LINK_END_NS - l->free_ns : 0;

	l->free_ns += ns < left ? ns : left;
	return l->free_ns;
}

#endif
