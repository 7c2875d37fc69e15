/*
 * switch-join.h - who may join a job, and what a Join leads to
 *
 * iSwitch section 3.4: the first Join makes a job's memory and says where it
 * begins, a child's goes up to the parent before it is answered, and others
 * must be able to go on from where the job is.
 */
#ifndef INNET_ISWITCH_SWITCH_JOIN_H
#define INNET_ISWITCH_SWITCH_JOIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/iswitch/job-segments.h"
#include "common/iswitch/switch.h"
#include "common/wire/state-transfer.h"

/* Job j has no members: its memory is free, and the parent rid of it. */
static inline void
iswitch_rest(struct iswitch *s, struct iswitch_job *j)
{
	job_rest(&j->j);
	if (j->charged) {
		quota_release(&s->quota, &j->founder, QUOTA_JOBS, 1);
		quota_release(&s->quota, &j->founder, QUOTA_BYTES,
		    j->charged_bytes);
		j->charged = false;
	}
	if (j->up.wanted && j->up.as.end == MEMBERSHIP_GOING) {
		iswitch_say(s, POST_UP, &j->j, NULL, CONTROL_LEAVE, NULL);
		outbox_flush(s->out);
	}
	if (j->up.as.halted)
		j->j.halted = false;	/* it will say so again */
	j->up = (struct iswitch_up){ 0 };
}

/* Member id of j is gone, and its address free. */
static inline void
iswitch_remove(struct iswitch *s, struct iswitch_job *j, uint32_t id)
{
	outbox_flush(s->out);
	iswitch_unbind(s, &j->j.members.m[id].at);
	members_leave(&j->j.members, id);
	sums_recount(&j->j.a, id, j->j.members.m[id].from, -1);
	if (j->j.members.present > 0)
		job_inherit(&j->j);
	else
		iswitch_rest(s, j);
}

/* All members are gone: who has not been told will join again. */
static inline void
iswitch_clear(struct iswitch *s, struct iswitch_job *j)
{
	for (uint32_t i = 0; j->j.members.present > 0 &&
	    i < j->j.members.count; i++) {
		if (j->j.members.m[i].present)
			iswitch_remove(s, j, i);
	}
}

/* Those silent for longer than the member time-out are out. */
static inline void
iswitch_evict(struct iswitch *s, struct iswitch_job *j, uint64_t now_ns)
{
	struct job *o = &j->j;
	const uint64_t limit = s->cf.job.member_timeout_ns;
	uint64_t check = UINT64_MAX;

	if (j->charged && o->n[JOB_ADDED] == j->founded_added && now_ns -
	    (o->last_join_ns > j->founded_ns ? o->last_join_ns :
	    j->founded_ns) >= ISWITCH_IDLE_NS) {
		if (o->members.present == 0)
			iswitch_rest(s, j);
		iswitch_clear(s, j);
		return;
	}
	if (o->members.present == 0 || now_ns < o->check_ns)
		return;
	for (uint32_t i = 0; i < o->members.count; i++) {
		const struct member *m = &o->members.m[i];

		if (!m->present)
			continue;
		if (m->heard_ns + limit > now_ns) {
			if (m->heard_ns + limit < check)
				check = m->heard_ns + limit;
			continue;
		}
		o->n[JOB_EVICTED]++;
		o->members.m[i].gone_ns = now_ns;
		o->members.m[i].evicted = true;
		iswitch_remove(s, j, i);
		if (o->members.present == 0)
			return;
	}
	o->check_ns = check;
	job_test_all(o);
}

/* Room for member id in bitmaps, or of its pushes.  False without. */
static inline bool
iswitch_seat(struct iswitch_job *j, uint32_t id, bool repairs)
{
	struct job *o = &j->j;
	struct member *m = &o->members.m[id];
	struct sums_shape shape = o->a.s;

	free(m->loss_detect);
	m->loss_detect = NULL;
	/* a rack: what is lost above it is asked for as those below ask */
	if (repairs && (!o->cf->child || o->retransmit != NULL) &&
	    job_room(o, &shape))
		m->loss_detect = loss_detect_make(shape.segs);
	if (o->cf->server)
		return job_room(o, &shape) && job_served(o, id);
	if (o->cf->async) {
		free(m->pushed);
		m->pushed = NULL;
		if (job_room(o, &shape))
			m->pushed = calloc(shape.segs, sizeof(*m->pushed));
		return m->pushed != NULL;
	}
	while (id / 64 >= shape.words)
		shape.words *= 2;
	return shape.words == o->a.s.words || job_reshape(o, &shape);
}

/* Memory for a job's vector, as the first who joins says; a status. */
static inline enum control_status
iswitch_found(struct iswitch *s, struct iswitch_job *j, uint32_t elements,
    uint32_t floats, uint32_t next)
{
	struct sums_shape shape = job_shape(&s->cf.job, elements, floats);

	if (shape.segs > SEG_INDEX_MAX)
		return CONTROL_BAD_VALUE;
	return job_share(&s->cf.job, s->budget.slots, &shape) &&
	    job_begin(&j->j, &shape, next) ? CONTROL_DONE :
	    CONTROL_NO_ROOM;
}

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

/* Pass an action on to every member. */
static inline void
iswitch_pass(struct iswitch *s, struct iswitch_job *j,
    enum control_action action)
{
	if (j->j.members.present > 0)
		iswitch_say(s, POST_GROUP, &j->j, NULL, action, NULL);
	outbox_flush(s->out);
}

/* The place of who asks from `at` (NULL: the parent) by that number. */
static inline struct iswitch_asker *
iswitch_asker(struct iswitch_job *j, const union addr *at, uint16_t number,
    uint64_t now_ns)
{
	struct iswitch_asker *idle = NULL;

	for (uint32_t k = 0; k < ISWITCH_ASKERS; k++) {
		struct iswitch_asker *a = &j->asker[k];

		if (a->used && a->number == number && a->up == (at == NULL) &&
		    (at == NULL || addr_same(&a->at, at)))
			return a;
		if (idle == NULL && !a->halts && (!a->used ||
		    now_ns - a->heard_ns > ISWITCH_ASKER_NS))
			idle = a;
	}
	if (idle == NULL)
		return NULL;
	*idle = (struct iswitch_asker){ .used = true, .number = number,
	    .up = at == NULL, .sender = MEMBERS_NONE };
	if (at != NULL)
		idle->at = *at;
	return idle;
}

/* May member m give a state to `worker`, which asks from `at`? */
static inline bool
iswitch_may_give(const struct member *m, const union addr *at,
    uint32_t worker)
{
	return m->present && m->gives && (at == NULL ||
	    (!addr_same(&m->at, at) &&
	    (m->type != CONTROL_WORKER || m->worker != worker)));
}

/*
 * Who is to give a state to `worker`: those who may by their numbers, but for
 * the first `passed`; NONE if there are no more.
 */
static inline uint32_t
iswitch_donor(const struct job *j, const union addr *at, uint32_t worker,
    uint32_t passed)
{
	uint32_t id = MEMBERS_NONE;

	for (uint32_t n = 0; n <= passed; n++) {
		uint32_t next = MEMBERS_NONE;

		for (uint32_t i = 0; i < j->members.count; i++) {
			if (iswitch_may_give(&j->members.m[i], at, worker) &&
			    (id == MEMBERS_NONE || j->members.rank[i] >
			    j->members.rank[id]) && (next == MEMBERS_NONE ||
			    j->members.rank[i] < j->members.rank[next]))
				next = i;
		}
		if (next == MEMBERS_NONE)
			return MEMBERS_NONE;
		id = next;
	}
	return id;
}

/* The sender for asker a: another than before if that one says nothing. */
static inline uint32_t
iswitch_next_donor(const struct iswitch_job *j, struct iswitch_asker *a,
    uint32_t worker, bool child)
{
	const union addr *at = a->up ? NULL : &a->at;
	uint32_t id;

	if (++a->vain > ISWITCH_VAIN) {
		a->vain = 0;
		a->passed++;
	}
	id = iswitch_donor(&j->j, at, worker, a->passed);
	if (id == MEMBERS_NONE && (a->up || !child ||
	    a->vain == ISWITCH_VAIN)) {
		a->passed = 0;		/* the first once more */
		id = iswitch_donor(&j->j, at, worker, 0);
	}
	return id;
}

/* The job waits for asker a, which is heard again every so often. */
static inline void
iswitch_hold_for(struct iswitch *s, struct iswitch_job *j,
    struct iswitch_asker *a)
{
	if (j->j.halted)
		return;
	a->halts = true;
	j->j.halted = true;
	iswitch_pass(s, j, CONTROL_HALT);
}

/* Asker a has come in, or will not. */
static inline void
iswitch_forget_asker(struct iswitch *s, struct iswitch_job *j,
    struct iswitch_asker *a)
{
	const bool halts = a->halts;

	*a = (struct iswitch_asker){ 0 };
	if (!halts || !j->j.halted)
		return;
	j->j.halted = false;
	iswitch_pass(s, j, CONTROL_RESUME);
}

/* Who has joined from `at` lacks nothing any more. */
static inline void
iswitch_arrived(struct iswitch *s, struct iswitch_job *j,
    const union addr *at)
{
	for (uint32_t k = 0; k < ISWITCH_ASKERS; k++) {
		if (j->asker[k].used && !j->asker[k].up &&
		    addr_same(&j->asker[k].at, at))
			iswitch_forget_asker(s, j, &j->asker[k]);
	}
}

/* Is somebody asking? */
static inline bool
iswitch_asked(const struct iswitch_job *j)
{
	for (uint32_t k = 0; k < ISWITCH_ASKERS; k++) {
		if (j->asker[k].used)
			return true;
	}
	return false;
}

/* Those who have been silent too long do not ask any more. */
static inline void
iswitch_fire_askers(struct iswitch *s, struct iswitch_job *j, uint64_t now_ns)
{
	for (uint32_t k = 0; k < ISWITCH_ASKERS; k++) {
		struct iswitch_asker *a = &j->asker[k];

		if (a->used && now_ns >= a->heard_ns + ISWITCH_ASKER_NS)
			iswitch_forget_asker(s, j, a);
	}
}

/*
 * A Fetch from `at`, or from the parent if that is NULL.  A status other than
 * DONE is the answer; else a Chunk will be, if anything is.
 */
static inline enum control_status
iswitch_fetch(struct iswitch *s, struct iswitch_job *j, const union addr *at,
    const struct control *c, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct transfer_fetch f;
	struct iswitch_asker *a;
	uint32_t id;
	size_t len;

	if (!transfer_get_fetch(c, &f))
		return CONTROL_BAD_VALUE;
	a = iswitch_asker(j, at, f.asker, now_ns);
	if (a == NULL)
		return CONTROL_NO_ROOM;
	a->heard_ns = now_ns;
	id = iswitch_next_donor(j, a, f.worker, s->cf.job.child);
	if (id == MEMBERS_NONE && (at == NULL || !s->cf.job.child))
		return j->j.open ? CONTROL_REFUSED : CONTROL_NOT_READY;
	if ((f.waits || s->cf.strict) && id != MEMBERS_NONE)
		iswitch_hold_for(s, j, a);
	a->sender = id;
	f.asker = (uint16_t)(a - j->asker + 1);
	f.waits |= s->cf.strict;
	len = (size_t)(transfer_put_fetch(control_put(msg, CONTROL_FETCH,
	    j->j.id, s->xid++), &f) - msg);
	j->j.n[JOB_FETCHES]++;
	iswitch_post(s, id == MEMBERS_NONE ? POST_UP : POST_ONE, j->j.self,
	    id == MEMBERS_NONE ? NULL : &j->j.members.m[id].at, msg, len);
	return CONTROL_DONE;
}

/* Is a state of that iteration too old for who has it to join? */
static inline bool
iswitch_outdates(const struct job *j, const struct transfer_chunk *k)
{
	int64_t n;

	if (!k->ready || k->index != 0 || !job_has_memory(j) || j->cf->async)
		return false;
	n = sums_unwrap((uint32_t)(k->iteration % SEG_ITERATIONS), j->newest);
	if (j->newest >= j->start)
		return !iswitch_keeps(j, n);
	return n < j->start - 1 || (n == j->start - 1 &&
	    !iswitch_gives_again(j, j->start));
}

/* A Chunk from member id, or from the parent: to who has asked for it. */
static inline void
iswitch_chunk(struct iswitch *s, struct iswitch_job *j, uint32_t id,
    const struct control *c)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct transfer_chunk k;
	struct iswitch_asker *a;
	size_t len;

	if (!transfer_get_chunk(c, &k) || k.asker == 0 ||
	    k.asker > ISWITCH_ASKERS || !j->asker[k.asker - 1].used ||
	    j->asker[k.asker - 1].sender != id) {
		s->n[ISWITCH_BAD_CONTROL]++;
		return;
	}
	a = &j->asker[k.asker - 1];
	a->vain = 0;
	if (id != MEMBERS_NONE && iswitch_outdates(&j->j, &k)) {
		a->passed++;	/* it is behind itself: another, next time */
		return;
	}
	k.asker = a->number;
	len = (size_t)(transfer_put_chunk(control_put(msg, CONTROL_CHUNK,
	    j->j.id, s->xid++), &k) - msg);
	j->j.n[JOB_CHUNKS]++;
	iswitch_post(s, a->up ? POST_UP : POST_ONE, j->j.self,
	    a->up ? NULL : &a->at, msg, len);
}

/* The parent has refused what askers want of others. */
static inline void
iswitch_fetch_refused(struct iswitch *s, struct iswitch_job *j,
    enum control_status status)
{
	const struct control_ack ack = { .action = CONTROL_FETCH,
	    .status = (uint8_t)status };
	uint8_t msg[CONTROL_MAX_BYTES];

	for (uint32_t k = 0; k < ISWITCH_ASKERS; k++) {
		struct iswitch_asker *a = &j->asker[k];

		if (!a->used || a->up || a->sender != MEMBERS_NONE)
			continue;
		iswitch_post(s, POST_ONE, j->j.self, &a->at, msg,
		    (size_t)(control_put_ack(control_put(msg, CONTROL_ACK,
		    j->j.id, s->xid++), &ack) - msg));
		iswitch_forget_asker(s, j, a);
	}
}

/* Are two checksums of weights the same, as far as they are known? */
static inline bool
iswitch_crc(uint32_t *have, uint32_t crc)
{
	if (*have == 0)
		*have = crc;
	return crc == 0 || *have == crc;
}

/*
 * May a worker go on from iteration `next`?  When a switch has been restarted,
 * some workers have the last result and some have not: the job then begins
 * with those who have not, and the others give that iteration again, if they
 * have said that they can.
 */
static inline bool
iswitch_admits(struct job *j, const struct control_join *join)
{
	const int64_t n = sums_unwrap(join->next, j->newest);

	if (j->cf->server)
		return job_serves(j, members_find(&j->members, join->type,
		    join->worker), n, join->crc);
	if (j->newest >= j->start)
		return !join->founds && iswitch_keeps(j, n);
	if (n == j->start - 1 && !j->cf->async &&
	    iswitch_gives_again(j, j->start)) {
		iswitch_step_back(j, join->crc);
		return true;
	}
	if (n == j->start + 1 && join->again && !j->cf->async &&
	    iswitch_crc(&j->crc[1], join->crc)) {
		j->ahead = true;
		return true;
	}
	return n == j->start && iswitch_crc(&j->crc[0], join->crc);
}

/* Has no segment of j been summed yet? */
static inline bool
iswitch_is_fresh(const struct job *j)
{
	if (j->newest > j->start)
		return false;
	for (uint32_t at = 0; at < sums_slots(&j->a.s); at++) {
		if (j->a.slot[at].state == SUMS_COMPLETE)
			return false;
	}
	return true;
}

/* Is member `id` (NONE: nobody) in all sums of iteration t? */
static inline bool
iswitch_gave(const struct job *j, uint32_t id, int64_t t)
{
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		const uint32_t at = sums_at(&j->a, t, i);
		const int is = sums_compare(&j->a, at, t, i);

		if (is < 0 || (is == 0 && j->a.slot[at].state !=
		    SUMS_COMPLETE && (id == MEMBERS_NONE ||
		    !sums_has(&j->a, at, id))))
			return false;
	}
	return true;
}

/*
 * Who joins from `next` on is further than the job, and cannot give what it
 * needs: a switch was started again, and so were some of its workers.  If
 * nothing has come of the job, and all hand over states, it is to begin with
 * the furthest, whose state the others take over.
 */
static inline bool
iswitch_yields(struct job *j, const struct control_join *join)
{
	int64_t n, t;
	uint32_t id;

	if (j->cf->async || j->cf->server || !job_has_memory(j) || !join->gives)
		return false;
	n = sums_unwrap(join->next, j->newest);
	t = iswitch_next(j);
	/* who is at 0 has begun, unless that is where the count comes round */
	if (t % SEG_ITERATIONS == 0 && n < t - SEG_NEAR)
		n += SEG_ITERATIONS;
	if (n <= t || (n == t + 1 && join->again) ||
	    (join->next == 0 && n > t + SEG_NEAR))
		return false;
	id = members_find(&j->members, join->type, join->worker);
	if (iswitch_admits(j, join) ? n == t + 1 && iswitch_gave(j, id, t) :
	    !iswitch_is_fresh(j))
		return false;
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present && !j->members.m[i].gives)
			return false;
	}
	return true;
}

/*
 * Who joins amid an iteration, or one behind, lacks results that have no slot
 * any more: all begin that iteration once more, as if the switch had restarted.
 */
static inline bool
iswitch_loses(struct job *j, const struct control_join *join)
{
	int64_t n, next;

	if (!job_has_memory(j) || j->a.s.span == 0 || j->newest < j->start ||
	    join->founds)
		return false;
	n = sums_unwrap(join->next, j->newest);
	next = iswitch_next(j);
	return n == next ? iswitch_misses(j, n) : n == next - 1 &&
	    !iswitch_keeps(j, n) && iswitch_gives_again(j, next);
}

/* What member m, which is let in, needs for its proofs; t is its next. */
static inline void
iswitch_tell_salt(const struct job *j, struct member *m, int64_t t,
    struct control_ack *a)
{
	if (j->proof == NULL)
		return;
	a->tagged = true;
	memcpy(a->salt, j->proof->salt, sizeof(a->salt));
	a->epoch = job_epoch(t);
	if (m->push == MEMBERS_NO_PUSH)
		m->push_epoch = a->epoch;
}

/*
 * By which address results may come to member m of j as well: a port a job, for
 * a segment does not say of which it is.
 */
static inline void
iswitch_tell_hearer(const struct iswitch *s, struct iswitch_job *j,
    struct member *m, const struct control_join *join, struct control_ack *a)
{
	const uint32_t port = addr_port(&s->cf.group) + (uint32_t)j->j.id;

	m->in_multicast_group = false;
	if (!join->can_multicast || port > UINT16_MAX ||
	    m->at.sa.sa_family != s->cf.group.sa.sa_family)
		return;
	a->groups = true;
	a->group_port = (uint16_t)port;
	addr_bytes(&s->cf.group, a->group);
	j->group = addr_of_bytes(a->group, a->group_port);
	m->in_multicast_group = join->in_multicast_group;
}

/* The Ack's fields that tell the job's values. */
static inline void
iswitch_values(const struct iswitch *s, const struct job *j, uint32_t id,
    struct control_ack *a)
{
	a->h = (uint16_t)(j->h != 0 ? j->h : j->members.present);
	a->members = (uint16_t)j->members.present;
	a->floats = (uint16_t)j->a.s.floats;
	a->elements = j->a.s.elements;
	a->whole = j->cf->whole || j->cf->server;
	a->closed = j->cf->async && !j->open;
	a->async = j->cf->async;
	a->span = j->a.s.span;
	a->timeout_s = (uint16_t)((s->cf.job.member_timeout_ns +
	    999999999) / 1000000000);
	if (id != MEMBERS_NONE) {
		a->member = (uint16_t)id;
		a->repairs = j->members.m[id].loss_detect != NULL;
		a->next = (uint32_t)((j->cf->server ?
		    job_async_server_member(&j->ps, id)->round + 1 :
		    j->cf->async ? j->newest + 1 :
		    j->members.m[id].from) & (SEG_ITERATIONS - 1));
		iswitch_tell_salt(j, &j->members.m[id], j->cf->server ?
		    job_async_server_member(&j->ps, id)->round + 1 :
		    j->cf->async ? j->newest + 1 : j->members.m[id].from, a);
	} else if (job_has_memory(j)) {	/* refused: where the job is */
		a->next = (uint32_t)(iswitch_next(j) & (SEG_ITERATIONS - 1));
	}
}

/* Become a member of the parent: job j has memory. */
static inline void
iswitch_want_parent(struct iswitch *s, struct iswitch_job *j, bool founds,
    uint64_t now_ns)
{
	const struct membership_conf cf = { .type = CONTROL_SWITCH,
	    .async = s->cf.job.async, .job = j->j.id, .number = s->cf.number,
	    .elements = j->j.a.s.elements, .repairs = true, .gives = true,
	    .founds = founds,
	    .floats = (uint16_t)j->j.a.s.floats,
	    .floats_max = (uint16_t)j->j.a.s.floats,
	    .give_up_ns = MEMBERSHIP_NEVER, .any_xid = s->cf.any_xid,
	    .tagged = s->cf.job.tagged, .key = s->cf.job.key,
	    .channel = &j->channel };

	j->up.wanted = true;
	membership_init(&j->up.as, &cf, now_ns);
	j->j.up = &j->up.as.tags;
}

/* What j has to say to the parent now. */
static inline void
iswitch_say_up(struct iswitch *s, struct iswitch_job *j, uint64_t now_ns)
{
	uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
	const int64_t next = iswitch_next(&j->j);
	const struct membership_place at = {
	    .crc = j->j.newest < j->j.start ? j->j.crc[0] : 0,
	    .next = (uint32_t)(next & (SEG_ITERATIONS - 1)),
	    .again = !j->j.cf->async && iswitch_gives_again(&j->j, next) };
	size_t len;

	j->up.as.xid = s->xid;		/* one sequence for all that goes up */
	len = membership_next(&j->up.as, now_ns, &at, msg);
	s->xid = j->up.as.xid;
	if (len > 0)
		iswitch_post(s, POST_UP, j->j.self, NULL, msg, len);
}

/* Does what the Join says fit the job?  F comes out in *floats. */
static inline bool
iswitch_join_fits(const struct iswitch *s, const struct iswitch_job *j,
    const struct control_join *join, uint32_t *floats)
{
	const bool has = job_has_memory(&j->j);

	*floats = join->floats != 0 ? join->floats :
	    has ? j->j.a.s.floats : s->cf.floats;
	return join->elements > 0 && join->async == s->cf.job.async &&
	    *floats <= s->cf.floats_max && (!has ||
	    (join->elements == j->j.a.s.elements &&
	    *floats == j->j.a.s.floats));
}

/* Member id takes its place at `from`, perhaps in place of another. */
static inline enum control_status
iswitch_enter(struct iswitch *s, struct iswitch_job *j, uint32_t id,
    const union addr *from, const struct control_join *join, uint64_t now_ns)
{
	struct job *o = &j->j;
	struct member *m = &o->members.m[id];
	const bool was = m->present;
	int64_t first = o->start;

	if (was)
		iswitch_unbind(s, &m->at);
	if (!iswitch_seat(j, id, join->repairs) ||
	    !iswitch_bind(s, from, o->self, id)) {
		if (was)
			iswitch_remove(s, j, id);
		return CONTROL_NO_ROOM;
	}
	m = &o->members.m[id];
	m->before = was ? m->at : (union addr){ 0 };
	m->alive = false;
	m->joined_ns = now_ns;
	m->at = *from;
	m->push = MEMBERS_NO_PUSH;
	m->cluster = join->cluster;
	m->since = sums_unwrap(join->next, o->newest) - join->again;
	m->gives = join->gives;
	member_heard(m, now_ns);
	if (was)
		return CONTROL_DONE;
	m->flow = (struct member_flow){ .deadline_ns = UINT64_MAX };
	if ((m->reused || (o->h == 0 && o->open)) && o->newest >= o->start)
		first = o->newest + 1;
	else
		sums_recount(&o->a, id, first, 1);
	members_enter(&o->members, id, first);
	if (now_ns + s->cf.job.member_timeout_ns < o->check_ns ||
	    o->members.present == 1)
		o->check_ns = now_ns + s->cf.job.member_timeout_ns;
	return CONTROL_DONE;
}

/*
 * Who has the number of one that joins from there and has lost it?  NULL:
 * nobody.  The last to come has it, for a worker that was killed is started
 * again at another port.
 */
static inline const struct member *
iswitch_holder(const struct job *j, const union addr *from,
    const struct control_join *join)
{
	const uint32_t id = members_find(&j->members, join->type,
	    join->worker);

	return id != MEMBERS_NONE && j->members.m[id].present &&
	    addr_same(&j->members.m[id].before, from) ? &j->members.m[id] :
	    NULL;
}

/* What m's number is taken by, for an Ack. */
static inline void
iswitch_taken(const struct member *m, struct control_ack *a)
{
	a->status = CONTROL_TAKEN;
	a->holder_port = addr_port(&m->at);
	addr_bytes(&m->at, a->holder);
}

/*
 * Somebody who is no member at this address joins job j, which has memory.
 */
static inline enum control_status
iswitch_join_new(struct iswitch *s, struct iswitch_job *j,
    const union addr *from, const struct control_join *join, uint32_t *id,
    uint64_t now_ns)
{
	struct job *o = &j->j;
	const int64_t start = o->start;
	enum control_status status;

	if (!iswitch_admits(o, join))
		return CONTROL_REFUSED;
	if (o->start < start && j->up.wanted) {	/* the parent has to know */
		s->xid++;
		membership_join(&j->up.as, now_ns);
	}
	*id = members_place(&o->members, join->type, join->worker);
	if (*id == MEMBERS_NONE)
		return CONTROL_NO_ROOM;
	outbox_flush(s->out);	/* what was posted was for those before */
	status = iswitch_enter(s, j, *id, from, join, now_ns);
	if (status != CONTROL_DONE)
		return status;
	o->n[JOB_JOINS]++;
	iswitch_arrived(s, j, from);
	o->last_join_ns = now_ns;
	job_try_open(o, now_ns);
	if (o->h != 0 && o->h < o->members.present)
		job_keep(o);
	job_test_all(o);
	return CONTROL_DONE;
}

/* Job j, which has memory, is founded by `from`: may it have as much? */
static inline bool
iswitch_charge(struct iswitch *s, struct iswitch_job *j,
    const union addr *from, uint64_t now_ns)
{
	if (!s->cf.quotas || addr_is_loopback(from))
		return true;
	if (!quota_charge(&s->quota, from, QUOTA_JOBS, 1))
		return false;
	if (!quota_charge(&s->quota, from, QUOTA_BYTES, j->j.used_bytes)) {
		quota_release(&s->quota, from, QUOTA_JOBS, 1);
		return false;
	}
	j->charged = true;
	j->founder = *from;
	j->charged_bytes = j->j.used_bytes;
	j->founded_ns = now_ns;
	j->founded_added = j->j.n[JOB_ADDED];
	return true;
}

/* A job begins with its first Join; false and a status if it cannot. */
static inline enum control_status
iswitch_join_first(struct iswitch *s, struct iswitch_job *j,
    const union addr *from, const struct control_join *join, uint32_t floats,
    uint64_t now_ns)
{
	enum control_status status = iswitch_found(s, j, join->elements,
	    floats, join->next);

	if (status != CONTROL_DONE)
		return status;
	if (!iswitch_charge(s, j, from, now_ns)) {
		iswitch_rest(s, j);
		return CONTROL_NO_ROOM;
	}
	j->j.crc[0] = join->crc;
	j->j.last_join_ns = now_ns;
	return CONTROL_DONE;
}

/* A job without members gives its memory back, and leaves its parent. */
static inline void
iswitch_drop(struct iswitch *s, struct iswitch_job *j)
{
	if (job_has_memory(&j->j) && j->j.members.present == 0)
		iswitch_rest(s, j);
}

/* More words for who is refused. */
__attribute__((format(printf, 3, 4))) static inline void
iswitch_say_why(struct iswitch *s, struct control_ack *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->said, sizeof(s->said), fmt, ap);
	va_end(ap);
	a->text = (const uint8_t *)s->said;
	a->text_bytes = n < 0 ? 0 : (size_t)n < sizeof(s->said) ? (size_t)n :
	    sizeof(s->said) - 1;
}

/* Of what there is no room. */
static inline void
iswitch_say_room(struct iswitch *s, struct control_ack *a)
{
	struct job_budget *b = &s->budget;

	if (s->cf.job.slots > 0 && s->cf.job.slots - b->slots < 3)
		iswitch_say_why(s, a, "%u of its %u slots of sums are taken",
		    b->slots, s->cf.job.slots);
	else if (b->lacked_bytes > 0)
		iswitch_say_why(s, a, "%.1f MB more than the %.1f MB that %s "
		    "may take; raise its --%smemory",
		    (double)b->lacked_bytes / 1e6, 1e-6 *
		    (double)(b->lacked_by_job ? b->job_bytes : b->limit_bytes),
		    b->lacked_by_job ? "a job" : "it",
		    b->lacked_by_job ? "job-" : "");
	else
		iswitch_say_why(s, a, "%d jobs and %d members of one are its "
		    "most", ISWITCH_JOBS_MAX, MEMBERS_MAX);
}

/*
 * Who waits for a parent that does not answer is told so, with the address of
 * the topmost that does not: true.
 */
static inline bool
iswitch_is_orphan(struct iswitch *s, const struct iswitch_job *j,
    struct control_ack *a, uint64_t now_ns)
{
	const struct membership *up = &j->up.as;
	char name[ADDR_NAME_BYTES];

	if (!up->join_open || now_ns - up->join_since_ns < ISWITCH_ORPHAN_NS)
		return false;
	a->status = CONTROL_NO_PARENT;
	iswitch_say_why(s, a, "%s", up->orphan ? up->said :
	    s->cf.parent.sa.sa_family == 0 ? "" :
	    addr_print(&s->cf.parent, name));
	return true;
}

/* The parent has refused us: so are those who join. */
static inline enum control_status
iswitch_refused_above(struct iswitch *s, const struct membership *up,
    struct control_ack *a)
{
	char name[ADDR_NAME_BYTES];

	a->next = up->job_next;
	if (up->status != CONTROL_REFUSED && up->status != CONTROL_GONE &&
	    s->cf.parent.sa.sa_family != 0)
		iswitch_say_why(s, a, "%s%sat its parent %s", up->said,
		    up->said[0] == '\0' ? "" : " ", addr_print(
		    &s->cf.parent, name));
	return (enum control_status)up->status;
}

/* Wait for the parent's word?  *status is its refusal, if it refused. */
static inline bool
iswitch_await_parent(struct iswitch *s, struct iswitch_job *j, bool founds,
    enum control_status *status, struct control_ack *a, uint64_t now_ns)
{
	if (!s->cf.job.child || (j->up.wanted && j->up.as.joined))
		return false;
	if (j->up.wanted && j->up.as.end == MEMBERSHIP_REFUSED) {
		*status = iswitch_refused_above(s, &j->up.as, a);
		iswitch_drop(s, j);
		return true;
	}
	j->up.wanted_ns = now_ns;
	if (!j->up.wanted) {
		iswitch_want_parent(s, j, founds, now_ns);
		iswitch_say_up(s, j, now_ns);
	}
	*status = CONTROL_DONE;
	return true;
}

/*
 * A Join.  True if *a is to be sent, false if the answer has to wait for the
 * parent's: who asked asks again.
 */
static inline bool
iswitch_join(struct iswitch *s, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_job *j;
	enum control_status status = CONTROL_DONE;
	struct iswitch_ref *who = iswitch_who(s, from);
	const struct member *holder;
	struct control_join join;
	uint32_t floats, id = MEMBERS_NONE;

	if (!control_get_join(c, &join)) {
		a->status = CONTROL_BAD_VALUE;
		return true;
	}
	j = iswitch_make_job(s, c->job);
	s->budget.lacked_bytes = 0;
	if (j == NULL) {
		a->status = CONTROL_NO_ROOM;
		iswitch_say_room(s, a);
		return true;
	}
	if (who != NULL && (s->job[who->job] != j || j->j.members.m[
	    who->member].worker != join.worker ||
	    j->j.members.m[who->member].type != join.type)) {
		struct iswitch_job *old = s->job[who->job];

		iswitch_remove(s, old, who->member);	/* another, here */
		job_test_all(&old->j);
		who = NULL;
	}
	if (!iswitch_join_fits(s, j, &join, &floats)) {
		a->status = CONTROL_BAD_VALUE;
		iswitch_values(s, &j->j, MEMBERS_NONE, a);
		return true;
	}
	holder = who == NULL ? iswitch_holder(&j->j, from, &join) : NULL;
	if (holder != NULL && holder->alive) {
		iswitch_taken(holder, a);
		iswitch_values(s, &j->j, MEMBERS_NONE, a);
		return true;
	}
	/* or was it a late Join of one that is no more? */
	if (holder != NULL && now_ns - holder->joined_ns < ISWITCH_GHOST_NS)
		return false;
	if (iswitch_yields(&j->j, &join) || (who == NULL &&
	    iswitch_loses(&j->j, &join))) {
		iswitch_clear(s, j);
		iswitch_drop(s, j);
		who = NULL;
	}
	if (!job_has_memory(&j->j))
		status = iswitch_join_first(s, j, from, &join, floats,
		    now_ns);
	j->j.last_join_ns = j->j.members.present == 0 ? now_ns :
	    j->j.last_join_ns;
	if (status == CONTROL_DONE &&
	    iswitch_await_parent(s, j, join.founds, &status, a,
	    now_ns)) {
		if (status == CONTROL_DONE)
			return iswitch_is_orphan(s, j, a, now_ns);
	} else if (status != CONTROL_DONE) {
		;
	} else if (join.type == CONTROL_SWITCH &&
	    sums_keeps_rows(&s->cf.job.reduce) &&
	    s->cf.job.reduce.kind != REDUCE_ORDERED) {
		status = CONTROL_REFUSED;
		iswitch_say_why(s, a, "no median of medians: its --reduce "
		    "takes workers alone");
	} else if (who != NULL) {
		id = who->member;
		j->j.members.m[id].alive = true;
		j->j.members.m[id].since = sums_unwrap(join.next,
		    j->j.newest) - join.again;
		if (j->j.members.m[id].loss_detect !=
		    NULL) /* another process? */
			j->j.members.m[id].loss_detect->marked = false;
		iswitch_follow_rack(&j->j, &join, now_ns);
	} else {
		status = iswitch_join_new(s, j, from, &join, &id, now_ns);
	}
	if (status == CONTROL_DONE)
		iswitch_tell_hearer(s, j, &j->j.members.m[id], &join,
		    a);
	if (status == CONTROL_DONE && j->j.halted)
		status = CONTROL_NOT_READY;
	a->status = (uint8_t)status;
	if (status == CONTROL_NO_ROOM && a->text == NULL)
		iswitch_say_room(s, a);
	iswitch_values(s, &j->j, status == CONTROL_DONE ? id : MEMBERS_NONE,
	    a);
	if (status != CONTROL_DONE)
		iswitch_drop(s, j);
	return true;
}

#endif
