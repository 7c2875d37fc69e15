/*
 * link.h - a link that sends one frame at a time at so many bits a second
 *
 * Pure arithmetic: service starts at the later of the frame's arrival and the
 * previous departure, and takes (8e9 length + rate / 2) / rate ns, rounded
 * down.  Times are ns on one clock.
 */
#ifndef INNET_LINK_H
#define INNET_LINK_H

#include <stdint.h>

struct link {
	uint64_t rate_bps;	/* 0: no limit, frames take no time */
	uint32_t extra_bytes;	/* a frame's own overhead on the wire */
	uint64_t free_ns;	/* departure of the last frame started */
	uint32_t last_bytes;	/* cache of one division: */
	uint64_t last_ns;	/* ... such a frame's time */
};

/* How long a frame of so many bytes occupies the link, ns. */
static inline uint64_t
link_time_ns(struct link *l, uint32_t bytes)
{
	if (l->rate_bps == 0)
		return 0;
	if (bytes != l->last_bytes || l->last_ns == 0) {
		l->last_bytes = bytes;
		l->last_ns = (8000000000u *
		    ((uint64_t)bytes + l->extra_bytes) + l->rate_bps / 2) /
		    l->rate_bps;
	}
	return l->last_ns;
}

/*
 * Start to send a frame that has been there since arrival_ns; when its last
 * bit will have left.
 */
static inline uint64_t
link_start(struct link *l, uint64_t arrival_ns, uint32_t bytes)
{
	uint64_t start = arrival_ns > l->free_ns ? arrival_ns : l->free_ns;

	l->free_ns = start + link_time_ns(l, bytes);
	return l->free_ns;
}

#endif
