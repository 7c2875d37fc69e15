/*
 * switch-segments.h - a segment at an aggregation switch
 *
 * Whose it is, what its job makes of it (job-segments.h), and what its sender
 * is told: iSwitch sections 3.2 to 3.4.
 */
#ifndef INNET_ISWITCH_SWITCH_SEGMENTS_H
#define INNET_ISWITCH_SWITCH_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/iswitch/switch-repair.h"

/* Without Joins (--members): a new source is a member of job 1. */
static inline struct iswitch_ref *
iswitch_imply(struct iswitch *s, const union addr *from, const struct seg *g)
{
	struct iswitch_job *j = iswitch_make_job(s, 1);
	uint32_t id, number = 0;

	if (j == NULL || j->j.members.count >= s->cf.implicit)
		return NULL;
	if (!job_has_memory(&j->j)) {
		if (iswitch_found(s, j, g->n, g->n, g->iteration) !=
		    CONTROL_DONE)
			return NULL;
		j->j.h = s->cf.job.h != 0 ? s->cf.job.h :
		    (uint16_t)s->cf.implicit;
		j->j.grows = j->j.open = true;
		j->j.check_ns = UINT64_MAX;	/* nobody times out */
	}
	while (members_find(&j->j.members, CONTROL_WORKER, number) !=
	    MEMBERS_NONE)
		number++;	/* not one that has joined */
	id = members_place(&j->j.members, CONTROL_WORKER, number);
	if (id == MEMBERS_NONE || !iswitch_seat(j, id, false) ||
	    !iswitch_bind(s, from, j->j.self, id))
		return NULL;
	j->j.members.m[id].at = *from;
	members_enter(&j->j.members, id, j->j.start);
	return iswitch_who(s, from);
}

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
	    rate_limit_tell(s->rate_limit, from, now_ns);
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

#endif
