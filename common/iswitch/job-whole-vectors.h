/*
 * job-whole-vectors.h - a server of whole vectors and the one link that all
 * share
 *
 * N vectors at once are more than the link to a server, and its queue, can
 * take, and so are N answers.  Answers leave member by member, as fast as the
 * driver finds room (job_give): who has its own sends the next vector while
 * the link's other way carries the answers of those behind.  What was lost of a
 * vector on its way in is asked for when its sender has been silent for a
 * while, so many segments at a time and more as they come (Help): they are
 * clocked by the link. Pure: time is an argument.
 */
#ifndef INNET_ISWITCH_JOB_WHOLE_VECTORS_H
#define INNET_ISWITCH_JOB_WHOLE_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job.h"

enum {
	JOBFLOW_RUN_BYTES = 60000,	/* to one member in a turn */
	JOBFLOW_ASKS = 16,		/* of one member at a time, at first */
	JOBFLOW_ASKS_LEAST = 4,
	JOBFLOW_ASKS_MOST = 128,
	JOBFLOW_ASKS_ALL = 512		/* of all members, at most */
};

/* Ask member m for the segment `word`. */
typedef void job_ask(void *ctx, const struct member *m, uint64_t word);

/* Does job j have such a link to care for? */
static inline bool
job_flows(const struct job *j)
{
	return j->cf->whole || j->cf->server;
}

/* Write the packet of segment i of an answer to member id; the round. */
static inline uint64_t
job_post_served(struct job *j, uint32_t id, const uint8_t *p, uint32_t i)
{
	return outbox_add(j->out, POST_ONE, j->self, &j->members.m[id].at,
	    job_tos(j), p, j->ps.head + 4 * seg_floats_at(j->ps.elements,
	    j->ps.floats, i));
}

/* The result g is there, and member id is yet to be given it: no resending. */
static inline bool
job_coming(const struct job *j, uint32_t id, int64_t t, uint32_t i)
{
	const struct member_flow *f = &j->members.m[id].flow;

	return job_flows(j) && f->gives && (t > f->give ||
	    (t == f->give && i >= f->given));
}

/* Member id of a server is to be given the answer of round t. */
static inline void
job_owe(struct job *j, uint32_t id, int64_t t)
{
	struct member_flow *f = &j->members.m[id].flow;

	if (f->gives)
		return;			/* after those before it */
	f->gives = true;
	f->give = t;
	f->given = 0;
	j->giving = true;
}

/* Where the next segment to give to member id is; NULL: there is none. */
static inline const uint8_t *
job_owed(const struct job *j, uint32_t id)
{
	const struct member *m = &j->members.m[id];
	const struct job_async_server_member *s =
	    job_async_server_member(&j->ps, id);

	if (!m->present || !m->flow.gives)
		return NULL;
	return !j->cf->server ? sums_result(&j->a, m->flow.give,
	    m->flow.given) : s == NULL ? NULL : job_async_server_kept(&j->ps, s,
	    j->start, m->flow.give, m->flow.given);
}

/* Post the next run to member id; how many segments. */
static inline uint32_t
job_give_one(struct job *j, uint32_t id)
{
	struct member_flow *f = &j->members.m[id].flow;
	const uint32_t most = JOBFLOW_RUN_BYTES / j->a.stride + 1;
	const uint8_t *p;
	uint32_t n;

	for (n = 0; n < most && (p = job_owed(j, id)) != NULL; n++) {
		if (j->cf->server)
			job_async_server_member(&j->ps, id)->posted[f->give %
			    JOB_ASYNC_SERVER_KEPT] =
			    job_post_served(j, id, p, f->given);
		else
			sums_kept_at(&j->a, p)->posted = outbox_add(j->out,
			    POST_ONE, j->self, &j->members.m[id].at,
			    job_tos(j), p, sums_result_bytes(&j->a, p));
		if (++f->given < j->a.s.segs)
			continue;
		f->given = 0;
		f->give++;
		f->gives = j->cf->server;
		j->news = true;		/* it has its answer, all of it */
	}
	f->gives = f->gives && p != NULL;
	return n;
}

/*
 * Post a run to the member whose turn it is, until it has its answer whole;
 * false if none is owed one.
 */
static inline bool
job_give(struct job *j)
{
	for (uint32_t k = 0; j->giving && k < j->members.count; k++) {
		const uint32_t id = (j->turn + k) % j->members.count;

		if (job_give_one(j, id) == 0)
			continue;
		j->turn = (id + (job_owed(j, id) == NULL)) %
		    j->members.count;
		return true;
	}
	j->giving = false;
	return false;
}

/* The iteration whose vectors are being gathered. */
static inline int64_t
job_gathers(const struct job *j)
{
	return j->newest < j->start ? j->start :
	    sums_result(&j->a, j->newest, 0) != NULL ? j->newest + 1 :
	    j->newest;
}

/* Does the vector of member id lack segment i? */
static inline bool
job_lacks(const struct job *j, uint32_t id, int64_t t, uint32_t i)
{
	const uint32_t at = sums_at(&j->a, t, i);
	const struct sums_slot *s = &j->a.slot[at];

	if (j->cf->server)
		return !job_async_server_member(&j->ps, id)->have[i];
	return s->state == SUMS_EMPTY || s->iteration != t ||
	    (s->state == SUMS_FILLING && !sums_has(&j->a, at, id));
}

/* Has member id begun a vector, of iteration *t, that may lack something? */
static inline bool
job_begun(const struct job *j, uint32_t id, int64_t *t)
{
	const struct member *m = &j->members.m[id];
	const struct job_async_server_member *s =
	    job_async_server_member(&j->ps, id);

	if (!m->present || !m->flow.sends || !j->open || j->halted)
		return false;
	*t = j->cf->server && s != NULL ? s->push : m->flow.send;
	return !j->cf->server ? m->flow.send == job_gathers(j) :
	    s != NULL && s->pushed && s->got < j->ps.segs;
}

/* Ask member id on, as far as its credit goes; false if nothing is lacking. */
static inline bool
job_ask_on(struct job *j, uint32_t id, job_ask *ask, void *ctx)
{
	struct member *m = &j->members.m[id];
	struct member_flow *f = &m->flow;
	int64_t t;

	if (!job_begun(j, id, &t))
		return false;
	for (; f->asked < j->a.s.segs && f->out < f->credit; f->asked++) {
		if (!job_lacks(j, id, t, f->asked))
			continue;
		ask(ctx, m, seg_word((uint32_t)t & (SEG_ITERATIONS - 1), 0,
		    f->asked));
		j->n[JOB_HELP_ASKED]++;
		f->out++;
	}
	return f->out > 0;
}

/* Look at member id again when it has been silent for so long. */
static inline void
job_watch(struct job *j, struct member_flow *f, uint64_t now_ns)
{
	f->deadline_ns = now_ns + loss_timer_ns(&f->pause, f->vain);
	if (f->deadline_ns < j->quiet_ns)
		j->quiet_ns = f->deadline_ns;
}

/*
 * Something that shows that member id sends its vector of iteration t has
 * come: a segment, or (!new) what is less.
 */
static inline void
job_heard(struct job *j, uint32_t id, int64_t t, bool new, uint64_t now_ns)
{
	struct member_flow *f = &j->members.m[id].flow;
	const uint32_t most = JOBFLOW_ASKS_ALL / j->members.present;

	if (!f->sends || f->send != t) {
		f->sends = true;
		f->send = t;
		f->asked = UINT32_MAX;	/* nothing, for now */
		f->out = f->vain = 0;
		f->deadline_ns = UINT64_MAX;
		loss_timer_since(&f->pause, now_ns);
	} else if (new) {
		loss_timer_took(&f->pause, now_ns);
	}
	if (new) {
		f->vain = 0;
		f->out -= f->out > 0;
		if (f->asked != UINT32_MAX && f->credit < JOBFLOW_ASKS_MOST &&
		    f->credit < most)
			f->credit++;
	}
	if (new || f->deadline_ns == UINT64_MAX)
		job_watch(j, f, now_ns);
}

/* Who has been silent amid a vector: ask for what it lacks. */
static inline void
job_quiet(struct job *j, uint64_t now_ns, job_ask *ask, void *ctx)
{
	if (now_ns < j->quiet_ns)
		return;
	j->quiet_ns = UINT64_MAX;
	for (uint32_t id = 0; id < j->members.count; id++) {
		struct member_flow *f = &j->members.m[id].flow;

		if (!f->sends || f->deadline_ns == UINT64_MAX)
			continue;
		if (f->deadline_ns > now_ns) {
			j->quiet_ns = f->deadline_ns < j->quiet_ns
					  ? f->deadline_ns
					  : j->quiet_ns;
			continue;
		}
		if (f->credit == 0)
			f->credit = JOBFLOW_ASKS;
		else if (f->out > 0)	/* what was asked for was lost */
			f->credit = (f->credit + JOBFLOW_ASKS_LEAST) / 2;
		f->asked = f->out = 0;
		f->deadline_ns = UINT64_MAX;
		if (!job_ask_on(j, id, ask, ctx) && j->open)
			continue;
		f->vain += j->open;
		loss_timer_ask(&f->pause, now_ns);
		job_watch(j, f, now_ns);
	}
}

#endif
