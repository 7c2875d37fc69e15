/*
 * switch-left.h - tell members that others have left and that their sums cannot
 * be completed
 *
 * If a job has a fixed number of members H, and fewer members remain, no sum
 * can be completed until another member joins.  Most workers wait, because a
 * replacement may join.  A member can ask in its Join to be told (wants_left).
 * The switch then sends it a Left message when a member leaves while it waits
 * for a sum, and after each Probe about segments that are not complete.  So the
 * message may be lost.
 *
 * A rack also tells its parent, and each switch passes a Left message on to
 * its other members.  So the message reaches all workers of a hierarchy.
 */
#ifndef INNET_ISWITCH_SWITCH_LEFT_H
#define INNET_ISWITCH_SWITCH_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch.h"

/* Is no sum of the job possible before another member joins? */
static inline bool iswitch_is_short(const struct job *j);

/*
 * Member m waits for a sum.  If no sum is possible, tell the member and the
 * parent.
 */
static inline void iswitch_tell_left(struct iswitch *s, struct job *j,
    const struct member *m, uint64_t now_ns);

/* A member has left.  Tell all members that wait for a sum. */
static inline void iswitch_tell_all_left(struct iswitch *s, struct job *j,
    uint64_t now_ns);

/*
 * Pass a Left message on: to all members but `from`, and to the parent unless
 * the message came from there (`from` is NULL).
 */
static inline void iswitch_pass_left(struct iswitch *s, struct job *j,
    const struct member *from, const struct control_left *left);

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
 * Write which member of the job, which is short, left first.  The others may
 * have left because of it.
 */
static inline void
iswitch_describe_left(const struct iswitch *s, const struct job *j,
    uint64_t now_ns, struct control_left *left)
{
	const struct member *gone =
	    &j->members.m[s->job[j->index]->first_left];

	*left = (struct control_left){ .type = gone->type,
	    .evicted = gone->evicted, .h = j->h,
	    .members = (uint16_t)j->members.present, .worker = gone->worker,
	    .ago_ms = now_ns < gone->gone_ns ? 0 :
	    (uint32_t)((now_ns - gone->gone_ns) / 1000000),
	    .port = addr_port(&gone->at) };
	addr_bytes(&gone->at, left->address);
}

static inline void
iswitch_tell_left(struct iswitch *s, struct job *j, const struct member *m,
    uint64_t now_ns)
{
	const struct iswitch_job *job = s->job[j->index];
	const struct iswitch_parent *up = &job->parent;
	struct control_left left;

	if (!m->wants_left || !iswitch_is_short(j) ||
	    j->members.m[job->first_left].present)	/* H was raised */
		return;
	iswitch_describe_left(s, j, now_ns, &left);
	iswitch_send_left(s, j, m, &left);
	if (up->wanted && up->membership.cf.wants_left)
		iswitch_send_left(s, j, NULL, &left);
}

static inline void
iswitch_tell_all_left(struct iswitch *s, struct job *j, uint64_t now_ns)
{
	for (uint32_t i = 0; i < j->members.count; i++) {
		const struct member *m = &j->members.m[i];

		if (m->present && m->loss_detect != NULL &&
		    m->loss_detect->owed != LOSS_DETECT_NOTHING)
			iswitch_tell_left(s, j, m, now_ns);
	}
}

#endif
