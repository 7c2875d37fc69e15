/*
 * job-segments.h - what a job does with what comes: segments, results, Help
 *
 * iSwitch sections 3.2 to 3.4 and Algorithm 1, switch side.  Every segment
 * ends under one reason of enum job_count.  What is to be sent goes to the
 * outbox of the job; time is an argument.
 */
#ifndef INNET_ISWITCH_JOB_SEGMENTS_H
#define INNET_ISWITCH_JOB_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* Results that member m has been given so far: the job's, or its own. */
static inline uint64_t
job_given(const struct job *j, const struct member *m)
{
	const uint32_t id = (uint32_t)(m - j->members.m);

	return !j->cf->server ? j->n[JOB_RESULTS] + j->n[JOB_FROM_PARENT] :
	    (uint64_t)job_async_server_member(&j->ps, id)->round * j->ps.segs;
}

/*
 * May member m, who was heard just now, have a result again?  Four for each
 * new one, as many as he may lack of what is kept saved up at most, and ten a
 * second.
 */
static inline bool
job_may_resend(struct job *j, struct member *m)
{
	const uint64_t results = job_given(j, m);
	const uint64_t most = JOB_AGAIN_EACH * (uint64_t)j->a.s.segs *
	    (j->a.s.depth > 2 ? j->a.s.depth : 2);

	m->again += JOB_AGAIN_EACH * (results - m->again_results);
	m->again = m->again > most ? most : m->again;
	m->again_results = results;
	if (m->again == 0 && m->heard_ns - m->again_ns >= JOB_AGAIN_MS *
	    UINT64_C(1000000)) {
		m->again_ns = m->heard_ns;
		m->again = 1;
	}
	if (m->again == 0) {
		j->n[JOB_WITHHELD]++;
		return false;
	}
	m->again--;
	return true;
}

/* False if it is not sent, for it was too often. */
static inline bool
job_resend(struct job *j, struct member *m, const uint8_t *p)
{
	if (!job_may_resend(j, m))
		return false;
	sums_kept_at(&j->a, p)->posted = outbox_add(j->out, POST_ONE, j->self,
	    &m->at, job_tos(j), p, sums_result_bytes(&j->a, p));
	return true;
}

/* The same of segment i of a server's answer to member id, of round t. */
static inline bool
job_resend_served(struct job *j, uint32_t id, const uint8_t *p, int64_t t,
    uint32_t i)
{
	if (!job_may_resend(j, &j->members.m[id]))
		return false;
	job_async_server_member(&j->ps, id)->posted[t %
	    JOB_ASYNC_SERVER_KEPT] = job_post_served(j, id, p, i);
	return true;
}

/* Room in what members have pushed for so many segments, asynchronous. */
static inline bool
job_grow_pushed(struct job *j, uint32_t segs)
{
	for (uint32_t i = 0; i < j->members.count; i++) {
		struct member *m = &j->members.m[i];
		uint32_t *p;

		if (m->pushed == NULL)
			continue;
		p = realloc(m->pushed, segs * sizeof(*p));
		if (p == NULL)
			return false;
		memset(p + j->a.s.segs, 0, (segs - j->a.s.segs) * sizeof(*p));
		m->pushed = p;
	}
	return true;
}

/* Room for what has come: another row, or (--members) another segment. */
static inline bool
job_make_room(struct job *j, uint32_t at, const struct seg *g)
{
	struct sums_shape s = j->a.s;

	if (j->grows && (g->index >= s.segs || g->n > s.floats)) {
		if (g->n > s.floats)
			s.floats = g->n;
		while (s.segs <= g->index)
			s.segs *= 2;
		s.elements = s.segs * s.floats;
		return s.segs <= SEG_INDEX_MAX && job_room(j, &s) &&
		    job_grow_pushed(j, s.segs) && job_reshape(j, &s);
	}
	if (at == SUMS_NONE || sums_has_room(&j->a, at))
		return true;
	s.rows *= 2;
	return job_reshape(j, &s);
}

/* Does the segment have the length that its index wants? */
static inline bool
job_fits(struct job *j, const struct seg *g)
{
	if (g->contributions == 0)
		return false;		/* nobody could divide by it */
	if (j->grows)
		return job_make_room(j, SUMS_NONE, g);
	return g->index < j->a.s.segs && g->n == seg_floats_at(
	    j->a.s.elements, j->a.s.floats, g->index);
}

static inline enum job_count
job_add(struct job *j, uint32_t at, uint32_t id, const struct seg *g)
{
	uint64_t bad = j->a.count.nonfinite;

	if (!job_make_room(j, at, g))
		return JOB_NO_MEMORY;
	sums_add(&j->a, at, id, g->vec, g->contributions);
	j->n[JOB_NONFINITE] += j->a.count.nonfinite - bad;
	j->members.m[id].added++;
	job_test(j, at);
	return JOB_ADDED;
}

/*
 * May a slot begin at t?  Only from the job's first iteration on, and when the
 * segment before it is done: that of the iteration before or, where slots are
 * fewer, the one a span before.
 */
static inline bool
job_may_begin(const struct job *j, int64_t t, uint32_t i)
{
	return t >= j->start && sums_may_begin(&j->a, j->fresh, t, i);
}

/* A segment of member id of a synchronous job. */
static inline enum job_count
job_sync(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns)
{
	struct member *m = &j->members.m[id];
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const uint32_t at = sums_at(&j->a, t, g->index);
	struct sums_slot *s = &j->a.slot[at];
	const int is = sums_compare(&j->a, at, t, g->index);
	const uint8_t *kept;

	if (is > 0) {
		kept = sums_result(&j->a, t, g->index);
		if (kept != NULL && m->loss_detect == NULL)
			(void)job_resend(j, m, kept);
		return JOB_STALE;	/* else the caller says it is gone */
	}
	if (is < 0) {
		if (!job_may_begin(j, t, g->index))
			return j->a.s.span == 0 ? JOB_EARLY : JOB_NO_SLOT;
		if (m->from > t)
			return JOB_LATE;
		job_restart(j, at, t, g, now_ns);
	} else if (s->state == SUMS_COMPLETE) {
		if (m->loss_detect != NULL || job_coming(j, id, t, g->index))
			return JOB_DUPLICATE;
		return job_resend(j, m, sums_place(&j->a, t, g->index)) ?
		    JOB_RESENT : JOB_DUPLICATE;
	} else if (sums_has(&j->a, at, id)) {
		return JOB_DUPLICATE;
	} else if (s->state != SUMS_FILLING || m->from > t) {
		return JOB_LATE;
	} else if (s->n != g->n) {
		return JOB_MISMATCHED;
	}
	return job_add(j, at, id, g);
}

/* Of the two slots of segment i, the one that began last. */
static inline uint32_t
job_latest(const struct job *j, uint32_t i)
{
	const uint32_t other = i + j->a.s.segs;
	const struct sums_slot *s = j->a.slot;

	return j->a.s.ways == 2 && s[other].state != SUMS_EMPTY &&
	    (s[i].state == SUMS_EMPTY || s[other].iteration >
	    s[i].iteration) ? other : i;
}

/* A push of member id of an asynchronous job (Algorithm 1). */
static inline enum job_count
job_async(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns)
{
	struct member *m = &j->members.m[id];
	uint32_t at = job_latest(j, g->index);
	const struct sums_slot *s = &j->a.slot[at];
	uint32_t *last = &m->pushed[g->index];

	if (*last != 0 && !seg_before(*last - 1, g->iteration))
		return JOB_DUPLICATE;
	if (s->state == SUMS_FILLING && s->n != g->n)
		return JOB_MISMATCHED;
	if (job_full(j, at))
		return JOB_EARLY;
	if (s->state != SUMS_FILLING) {
		const int64_t t = s->state == SUMS_EMPTY ? j->start :
		    s->iteration + 1;

		at = sums_at(&j->a, t, g->index);
		job_restart(j, at, t, g, now_ns);
	}
	*last = g->iteration + 1;
	return job_add(j, at, id, g);
}

/* Write member m's next answer, where an older one stood. */
static inline int64_t
job_answer(struct job *j, struct job_async_server_member *m)
{
	int64_t t;

	outbox_settle(j->out, m->posted[m->round % JOB_ASYNC_SERVER_KEPT]);
	t = job_async_server_answer(&j->ps, m);
	for (uint32_t i = 0; i < j->ps.segs && j->proof != NULL; i++)
		job_prove(j, job_async_server_packet(&j->ps, m, t, i), t,
		    seg_floats_at(j->ps.elements, j->ps.floats, i));
	return t;
}

/* A push of member id to a server: when its vector is whole, an answer. */
static inline enum job_count
job_serve(struct job *j, uint32_t id, const struct seg *g)
{
	struct job_async_server_member *m = job_async_server_member(&j->ps, id);
	const uint64_t bad = j->ps.nonfinite;
	const enum job_async_server_verdict v =
	    job_async_server_take(&j->ps, m, g);

	if (v == JOB_ASYNC_SERVER_DUPLICATE)
		return JOB_DUPLICATE;
	j->members.m[id].added++;
	j->n[JOB_INCOMPLETE] = j->ps.incomplete;
	if (v != JOB_ASYNC_SERVER_WHOLE)
		return JOB_ADDED;
	job_async_server_add(&j->ps, m);
	j->n[JOB_NONFINITE] += j->ps.nonfinite - bad;
	job_owe(j, id, job_answer(j, m));
	j->n[JOB_RESULTS] += j->ps.segs;
	return JOB_ADDED;
}

/*
 * May a worker go on with a server from round n on, with weights of that crc
 * (0 unknown)?  It may if its last answers are kept, or if it begins anew as
 * the job did.  id: MEMBERS_NONE if it is new.
 */
static inline bool
job_serves(struct job *j, uint32_t id, int64_t n, uint32_t crc)
{
	struct job_async_server_member *m = id == MEMBERS_NONE ? NULL :
	    job_async_server_member(&j->ps, id);

	if (j->crc[0] == 0)
		j->crc[0] = crc;
	if (n == j->start && crc != 0 && crc != j->crc[0])
		return false;
	if (m != NULL && n >= j->start && n <= m->round &&
	    m->round - n <= JOB_ASYNC_SERVER_KEPT)
		return true;
	if (n != j->start)
		return false;
	if (m != NULL)
		job_async_server_renew(&j->ps, m, j->start);
	return true;
}

/* Member id has been let in to a server.  False without memory. */
static inline bool
job_served(struct job *j, uint32_t id)
{
	struct job_async_server_member *m = job_async_server_member(&j->ps, id);

	if (m == NULL) {
		if (!job_async_server_place(&j->ps, id))
			return false;
		m = job_async_server_member(&j->ps, id);
		m->round = j->start;
	}
	job_async_server_enter(&j->ps, m);
	if (m->round == j->start && j->ps.vectors > 0)
		job_answer(j, m);	/* all that it has missed */
	return true;
}

/*
 * A segment of member id.  What became of it; *gone says that it asks for a
 * result that is not kept any more, and who sent it is to be told.
 */
static inline enum job_count
job_segment(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns,
    bool *gone)
{
	enum job_count what;

	*gone = false;
	job_try_open(j, now_ns);
	if (!job_fits(j, g))
		what = JOB_MISMATCHED;
	else if (!j->open)
		what = JOB_EARLY;
	else if (j->cf->server)
		what = job_serve(j, id, g);
	else if (j->cf->async)
		what = job_async(j, id, g, now_ns);
	else
		what = job_sync(j, id, g, now_ns);
	*gone = what == JOB_STALE && j->members.m[id].loss_detect == NULL &&
	    sums_result(&j->a, sums_unwrap(
	    g->iteration, j->newest), g->index) == NULL;
	j->n[JOB_SEGMENTS]++;
	j->n[what]++;
	if (job_flows(j) && j->members.m[id].loss_detect == NULL &&
	    (what == JOB_ADDED || what == JOB_EARLY))
		job_heard(j, id, sums_unwrap(g->iteration, j->newest),
		    what == JOB_ADDED, now_ns);
	return what;
}

/*
 * A result from the parent: whatever the slot holds at that iteration, or
 * before it, it is complete now.  False if it is not one, or is old.  Out of
 * step, the last before we were started shows members that the job is theirs.
 */
static inline bool
job_result(struct job *j, const struct seg *g, uint64_t now_ns)
{
	struct sums *a = &j->a;
	int64_t t;
	uint32_t at;
	int is;

	if (!job_has_memory(j) || !job_fits(j, g))
		return false;
	j->n[JOB_FROM_PARENT]++;
	t = sums_unwrap(g->iteration, j->newest);
	at = sums_at(a, t, g->index);
	is = sums_compare(a, at, t, g->index);
	if (t < j->start - (a->s.apart > 0) ||
	    sums_result(a, t, g->index) != NULL ||
	    (!a->s.apart && is > 0)) {
		j->n[JOB_PARENT_OLD]++;
		return false;
	}
	if (a->s.apart) {	/* asynchronous: the slot is not touched */
		const struct sums_kept *old = sums_kept(a, t, g->index);

		if (old->iteration > t) {
			j->n[JOB_PARENT_OLD]++;
			return false;
		}
		outbox_settle(j->out, old->posted);
		j->newest = t > j->newest ? t : j->newest;
	} else {
		if (is < 0)
			job_restart(j, at, t, g, now_ns);
		outbox_settle(j->out, a->slot[at].posted);
		a->slot[at].contributions = g->contributions;
		sums_turn(a, at, SUMS_COMPLETE);
	}
	seg_put(sums_place(a, t, g->index), g->iteration, g->contributions,
	    g->index);
	memcpy(sums_place(a, t, g->index) + sums_head_bytes(&a->s), g->vec,
	    4 * (size_t)g->n);
	job_spread(j, t, g->index, g->n);
	return true;
}

/* May members be asked for slot `at`, or what is to come there, again? */
static inline bool
job_may_ask(struct job *j, uint32_t at, uint64_t now_ns)
{
	struct sums_slot *s = &j->a.slot[at];
	const uint32_t ms = (uint32_t)(now_ns / 1000000) + 1;

	if (s->asked_ms != 0 && ms - s->asked_ms < JOB_ASK_MS)
		return false;
	s->asked_ms = ms;
	return true;
}

/*
 * Ask every member that slot `at` lacks for `word`, or all if that is still to
 * come.  One Help has many follow, so there is a round in JOB_ASK_MS.
 */
static inline void
job_ask_missing(struct job *j, uint32_t at, bool all, uint64_t word,
    uint64_t now_ns, job_ask *ask, void *ctx)
{
	if (!job_may_ask(j, at, now_ns))
		return;
	for (uint32_t i = 0; i < j->members.count; i++) {
		const struct member *m = &j->members.m[i];

		if (!m->present || (!all && sums_has(&j->a, at, i)))
			continue;
		j->n[JOB_HELP_ASKED]++;
		ask(ctx, m, word);
	}
}

/* What a Help comes to, besides what was sent for it. */
enum job_helped { JOB_HELPED, JOB_HELP_LOST, JOB_HELP_PARENT };

/* Member id of a server lacks the answer g. */
static inline enum job_helped
job_help_served(struct job *j, uint32_t id, const struct seg *g)
{
	const struct job_async_server_member *m =
	    job_async_server_member(&j->ps, id);
	const int64_t t = sums_unwrap(g->iteration, m->round);
	const uint8_t *kept = job_async_server_kept(&j->ps, m, j->start, t,
	    g->index);

	if (kept == NULL)
		return t < m->round ? JOB_HELP_LOST : JOB_HELPED;
	if (job_coming(j, id, t, g->index))
		return JOB_HELPED;
	j->n[JOB_HELP_RESENT] += job_resend_served(j, id, kept, t, g->index);
	return JOB_HELPED;
}

/* Member id lacks the result of g (iSwitch section 3.3). */
static inline enum job_helped
job_help(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns,
    job_ask *ask, void *ctx)
{
	struct member *m = &j->members.m[id];
	const uint64_t word = seg_word(g->iteration, 0, g->index);
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const uint8_t *kept;
	uint32_t at;
	int is;

	j->n[JOB_HELP]++;
	if (g->index >= j->a.s.segs)
		return JOB_HELP_LOST;
	if (j->cf->server)
		return job_help_served(j, id, g);
	kept = sums_result(&j->a, t, g->index);
	if (kept != NULL) {
		if (job_coming(j, id, t, g->index))
			return JOB_HELPED;
		j->n[JOB_HELP_RESENT] += job_resend(j, m, kept);
		return JOB_HELPED;
	}
	at = sums_at(&j->a, t, g->index);
	is = sums_compare(&j->a, at, t, g->index);
	if (j->cf->async)	/* a round to come, or one long gone */
		return j->cf->child ? JOB_HELP_PARENT :
		    t < j->start || is > 0 ? JOB_HELP_LOST : JOB_HELPED;
	if (is > 0)
		return JOB_HELP_LOST;
	if (is == 0 && j->a.slot[at].state == SUMS_SENT_UP)
		return JOB_HELP_PARENT;
	if (j->cf->whole) {	/* it has sent its own, if none has come */
		job_heard(j, id, t, false, now_ns);
		return JOB_HELPED;
	}
	job_ask_missing(j, at, is < 0, word, now_ns, ask, ctx);
	if (is < 0)
		return JOB_HELPED;
	return j->cf->child ? JOB_HELP_PARENT : JOB_HELPED;
}

/*
 * Has segment i of t been sent up?  Where the parent's slots are few, what is
 * summed may still wait for its turn, and comes too soon before.
 */
static inline bool
job_went_up(const struct job *j, int64_t t, uint32_t i)
{
	return j->retransmit == NULL || j->retransmit->span == 0 ||
	       t < j->mends || (t == j->mends && j->retransmit->s[i].times > 0);
}

/* The parent asks for what this child has, or is yet to have. */
static inline void
job_help_parent(struct job *j, const struct seg *g, uint64_t now_ns,
    job_ask *ask, void *ctx)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const struct sums_slot *s;
	uint32_t at;

	if (!job_has_memory(j) || j->cf->async || g->index >= j->a.s.segs)
		return;
	at = sums_at(&j->a, t, g->index);
	s = &j->a.slot[at];
	if (sums_compare(&j->a, at, t, g->index) != 0)
		return;
	if (s->state == SUMS_SENT_UP && job_went_up(j, t, g->index))
		job_post_up(j, at);
	else if (s->state == SUMS_FILLING)
		job_ask_missing(j, at, false, seg_word(g->iteration, 0,
		    g->index), now_ns, ask, ctx);
}

/* Complete what slot of g there is, as it is; how many are in it. */
static inline uint16_t
job_fbcast(struct job *j, const struct seg *g, bool *done)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	uint32_t at;

	*done = false;
	if (!job_has_memory(j) || g->index >= j->a.s.segs)
		return 0;
	job_keep(j);
	at = sums_at(&j->a, t, g->index);
	if (sums_compare(&j->a, at, t, g->index) != 0)
		return 0;
	*done = j->a.slot[at].state != SUMS_FILLING || !job_too_few(j, at);
	j->n[JOB_TOO_FEW] += !*done;
	if (*done && j->a.slot[at].state == SUMS_FILLING)
		job_complete(j, at);
	return j->a.slot[at].contributions;
}

/*
 * Clear the counters, and what is filling: members give that once more, as if
 * it had been lost.  Pushes are not given twice: they stay.
 */
static inline void
job_clear(struct job *j)
{
	const bool clears = !j->cf->async && !j->cf->whole &&
	    job_has_memory(j);

	memset(j->n, 0, sizeof(j->n));
	memset(&j->a.count, 0, sizeof(j->a.count));
	j->ps.incomplete = j->ps.nonfinite = 0;
	for (uint32_t at = clears ? j->a.oldest : SUMS_NONE; at != SUMS_NONE;
	    at = j->a.slot[at].after)
		sums_blank(&j->a, at);	/* they fill since when they did */
}

/*
 * Complete the slots that have been filling for too long; those with too
 * little for that get as much time again.
 */
static inline void
job_stragglers(struct job *j, uint64_t now_ns)
{
	while (j->cf->straggler_ns > 0 && j->a.oldest != SUMS_NONE) {
		const uint32_t at = j->a.oldest;

		if (j->a.slot[at].began_ns + j->cf->straggler_ns > now_ns)
			break;
		if (!job_too_few(j, at)) {
			job_complete(j, at);
			continue;
		}
		j->n[JOB_TOO_FEW]++;
		sums_put_off(&j->a, at, now_ns);
	}
}

/* Slots that wait for something. */
static inline uint32_t
job_unfinished(const struct job *j)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < sums_slots(&j->a.s); at++)
		n += j->a.slot[at].state != SUMS_EMPTY &&
		    j->a.slot[at].state != SUMS_COMPLETE;
	return n;
}

#endif
