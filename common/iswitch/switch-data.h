/*
 * switch-data.h - data packets at an aggregation switch
 *
 * This file finds the member that sent a segment, checks the authentication
 * tag, passes the segment to the job (job-segments.h) and answers the sender
 * (iSwitch, sections 3.2 to 3.4).
 */
#ifndef INNET_ISWITCH_SWITCH_DATA_H
#define INNET_ISWITCH_SWITCH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/iswitch/job-segments.h"
#include "common/iswitch/switch-join.h"
#include "common/iswitch/switch-repair.h"

/*
 * Process the segment of len bytes at p, which came from the address `from`.
 * The sender need not be a member.
 */
static inline void iswitch_receive_segment(struct iswitch *s,
    const union addr *from, uint8_t tos, const uint8_t *p, size_t len,
    uint64_t now_ns);

/*
 * Does the result at p, which came from the parent, have the right ToS byte and
 * a correct authentication tag?
 */
static inline bool iswitch_accepts_result(struct iswitch_job *job, uint8_t tos,
    const uint8_t *p, size_t len);

/*
 * Post one run of the queued answers of one job.  Returns false if no answer is
 * queued.
 */
static inline bool iswitch_send_backlog(struct iswitch *s);

/* Can there be queued answers? */
static inline bool iswitch_has_backlog(const struct iswitch *s);

/* implementation */

/*
 * Is the tag of the segment of len bytes at p, which came from member m,
 * correct under `epoch`?
 */
static inline bool
iswitch_tag_is_good(struct job *j, const struct member *m, uint32_t epoch,
    const uint8_t *p, size_t len)
{
	return tag_segment_good(j->tag_key, tag_head(TAG_UP, j->id, epoch,
	    m->cookie), p, len);
}

/*
 * Is the tag of segment g correct?  g is the first segment of member m that
 * arrives.  The epoch of its tag need not be that of the newest Ack: the rounds
 * of the job may have entered the next epoch before that Ack was sent, and the
 * pushes of the member may have wrapped around since its first push.
 */
static inline bool
iswitch_accepts_first_push(struct job *j, struct member *m,
    const struct seg *g, const uint8_t *p, size_t len)
{
	const uint32_t from = m->push_epoch > 0 ? m->push_epoch - 1 : 0;

	for (uint32_t epoch = from; epoch <= m->push_epoch + 1; epoch++) {
		if (iswitch_tag_is_good(j, m, epoch, p, len)) {
			m->push = (int64_t)epoch << 24 | g->iteration;
			return true;
		}
	}
	return false;
}

/*
 * Does segment g have the ToS byte that member m must use, and a correct
 * authentication tag?
 */
static inline bool
iswitch_accepts_segment(struct job *j, struct member *m, uint8_t tos,
    const struct seg *g, const uint8_t *p, size_t len)
{
	const bool pushes = j->cf->async;
	int64_t t;

	if (!j->cf->tagged || j->cf->accepts_any_tag)
		return (tos & 0xfc) == job_tos(j);
	if ((tos & 0xfc) != SEG_TAGGED_TOS)
		return false;
	if (pushes && m->push == MEMBERS_NO_PUSH)
		return iswitch_accepts_first_push(j, m, g, p, len);
	t = pushes ? seg_unwrap(g->iteration, m->push) :
	    sums_unwrap(g->iteration, j->newest);
	if (!iswitch_tag_is_good(j, m, pushes ? (uint32_t)(t >> 24) :
	    job_epoch(t), p, len))
		return false;
	if (pushes && t > m->push)
		m->push = t;
	return true;
}

/*
 * May the switch tell an unknown source that it is not a member?  The source
 * address may be forged, so the switch answers only rarely, and its answer is
 * never longer than the segment.
 */
static inline bool
iswitch_may_reply(struct iswitch *s, const union addr *from, size_t len,
    uint64_t now_ns)
{
	return (len >= CONTROL_HEADER_BYTES + 2 + 8 ||
	    addr_is_loopback(from) || s->cf.any_xid) &&
	    rate_limit_allow_repeat(s->rate_limit, from, now_ns);
}

/* Process a segment.  Returns the job of the segment, or NULL. */
static inline struct iswitch_job *
iswitch_process_segment(struct iswitch *s, const union addr *from, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	const struct iswitch_ref *ref = iswitch_find_address(s, from);
	struct iswitch_help_sender asking;
	enum job_count what;
	struct seg g;
	bool gone;
	struct job *j;

	if (!seg_parse_as(tos, p, len, &g)) {
		s->n[ISWITCH_BAD_SEGMENT]++;
		return NULL;
	}
	if (ref == NULL && s->cf.implicit > 0)
		ref = iswitch_add_implicit_member(s, from, &g);
	if (ref == NULL) {
		s->n[ISWITCH_FOREIGN]++;
		if (iswitch_may_reply(s, from, len, now_ns))
			iswitch_send_status(s, from, 0, CONTROL_NOT_MEMBER,
			    bytes_get(p, 8));
		return NULL;
	}
	j = &s->job[ref->job]->core;
	if (!iswitch_accepts_segment(j, &j->members.m[ref->member], tos, &g, p,
	    len)) {
		j->n[JOB_BAD_TAG]++;
		return NULL;
	}
	member_note_packet(&j->members.m[ref->member], now_ns);
	/*
	 * A late segment from a process that has ended must not confirm the
	 * member.
	 */
	if (j->members.m[ref->member].loss_detect == NULL)
		member_confirm(&j->members.m[ref->member], now_ns);
	if (j->halted) {
		j->n[JOB_SEGMENTS]++;
		j->n[JOB_HALTED]++;
		iswitch_send_action(s, POST_ONE, j, from, CONTROL_HALT, NULL);
		return NULL;
	}
	what = job_receive_segment(j, ref->member, &g, now_ns, &gone);
	iswitch_detect_loss(s, j, ref->member, &g, what);
	if (what == JOB_ADDED && job_acts_as_server(j) &&
	    j->members.m[ref->member].loss_detect == NULL) {
		asking = (struct iswitch_help_sender){ s, j };
		job_ask_more(j, ref->member, iswitch_send_help, &asking);
	}
	if (gone) {
		j->n[JOB_GONE]++;
		iswitch_send_status(s, from, j->id, CONTROL_GONE,
		    bytes_get(p, 8));
	}
	return s->job[ref->job];
}

static inline void
iswitch_receive_segment(struct iswitch *s, const union addr *from, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	struct iswitch_job *job =
	    iswitch_process_segment(s, from, tos, p, len, now_ns);

	if (job != NULL)
		iswitch_finish_event(s, job, now_ns);
}

static inline bool
iswitch_accepts_result(struct iswitch_job *job, uint8_t tos, const uint8_t *p,
    size_t len)
{
	if (!job->parent.membership.cf.tagged)
		return (tos & 0xfc) == SEG_TOS;
	return job->core.cf->accepts_any_tag ||
	    segment_tag_check(&job->parent.membership.tags, tos, p, len);
}

static inline bool
iswitch_send_backlog(struct iswitch *s)
{
	for (uint32_t k = 0; k < s->jobs; k++) {
		struct iswitch_job *job;

		s->backlog_turn = (s->backlog_turn + 1) % s->jobs;
		job = s->job[s->backlog_turn];
		if (job_send_backlog(&job->core)) {
			iswitch_send_notices(s, &job->core);
			iswitch_note_deadline(s, job);
			return true;
		}
	}
	return false;
}

static inline bool
iswitch_has_backlog(const struct iswitch *s)
{
	for (uint32_t k = 0; k < s->jobs; k++) {
		if (s->job[k]->core.has_backlog)
			return true;
	}
	return false;
}

#endif
