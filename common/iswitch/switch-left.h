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
 * All workers of a hierarchy get the same message.  A rack first tells only its
 * parent, and repeats that with each Probe of its members.  The top switch
 * keeps the first message that it gets, and sends it to all of its members.  So
 * does each switch that gets it from its parent.  Later, it answers each Probe
 * with the message until a member joins or a sum is complete.  If the parent
 * does not answer within ISWITCH_ANSWER_NS, the rack tells its members itself.
 */
#ifndef INNET_ISWITCH_SWITCH_LEFT_H
#define INNET_ISWITCH_SWITCH_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job-segments.h"
#include "common/iswitch/switch.h"

#define ISWITCH_ANSWER_NS ((uint64_t)1500000000)	/* time in which the
							 * parent answers */
#define ISWITCH_LEFT_NS ((uint64_t)500000000)	/* a member that has left may
						 * join again in this time */

/* Is no sum of the job possible before another member joins? */
static inline bool iswitch_is_short(const struct job *j);

/*
 * Member m waits for a sum.  If no sum is possible, tell the member, the parent
 * or both.
 */
static inline void iswitch_tell_left(struct iswitch *s, struct job *j,
    const struct member *m);

/*
 * Keep a Left message of rack `from`, or of the parent if `from` is NULL, and
 * pass it on.
 */
static inline void iswitch_pass_left(struct iswitch *s, struct job *j,
    const struct member *from, const struct control_left *left,
    uint64_t now_ns);

/* A new member has joined, so a sum may be possible again. */
static inline void iswitch_forget_left(struct iswitch_job *job);

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

/* Must the parent be told first? */
static inline bool
iswitch_tells_parent(const struct iswitch_job *job,
    const struct iswitch_departure *d)
{
	return !d->from_parent && job->parent.wanted &&
	    job->parent.membership.cf.wants_left;
}

/*
 * Send d to member m if the member asks for it, or to the parent if m is NULL.
 */
static inline void
iswitch_send_left(struct iswitch *s, const struct job *j,
    const struct member *m, const struct iswitch_departure *d, uint64_t now_ns)
{
	struct control_left left = d->left;
	uint8_t msg[CONTROL_MAX_BYTES], *p;

	if (m != NULL && !(m->present && m->wants_left))
		return;
	left.ago_ms += (uint32_t)((now_ns - d->since_ns) / 1000000);
	p = control_put_left(control_put(msg, CONTROL_LEFT, j->id, s->xid++),
	    &left);
	iswitch_post_message(s, m != NULL ? POST_ONE : POST_PARENT, j->index,
	    m != NULL ? &m->at : NULL, msg, (size_t)(p - msg));
}

/* Does the switch keep a Left message that is still true? */
static inline bool
iswitch_knows_left(const struct iswitch_job *job)
{
	return job->left.known &&
	    job->left.results == job_count_results(&job->core);
}

static inline void
iswitch_forget_left(struct iswitch_job *job)
{
	job->left.known = false;
}

static inline void
iswitch_pass_left(struct iswitch *s, struct job *j, const struct member *from,
    const struct control_left *left, uint64_t now_ns)
{
	struct iswitch_departure *d = &s->job[j->index]->left;
	const bool is_news = !iswitch_knows_left(s->job[j->index]) ||
	    (from == NULL && !d->from_parent);

	if (is_news)
		*d = (struct iswitch_departure){ .known = true,
		    .from_parent = from == NULL, .since_ns = now_ns,
		    .results = job_count_results(j), .left = *left };
	if (iswitch_tells_parent(s->job[j->index], d)) {
		iswitch_send_left(s, j, NULL, d, now_ns);
	} else if (is_news) {
		for (uint32_t i = 0; i < j->members.count; i++)
			iswitch_send_left(s, j, &j->members.m[i], d, now_ns);
	} else if (from != NULL) {
		iswitch_send_left(s, j, from, d, now_ns);
	}
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

/*
 * Set *d to the member of job j whose absence makes sums impossible.  Returns
 * false if there is none.
 */
static inline bool
iswitch_find_departure(const struct job *j, struct iswitch_departure *d,
    uint64_t now_ns)
{
	const struct member *gone = iswitch_find_first_left(j);

	if (!iswitch_is_short(j) || gone == NULL ||
	    now_ns < gone->gone_ns + ISWITCH_LEFT_NS)
		return false;
	*d = (struct iswitch_departure){ .since_ns = gone->gone_ns +
	    ISWITCH_LEFT_NS, .left = { .type = gone->type,
	    .evicted = gone->evicted, .h = j->h,
	    .members = (uint16_t)j->members.present, .worker = gone->worker,
	    .ago_ms = (uint32_t)(ISWITCH_LEFT_NS / 1000000),
	    .port = addr_port(&gone->at) } };
	addr_bytes(&gone->at, d->left.address);
	return true;
}

static inline void
iswitch_tell_left(struct iswitch *s, struct job *j, const struct member *m)
{
	const struct iswitch_job *job = s->job[j->index];
	struct iswitch_departure d = job->left;
	const uint64_t now_ns = m->last_packet_ns;
	bool waits;

	if (!m->wants_left || (!iswitch_knows_left(job) &&
	    !iswitch_find_departure(j, &d, now_ns)))
		return;
	waits = iswitch_tells_parent(job, &d);
	if (waits)
		iswitch_send_left(s, j, NULL, &d, now_ns);
	if (!waits || now_ns >= d.since_ns + ISWITCH_ANSWER_NS)
		iswitch_send_left(s, j, m, &d, now_ns);
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
