/*
 * switch-transfer.h - state transfer at an aggregation switch: which workers
 *   may fetch a state, which workers send their state, and how long the job
 *   waits
 *
 * A worker that cannot continue at the current iteration of the job receives
 * the state of another worker.  It sends Fetches, which the switch relays to a
 * sender.  The sender is the member with the smallest number among the present
 * members that offer their state.  The switch relays the Chunks back.  If a
 * sender does not answer, the switch tries the next sender, or the parent.  The
 * switch keeps a list of the receivers and gives each its own number.  It
 * stores no part of the state.
 *
 * Members may always fetch a state.  Other workers and racks need a permit.
 * They get a permit if this switch has refused their Join or has removed them.
 * If --strict is given or if the receiver requests a halt, the job halts until
 * the receiver has joined or has sent nothing for ISWITCH_RECEIVER_NS, but
 * never longer than ISWITCH_HOLD_NS.
 */
#ifndef INNET_ISWITCH_SWITCH_TRANSFER_H
#define INNET_ISWITCH_SWITCH_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job.h"
#include "common/iswitch/members.h"
#include "common/iswitch/sums.h"
#include "common/iswitch/switch.h"
#include "common/wire/state-transfer.h"

/* Send the control message `action` to every member. */
static inline void iswitch_send_to_members(struct iswitch *s,
    struct iswitch_job *job, enum control_action action);

/*
 * May the worker or rack at `at`, which is not a member, fetch a state?  It may
 * if its Join was refused or if it was removed.
 */
static inline bool iswitch_may_fetch(const struct iswitch_job *job,
    const union addr *at, uint64_t now_ns);

/*
 * Process a Fetch from `at`, or from the parent if `at` is NULL.  Returns
 * CONTROL_DONE if Chunks may follow, and otherwise the status of the refusal.
 */
static inline enum control_status iswitch_receive_fetch(struct iswitch *s,
    struct iswitch_job *job, const union addr *at, const struct control *c,
    uint64_t now_ns);

/*
 * Relay a Chunk from member `id` (MEMBERS_NONE: from the parent) to its
 * receiver.
 */
static inline void iswitch_receive_chunk(struct iswitch *s,
    struct iswitch_job *job, uint32_t id, const struct control *c,
    uint64_t now_ns);

/* Send the parent's refusal to the receivers that waited for the parent. */
static inline void iswitch_refuse_receivers(struct iswitch *s,
    struct iswitch_job *job, enum control_status status);

/* Remove the receivers that have sent nothing for too long. */
static inline void iswitch_forget_silent(struct iswitch *s,
    struct iswitch_job *job, uint64_t now_ns);

/* Does any receiver wait for a state? */
static inline bool iswitch_has_receivers(const struct iswitch_job *job);

/*
 * Permit the worker or rack at `at` to fetch a state, because its Join was
 * refused or because it was removed.
 */
static inline void iswitch_permit_fetch(struct iswitch_job *job,
    const union addr *at, uint64_t now_ns);

/* Remove the receivers at `at`, because this address has joined. */
static inline void iswitch_forget_joined(struct iswitch *s,
    struct iswitch_job *job, const union addr *at);

/* implementation */

static inline void
iswitch_send_to_members(struct iswitch *s, struct iswitch_job *job,
    enum control_action action)
{
	if (job->core.members.present > 0)
		iswitch_send_action(s, POST_GROUP, &job->core, NULL, action,
		    NULL);
	outbox_flush(s->out);
}

static inline void
iswitch_permit_fetch(struct iswitch_job *job, const union addr *at,
    uint64_t now_ns)
{
	struct iswitch_permit *p = &job->permit[0];

	for (uint32_t k = 0; k < ISWITCH_PERMITS; k++) {
		if (addr_same(&job->permit[k].at, at)) {
			p = &job->permit[k];
			break;
		}
		if (job->permit[k].until_ns < p->until_ns)
			p = &job->permit[k];
	}
	*p = (struct iswitch_permit){ *at, now_ns + ISWITCH_PERMIT_NS };
}

static inline bool
iswitch_may_fetch(const struct iswitch_job *job, const union addr *at,
    uint64_t now_ns)
{
	for (uint32_t k = 0; k < ISWITCH_PERMITS; k++) {
		if (now_ns < job->permit[k].until_ns &&
		    addr_same(&job->permit[k].at, at))
			return true;
	}
	return false;
}

/* Return the number of receivers on the host of `at`. */
static inline uint32_t
iswitch_count_receivers(const struct iswitch_job *job, const union addr *at)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++)
		n += job->receiver[k].used && !job->receiver[k].is_parent &&
		    addr_same_host(&job->receiver[k].at, at);
	return n;
}

/*
 * Return the entry of the receiver with this number at address `at` (NULL: the
 * parent).  A new receiver gets a new entry.  Returns NULL if all entries are
 * in use, or if the host of `at` uses half of the entries.
 */
static inline struct iswitch_receiver *
iswitch_find_receiver(struct iswitch_job *job, const union addr *at,
    uint16_t number, uint64_t now_ns)
{
	struct iswitch_receiver *idle = NULL;

	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		struct iswitch_receiver *a = &job->receiver[k];

		if (a->used && a->number == number &&
		    a->is_parent == (at == NULL) &&
		    (at == NULL || addr_same(&a->at, at)))
			return a;
		if (idle == NULL && !a->halts_job && (!a->used ||
		    now_ns - a->last_fetch_ns > ISWITCH_RECEIVER_NS))
			idle = a;
	}
	if (idle == NULL || (at != NULL && !addr_is_loopback(at) &&
	    iswitch_count_receivers(job, at) >= ISWITCH_RECEIVERS / 2))
		return NULL;
	*idle = (struct iswitch_receiver){ .used = true, .number = number,
	    .is_parent = at == NULL, .sender = MEMBERS_NONE };
	if (at != NULL)
		idle->at = *at;
	return idle;
}

/*
 * May member m send its state to `worker`, which requests the state from
 * address `at`?
 */
static inline bool
iswitch_may_send_state(const struct member *m, const union addr *at,
    uint32_t worker)
{
	return m->present && m->sends_state && (at == NULL ||
	    (!addr_same(&m->at, at) &&
	    (m->type != CONTROL_WORKER || m->worker != worker)));
}

/*
 * Return the member that must send its state to `worker`, or MEMBERS_NONE.  Of
 * the members that may send their state, in the order of member numbers, skip
 * the first `passed` members and return the next one.
 */
static inline uint32_t
iswitch_find_sender(const struct job *j, const union addr *at, uint32_t worker,
    uint32_t passed)
{
	uint32_t id = MEMBERS_NONE;

	for (uint32_t n = 0; n <= passed; n++) {
		uint32_t next = MEMBERS_NONE;

		for (uint32_t i = 0; i < j->members.count; i++) {
			if (iswitch_may_send_state(
				&j->members.m[i], at, worker) &&
			    (id == MEMBERS_NONE ||
				j->members.rank[i] > j->members.rank[id]) &&
			    (next == MEMBERS_NONE ||
				j->members.rank[i] < j->members.rank[next]))
				next = i;
		}
		if (next == MEMBERS_NONE)
			return MEMBERS_NONE;
		id = next;
	}
	return id;
}

/*
 * Return the sender for receiver `a`.  If the last sender was silent, choose
 * another one.  A sender that has sent Chunks is not replaced soon, because the
 * receiver would lose these Chunks.
 */
static inline uint32_t
iswitch_next_sender(const struct iswitch_job *job, struct iswitch_receiver *a,
    uint32_t worker, bool child, uint64_t now_ns)
{
	const union addr *at = a->is_parent ? NULL : &a->at;
	const bool silent = a->chunk_ns == 0 ||
	    now_ns - a->chunk_ns >= ISWITCH_SENDER_NS;
	uint32_t id;

	if (++a->attempts > ISWITCH_FETCH_TRIES && silent) {
		a->attempts = 0;
		a->chunk_ns = 0;
		a->skipped++;
	}
	id = iswitch_find_sender(&job->core, at, worker, a->skipped);
	if (id == MEMBERS_NONE && (a->is_parent || !child ||
	    (a->attempts == ISWITCH_FETCH_TRIES && silent))) {
		a->skipped = 0;		/* start again with the first member */
		id = iswitch_find_sender(&job->core, at, worker, 0);
	}
	return id;
}

/* Halt the job until receiver `a` has joined, but only for a limited time. */
static inline void
iswitch_halt_for(struct iswitch *s, struct iswitch_job *job,
    struct iswitch_receiver *a, uint64_t now_ns)
{
	if (job->core.halted || now_ns < job->no_hold_ns)
		return;
	a->halts_job = true;
	a->held_ns = now_ns;
	job->core.halted = true;
	iswitch_send_to_members(s, job, CONTROL_HALT);
}

/* Resume the job if it was halted for receiver `a`. */
static inline void
iswitch_end_hold(struct iswitch *s, struct iswitch_job *job,
    struct iswitch_receiver *a)
{
	const bool halts = a->halts_job;

	a->halts_job = false;
	if (!halts || !job->core.halted)
		return;
	job->core.halted = false;
	iswitch_send_to_members(s, job, CONTROL_RESUME);
}

/*
 * Remove receiver `a`, which has joined or has stopped, and resume the job if
 * it waited for this receiver.
 */
static inline void
iswitch_forget_receiver(struct iswitch *s, struct iswitch_job *job,
    struct iswitch_receiver *a)
{
	iswitch_end_hold(s, job, a);
	*a = (struct iswitch_receiver){ 0 };
}

static inline void
iswitch_forget_joined(struct iswitch *s, struct iswitch_job *job,
    const union addr *at)
{
	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		if (job->receiver[k].used && !job->receiver[k].is_parent &&
		    addr_same(&job->receiver[k].at, at))
			iswitch_forget_receiver(s, job, &job->receiver[k]);
	}
}

static inline bool
iswitch_has_receivers(const struct iswitch_job *job)
{
	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		if (job->receiver[k].used)
			return true;
	}
	return false;
}

static inline void
iswitch_forget_silent(struct iswitch *s, struct iswitch_job *job,
    uint64_t now_ns)
{
	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		struct iswitch_receiver *a = &job->receiver[k];

		if (a->used && now_ns >= a->last_fetch_ns + ISWITCH_RECEIVER_NS)
			iswitch_forget_receiver(s, job, a);
		if (a->halts_job && now_ns >= a->held_ns + ISWITCH_HOLD_NS) {
			job->core.n[JOB_HOLDS_ENDED]++;
			job->no_hold_ns = now_ns + ISWITCH_REST_NS;
			iswitch_end_hold(s, job, a);
		}
	}
}

/*
 * Open an asynchronous job if all members that are missing are workers that
 * fetch a state.  If the job of a restarted rack stayed closed until these
 * workers have joined, the members of the rack could send no push.  But the
 * sender of the state may need a push to complete the state.
 */
static inline void
iswitch_open_for_receivers(struct iswitch_job *job)
{
	struct job *j = &job->core;
	uint32_t n = j->members.present;

	if (j->open || !j->cf->async || j->parent_closed || j->h == 0 || n == 0)
		return;
	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++)
		n += job->receiver[k].used && !job->receiver[k].is_parent;
	if (n >= j->h)
		j->open = j->notify = true;
}

static inline enum control_status
iswitch_receive_fetch(struct iswitch *s, struct iswitch_job *job,
    const union addr *at, const struct control *c, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct transfer_fetch f;
	struct iswitch_receiver *a;
	uint32_t id;
	size_t len;

	if (!transfer_get_fetch(c, &f))
		return CONTROL_BAD_VALUE;
	a = iswitch_find_receiver(job, at, f.receiver, now_ns);
	if (a == NULL)
		return CONTROL_NO_ROOM;
	a->last_fetch_ns = now_ns;
	iswitch_open_for_receivers(job);
	if (at != NULL)
		iswitch_permit_fetch(job, at, now_ns);
	id = iswitch_next_sender(job, a, f.worker, s->cf.job.child, now_ns);
	if (id == MEMBERS_NONE && (at == NULL || !s->cf.job.child))
		return job->core.open ? CONTROL_REFUSED : CONTROL_NOT_READY;
	if ((f.waits || s->cf.strict) && id != MEMBERS_NONE)
		iswitch_halt_for(s, job, a, now_ns);
	a->sender = id;
	f.receiver = (uint16_t)(a - job->receiver + 1);
	f.waits |= s->cf.strict;
	len = (size_t)(transfer_put_fetch(control_put(msg, CONTROL_FETCH,
	    job->core.id, s->xid++), &f) - msg);
	job->core.n[JOB_FETCHES]++;
	iswitch_post_message(s, id == MEMBERS_NONE ? POST_PARENT : POST_ONE,
	    job->core.index,
	    id == MEMBERS_NONE ? NULL : &job->core.members.m[id].at, msg, len);
	return CONTROL_DONE;
}

/* Is the state to which chunk k belongs too old to join with? */
static inline bool
iswitch_state_is_old(const struct job *j, const struct transfer_chunk *k)
{
	int64_t n;

	if (!k->ready || k->index != 0 || !job_has_memory(j) || j->cf->server)
		return false;
	n = sums_unwrap((uint32_t)(k->iteration % SEG_ITERATIONS), j->newest);
	if (j->newest >= j->start)
		return !job_keeps_results_from(j, n);
	return n < j->start - 1 || (n == j->start - 1 &&
	    !job_can_repeat(j, j->start));
}

static inline void
iswitch_receive_chunk(struct iswitch *s, struct iswitch_job *job, uint32_t id,
    const struct control *c, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct transfer_chunk k;
	struct iswitch_receiver *a;
	size_t len;

	if (!transfer_get_chunk(c, &k) || k.receiver == 0 ||
	    k.receiver > ISWITCH_RECEIVERS ||
	    !job->receiver[k.receiver - 1].used ||
	    job->receiver[k.receiver - 1].sender != id) {
		s->n[ISWITCH_BAD_CONTROL]++;
		return;
	}
	a = &job->receiver[k.receiver - 1];
	a->attempts = 0;
	if (id != MEMBERS_NONE && iswitch_state_is_old(&job->core, &k)) {
		/* The receiver must ask for a newer state.  If the sender is
		 * behind, another sender must send it. */
		a->chunk_ns = 0;
		a->skipped++;
		k = (struct transfer_chunk){ .sender = k.sender };
	} else if (k.ready) {
		a->chunk_ns = now_ns;
	}
	k.receiver = a->number;
	len = (size_t)(transfer_put_chunk(control_put(msg, CONTROL_CHUNK,
	    job->core.id, s->xid++), &k) - msg);
	job->core.n[JOB_CHUNKS]++;
	iswitch_post_message(s, a->is_parent ? POST_PARENT : POST_ONE,
	    job->core.index, a->is_parent ? NULL : &a->at, msg, len);
}

static inline void
iswitch_refuse_receivers(struct iswitch *s, struct iswitch_job *job,
    enum control_status status)
{
	const struct control_ack ack = { .action = CONTROL_FETCH,
	    .status = (uint8_t)status };
	uint8_t msg[CONTROL_MAX_BYTES];

	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		struct iswitch_receiver *a = &job->receiver[k];

		if (!a->used || a->is_parent || a->sender != MEMBERS_NONE)
			continue;
		iswitch_post_message(s, POST_ONE, job->core.index, &a->at, msg,
		    (size_t)(control_put_ack(control_put(msg, CONTROL_ACK,
		    job->core.id, s->xid++), &ack) - msg));
		iswitch_forget_receiver(s, job, a);
	}
}

#endif
