/*
 * switch-join.h - the members of an aggregation switch: Join and time-outs
 *
 * This file implements section 3.4 of iSwitch.  The first Join allocates the
 * memory of a job and sets its first iteration.  If the switch has a parent, it
 * joins the parent's job before it answers this Join.  A worker that joins
 * later must be able to continue at the current iteration of the job.  If it is
 * not able to, it first receives the state of another worker
 * (switch-transfer.h).
 */
#ifndef INNET_ISWITCH_SWITCH_JOIN_H
#define INNET_ISWITCH_SWITCH_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/iswitch/job-segments.h"
#include "common/iswitch/members.h"
#include "common/iswitch/sums.h"
#include "common/iswitch/switch-left.h"
#include "common/iswitch/switch-rule.h"
#include "common/iswitch/switch-transfer.h"
#include "common/iswitch/switch.h"

/*
 * Process a Join from `from`.  Returns true if *a is the answer, or false if
 * there is no answer yet because the parent has not answered.  In that case the
 * worker repeats its Join.
 */
static inline bool iswitch_receive_join(struct iswitch *s,
    const union addr *from, const struct control *c, struct control_ack *a,
    uint64_t now_ns);

/*
 * If --members is given, make `from`, the unknown source of segment g, a member
 * of job 1.  Returns the entry of its address, or NULL if there is no room.
 */
static inline struct iswitch_ref *iswitch_add_implicit_member(struct iswitch *s,
    const union addr *from, const struct seg *g);

/* Remove member `id` and release its address. */
static inline void iswitch_remove_member(struct iswitch *s,
    struct iswitch_job *job, uint32_t id);

/*
 * Do the same for a member that has left or, if `silent` is set, that has sent
 * nothing for too long.  Record when it left.
 */
static inline void iswitch_drop_member(struct iswitch *s,
    struct iswitch_job *job, uint32_t id, bool silent, uint64_t now_ns);

/* Remove all members.  Members that are still running will join again. */
static inline void iswitch_remove_members(struct iswitch *s,
    struct iswitch_job *job);

/*
 * Remove each member from which no packet has arrived for longer than the
 * time-out.  Also remove a job that has received no data.
 */
static inline void iswitch_evict_silent( struct iswitch *s,
    struct iswitch_job *job, uint64_t now_ns);

/* If the job has no members, free its memory and leave its parent. */
static inline void iswitch_release_if_empty(struct iswitch *s,
    struct iswitch_job *job);

/* Has job j not completed any sum yet? */
static inline bool iswitch_is_fresh(const struct job *j);

/* Send a membership message to the parent if one is due. */
static inline void iswitch_send_membership( struct iswitch *s,
    struct iswitch_job *job, uint64_t now_ns);

/* implementation */

/*
 * Free the memory of a job without members, release its quota and leave the
 * parent's job.
 */
static inline void
iswitch_release_job(struct iswitch *s, struct iswitch_job *job)
{
	job_release(&job->core);
	iswitch_forget_named(s, job);
	if (job->charged) {
		quota_release(&s->quota, &job->founder, QUOTA_JOBS, 1);
		quota_release(&s->quota, &job->founder, QUOTA_BYTES,
		    job->charged_bytes);
		job->charged = false;
	}
	if (job->parent.wanted &&
	    job->parent.membership.end == MEMBERSHIP_GOING) {
		iswitch_send_action(s, POST_PARENT, &job->core, NULL,
		    CONTROL_LEAVE, NULL);
		outbox_flush(s->out);
	}
	if (job->parent.membership.halted)
		job->core.halted = false;	/* if the parent's job is still
						 * halted, the parent will send
						 * the Halt again */
	job->parent = (struct iswitch_parent){ 0 };
}

static inline void
iswitch_remove_member(struct iswitch *s, struct iswitch_job *job, uint32_t id)
{
	outbox_flush(s->out);
	iswitch_unbind_address(s, &job->core.members.m[id].at);
	members_leave(&job->core.members, id);
	sums_recount_member(&job->core.sums, id, job->core.members.m[id].from,
	    -1);
	if (job->core.members.present > 0)
		job_admit_later_members(&job->core);
	else
		iswitch_release_job(s, job);
}

static inline void
iswitch_drop_member(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    bool silent, uint64_t now_ns)
{
	job->core.members.m[id].gone_ns = now_ns;
	job->core.members.m[id].evicted = silent;
	iswitch_remove_member(s, job, id);
}

static inline void
iswitch_remove_members(struct iswitch *s, struct iswitch_job *job)
{
	for (uint32_t i = 0; job->core.members.present > 0 &&
	    i < job->core.members.count; i++) {
		if (job->core.members.m[i].present)
			iswitch_remove_member(s, job, i);
	}
}

static inline void
iswitch_evict_silent(struct iswitch *s, struct iswitch_job *job,
    uint64_t now_ns)
{
	struct job *core = &job->core;
	const uint64_t limit = s->cf.job.member_timeout_ns;
	uint64_t check = UINT64_MAX;

	if (job->charged && core->n[JOB_ADDED] == job->founded_added && now_ns -
	    (core->last_join_ns > job->founded_ns ? core->last_join_ns :
	    job->founded_ns) >= ISWITCH_IDLE_NS) {
		if (core->members.present == 0)
			iswitch_release_job(s, job);
		iswitch_remove_members(s, job);
		return;
	}
	if (core->members.present == 0 || now_ns < core->timeout_check_ns)
		return;
	for (uint32_t i = 0; i < core->members.count; i++) {
		const struct member *m = &core->members.m[i];

		if (!m->present)
			continue;
		if (m->last_packet_ns + limit > now_ns) {
			if (m->last_packet_ns + limit < check)
				check = m->last_packet_ns + limit;
			continue;
		}
		core->n[JOB_EVICTED]++;
		iswitch_permit_fetch(job, &m->at, now_ns);
		iswitch_drop_member(s, job, i, true, now_ns);
		if (core->members.present == 0)
			return;
	}
	core->timeout_check_ns = check;
	job_test_slots(core);
}

/*
 * Make room for member `id` in the bitmaps, or room for the member's pushes.
 * Returns false if there is no memory.
 */
static inline bool
iswitch_reserve_member(struct iswitch_job *job, uint32_t id, bool repairs)
{
	struct job *core = &job->core;
	struct member *m = &core->members.m[id];
	struct sums_shape shape = core->sums.s;

	free(m->loss_detect);
	m->loss_detect = NULL;
	/* If a rack does not repair losses on the way to its parent, it asks
	 * the parent for results only when its members send Helps.  So the
	 * members must use Helps too. */
	if (repairs && (!core->cf->child || core->retransmit != NULL) &&
	    job_reserve(core, &shape))
		m->loss_detect = loss_detect_make(shape.segs);
	if (core->cf->server)
		return job_reserve(core, &shape) && job_enter_server(core, id);
	if (core->cf->async) {
		free(m->pushed);
		m->pushed = NULL;
		if (job_reserve(core, &shape))
			m->pushed = calloc(shape.segs, sizeof(*m->pushed));
		return m->pushed != NULL;
	}
	while (id / 64 >= shape.words)
		shape.words *= 2;
	return shape.words == core->sums.s.words || job_reshape(core, &shape);
}

/*
 * Allocate the memory of a job, according to the values in the Join of its
 * first member.
 */
static inline enum control_status
iswitch_start_job(struct iswitch *s, struct iswitch_job *job, uint32_t elements,
    uint32_t floats, uint32_t next)
{
	struct sums_shape shape = job_shape(&s->cf.job, &job->core.rule,
	    elements, floats);

	if (shape.segs > SEG_INDEX_MAX)
		return CONTROL_BAD_VALUE;
	return job_fit_slots(&s->cf.job, s->budget.slots, &shape) &&
	    job_start(&job->core, &shape, next) ? CONTROL_DONE :
	    CONTROL_NO_ROOM;
}

static inline struct iswitch_ref *
iswitch_add_implicit_member(struct iswitch *s, const union addr *from,
    const struct seg *g)
{
	struct iswitch_job *job = iswitch_make_job(s, 1);
	uint32_t id, number = 0;

	if (job == NULL || job->core.members.count >= s->cf.implicit)
		return NULL;
	if (!job_has_memory(&job->core)) {
		if (iswitch_start_job(s, job, g->n, g->n, g->iteration) !=
		    CONTROL_DONE)
			return NULL;
		job->core.h = s->cf.job.h != 0 ? s->cf.job.h :
		    (uint16_t)s->cf.implicit;
		job->core.grows = job->core.open = true;
		/* members never time out */
		job->core.timeout_check_ns = UINT64_MAX;
	}
	while (members_find(&job->core.members, CONTROL_WORKER, number) !=
	    MEMBERS_NONE)
		number++;	/* this number is used by a member that sent a
				 * Join */
	id = members_assign_id(&job->core.members, CONTROL_WORKER, number);
	if (id == MEMBERS_NONE || !iswitch_reserve_member(job, id, false) ||
	    !iswitch_bind_address(s, from, job->core.index, id))
		return NULL;
	job->core.members.m[id].at = *from;
	members_enter(&job->core.members, id, job->core.start);
	return iswitch_find_address(s, from);
}

/*
 * Does the checksum crc match *have?  It matches if both are equal or if one of
 * them is 0 (unknown).  If *have is unknown, set it to crc.
 */
static inline bool
iswitch_crc_matches(uint32_t *have, uint32_t crc)
{
	if (*have == 0)
		*have = crc;
	return crc == 0 || *have == crc;
}

/*
 * May a worker continue from iteration join->next?  After a restart of the
 * switch, it is possible that only some of the workers have the last result.
 * In that case the job begins with the workers that lack this result.  The
 * other workers must contribute to the iteration of this result again, so they
 * may join only if their Join says that they are able to.
 */
static inline bool
iswitch_may_join_at(struct job *j, const struct control_join *join)
{
	const int64_t n = sums_unwrap(join->next, j->newest);

	if (j->cf->server)
		return job_server_admits(j,
		    members_find(&j->members, join->type, join->worker), n,
		    join->crc);
	if (j->newest >= j->start)
		return (!join->creates_job || (!j->cf->async &&
		    iswitch_is_fresh(j))) && job_keeps_results_from(j, n);
	if (n == j->start - 1 && !j->cf->async &&
	    job_can_repeat(j, j->start)) {
		job_step_back(j, join->crc);
		return true;
	}
	if (n == j->start + 1 && join->again && !j->cf->async &&
	    iswitch_crc_matches(&j->crc[1], join->crc)) {
		j->ahead = true;
		return true;
	}
	return n == j->start && iswitch_crc_matches(&j->crc[0], join->crc);
}

static inline bool
iswitch_is_fresh(const struct job *j)
{
	if (j->newest > j->start)
		return false;
	for (uint32_t at = 0; at < sums_slots(&j->sums.s); at++) {
		if (j->sums.slot[at].state == SUMS_COMPLETE)
			return false;
	}
	return true;
}

/*
 * Has member `id` (MEMBERS_NONE: no member) contributed to all sums of
 * iteration t?
 */
static inline bool
iswitch_has_given(const struct job *j, uint32_t id, int64_t t)
{
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		const uint32_t at = sums_at(&j->sums, t, i);

		if (!sums_is_complete(&j->sums, t, i) && (id == MEMBERS_NONE ||
		    sums_compare(&j->sums, at, t, i) != 0 ||
		    !sums_has(&j->sums, at, id)))
			return false;
	}
	return true;
}

/*
 * Should the job begin again at the later iteration of this Join, because the
 * switch and some workers were restarted?  It should if the job has no result
 * yet and all members support state transfer.  The members then get the state
 * of this worker.
 */
static inline bool
iswitch_should_restart_at(struct job *j, const struct control_join *join)
{
	int64_t n, t;
	uint32_t id;

	if (j->cf->async || j->cf->server || !job_has_memory(j) ||
	    !join->sends_state)
		return false;
	n = sums_unwrap(join->next, j->newest);
	t = job_next_iteration(j);
	/*
	 * A worker at iteration 0 has just begun, unless the counter has
	 * wrapped to 0 near this iteration.
	 */
	if (t % SEG_ITERATIONS == 0 && n < t - SEG_NEAR)
		n += SEG_ITERATIONS;
	if (n <= t || (n == t + 1 && join->again) ||
	    (join->next == 0 && n > t + SEG_NEAR))
		return false;
	id = members_find(&j->members, join->type, join->worker);
	if (iswitch_may_join_at(j, join)
		? n == t + 1 && iswitch_has_given(j, id, t)
		: !iswitch_is_fresh(j))
		return false;
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present && !j->members.m[i].sends_state)
			return false;
	}
	return true;
}

/*
 * Must all members begin the iteration again?  They must if the new member
 * lacks results that no longer have a slot.
 */
static inline bool
iswitch_should_repeat(struct job *j, const struct control_join *join)
{
	int64_t n, next;

	if (!job_has_memory(j) || j->sums.s.span == 0 || j->newest < j->start ||
	    join->creates_job)
		return false;
	n = sums_unwrap(join->next, j->newest);
	next = job_next_iteration(j);
	/*
	 * if a rack repeats iteration `next`, it has no slot for the first
	 * segments of this iteration
	 */
	if (n == next + 1)
		return join->type == CONTROL_SWITCH && join->again &&
		    job_has_dropped_results(j, next);
	return n == next ? job_has_dropped_results(j, n) : n == next - 1 &&
	    !job_keeps_results_from(j, n) && job_can_repeat(j, next);
}

/*
 * Member `id` is a rack.  Has it gone back one iteration, because one of its
 * workers lacks the result of that iteration?
 */
static inline bool
iswitch_went_back(const struct job *j, uint32_t id,
    const struct control_join *join)
{
	return join->type == CONTROL_SWITCH && job_has_memory(j) &&
	    !j->cf->async && sums_unwrap(join->next, j->newest) <
	    j->members.m[id].next;
}

/*
 * Does this Join of member `id` of a synchronous job need results that the job
 * no longer keeps?  If so, the process of the member has been restarted at the
 * same address and has lost its state.  A rack that goes back one iteration
 * before the first one has not lost its state (job_follow_rack()).  A member
 * that sends no Probes is not judged, because an old Join that arrives late
 * is recognised only by the Probes that have overtaken it.
 */
static inline bool
iswitch_lost_state(const struct job *j, uint32_t id,
    const struct control_join *join)
{
	const int64_t n = sums_unwrap(join->next, j->newest);

	/* A live member may have the results that were dropped if there are few
	 * slots, and may lack them if sums can be partial. */
	return !j->cf->async && !j->cf->server && j->sums.s.span == 0 &&
	    !job_may_be_partial(j) && j->members.m[id].loss_detect != NULL &&
	    j->newest >= j->start && n < job_next_iteration(j) &&
	    n != j->start - 1 &&
	    !job_keeps_results_from(j, n);
}

/*
 * Has member `id`, whose Leave was lost, come back with weights that do not
 * belong to this job, although the job is not new?
 */
static inline bool
iswitch_has_other_weights(const struct job *j, uint32_t id,
    const struct control *c, const struct control_join *join)
{
	/* a copy of the member's first Join says nothing new */
	return join->creates_job && j->newest >= j->start &&
	    c->xid != j->members.m[id].join_xid &&
	    (j->cf->async || !iswitch_is_fresh(j));
}

/*
 * Does this Join need an iteration before the iteration at which the job began
 * according to the parent?  The other members of the parent may not be able to
 * contribute to such an iteration again.  If all members support state
 * transfer, the worker fetches a state instead.
 */
static inline bool
iswitch_is_behind_parent(const struct iswitch_job *job,
    const struct control_join *join)
{
	const struct job *core = &job->core;
	const struct membership *up = &job->parent.membership;
	const int64_t n = sums_unwrap(join->next, core->newest);

	if (!job->parent.wanted || !up->joined || core->cf->async ||
	    !join->sends_state || n >= core->start ||
	    n >= sums_unwrap(up->job_next, core->newest))
		return false;
	for (uint32_t i = 0; i < core->members.count; i++) {
		if (core->members.m[i].present &&
		    !core->members.m[i].sends_state)
			return false;
	}
	return true;
}

/*
 * Does the first worker of this rack still have to send its Join again?  The
 * rack joined its parent because of a Join of this worker, and the parent has
 * accepted the rack.  The rack waits for the worker for as long as two Joins
 * take.
 */
static inline bool
iswitch_awaits_founder(const struct iswitch_job *job, uint64_t now_ns)
{
	return job->parent.wanted && job->parent.membership.joined &&
	    job->parent.membership.end == MEMBERSHIP_GOING &&
	    job->core.members.present == 0 &&
	    now_ns - job->parent.wanted_ns < ISWITCH_FOUNDER_NS;
}

/*
 * Does this Join need an iteration before that of the first worker of the rack,
 * which is not a member yet?  If so, the answer waits for the first worker.
 */
static inline bool
iswitch_is_behind_founder(const struct iswitch_job *job,
    const struct control_join *join, uint64_t now_ns)
{
	return (job->core.cf->async || !job->parent.again) &&
	    iswitch_awaits_founder(job, now_ns) &&
	    sums_unwrap(join->next, job->core.newest) < job->core.start;
}

/*
 * Write the salt and the epoch that member m needs for authentication tags into
 * the member's Ack.  t is the next iteration of the member.
 */
static inline void
iswitch_put_salt(const struct job *j, struct member *m, int64_t t,
    struct control_ack *a)
{
	if (j->tag_key == NULL)
		return;
	a->tagged = true;
	memcpy(a->salt, j->tag_key->salt, sizeof(a->salt));
	a->epoch = job_epoch(t);
	m->push_epoch = a->epoch;
}

/*
 * Write the multicast group of the job's results into the Ack of member m.
 * Each job has its own port, because a segment does not contain the number of
 * its job.
 */
static inline void
iswitch_put_group(const struct iswitch *s, struct iswitch_job *job,
    struct member *m, const struct control_join *join, struct control_ack *a)
{
	const uint32_t port = addr_port(&s->cf.group) + (uint32_t)job->core.id;

	m->in_multicast_group = false;
	if (!join->can_multicast || port > UINT16_MAX ||
	    m->at.sa.sa_family != s->cf.group.sa.sa_family)
		return;
	a->groups = true;
	a->group_port = (uint16_t)port;
	addr_bytes(&s->cf.group, a->group);
	job->group = addr_of_bytes(a->group, a->group_port);
	m->in_multicast_group = join->in_multicast_group;
}

/*
 * Write the job's values into an Ack to member `id`.  `id` is MEMBERS_NONE for
 * a worker whose Join is refused.  `instance` says whether the worker asks for
 * the instance number of the job.
 */
static inline void
iswitch_put_values(const struct iswitch *s, const struct job *j, uint32_t id,
    bool instance, struct control_ack *a)
{
	a->h = (uint16_t)(j->h != 0 ? j->h : j->members.present);
	a->members = (uint16_t)j->members.present;
	a->floats = (uint16_t)j->sums.s.floats;
	a->elements = j->sums.s.elements;
	a->whole = j->cf->whole || j->cf->server;
	a->closed = j->cf->async && !j->open;
	a->async = j->cf->async;
	a->span = j->sums.s.span;
	a->timeout_s = (uint16_t)((s->cf.job.member_timeout_ns +
	    999999999) / 1000000000);
	a->instance = instance ? j->instance : 0;
	if (id != MEMBERS_NONE) {
		a->member = (uint16_t)id;
		a->repairs = j->members.m[id].loss_detect != NULL;
		a->next = (uint32_t)((j->cf->server ?
		    job_async_server_member(&j->server, id)->round + 1 :
		    j->cf->async ? j->newest + 1 :
		    j->members.m[id].from) & (SEG_ITERATIONS - 1));
		iswitch_put_salt(j, &j->members.m[id], j->cf->server ?
		    job_async_server_member(&j->server, id)->round + 1 :
		    j->cf->async ? j->newest + 1 : j->members.m[id].from, a);
	} else if (job_has_memory(j)) {	/* the Join is refused, but the job
					 * exists */
		a->next =
		    (uint32_t)(job_next_iteration(j) & (SEG_ITERATIONS - 1));
	}
}

/* Start to join the parent's job.  The job must have memory. */
static inline void
iswitch_join_parent(struct iswitch *s, struct iswitch_job *job,
    const struct control_join *join, uint64_t now_ns)
{
	const struct membership_conf cf = {.type = CONTROL_SWITCH,
	    .async = s->cf.job.async,
	    .job = job->core.id,
	    .number = s->cf.number,
	    .elements = job->core.sums.s.elements,
	    .repairs = true,
	    .sends_state = true,
	    .creates_job = join->creates_job,
	    .wants_left = join->wants_left,
	    .rule = iswitch_rule_for_parent(job),
	    .floats = (uint16_t)job->core.sums.s.floats,
	    .floats_max = (uint16_t)job->core.sums.s.floats,
	    .give_up_ns = MEMBERSHIP_NEVER,
	    .any_xid = s->cf.any_xid,
	    .tagged = s->cf.job.tagged,
	    .key = s->cf.job.key,
	    .channel = &job->channel};

	/* The pushes of the new membership have other numbers and epochs.  The
	 * parent recognises that by the nonce (iswitch_note_process()). */
	if (cf.async && cf.tagged)
		channel_client_renew(&job->channel);
	job->parent.wanted = true;
	membership_init(&job->parent.membership, &cf, now_ns);
	job->core.up_tags = &job->parent.membership.tags;
}

static inline void
iswitch_send_membership(struct iswitch *s, struct iswitch_job *job,
    uint64_t now_ns)
{
	uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
	const int64_t next = job_next_iteration(&job->core);
	const struct membership_place at = {
	    .crc = job->core.newest < job->core.start ? job->core.crc[0] : 0,
	    .next = (uint32_t)(next & (SEG_ITERATIONS - 1)),
	    .again = !job->core.cf->async &&
	    (job->core.members.present > 0 ? job_can_repeat(&job->core, next) :
	    job->parent.again) };
	size_t len;

	/* the xids of all messages to the parent form one sequence */
	job->parent.membership.xid = s->xid;
	len = membership_next(&job->parent.membership, now_ns, &at, msg);
	s->xid = job->parent.membership.xid;
	if (len > 0)
		iswitch_post_message(s, POST_PARENT, job->core.index, NULL, msg,
		    len);
}

/*
 * Are the values in the Join possible for the job?  Sets *floats to F, the
 * number of floats in a segment.
 */
static inline bool
iswitch_join_fits(const struct iswitch *s, const struct iswitch_job *job,
    const struct control_join *join, uint32_t *floats)
{
	const bool has = job_has_memory(&job->core);

	*floats = join->floats != 0 ? join->floats :
	    has ? job->core.sums.s.floats : s->cf.floats;
	return join->elements > 0 && join->async == s->cf.job.async &&
	    *floats <= s->cf.floats_max && (!has ||
	    (join->elements == job->core.sums.s.elements &&
	    *floats == job->core.sums.s.floats));
}

/* Record the progress that member m reports in its Join. */
static inline void
iswitch_note_place(const struct job *j, struct member *m,
    const struct control_join *join)
{
	m->next = sums_unwrap(join->next, j->newest);
	m->can_give_from = m->next - join->again;
	m->wants_left = join->wants_left;
}

/*
 * Add member `id`, whose address is `from`, and replace an earlier process of
 * the member.
 */
static inline enum control_status
iswitch_enter_member(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    const union addr *from, const struct control_join *join, uint64_t now_ns)
{
	struct job *core = &job->core;
	struct member *m = &core->members.m[id];
	const bool was = m->present;
	int64_t first = core->start;

	if (was)
		iswitch_unbind_address(s, &m->at);
	if (!iswitch_reserve_member(job, id, join->repairs) ||
	    !iswitch_bind_address(s, from, core->index, id)) {
		if (was)
			iswitch_remove_member(s, job, id);
		return CONTROL_NO_ROOM;
	}
	m = &core->members.m[id];
	m->previous_at = was ? m->at : (union addr){ 0 };
	m->confirmed = false;
	/*
	 * If two processes with the same number replace each other twice within
	 * one second, the later one may be a process that has ended and whose
	 * packets arrive late.
	 */
	m->confirms_ns = was && now_ns - m->joined_ns < ISWITCH_OLD_JOIN_NS ?
	    now_ns + ISWITCH_OLD_JOIN_NS : now_ns;
	m->joined_ns = now_ns;
	m->at = *from;
	m->push = MEMBERS_NO_PUSH;
	m->cluster = join->cluster;
	iswitch_note_place(core, m, join);
	m->sends_state = join->sends_state;
	member_note_packet(m, now_ns);
	if (was)
		return CONTROL_DONE;
	iswitch_forget_left(job);
	m->flow = (struct member_flow){ .deadline_ns = UINT64_MAX };
	if ((m->reused || (core->h == 0 && core->open)) &&
	    core->newest >= core->start)
		first = core->newest + 1;
	else
		sums_recount_member(&core->sums, id, first, 1);
	members_enter(&core->members, id, first);
	if (now_ns + s->cf.job.member_timeout_ns < core->timeout_check_ns ||
	    core->members.present == 1)
		core->timeout_check_ns = now_ns + s->cf.job.member_timeout_ns;
	return CONTROL_DONE;
}

/*
 * If a later process has taken the number of the process at `from`, return the
 * member to which this number belongs.  Otherwise return NULL.  A number
 * belongs to the latest process, because a worker that was killed restarts at
 * another port.
 */
static inline const struct member *
iswitch_find_holder(const struct job *j, const union addr *from,
    const struct control_join *join)
{
	const uint32_t id = members_find(&j->members, join->type,
	    join->worker);

	return id != MEMBERS_NONE && j->members.m[id].present &&
	    addr_same(&j->members.m[id].previous_at, from) ? &j->members.m[id] :
	    NULL;
}

/* Refuse a Join, because member m already uses the number of the worker. */
static inline void
iswitch_put_holder(const struct member *m, struct control_ack *a)
{
	a->status = CONTROL_TAKEN;
	a->holder_port = addr_port(&m->at);
	addr_bytes(&m->at, a->holder);
}

/*
 * Member m has sent Join c.  If the nonce of its cookie is new, another process
 * of the member has started at the same address.  The first push of that
 * process has the epoch that is in its Ack.  This epoch may differ from that of
 * the member's last push.
 */
static inline void
iswitch_note_process(struct member *m, const struct control *c)
{
	if (c->cookie != NULL &&
	    memcmp(m->cookie, c->cookie, COOKIE_NONCE_BYTES) != 0)
		m->push = MEMBERS_NO_PUSH;
}

/*
 * Is this worker ahead of this asynchronous rack?  It can be ahead if the rack
 * lacks rounds of its parent, for example because the rack's link was down, and
 * if the worker has fetched a newer state.  If it is ahead, ask the parent for
 * its round, and return true until the parent has answered.
 */
static inline bool
iswitch_is_behind_worker(struct iswitch_job *job,
    const struct control_join *join, uint64_t now_ns)
{
	struct membership *up = &job->parent.membership;
	const struct job *j = &job->core;

	if (!j->cf->async || !job->parent.wanted || !up->joined ||
	    join->creates_job || sums_unwrap(join->next, j->newest) <=
	    (j->newest < j->start ? j->start : j->newest + 1))
		return false;
	if (!up->join_open && (job->parent.ahead_ns == 0 ||
	    now_ns - job->parent.ahead_ns >= ISWITCH_AHEAD_NS)) {
		job->parent.ahead_ns = now_ns;
		membership_join(up, now_ns);
		return true;
	}
	return up->join_open || up->join_ns <= now_ns;
}

/* Add a new member to a job that has memory. */
static inline enum control_status
iswitch_join_member(struct iswitch *s, struct iswitch_job *job,
    const union addr *from, const struct control_join *join, uint32_t *id,
    uint64_t now_ns)
{
	struct job *core = &job->core;
	const int64_t start = core->start;
	enum control_status status;

	if (iswitch_is_behind_parent(job, join) ||
	    !iswitch_may_join_at(core, join))
		return CONTROL_REFUSED;
	/* tell the parent that this job has begun earlier */
	if (core->start < start && job->parent.wanted) {
		s->xid++;
		job->parent.went_back = true;
		job->parent.joins_before = job->parent.membership.joins;
		membership_join(&job->parent.membership, now_ns);
	}
	*id = members_assign_id(&core->members, join->type, join->worker);
	if (*id == MEMBERS_NONE)
		return CONTROL_NO_ROOM;
	outbox_flush(s->out);	/* send earlier posts now, because they are not
				 * for the new member */
	status = iswitch_enter_member(s, job, *id, from, join, now_ns);
	if (status != CONTROL_DONE)
		return status;
	core->n[JOB_JOINS]++;
	iswitch_forget_joined(s, job, from);
	core->last_join_ns = now_ns;
	job_try_open(core, now_ns);
	if (core->h != 0 && core->h < core->members.present)
		job_keep_results(core);
	job_test_slots(core);
	return CONTROL_DONE;
}

/*
 * Charge the job to the quota of the address `from`, which starts the job.
 * Returns false if the quota is exceeded.
 */
static inline bool
iswitch_charge_job(struct iswitch *s, struct iswitch_job *job,
    const union addr *from, uint64_t now_ns)
{
	if (!s->cf.quotas || addr_is_loopback(from))
		return true;
	if (!quota_charge(&s->quota, from, QUOTA_JOBS, 1))
		return false;
	job->charged = true;
	job->founder = *from;
	job->charged_bytes = 0;
	job->founded_ns = now_ns;
	job->founded_added = job->core.n[JOB_ADDED];
	return true;
}

/*
 * Charge the memory of the job to the quota of the address that started the
 * job.  Returns false if the quota is exceeded.
 */
static inline bool
iswitch_charge_bytes(struct iswitch *s, struct iswitch_job *job)
{
	if (!job->charged)
		return true;
	if (!quota_charge(&s->quota, &job->founder, QUOTA_BYTES,
	    job->core.used_bytes))
		return false;
	job->charged_bytes = job->core.used_bytes;
	return true;
}

/* Is there no socket to the parent left for another job? */
static inline bool
iswitch_lacks_sockets(const struct iswitch *s)
{
	uint32_t n = 0;

	for (uint32_t k = 0; s->cf.sockets > 0 && k < s->jobs; k++)
		n += job_has_memory(&s->job[k]->core);
	return s->cf.sockets > 0 && n >= s->cf.sockets;
}

/* Start a job when its first Join arrives. */
static inline enum control_status
iswitch_found_job(struct iswitch *s, struct iswitch_job *job,
    const union addr *from, const struct control_join *join, uint32_t floats,
    uint64_t now_ns)
{
	enum control_status status;

	s->lacks_sockets = iswitch_lacks_sockets(s);
	if (s->lacks_sockets || !iswitch_charge_job(s, job, from, now_ns))
		return CONTROL_NO_ROOM;
	iswitch_take_named(s, job, join);
	status = iswitch_start_job(s, job, join->elements, floats, join->next);
	if (status == CONTROL_DONE && !iswitch_charge_bytes(s, job))
		status = CONTROL_NO_ROOM;
	if (status != CONTROL_DONE) {
		iswitch_release_job(s, job);
		return status;
	}
	job->core.crc[0] = join->crc;
	job->core.last_join_ns = now_ns;
	return CONTROL_DONE;
}

static inline void
iswitch_release_if_empty(struct iswitch *s, struct iswitch_job *job)
{
	if (job_has_memory(&job->core) && job->core.members.present == 0)
		iswitch_release_job(s, job);
}

/* Write the memory limit that was reached into an Ack. */
static inline void
iswitch_put_memory_reason(struct iswitch *s, struct control_ack *a)
{
	struct job_budget *b = &s->budget;

	if (s->lacks_sockets)
		iswitch_put_reason(s, a, "its limit on open files leaves "
		    "room for %u jobs; raise its ulimit -n", s->cf.sockets);
	else if (s->cf.job.slots > 0 && s->cf.job.slots - b->slots < 3)
		iswitch_put_reason(s, a, "%u of its %u slots of sums are taken",
		    b->slots, s->cf.job.slots);
	else if (b->lacked_bytes > 0)
		iswitch_put_reason(s, a,
		    "%.1f MB more than the %.1f MB that %s "
		    "may take; raise its --%smemory",
		    (double)b->lacked_bytes / 1e6,
		    1e-6 * (double)(b->lacked_by_job ? b->job_bytes
						     : b->limit_bytes),
		    b->lacked_by_job ? "a job" : "it",
		    b->lacked_by_job ? "job-" : "");
	else
		iswitch_put_reason(s, a,
		    "its limit is %d jobs and %d members of a job",
		    ISWITCH_JOBS_MAX, MEMBERS_MAX);
}

/*
 * Has nothing arrived from the parent for ISWITCH_ORPHAN_NS?  If so, write the
 * address of the topmost switch that does not answer into *a.
 */
static inline bool
iswitch_parent_is_silent(struct iswitch *s, const struct iswitch_job *job,
    struct control_ack *a, uint64_t now_ns)
{
	const struct membership *up = &job->parent.membership;
	char name[ADDR_NAME_BYTES];

	if (!up->join_open || now_ns - up->join_since_ns < ISWITCH_ORPHAN_NS)
		return false;
	a->status = CONTROL_NO_PARENT;
	iswitch_put_reason(s, a, "%s", up->orphan ? up->status_text :
	    s->cf.parent.sa.sa_family == 0 ? "" :
	    addr_print(&s->cf.parent, name));
	return true;
}

/*
 * Write the parent's reason for a refusal into an Ack, and return the status of
 * the refusal.
 */
static inline enum control_status
iswitch_put_parent_refusal(struct iswitch *s, const struct membership *up,
    struct control_ack *a)
{
	char name[ADDR_NAME_BYTES];

	a->next = up->job_next;
	if (up->status != CONTROL_REFUSED && up->status != CONTROL_GONE &&
	    s->cf.parent.sa.sa_family != 0)
		iswitch_put_reason(s, a, "%s%sat its parent %s",
		    up->status_text, up->status_text[0] == '\0' ? "" : " ",
		    addr_print(&s->cf.parent, name));
	return (enum control_status)up->status;
}

/*
 * Must the answer wait for the parent?  Sets *status if the parent has refused
 * the job.
 */
static inline bool
iswitch_await_parent(struct iswitch *s, struct iswitch_job *job,
    const struct control_join *join, enum control_status *status,
    struct control_ack *a, uint64_t now_ns)
{
	if (!s->cf.job.child ||
	    (job->parent.wanted && job->parent.membership.joined &&
	    job->parent.membership.end == MEMBERSHIP_GOING))
		return false;
	if (job->parent.wanted &&
	    job->parent.membership.end == MEMBERSHIP_REFUSED) {
		*status =
		    iswitch_put_parent_refusal(s, &job->parent.membership, a);
		iswitch_release_if_empty(s, job);
		return true;
	}
	job->parent.wanted_ns = now_ns;
	if (!job->parent.wanted) {
		job->parent.again = join->again;
		iswitch_join_parent(s, job, join, now_ns);
		iswitch_send_membership(s, job, now_ns);
	}
	*status = CONTROL_DONE;
	return true;
}

/*
 * Has the parent refused this switch at an iteration that is further from the
 * parent's iteration than that of the Join?  If so, the parent may accept the
 * worker that sent the Join.  In all other cases the refusal holds for this
 * worker too: otherwise two workers could have each other's answer discarded
 * for ever.
 */
static inline bool
iswitch_was_refused_further(const struct iswitch_job *job,
    const struct control_join *join)
{
	const struct membership *up = &job->parent.membership;
	const uint32_t refused = up->join_next;

	if (!job->parent.wanted || up->end != MEMBERSHIP_REFUSED ||
	    up->status != CONTROL_REFUSED)
		return false;
	if (seg_before(refused, up->job_next))
		return seg_before(refused, join->next);
	return seg_before(join->next, refused) &&
	    !seg_before(join->next, up->job_next);
}

static inline bool
iswitch_receive_join(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_job *job;
	enum control_status status = CONTROL_DONE;
	struct iswitch_ref *ref = iswitch_find_address(s, from);
	const struct member *holder;
	struct control_join join;
	uint32_t floats, id = MEMBERS_NONE;

	if (!control_get_join(c, &join)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	job = iswitch_make_job(s, c->job);
	s->budget.lacked_bytes = 0;
	s->lacks_sockets = false;
	if (job == NULL) {
		a->status = CONTROL_NO_ROOM;
		iswitch_put_memory_reason(s, a);
		return true;
	}
	if (ref != NULL && (s->job[ref->job] != job || job->core.members.m[
	    ref->member].worker != join.worker ||
	    job->core.members.m[ref->member].type != join.type)) {
		struct iswitch_job *old = s->job[ref->job];

		/* another process now uses this address */
		iswitch_drop_member(s, old, ref->member, false, now_ns);
		job_test_slots(&old->core);
		iswitch_wake_job(s, old, now_ns);
		ref = NULL;
	}
	if (!iswitch_join_fits(s, job, &join, &floats) ||
	    !iswitch_may_name(s, job, &join, a)) {
		a->status = CONTROL_BAD_VALUE;
		iswitch_put_values(s, &job->core, MEMBERS_NONE, false, a);
		return true;
	}
	holder =
	    ref == NULL ? iswitch_find_holder(&job->core, from, &join) : NULL;
	if (holder != NULL && holder->confirmed) {
		iswitch_put_holder(holder, a);
		iswitch_put_values(s, &job->core, MEMBERS_NONE, false, a);
		return true;
	}
	/* could this be a late Join of a process that has ended? */
	if (holder != NULL && now_ns - holder->joined_ns < ISWITCH_OLD_JOIN_NS)
		return false;
	if (ref != NULL && job_has_memory(&job->core) &&
	    (iswitch_lost_state(&job->core, ref->member, &join) ||
	    iswitch_has_other_weights(&job->core, ref->member, c, &join))) {
		iswitch_drop_member(s, job, ref->member, false, now_ns);
		if (job_has_memory(&job->core))
			job_test_slots(&job->core);
		ref = NULL;
	}
	if (iswitch_should_restart_at(&job->core, &join) || ((ref == NULL ||
	    iswitch_went_back(&job->core, ref->member, &join)) &&
	    iswitch_should_repeat(&job->core, &join))) {
		iswitch_remove_members(s, job);
		iswitch_release_if_empty(s, job);
		ref = NULL;
	}
	if (iswitch_was_refused_further(job, &join))
		iswitch_release_if_empty(s, job);
	if (!job_has_memory(&job->core))
		status = iswitch_found_job(s, job, from, &join, floats,
		    now_ns);
	job->core.last_join_ns = job->core.members.present == 0 ? now_ns :
	    job->core.last_join_ns;
	if (status == CONTROL_DONE &&
	    iswitch_await_parent(s, job, &join, &status, a, now_ns)) {
		if (status == CONTROL_DONE)
			return iswitch_parent_is_silent(s, job, a, now_ns);
	} else if (status != CONTROL_DONE) {
		;
	} else if (ref == NULL && iswitch_is_behind_founder(job, &join,
	    now_ns)) {
		return false;
	} else if (ref == NULL && iswitch_is_behind_worker(job, &join,
	    now_ns)) {
		iswitch_send_membership(s, job, now_ns);
		return false;
	} else if (join.type == CONTROL_SWITCH &&
	    sums_keeps_rows(&job->core.rule.reduce) &&
	    job->core.rule.reduce.kind != REDUCE_ORDERED) {
		status = CONTROL_REFUSED;
		iswitch_put_reason(s, a, "no median of medians: its --reduce "
		    "accepts only workers");
	} else if (ref != NULL) {
		id = ref->member;
		member_confirm(&job->core.members.m[id], now_ns);
		iswitch_note_place(&job->core, &job->core.members.m[id],
		    &join);
		iswitch_note_process(&job->core.members.m[id], c);
		/* the Join may come from another process */
		if (job->core.members.m[id].loss_detect != NULL)
			job->core.members.m[id].loss_detect->marked = false;
		job_follow_rack(&job->core, &join, now_ns);
	} else {
		status = iswitch_join_member(s, job, from, &join, &id, now_ns);
		if (status == CONTROL_DONE)
			job->core.members.m[id].join_xid = c->xid;
	}
	if (status == CONTROL_DONE)
		iswitch_put_group(s, job, &job->core.members.m[id], &join,
		    a);
	if (status == CONTROL_DONE && join.wants_left)
		iswitch_ask_for_left(job, now_ns);
	if (status == CONTROL_DONE && job->core.halted)
		status = CONTROL_NOT_READY;
	a->status = (uint8_t)status;
	if (join.sends_state &&
	    (status == CONTROL_REFUSED || status == CONTROL_GONE))
		iswitch_permit_fetch(job, from, now_ns);
	if (status == CONTROL_NO_ROOM && a->text == NULL)
		iswitch_put_memory_reason(s, a);
	iswitch_put_values(s, &job->core,
	    status == CONTROL_DONE ? id : MEMBERS_NONE, join.wants_instance,
	    a);
	if (status == CONTROL_DONE && control_names_rule(&join.rule))
		a->rule = job_rule_on_wire(&job->core.rule);
	if (status != CONTROL_DONE && !iswitch_awaits_founder(job, now_ns))
		iswitch_release_if_empty(s, job);
	return true;
}

#endif
