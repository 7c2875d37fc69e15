/*
 * switch-control.h - the control messages of an aggregation switch, and its
 * clock
 *
 * Join, Leave, Reset, SetH, FBcast, Help, Halt and Resume (iSwitch section
 * 3.4, Table 2), packets from the parent, and deadlines.
 *
 * A file of its own because control messages and data (switch-data.h) are two
 * interfaces, which program.h joins.
 */
#ifndef INNET_ISWITCH_SWITCH_CONTROL_H
#define INNET_ISWITCH_SWITCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch-data.h"
#include "common/iswitch/switch-join.h"
#include "common/iswitch/switch-repair.h"

static inline void
iswitch_set_h(struct job *j, const struct control *c, struct control_ack *a,
    uint64_t now_ns)
{
	uint64_t h;

	a->h = j->h;
	if (!control_get_number(c, 2, &h) || h > MEMBERS_MAX ||
	    (h > 0 && h < reduce_needs(&j->cf->reduce, (uint32_t)h))) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	j->h = (uint16_t)h;
	job_try_open(j, now_ns);
	if (job_may_miss(j))
		job_keep(j);
	job_test_all(j);
}

static inline void
iswitch_fbcast(struct job *j, const struct control *c, struct control_ack *a)
{
	uint64_t word;
	struct seg g;
	bool done;

	if (!control_get_number(c, 8, &word)) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	g = seg_split(word);
	a->contributions = job_fbcast(j, &g, &done);
	if (!done)
		a->status = CONTROL_NOT_READY;
}

static inline void
iswitch_help(struct iswitch *s, struct iswitch_job *j, uint32_t id,
    struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_asking asking = { s, &j->j };
	struct seg g;

	g = seg_split(a->seg);
	switch (job_help(&j->j, id, &g, now_ns, iswitch_ask, &asking)) {
	case JOB_HELP_LOST:
		j->j.n[JOB_GONE]++;
		a->status = CONTROL_GONE;
		break;
	case JOB_HELP_PARENT:
		j->j.n[JOB_HELP_UP]++;
		iswitch_say(s, POST_UP, &j->j, NULL, CONTROL_HELP,
		    &a->seg);
		break;
	case JOB_HELPED:
		break;
	}
}

/* A Help, or a Probe, which is answered here: then false. */
static inline bool
iswitch_helped(struct iswitch *s, struct iswitch_job *j, uint32_t id,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct repair_help h;

	if (!repair_is_help(c) || j->j.members.m[id].loss_detect == NULL) {
		iswitch_help(s, j, id, a, now_ns);
		return true;
	}
	if (!repair_get_help(c, &h)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	iswitch_probe(s, &j->j, id, c->xid, &h);
	return false;
}

/* Put every member out. */
static inline void
iswitch_disband(struct iswitch *s, struct iswitch_job *j)
{
	iswitch_pass(s, j, CONTROL_RESET);
	j->j.halted = false;
	iswitch_clear(s, j);
}

static inline void
iswitch_leave(struct iswitch *s, struct iswitch_job *j, uint32_t id,
    uint64_t now_ns)
{
	j->j.n[JOB_LEAVES]++;
	j->j.members.m[id].gone_ns = now_ns;
	j->j.members.m[id].evicted = false;
	iswitch_remove(s, j, id);
	job_test_all(&j->j);
}

/* Put the worker of that number out, and tell it: it ends. */
static inline enum control_status
iswitch_expel(struct iswitch *s, struct iswitch_job *j, uint32_t worker,
    uint64_t now_ns)
{
	const uint32_t id = members_find(&j->j.members, CONTROL_WORKER,
	    worker);

	if (id == MEMBERS_NONE || !j->j.members.m[id].present)
		return CONTROL_NOT_MEMBER;
	iswitch_say(s, POST_ONE, &j->j, &j->j.members.m[id].at, CONTROL_RESET,
	    NULL);
	iswitch_leave(s, j, id, now_ns);
	return CONTROL_DONE;
}

/* Do what c asks for; false if it is not to be answered yet. */
static inline bool
iswitch_do(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_job *j = iswitch_job(s, c->job);
	const struct iswitch_ref *who = iswitch_who(s, from);
	const bool member = who != NULL && j == s->job[who->job];
	uint64_t worker;

	if (c->action == CONTROL_JOIN)
		return iswitch_join(s, from, c, a, now_ns);
	if (c->action == CONTROL_HELP &&
	    !control_get_number(c, 8, &a->seg)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	if (j == NULL && c->action == CONTROL_FETCH && s->cf.job.child)
		j = iswitch_make_job(s, c->job);	/* the parent's */
	if (j == NULL) {
		a->status = CONTROL_NO_JOB;
		return true;
	}
	if (c->action == CONTROL_LEAVE && control_get_number(c, 4, &worker)) {
		a->status = iswitch_expel(s, j, (uint32_t)worker, now_ns);
		return true;
	}
	if (!member && (c->action == CONTROL_HELP ||
	    c->action == CONTROL_LEAVE || c->action == CONTROL_CHUNK)) {
		a->status = CONTROL_NOT_MEMBER;
		return true;
	}
	if (j->j.halted && c->action == CONTROL_HELP) {
		iswitch_say(s, POST_ONE, &j->j, from, CONTROL_HALT, NULL);
		return false;
	}
	switch (c->action) {
	case CONTROL_LEAVE: iswitch_leave(s, j, who->member, now_ns); break;
	case CONTROL_RESET:
		if (c->body_bytes > 0 && (c->body[0] & 1) != 0)
			iswitch_disband(s, j);
		else
			job_clear(&j->j);
		break;
	case CONTROL_SETH: iswitch_set_h(&j->j, c, a, now_ns); break;
	case CONTROL_FBCAST: iswitch_fbcast(&j->j, c, a); break;
	case CONTROL_HELP:
		return iswitch_helped(s, j, who->member, c, a, now_ns);
	case CONTROL_HALT:
		j->j.halted = true;
		iswitch_pass(s, j, CONTROL_HALT);
		break;
	case CONTROL_RESUME:
		j->j.halted = false;
		iswitch_pass(s, j, CONTROL_RESUME);
		break;
	case CONTROL_FETCH:
		a->status = iswitch_fetch(s, j, from, c, now_ns);
		return a->status != CONTROL_DONE;
	case CONTROL_CHUNK:
		iswitch_chunk(s, j, who->member, c);
		return false;
	default: a->status = CONTROL_UNKNOWN; break;
	}
	return true;
}

/* Who joined from there, if he is a member, proves data by that pass. */
static inline void
iswitch_take_pass(struct iswitch *s, const union addr *from,
    const struct control *c)
{
	const struct iswitch_ref *who = iswitch_who(s, from);
	uint8_t *pass;

	if (who == NULL)
		return;
	pass = s->job[who->job]->j.members.m[who->member].cookie;
	if (c->cookie != NULL)
		memcpy(pass, c->cookie, TAG_COOKIE_BYTES);
	else
		memset(pass, 0, TAG_COOKIE_BYTES);
}

/* A request, which is not a repeated one; false: it has to be asked again. */
static inline bool
iswitch_request(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	const bool done = iswitch_do(s, from, c, a, now_ns);
	struct iswitch_job *j = iswitch_job(s, c->job);

	if (c->action == CONTROL_JOIN && done)
		iswitch_take_pass(s, from, c);
	if (j != NULL)
		iswitch_follow(s, j, now_ns);
	return done;
}

/* In step: has segment g come down already?  Its answer was long on its way. */
static inline bool
iswitch_has_had(const struct job *j, const struct seg *g)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);
	uint32_t at;
	int is;

	if (j->cf->async || !job_has_memory(j) || g->index >= j->a.s.segs)
		return false;
	at = sums_at(&j->a, t, g->index);
	is = sums_compare(&j->a, at, t, g->index);
	return is > 0 || (is == 0 && j->a.slot[at].state == SUMS_COMPLETE);
}

/* What the parent's message came to, for those below. */
static inline void
iswitch_parent_news(struct iswitch *s, struct iswitch_job *j,
    enum membership_news news, uint64_t now_ns)
{
	struct iswitch_asking asking = { s, &j->j };
	struct membership *up = &j->up.as;

	switch (news) {
	case MEMBERSHIP_ASKED:
		job_help_parent(&j->j, &up->seg, now_ns, iswitch_ask,
		    &asking);
		break;
	case MEMBERSHIP_LOST:
		if (iswitch_has_had(&j->j, &up->seg))
			break;
		if (j->j.retransmit != NULL && j->j.cf->async)
			iswitch_push_gone(&j->j, up->seg.iteration, now_ns);
		if (!j->j.cf->async && up->span != 0) {
			iswitch_clear(s, j);
			iswitch_drop(s, j);
			break;
		}
		iswitch_tell_group(s, &j->j, CONTROL_GONE, seg_word(
		    up->seg.iteration, up->seg.contributions,
		    up->seg.index));
		if (!j->j.cf->async && job_has_memory(&j->j) &&
		    iswitch_is_fresh(&j->j)) {
			iswitch_clear(s, j);	/* begun too early: anew */
			iswitch_drop(s, j);
		}
		break;
	case MEMBERSHIP_HALTED:
	case MEMBERSHIP_RESUMED:
		j->j.halted = up->halted;
		iswitch_pass(s, j, up->halted ? CONTROL_HALT :
		    CONTROL_RESUME);
		break;
	case MEMBERSHIP_IN: iswitch_mend_begin(j, now_ns); break;
	case MEMBERSHIP_OUT:		/* it has forgotten us */
		s->n[ISWITCH_PARENT_LOST]++;
		iswitch_say_up(s, j, now_ns);
		break;
	case MEMBERSHIP_ENDED:
		if (up->end == MEMBERSHIP_RESET) {
			iswitch_disband(s, j);
			iswitch_drop(s, j);
		} else if (up->end == MEMBERSHIP_REFUSED) {
			iswitch_clear(s, j);	/* they will ask anew */
		}
		break;
	default: break;
	}
}

/* Is it a STATE or a NACK? */
static inline bool
iswitch_mend_told(struct iswitch_job *j, const struct control *c,
    uint64_t now_ns)
{
	bool behind;

	if (j->j.retransmit == NULL || c->job != j->j.id ||
	    !retransmit_told(j->j.retransmit, c, c->xid - j->up.as.xid_ahead,
		&behind, now_ns))
		return false;
	if (behind && !j->j.cf->async)
		iswitch_mend_behind(&j->j, now_ns);
	return true;
}

/* Is it of a state on its way to a member, here or elsewhere? */
static inline bool
iswitch_passes_on(struct iswitch *s, struct iswitch_job *j,
    const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	switch (c->action) {
	case CONTROL_FETCH:	/* none here gives: let the other look again */
		iswitch_fetch(s, j, NULL, c, now_ns);
		return true;
	case CONTROL_CHUNK:
		iswitch_chunk(s, j, MEMBERS_NONE, c);
		return true;
	case CONTROL_ACK:
		if (!control_get_ack(c, &a) || a.action != CONTROL_FETCH)
			return false;
		iswitch_fetch_refused(s, j, (enum control_status)a.status);
		return true;
	default: return false;
	}
}

/* Is c one that a parent sends, and whole? */
static inline bool
iswitch_parent_says(const struct control *c)
{
	struct control_ack a;
	uint64_t word;

	switch (c->action) {
	case CONTROL_ACK: return control_get_ack(c, &a);
	case CONTROL_HELP: return control_get_number(c, 8, &word);
	case CONTROL_HALT:
	case CONTROL_RESUME:
	case CONTROL_RESET: return true;
	default: return false;
	}
}

/* A message that is not to be acted upon: at most we ask again. */
static inline void
iswitch_parent_doubtful(struct iswitch *s, struct iswitch_job *j,
    enum channel_client_news news, const struct control *c, uint64_t now_ns)
{
	if (news == CHANNEL_CLIENT_CHALLENGED)
		s->n[ISWITCH_CONTROL]++;
	else
		s->n[ISWITCH_BAD_MAC]++;
	if (!j->up.wanted)
		return;
	membership_doubts(&j->up.as, news, c, now_ns);
	if (now_ns >= membership_due(&j->up.as))
		iswitch_say_up(s, j, now_ns);
}

static inline void
iswitch_parent_control(struct iswitch *s, struct iswitch_job *j,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	enum membership_news was;
	enum channel_client_news news;
	struct control c;

	if (!control_parse(p, len, &c)) {
		s->n[ISWITCH_BAD_CONTROL]++;
		return;
	}
	news = channel_client_receive(&j->channel, p, len, &c);
	if (news != CHANNEL_CLIENT_GOOD) {
		iswitch_parent_doubtful(s, j, news, &c, now_ns);
		return;
	}
	s->n[ISWITCH_CONTROL]++;
	if (iswitch_passes_on(s, j, &c, now_ns) || !j->up.wanted ||
	    iswitch_mend_told(j, &c, now_ns))
		return;
	s->n[ISWITCH_BAD_CONTROL] += !iswitch_parent_says(&c);
	was = membership_control(&j->up.as, &c, now_ns);
	if (j->up.as.joined) {
		j->j.held = j->up.as.closed;
		job_try_open(&j->j, now_ns);
	}
	iswitch_parent_news(s, j, was, now_ns);
}

/* A datagram from the parent to job's own port. */
static inline void
iswitch_take_parent(struct iswitch *s, uint16_t job, uint8_t tos,
    const uint8_t *p, size_t len, uint64_t now_ns)
{
	const bool control = (tos & 0xfc) == CONTROL_TOS;
	struct iswitch_job *j = iswitch_job(s, job);
	struct seg g;

	if (j == NULL || (!job_has_memory(&j->j) &&
	    !(control && iswitch_asked(j))))
		s->n[ISWITCH_FOREIGN]++;
	else if (control)
		iswitch_parent_control(s, j, p, len, now_ns);
	else if (!seg_parse_as(tos, p, len, &g))
		s->n[ISWITCH_BAD_SEGMENT]++;
	else if (!iswitch_believes_parent(j, tos, p, len))
		j->j.n[JOB_BAD_PROOF]++;
	else
		iswitch_mend_result(&j->j, &g, job_result(&j->j, &g, now_ns),
		    now_ns);
	if (j != NULL)
		iswitch_follow(s, j, now_ns);
}

/* What job j has to do at now_ns, which is when it was due or later. */
static inline void
iswitch_fire_job(struct iswitch *s, struct iswitch_job *j, uint64_t now_ns)
{
	struct iswitch_asking asking = { s, &j->j };

	iswitch_fire_askers(s, j, now_ns);
	if (!job_has_memory(&j->j))
		return;
	job_try_open(&j->j, now_ns);
	job_stragglers(&j->j, now_ns);
	job_quiet(&j->j, now_ns, iswitch_ask, &asking);
	iswitch_evict(s, j, now_ns);
	if (now_ns >= iswitch_idle_due(s, j))
		iswitch_drop(s, j);
	if (j->up.wanted && now_ns >= membership_due(&j->up.as))
		iswitch_say_up(s, j, now_ns);
	iswitch_follow(s, j, now_ns);
}

/* All that is due by now_ns, in order of its time, then of the jobs. */
static inline void
iswitch_fire(struct iswitch *s, uint64_t now_ns)
{
	for (uint64_t due; (due = iswitch_due(s)) <= now_ns;) {
		for (uint32_t k = 0; k < s->jobs; k++)
			iswitch_fire_job(s, s->job[k], due);
		s->deadline_ns = iswitch_earliest(s);
	}
}

#endif
