/*
 * job-segments.h - the packets of a job: segments, results and Helps
 *
 * This file implements the switch's side of iSwitch, sections 3.2 to 3.4 and
 * Algorithm 1.  Each segment of a member is counted under exactly one reason of
 * enum job_count.  Packets to be sent are put into the outbox of the job.
 *
 * A job that acts as a server (cf->whole, cf->server) receives whole vectors
 * over one link.  N vectors or N answers at the same time would overflow that
 * link and its queue.  The job therefore sends the answers to one member after
 * another, as fast as the driver has room (job_send_backlog()).  A member that
 * has its answer sends its next vector while the others get their answers.  If
 * a member stops sending in the middle of a vector, the job asks the member for
 * a few of the lost segments.  As these segments arrive, the job asks for more.
 * So the lost segments arrive at the pace of the link.
 */
#ifndef INNET_ISWITCH_JOB_SEGMENTS_H
#define INNET_ISWITCH_JOB_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/iswitch/job-async-server.h"
#include "common/iswitch/job.h"
#include "common/iswitch/members.h"
#include "common/iswitch/sums.h"

enum {
	JOB_RUN_BYTES = 60000,	/* maximum number of bytes of an answer that are
				 * posted to one member at a time */
	/*
	 * Limits on the number of lost segments for which the job asks one
	 * member at a time: the initial limit, the smallest limit and the
	 * largest limit.  JOB_ASKS_ALL is the limit for all members together.
	 */
	JOB_ASKS_FIRST = 16,
	JOB_ASKS_LEAST = 4,
	JOB_ASKS_MOST = 128,
	JOB_ASKS_ALL = 512
};

/*
 * A function of the caller that sends a Help with segment word `word` to member
 * m.
 */
typedef void job_ask(void *ctx, const struct member *m, uint64_t word);

/* The action that the caller must take after a Help. */
enum job_help_result {
	JOB_HELPED,		/* nothing */
	JOB_HELP_LOST,		/* tell the sender that the result is no longer
				 * kept */
	JOB_HELP_PARENT		/* ask the parent for the result */
};

/* Does the job receive whole vectors over one link? */
static inline bool job_acts_as_server(const struct job *j);

/*
 * Process segment g of member `id` and return the reason under which it was
 * counted.  Sets *gone if the segment shows that the member lacks a result that
 * is no longer kept.  In that case the caller must notify the member.
 */
static inline enum job_count job_receive_segment(struct job *j, uint32_t id,
    const struct seg *g, uint64_t now_ns, bool *gone);

/*
 * Store result g from the parent and send it to the members.  Returns false if
 * g is too old or has the wrong index or length.
 */
static inline bool job_receive_result(struct job *j, const struct seg *g,
    uint64_t now_ns);

/*
 * Answer a Help of member `id` for result g: send the result again, or ask each
 * member that has not contributed for its segment.  The return value says what
 * the caller must do.
 */
static inline enum job_help_result job_answer_help(struct job *j, uint32_t id,
    const struct seg *g, uint64_t now_ns, job_ask *ask, void *ctx);

/*
 * Answer a Help of the parent for segment g: send the sum again, or ask the
 * members for their contributions.
 */
static inline void job_answer_parent_help(struct job *j, const struct seg *g,
    uint64_t now_ns, job_ask *ask, void *ctx);

/*
 * Discard the result of segment i of iteration t, because it came from an
 * earlier instance of the parent's job.  Ask the members for their
 * contributions again.
 */
static inline void job_repeat_segment(struct job *j, int64_t t, uint32_t i,
    uint64_t now_ns, job_ask *ask, void *ctx);

/*
 * Complete the slot of segment g with the contributions that have arrived,
 * unless there are too few.  Set *done to whether the slot is now complete, and
 * return the number of contributions.
 */
static inline uint16_t job_force_broadcast(struct job *j, const struct seg *g,
    bool *done);

/*
 * Clear the counters.  In a synchronous job, also clear all partial sums; its
 * members contribute again.  An asynchronous job keeps its sums, because
 * members do not repeat pushes.
 */
static inline void job_reset(struct job *j);

/*
 * Complete each slot that has been filling for longer than rule.straggler_ns.
 * If a slot has too few contributions for a result, let it wait for the same
 * time again.
 */
static inline void job_complete_stragglers(struct job *j, uint64_t now_ns);

/*
 * Ask each member that has stopped sending in the middle of a vector for the
 * missing segments of that vector.
 */
static inline void job_ask_silent(struct job *j, uint64_t now_ns, job_ask *ask,
    void *ctx);

/*
 * Ask member `id` for as many of its lost segments as its credit allows.
 * Returns false if the vector of the member is complete.
 */
static inline bool job_ask_more(struct job *j, uint32_t id, job_ask *ask,
    void *ctx);

/*
 * Post one run of the queued answer of one member.  Returns false if no answer
 * is queued.
 */
static inline bool job_send_backlog(struct job *j);

/*
 * Is the result of segment i of iteration t still queued for member `id`?  If
 * so, the result need not be sent again.
 */
static inline bool job_answer_is_queued(const struct job *j, uint32_t id,
    int64_t t, uint32_t i);

/*
 * Send member m the result at p again.  Returns false if the member has already
 * received too many repeated results.
 */
static inline bool job_resend_result(struct job *j, struct member *m,
    const uint8_t *p);

/*
 * Do the work of job_resend_result() for an asynchronous server: p is segment i
 * of the server's answer of round t to member `id`.
 */
static inline bool job_resend_answer(struct job *j, uint32_t id,
    const uint8_t *p, int64_t t, uint32_t i);

/*
 * Among the slots of segment i, return the slot that has the latest iteration.
 */
static inline uint32_t job_latest_slot(const struct job *j, uint32_t i);

/*
 * May member `id` continue with an asynchronous server from round n on?  `crc`
 * is the checksum of the member's weights (0: unknown).  `id` is MEMBERS_NONE
 * for a new member.  A member may continue if its answers from round n on are
 * kept, or if it has the round and the weights with which the job started.
 */
static inline bool job_server_admits(struct job *j, uint32_t id, int64_t n,
    uint32_t crc);

/*
 * Add member `id` to an asynchronous server.  Returns false if there is no
 * memory.
 */
static inline bool job_enter_server(struct job *j, uint32_t id);

/* Count the slots that wait for contributions or for the parent. */
static inline uint32_t job_count_unfinished(const struct job *j);

/* implementation */

static inline bool
job_acts_as_server(const struct job *j)
{
	return j->cf->whole || j->cf->server;
}

/*
 * Post packet p, which contains segment i of an answer, to member `id`.
 * Returns the outbox round in which the packet will be sent.
 */
static inline uint64_t
job_post_answer(struct job *j, uint32_t id, const uint8_t *p, uint32_t i)
{
	return outbox_add(j->out, POST_ONE, j->index, &j->members.m[id].at,
	    job_tos(j), p,
	    j->server.head +
		4 * seg_floats_at(j->server.elements, j->server.floats, i));
}

static inline bool
job_answer_is_queued(const struct job *j, uint32_t id, int64_t t, uint32_t i)
{
	const struct member_flow *f = &j->members.m[id].flow;

	return job_acts_as_server(j) && f->has_answer && (t > f->answer ||
	    (t == f->answer && i >= f->answered));
}

/* Queue the answer of round t for member `id` of an asynchronous server. */
static inline void
job_queue_answer(struct job *j, uint32_t id, int64_t t)
{
	struct member_flow *f = &j->members.m[id].flow;

	if (f->has_answer)
		return;			/* send this answer after the earlier
					 * answers */
	f->has_answer = true;
	f->answer = t;
	f->answered = 0;
	j->has_backlog = true;
}

/* Return the next packet that is queued for member `id`, or NULL. */
static inline const uint8_t *
job_queued_packet(const struct job *j, uint32_t id)
{
	const struct member *m = &j->members.m[id];
	const struct job_async_server_member *s =
	    job_async_server_member(&j->server, id);

	if (!m->present || !m->flow.has_answer)
		return NULL;
	return !j->cf->server ? sums_find_result(&j->sums, m->flow.answer,
	    m->flow.answered)
	       : s == NULL ? NULL
			   : job_async_server_find_packet(&j->server, s,
				 j->start, m->flow.answer, m->flow.answered);
}

/* Post the next run to member `id`, and return its number of segments. */
static inline uint32_t
job_send_run(struct job *j, uint32_t id)
{
	struct member_flow *f = &j->members.m[id].flow;
	const uint32_t most = JOB_RUN_BYTES / j->sums.stride + 1;
	const uint8_t *p = NULL;
	uint32_t n;

	for (n = 0; n < most && (p = job_queued_packet(j, id)) != NULL; n++) {
		if (j->cf->server)
			job_async_server_member(&j->server, id)
			    ->posted[f->answer % JOB_ASYNC_SERVER_KEPT] =
			    job_post_answer(j, id, p, f->answered);
		else
			sums_entry_of(&j->sums, p)->posted = outbox_add(j->out,
			    POST_ONE, j->index, &j->members.m[id].at,
			    job_tos(j), p, sums_result_bytes(&j->sums, p));
		if (++f->answered < j->sums.s.segs)
			continue;
		f->answered = 0;
		f->answer++;
		f->has_answer = j->cf->server;
		j->notify = true; /* the whole answer has been posted to the
				   * member */
	}
	f->has_answer = f->has_answer && p != NULL;
	return n;
}

static inline bool
job_send_backlog(struct job *j)
{
	for (uint32_t k = 0; j->has_backlog && k < j->members.count; k++) {
		const uint32_t id = (j->backlog_turn + k) % j->members.count;

		if (job_send_run(j, id) == 0)
			continue;
		j->backlog_turn = (id + (job_queued_packet(j, id) == NULL)) %
		    j->members.count;
		return true;
	}
	j->has_backlog = false;
	return false;
}

/* Return the iteration whose vectors are arriving now. */
static inline int64_t
job_gathered_iteration(const struct job *j)
{
	return j->newest < j->start ? j->start :
	    sums_find_result(&j->sums, j->newest, 0) != NULL ? j->newest + 1 :
	    j->newest;
}

/* Is segment i missing from the vector of member `id` for iteration t? */
static inline bool
job_lacks_segment(const struct job *j, uint32_t id, int64_t t, uint32_t i)
{
	const uint32_t at = sums_at(&j->sums, t, i);
	const struct sums_slot *s = &j->sums.slot[at];

	if (j->cf->server)
		return !job_async_server_member(&j->server, id)->received[i];
	return s->state == SUMS_EMPTY || s->iteration != t ||
	    (s->state == SUMS_FILLING && !sums_has(&j->sums, at, id));
}

/*
 * Has member `id` begun to send a vector that may still lack segments?  If so,
 * set *t to the iteration of the vector.
 */
static inline bool
job_has_begun_vector(const struct job *j, uint32_t id, int64_t *t)
{
	const struct member *m = &j->members.m[id];
	const struct job_async_server_member *s =
	    job_async_server_member(&j->server, id);

	if (!m->present || !m->flow.is_sending || !j->open || j->halted)
		return false;
	*t = j->cf->server && s != NULL ? s->push : m->flow.iteration;
	return !j->cf->server ? m->flow.iteration == job_gathered_iteration(j) :
	    s != NULL && s->has_push && s->received_count < j->server.segs;
}

static inline bool
job_ask_more(struct job *j, uint32_t id, job_ask *ask, void *ctx)
{
	struct member *m = &j->members.m[id];
	struct member_flow *f = &m->flow;
	int64_t t;

	if (!job_has_begun_vector(j, id, &t))
		return false;
	for (; f->asked_upto < j->sums.s.segs && f->outstanding < f->credit;
	     f->asked_upto++) {
		if (!job_lacks_segment(j, id, t, f->asked_upto))
			continue;
		ask(ctx, m, seg_word((uint32_t)t & (SEG_ITERATIONS - 1), 0,
		    f->asked_upto));
		j->n[JOB_HELP_ASKED]++;
		f->outstanding++;
	}
	return f->outstanding > 0;
}

/*
 * Set the time at which the job must ask a member for lost segments if the
 * member sends nothing.
 */
static inline void
job_set_ask_deadline(struct job *j, struct member_flow *f, uint64_t now_ns)
{
	f->deadline_ns = now_ns + loss_timer_ns(&f->timer, f->attempts);
	if (f->deadline_ns < j->ask_ns)
		j->ask_ns = f->deadline_ns;
}

/*
 * Record the progress of member `id`, which is sending its vector of iteration
 * t.  `new` says whether a segment was added.
 */
static inline void
job_note_progress(struct job *j, uint32_t id, int64_t t, bool new,
    uint64_t now_ns)
{
	struct member_flow *f = &j->members.m[id].flow;
	const uint32_t most = JOB_ASKS_ALL / j->members.present;

	if (!f->is_sending || f->iteration != t) {
		f->is_sending = true;
		f->iteration = t;
		f->asked_upto = UINT32_MAX;	/* ask for nothing yet */
		f->outstanding = f->attempts = 0;
		f->deadline_ns = UINT64_MAX;
		loss_timer_start(&f->timer, now_ns);
	} else if (new) {
		loss_timer_receive(&f->timer, now_ns);
	}
	if (new) {
		f->attempts = 0;
		f->outstanding -= f->outstanding > 0;
		if (f->asked_upto != UINT32_MAX &&
		    f->credit < JOB_ASKS_MOST && f->credit < most)
			f->credit++;
	}
	if (new || f->deadline_ns == UINT64_MAX)
		job_set_ask_deadline(j, f, now_ns);
}

static inline void
job_ask_silent(struct job *j, uint64_t now_ns, job_ask *ask, void *ctx)
{
	if (now_ns < j->ask_ns)
		return;
	j->ask_ns = UINT64_MAX;
	for (uint32_t id = 0; id < j->members.count; id++) {
		struct member_flow *f = &j->members.m[id].flow;

		if (!f->is_sending || f->deadline_ns == UINT64_MAX)
			continue;
		if (f->deadline_ns > now_ns) {
			j->ask_ns = f->deadline_ns < j->ask_ns
					  ? f->deadline_ns
					  : j->ask_ns;
			continue;
		}
		if (f->credit == 0)
			f->credit = JOB_ASKS_FIRST;
		else if (f->outstanding > 0) /* assume that the Helps or the
					      * requested segments were lost */
			f->credit = (f->credit + JOB_ASKS_LEAST) / 2;
		f->asked_upto = f->outstanding = 0;
		f->deadline_ns = UINT64_MAX;
		if (!job_ask_more(j, id, ask, ctx) && j->open)
			continue;
		f->attempts += j->open;
		loss_timer_request(&f->timer, now_ns);
		job_set_ask_deadline(j, f, now_ns);
	}
}

/* Return the number of results that the job has made or its parent has sent. */
static inline uint64_t
job_count_results(const struct job *j)
{
	return j->n[JOB_RESULTS] + j->n[JOB_FROM_PARENT];
}

/* Return the number of results that have been sent to member m so far. */
static inline uint64_t
job_results_sent(const struct job *j, const struct member *m)
{
	const uint32_t id = (uint32_t)(m - j->members.m);

	return !j->cf->server
		   ? job_count_results(j)
		   : (uint64_t)job_async_server_member(&j->server, id)->round *
			 j->server.segs;
}

/*
 * May a result be sent again to member m, which has just sent a packet?  A
 * member may get four repeated results for each new result.  If it uses less,
 * the rest is saved, up to the number of kept results that the member can lack.
 * A member that has used up this allowance may get ten repeated results per
 * second.
 */
static inline bool
job_may_resend(struct job *j, struct member *m)
{
	const uint64_t results = job_results_sent(j, m);
	const uint64_t most = JOB_RESENDS_EACH * (uint64_t)j->sums.s.segs *
	    (j->sums.s.depth > 2 ? j->sums.s.depth : 2);

	m->resends_left += JOB_RESENDS_EACH * (results - m->resends_counted);
	m->resends_left = m->resends_left > most ? most : m->resends_left;
	m->resends_counted = results;
	if (m->resends_left == 0 && m->last_packet_ns - m->last_resend_ns >=
					JOB_RESEND_MS * UINT64_C(1000000)) {
		m->last_resend_ns = m->last_packet_ns;
		m->resends_left = 1;
	}
	if (m->resends_left == 0) {
		j->n[JOB_WITHHELD]++;
		return false;
	}
	m->resends_left--;
	return true;
}

static inline bool
job_resend_result(struct job *j, struct member *m, const uint8_t *p)
{
	if (!job_may_resend(j, m))
		return false;
	sums_entry_of(&j->sums, p)->posted = outbox_add(j->out, POST_ONE,
	    j->index, &m->at, job_tos(j), p, sums_result_bytes(&j->sums, p));
	return true;
}

static inline bool
job_resend_answer(struct job *j, uint32_t id, const uint8_t *p, int64_t t,
    uint32_t i)
{
	if (!job_may_resend(j, &j->members.m[id]))
		return false;
	job_async_server_member(&j->server, id)->posted[t %
	    JOB_ASYNC_SERVER_KEPT] = job_post_answer(j, id, p, i);
	return true;
}

/* Enlarge each member's array of push numbers to `segs` segments. */
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
		memset(p + j->sums.s.segs, 0,
		    (segs - j->sums.s.segs) * sizeof(*p));
		m->pushed = p;
	}
	return true;
}

/*
 * Make room for another row in slot `at` or, if --members is given, for more
 * segments.
 */
static inline bool
job_make_room(struct job *j, uint32_t at, const struct seg *g)
{
	struct sums_shape s = j->sums.s;

	if (j->grows && (g->index >= s.segs || g->n > s.floats)) {
		if (g->n > s.floats)
			s.floats = g->n;
		while (s.segs <= g->index)
			s.segs *= 2;
		s.elements = s.segs * s.floats;
		return s.segs <= SEG_INDEX_MAX && job_reserve(j, &s) &&
		    job_grow_pushed(j, s.segs) && job_reshape(j, &s);
	}
	if (at == SUMS_NONE || sums_has_room(&j->sums, at))
		return true;
	s.rows *= 2;
	return job_reshape(j, &s);
}

/* Does segment g have the length that its index requires? */
static inline bool
job_segment_fits(struct job *j, const struct seg *g)
{
	if (g->contributions == 0)
		return false;		/* receivers divide the sum by this
					 * number */
	if (j->grows)
		return job_make_room(j, SUMS_NONE, g);
	return g->index < j->sums.s.segs && g->n == seg_floats_at(
	    j->sums.s.elements, j->sums.s.floats, g->index);
}

/* Add segment g of member `id` to slot `at`. */
static inline enum job_count
job_add_segment(struct job *j, uint32_t at, uint32_t id, const struct seg *g)
{
	uint64_t bad = j->sums.count.nonfinite;

	if (!job_make_room(j, at, g))
		return JOB_NO_MEMORY;
	sums_add_vector(&j->sums, at, id, g->vec, g->contributions);
	j->n[JOB_NONFINITE] += j->sums.count.nonfinite - bad;
	j->members.m[id].added++;
	job_test_slot(j, at);
	return JOB_ADDED;
}

/*
 * May the slot of segment i begin iteration t?  It may if the segment that used
 * the slot before is complete and t is not before the first iteration of the
 * job.
 */
static inline bool
job_may_begin_slot(const struct job *j, int64_t t, uint32_t i)
{
	return t >= j->start && sums_may_begin(&j->sums, j->done_before, t, i);
}

/* Process a segment of member `id` in a synchronous job. */
static inline enum job_count
job_add_sync(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns)
{
	struct member *m = &j->members.m[id];
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const uint32_t at = sums_at(&j->sums, t, g->index);
	struct sums_slot *s = &j->sums.slot[at];
	const int is = sums_compare(&j->sums, at, t, g->index);
	const uint8_t *kept;

	if (is > 0) {
		kept = sums_find_result(&j->sums, t, g->index);
		if (kept != NULL && m->loss_detect == NULL)
			(void)job_resend_result(j, m, kept);
		return JOB_STALE;	/* if the result is no longer kept, the
					 * caller tells the member */
	}
	if (is < 0) {
		if (!job_may_begin_slot(j, t, g->index))
			return j->sums.s.span == 0 ? JOB_EARLY : JOB_NO_SLOT;
		if (m->from > t)
			return JOB_LATE;
		job_restart_slot(j, at, t, g, now_ns);
	} else if (s->state == SUMS_COMPLETE) {
		m->late += !sums_has(&j->sums, at, id);
		if (m->loss_detect != NULL ||
		    job_answer_is_queued(j, id, t, g->index))
			return JOB_DUPLICATE;
		return job_resend_result(j, m,
		    sums_ring_packet(&j->sums, t, g->index))
			   ? JOB_RESENT
			   : JOB_DUPLICATE;
	} else if (sums_has(&j->sums, at, id)) {
		return JOB_DUPLICATE;
	} else if (s->state != SUMS_FILLING || m->from > t) {
		return JOB_LATE;
	} else if (s->n != g->n) {
		return JOB_MISMATCHED;
	}
	return job_add_segment(j, at, id, g);
}

static inline uint32_t
job_latest_slot(const struct job *j, uint32_t i)
{
	const uint32_t other = i + j->sums.s.segs;
	const struct sums_slot *s = j->sums.slot;

	return j->sums.s.ways == 2 && s[other].state != SUMS_EMPTY &&
	    (s[i].state == SUMS_EMPTY || s[other].iteration >
	    s[i].iteration) ? other : i;
}

/* Process a push of member `id` in an asynchronous job (Algorithm 1). */
static inline enum job_count
job_add_async(struct job *j, uint32_t id, const struct seg *g, uint64_t now_ns)
{
	struct member *m = &j->members.m[id];
	uint32_t at = job_latest_slot(j, g->index);
	const struct sums_slot *s = &j->sums.slot[at];
	uint32_t *last = &m->pushed[g->index];

	if (*last != 0 && !seg_before(*last - 1, g->iteration))
		return JOB_DUPLICATE;
	if (s->state == SUMS_FILLING && s->n != g->n)
		return JOB_MISMATCHED;
	if (job_slot_is_full(j, at))
		return JOB_EARLY;
	if (s->state != SUMS_FILLING) {
		const int64_t t = s->state == SUMS_EMPTY ? j->start :
		    s->iteration + 1;

		at = sums_at(&j->sums, t, g->index);
		job_restart_slot(j, at, t, g, now_ns);
	}
	*last = g->iteration + 1;
	return job_add_segment(j, at, id, g);
}

/*
 * Replace the oldest answer to member m by the next answer, and return the
 * round of the new answer.
 */
static inline int64_t
job_make_answer(struct job *j, struct job_async_server_member *m)
{
	int64_t t;

	outbox_settle(j->out, m->posted[m->round % JOB_ASYNC_SERVER_KEPT]);
	t = job_async_server_make_answer(&j->server, m);
	for (uint32_t i = 0; i < j->server.segs && j->tag_key != NULL; i++)
		job_put_tag(j, job_async_server_packet(&j->server, m, t, i), t,
		    seg_floats_at(j->server.elements, j->server.floats, i));
	return t;
}

/*
 * Process a push of member `id` to an asynchronous server, which answers each
 * whole vector.
 */
static inline enum job_count
job_add_to_server(struct job *j, uint32_t id, const struct seg *g)
{
	struct job_async_server_member *m =
	    job_async_server_member(&j->server, id);
	const uint64_t bad = j->server.nonfinite;
	const enum job_async_server_verdict v =
	    job_async_server_add_segment(&j->server, m, g);

	if (v == JOB_ASYNC_SERVER_DUPLICATE)
		return JOB_DUPLICATE;
	j->members.m[id].added++;
	j->n[JOB_INCOMPLETE] = j->server.incomplete;
	if (v != JOB_ASYNC_SERVER_WHOLE)
		return JOB_ADDED;
	job_async_server_add_vector(&j->server, m);
	j->n[JOB_NONFINITE] += j->server.nonfinite - bad;
	job_queue_answer(j, id, job_make_answer(j, m));
	j->n[JOB_RESULTS] += j->server.segs;
	return JOB_ADDED;
}

static inline bool
job_server_admits(struct job *j, uint32_t id, int64_t n, uint32_t crc)
{
	struct job_async_server_member *m = id == MEMBERS_NONE ? NULL :
	    job_async_server_member(&j->server, id);

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
		job_async_server_restart_member(&j->server, m, j->start);
	return true;
}

static inline bool
job_enter_server(struct job *j, uint32_t id)
{
	struct job_async_server_member *m =
	    job_async_server_member(&j->server, id);

	if (m == NULL) {
		if (!job_async_server_add_member(&j->server, id))
			return false;
		m = job_async_server_member(&j->server, id);
		m->round = j->start;
	}
	job_async_server_reset_push(&j->server, m);
	if (m->round == j->start && j->server.vectors > 0)
		job_make_answer(j, m);	/* this answer also contains all answers
					 * that the member did not receive */
	return true;
}

static inline enum job_count
job_receive_segment(struct job *j, uint32_t id, const struct seg *g,
    uint64_t now_ns, bool *gone)
{
	enum job_count what;

	*gone = false;
	job_try_open(j, now_ns);
	if (!job_segment_fits(j, g))
		what = JOB_MISMATCHED;
	else if (!j->open)
		what = JOB_EARLY;
	else if (j->cf->server)
		what = job_add_to_server(j, id, g);
	else if (j->cf->async)
		what = job_add_async(j, id, g, now_ns);
	else
		what = job_add_sync(j, id, g, now_ns);
	*gone = what == JOB_STALE && j->members.m[id].loss_detect == NULL &&
	    sums_find_result(&j->sums, sums_unwrap(g->iteration, j->newest),
	    g->index) == NULL;
	j->n[JOB_SEGMENTS]++;
	j->n[what]++;
	if (job_acts_as_server(j) && j->members.m[id].loss_detect == NULL &&
	    (what == JOB_ADDED || what == JOB_EARLY))
		job_note_progress(j, id, sums_unwrap(g->iteration, j->newest),
		    what == JOB_ADDED, now_ns);
	return what;
}

static inline bool
job_receive_result(struct job *j, const struct seg *g, uint64_t now_ns)
{
	struct sums *a = &j->sums;
	int64_t t;
	uint32_t at;
	int is;

	if (!job_has_memory(j) || !job_segment_fits(j, g))
		return false;
	j->n[JOB_FROM_PARENT]++;
	t = sums_unwrap(g->iteration, j->newest);
	at = sums_at(a, t, g->index);
	is = sums_compare(a, at, t, g->index);
	/*
	 * If there are fewer slots than segments and the slot of a result may
	 * not begin its iteration yet, the result belongs to an earlier
	 * instance of the parent's job.
	 */
	if (t < j->start - (a->s.apart > 0) ||
	    sums_find_result(a, t, g->index) != NULL ||
	    (!a->s.apart && is > 0) || (a->s.span != 0 && is < 0 &&
	    !job_may_begin_slot(j, t, g->index))) {
		j->n[JOB_PARENT_OLD]++;
		return false;
	}
	if (a->s.apart) {	/* the result could not be stored in the slot */
		const struct sums_kept *old = sums_kept(a, t, g->index);

		if (old->iteration > t) {
			j->n[JOB_PARENT_OLD]++;
			return false;
		}
		outbox_settle(j->out, old->posted);
		j->newest = t > j->newest ? t : j->newest;
	} else {
		if (is < 0)
			job_restart_slot(j, at, t, g, now_ns);
		outbox_settle(j->out, a->slot[at].posted);
		a->slot[at].contributions = g->contributions;
		sums_set_state(a, at, SUMS_COMPLETE);
	}
	seg_put(sums_ring_packet(a, t, g->index), g->iteration,
	    g->contributions, g->index);
	memcpy(sums_ring_packet(a, t, g->index) + sums_head_bytes(&a->s),
	    g->vec, 4 * (size_t)g->n);
	job_send_result(j, t, g->index, g->n);
	return true;
}

/*
 * May the job ask the members for the segment of slot `at` now?  It may do so
 * only once every JOB_ASK_MS, because many members can send a Help at the same
 * time.
 */
static inline bool
job_may_ask(struct job *j, uint32_t at, uint64_t now_ns)
{
	struct sums_slot *s = &j->sums.slot[at];
	const uint32_t ms = (uint32_t)(now_ns / 1000000) + 1;

	if (s->asked_ms != 0 && ms - s->asked_ms < JOB_ASK_MS)
		return false;
	s->asked_ms = ms;
	return true;
}

/*
 * Send a Help for `word` to each member that has not contributed to slot `at`.
 * If `all` is true, send it to every member.
 */
static inline void
job_ask_missing(struct job *j, uint32_t at, bool all, uint64_t word,
    uint64_t now_ns, job_ask *ask, void *ctx)
{
	if (!job_may_ask(j, at, now_ns))
		return;
	for (uint32_t i = 0; i < j->members.count; i++) {
		const struct member *m = &j->members.m[i];

		if (!m->present || (!all && sums_has(&j->sums, at, i)))
			continue;
		j->n[JOB_HELP_ASKED]++;
		ask(ctx, m, word);
	}
}

/* Answer a Help of member `id` for answer g of an asynchronous server. */
static inline enum job_help_result
job_help_answer(struct job *j, uint32_t id, const struct seg *g)
{
	const struct job_async_server_member *m =
	    job_async_server_member(&j->server, id);
	const int64_t t = sums_unwrap(g->iteration, m->round);
	const uint8_t *kept =
	    job_async_server_find_packet(&j->server, m, j->start, t, g->index);

	if (kept == NULL)
		return t < m->round ? JOB_HELP_LOST : JOB_HELPED;
	if (job_answer_is_queued(j, id, t, g->index))
		return JOB_HELPED;
	j->n[JOB_HELP_RESENT] += job_resend_answer(j, id, kept, t, g->index);
	return JOB_HELPED;
}

static inline enum job_help_result
job_answer_help(struct job *j, uint32_t id, const struct seg *g,
    uint64_t now_ns, job_ask *ask, void *ctx)
{
	struct member *m = &j->members.m[id];
	const uint64_t word = seg_word(g->iteration, 0, g->index);
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const uint8_t *kept;
	uint32_t at;
	int is;

	j->n[JOB_HELP]++;
	if (g->index >= j->sums.s.segs)
		return JOB_HELP_LOST;
	if (j->cf->server)
		return job_help_answer(j, id, g);
	kept = sums_find_result(&j->sums, t, g->index);
	if (kept != NULL) {
		if (job_answer_is_queued(j, id, t, g->index))
			return JOB_HELPED;
		j->n[JOB_HELP_RESENT] += job_resend_result(j, m, kept);
		return JOB_HELPED;
	}
	at = sums_at(&j->sums, t, g->index);
	is = sums_compare(&j->sums, at, t, g->index);
	if (j->cf->async)	/* nothing to do: the result has been posted, or
				 * is no longer kept */
		return j->cf->child ? JOB_HELP_PARENT :
		    t < j->start || is > 0 ? JOB_HELP_LOST : JOB_HELPED;
	if (is > 0 || t < j->start)
		return JOB_HELP_LOST;
	if (is == 0 && j->sums.slot[at].state == SUMS_SENT_UP)
		return JOB_HELP_PARENT;
	if (j->cf->whole) {	/* the answer is not made yet, so segments of
				 * the member's own vector may be lost */
		job_note_progress(j, id, t, false, now_ns);
		return JOB_HELPED;
	}
	job_ask_missing(j, at, is < 0, word, now_ns, ask, ctx);
	if (is < 0)
		return JOB_HELPED;
	return j->cf->child ? JOB_HELP_PARENT : JOB_HELPED;
}

/*
 * Has segment i of t been sent to the parent?  If the parent has fewer slots
 * than segments, a sum may still wait until the parent has a slot for it.
 */
static inline bool
job_was_sent_up(const struct job *j, int64_t t, uint32_t i)
{
	return j->retransmit == NULL || j->retransmit->span == 0 ||
	       t < j->sending ||
	       (t == j->sending && j->retransmit->s[i].times > 0);
}

static inline void
job_answer_parent_help(struct job *j, const struct seg *g, uint64_t now_ns,
    job_ask *ask, void *ctx)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	const struct sums_slot *s;
	uint32_t at;

	if (!job_has_memory(j) || j->cf->async || g->index >= j->sums.s.segs)
		return;
	at = sums_at(&j->sums, t, g->index);
	s = &j->sums.slot[at];
	if (sums_compare(&j->sums, at, t, g->index) != 0)
		return;
	if (s->state == SUMS_SENT_UP && job_was_sent_up(j, t, g->index))
		job_send_up(j, at);
	else if (s->state == SUMS_FILLING)
		job_ask_missing(j, at, false, seg_word(g->iteration, 0,
		    g->index), now_ns, ask, ctx);
}

static inline void
job_repeat_segment(struct job *j, int64_t t, uint32_t i, uint64_t now_ns,
    job_ask *ask, void *ctx)
{
	const uint32_t at = sums_at(&j->sums, t, i);

	job_discard_result(j, at, now_ns);
	job_ask_missing(j, at, true, seg_word((uint32_t)t &
	    (SEG_ITERATIONS - 1), 0, i), now_ns, ask, ctx);
}

static inline uint16_t
job_force_broadcast(struct job *j, const struct seg *g, bool *done)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	uint32_t at;

	*done = false;
	if (!job_has_memory(j) || g->index >= j->sums.s.segs)
		return 0;
	job_keep_results(j);
	at = sums_at(&j->sums, t, g->index);
	if (sums_compare(&j->sums, at, t, g->index) != 0)
		return 0;
	*done =
	    j->sums.slot[at].state != SUMS_FILLING || !job_has_too_few(j, at);
	j->n[JOB_TOO_FEW] += !*done;
	if (*done && j->sums.slot[at].state == SUMS_FILLING)
		job_complete_slot(j, at);
	return j->sums.slot[at].contributions;
}

static inline void
job_reset(struct job *j)
{
	const bool clears = !j->cf->async && !j->cf->whole &&
	    job_has_memory(j);

	memset(j->n, 0, sizeof(j->n));
	memset(&j->sums.count, 0, sizeof(j->sums.count));
	j->server.incomplete = j->server.nonfinite = 0;
	for (uint32_t at = clears ? j->sums.oldest : SUMS_NONE; at != SUMS_NONE;
	    at = j->sums.slot[at].after)
		/* began_ns does not change */
		sums_clear_slot(&j->sums, at);
}

static inline void
job_complete_stragglers(struct job *j, uint64_t now_ns)
{
	while (j->rule.straggler_ns > 0 && j->sums.oldest != SUMS_NONE) {
		const uint32_t at = j->sums.oldest;

		if (j->sums.slot[at].began_ns + j->rule.straggler_ns > now_ns)
			break;
		if (!job_has_too_few(j, at)) {
			job_complete_slot(j, at);
			continue;
		}
		j->n[JOB_TOO_FEW]++;
		sums_restart_timer(&j->sums, at, now_ns);
	}
}

static inline uint32_t
job_count_unfinished(const struct job *j)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < sums_slots(&j->sums.s); at++)
		n += j->sums.slot[at].state != SUMS_EMPTY &&
		    j->sums.slot[at].state != SUMS_COMPLETE;
	return n;
}

#endif
