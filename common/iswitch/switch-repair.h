/*
 * switch-repair.h - Probe, STATE, NACK and retransmission at a switch
 *
 * The switch tells members which of their segments were lost, and sends results
 * again that members did not receive (loss-detect.h).  It also retransmits sums
 * that were lost on the way to the parent (retransmit.h).  It has no timers for
 * its members: it only answers their packets.  A loss on a link is always
 * repaired by the two ends of this link.
 *
 * A rack of an asynchronous job sends pushes to its parent, as a worker does.
 * A push is one partial sum of every segment.  The rack sends the next push
 * when a STATE says that the parent has received all segments of the current
 * push.  In the meantime the rack adds contributions to the next push, which
 * may get more than H contributions.  When the next push is full, the members
 * must wait.  Algorithm 1 of iSwitch has no tiers, so this rule is ours.  With
 * its Probes, a rack also requests results that were lost.
 */
#ifndef INNET_ISWITCH_SWITCH_REPAIR_H
#define INNET_ISWITCH_SWITCH_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arq/loss-detect.h"
#include "common/arq/retransmit.h"
#include "common/arq/send-limits.h"
#include "common/iswitch/job-async-server.h"
#include "common/iswitch/job-segments.h"
#include "common/iswitch/sums.h"
#include "common/iswitch/switch-left.h"
#include "common/iswitch/switch.h"

/*
 * Answer a Probe of member `id`.  The Probe says which results the member lacks
 * and how many of its segments it has sent.
 */
static inline void iswitch_receive_probe(struct iswitch *s, struct job *j,
    uint32_t id, uint32_t xid, const struct repair_help *h);

/*
 * Check whether segments before segment g of member `id` were lost.  If so,
 * send a NACK.  `what` is the reason under which g was counted.
 */
static inline void iswitch_detect_loss(struct iswitch *s, struct job *j,
    uint32_t id, const struct seg *g, enum job_count what);

/*
 * Send a STATE to each member that waits for the end of an iteration or for the
 * job to open.
 */
static inline void iswitch_send_notices(struct iswitch *s, struct job *j);

/*
 * Let an asynchronous job continue at the round of the parent, which is in the
 * parent's last Ack.  After this, the job requests the rounds that it lacks.
 */
static inline void iswitch_follow_parent(struct iswitch_job *job);

/*
 * Start to repair losses on the way to the parent, which has accepted this
 * switch.
 */
static inline void iswitch_retransmit_resume(struct iswitch_job *job,
    uint64_t now_ns);

/*
 * Repeat the previous iteration, because the parent is still at that iteration.
 */
static inline void iswitch_retransmit_step_back(struct job *j, uint64_t now_ns);

/*
 * Record that result g of the parent has arrived.  `taken` says whether g is
 * the first copy of the result.
 */
static inline void iswitch_retransmit_result(struct job *j, const struct seg *g,
    bool taken, uint64_t now_ns);

/* Stop waiting for a round that the parent no longer keeps. */
static inline void iswitch_push_skip_round(struct job *j, uint32_t round,
    uint64_t now_ns);

/*
 * Send all packets that must be sent after an event of the job, and update the
 * deadline of the switch.
 */
static inline void iswitch_finish_event( struct iswitch *s,
    struct iswitch_job *job, uint64_t now_ns);

/*
 * The parent no longer keeps the results of this iteration, and neither this
 * rack nor its members need them.  If the rack waits for them, continue with
 * the next iteration.
 */
static inline void iswitch_retransmit_skip(struct job *j, uint32_t iteration,
    uint64_t now_ns);

/* implementation */

/*
 * Return the push for which segment i waits: either a push that was sent to the
 * parent, or the next push to fill.
 */
static inline int64_t
iswitch_push_awaited(const struct job *j, uint32_t i)
{
	const struct sums_slot *s = &j->sums.slot[job_latest_slot(j, i)],
			       *before;

	if (s->state == SUMS_EMPTY)
		return j->start;
	before = &j->sums.slot[sums_at(&j->sums, s->iteration - 1, i)];
	if (before->state == SUMS_SENT_UP &&
	    before->iteration == s->iteration - 1)
		return before->iteration;
	return s->iteration + (s->state == SUMS_COMPLETE);
}

/* Begin push t.  Its complete segments may now be sent. */
static inline void
iswitch_push_start(struct job *j, int64_t t, uint64_t now_ns)
{
	struct retransmit *m = j->retransmit;

	j->sending = t;
	j->notify = true;		/* segments of the members may have room
					 * again */
	retransmit_start(m, (uint32_t)(t & (SEG_ITERATIONS - 1)), now_ns);
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		const uint32_t at = sums_at(&j->sums, t, i);
		const struct sums_slot *s = &j->sums.slot[at];

		if (s->state == SUMS_EMPTY || s->iteration < t)
			continue;
		if (s->iteration > t) {	/* the parent did not repair losses at
					 * that time */
			m->s[i].flags = RETRANSMIT_HERE;
			m->here++;
			retransmit_ready_segment(m, i);
		} else if (s->state == SUMS_SENT_UP) {
			retransmit_ready_segment(m, i);
		} else {
			job_test_slot(j, at);
		}
	}
}

/*
 * The parent has accepted this switch, so begin again with the push that the
 * parent may lack.
 */
static inline void
iswitch_push_resume(struct job *j, uint64_t now_ns)
{
	int64_t t = INT64_MAX;

	j->retransmit->acks = true;
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		const int64_t its = iswitch_push_awaited(j, i);

		t = its < t ? its : t;
	}
	iswitch_push_start(j, t, now_ns);
}

/* Have all results of round t arrived?  Rounds may arrive in any order. */
static inline bool
iswitch_round_is_whole(const struct job *j, int64_t t)
{
	return t < j->missing_round ||
	       (job_is_whole(j, t) && job_is_complete(j, t));
}

/*
 * If the parent has received the current push, begin the next push.  Also find
 * the first round that is missing.
 */
static inline void
iswitch_push_advance(struct job *j, uint64_t now_ns)
{
	struct retransmit *m = j->retransmit;

	while (retransmit_is_whole(m)) {
		for (uint32_t i = 0; i < j->sums.s.segs; i++) {
			const uint32_t at = sums_at(&j->sums, j->sending, i);

			if (j->sums.slot[at].iteration == j->sending)
				sums_set_state(&j->sums, at, SUMS_COMPLETE);
		}
		iswitch_push_start(j, j->sending + 1, now_ns);
	}
	for (; j->missing_round <= j->newest &&
	       iswitch_round_is_whole(j, j->missing_round);
	     j->missing_round++)
		j->notify = true;
	m->round = (uint32_t)(j->missing_round & (SEG_ITERATIONS - 1));
	m->fetches = j->missing_round <= j->newest ||
		     j->missing_round <= j->wanted_round;
}

/*
 * Must push k of a member wait, because one of its first `upto` segments has no
 * room?
 */
static inline bool
iswitch_push_lacks_room(const struct job *j, const struct loss_detect_view *v,
    int64_t k, uint32_t upto)
{
	for (uint32_t i = 0; i < upto && i < j->sums.s.segs; i++) {
		if (job_slot_is_full(j, job_latest_slot(j, i)) &&
		    !loss_detect_has(v, k, i))
			return true;
	}
	return false;
}

/* Process a result of an asynchronous job from the parent. */
static inline void
iswitch_push_result(struct job *j, const struct seg *g, bool taken,
    uint64_t now_ns)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);

	if (!taken)
		retransmit_duplicate(j->retransmit, g->index);
	else
		retransmit_take_round(j->retransmit, g->index, g->iteration,
		    t > j->missing_round &&
			sums_find_result(&j->sums, t - 1, g->index) == NULL,
		    now_ns);
	iswitch_push_advance(j, now_ns);
}

static inline void
iswitch_push_skip_round(struct job *j, uint32_t round, uint64_t now_ns)
{
	const int64_t t = sums_unwrap(round, j->newest);

	j->missing_round = t >= j->missing_round ? t + 1 : j->missing_round;
	iswitch_push_advance(j, now_ns);
}

/*
 * Add the missing results of the first incomplete round to the list in Probe h.
 */
static inline void
iswitch_push_ask_round(struct job *j, struct repair_help *h, uint8_t *room)
{
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		if (sums_find_result(&j->sums, j->missing_round, i) == NULL &&
		    !retransmit_ask_round(j->retransmit, h, room, i))
			break;
	}
}

/*
 * Has segment i of t arrived from member `id`?  `t` is an iteration or a push.
 */
static inline bool
iswitch_has_part(const void *context, uint32_t id, int64_t t, uint32_t i)
{
	const struct job *j = context;
	const struct sums *a = &j->sums;
	const uint32_t at = sums_at(a, t, i);
	const struct sums_slot *s = &a->slot[at];
	const uint32_t *pushed = j->members.m[id].pushed;
	const uint32_t wire = (uint32_t)t & (SEG_ITERATIONS - 1);

	if (j->cf->server)
		return job_async_server_has(
		    job_async_server_member(&j->server, id), wire, i);
	if (j->cf->async && pushed != NULL)
		return pushed[i] != 0 && !seg_before(pushed[i] - 1, wire);
	if (sums_compare(a, at, t, i) != 0)
		return sums_compare(a, at, t, i) > 0;
	return s->state != SUMS_FILLING || sums_has(a, at, id);
}

/*
 * If there are fewer slots than segments: does segment i of t have no slot yet?
 * If so, the switch would drop the segment if it arrived now.
 */
static inline bool
iswitch_is_early_part(const void *context, uint32_t id, int64_t t, uint32_t i)
{
	const struct job *j = context;
	const struct sums *a = &j->sums;

	(void)id;
	return a->s.span != 0 && sums_compare(a, sums_at(a, t, i), t, i) < 0 &&
	    !sums_may_begin(a, j->done_before, t, i);
}

/*
 * Return a view of the segments of member `id` that have arrived, for
 * loss-detect.h.
 */
static inline struct loss_detect_view
iswitch_member_view(const struct job *j, uint32_t id)
{
	return (struct loss_detect_view){ .segs = j->sums.s.segs, .id = id,
	    .context = j, .has = iswitch_has_part,
	    .is_early = iswitch_is_early_part };
}

/*
 * Return the 64-bit iteration or push of member `id` that has the number t in
 * packets.
 */
static inline int64_t
iswitch_unwrap_iteration(const struct job *j, uint32_t id, uint32_t t)
{
	const struct loss_detect *g = j->members.m[id].loss_detect;

	if (!j->cf->async)
		return sums_unwrap(t, j->newest);
	return sums_unwrap(t,
	    g->t == LOSS_DETECT_NOTHING ? SUMS_EPOCH + t : g->t);
}

/*
 * If segments of member `id` in [from, upto) were lost, send a NACK to the
 * member.
 */
static inline void
iswitch_send_nack(struct iswitch *s, struct job *j, uint32_t id, uint32_t from,
    uint32_t upto)
{
	const struct member *m = &j->members.m[id];
	struct loss_detect *g = m->loss_detect;
	const struct loss_detect_view v = iswitch_member_view(j, id);
	uint8_t msg[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	const struct repair_help h = {
	    .iteration = (uint32_t)(g->t & (SEG_ITERATIONS - 1)),
	    .seen = g->mark, .last = g->last,
	    .lacks = loss_detect_list_lacking(g, &v, g->t, from, upto, room) };

	if (h.lacks.bytes == 0)
		return;
	iswitch_post_message(s, POST_ONE, j->index, &m->at, msg,
	    repair_write_help(msg, j->id, s->xid++, &h));
	j->n[JOB_NACKS]++;
}

static inline void
iswitch_detect_loss(struct iswitch *s, struct job *j, uint32_t id,
    const struct seg *g, enum job_count what)
{
	const struct loss_detect_view v = iswitch_member_view(j, id);
	struct loss_detect *loss_detect = j->members.m[id].loss_detect;
	uint32_t from, upto;
	int64_t t;

	if (loss_detect == NULL)
		return;
	t = iswitch_unwrap_iteration(j, id, g->iteration);
	if (what == JOB_DUPLICATE)
		loss_detect_duplicate(loss_detect, t, g->index);
	else if (what == JOB_ADDED && loss_detect_receive(loss_detect, &v, t,
					  g->index, &from, &upto))
		iswitch_send_nack(s, j, id, from, upto);
}

/*
 * Return the serial number of segment i in the answer of round t of an
 * asynchronous server.
 */
static inline uint32_t
iswitch_answer_serial(const struct job *j, int64_t t, uint32_t i)
{
	return (uint32_t)(t - j->start) * j->sums.s.segs + i + 1;
}

/* Return the serial number of the last result that was sent to member `id`. */
static inline uint32_t
iswitch_last_serial(const struct job *j, uint32_t id)
{
	const struct member_flow *f = &j->members.m[id].flow;

	if (j->cf->server)
		return f->has_answer
			   ? iswitch_answer_serial(j, f->answer, f->answered) -
				 1
			   : iswitch_answer_serial(j,
				 job_async_server_member(&j->server, id)->round,
				 0) -
				 1;
	return !j->cf->whole || !f->has_answer ? j->serial :
	    j->serial - (j->sums.s.segs - f->answered);
}

/* Has the switch sent member `id` all results of t? */
static inline bool
iswitch_has_sent_all(const struct job *j, uint32_t id, int64_t t)
{
	if (j->cf->server)
		return t < job_async_server_member(&j->server, id)->round &&
		    !job_answer_is_queued(j, id, t, j->sums.s.segs - 1);
	if (j->retransmit != NULL && j->cf->async)
		return iswitch_round_is_whole(j, t);
	return job_is_whole(j, t) &&
	       !job_answer_is_queued(j, id, t, j->sums.s.segs - 1);
}

/*
 * Has the switch sent the results of the segments of t in [*from, n)?  If not,
 * set *from to the first that is missing.
 */
static inline bool
iswitch_has_sent_part(const struct job *j, int64_t t, uint32_t *from,
    uint32_t n)
{
	while (*from < n && sums_is_complete(&j->sums, t, *from))
		++*from;
	return *from >= n;
}

/*
 * Send a STATE to member `id`.  The STATE lists which of the first `upto`
 * segments of iteration t were lost on the way from the member.
 */
static inline void
iswitch_send_state(struct iswitch *s, struct job *j, uint32_t id, int64_t t,
    uint32_t xid, uint32_t upto, struct repair_state *st)
{
	const struct loss_detect_view v = iswitch_member_view(j, id);
	const struct member *m = &j->members.m[id];
	uint8_t msg[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES], *p;

	st->iteration = (uint32_t)(t & (SEG_ITERATIONS - 1));
	st->mark = iswitch_last_serial(j, id);
	st->seen = m->loss_detect->mark;
	st->dups = m->loss_detect->dups;
	if (j->cf->async ? !st->notice : !st->whole && t >= m->from)
		st->lacks = loss_detect_list_lacking(
		    m->loss_detect, &v, t, 0, upto, room);
	p = repair_put_state(control_put(msg, CONTROL_ACK, j->id, xid), st);
	iswitch_post_message(s, POST_ONE, j->index, &m->at, msg,
	    (size_t)(p - msg));
	j->n[st->notice ? JOB_NOTICES : JOB_STATES]++;
}

/*
 * Return a serial number s: each result with a serial number up to s has either
 * arrived at the sender of Probe h or is lost.
 */
static inline uint32_t
iswitch_received_serial(const struct job *j, const struct repair_help *h)
{
	const int64_t t = sums_unwrap(j->cf->async ? h->last_round :
	    h->iteration, j->newest);
	uint32_t done;

	if (h->last >= j->sums.s.segs ||
	    sums_find_result(&j->sums, t, h->last) == NULL)
		return h->seen;
	done = sums_kept(&j->sums, t, h->last)->done - RETRANSMIT_SLACK;
	return control_newer(done, h->seen) ? done : h->seen;
}

/*
 * Has the result of segment i of t been dropped, so that it is no longer kept?
 */
static inline bool
iswitch_is_gone(const struct job *j, int64_t t, uint32_t i)
{
	if (t < j->start)
		return true;
	return j->sums.s.apart ? sums_kept(&j->sums, t, i)->iteration > t :
	    sums_compare(&j->sums, sums_at(&j->sums, t, i), t, i) > 0;
}

/*
 * Resend the results of t that member `id` requests, except those that are
 * still on their way.  Returns the number of results sent.
 */
static inline uint32_t
iswitch_resend_results(struct iswitch *s, struct job *j, uint32_t id, int64_t t,
    const struct repair_help *h)
{
	struct member *m = &j->members.m[id];
	const uint32_t end = h->lacks.base + 8 * h->lacks.bytes,
	    floor = iswitch_received_serial(j, h);
	uint32_t resent = 0;

	for (uint32_t i = h->lacks.base; i < end && i < j->sums.s.segs; i++) {
		const uint8_t *kept;

		if (!repair_lacks(&h->lacks, i) ||
		    job_answer_is_queued(j, id, t, i))
			continue;
		kept = sums_find_result(&j->sums, t, i);
		if (kept != NULL) {
			if (control_newer(sums_entry_of(&j->sums, kept)->done,
			    floor))
				continue;	/* the result is still on its
						 * way */
			resent += job_resend_result(j, m, kept);
		} else if (iswitch_is_gone(j, t, i)) {
			j->n[JOB_GONE]++;
			iswitch_send_status(s, &m->at, j->id, CONTROL_GONE,
			    seg_word((uint32_t)(t & (SEG_ITERATIONS - 1)), 0,
			    i));
			if (j->sums.s.span == 0)
				break;
		}
	}
	j->n[JOB_HELP_RESENT] += resent;
	return resent;
}

/*
 * Do the work of iswitch_resend_results() for an asynchronous server, which
 * sends different answers to each member.
 */
static inline uint32_t
iswitch_resend_answers(struct iswitch *s, struct job *j, uint32_t id, int64_t t,
    const struct repair_help *h)
{
	struct job_async_server_member *m =
	    job_async_server_member(&j->server, id);
	const uint32_t end = h->lacks.base + 8 * h->lacks.bytes;
	const int64_t last = sums_unwrap(h->last_round, m->round);
	uint32_t floor =
		     iswitch_answer_serial(j, last, h->last) - RETRANSMIT_SLACK,
		 n = 0;

	if (h->last >= j->sums.s.segs || last < j->start ||
	    !control_newer(floor, h->seen))
		floor = h->seen;
	for (uint32_t i = h->lacks.base; i < end && i < j->sums.s.segs; i++) {
		const uint8_t *kept =
		    job_async_server_find_packet(&j->server, m, j->start, t, i);

		if (!repair_lacks(&h->lacks, i) ||
		    job_answer_is_queued(j, id, t, i) || t >= m->round ||
		    control_newer(iswitch_answer_serial(j, t, i), floor))
			continue;
		if (kept == NULL) {
			j->n[JOB_GONE]++;
			iswitch_send_status(s, &j->members.m[id].at, j->id,
			    CONTROL_GONE, seg_word((uint32_t)(t &
			    (SEG_ITERATIONS - 1)), 0, i));
			break;
		}
		n += job_resend_answer(j, id, kept, t, i);
	}
	j->n[JOB_HELP_RESENT] += n;
	return n;
}

/*
 * Member id has sent a Probe for push k, which is before the member's newest
 * push.  Either the member was restarted and uses lower numbers, or later
 * packets have overtaken the Probe.  A mark distinguishes the two cases: if a
 * Probe for push k contains the mark, it was sent after the switch had made the
 * mark, so the member was restarted.  In that case begin at push k and return
 * true.
 */
static inline bool
iswitch_restarts_pushes(struct job *j, uint32_t id, int64_t k, uint32_t seen)
{
	struct member *m = &j->members.m[id];
	struct loss_detect *g = m->loss_detect;

	if (!g->fenced) {
		g->fenced = true;
		g->fence = ++j->serial;
		return false;
	}
	if (control_newer(g->fence, seen))
		return false;
	memset(m->pushed, 0, j->sums.s.segs * sizeof(*m->pushed));
	m->push = MEMBERS_NO_PUSH;	/* the epoch of the member may have
					 * changed as well */
	loss_detect_start(g, j->sums.s.segs, k);
	return true;
}

/*
 * Resend the results of round t that member `id` requests.  If the member lacks
 * one whole round after the other, for example because its rack was restarted,
 * resend twice as many rounds for each further Probe.  Otherwise a member on a
 * busy machine might get fewer old rounds than new rounds are completed.
 * Returns the number of results of round t that were sent.
 */
static inline uint32_t
iswitch_resend_rounds(struct iswitch *s, struct job *j, uint32_t id, int64_t t,
    const struct repair_help *h)
{
	struct member *m = &j->members.m[id];
	const uint32_t segs = j->sums.s.segs,
		       resent = iswitch_resend_results(s, j, id, t, h),
		       most = t != m->catch_up_round ? 1 :
		       2 * m->catch_up_run < MEMBERS_CATCH_UP ?
		       2 * m->catch_up_run : MEMBERS_CATCH_UP;
	uint32_t n = resent < segs ? 0 : 1;

	while (n > 0 && n < most && (n < MEMBERS_CATCH_UP_LEAST ||
	    (n + 1) * segs <= MEMBERS_CATCH_UP_MAX) &&
	    iswitch_resend_results(s, j, id, t + n, h) == segs)
		n++;
	m->catch_up_run = n;
	m->catch_up_round = t + n;
	return resent;
}

/* Answer the Probe of an asynchronous member about a push and a round. */
static inline void
iswitch_answer_probe_async(struct iswitch *s, struct job *j, uint32_t id,
    uint32_t xid, const struct repair_help *h)
{
	struct member *m = &j->members.m[id];
	const int64_t asked = iswitch_unwrap_iteration(j, id, h->iteration);
	int64_t k = asked;
	const int64_t round = sums_unwrap(h->round, j->cf->server ?
	    job_async_server_member(&j->server, id)->round : j->newest);
	struct repair_state st = {.whole = iswitch_has_sent_all(j, id, round)};

	if (m->pushed != NULL && k < m->loss_detect->t &&
	    !iswitch_restarts_pushes(j, id, k, h->seen))
		k = m->loss_detect->t; /* the STATE is about the newest push and
				        * not about push k */
	else if (h->upto > 0 && k > m->loss_detect->t)
		loss_detect_start(m->loss_detect, j->sums.s.segs, k);
	if (!st.whole) {
		m->loss_detect->owed = round;
		m->loss_detect->owed_xid = xid;
		j->wanted_round =
		    round > j->wanted_round ? round : j->wanted_round;
	}
	st.resent = j->cf->server ? iswitch_resend_answers(s, j, id, round, h) :
	    iswitch_resend_rounds(s, j, id, round, h);
	iswitch_send_state(s, j, id, k, xid,
	    asked == m->loss_detect->t ? h->upto : 0, &st);
}

/*
 * Does this rack lack room for the push that the Probe of member `id` is about?
 */
static inline bool
iswitch_lacks_room(const struct job *j, uint32_t id,
    const struct repair_help *h)
{
	const struct loss_detect_view v = iswitch_member_view(j, id);

	return j->cf->async && j->retransmit != NULL &&
	       iswitch_push_lacks_room(j, &v,
		   iswitch_unwrap_iteration(j, id, h->iteration), h->upto);
}

/*
 * Member `id` has sent the first `upto` segments of t, which is not complete.
 * Tell whether these segments are complete.  If they are not, the member gets a
 * notice when they are.
 */
static inline bool
iswitch_promise_part(struct job *j, uint32_t id, int64_t t, uint32_t upto)
{
	struct loss_detect *g = j->members.m[id].loss_detect;

	if (upto == 0 || upto >= j->sums.s.segs || job_acts_as_server(j))
		return false;
	g->owed_from = 0;
	if (iswitch_has_sent_part(j, t, &g->owed_from, upto))
		return true;
	g->owed_upto = upto;
	j->owes_part = true;
	return false;
}

static inline void
iswitch_receive_probe(struct iswitch *s, struct job *j, uint32_t id,
    uint32_t xid, const struct repair_help *h)
{
	struct member *m = &j->members.m[id];
	int64_t t = sums_unwrap(h->iteration, j->newest);
	struct repair_state st = { 0 };
	const int64_t probed = t;
	uint32_t upto = h->upto;

	if (!loss_detect_receive_probe(m->loss_detect, xid, h->mark))
		return;
	j->n[JOB_PROBES]++;
	m->loss_detect->held_upto =
	    j->open && !iswitch_lacks_room(j, id, h) ? 0 : h->upto;
	if (m->loss_detect->held_upto > 0 ||
	    (!j->open && !(j->cf->async && h->upto == 0))) {
		/* iswitch_send_notices() will answer the Probe */
		m->loss_detect->owed = t;
		m->loss_detect->owed_xid = xid;
		return;
	}
	if (j->cf->async) {
		iswitch_answer_probe_async(s, j, id, xid, h);
		return;
	}
	if (t > j->start && t > m->from && !job_is_whole(j, t - 1) &&
	    !job_is_whole(j, t)) {
		t--;		/* the member got the results of t - 1 before
				 * the switch was restarted */
		upto = j->sums.s.segs;
	}
	st.whole = iswitch_has_sent_all(j, id, t);
	if (t > m->loss_detect->t)
		loss_detect_start(m->loss_detect, j->sums.s.segs, t);
	m->loss_detect->owed_upto = 0;
	if (!st.whole) {
		m->loss_detect->owed = t;
		m->loss_detect->owed_xid = xid;
		st.whole = iswitch_promise_part(j, id, t, upto);
	}
	if (t == probed)
		st.resent = iswitch_resend_results(s, j, id, t, h);
	iswitch_send_state(s, j, id, t, xid, upto, &st);
	if (!st.whole)
		iswitch_tell_left(s, j, m);
}

static inline void
iswitch_send_notices(struct iswitch *s, struct job *j)
{
	if (!j->notify)
		return;
	j->notify = j->owes_part = false;
	for (uint32_t i = 0; i < j->members.count; i++) {
		struct repair_state st = { .whole = true, .notice = true };
		struct loss_detect *g = j->members.m[i].loss_detect;

		if (g == NULL || g->owed == LOSS_DETECT_NOTHING)
			continue;
		if (j->open && g->held_upto > 0) { /* the Probe that waits may
						    * be answered now */
			st.whole = false;
			st.notice = !j->cf->async;
			iswitch_send_state(s, j, i, g->owed, g->owed_xid,
			    g->held_upto, &st);
			g->held_upto = 0;
			if (j->cf->async)	/* in an asynchronous job, t is
						 * a push and not a round */
				g->owed = LOSS_DETECT_NOTHING;
		} else if (iswitch_has_sent_all(j, i, g->owed)) {
			iswitch_send_state(s, j, i, g->owed, g->owed_xid, 0,
			    &st);
			g->owed = LOSS_DETECT_NOTHING;
			g->owed_upto = 0;
		} else if (g->owed_upto == 0) {
			continue;
		} else if (g->high >= g->owed_upto) {
			g->owed_upto = 0; /* later results will show which
					   * results were lost */
		} else if (iswitch_has_sent_part(j, g->owed, &g->owed_from,
		    g->owed_upto)) {
			iswitch_send_state(s, j, i, g->owed, g->owed_xid, 0,
			    &st);
			g->owed_upto = 0;
		}
		j->owes_part |= g->owed_upto > 0;
	}
}

/*
 * Begin iteration t.  Its sums may be sent, and some of its results may have
 * arrived already.
 */
static inline void
iswitch_retransmit_start(struct job *j, int64_t t, uint64_t now_ns)
{
	struct retransmit *m = j->retransmit;

	j->sending = t;
	retransmit_start(m, (uint32_t)(t & (SEG_ITERATIONS - 1)), now_ns);
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		const uint32_t at = sums_at(&j->sums, t, i);

		if (sums_is_complete(&j->sums, t, i))
			retransmit_take(m, i, now_ns);
		else if (sums_compare(&j->sums, at, t, i) == 0 &&
		    j->sums.slot[at].state == SUMS_SENT_UP)
			retransmit_ready_segment(m, i);
	}
}

static inline void
iswitch_follow_parent(struct iswitch_job *job)
{
	struct job *core = &job->core;
	const int64_t begun =
	    sums_unwrap(job->parent.membership.job_next, core->newest) - 1;

	if (core->cf->async && begun > core->newest)
		core->newest = begun;
}

static inline void
iswitch_retransmit_resume(struct iswitch_job *job, uint64_t now_ns)
{
	struct job *core = &job->core;

	iswitch_follow_parent(job);
	if (!core->cf->async)
		job_repeat_from(core, job_next_iteration(core), now_ns);
	if (!job->parent.membership.repairs || core->cf->whole)
		return;
	if (core->retransmit == NULL)
		core->retransmit = calloc(1, sizeof(*core->retransmit));
	if (core->retransmit == NULL || !job_reserve(core, &core->sums.s) ||
	    !retransmit_init(core->retransmit, core->sums.s.segs, true)) {
		job_stop_retransmit(core);	/* without retransmission, Helps
						 * repair losses */
		return;
	}
	send_limits_set(&core->retransmit->limit, RETRANSMIT_WINDOW,
	    RETRANSMIT_WINDOW);
	core->retransmit->span = job->parent.membership.span;
	if (core->cf->async)
		iswitch_push_resume(core, now_ns);
	else
		iswitch_retransmit_start(core, job_next_iteration(core),
		    now_ns);
}

static inline void
iswitch_retransmit_step_back(struct job *j, uint64_t now_ns)
{
	const int64_t t = j->sending - 1;

	if (!job_can_repeat(j, t + 1))
		return;
	job_repeat_from(j, t, now_ns);
	iswitch_retransmit_start(j, t, now_ns);
}

static inline void
iswitch_retransmit_skip(struct job *j, uint32_t iteration, uint64_t now_ns)
{
	if (j->retransmit == NULL || j->cf->async ||
	    sums_unwrap(iteration, j->newest) != j->sending)
		return;
	do
		iswitch_retransmit_start(j, j->sending + 1, now_ns);
	while (retransmit_is_whole(j->retransmit));
}

static inline void
iswitch_retransmit_result(struct job *j, const struct seg *g, bool taken,
    uint64_t now_ns)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);

	if (j->retransmit == NULL || g->index >= j->sums.s.segs)
		return;
	if (j->cf->async) {
		iswitch_push_result(j, g, taken, now_ns);
		return;
	}
	if (taken && t > j->sending + 1) /* the other members of the parent are
					  * ahead */
		iswitch_retransmit_start(j, t - 1, now_ns);
	if (taken && t == j->sending + 1 && j->retransmit->upto == 0)
		/* the parent has all results of t - 1, although this rack has
		 * sent nothing since its start */
		retransmit_expect(j->retransmit, false);
	if (t != j->sending)
		return;
	if (!taken)
		retransmit_duplicate(j->retransmit, g->index);
	else
		retransmit_take(j->retransmit, g->index, now_ns);
	/* the next iteration may also be complete */
	while (retransmit_is_whole(j->retransmit))
		iswitch_retransmit_start(j, j->sending + 1, now_ns);
}

/*
 * Does slot `at` still contain the sum of this switch, and not the result of
 * the parent?
 */
static inline bool
iswitch_holds_own_sum(const struct job *j, uint32_t at)
{
	return j->sums.s.apart || j->sums.slot[at].state != SUMS_COMPLETE;
}

/*
 * Send the sums that may be sent to the parent, and a Probe if results are
 * missing.
 */
static inline void
iswitch_retransmit_send(struct iswitch *s, struct iswitch_job *job,
    uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	struct job *core = &job->core;
	struct repair_help h;
	uint32_t first = 0, n;
	bool again;

	if (!iswitch_may_retransmit(job))
		return;
	if (core->cf->async)
		iswitch_push_advance(core, now_ns);
	while ((n = retransmit_next_run(core->retransmit, core->sums.s.segs,
		    &first, &again, now_ns)) > 0) {
		for (uint32_t k = first; k < first + n; k++) {
			const uint32_t at =
			    sums_at(&core->sums, core->sending, k);

			if (sums_slot_index(&core->sums, at) == k &&
			    iswitch_holds_own_sum(core, at))
				job_send_up(core, at);
		}
	}
	if (!retransmit_probe_is_due(core->retransmit, now_ns))
		return;
	retransmit_fill_probe(core->retransmit, s->xid, &h, room, now_ns);
	if (core->cf->async)
		iswitch_push_ask_round(core, &h, room);
	iswitch_post_message(s, POST_PARENT, core->index, NULL, msg,
	    repair_write_help(msg, core->id, s->xid++, &h));
}

static inline void
iswitch_finish_event(struct iswitch *s, struct iswitch_job *job,
    uint64_t now_ns)
{
	iswitch_send_notices(s, &job->core);
	if (job->parent.went_back)	/* the Join may have been answered
					 * before the job went back */
		membership_join(&job->parent.membership, now_ns);
	iswitch_retransmit_send(s, job, now_ns);
	iswitch_note_deadline(s, job);
}

#endif
