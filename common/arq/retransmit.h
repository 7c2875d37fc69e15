/*
 * retransmit.h - a sender's retransmission queue and its requests for results
 *
 * A worker, or a rack below a parent switch, uses this file to recover segments
 * that it has sent and results that it has not received.  iSwitch (section 3.3)
 * uses a time-out for each segment instead; this protocol is innet's own.
 *
 * A segment is sent again only if a STATE or a NACK of the other side reports
 * it as missing although segments that were sent later have arrived.  A
 * time-out only causes a Probe.  It never causes data to be sent again.  A
 * Probe asks for the state of the other side.  A Probe is sent if there is a
 * gap in the results, at the end of a vector if packets were lost recently, and
 * if nothing has arrived for a while.
 *
 * The caller sends the runs that retransmit_next_run() returns.  If that
 * function returns 0, the caller calls retransmit_probe_is_due().  If
 * retransmit_probe_is_due() returns true, the caller fills and sends a Probe.
 * The caller reports received packets to retransmit_take(),
 * retransmit_duplicate() and retransmit_receive().  The queue contains one
 * iteration at a time, which retransmit_start() sets.
 *
 * The functions read no clock: time is an argument (monotonic, in ns).
 * retransmit_free() frees the memory.  The queue and the Probes are in one file
 * because they share their state.
 */
#ifndef INNET_ARQ_RETRANSMIT_H
#define INNET_ARQ_RETRANSMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/rtt.h"
#include "common/arq/send-limits.h"
#include "common/wire/repair.h"

enum {
	RETRANSMIT_SLACK = 3,		/* default number of later results that
					 * may overtake a result */
	RETRANSMIT_PROBES = 64,		/* number of Probes remembered */
	RETRANSMIT_OPEN = 8,		/* if more Probes than this are
					 * unanswered, there is a queue */
	RETRANSMIT_LOSSY = 32,		/* after a loss, this number of
					 * iterations end with a Probe */
	RETRANSMIT_MOVED = 16,		/* after this number of segments, send a
					 * Probe even if the last one is
					 * unanswered */
	RETRANSMIT_WINDOW = 1024,	/* default window, in segments */
	RETRANSMIT_ORDER = 8,		/* largest value of order_slack */
	RETRANSMIT_FIRST_NS = 20000000, /* time-out before the first sample */
	RETRANSMIT_GRAIN_NS = 100000,	/* typical delay with which a sleeping
					 * process wakes up */
	RETRANSMIT_CEILING_NS = 250000000, /* longest time between Probes */
	RETRANSMIT_QUIET_NS = 1000000000   /* if nothing arrives for this time,
					    * a Probe is sent */
};

/*
 * The time-out adds the variation once, and not 4 times as in RFC 6298, because
 * an unnecessary Probe costs only one packet.  With 4 times the variation,
 * hosts whose processes wake up late spent half of each round with losses
 * waiting for this time-out.
 */
static const struct rtt_limits retransmit_rtt = {
	.first_ns = RETRANSMIT_FIRST_NS, .ceiling_ns = RETRANSMIT_CEILING_NS,
	.grain_ns = RETRANSMIT_GRAIN_NS, .sample_ns = UINT64_MAX,
	.variations = 1 };

enum retransmit_flag {
	RETRANSMIT_HERE = 1,		/* the result of the segment has
					 * arrived */
	RETRANSMIT_IN_FLIGHT = 2,	/* the segment was sent, and has neither
					 * arrived nor been lost */
	RETRANSMIT_AGAIN = 4,		/* the segment must be sent again */
	RETRANSMIT_QUEUED = 8,		/* the segment is in the ring `again`,
					 * with or without RETRANSMIT_AGAIN */
	RETRANSMIT_TAKEN_BACK = 16	/* ordered: the result was discarded,
					 * and `order` must lose the segment */
};

struct retransmit_segment {
	uint64_t at_ns;			/* when the segment was last sent */
	uint32_t serial;		/* mark of the segment when it was last
					 * sent */
	uint32_t asked;			/* number of the Probe that requested
					 * the result of the segment; 0: none */
	uint32_t after;			/* number of the last Probe sent before
					 * the result of the segment arrived */
	uint8_t times;			/* 1: the segment was sent; 2: it was
					   sent more than once, or was not
					   needed */
	uint8_t flags;
};

struct retransmit_probed {
	uint32_t xid;
	uint32_t round;			/* asynchronous: the round whose results
					 * the Probe requests */
	uint32_t upto, seen;		/* `upto` and `seen` of the Probe */
	uint32_t asked;			/* number of results that the Probe
					 * requested */
	uint32_t came;			/* number of results that the Probe
					 * requested and that have arrived */
	uint64_t at_ns;			/* time when the Probe was sent */
};

enum retransmit_count {
	RETRANSMIT_SENT, RETRANSMIT_REPEATED, RETRANSMIT_PROBES_SENT,
	RETRANSMIT_EXPIRED, RETRANSMIT_STATES, RETRANSMIT_NACKS,
	RETRANSMIT_COUNTS
};

struct retransmit {
	uint32_t segs;
	struct retransmit_segment *s;
	uint32_t *again;		/* owned; ring of `segs` indices; an
					   entry without RETRANSMIT_AGAIN is
					   stale */
	uint32_t again_first, again_end;
	uint32_t agains;		/* number of segments with
					 * RETRANSMIT_AGAIN */
	uint32_t *order;		/* owned; indices of segments in sending
					 * order; NULL: send them in order of
					 * index */
	uint32_t readied;		/* number of entries of `order` that may
					 * be sent */
	bool fetches;			/* results are expected, even if no
					   segment is sent */
	bool acks;			/* the other side answers with STATEs
					   and not with results */
	bool unbound;			/* results arrive only after the last
					   segment is sent */
	bool fills;			/* the caller fills the vector piece by
					   piece, with retransmit_fill() */
	uint32_t filled;		/* number of segments filled; `segs` if
					 * `fills` is not set */
	uint32_t span;			/* number of slots of the other side,
					 * counted from the first segment
					 * without a result; 0: no limit */
	uint64_t n[RETRANSMIT_COUNTS];

	/* state of this iteration */
	uint32_t iteration;
	uint32_t next;			/* index of the first entry of `order`
					 * that has not been sent */
	uint32_t upto;			/* number of segments sent at least
					 * once */
	uint32_t skipped;		/* number of segments in `upto` that
					 * were not sent, because their results
					 * had arrived */
	uint32_t here;			/* number of results that have
					 * arrived */
	uint32_t taken_back;		/* number of segments that
					 * retransmit_remove_taken_back() has to
					 * remove */
	uint32_t first;			/* first segment without a result */
	uint32_t out;			/* number of segments sent that have no
					 * result */
	uint32_t flight;		/* number of segments with
					 * RETRANSMIT_IN_FLIGHT */
	uint32_t last, last_round;	/* newest result that arrived and was
					 * not requested: its index; its
					 * round */
	uint32_t highest, gap_from;	/* highest index of a result that has
					 * arrived; start of the gap in the
					 * results */
	uint32_t round;			/* asynchronous: the round whose results
					 * are expected next */
	bool lost_any;			/* a packet was lost in this
					 * iteration */
	bool idle;			/* all our segments have arrived */

	/* state of the path */
	uint32_t serial;		/* number of segments sent since the
					 * start */
	uint32_t tail;			/* value of `serial` at the last
					 * Probe */
	uint32_t seen;			/* highest mark received from the other
					 * side */
	uint32_t probe, acked;		/* number of the last Probe sent; number
					 * of the last Probe answered */
	uint32_t turned;		/* number of the last Probe that was
					 * sent before this iteration */
	struct retransmit_probed probed[RETRANSMIT_PROBES];
	bool asks;			/* a Probe is unanswered */
	bool wants;			/* a Probe must be sent at want_ns */
	uint32_t moved;			/* number of segments sent and received
					 * since the last Probe */
	uint64_t want_ns, news_ns, progress_ns, probed_ns;
	struct rtt rtt;
	struct send_limits limit;	/* limits of `out`, of `flight` and of
					 * the results that a Probe requests */
	uint32_t lossy;			/* number of iterations, from this one
					 * on, that end with a Probe */
	uint32_t order_slack;		/* how long to wait for a late packet,
					   in eighths of a round trip time */
	uint32_t clean;			/* number of consecutive STATEs that
					 * reported no new duplicates */
	uint16_t dups;			/* value of `dups` in the last STATE */
};

/* Free the memory of m, and clear m. */
static inline void retransmit_free(struct retransmit *m);

/*
 * Prepare m for vectors of `segs` segments.  The counters of m keep their
 * values.  If `ordered` is set, segments become ready one by one
 * (retransmit_ready_segment()).  Otherwise all segments become ready at once
 * (retransmit_ready_all()).  Returns false if there is no memory.
 */
static inline bool retransmit_init(struct retransmit *m, uint32_t segs,
    bool ordered);

/* Return the number of bytes of memory for vectors of `segs` segments. */
static inline uint64_t retransmit_bytes(uint32_t segs);

/* Add a sample: a round trip of rtt_ns. */
static inline void retransmit_sample(struct retransmit *m, uint64_t rtt_ns);

/*
 * Start iteration t.  After this the caller must report again which segments
 * are ready and which results it has.
 */
static inline void retransmit_start(struct retransmit *m, uint32_t t,
    uint64_t now_ns);

/* Make all segments ready to be sent. */
static inline void retransmit_ready_all(struct retransmit *m);

/*
 * Await the results of the first n segments, which the caller has filled; if
 * `ready` is set, the segments may be sent.  The caller must have set m->fills
 * before retransmit_start(), and n must not decrease within an iteration.
 */
static inline void retransmit_fill(struct retransmit *m, uint32_t n, bool ready,
    uint64_t now_ns);

/* Make segment i ready to be sent (ordered queues only). */
static inline void retransmit_ready_segment(struct retransmit *m, uint32_t i);

/*
 * Expect all results, even if our segments have not been sent.  If `soon` is
 * set, request them at once.
 */
static inline void retransmit_expect(struct retransmit *m, bool soon);

/*
 * Get a run of segments that may be sent now.  The run begins at *first and has
 * at most `most` segments.  Returns the length of the run, or 0 if there is
 * none.  Sets *again to whether the segments of the run were sent before.
 */
static inline uint32_t retransmit_next_run(struct retransmit *m, uint32_t most,
    uint32_t *first, bool *again, uint64_t now_ns);

/* Tell whether retransmit_next_run() would return a run. */
static inline bool retransmit_has_run(const struct retransmit *m);

/*
 * Put back the last n segments of a run, because there was no room to send
 * them.  The run begins at `first` and has `count` segments.
 */
static inline void retransmit_unsent(struct retransmit *m, uint32_t first,
    uint32_t count, uint32_t n, bool again);

/* Count the first result of segment i. */
static inline void retransmit_take(struct retransmit *m, uint32_t i,
    uint64_t now_ns);

/*
 * Count the result of segment i of an asynchronous round.  `early` says that
 * the result of this segment in an earlier round is missing.
 */
static inline void retransmit_take_round(struct retransmit *m, uint32_t i,
    uint32_t round, bool early, uint64_t now_ns);

/* Count a repeated result of segment i. */
static inline void retransmit_duplicate(struct retransmit *m, uint32_t i);

/*
 * Discard the result of segment i if it had arrived before Probe `xid` was
 * sent.  Call this function after retransmit_receive(), if the STATE that
 * answers this Probe says that the other side lacks the segment.  In that case
 * the result belongs to an earlier instance of the job.  Returns false if there
 * is no such result.
 *
 * In an ordered queue, the caller calls retransmit_remove_taken_back() after
 * the last segment of the STATE and before it uses m for anything else.  Later
 * the caller makes these segments ready again.
 */
static inline bool retransmit_take_back(struct retransmit *m, uint32_t i,
    uint32_t xid);

/*
 * Treat all segments of an ordered queue whose results were just taken back as
 * if they had never been ready.  Returns the number of entries of `order` that
 * were examined, which is at most the number of ready segments.
 */
static inline uint32_t retransmit_remove_taken_back(struct retransmit *m);

/* Tell whether each segment has its result or, if m->acks, is acknowledged. */
static inline bool retransmit_is_whole(const struct retransmit *m);

/* Request a Probe after a short time, because results are missing or late. */
static inline void retransmit_want_probe(struct retransmit *m, uint64_t now_ns);

/*
 * Tell whether a Probe must be sent now.  If the result is true, the caller
 * calls retransmit_fill_probe().  Call this function when retransmit_next_run()
 * has returned 0.
 */
static inline bool retransmit_probe_is_due(struct retransmit *m,
    uint64_t now_ns);

/*
 * Write the Probe to *h, with its bitmap at `room`.  If the other side answers
 * only with STATEs (m->acks), the caller must add the list of requested results
 * to the Probe.
 */
static inline void retransmit_fill_probe(struct retransmit *m, uint32_t xid,
    struct repair_help *h, uint8_t *room, uint64_t now_ns);

/*
 * Add the result of segment i of this asynchronous round to the Probe that was
 * just filled, unless an unanswered Probe already requests it.  Returns false
 * if the bitmap has no room for the result.
 */
static inline bool retransmit_ask_round(struct retransmit *m,
    struct repair_help *h, uint8_t *room, uint32_t i);

/*
 * Process c if it is a STATE or a NACK.  `xid` is the xid of c, in the
 * numbering of our Probes.  Returns false for other messages.  Sets *behind if
 * the other side was restarted and is at the iteration before ours.  In that
 * case the other side lacks our segments of that iteration.
 */
static inline bool retransmit_receive(struct retransmit *m,
    const struct control *c, uint32_t xid, bool *behind, uint64_t now_ns);

/* Return when retransmit_probe_is_due() may become true, or UINT64_MAX. */
static inline uint64_t retransmit_deadline_ns(const struct retransmit *m);

/* implementation */

static inline void
retransmit_free(struct retransmit *m)
{
	free(m->s);
	free(m->again);
	free(m->order);
	*m = (struct retransmit){ 0 };
}

static inline bool
retransmit_init(struct retransmit *m, uint32_t segs, bool ordered)
{
	uint64_t n[RETRANSMIT_COUNTS];

	memcpy(n, m->n, sizeof(n));
	retransmit_free(m);
	*m = (struct retransmit){ .segs = segs, .filled = segs,
	    .last = REPAIR_NONE, .lossy = RETRANSMIT_LOSSY };
	memcpy(m->n, n, sizeof(n));
	m->s = calloc(segs, sizeof(*m->s));
	m->again = calloc(segs, sizeof(*m->again));
	m->order = ordered ? calloc(segs, sizeof(*m->order)) : NULL;
	if (m->s != NULL && m->again != NULL && (m->order != NULL || !ordered))
		return true;
	retransmit_free(m);
	return false;
}

static inline uint64_t
retransmit_bytes(uint32_t segs)
{
	return (uint64_t)segs * (sizeof(struct retransmit_segment) +
	    2 * sizeof(uint32_t));
}

static inline void
retransmit_sample(struct retransmit *m, uint64_t rtt_ns)
{
	const bool first = m->rtt.base_ns == 0;

	rtt_sample(&m->rtt, &retransmit_rtt, rtt_ns);
	send_limits_note_rtt(&m->limit, rtt_ns, first);
}

static inline bool
retransmit_is_whole(const struct retransmit *m)
{
	return m->here == m->segs;
}

/* Tell whether results of this iteration are outstanding. */
static inline bool
retransmit_is_waiting(const struct retransmit *m)
{
	return m->fills ? m->first < m->filled : m->segs > 0 &&
	    ((m->acks && m->fetches) || (!retransmit_is_whole(m) &&
	    (m->upto > 0 || m->fetches)));
}

static inline void
retransmit_start(struct retransmit *m, uint32_t t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < m->segs; i++)	/* keep the rounds */
		m->s[i] = (struct retransmit_segment){
		    .asked = m->acks ? m->s[i].asked : 0 };
	m->iteration = t;
	m->again_first = m->again_end = m->agains = 0;
	m->readied = m->next = m->upto = m->skipped = 0;
	m->filled = m->fills ? 0 : m->segs;
	m->here = m->first = m->out = m->flight = m->taken_back = 0;
	m->limit.lost = m->limit.there = m->highest = m->gap_from = 0;
	if (!m->acks)		/* asynchronous rounds continue */
		m->last = REPAIR_NONE;
	m->wants = m->idle = m->fetches = false;
	m->want_ns = 0;
	m->news_ns = m->progress_ns = now_ns;
	m->turned = m->probe;
	m->tail = m->serial;
	m->lossy -= m->lossy > 0 && !m->lost_any;
	if (m->lossy == 0 && now_ns - m->probed_ns > RETRANSMIT_QUIET_NS)
		m->lossy = 1;
	m->lost_any = false;
}

static inline void
retransmit_ready_all(struct retransmit *m)
{
	m->readied = m->segs;
}

static inline void
retransmit_fill(struct retransmit *m, uint32_t n, bool ready, uint64_t now_ns)
{
	if (!retransmit_is_waiting(m))	/* the silence so far was no loss */
		m->news_ns = m->progress_ns = now_ns;
	m->idle = m->idle && n == m->filled;
	m->filled = n;
	if (ready)
		m->readied = n;
}

static inline void
retransmit_ready_segment(struct retransmit *m, uint32_t i)
{
	m->s[i].flags &= (uint8_t)~RETRANSMIT_TAKEN_BACK;
	if (m->readied < m->segs)
		m->order[m->readied++] = i;
}

static inline void
retransmit_expect(struct retransmit *m, bool soon)
{
	m->fetches = true;
	m->wants |= soon;
}

static inline void
retransmit_want_probe(struct retransmit *m, uint64_t now_ns)
{
	if (!m->wants)
		m->want_ns = now_ns + m->order_slack * m->rtt.srtt_ns / 8;
	m->wants = true;
}

/* React to lost packets. */
static inline void
retransmit_note_loss(struct retransmit *m, uint64_t now_ns)
{
	m->lost_any = true;
	m->lossy = RETRANSMIT_LOSSY;
	send_limits_reduce_window(&m->limit, RETRANSMIT_GRAIN_NS, now_ns);
}

/* Record that segment i is being sent now. */
static inline void
retransmit_count_sent(struct retransmit *m, uint32_t i, uint64_t now_ns)
{
	struct retransmit_segment *s = &m->s[i];

	if (s->times == 0) {
		m->upto++;
		m->out++;
	}
	m->n[s->times == 0 ? RETRANSMIT_SENT : RETRANSMIT_REPEATED]++;
	s->times += s->times < 2;
	s->serial = ++m->serial;
	s->at_ns = now_ns;
	if ((s->flags & RETRANSMIT_IN_FLIGHT) == 0)
		m->flight++;
	s->flags |= RETRANSMIT_IN_FLIGHT;
	m->moved++;
	m->idle = false;
	if (m->upto == 1)
		m->news_ns = now_ns;
}

/* Get a run of the segments that must be sent again. */
static inline uint32_t
retransmit_next_repeat(struct retransmit *m, uint32_t most, uint32_t *first,
    uint64_t now_ns)
{
	uint32_t n = 0;

	while (m->agains > 0 && n < most && m->flight < m->limit.flight) {
		const uint32_t i = m->again[m->again_first % m->segs];

		if ((m->s[i].flags & RETRANSMIT_AGAIN) != 0 && n > 0 &&
		    i != *first + n)
			break;
		m->s[i].flags &= (uint8_t)~RETRANSMIT_QUEUED;
		if ((m->s[i].flags & RETRANSMIT_AGAIN) == 0) {
			m->again_first++;
			continue;
		}
		if (n++ == 0)
			*first = i;
		m->again_first++;
		m->agains--;
		m->s[i].flags &= (uint8_t)~RETRANSMIT_AGAIN;
		retransmit_count_sent(m, i, now_ns);
	}
	return n;
}

/* Tell whether the other side has a slot for segment i. */
static inline bool
retransmit_has_slot(const struct retransmit *m, uint32_t i)
{
	return m->span == 0 || i < m->first + m->span;
}

/* Return the position of the next ready segment with a slot, or m->readied. */
static inline uint32_t
retransmit_find_fitting(const struct retransmit *m)
{
	uint32_t k = m->next;

	if (m->order == NULL)
		return retransmit_has_slot(m, k) ? k : m->readied;
	while (k < m->readied && !retransmit_has_slot(m, m->order[k]))
		k++;
	return k;
}

/* Return the segment to send next, and move it to the front. */
static inline uint32_t
retransmit_pick_next(struct retransmit *m)
{
	const uint32_t k = m->span == 0 ? m->next : retransmit_find_fitting(m);
	uint32_t i = m->next;

	if (m->order == NULL)
		return i;
	i = m->order[k];
	m->order[k] = m->order[m->next];
	m->order[m->next] = i;
	return i;
}

/*
 * Tell whether one more segment may be sent before its result arrives.  There
 * is no limit for a push, nor for a vector whose results arrive only after all
 * its segments were sent.  A rack may also send all its segments, because its
 * members limit how many segments it can have.  Racks send in different orders.
 * If each rack waited for the results of the segments that it has sent, two
 * racks might never send the same segment.
 */
static inline bool
retransmit_may_send_ahead(const struct retransmit *m)
{
	if (m->span != 0 && retransmit_find_fitting(m) == m->readied)
		return false;
	return m->order != NULL || m->acks || m->unbound ||
	    m->out < m->limit.window;
}

static inline uint32_t
retransmit_next_run(struct retransmit *m, uint32_t most, uint32_t *first,
    bool *again, uint64_t now_ns)
{
	uint32_t n = retransmit_next_repeat(m, most, first, now_ns);

	*again = n > 0;
	while (!*again && m->next < m->readied && n < most &&
	    m->flight < m->limit.flight && retransmit_may_send_ahead(m)) {
		const uint32_t i = retransmit_pick_next(m);

		if (n > 0 && (i != *first + n ||
		    (m->s[i].flags & RETRANSMIT_HERE) != 0))
			break; /* only adjacent segments can be put back */
		m->next++;
		if ((m->s[i].flags & RETRANSMIT_HERE) != 0) {
			m->upto++;
			m->skipped++;
			m->s[i].times = 2;
			continue;
		}
		if (n++ == 0)
			*first = i;
		retransmit_count_sent(m, i, now_ns);
	}
	return n;
}

/* Could a segment be sent if the number of segments in flight had no limit? */
static inline bool
retransmit_has_segment(const struct retransmit *m)
{
	return m->agains > 0 ||
	       (m->next < m->readied && retransmit_may_send_ahead(m));
}

static inline bool
retransmit_has_run(const struct retransmit *m)
{
	return m->flight < m->limit.flight && retransmit_has_segment(m);
}

static inline void
retransmit_unsent(struct retransmit *m, uint32_t first, uint32_t count,
    uint32_t n, bool again)
{
	for (uint32_t k = 1; k <= n; k++) {
		struct retransmit_segment *s = &m->s[first + count - k];

		m->n[again ? RETRANSMIT_REPEATED : RETRANSMIT_SENT]--;
		s->flags &= (uint8_t)~RETRANSMIT_IN_FLIGHT;
		m->flight--;
		m->serial--;
		if (again) {
			s->flags |= RETRANSMIT_AGAIN | RETRANSMIT_QUEUED;
			m->again_first--;
			m->again[m->again_first % m->segs] = first + count - k;
			m->agains++;
		} else {
			s->times = 0;
			m->upto--;
			m->out--;
			m->next--;
		}
	}
}

static inline void
retransmit_take(struct retransmit *m, uint32_t i, uint64_t now_ns)
{
	struct retransmit_segment *s = &m->s[i];
	uint32_t end;

	m->here++;
	m->moved++;
	m->out -= s->times > 0;
	if ((s->flags & RETRANSMIT_IN_FLIGHT) != 0) {
		m->flight--;
		m->limit.there++;
	}
	m->agains -= (s->flags & RETRANSMIT_AGAIN) != 0;
	s->flags = RETRANSMIT_HERE | (s->flags & RETRANSMIT_QUEUED);
	s->after = m->probe;
	while (m->first < m->segs &&
	    (m->s[m->first].flags & RETRANSMIT_HERE) != 0)
		m->first++;
	if (s->asked != 0)
		m->probed[s->asked % RETRANSMIT_PROBES].came++;
	else
		m->last = i;
	m->news_ns = m->progress_ns = now_ns;
	m->idle = false;
	send_limits_grow_window(&m->limit);
	m->highest = i > m->highest ? i : m->highest;
	end = m->highest > RETRANSMIT_SLACK ? m->highest - RETRANSMIT_SLACK : 0;
	for (; m->gap_from < end; m->gap_from++) {
		s = &m->s[m->gap_from];
		if ((s->flags & RETRANSMIT_HERE) == 0 && s->asked == 0)
			retransmit_want_probe(m, now_ns);
	}
}

/* Wait longer before requests, because a requested packet was only late. */
static inline void
retransmit_note_late(struct retransmit *m)
{
	m->order_slack += m->order_slack < RETRANSMIT_ORDER;
	m->clean = 0;
}

static inline void
retransmit_duplicate(struct retransmit *m, uint32_t i)
{
	if (m->s[i].asked != 0)
		retransmit_note_late(m);
}

/*
 * Process the list b of segments that the other side lacks.  A listed segment
 * is lost if it was sent with a mark of at most `floor` and at or before the
 * time by_ns.  Segments that were sent later may still be on their way, so
 * another Probe asks for them.
 */
static inline void
retransmit_receive_lacks(struct retransmit *m, const struct repair_bitmap *b,
    uint32_t floor, uint64_t by_ns, uint64_t now_ns)
{
	const uint32_t end = b->base + 8 * b->bytes;
	/* Unless the other side answers only with STATEs, a listed segment is
	 * sent again even if its result has arrived, because the switch may
	 * have been restarted after it sent the result. */
	const uint8_t settled =
	    RETRANSMIT_AGAIN | (m->acks ? RETRANSMIT_HERE : 0);
	bool any = false;

	for (uint32_t i = b->base; i < end && i < m->segs; i++) {
		struct retransmit_segment *s = &m->s[i];

		if (!repair_lacks(b, i) || s->times == 0 ||
		    (s->flags & settled) != 0 ||
		    control_newer(s->serial, floor))
			continue;
		if (s->at_ns > by_ns) {
			m->wants = true;
			continue;
		}
		if ((s->flags & RETRANSMIT_IN_FLIGHT) != 0)
			m->flight--;
		if ((s->flags & RETRANSMIT_QUEUED) == 0)
			m->again[m->again_end++ % m->segs] = i;
		s->flags = (uint8_t)((s->flags & RETRANSMIT_HERE) |
		    RETRANSMIT_QUEUED | RETRANSMIT_AGAIN);
		m->agains++;
		m->limit.lost++;
		any = true;
	}
	if (any) {
		m->progress_ns = now_ns;
		retransmit_note_loss(m, now_ns);
	}
}

/*
 * Return the Probe with this xid and store its number.  Returns NULL if the
 * Probe is too old or not ours.
 */
static inline struct retransmit_probed *
retransmit_find_probe(struct retransmit *m, uint32_t xid, uint32_t *number)
{
	for (uint32_t k = 0; k < RETRANSMIT_PROBES && k < m->probe; k++) {
		struct retransmit_probed *p = &m->probed[(m->probe - k) %
		    RETRANSMIT_PROBES];

		if (p->xid == xid) {
			*number = m->probe - k;
			return p;
		}
	}
	return NULL;
}

static inline uint32_t
retransmit_remove_taken_back(struct retransmit *m)
{
	const uint32_t entries = m->taken_back > 0 ? m->readied : 0;
	const uint32_t next = m->next;

	m->taken_back = 0;
	if (entries > 0)
		m->readied = 0;
	for (uint32_t k = 0; k < entries; k++) {
		const uint32_t i = m->order[k];
		struct retransmit_segment *s = &m->s[i];

		if ((s->flags & RETRANSMIT_TAKEN_BACK) == 0) {
			m->order[m->readied++] = i;
			continue;
		}
		if (k < next) {
			m->next--;
			m->upto--;
		}
		m->flight -= (s->flags & RETRANSMIT_IN_FLIGHT) != 0;
		m->agains -= (s->flags & RETRANSMIT_AGAIN) != 0;
		*s = (struct retransmit_segment){ .asked = s->asked,
		    .flags = s->flags & RETRANSMIT_QUEUED };
	}
	return entries;
}

static inline bool
retransmit_take_back(struct retransmit *m, uint32_t i, uint32_t xid)
{
	struct retransmit_segment *s = &m->s[i];
	uint32_t number = 0;

	if ((s->flags & RETRANSMIT_HERE) == 0 || retransmit_is_whole(m) ||
	    retransmit_find_probe(m, xid, &number) == NULL ||
	    !control_newer(number, s->after))
		return false;
	s->flags &= (uint8_t)~RETRANSMIT_HERE;
	m->here--;
	m->first = i < m->first ? i : m->first;
	if (m->order != NULL) {
		s->flags |= RETRANSMIT_TAKEN_BACK;
		m->taken_back++;
	} else {
		m->out += s->times > 0;
	}
	return true;
}

/* Update the state of the path from a STATE of any iteration. */
static inline void
retransmit_update_path(struct retransmit *m, const struct repair_state *st,
    const struct retransmit_probed *p, uint32_t number, uint64_t now_ns)
{
	m->n[RETRANSMIT_STATES]++;
	if (control_newer(number, m->acked)) {
		if (!st->notice)
			retransmit_sample(m, now_ns - p->at_ns);
		m->acked = number;
		if (number == m->probe)
			m->asks = false;
	}
	if (control_newer(st->mark, m->seen))
		m->seen = st->mark;
	if (st->dups != m->dups) {
		retransmit_note_late(m);
	} else if (++m->clean > 32 && m->order_slack > 0) {
		m->order_slack--;
		m->clean = 0;
	}
	m->dups = st->dups;
}

/*
 * Does the other side send none of the results that Probe p has requested,
 * although they cannot be on their way any more?  It sends each member only a
 * limited number of repeated results (job_may_resend()).
 */
static inline bool
retransmit_is_withheld(const struct repair_state *st,
    const struct retransmit_probed *p)
{
	return !st->notice && st->resent == 0 && p->asked > 0 &&
	    p->seen == st->mark;
}

/*
 * Tell whether results that should have arrived already are missing, and can be
 * requested at once.  `owed` says whether some results are outstanding.
 */
static inline bool
retransmit_lacks_results(
    const struct repair_state *st, const struct retransmit_probed *p, bool owed)
{
	return (!st->notice && st->resent > p->came) ||
	    (st->whole && owed && !retransmit_is_withheld(st, p));
}

/*
 * Tell whether results that Probe p is about are outstanding: those of the
 * segments that were sent before it, or of the whole iteration.
 */
static inline bool
retransmit_is_owed(const struct retransmit *m,
    const struct retransmit_probed *p)
{
	return p->upto > 0 && p->upto < m->segs ? m->first < p->upto :
	    m->out > 0 || m->fetches;
}

/* Request the missing results according to a STATE of this iteration. */
static inline void
retransmit_check_results(struct retransmit *m, const struct repair_state *st,
    const struct retransmit_probed *p, uint64_t now_ns)
{
	if (!st->notice)
		send_limits_adjust_asking(&m->limit, st->resent,
		    p->came);
	if (retransmit_lacks_results(st, p, retransmit_is_owed(m, p))) {
		retransmit_want_probe(m, now_ns);
		retransmit_note_loss(m, now_ns);
	}
	if (m->wants && st->whole)
		m->moved = RETRANSMIT_MOVED;	/* all other results have
						 * arrived */
}

/* Apply a STATE of this iteration, which answers Probe p. */
static inline void
retransmit_apply_state(struct retransmit *m, const struct repair_state *st,
    const struct retransmit_probed *p, uint64_t now_ns)
{
	const uint32_t end = repair_covers(&st->lacks, m->segs);

	m->news_ns = now_ns;
	for (uint32_t i = 0; i < end && i < m->segs; i++) {
		struct retransmit_segment *s = &m->s[i];

		if ((s->flags & RETRANSMIT_IN_FLIGHT) == 0 ||
		    repair_lacks(&st->lacks, i) ||
		    control_newer(s->serial, st->seen))
			continue;
		s->flags &= (uint8_t)~RETRANSMIT_IN_FLIGHT;
		m->flight--;
		m->limit.there++;
		if (m->acks) {
			s->flags = RETRANSMIT_HERE;
			m->here++;
			m->out--;
		}
	}
	retransmit_receive_lacks(m, &st->lacks, st->seen,
	    p->at_ns - m->order_slack * m->rtt.srtt_ns / 8, now_ns);
	if (st->notice && !st->whole)
		m->limit.lost = 0;	/* the job was not open at that time */
	send_limits_adjust_flight(&m->limit);
	if (!m->acks)
		retransmit_check_results(m, st, p, now_ns);
	m->idle = m->agains == 0 && !m->wants && m->upto == m->filled;
}

/*
 * Process a STATE, which answers the Probe with this xid.  Returns true if the
 * other side is at the iteration before ours and lacks our segments of that
 * iteration, because it was restarted.
 */
static inline bool
retransmit_receive_state(struct retransmit *m, uint32_t xid,
    const struct repair_state *st, uint64_t now_ns)
{
	uint32_t number = 0;
	const struct retransmit_probed *p =
	    retransmit_find_probe(m, xid, &number);

	if (p == NULL)
		return false;
	if (m->acks && retransmit_lacks_results(st, p, p->round == m->round))
		retransmit_want_probe(m, now_ns);
	retransmit_update_path(m, st, p, number, now_ns);
	if (m->acks && st->notice)
		return false;	/* the Probe is about a round */
	if (control_newer(number, m->turned) &&
	    st->iteration == seg_step(m->iteration, -1))
		return true;
	if (st->iteration == m->iteration && !retransmit_is_whole(m))
		retransmit_apply_state(m, st, p, now_ns);
	return false;
}

/* Process a NACK, with which the other side reports gaps at once. */
static inline void
retransmit_receive_nack(
    struct retransmit *m, const struct repair_help *h, uint64_t now_ns)
{
	uint32_t floor = h->seen;

	m->n[RETRANSMIT_NACKS]++;
	if (h->iteration != m->iteration || retransmit_is_whole(m))
		return;
	if (h->last < m->segs && m->s[h->last].times == 1 &&
	    control_newer(m->s[h->last].serial, floor))
		floor = m->s[h->last].serial;
	retransmit_receive_lacks(m, &h->lacks, floor, now_ns, now_ns);
}

static inline bool
retransmit_receive(struct retransmit *m, const struct control *c, uint32_t xid,
    bool *behind, uint64_t now_ns)
{
	struct repair_state st;
	struct repair_help h;

	*behind = false;
	if (repair_is_state(c) && repair_get_state(c, &st))
		*behind = retransmit_receive_state(m, xid, &st, now_ns);
	else if (repair_is_help(c) && repair_get_help(c, &h))
		retransmit_receive_nack(m, &h, now_ns);
	else
		return false;
	return true;
}

/*
 * Return the time of the last progress.  If more Probes of this iteration are
 * unanswered than losses can explain, their answers wait in a queue.  In that
 * case return the time of the oldest of these Probes, if it was sent before the
 * last progress.
 */
static inline uint64_t
retransmit_idle_since_ns(const struct retransmit *m)
{
	const uint32_t done = control_newer(m->acked, m->turned) ? m->acked :
	    m->turned, open = m->probe - done;
	const uint32_t first = open < RETRANSMIT_PROBES ? done + 1 :
	    m->probe + 1;	/* the oldest remembered Probe */
	const uint64_t at_ns = m->probed[first % RETRANSMIT_PROBES].at_ns;

	return open > RETRANSMIT_OPEN && at_ns < m->progress_ns ? at_ns :
	    m->progress_ns;
}

/*
 * Return the time at which a Probe is due if nothing arrives, or UINT64_MAX.
 * The Probe is due after the time-out or after a share of the time without
 * progress, whichever is longer.  So the longer nothing arrives, the rarer are
 * the Probes.
 */
static inline uint64_t
retransmit_expires_ns(const struct retransmit *m)
{
	const uint64_t since = m->news_ns > m->probed_ns ? m->news_ns :
	    m->probed_ns;
	const uint64_t begun_ns = retransmit_idle_since_ns(m);
	const uint64_t vain = since > begun_ns ? since - begun_ns : 0;
	const bool rests = m->idle && !m->asks;
	uint64_t ns = rtt_timeout_ns(&m->rtt, &retransmit_rtt);

	if (!retransmit_is_waiting(m))
		return UINT64_MAX;
	ns = rests ? 4 * ns : ns;
	ns = (rests ? vain : vain / 3) > ns ? (rests ? vain : vain / 3) : ns;
	ns = ns < RETRANSMIT_CEILING_NS ? ns : RETRANSMIT_CEILING_NS;
	/* the results of a round do not tell whether our push has arrived, so
	 * the Probe for the push is repeated */
	if (m->acks && m->asks && since + ns > m->probed_ns +
	    RETRANSMIT_CEILING_NS)
		return m->probed_ns + RETRANSMIT_CEILING_NS;
	return since + ns;
}

/* Return the time at which the requested Probe is due, or UINT64_MAX. */
static inline uint64_t
retransmit_wanted_probe_ns(const struct retransmit *m)
{
	uint64_t at = 0;

	if (!m->wants || !retransmit_is_waiting(m))
		return UINT64_MAX;
	if (m->asks && m->moved < RETRANSMIT_MOVED)
		at = m->probed_ns + m->rtt.srtt_ns / 4;
	return m->want_ns > at ? m->want_ns : at;
}

static inline uint64_t
retransmit_deadline_ns(const struct retransmit *m)
{
	const uint64_t a = retransmit_expires_ns(m),
		       b = retransmit_wanted_probe_ns(m);

	return a < b ? a : b;
}

/* Must a Probe follow the last segment of a vector or of a full flight? */
static inline bool
retransmit_needs_tail_probe(const struct retransmit *m)
{
	const bool blocked =
	    m->flight >= m->limit.flight && retransmit_has_segment(m);

	return (m->acks || m->lossy > 0) && m->serial != m->tail &&
	    (m->upto == m->filled || blocked);
}

static inline void
retransmit_fill_probe(struct retransmit *m, uint32_t xid, struct repair_help *h,
    uint8_t *room, uint64_t now_ns)
{
	struct retransmit_probed *p =
	    &m->probed[++m->probe % RETRANSMIT_PROBES];
	uint32_t asked = 0;

	*h = (struct repair_help){ .iteration = m->iteration,
	    .mark = m->serial, .seen = m->seen, .last = m->last,
	    .round = m->round, .last_round = m->last_round,
	    .upto = m->order != NULL ? m->segs : m->upto };
	for (uint32_t i = 0; !m->acks && i < m->filled &&
	    asked < m->limit.asking; i++) {
		struct retransmit_segment *s = &m->s[i];

		if ((s->flags & RETRANSMIT_HERE) != 0 ||
		    (s->times == 0 && !m->fetches) ||
		    control_newer(s->asked, m->acked))
			continue;
		if (!repair_add(&h->lacks, room, i))
			break;
		s->asked = m->probe;
		asked++;
	}
	*p = (struct retransmit_probed){ .xid = xid, .round = m->round,
	    .upto = h->upto, .seen = h->seen, .asked = asked, .at_ns = now_ns };
	m->tail = m->serial;
	m->n[RETRANSMIT_PROBES_SENT]++;
	m->asks = true;
	m->wants = false;
	m->moved = 0;
	m->probed_ns = now_ns;
}

static inline bool
retransmit_ask_round(struct retransmit *m, struct repair_help *h, uint8_t *room,
    uint32_t i)
{
	if (control_newer(m->s[i].asked, m->acked))
		return true;
	if (!repair_add(&h->lacks, room, i))
		return false;
	m->s[i].asked = m->probe;
	m->probed[m->probe % RETRANSMIT_PROBES].asked++;
	return true;
}

static inline void
retransmit_take_round(struct retransmit *m, uint32_t i, uint32_t round,
    bool early, uint64_t now_ns)
{
	struct retransmit_segment *s = &m->s[i];

	m->news_ns = m->progress_ns = now_ns;
	m->idle = false;
	m->moved++;
	if (early) {
		retransmit_want_probe(m, now_ns);
		return;
	}
	if (s->asked != 0) {
		m->probed[s->asked % RETRANSMIT_PROBES].came++;
	} else {
		m->last = i;
		m->last_round = round;
	}
	s->asked = 0;
}

static inline bool
retransmit_probe_is_due(struct retransmit *m, uint64_t now_ns)
{
	if (!retransmit_is_waiting(m))
		return false;
	if (now_ns >= retransmit_expires_ns(m)) {
		for (uint32_t i = 0; i < m->segs && m->asks; i++)
			m->s[i].asked = 0;
		m->asks = false;
		m->n[RETRANSMIT_EXPIRED] += m->rtt.srtt_ns != 0;
		return true;
	}
	if (retransmit_needs_tail_probe(m))
		m->wants = true;
	return now_ns >= retransmit_wanted_probe_ns(m) ||
	       (m->wants && m->rtt.srtt_ns == 0);
}

#endif
