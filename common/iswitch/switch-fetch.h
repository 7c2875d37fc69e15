/*
 * switch-fetch.h - the way of a state from one member to another
 *
 * Who lacks a job's state sends Fetch, member or not; the switch passes it on
 * to a sender, the member with the least number that gives, or the next if that
 * one says nothing, or else up; and Chunks back to who asked.  It remembers who
 * asked, by numbers of its own, and nothing of the state.  With --strict, or if
 * who asks says so, the job is halted until that one has joined or has been
 * silent for a while.
 */
#ifndef INNET_ISWITCH_SWITCH_FETCH_H
#define INNET_ISWITCH_SWITCH_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch-again.h"
#include "common/iswitch/switch-place.h"
#include "common/iswitch/switch.h"
#include "common/wire/state-transfer.h"

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

#endif
