/*
 * send-limits.h - how many segments a sender may have outstanding, and how many
 * results it may request
 *
 * The window limits the segments that were sent and have no result yet.  It
 * grows with each result, and shrinks if packets are lost while a queue has
 * grown in the path.  The limit of flight concerns the segments that may still
 * be in the path.  It shrinks if most of them are lost, because then a queue in
 * the path is short.  The third limit concerns the results that one Probe
 * requests, which the other side sends all at once.
 *
 * The functions read no clock: time is an argument (monotonic, in ns).
 */
#ifndef INNET_ARQ_SEND_LIMITS_H
#define INNET_ARQ_SEND_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEND_LIMITS_LOST = 16,		/* least number of lost segments that
					 * can indicate a short queue */
	SEND_LIMITS_LEAST = 16,		/* a loss makes the window no smaller */
	SEND_LIMITS_ASKING = 8		/* least number of results that a Probe
					 * may request */
};

struct send_limits {
	uint32_t window, most;		/* the window, and its maximum */
	uint32_t slow, grown;		/* up to `slow`, the window grows by one
					 * for each result, and then for each
					 * window of results; number of results
					 * since it grew */
	uint32_t flight;		/* maximum number of segments in
					 * flight */
	uint32_t asking;		/* maximum number of results that a
					 * Probe may request */
	uint32_t lost, there;		/* since `flight` changed: number of
					 * segments lost; number arrived */
	uint64_t cut_ns;		/* when the window last shrank */
	uint64_t last_rtt_ns, least_rtt_ns;	/* 0 if there is no sample */
};

/* Set the first window and the largest window, in segments. */
static inline void send_limits_set(struct send_limits *l, uint32_t first,
    uint32_t most);

/* Note a sample of the round trip time; `first` says that it is the first. */
static inline void send_limits_note_rtt(struct send_limits *l, uint64_t rtt_ns,
    bool first);

/* Let the window grow, because a result has arrived. */
static inline void send_limits_grow_window(struct send_limits *l);

/*
 * Packets were lost.  If the round trip time shows that a queue has grown,
 * reduce the window to the number of segments that the path can contain while
 * the queue is empty.  `grain_ns` is a typical variation of the round trip
 * time.
 */
static inline void send_limits_reduce_window(struct send_limits *l,
    uint64_t grain_ns, uint64_t now_ns);

/*
 * Adjust the limit on segments in flight.  If most of the segments in flight
 * were lost, the queue in the path is short.
 */
static inline void send_limits_adjust_flight(struct send_limits *l);

/*
 * Adjust the number of results that one Probe requests.  The other side sent
 * `resent` results again, and `came` of these results arrived.
 */
static inline void send_limits_adjust_asking(struct send_limits *l,
    uint32_t resent, uint32_t came);

/* implementation */

static inline void
send_limits_set(struct send_limits *l, uint32_t first, uint32_t most)
{
	l->most = l->flight = l->asking = l->slow = most;
	l->window = first < most ? first : most;
	l->grown = 0;
}

static inline void
send_limits_note_rtt(struct send_limits *l, uint64_t rtt_ns, bool first)
{
	l->last_rtt_ns = rtt_ns > 0 ? rtt_ns : 1;
	if (first || l->last_rtt_ns < l->least_rtt_ns)
		l->least_rtt_ns = l->last_rtt_ns;
}

static inline void
send_limits_grow_window(struct send_limits *l)
{
	if (l->window < l->most && (l->window < l->slow ||
	    ++l->grown >= l->window)) {
		l->window++;
		l->grown = 0;
	}
}

static inline void
send_limits_reduce_window(struct send_limits *l, uint64_t grain_ns,
    uint64_t now_ns)
{
	const uint64_t most_ns = l->least_rtt_ns * 3 / 2 + grain_ns;
	uint64_t w;

	if (l->last_rtt_ns <= most_ns ||
	    now_ns - l->cut_ns <= 2 * l->last_rtt_ns)
		return;
	w = l->window * most_ns / l->last_rtt_ns;
	l->slow = l->window = w < SEND_LIMITS_LEAST ? SEND_LIMITS_LEAST :
	    (uint32_t)w;
	l->cut_ns = now_ns;
}

static inline void
send_limits_adjust_flight(struct send_limits *l)
{
	const uint32_t some = l->there + l->there / 4;

	if (l->lost >= SEND_LIMITS_LOST && l->lost > l->there) {
		if (some < l->flight)
			l->flight = some < 2 ? 2 : some;
	} else if (l->lost <= l->there && l->there > 0 &&
	    l->lost + l->there >= l->flight / 2 && l->flight < l->most) {
		l->flight += l->flight / 8 + 1;
	} else if (l->lost > l->there || l->lost + l->there < 8) {
		return;
	}
	l->lost = l->there = 0;
}

static inline void
send_limits_adjust_asking(struct send_limits *l, uint32_t resent, uint32_t came)
{
	const uint32_t some = came + came / 4;

	if (resent >= SEND_LIMITS_LOST && 2 * came < resent)
		l->asking = some < SEND_LIMITS_ASKING ? SEND_LIMITS_ASKING :
		    some;
	else if (resent >= l->asking / 2 && l->asking < l->most)
		l->asking += l->asking / 8 + 1;
}

#endif
