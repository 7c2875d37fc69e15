/*
 * switch-data.h - data packets at an aggregation switch
 *
 * Finds the job of a member's segment, checks its authentication tag, lets the
 * job process it (job-segments.h) and answers the sender: iSwitch sections 3.2
 * to 3.4.
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
 * Has the segment g, of len bytes at p, the form that member m must send, and
 * a proof that it is m's, of now?
 */
static inline bool
iswitch_believes(struct job *j, struct member *m, uint8_t tos,
    const struct seg *g, const uint8_t *p, size_t len)
{
	const bool pushes = j->cf->async;
	uint32_t epoch = m->push_epoch;
	int64_t t;

	if (!j->cf->tagged || j->cf->accepts_any_tag)
		return (tos & 0xfc) == job_tos(j);
	if ((tos & 0xfc) != SEG_TAGGED_TOS)
		return false;
	t = !pushes ? sums_unwrap(g->iteration, j->newest) :
	    m->push == MEMBERS_NO_PUSH ? (int64_t)epoch << 24 | g->iteration :
	    seg_unwrap(g->iteration, m->push);
	epoch = pushes ? (uint32_t)(t >> 24) : job_epoch(t);
	if (!tag_segment_good(j->proof, tag_head(TAG_UP, j->id, epoch,
	    m->cookie), p, len))
		return false;
	if (pushes && t > m->push)
		m->push = t;
	return true;
}

/*
 * May who is no member be told so, for a segment of len bytes?  Not often, and
 * elsewhere not with more bytes: who sent it may be another.
 */
static inline bool
iswitch_may_tell(struct iswitch *s, const union addr *from, size_t len,
    uint64_t now_ns)
{
	return (len >= CONTROL_HEADER_BYTES + 2 + 8 ||
	    addr_is_loopback(from) || s->cf.any_xid) &&
	    rate_limit_allow_repeat(s->rate_limit, from, now_ns);
}

/* A segment from a member, or from somebody who is none: its job, or NULL. */
static inline struct iswitch_job *
iswitch_segment(struct iswitch *s, const union addr *from, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	const struct iswitch_ref *who = iswitch_who(s, from);
	struct iswitch_asking asking;
	enum job_count what;
	struct seg g;
	bool gone;
	struct job *j;

	if (!seg_parse_as(tos, p, len, &g)) {
		s->n[ISWITCH_BAD_SEGMENT]++;
		return NULL;
	}
	if (who == NULL && s->cf.implicit > 0)
		who = iswitch_imply(s, from, &g);
	if (who == NULL) {
		s->n[ISWITCH_FOREIGN]++;
		if (iswitch_may_tell(s, from, len, now_ns))
			iswitch_tell(s, from, 0, CONTROL_NOT_MEMBER,
			    bytes_get(p, 8));
		return NULL;
	}
	j = &s->job[who->job]->j;
	if (!iswitch_believes(j, &j->members.m[who->member], tos, &g, p,
	    len)) {
		j->n[JOB_BAD_PROOF]++;
		return NULL;
	}
	member_heard(&j->members.m[who->member], now_ns);
	j->members.m[who->member].alive = true;
	if (j->halted) {
		j->n[JOB_SEGMENTS]++;
		j->n[JOB_HALTED]++;
		iswitch_say(s, POST_ONE, j, from, CONTROL_HALT, NULL);
		return NULL;
	}
	what = job_segment(j, who->member, &g, now_ns, &gone);
	iswitch_repair(s, j, who->member, &g, what);
	if (what == JOB_ADDED && job_flows(j) &&
	    j->members.m[who->member].loss_detect == NULL) {
		asking = (struct iswitch_asking){ s, j };
		job_ask_on(j, who->member, iswitch_ask, &asking);
	}
	if (gone) {
		j->n[JOB_GONE]++;
		iswitch_tell(s, from, j->id, CONTROL_GONE, bytes_get(p, 8));
	}
	return s->job[who->job];
}

/* A segment from a member, or from somebody who is none. */
static inline void
iswitch_take_segment(struct iswitch *s, const union addr *from, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	struct iswitch_job *j = iswitch_segment(s, from, tos, p, len, now_ns);

	if (j != NULL)
		iswitch_follow(s, j, now_ns);
}

/* Has the parent's result the form that it must have, and a good proof? */
static inline bool
iswitch_believes_parent(struct iswitch_job *j, uint8_t tos, const uint8_t *p,
    size_t len)
{
	if (!j->up.as.cf.tagged)
		return (tos & 0xfc) == SEG_TOS;
	return j->j.cf->accepts_any_tag ||
	    segment_tag_check(&j->up.as.tags, tos, p, len);
}

/*
 * Post a run of answers that servers owe to their members, in turn; false if
 * none is owed.  For a driver that has room for it: iswitch_owes().
 */
static inline bool
iswitch_give(struct iswitch *s)
{
	for (uint32_t k = 0; k < s->jobs; k++) {
		s->turn = (s->turn + 1) % s->jobs;
		if (job_give(&s->job[s->turn]->j)) {
			iswitch_notices(s, &s->job[s->turn]->j);
			return true;
		}
	}
	return false;
}

/* May there be any? */
static inline bool
iswitch_owes(const struct iswitch *s)
{
	for (uint32_t k = 0; k < s->jobs; k++) {
		if (s->job[k]->j.giving)
			return true;
	}
	return false;
}

#endif
