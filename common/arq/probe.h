/*
 * probe.h - a member's Probes, and what a STATE or a NACK says
 *
 * To be asked when retransmit_run() of arq/retransmit.h has nothing more to
 * send. Pure: time is an argument (ns, monotonic).
 */
#ifndef INNET_ARQ_PROBE_H
#define INNET_ARQ_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arq/retransmit.h"

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
	    m->srtt_ns / 8, now_ns);
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
 * The variation counts once, not 4 times as RFC 6298 has it: a Probe in vain is
 * one packet, and where hosts wake late half of a lossy round was this wait.
 */
static inline uint64_t
retransmit_expires_ns(const struct retransmit *m)
{
	const uint64_t since = m->news_ns > m->probed_ns ? m->news_ns :
	    m->probed_ns, vary = m->var_ns;
	const uint64_t begun_ns = retransmit_vain_since_ns(m);
	const uint64_t vain = since > begun_ns ? since - begun_ns : 0;
	const bool rests = m->idle && !m->asks;
	uint64_t ns = m->srtt_ns == 0 ? RETRANSMIT_FIRST_NS : m->srtt_ns +
	    (vary < RETRANSMIT_GRAIN_NS ? RETRANSMIT_GRAIN_NS : vary);

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
		at = m->probed_ns + m->srtt_ns / 4;
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
		m->n[RETRANSMIT_EXPIRED] += m->srtt_ns != 0;
		return true;
	}
	if (retransmit_tail(m))
		m->wants = true;
	return now_ns >= retransmit_wanted_ns(m) ||
	       (m->wants && m->srtt_ns == 0);
}

#endif
