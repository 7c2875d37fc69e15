/*
 * retransmit.h - a member's side of repair: what it sends again, and asks for
 *
 * A worker, or a rack towards its parent, that has lost segments or results
 * (iSwitch section 3.3 leaves it to a time-out a segment; this is innet's own).
 * Nothing is sent again but on proof that what was sent later has arrived: a
 * STATE or a NACK lacks it.  A time-out costs a Probe, never data.  Probes go
 * out for gaps in what came, at the tail of a vector while there are losses,
 * and when all is silent.
 *
 * Pure: time is an argument (ns, monotonic).  The caller sends the runs of
 * retransmit_run(), and the Probes of retransmit_fill(), and says what came:
 * retransmit_take(), retransmit_duplicate(), retransmit_told().  It speaks of
 * one iteration at a time: retransmit_turn(). Owns its memory:
 * retransmit_free().
 */
#ifndef INNET_ARQ_RETRANSMIT_H
#define INNET_ARQ_RETRANSMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/rtt.h"
#include "common/wire/repair.h"

enum {
	RETRANSMIT_SLACK = 3,		/* results that may overtake one */
	RETRANSMIT_PROBES = 64,		/* remembered */
	RETRANSMIT_OPEN = 8,		/* not answered, and yet not lost */
	RETRANSMIT_LOSSY = 32,		/* iterations with a tail Probe */
	RETRANSMIT_MOVED = 16,		/* segments a Probe, when they abound */
	RETRANSMIT_WINDOW = 1024,	/* segments, unless one is asked for */
	RETRANSMIT_ORDER = 8,		/* most patience, in eighths of srtt */
	RETRANSMIT_LOST = 16,		/* and it may be a short queue */
	RETRANSMIT_FIRST_NS = 20000000, /* time-out before any sample */
	RETRANSMIT_GRAIN_NS = 100000,	/* how late a sleeper wakes */
	RETRANSMIT_CEILING_NS = 250000000, /* of the time between Probes */
	RETRANSMIT_QUIET_NS = 1000000000   /* without a sample: look once */
};

/*
 * The variation counts once, not 4 times as RFC 6298 has it: a Probe that was
 * not needed costs one packet, and on hosts that wake up late half of a round
 * with losses was this wait.
 */
static const struct rtt_limits retransmit_rtt = {
	.first_ns = RETRANSMIT_FIRST_NS, .ceiling_ns = RETRANSMIT_CEILING_NS,
	.grain_ns = RETRANSMIT_GRAIN_NS, .sample_ns = UINT64_MAX,
	.variations = 1 };

enum retransmit_flag {
	RETRANSMIT_HERE = 1,		/* its result */
	RETRANSMIT_FLIES = 2,		/* in the network, for all we know */
	RETRANSMIT_AGAIN = 4,		/* to be sent again */
	RETRANSMIT_QUEUED = 8		/* in that queue; maybe for nothing */
};

struct retransmit_segment {
	uint64_t at_ns;			/* of its last sending */
	uint32_t serial;		/* mark at its last sending */
	uint32_t asked;			/* Probe that asked for it; 0 none */
	uint8_t times;			/* sent, or not needed; 2: more */
	uint8_t flags;
};

struct retransmit_probed {
	uint32_t xid;
	uint32_t round;			/* out of step: it asks for that */
	uint32_t came;			/* results it asked for */
	uint64_t at_ns;
};

enum retransmit_count {
	RETRANSMIT_SENT,
	RETRANSMIT_REPEATED,
	RETRANSMIT_PROBES_SENT,
	RETRANSMIT_EXPIRED,
	RETRANSMIT_STATES,
	RETRANSMIT_NACKS,
	RETRANSMIT_COUNTS
};

struct retransmit {
	uint32_t segs;
	struct retransmit_segment *s;
	uint32_t *again;		/* ring of segs: stale if not AGAIN */
	uint32_t again_first, again_end;
	uint32_t agains;		/* AGAIN */
	uint32_t *order;		/* what to send first; NULL: by index */
	uint32_t readied;		/* entries of it that may go */
	bool fetches;			/* owed results, sent or not */
	bool acks;			/* a STATE is all that comes back */
	bool unbound;			/* results wait for the last segment */
	uint32_t span;			/* segments from the first that has no
					   result on; 0: any number */
	uint64_t n[RETRANSMIT_COUNTS];

	/* this iteration */
	uint32_t iteration;
	uint32_t next;			/* of order: not sent yet */
	uint32_t upto;			/* segments sent at least once */
	uint32_t skipped;		/* of those: were not needed */
	uint32_t here;			/* results */
	uint32_t first;			/* segment without one */
	uint32_t out;			/* sent, without a result */
	uint32_t flight;		/* RETRANSMIT_FLIES */
	uint32_t last, last_round;	/* result that was not asked for */
	uint32_t highest, gap_from;	/* results, for gaps */
	uint32_t round;			/* out of step: that is owed to us */
	bool lost_any;
	bool idle;			/* all of ours is there */

	/* the path */
	uint32_t serial;		/* segments sent, ever */
	uint32_t tail;			/* of those, before the last Probe */
	uint32_t seen;			/* highest mark of the other side's */
	uint32_t probe, acked;		/* numbers, from 1: sent, answered */
	uint32_t turned;		/* the last before this iteration */
	struct retransmit_probed probed[RETRANSMIT_PROBES];
	bool asks;			/* a Probe is not answered yet */
	bool wants;			/* ... and one is to go at want_ns */
	uint32_t moved;			/* segments since the last */
	uint64_t want_ns, news_ns, progress_ns, probed_ns, cut_ns;
	struct rtt rtt;
	uint64_t last_rtt_ns, least_rtt_ns;	/* 0: no sample */
	uint32_t window, slow, grown, window_most;	/* of `out` */
	uint32_t allowed;		/* of `flight` */
	uint32_t asking;		/* of results a Probe */
	uint32_t lost, there;		/* of ours, since `allowed` changed */
	uint32_t lossy;			/* tail Probes for so many more */
	uint32_t order_slack, clean;	/* patience; STATEs without dups */
	uint16_t dups;
};

static inline void
retransmit_free(struct retransmit *m)
{
	free(m->s);
	free(m->again);
	free(m->order);
	*m = (struct retransmit){ 0 };
}

/*
 * For vectors of so many segments; ordered: they become ready in any order
 * (retransmit_ready), else all at once (retransmit_all).  False without memory.
 */
static inline bool
retransmit_init(struct retransmit *m, uint32_t segs, bool ordered)
{
	uint64_t n[RETRANSMIT_COUNTS];

	memcpy(n, m->n, sizeof(n));	/* they go on */
	retransmit_free(m);
	*m = (struct retransmit){ .segs = segs, .last = REPAIR_NONE,
	    .lossy = RETRANSMIT_LOSSY };
	memcpy(m->n, n, sizeof(n));
	m->s = calloc(segs, sizeof(*m->s));
	m->again = calloc(segs, sizeof(*m->again));
	m->order = ordered ? calloc(segs, sizeof(*m->order)) : NULL;
	if (m->s != NULL && m->again != NULL && (m->order != NULL || !ordered))
		return true;
	retransmit_free(m);
	return false;
}

/* Bytes that it takes. */
static inline uint64_t
retransmit_bytes(uint32_t segs)
{
	return (uint64_t)segs * (sizeof(struct retransmit_segment) +
	    2 * sizeof(uint32_t));
}

/* Segments in flight to begin with, and at most. */
static inline void
retransmit_window(struct retransmit *m, uint32_t first, uint32_t most)
{
	m->window_most = m->allowed = m->asking = m->slow = most;
	m->window = first < most ? first : most;
	m->grown = 0;
}

/* A round trip took rtt_ns. */
static inline void
retransmit_sample(struct retransmit *m, uint64_t rtt_ns)
{
	const bool first = m->rtt.base_ns == 0;

	rtt_sample(&m->rtt, &retransmit_rtt, rtt_ns);
	m->last_rtt_ns = rtt_ns > 0 ? rtt_ns : 1;
	if (first || m->last_rtt_ns < m->least_rtt_ns)
		m->least_rtt_ns = m->last_rtt_ns;
}

static inline bool
retransmit_whole(const struct retransmit *m)
{
	return m->here == m->segs;
}

/* Does the network owe us something of this iteration? */
static inline bool
retransmit_waits(const struct retransmit *m)
{
	return m->segs > 0 && ((m->acks && m->fetches) ||
	    (!retransmit_whole(m) && (m->upto > 0 || m->fetches)));
}

/* Iteration t begins: what is ready and what came of it, say anew. */
static inline void
retransmit_turn(struct retransmit *m, uint32_t t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < m->segs; i++)	/* rounds go on */
		m->s[i] = (struct retransmit_segment){
		    .asked = m->acks ? m->s[i].asked : 0 };
	m->iteration = t;
	m->again_first = m->again_end = m->agains = 0;
	m->readied = m->next = m->upto = m->skipped = 0;
	m->here = m->first = m->out = m->flight = 0;
	m->lost = m->there = m->highest = m->gap_from = 0;
	if (!m->acks)		/* out of step a round goes on */
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

/* All of it is ready to be sent. */
static inline void
retransmit_all(struct retransmit *m)
{
	m->readied = m->segs;
}

/* Segment i is. */
static inline void
retransmit_ready(struct retransmit *m, uint32_t i)
{
	if (m->readied < m->segs)
		m->order[m->readied++] = i;
}

/* All of it is owed to us, sent or not; soon: ask at once. */
static inline void
retransmit_fetch(struct retransmit *m, bool soon)
{
	m->fetches = true;
	m->wants |= soon;
}

/* Results miss: ask, but not before they may have come after others. */
static inline void
retransmit_want(struct retransmit *m, uint64_t now_ns)
{
	if (!m->wants)
		m->want_ns = now_ns + m->order_slack * m->rtt.srtt_ns / 8;
	m->wants = true;
}

/* Something was lost: what the path can hold, if its queue has grown. */
static inline void
retransmit_cut(struct retransmit *m, uint64_t now_ns)
{
	const uint64_t most_ns = m->least_rtt_ns * 3 / 2 + RETRANSMIT_GRAIN_NS;
	uint64_t w;

	m->lost_any = true;
	m->lossy = RETRANSMIT_LOSSY;
	if (m->last_rtt_ns <= most_ns ||
	    now_ns - m->cut_ns <= 2 * m->last_rtt_ns)
		return;
	w = m->window * most_ns / m->last_rtt_ns;
	m->slow = m->window = w < 16 ? 16 : (uint32_t)w;
	m->cut_ns = now_ns;
}

static inline void
retransmit_send(struct retransmit *m, uint32_t i, uint64_t now_ns)
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
	if ((s->flags & RETRANSMIT_FLIES) == 0)
		m->flight++;
	s->flags |= RETRANSMIT_FLIES;
	m->moved++;
	m->idle = false;
	if (m->upto == 1)
		m->news_ns = now_ns;
}

/* Of those to be sent again, a run from *first on; how many. */
static inline uint32_t
retransmit_run_again(struct retransmit *m, uint32_t most, uint32_t *first,
    uint64_t now_ns)
{
	uint32_t n = 0;

	while (m->agains > 0 && n < most && m->flight < m->allowed) {
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
		retransmit_send(m, i, now_ns);
	}
	return n;
}

/* Has the other side a slot for segment i? */
static inline bool
retransmit_fits(const struct retransmit *m, uint32_t i)
{
	return m->span == 0 || i < m->first + m->span;
}

/* Of those that are ready, the next that it has a slot for; or readied. */
static inline uint32_t
retransmit_fitting(const struct retransmit *m)
{
	uint32_t k = m->next;

	if (m->order == NULL)
		return retransmit_fits(m, k) ? k : m->readied;
	while (k < m->readied && !retransmit_fits(m, m->order[k]))
		k++;
	return k;
}

/* That is next, then. */
static inline uint32_t
retransmit_pick(struct retransmit *m)
{
	const uint32_t k = m->span == 0 ? m->next : retransmit_fitting(m);
	uint32_t i = m->next;

	if (m->order == NULL)
		return i;
	i = m->order[k];
	m->order[k] = m->order[m->next];
	m->order[m->next] = i;
	return i;
}

/*
 * May one more be ahead of its result?  Of a vector that is answered whole, and
 * of a push, all may.  A rack's members see to that: racks have orders of their
 * own, and if each waited for what it has sent before, no two might ever have
 * sent the same.
 */
static inline bool
retransmit_ahead(const struct retransmit *m)
{
	if (m->span != 0 && retransmit_fitting(m) == m->readied)
		return false;
	return m->order != NULL || m->acks || m->unbound ||
	    m->out < m->window;
}

/*
 * What is to be sent now: a run of at most so many segments from *first on;
 * how many, 0 if none.  *again: they were sent before.
 */
static inline uint32_t
retransmit_run(struct retransmit *m, uint32_t most, uint32_t *first,
    bool *again, uint64_t now_ns)
{
	uint32_t n = retransmit_run_again(m, most, first, now_ns);

	*again = n > 0;
	while (!*again && m->next < m->readied && n < most &&
	    m->flight < m->allowed && retransmit_ahead(m)) {
		const uint32_t i = retransmit_pick(m);

		if (n > 0 && (i != *first + n ||
		    (m->s[i].flags & RETRANSMIT_HERE) != 0))
			break; /* retransmit_unsent() goes back by one */
		m->next++;
		if ((m->s[i].flags & RETRANSMIT_HERE) != 0) {
			m->upto++;
			m->skipped++;
			m->s[i].times = 2;
			continue;
		}
		if (n++ == 0)
			*first = i;
		retransmit_send(m, i, now_ns);
	}
	return n;
}

/* Is there anything that could be sent, if more might be in the network? */
static inline bool
retransmit_has(const struct retransmit *m)
{
	return m->agains > 0 || (m->next < m->readied && retransmit_ahead(m));
}

/* Has retransmit_run() anything? */
static inline bool
retransmit_runs(const struct retransmit *m)
{
	return m->flight < m->allowed && retransmit_has(m);
}

/* There was no room for the last n of a run of retransmit_run(). */
static inline void
retransmit_unsent(struct retransmit *m, uint32_t first, uint32_t count,
    uint32_t n, bool again)
{
	for (uint32_t k = 1; k <= n; k++) {
		struct retransmit_segment *s = &m->s[first + count - k];

		m->n[again ? RETRANSMIT_REPEATED : RETRANSMIT_SENT]--;
		s->flags &= (uint8_t)~RETRANSMIT_FLIES;
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

/* The first result of segment i is here. */
static inline void
retransmit_take(struct retransmit *m, uint32_t i, uint64_t now_ns)
{
	struct retransmit_segment *s = &m->s[i];
	uint32_t end;

	m->here++;
	m->moved++;
	m->out -= s->times > 0;
	if ((s->flags & RETRANSMIT_FLIES) != 0) {
		m->flight--;
		m->there++;
	}
	m->agains -= (s->flags & RETRANSMIT_AGAIN) != 0;
	s->flags = RETRANSMIT_HERE | (s->flags & RETRANSMIT_QUEUED);
	while (m->first < m->segs &&
	    (m->s[m->first].flags & RETRANSMIT_HERE) != 0)
		m->first++;
	if (s->asked != 0)
		m->probed[s->asked % RETRANSMIT_PROBES].came++;
	else
		m->last = i;
	m->news_ns = m->progress_ns = now_ns;
	m->idle = false;
	if (m->window < m->window_most && (m->window < m->slow ||
	    ++m->grown >= m->window)) {
		m->window++;
		m->grown = 0;
	}
	m->highest = i > m->highest ? i : m->highest;
	end = m->highest > RETRANSMIT_SLACK ? m->highest - RETRANSMIT_SLACK : 0;
	for (; m->gap_from < end; m->gap_from++) {
		s = &m->s[m->gap_from];
		if ((s->flags & RETRANSMIT_HERE) == 0 && s->asked == 0)
			retransmit_want(m, now_ns);
	}
}

/* Something that was asked for had been late, not lost. */
static inline void
retransmit_late(struct retransmit *m)
{
	m->order_slack += m->order_slack < RETRANSMIT_ORDER;
	m->clean = 0;
}

/* A result of segment i has come once more. */
static inline void
retransmit_duplicate(struct retransmit *m, uint32_t i)
{
	if (m->s[i].asked != 0)
		retransmit_late(m);
}

/*
 * The other side lacks those of b, of what was sent by `floor` and by_ns: they
 * are lost.  Later ones may be on their way: look again.
 */
static inline void
retransmit_lacks(struct retransmit *m, const struct repair_bitmap *b,
    uint32_t floor, uint64_t by_ns, uint64_t now_ns)
{
	const uint32_t end = b->base + 8 * b->bytes;
	/* a result may be of a switch that is no more, and others wait */
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
		if ((s->flags & RETRANSMIT_FLIES) != 0)
			m->flight--;
		if ((s->flags & RETRANSMIT_QUEUED) == 0)
			m->again[m->again_end++ % m->segs] = i;
		s->flags = (uint8_t)((s->flags & RETRANSMIT_HERE) |
		    RETRANSMIT_QUEUED | RETRANSMIT_AGAIN);
		m->agains++;
		m->lost++;
		any = true;
	}
	if (any) {
		m->progress_ns = now_ns;
		retransmit_cut(m, now_ns);
	}
}

/* Most of a flight lost is no accident, but a short queue. */
static inline void
retransmit_allow(struct retransmit *m)
{
	const uint32_t some = m->there + m->there / 4;

	if (m->lost >= RETRANSMIT_LOST && m->lost > m->there) {
		if (some < m->allowed)
			m->allowed = some < 2 ? 2 : some;
	} else if (m->lost <= m->there && m->there > 0 &&
	    m->lost + m->there >= m->allowed / 2 &&
	    m->allowed < m->window_most) {
		m->allowed += m->allowed / 8 + 1;
	} else if (m->lost > m->there || m->lost + m->there < 8) {
		return;
	}
	m->lost = m->there = 0;
}

/* Likewise of results: so many were resent, of which so many are here. */
static inline void
retransmit_allow_asking(struct retransmit *m, uint32_t resent, uint32_t came)
{
	if (resent >= RETRANSMIT_LOST && 2 * came < resent)
		m->asking = came + came / 4 < 8 ? 8 : came + came / 4;
	else if (resent >= m->asking / 2 && m->asking < m->window_most)
		m->asking += m->asking / 8 + 1;
}

/* The Probe of that xid, or NULL: too old, or none of ours. */
static inline struct retransmit_probed *
retransmit_find(struct retransmit *m, uint32_t xid, uint32_t *number)
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

/* What a STATE tells of the path, whatever its iteration. */
static inline void
retransmit_heard(struct retransmit *m, const struct repair_state *st,
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
		retransmit_late(m);
	} else if (++m->clean > 32 && m->order_slack > 0) {
		m->order_slack--;
		m->clean = 0;
	}
	m->dups = st->dups;
}

/* Are results missing that must be here by now?  owed: some are not. */
static inline bool
retransmit_misses(
    const struct repair_state *st, const struct retransmit_probed *p, bool owed)
{
	return (!st->notice && st->resent > p->came) || (st->whole && owed);
}

/* What a STATE of this iteration tells of the results. */
static inline void
retransmit_results(struct retransmit *m, const struct repair_state *st,
    const struct retransmit_probed *p, uint64_t now_ns)
{
	if (!st->notice)
		retransmit_allow_asking(m, st->resent, p->came);
	if (retransmit_misses(st, p, m->out > 0 || m->fetches)) {
		retransmit_want(m, now_ns);
		retransmit_cut(m, now_ns);
	}
	if (m->wants && st->whole)
		m->moved = RETRANSMIT_MOVED;	/* nothing else is to come */
}

/* What a STATE of this iteration tells, in answer to Probe p. */
static inline void
retransmit_settle(struct retransmit *m, const struct repair_state *st,
    const struct retransmit_probed *p, uint64_t now_ns)
{
	const uint32_t end = repair_covers(&st->lacks, m->segs);

	m->news_ns = now_ns;
	for (uint32_t i = 0; i < end && i < m->segs; i++) {
		struct retransmit_segment *s = &m->s[i];

		if ((s->flags & RETRANSMIT_FLIES) == 0 ||
		    repair_lacks(&st->lacks, i) ||
		    control_newer(s->serial, st->seen))
			continue;
		s->flags &= (uint8_t)~RETRANSMIT_FLIES;	/* it has it */
		m->flight--;
		m->there++;
		if (m->acks) {
			s->flags = RETRANSMIT_HERE;
			m->here++;
			m->out--;
		}
	}
	retransmit_lacks(m, &st->lacks, st->seen, p->at_ns - m->order_slack *
	    m->rtt.srtt_ns / 8, now_ns);
	if (st->notice && !st->whole)
		m->lost = 0;	/* it was not open: they were early */
	retransmit_allow(m);
	if (!m->acks)
		retransmit_results(m, st, p, now_ns);
	m->idle = m->agains == 0 && !m->wants && m->upto == m->segs;
}

/*
 * The other side answers the Probe with that xid.  True if it is still at the
 * iteration before ours, and lacks that: it has been started again.
 */
static inline bool
retransmit_state(struct retransmit *m, uint32_t xid,
    const struct repair_state *st, uint64_t now_ns)
{
	uint32_t number = 0;
	const struct retransmit_probed *p = retransmit_find(m, xid, &number);

	if (p == NULL)
		return false;
	if (m->acks && retransmit_misses(st, p, p->round == m->round))
		retransmit_want(m, now_ns);
	retransmit_heard(m, st, p, number, now_ns);
	if (m->acks && st->notice)
		return false;	/* of a round, not of our push */
	if (control_newer(number, m->turned) &&
	    st->iteration == seg_step(m->iteration, -1))
		return true;
	if (st->iteration == m->iteration && !retransmit_whole(m))
		retransmit_settle(m, st, p, now_ns);
	return false;
}

/* It names gaps at once. */
static inline void
retransmit_nack(
    struct retransmit *m, const struct repair_help *h, uint64_t now_ns)
{
	uint32_t floor = h->seen;

	m->n[RETRANSMIT_NACKS]++;
	if (h->iteration != m->iteration || retransmit_whole(m))
		return;
	if (h->last < m->segs && m->s[h->last].times == 1 &&
	    control_newer(m->s[h->last].serial, floor))
		floor = m->s[h->last].serial;
	retransmit_lacks(m, &h->lacks, floor, now_ns, now_ns);
}

/*
 * Is c, whose xid is xid by our own count, a STATE or a NACK?  Then it is
 * heard; *behind: retransmit_state() is true.
 */
static inline bool
retransmit_told(struct retransmit *m, const struct control *c, uint32_t xid,
    bool *behind, uint64_t now_ns)
{
	struct repair_state st;
	struct repair_help h;

	*behind = false;
	if (repair_is_state(c) && repair_get_state(c, &st))
		*behind = retransmit_state(m, xid, &st, now_ns);
	else if (repair_is_help(c) && repair_get_help(c, &h))
		retransmit_nack(m, &h, now_ns);
	else
		return false;
	return true;
}

/*
 * Since when nothing has come about; or since some Probes of this iteration,
 * too many to be lost, have not been answered: the answers stand in a queue.
 */
static inline uint64_t
retransmit_vain_since_ns(const struct retransmit *m)
{
	const uint32_t done = control_newer(m->acked, m->turned) ? m->acked :
	    m->turned, open = m->probe - done;
	const uint32_t first = open < RETRANSMIT_PROBES ? done + 1 :
	    m->probe + 1;	/* the oldest that is remembered */
	const uint64_t at_ns = m->probed[first % RETRANSMIT_PROBES].at_ns;

	return open > RETRANSMIT_OPEN && at_ns < m->progress_ns ? at_ns :
	    m->progress_ns;
}

/*
 * When a Probe is due if nothing comes, UINT64_MAX if never: after a time-out,
 * and after a share of the time that was in vain, for it then comes seldom.
 */
static inline uint64_t
retransmit_expires_ns(const struct retransmit *m)
{
	const uint64_t since = m->news_ns > m->probed_ns ? m->news_ns :
	    m->probed_ns;
	const uint64_t begun_ns = retransmit_vain_since_ns(m);
	const uint64_t vain = since > begun_ns ? since - begun_ns : 0;
	const bool rests = m->idle && !m->asks;
	uint64_t ns = rtt_timeout_ns(&m->rtt, &retransmit_rtt);

	if (!retransmit_waits(m))
		return UINT64_MAX;
	ns = rests ? 4 * ns : ns;
	ns = (rests ? vain : vain / 3) > ns ? (rests ? vain : vain / 3) : ns;
	return since +
	       (ns < RETRANSMIT_CEILING_NS ? ns : RETRANSMIT_CEILING_NS);
}

/* When one is that is wanted; UINT64_MAX. */
static inline uint64_t
retransmit_wanted_ns(const struct retransmit *m)
{
	uint64_t at = 0;

	if (!m->wants || !retransmit_waits(m))
		return UINT64_MAX;
	if (m->asks && m->moved < RETRANSMIT_MOVED)
		at = m->probed_ns + m->rtt.srtt_ns / 4;
	return m->want_ns > at ? m->want_ns : at;
}

/* When retransmit_probe() may have something to say, if nothing comes. */
static inline uint64_t
retransmit_due(const struct retransmit *m)
{
	const uint64_t a = retransmit_expires_ns(m),
		       b = retransmit_wanted_ns(m);

	return a < b ? a : b;
}

/* Is what was sent last to be asked after: its tail, or a full path? */
static inline bool
retransmit_tail(const struct retransmit *m)
{
	const bool blocked = m->flight >= m->allowed && retransmit_has(m);

	return (m->acks || m->lossy > 0) && m->serial != m->tail &&
	    (m->upto == m->segs || blocked);
}

/*
 * The Probe itself; its bitmap stands at room.  Where a STATE is all that comes
 * back the results to ask for are the caller's.
 */
static inline void
retransmit_fill(struct retransmit *m, uint32_t xid, struct repair_help *h,
    uint8_t *room, uint64_t now_ns)
{
	struct retransmit_probed *p =
	    &m->probed[++m->probe % RETRANSMIT_PROBES];
	uint32_t asked = 0;

	*h = (struct repair_help){ .iteration = m->iteration,
	    .mark = m->serial, .seen = m->seen, .last = m->last,
	    .round = m->round, .last_round = m->last_round,
	    .upto = m->order != NULL ? m->segs : m->upto };
	for (uint32_t i = 0; !m->acks && i < m->segs && asked < m->asking;
	    i++) {
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
	    .at_ns = now_ns };
	m->tail = m->serial;
	m->n[RETRANSMIT_PROBES_SENT]++;
	m->asks = true;
	m->wants = false;
	m->moved = 0;
	m->probed_ns = now_ns;
}

/*
 * Out of step: is segment i's result of this round in the Probe that was just
 * filled, or asked for by one whose answer is to come?  False if there is no
 * room for it.
 */
static inline bool
retransmit_ask_round(struct retransmit *m, struct repair_help *h, uint8_t *room,
    uint32_t i)
{
	if (control_newer(m->s[i].asked, m->acked))
		return true;
	if (!repair_add(&h->lacks, room, i))
		return false;
	m->s[i].asked = m->probe;
	return true;
}

/* Segment i's result of a round is here; early: one before it is not. */
static inline void
retransmit_took_round(struct retransmit *m, uint32_t i, uint32_t round,
    bool early, uint64_t now_ns)
{
	struct retransmit_segment *s = &m->s[i];

	m->news_ns = m->progress_ns = now_ns;
	m->idle = false;
	m->moved++;
	if (early) {
		retransmit_want(m, now_ns);
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

/*
 * Is a Probe to be sent now?  To be asked when retransmit_run() has nothing
 * more. If so, retransmit_fill() it.
 */
static inline bool
retransmit_probe(struct retransmit *m, uint64_t now_ns)
{
	if (!retransmit_waits(m))
		return false;
	if (now_ns >= retransmit_expires_ns(m)) {
		for (uint32_t i = 0; i < m->segs && m->asks; i++)
			m->s[i].asked = 0;
		m->asks = false;
		m->n[RETRANSMIT_EXPIRED] += m->rtt.srtt_ns != 0;
		return true;
	}
	if (retransmit_tail(m))
		m->wants = true;
	return now_ns >= retransmit_wanted_ns(m) ||
	       (m->wants && m->rtt.srtt_ns == 0);
}

#endif
