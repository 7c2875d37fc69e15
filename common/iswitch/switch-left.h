/*
 * switch-left.h - the H that a Join names, and messages to members whose sums
 * cannot be completed, because others have left
 *
 * If a job has a fixed number of members H, and fewer members remain, no sum
 * can be completed until another member joins.  Most workers wait, because a
 * replacement may join.  A member can ask in its Join for a message
 * (wants_left).  The switch then sends it a Left after each Probe about
 * segments that are not complete, from half a second after the other member has
 * left.  A member that only joins again is back by then.
 *
 * A rack also tells its parent, and each switch passes a Left message on to
 * its other members.  So the message reaches all workers of a hierarchy.
 */
#ifndef INNET_ISWITCH_SWITCH_LEFT_H
#define INNET_ISWITCH_SWITCH_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch.h"

#define ISWITCH_LEFT_NS ((uint64_t)500000000)	/* a member that has left may
						 * join again in this time */

/* Is no sum of the job possible before another member joins? */
static inline bool iswitch_is_short(const struct job *j);

/*
 * Member m waits for a sum.  If no sum is possible, tell the member and the
 * parent.
 */
static inline void iswitch_tell_left(struct iswitch *s, struct job *j,
    const struct member *m, uint64_t now_ns);

/*
 * Pass a Left message on: to all members but `from`, and to the parent unless
 * the message came from there (`from` is NULL).
 */
static inline void iswitch_pass_left(struct iswitch *s, struct job *j,
    const struct member *from, const struct control_left *left);

/*
 * May a Join name this H?  If not, write the reason into the Ack.  A switch
 * with a parent ignores H.
 */
static inline bool iswitch_may_name_h(struct iswitch *s,
    const struct iswitch_job *job, const struct control_join *join,
    struct control_ack *a);

/*
 * A member asks for Left messages.  Ask the parent for them, unless this rack
 * has done so already.
 */
static inline void iswitch_ask_for_left(struct iswitch_job *job,
    uint64_t now_ns);

/* implementation */

static inline bool
iswitch_is_short(const struct job *j)
{
	return j->open && !j->cf->async && j->h != 0 &&
	    j->members.present < j->h;
}

/* Send a Left to member m, or to the parent if m is NULL. */
static inline void
iswitch_send_left(struct iswitch *s, const struct job *j,
    const struct member *m, const struct control_left *left)
{
	uint8_t msg[CONTROL_MAX_BYTES], *p;

	p = control_put_left(control_put(msg, CONTROL_LEFT, j->id, s->xid++),
	    left);
	iswitch_post_message(s, m != NULL ? POST_ONE : POST_PARENT, j->index,
	    m != NULL ? &m->at : NULL, msg, (size_t)(p - msg));
}

static inline void
iswitch_pass_left(struct iswitch *s, struct job *j, const struct member *from,
    const struct control_left *left)
{
	const struct iswitch_parent *up = &s->job[j->index]->parent;

	for (uint32_t i = 0; i < j->members.count; i++) {
		const struct member *m = &j->members.m[i];

		if (m->present && m->wants_left && m != from)
			iswitch_send_left(s, j, m, left);
	}
	if (from != NULL && up->wanted && up->membership.cf.wants_left)
		iswitch_send_left(s, j, NULL, left);
}

/*
 * Return the member that left first, or NULL.  The others may have left because
 * of it.
 */
static inline const struct member *
iswitch_find_first_left(const struct job *j)
{
	const struct member *first = NULL;

	for (uint32_t i = 0; i < j->members.count; i++) {
		const struct member *m = &j->members.m[i];

		if (!m->present && m->gone_ns > 0 &&
		    (first == NULL || m->gone_ns < first->gone_ns))
			first = m;
	}
	return first;
}

static inline void
iswitch_tell_left(struct iswitch *s, struct job *j, const struct member *m,
    uint64_t now_ns)
{
	const struct iswitch_parent *up = &s->job[j->index]->parent;
	const struct member *gone;
	struct control_left left;

	if (!m->wants_left || !iswitch_is_short(j))
		return;
	gone = iswitch_find_first_left(j);
	if (gone == NULL || now_ns < gone->gone_ns + ISWITCH_LEFT_NS)
		return;
	left = (struct control_left){ .type = gone->type,
	    .evicted = gone->evicted, .h = j->h,
	    .members = (uint16_t)j->members.present, .worker = gone->worker,
	    .ago_ms = (uint32_t)((now_ns - gone->gone_ns) / 1000000),
	    .port = addr_port(&gone->at) };
	addr_bytes(&gone->at, left.address);
	iswitch_send_left(s, j, m, &left);
	if (up->wanted && up->membership.cf.wants_left)
		iswitch_send_left(s, j, NULL, &left);
}

static inline bool
iswitch_may_name_h(struct iswitch *s, const struct iswitch_job *job,
    const struct control_join *join, struct control_ack *a)
{
	const uint32_t least = reduce_needs(&s->cf.job.reduce, join->h),
	    h = job->named_h != 0 ? job->named_h : job->core.h;

	if (join->h == 0 || s->cf.job.child)
		return true;
	if (join->h > MEMBERS_MAX)
		iswitch_put_reason(s, a, "a job has at most %d members",
		    MEMBERS_MAX);
	else if (join->h < least)
		iswitch_put_reason(s, a, "its --reduce needs at least %u "
		    "members, and this worker expects %u", least, join->h);
	else if (job_has_memory(&job->core) && join->h != h)
		iswitch_put_reason(s, a, "it has %u members, and this worker "
		    "expects %u", h != 0 ? h : job->core.members.present,
		    join->h);
	else
		return true;
	return false;
}

static inline void
iswitch_ask_for_left(struct iswitch_job *job, uint64_t now_ns)
{
	struct membership *up = &job->parent.membership;

	if (!job->parent.wanted || up->cf.wants_left)
		return;
	up->cf.wants_left = true;
	membership_join(up, now_ns);
}

#endif
