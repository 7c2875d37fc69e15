/*
 * switch.h - an aggregation switch: many jobs behind one address
 *
 * This is the state of --program iswitch, and of the servers that replace the
 * switch (innet-ps --program sync).  It consists of the jobs, the addresses of
 * their members, the messages that the switch sends, and the deadlines of the
 * switch (iSwitch, section 3).  The source address of a packet alone determines
 * its member and its job.  These modules include this file and process the
 * packets:
 *
 * 	switch-join.h		Join, time-outs
 * 	switch-transfer.h	Fetch and Chunk
 * 	switch-data.h		data of members and of the parent, backlog
 * 	switch-repair.h		Probe, STATE, NACK; retransmission upwards
 * 	switch-control.h	control messages, and work with a deadline
 * 	program.h		options, reports, interface of the data plane
 *
 * The rules of one job are in job.h and job-segments.h.  A driver passes
 * packets and control messages to iswitch_receive_segment(),
 * iswitch_receive_parent() and iswitch_handle_request().  It calls
 * iswitch_run_deadlines() when iswitch_deadline_ns() has passed, and may flush
 * the outbox at any time.  The functions use no clock and no socket: time is an
 * argument, in ns.
 */
#ifndef INNET_ISWITCH_SWITCH_H
#define INNET_ISWITCH_SWITCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/retransmit.h"
#include "common/auth/channel-client.h"
#include "common/auth/quota.h"
#include "common/auth/rate-limit.h"
#include "common/base/hashmap.h"
#include "common/iswitch/job.h"
#include "common/iswitch/membership.h"

enum {
	ISWITCH_JOBS_MAX = 1024,
	/*
	 * If the parent has sent nothing for these times, the switch reports
	 * this to the user, and to workers that join.
	 */
	ISWITCH_NO_ANSWER_NS = 2000000000,
	ISWITCH_ORPHAN_NS = 300000000,
	ISWITCH_TEXT_BYTES = 96		/* length of the text of a refusal */
};

/* The counters of datagrams that belong to no job. */
enum iswitch_count {
	ISWITCH_FOREIGN,	/* segments from non-members */
	ISWITCH_BAD_SEGMENT,
	ISWITCH_CONTROL,	/* messages from the parent; the next two
				 * counters count bad messages */
	ISWITCH_BAD_CONTROL, ISWITCH_BAD_MAC,
	ISWITCH_PARENT_LOST,	/* how often the parent no longer knew this
				 * switch */
	ISWITCH_COUNTS
};

struct iswitch_conf {
	struct job_conf job;
	uint64_t memory_bytes;		/* limit on the memory of all jobs; 0:
					 * no limit */
	uint64_t job_memory_bytes;	/* limit on the memory of one job; 0: no
					 * limit */
	uint32_t sockets;		/* maximum number of jobs that can have
					 * a socket to the parent; 0: no
					 * limit */
	uint32_t floats;		/* number of floats in a segment, if the
					 * first Join of a job does not contain
					 * this number */
	uint32_t floats_max;
	uint32_t implicit;		/* number of sources that become members
					 * of job 1 without a Join */
	uint32_t job_limit;		/* job ids must be less than this
					 * number; 0: no limit */
	uint32_t number;		/* number of this switch among the
					 * members of its parent */
	union addr parent;		/* address of the parent, for messages
					 * to users; family 0: unknown */
	union addr group;		/* multicast group, from place->group */
	const struct key *key;		/* key of messages to the parent, or
					 * NULL */
	struct key secret;		/* secret from which nonces are
					 * derived */
	bool needs_cookie;		/* the parent may ask for cookies */
	struct hashmap_multiplier hash_seed;	/* seed of maps that untrusted
						 * hosts fill */
	bool quotas;			/* each address has quotas (quota.h) */
	bool any_xid;			/* a trace is replayed, in which the
					 * parent answers the requests of
					 * another run */
	bool strict;			/* the job halts while a worker receives
					 * a state */
};

enum {
	ISWITCH_RECEIVERS = 8,		/* maximum number of receivers of states
					 * in a job at the same time */
	ISWITCH_PERMITS = 16,		/* maximum number of permits to fetch a
					 * state in a job */
	ISWITCH_FETCH_TRIES = 8		/* maximum number of Fetches to a sender
					 * of a state that sends nothing */
};
#define ISWITCH_RECEIVER_NS 2000000000u	/* a receiver that sends nothing for
					 * this time is removed */
#define ISWITCH_SENDER_NS UINT64_C(5000000000)	/* a sender that sends no Chunk
						 * for this time is replaced */
#define ISWITCH_PERMIT_NS UINT64_C(30000000000)	/* lifetime of a permit to fetch
						 * a state that is not used */
#define ISWITCH_HOLD_NS UINT64_C(30000000000)	/* longest time that a job is
						 * halted for a receiver */
#define ISWITCH_REST_NS UINT64_C(60000000000)	/* time after a halt during
						 * which no receiver may halt
						 * the job again */
#define ISWITCH_AHEAD_NS UINT64_C(1000000000)	/* a rack asks its parent for
						 * the parent's round only once
						 * in this time */
#define ISWITCH_FOUNDER_NS UINT64_C(2000000000)	/* a rack waits this long for
						 * the Join of its first
						 * worker */
#define ISWITCH_OLD_JOIN_NS 1000000000u	/* longest time after which a Join that
					 * was sent can still arrive */
#define ISWITCH_IDLE_NS 10000000000u	/* a job that has received no data is
					 * removed after this time */

/*
 * A receiver of a state: a worker, or the parent, which asks on behalf of a
 * worker in another rack.
 */
struct iswitch_receiver {
	bool used, is_parent;
	bool halts_job;			/* the job is halted until the receiver
					 * has joined, but at most
					 * ISWITCH_HOLD_NS after held_ns */
	uint64_t held_ns;
	uint16_t number;		/* number that the parent has assigned
					 * to the worker, or 0 */
	uint32_t sender;		/* member id of the sender;
					 * MEMBERS_NONE: the parent */
	uint32_t skipped;		/* number of senders that were tried and
					 * sent nothing */
	uint32_t attempts;		/* number of Fetches since the last
					 * Chunk */
	uint64_t chunk_ns;		/* time of the last Chunk of the sender;
					 * 0: none yet */
	union addr at;
	uint64_t last_fetch_ns;
};

/*
 * The address of a worker or a rack that may fetch a state, because its Join
 * was refused or because it was removed.
 */
struct iswitch_permit {
	union addr at;			/* family 0: unused */
	uint64_t until_ns;
};

/* The membership of a job in the parent's job. */
struct iswitch_parent {
	bool wanted;			/* the job must be a member of the
					 * parent's job */
	bool again;			/* the worker that started the job can
					 * also contribute to the iteration
					 * before the job's first iteration */
	uint64_t wanted_ns;		/* time of the last Join that waited for
					 * the parent */
	uint64_t ahead_ns;		/* time when the parent was last asked
					 * for its round; 0: never */
	struct membership membership;
	bool went_back;			/* the job has gone back one iteration,
					 * and the parent does not know it */
	uint64_t joins_before;		/* number of Joins that were sent before
					 * it went back */
};

/* A member that has left, so that no sum can be completed. */
struct iswitch_departure {
	bool known;			/* a Left message about it has
					 * arrived */
	bool from_parent;		/* the parent has sent this message */
	uint64_t since_ns;		/* time for which left.ago_ms is true */
	uint64_t results;		/* number of results when the message
					 * arrived */
	struct control_left left;
};

struct iswitch_job {
	struct job core;
	struct iswitch_parent parent;
	struct channel_client channel;	/* secure channel to the parent */
	uint16_t named_h;		/* H that the first Join named, or 0 */
	struct control_rule named_rule;	/* rule that the first Join named, or
					 * all 0 */
	struct iswitch_departure left;	/* from the Left message that the switch
					 * keeps, if any */
	union addr group;		/* multicast group of the job's results;
					 * family 0: none */
	struct iswitch_receiver receiver[ISWITCH_RECEIVERS];
	struct iswitch_permit permit[ISWITCH_PERMITS];
	uint64_t no_hold_ns;		/* no receiver may halt the job before
					 * this time */
	bool charged;			/* the job is charged to the quota of
					 * the address that started it */
	union addr founder;
	uint64_t charged_bytes, founded_ns;
	uint64_t founded_added;		/* number of segments that had been
					 * added at founded_ns */
};

/* The address of a member. */
struct iswitch_ref {
	union addr at;
	uint32_t job, member;		/* job index; member id */
	uint32_t next;			/* index of the next entry with the same
					 * key, or of the next free entry */
};

struct iswitch {
	struct iswitch_conf cf;
	struct iswitch_job **job;	/* jobs by index */
	uint32_t jobs;
	uint32_t backlog_turn;		/* index of the job for which queued
					 * answers were posted last */
	struct hashmap by_id;		/* map from job id to index */
	struct hashmap by_addr;		/* map from the key of an address
					 * (addr_key()) to the index of the
					 * first entry in `ref` with this key */
	struct iswitch_ref *ref;
	uint32_t refs, refs_room, ref_free;
	struct job_budget budget;
	bool lacks_sockets;		/* the last request was refused because
					 * of the limit cf.sockets */
	struct quota quota;		/* quotas of addresses, if cf.quotas */
	uint32_t xid;			/* xid of the next message that the
					 * switch itself sends */
	uint64_t *due_ns;		/* by job: lower bound on its
					 * deadline */
	uint64_t deadline_ns;		/* lower bound on all deadlines */
	uint64_t n[ISWITCH_COUNTS];
	char text[ISWITCH_TEXT_BYTES];	/* text of an Ack, until the Ack is
					 * sent */
	struct outbox *out;		/* borrowed */
	struct rate_limit *rate_limit;	/* borrowed */
};

/* The context of iswitch_send_help(), which is of type job_ask. */
struct iswitch_help_sender {
	struct iswitch *s;
	struct job *j;
};

/* Return the name that counter `what` has in reports. */
static inline const char *iswitch_count_name(unsigned what);

/*
 * Initialise the switch.  `xid` is the xid of the first message that the switch
 * itself sends (control_first_xid()).  `out` and `rate_limit` are borrowed.
 */
static inline void iswitch_init(struct iswitch *s,
    const struct iswitch_conf *cf, uint32_t xid, struct outbox *out,
    struct rate_limit *rate_limit);

/* Free the memory of the switch. */
static inline void iswitch_free(struct iswitch *s);

/* Return the job with this id, or NULL. */
static inline struct iswitch_job *iswitch_find_job(const struct iswitch *s,
    uint16_t id);

/*
 * Return the job with this id, and create it if there is none.  If the table is
 * full, remove a job without members first.  Returns NULL if there is no room.
 */
static inline struct iswitch_job *iswitch_make_job(struct iswitch *s,
    uint16_t id);

/*
 * Return the entry of the member with the address `at`, or NULL.  The result is
 * valid until the next call of iswitch_bind_address().
 */
static inline struct iswitch_ref *iswitch_find_address(const struct iswitch *s,
    const union addr *at);

/*
 * Record that `at` is the address of a member of the job with index `job`.
 * Returns false if there is no memory, or if the address has as many members as
 * its quota allows.
 */
static inline bool iswitch_bind_address(struct iswitch *s, const union addr *at,
    uint32_t job, uint32_t member);

/* Forget which member has the address `at`. */
static inline void iswitch_unbind_address(struct iswitch *s,
    const union addr *at);

/*
 * Post the control message p of len bytes.  The buffer must have room for
 * CONTROL_MAX_BYTES.  This function authenticates messages to the parent; the
 * plane authenticates all other messages.
 */
static inline void iswitch_post_message(struct iswitch *s, enum post_to to,
    uint32_t job, const union addr *at, uint8_t *p, size_t len);

/*
 * Send a message with this action to `at`, to all members or to the parent.
 * The message contains a segment word, unless word is NULL.
 */
static inline void iswitch_send_action(struct iswitch *s, enum post_to to,
    const struct job *j, const union addr *at, enum control_action action,
    const uint64_t *word);

/* Send to `at` an Ack of a Help, with a status for segment `word` of job id. */
static inline void iswitch_send_status(struct iswitch *s, const union addr *at,
    uint16_t id, enum control_status status, uint64_t word);

/*
 * Send to every member of job j an Ack of a Help, with a status for segment
 * `word`.
 */
static inline void iswitch_send_group_status(struct iswitch *s,
    const struct job *j, enum control_status status, uint64_t word);

/* Send a Help for `word` to member m.  ctx is a struct iswitch_help_sender. */
static inline void iswitch_send_help(void *ctx, const struct member *m,
    uint64_t word);

/*
 * Does the job repair losses on the way to the parent, and may the switch send
 * to the parent now?
 */
static inline bool iswitch_may_retransmit(const struct iswitch_job *job);

/*
 * Return the time at which a job without members must be removed, or
 * UINT64_MAX.
 */
static inline uint64_t iswitch_idle_deadline_ns(const struct iswitch *s,
    const struct iswitch_job *job);

/* Return the time at which the job must act next, or UINT64_MAX. */
static inline uint64_t iswitch_job_deadline_ns(const struct iswitch *s,
    const struct iswitch_job *job);

/* Let the switch do the work of this job at once, as after a packet. */
static inline void iswitch_wake_job(struct iswitch *s,
    const struct iswitch_job *job, uint64_t now_ns);

/*
 * Lower the bound on the deadline of the job, if the job must act earlier.  The
 * bound rises only in iswitch_run_deadlines().
 */
static inline void iswitch_note_deadline(struct iswitch *s,
    const struct iswitch_job *job);

/* Return a lower bound on the next deadline, without checking each job. */
static inline uint64_t iswitch_deadline_ns(const struct iswitch *s);

/* implementation */

static inline const char *
iswitch_count_name(unsigned what)
{
	static const char *const name[ISWITCH_COUNTS] = {
		"foreign", "bad_segment", "parent_control",
		"parent_bad_control", "parent_bad_mac", "parent_lost"
	};

	return name[what];
}

static inline void
iswitch_init(struct iswitch *s, const struct iswitch_conf *cf, uint32_t xid,
    struct outbox *out, struct rate_limit *rate_limit)
{
	*s = (struct iswitch){ .cf = *cf, .xid = xid, .out = out,
	    .rate_limit = rate_limit,
	    .ref_free = MEMBERS_NONE,
	    .deadline_ns = UINT64_MAX, .budget.limit_bytes = cf->memory_bytes,
	    .budget.job_bytes = cf->job_memory_bytes };
	hashmap_seed(&s->by_addr, &cf->hash_seed);
	s->quota = quota_of(cf->memory_bytes, &cf->hash_seed);
}

static inline void
iswitch_free(struct iswitch *s)
{
	for (uint32_t k = 0; k < s->jobs; k++) {
		job_free(&s->job[k]->core);
		free(s->job[k]);
	}
	free(s->job);
	free(s->due_ns);
	free(s->ref);
	hashmap_free(&s->by_id);
	hashmap_free(&s->by_addr);
	quota_free(&s->quota);
}

static inline struct iswitch_job *
iswitch_find_job(const struct iswitch *s, uint16_t id)
{
	const uint32_t *k = hashmap_get(&s->by_id, id);

	return k == NULL ? NULL : s->job[*k];
}

/* Open the job's secure channel to the parent. */
static inline void
iswitch_open_channel(const struct iswitch *s, struct iswitch_job *job)
{
	uint8_t nonce[COOKIE_NONCE_BYTES] = { 0 }, what[6];

	bytes_put(bytes_put(what, job->core.id, 2), s->xid, 4);
	if (s->cf.secret.set)
		key_hash_of(&s->cf.secret, "innet 1 nonce", what, sizeof(what),
		    nonce, sizeof(nonce));
	channel_client_open(&job->channel, s->cf.key, s->cf.needs_cookie,
	    nonce);
	job->channel.any = s->cf.any_xid;
}

/*
 * Return the index of the job without members whose last Join is the oldest, or
 * s->jobs if there is none.
 */
static inline uint32_t
iswitch_oldest_idle_job(const struct iswitch *s)
{
	uint32_t best = s->jobs;

	for (uint32_t k = 0; k < s->jobs; k++) {
		if (!job_has_memory(&s->job[k]->core) &&
		    (best == s->jobs || s->job[k]->core.last_join_ns <
					    s->job[best]->core.last_join_ns))
			best = k;
	}
	return best;
}

static inline struct iswitch_job *
iswitch_make_job(struct iswitch *s, uint16_t id)
{
	struct iswitch_job *have = iswitch_find_job(s, id), **p;
	uint32_t k = s->jobs;

	if (have != NULL)
		return have;
	if (k == ISWITCH_JOBS_MAX)
		k = iswitch_oldest_idle_job(s);
	if (k == ISWITCH_JOBS_MAX ||
	    (s->cf.job_limit > 0 && id >= s->cf.job_limit))
		return NULL;
	if (s->job == NULL)
		s->job = calloc(ISWITCH_JOBS_MAX, sizeof(*s->job));
	if (s->due_ns == NULL)
		s->due_ns = calloc(ISWITCH_JOBS_MAX, sizeof(*s->due_ns));
	have = calloc(1, sizeof(*have));
	p = s->job;
	if (p == NULL || s->due_ns == NULL || have == NULL ||
	    hashmap_put(&s->by_id, id, k) == NULL) {
		free(have);
		return NULL;
	}
	if (k < s->jobs) {
		outbox_flush(s->out);
		hashmap_remove(&s->by_id, p[k]->core.id);
		job_free(&p[k]->core);
		free(p[k]);
	}
	have->core.cf = &s->cf.job;
	have->core.rule = s->cf.job.rule;
	have->core.out = s->out;
	have->core.budget = &s->budget;
	have->core.index = k;
	have->core.id = id;
	p[k] = have;
	s->due_ns[k] = UINT64_MAX;
	s->jobs += k == s->jobs;
	iswitch_open_channel(s, have);
	return have;
}

static inline struct iswitch_ref *
iswitch_find_address(const struct iswitch *s, const union addr *at)
{
	const uint32_t *head = hashmap_get(&s->by_addr,
	    addr_key(at, &s->cf.hash_seed));

	for (uint32_t r = head == NULL ? MEMBERS_NONE : *head;
	    r != MEMBERS_NONE; r = s->ref[r].next) {
		if (addr_same(&s->ref[r].at, at))
			return &s->ref[r];
	}
	return NULL;
}

static inline bool
iswitch_bind_address(struct iswitch *s, const union addr *at, uint32_t job,
    uint32_t member)
{
	uint32_t *head, r = s->ref_free;

	if (r == MEMBERS_NONE && s->refs == s->refs_room) {
		uint32_t room = s->refs_room == 0 ? 64 : s->refs_room * 2;
		struct iswitch_ref *p = realloc(s->ref, room * sizeof(*p));

		if (p == NULL)
			return false;
		s->ref = p;
		s->refs_room = room;
	}
	if (s->cf.quotas && !quota_charge(&s->quota, at, QUOTA_MEMBERS, 1))
		return false;
	head = hashmap_put(&s->by_addr, addr_key(at, &s->cf.hash_seed),
	    MEMBERS_NONE);
	if (head == NULL) {
		if (s->cf.quotas)
			quota_release(&s->quota, at, QUOTA_MEMBERS, 1);
		return false;
	}
	if (r == MEMBERS_NONE)
		r = s->refs++;
	else
		s->ref_free = s->ref[r].next;
	s->ref[r] = (struct iswitch_ref){ .at = *at, .job = job,
	    .member = member, .next = *head };
	*head = r;
	return true;
}

static inline void
iswitch_unbind_address(struct iswitch *s, const union addr *at)
{
	const uint64_t key = addr_key(at, &s->cf.hash_seed);
	uint32_t *head = hashmap_get(&s->by_addr, key), *where = head, r;

	while (where != NULL && *where != MEMBERS_NONE &&
	    !addr_same(&s->ref[*where].at, at))
		where = &s->ref[*where].next;
	if (where == NULL || *where == MEMBERS_NONE)
		return;
	r = *where;
	*where = s->ref[r].next;
	if (*head == MEMBERS_NONE)
		hashmap_remove(&s->by_addr, key);
	s->ref[r].next = s->ref_free;
	s->ref_free = r;
	if (s->cf.quotas)
		quota_release(&s->quota, at, QUOTA_MEMBERS, 1);
}

static inline void
iswitch_post_message(struct iswitch *s, enum post_to to, uint32_t job,
    const union addr *at, uint8_t *p, size_t len)
{
	if (to == POST_PARENT)
		len = channel_client_protect(&s->job[job]->channel, p, len);
	outbox_copy(s->out, to, job, at, CONTROL_TOS, p, (uint32_t)len);
}

/*
 * Write an Ack of a Help, with a status for segment `word` of job id, to msg.
 * Returns the length of the Ack.
 */
static inline size_t
iswitch_put_help_status(struct iswitch *s, uint16_t id,
    enum control_status status, uint64_t word, uint8_t *msg)
{
	const struct control_ack a = { .action = CONTROL_HELP,
	    .status = (uint8_t)status, .seg = word };

	return (size_t)(control_put_ack(control_put(msg, CONTROL_ACK, id,
	    s->xid++), &a) - msg);
}

static inline void
iswitch_send_status(struct iswitch *s, const union addr *at, uint16_t id,
    enum control_status status, uint64_t word)
{
	uint8_t msg[CONTROL_MAX_BYTES];

	iswitch_post_message(s, POST_ONE, 0, at, msg,
	    iswitch_put_help_status(s, id, status, word, msg));
}

static inline void
iswitch_send_group_status(struct iswitch *s, const struct job *j,
    enum control_status status, uint64_t word)
{
	uint8_t msg[CONTROL_MAX_BYTES];

	iswitch_post_message(s, POST_GROUP, j->index, NULL, msg,
	    iswitch_put_help_status(s, j->id, status, word, msg));
}

static inline void
iswitch_send_action(struct iswitch *s, enum post_to to, const struct job *j,
    const union addr *at, enum control_action action, const uint64_t *word)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	uint8_t *p = control_put(msg, (uint8_t)action, j->id, s->xid++);

	if (word != NULL)
		p = bytes_put(p, *word, 8);
	iswitch_post_message(s, to, j->index, at, msg, (size_t)(p - msg));
}

static inline void
iswitch_send_help(void *ctx, const struct member *m, uint64_t word)
{
	const struct iswitch_help_sender *a = ctx;

	iswitch_send_action(a->s, POST_ONE, a->j, &m->at, CONTROL_HELP, &word);
}

static inline bool
iswitch_may_retransmit(const struct iswitch_job *job)
{
	/* A parent that does not know that this rack has gone back would answer
	 * that it does not keep the results of that iteration. */
	return job->core.retransmit != NULL && !job->core.halted &&
	    membership_works(&job->parent.membership) &&
	    !job->parent.went_back;
}

/*
 * Return the time at which the job must send a message to the parent, or
 * UINT64_MAX.
 */
static inline uint64_t
iswitch_parent_deadline_ns(const struct iswitch_job *job)
{
	uint64_t due, mend;

	if (!job->parent.wanted)
		return UINT64_MAX;
	due = membership_deadline_ns(&job->parent.membership);
	mend = iswitch_may_retransmit(job)
		   ? retransmit_deadline_ns(job->core.retransmit)
		   : UINT64_MAX;
	return mend < due ? mend : due;
}

static inline uint64_t
iswitch_idle_deadline_ns(const struct iswitch *s, const struct iswitch_job *job)
{
	const uint64_t last_ns = job->parent.wanted_ns > job->core.last_join_ns
				     ? job->parent.wanted_ns
				     : job->core.last_join_ns;

	return job_has_memory(&job->core) && job->core.members.present == 0 ?
	    last_ns + s->cf.job.member_timeout_ns : UINT64_MAX;
}

static inline uint64_t
iswitch_job_deadline_ns(const struct iswitch *s, const struct iswitch_job *job)
{
	const uint64_t up = iswitch_parent_deadline_ns(job),
		       idle = iswitch_idle_deadline_ns(s, job);
	uint64_t due = job_deadline_ns(&job->core);

	due = up < due ? up : due;
	due = idle < due ? idle : due;
	for (uint32_t k = 0; k < ISWITCH_RECEIVERS; k++) {
		const struct iswitch_receiver *a = &job->receiver[k];

		if (a->used && a->last_fetch_ns + ISWITCH_RECEIVER_NS < due)
			due = a->last_fetch_ns + ISWITCH_RECEIVER_NS;
	}
	return due;
}

static inline void
iswitch_wake_job(struct iswitch *s, const struct iswitch_job *job,
    uint64_t now_ns)
{
	uint64_t *due = &s->due_ns[job->core.index];

	*due = now_ns < *due ? now_ns : *due;
	s->deadline_ns = *due < s->deadline_ns ? *due : s->deadline_ns;
}

static inline void
iswitch_note_deadline(struct iswitch *s, const struct iswitch_job *job)
{
	iswitch_wake_job(s, job, iswitch_job_deadline_ns(s, job));
}

static inline uint64_t
iswitch_deadline_ns(const struct iswitch *s)
{
	return s->deadline_ns;
}

/* Write the reason for a refusal into an Ack. */
__attribute__((format(printf, 3, 4))) static inline void
iswitch_put_reason(struct iswitch *s, struct control_ack *a, const char *fmt,
    ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
	a->text = (const uint8_t *)s->text;
	a->text_bytes = n < 0 ? 0 : (size_t)n < sizeof(s->text) ? (size_t)n :
	    sizeof(s->text) - 1;
}

#endif
