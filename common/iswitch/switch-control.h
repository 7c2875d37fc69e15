/*
 * switch-control.h - control messages and deadlines of a switch
 *
 * This file processes Join, Leave, Reset, SetH, FBcast, Help, Halt and Resume
 * messages of members and operators (iSwitch, section 3.4, Table 2).  It also
 * processes all packets from the parent, and does the work that has a deadline.
 *
 * This is a separate file because control messages and data packets
 * (switch-data.h) have separate interfaces.  program.h uses both interfaces.
 */
#ifndef INNET_ISWITCH_SWITCH_CONTROL_H
#define INNET_ISWITCH_SWITCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch-data.h"
#include "common/iswitch/switch-join.h"
#include "common/iswitch/switch-left.h"
#include "common/iswitch/switch-repair.h"
#include "common/iswitch/switch-transfer.h"

/*
 * Execute a request that has not been executed before.  Returns true if *a is
 * the answer, or false if there is no answer yet.
 */
static inline bool iswitch_handle_request(struct iswitch *s,
    const union addr *from, const struct control *c, struct control_ack *a,
    uint64_t now_ns);

/* Process a packet from the parent for the job with this id. */
static inline void iswitch_receive_parent(struct iswitch *s, uint16_t id,
    uint8_t tos, const uint8_t *p, size_t len, uint64_t now_ns);

/*
 * Do all work that is due by now_ns, in the order of the deadlines.  Jobs with
 * the same deadline are served in the order of their index.
 */
static inline void iswitch_run_deadlines(struct iswitch *s, uint64_t now_ns);

/* implementation */

/* Execute a SetH. */
static inline void
iswitch_set_threshold(struct job *j, const struct control *c,
    struct control_ack *a, uint64_t now_ns)
{
	uint64_t h;

	a->h = j->h;
	if (!control_get_number(c, 2, &h) || h > MEMBERS_MAX ||
	    (h > 0 && h < reduce_needs(&j->rule.reduce, (uint32_t)h))) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	j->h = (uint16_t)h;
	job_try_open(j, now_ns);
	if (job_may_be_partial(j))
		job_keep_results(j);
	job_test_slots(j);
}

/* Execute an FBcast. */
static inline void
iswitch_force_broadcast(struct job *j, const struct control *c,
    struct control_ack *a)
{
	uint64_t word;
	struct seg g;
	bool done;

	if (!control_get_number(c, 8, &word)) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	g = seg_split(word);
	a->contributions = job_force_broadcast(j, &g, &done);
	if (!done)
		a->status = CONTROL_NOT_READY;
}

/* Answer a Help of member `id` for the segment in a->seg. */
static inline void
iswitch_answer_help(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_help_sender asking = { s, &job->core };
	struct seg g;

	g = seg_split(a->seg);
	switch (job_answer_help(&job->core, id, &g, now_ns, iswitch_send_help,
	    &asking)) {
	case JOB_HELP_LOST:
		job->core.n[JOB_GONE]++;
		a->status = CONTROL_GONE;
		break;
	case JOB_HELP_PARENT:
		job->core.n[JOB_HELP_UP]++;
		iswitch_send_action(s, POST_PARENT, &job->core, NULL,
		    CONTROL_HELP, &a->seg);
		break;
	case JOB_HELPED:
		break;
	}
}

/*
 * Execute a Help or a Probe.  Returns false if no Ack must be sent.  A Probe
 * never gets an Ack.
 */
static inline bool
iswitch_receive_help(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct member *m = &job->core.members.m[id];
	struct repair_help h;

	if (!repair_is_help(c) || m->loss_detect == NULL) {
		iswitch_answer_help(s, job, id, a, now_ns);
		return true;
	}
	if (!repair_get_help(c, &h)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	if (control_newer(c->xid, m->join_xid))
		member_confirm(m, now_ns);
	iswitch_receive_probe(s, &job->core, id, c->xid, &h);
	return false;
}

/* Remove every member of the job, and send a Reset to each of them. */
static inline void
iswitch_disband_job(struct iswitch *s, struct iswitch_job *job)
{
	iswitch_send_to_members(s, job, CONTROL_RESET);
	job->core.halted = false;
	iswitch_remove_members(s, job);
}

/* Remove member `id`, which has sent a Leave. */
static inline void
iswitch_leave_member(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    uint64_t now_ns)
{
	job->core.n[JOB_LEAVES]++;
	iswitch_permit_fetch(job, &job->core.members.m[id].at, now_ns);
	iswitch_drop_member(s, job, id, false, now_ns);
	job_test_slots(&job->core);
}

/*
 * Remove the worker with this number and send a Reset to it, which ends the
 * worker.
 */
static inline enum control_status
iswitch_expel_worker(struct iswitch *s, struct iswitch_job *job,
    uint32_t worker, uint64_t now_ns)
{
	const uint32_t id = members_find(&job->core.members, CONTROL_WORKER,
	    worker);

	if (id == MEMBERS_NONE || !job->core.members.m[id].present)
		return CONTROL_NOT_MEMBER;
	iswitch_send_action(s, POST_ONE, &job->core,
	    &job->core.members.m[id].at, CONTROL_RESET, NULL);
	iswitch_leave_member(s, job, id, now_ns);
	return CONTROL_DONE;
}

/* Pass on the Left message c of member `id`, which must be a rack. */
static inline void
iswitch_receive_left(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    const struct control *c, uint64_t now_ns)
{
	const struct member *m = &job->core.members.m[id];
	struct control_left left;

	if (m->type == CONTROL_SWITCH && control_get_left(c, &left))
		iswitch_pass_left(s, &job->core, m, &left, now_ns);
}

/* Execute request c.  Returns false if there is no answer yet. */
static inline bool
iswitch_execute(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_job *job = iswitch_find_job(s, c->job);
	const struct iswitch_ref *ref = iswitch_find_address(s, from);
	const bool member = ref != NULL && job == s->job[ref->job];
	uint64_t worker;

	if (c->action == CONTROL_JOIN)
		return iswitch_receive_join(s, from, c, a, now_ns);
	if (c->action == CONTROL_HELP &&
	    !control_get_number(c, 8, &a->seg)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	if (job == NULL) {
		a->status = CONTROL_NO_JOB;
		return true;
	}
	if (c->action == CONTROL_LEAVE && control_get_number(c, 4, &worker)) {
		a->status =
		    iswitch_expel_worker(s, job, (uint32_t)worker, now_ns);
		return true;
	}
	if (!member && (c->action == CONTROL_HELP ||
	    c->action == CONTROL_LEAVE || c->action == CONTROL_CHUNK ||
	    (c->action == CONTROL_FETCH &&
	    !iswitch_may_fetch(job, from, now_ns)))) {
		a->status = CONTROL_NOT_MEMBER;
		return true;
	}
	if (job->core.halted && c->action == CONTROL_HELP) {
		iswitch_send_action(s, POST_ONE, &job->core, from, CONTROL_HALT,
		    NULL);
		return false;
	}
	switch (c->action) {
	case CONTROL_LEAVE:
		iswitch_leave_member(s, job, ref->member, now_ns);
		break;
	case CONTROL_RESET:
		if (c->body_bytes > 0 && (c->body[0] & 1) != 0)
			iswitch_disband_job(s, job);
		else
			job_reset(&job->core);
		break;
	case CONTROL_SETH:
		iswitch_set_threshold(&job->core, c, a, now_ns);
		break;
	case CONTROL_FBCAST: iswitch_force_broadcast(&job->core, c, a); break;
	case CONTROL_HELP:
		return iswitch_receive_help(s, job, ref->member, c, a, now_ns);
	case CONTROL_HALT:
		job->core.halted = true;
		iswitch_send_to_members(s, job, CONTROL_HALT);
		break;
	case CONTROL_RESUME:
		job->core.halted = false;
		iswitch_send_to_members(s, job, CONTROL_RESUME);
		break;
	case CONTROL_FETCH:
		a->status = iswitch_receive_fetch(s, job, from, c, now_ns);
		return a->status != CONTROL_DONE;
	case CONTROL_CHUNK:
		iswitch_receive_chunk(s, job, ref->member, c, now_ns);
		return false;
	case CONTROL_LEFT:
		if (member)
			iswitch_receive_left(s, job, ref->member, c, now_ns);
		return false;
	default: a->status = CONTROL_UNKNOWN; break;
	}
	return true;
}

/*
 * Store the cookie of Join `c` from `from`, because the authentication tags of
 * the data that this member sends depend on the cookie.
 */
static inline void
iswitch_store_cookie(struct iswitch *s, const union addr *from,
    const struct control *c)
{
	const struct iswitch_ref *ref = iswitch_find_address(s, from);
	uint8_t *cookie;

	if (ref == NULL)
		return;
	cookie = s->job[ref->job]->core.members.m[ref->member].cookie;
	if (c->cookie != NULL)
		memcpy(cookie, c->cookie, TAG_COOKIE_BYTES);
	else
		memset(cookie, 0, TAG_COOKIE_BYTES);
}

static inline bool
iswitch_handle_request(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	const bool done = iswitch_execute(s, from, c, a, now_ns);
	struct iswitch_job *job = iswitch_find_job(s, c->job);

	if (c->action == CONTROL_JOIN && done)
		iswitch_store_cookie(s, from, c);
	if (job != NULL)
		iswitch_finish_event(s, job, now_ns);
	return done;
}

/*
 * Synchronous job: has the result of segment g already arrived?  If so, g is a
 * late copy.
 */
static inline bool
iswitch_has_had_result(const struct job *j, const struct seg *g)
{
	return !j->cf->async && job_has_memory(j) &&
	    g->index < j->sums.s.segs && sums_is_complete(&j->sums,
	    sums_unwrap(g->iteration, j->newest), g->index);
}

/*
 * Must all members join again because the parent has restarted its job?  They
 * must if a worker supports only Help, because such a worker would not
 * contribute to an iteration again.  If there are fewer slots than segments,
 * the next segments of such a worker would wait for that iteration for ever.
 */
static inline bool
iswitch_must_disband(const struct job *j)
{
	if (j->cf->async || j->sums.s.span == 0 || j->newest < j->start)
		return false;
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present &&
		    j->members.m[i].loss_detect == NULL)
			return true;
	}
	return false;
}

/*
 * Does a member still need the result of the iteration of segment g?  No member
 * does if all of them had that result before this switch restarted, or have
 * fetched a newer state.
 */
static inline bool
iswitch_needs_result(const struct job *j, const struct seg *g)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);

	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present && j->members.m[i].next <= t)
			return true;
	}
	return false;
}

/* Forward the effect of a message from the parent to the members. */
static inline void
iswitch_handle_parent_news(struct iswitch *s, struct iswitch_job *job,
    enum membership_news news, uint64_t now_ns)
{
	struct iswitch_help_sender asking = { s, &job->core };
	struct membership *up = &job->parent.membership;

	if ((news == MEMBERSHIP_IN || news == MEMBERSHIP_STAYS ||
	    news == MEMBERSHIP_RESUMED) &&
	    up->joins > job->parent.joins_before)
		job->parent.went_back = false;
	switch (news) {
	case MEMBERSHIP_ASKED:
		job_answer_parent_help(&job->core, &up->seg, now_ns,
		    iswitch_send_help, &asking);
		break;
	case MEMBERSHIP_LOST:
		if (iswitch_has_had_result(&job->core, &up->seg)) {
			if (!iswitch_needs_result(&job->core, &up->seg))
				iswitch_retransmit_skip(&job->core,
				    up->seg.iteration, now_ns);
			break;
		}
		if (job->core.retransmit != NULL && job->core.cf->async)
			iswitch_push_skip_round(&job->core, up->seg.iteration,
			    now_ns);
		if (!job->core.cf->async && up->span != 0) {
			iswitch_remove_members(s, job);
			iswitch_release_if_empty(s, job);
			break;
		}
		iswitch_send_group_status(s, &job->core, CONTROL_GONE, seg_word(
		    up->seg.iteration, up->seg.contributions,
		    up->seg.index));
		if (!job->core.cf->async && job_has_memory(&job->core) &&
		    (iswitch_is_fresh(&job->core) ||
		    !iswitch_needs_result(&job->core, &up->seg))) {
			/* this job began too early */
			iswitch_remove_members(s, job);
			iswitch_release_if_empty(s, job);
		}
		break;
	case MEMBERSHIP_HALTED:
	case MEMBERSHIP_RESUMED:
		job->core.halted = up->halted;
		iswitch_send_to_members(s, job, up->halted ? CONTROL_HALT :
		    CONTROL_RESUME);
		break;
	case MEMBERSHIP_IN:
		if (iswitch_must_disband(&job->core)) {
			iswitch_remove_members(s, job);
			break;
		}
		iswitch_retransmit_resume(job, now_ns);
		break;
	case MEMBERSHIP_STAYS: iswitch_follow_parent(job); break;
	case MEMBERSHIP_SHORT:
		iswitch_pass_left(s, &job->core, NULL, &up->left, now_ns);
		break;
	case MEMBERSHIP_OUT:		/* the parent no longer knows this
					 * switch */
		s->n[ISWITCH_PARENT_LOST]++;
		iswitch_send_membership(s, job, now_ns);
		break;
	case MEMBERSHIP_ENDED:
		if (up->end == MEMBERSHIP_RESET) {
			iswitch_disband_job(s, job);
			iswitch_release_if_empty(s, job);
		} else if (up->end == MEMBERSHIP_REFUSED) {
			/* the members must join again */
			iswitch_remove_members(s, job);
		}
		break;
	default: break;
	}
}

/*
 * Discard each result that had arrived before Probe `xid` was sent if c, the
 * parent's STATE, says that the parent lacks the segment of this result.  Such
 * results are late packets of an earlier instance of the parent's job.
 */
static inline void
iswitch_take_back_results(struct iswitch *s, struct iswitch_job *job,
    const struct control *c, uint32_t xid, uint64_t now_ns)
{
	struct iswitch_help_sender asking = { s, &job->core };
	struct job *core = &job->core;
	struct repair_state st;

	if (core->cf->async || !repair_is_state(c) ||
	    !repair_get_state(c, &st) ||
	    st.iteration != core->retransmit->iteration)
		return;
	for (uint32_t i = st.lacks.base; i < core->sums.s.segs &&
	    i < st.lacks.base + 8 * st.lacks.bytes; i++) {
		const uint32_t at = sums_at(&core->sums, core->sending, i);

		if (repair_lacks(&st.lacks, i) && sums_compare(&core->sums, at,
		    core->sending, i) == 0 &&
		    core->sums.slot[at].state == SUMS_COMPLETE &&
		    retransmit_take_back(core->retransmit, i, xid))
			job_repeat_segment(core, core->sending, i, now_ns,
			    iswitch_send_help, &asking);
	}
	retransmit_remove_taken_back(core->retransmit);
}

/*
 * Process c if it is a STATE or a NACK from the parent.  Returns false
 * otherwise.
 */
static inline bool
iswitch_receive_parent_state(struct iswitch *s, struct iswitch_job *job,
    const struct control *c, uint64_t now_ns)
{
	const uint32_t xid = c->xid - job->parent.membership.xid_ahead;
	bool behind;

	if (job->core.retransmit == NULL || c->job != job->core.id ||
	    !retransmit_receive(
		job->core.retransmit, c, xid, &behind, now_ns))
		return false;
	if (behind && !job->core.cf->async)
		iswitch_retransmit_step_back(&job->core, now_ns);
	else
		iswitch_take_back_results(s, job, c, xid, now_ns);
	return true;
}

/* Process c if it belongs to a state transfer.  Returns false otherwise. */
static inline bool
iswitch_relay_transfer(struct iswitch *s, struct iswitch_job *job,
    const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	switch (c->action) {
	case CONTROL_FETCH: /* no member may send its state, so the parent tries
			     * another sender */
		iswitch_receive_fetch(s, job, NULL, c, now_ns);
		return true;
	case CONTROL_CHUNK:
		iswitch_receive_chunk(s, job, MEMBERS_NONE, c, now_ns);
		return true;
	case CONTROL_ACK:
		if (!control_get_ack(c, &a) || a.action != CONTROL_FETCH)
			return false;
		iswitch_refuse_receivers(s, job, (enum control_status)a.status);
		return true;
	default: return false;
	}
}

/* Is c a complete message of a type that parents send? */
static inline bool
iswitch_is_parent_message(const struct control *c)
{
	struct control_left left;
	struct control_ack a;
	uint64_t word;

	switch (c->action) {
	case CONTROL_ACK: return control_get_ack(c, &a);
	case CONTROL_LEFT: return control_get_left(c, &left);
	case CONTROL_HELP: return control_get_number(c, 8, &word);
	case CONTROL_HALT:
	case CONTROL_RESUME:
	case CONTROL_RESET: return true;
	default: return false;
	}
}

/*
 * Handle a message that may be forged.  The switch does not act on the message.
 * At most, the switch sends its request to the parent again.
 */
static inline void
iswitch_handle_doubtful(struct iswitch *s, struct iswitch_job *job,
    enum channel_client_news news, const struct control *c, uint64_t now_ns)
{
	if (news == CHANNEL_CLIENT_CHALLENGED)
		s->n[ISWITCH_CONTROL]++;
	else
		s->n[ISWITCH_BAD_MAC]++;
	if (!job->parent.wanted)
		return;
	membership_receive_doubtful(&job->parent.membership, news, c, now_ns);
	if (now_ns >= membership_deadline_ns(&job->parent.membership))
		iswitch_send_membership(s, job, now_ns);
}

/* Process a control message from the parent. */
static inline void
iswitch_receive_parent_control(struct iswitch *s, struct iswitch_job *job,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	enum membership_news was;
	enum channel_client_news news;
	struct control c;

	if (!control_parse(p, len, &c)) {
		s->n[ISWITCH_BAD_CONTROL]++;
		return;
	}
	news = channel_client_receive(&job->channel, p, len, &c);
	if (news != CHANNEL_CLIENT_GOOD) {
		iswitch_handle_doubtful(s, job, news, &c, now_ns);
		return;
	}
	s->n[ISWITCH_CONTROL]++;
	if (iswitch_relay_transfer(s, job, &c, now_ns) || !job->parent.wanted ||
	    iswitch_receive_parent_state(s, job, &c, now_ns))
		return;
	s->n[ISWITCH_BAD_CONTROL] += !iswitch_is_parent_message(&c);
	was = membership_receive(&job->parent.membership, &c, now_ns);
	if (job->parent.membership.joined) {
		job->core.parent_closed = job->parent.membership.closed;
		job_try_open(&job->core, now_ns);
	}
	iswitch_handle_parent_news(s, job, was, now_ns);
}

static inline void
iswitch_receive_parent(struct iswitch *s, uint16_t id, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	const bool control = (tos & 0xfc) == CONTROL_TOS;
	struct iswitch_job *job = iswitch_find_job(s, id);
	struct seg g;

	if (job == NULL || (!job_has_memory(&job->core) &&
	    !(control && iswitch_has_receivers(job))))
		s->n[ISWITCH_FOREIGN]++;
	else if (control)
		iswitch_receive_parent_control(s, job, p, len, now_ns);
	else if (!seg_parse_as(tos, p, len, &g))
		s->n[ISWITCH_BAD_SEGMENT]++;
	else if (!iswitch_accepts_result(job, tos, p, len))
		job->core.n[JOB_BAD_TAG]++;
	else
		iswitch_retransmit_result(&job->core, &g,
		    job_receive_result(&job->core, &g, now_ns), now_ns);
	if (job != NULL)
		iswitch_finish_event(s, job, now_ns);
}

/* Do the work of one job that is due by now_ns. */
static inline void
iswitch_run_job(struct iswitch *s, struct iswitch_job *job, uint64_t now_ns)
{
	struct iswitch_help_sender asking = { s, &job->core };

	s->due_ns[job->core.index] = UINT64_MAX;
	iswitch_forget_silent(s, job, now_ns);
	if (!job_has_memory(&job->core)) {
		iswitch_note_deadline(s, job);
		return;
	}
	job_try_open(&job->core, now_ns);
	job_complete_stragglers(&job->core, now_ns);
	job_ask_silent(&job->core, now_ns, iswitch_send_help, &asking);
	iswitch_evict_silent(s, job, now_ns);
	if (now_ns >= iswitch_idle_deadline_ns(s, job))
		iswitch_release_if_empty(s, job);
	if (job->parent.wanted &&
	    now_ns >= membership_deadline_ns(&job->parent.membership))
		iswitch_send_membership(s, job, now_ns);
	iswitch_finish_event(s, job, now_ns);
}

static inline void
iswitch_run_deadlines(struct iswitch *s, uint64_t now_ns)
{
	for (uint64_t due; (due = iswitch_deadline_ns(s)) <= now_ns;) {
		uint64_t next = UINT64_MAX;

		for (uint32_t k = 0; k < s->jobs; k++) {
			if (s->due_ns[k] <= due)
				iswitch_run_job(s, s->job[k], due);
			next = s->due_ns[k] < next ? s->due_ns[k] : next;
		}
		s->deadline_ns = next;
	}
}

#endif
