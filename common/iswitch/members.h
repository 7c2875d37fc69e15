/*
 * members.h - the members of a job
 *
 * This is the membership table of iSwitch, section 3.4.  A member is identified
 * by its type and number; the switch finds it by its address (switch.h).  A
 * member that has left keeps its id for a while.  If the member joins again, it
 * gets the same id, so its contributions to slots that are still filling do not
 * count twice.  members_free() frees the table.
 */
#ifndef INNET_ISWITCH_MEMBERS_H
#define INNET_ISWITCH_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/loss-detect.h"
#include "common/arq/loss-timer.h"
#include "common/wire/addr.h"
#include "common/wire/control.h"
#include "common/auth/tag.h"

enum { MEMBERS_MAX = 4096, MEMBERS_NONE = UINT32_MAX };

enum {
	MEMBERS_CATCH_UP = 16,		/* maximum number of rounds that are
					 * sent again for one Probe */
	MEMBERS_CATCH_UP_LEAST = 4,	/* number of these rounds that may be
					 * larger than MEMBERS_CATCH_UP_MAX */
	MEMBERS_CATCH_UP_MAX = 1024	/* limit on the results of more
					 * rounds */
};
#define MEMBERS_NO_PUSH INT64_MIN	/* value of `push` if the member has
					 * sent no push */

/*
 * The vectors on their way between a server and one member: the vector that the
 * member is sending, and the answers that the server has not sent to this
 * member yet (job-segments.h).
 */
struct member_flow {
	bool has_answer, is_sending;
	int64_t answer, iteration;	/* iteration of the next answer;
					 * iteration of the vector that the
					 * member is sending */
	uint32_t answered;		/* number of segments of the answer that
					 * have been posted */
	uint32_t asked_upto;		/* all lost segments with lower indices
					 * have been requested */
	uint32_t outstanding, credit;	/* number of segments that were
					 * requested and have not arrived; limit
					 * on this number */
	struct loss_timer timer;	/* loss timer for the vector of
					 * `iteration` */
	unsigned attempts;		/* number of requests for segments since
					 * the last progress */
	uint64_t deadline_ns;		/* time of the next request for
					 * segments; UINT64_MAX: never */
};

struct member {
	union addr at;
	union addr previous_at;	/* address of the previous process of the
				 * member; family 0: no previous process */
	uint32_t worker;	/* number of the worker or switch */
	uint16_t cluster;
	uint8_t type;		/* enum control_type */
	bool present;
	bool sends_state;	/* the member has offered its state to members
				 * that join late */
	bool wants_left;	/* tell the member if others have left and
				 * fewer than H remain */
	bool in_multicast_group;	/* the member also gets results by
					 * multicast */
	/*
	 * Time of the member's last packet of any kind, or end of the switch's
	 * last pause, whichever is later.
	 */
	uint64_t last_packet_ns;
	uint64_t gone_ns;	/* time when the member left or was removed; 0:
				 * never */
	bool evicted;		/* the member was removed because it had sent
				 * nothing for too long */
	bool confirmed;		/* the member has sent something since its
				 * Join */
	uint32_t join_xid;	/* xid of the member's first Join */
	bool reused;		/* the id belonged to a different member
				 * before */
	uint64_t joined_ns;
	uint64_t confirms_ns;	/* packets before this time do not set
				 * `confirmed` */
	int64_t from;		/* first iteration to which the member may
				 * contribute */
	int64_t next;		/* first iteration whose result the member had
				 * not applied at its last Join */
	int64_t can_give_from;	/* first iteration to which the member's process
				 * can contribute */
	uint32_t *pushed;	/* by segment: number of the last push that
				 * contained the segment, plus 1 */
	struct loss_detect *loss_detect;	/* owned; NULL: losses are not
						 * repaired */
	uint64_t added;		/* number of the member's contributions that
				 * were added */
	uint64_t late;		/* number of the member's contributions that
				 * arrived after the sum had been completed
				 * without them */
	/* The allowance is the number of repeated results that the member may
	 * still get.  The other fields are the number of the job's results when
	 * the allowance was last updated, and the time of the last repeated
	 * result that was sent although the allowance was used up. */
	uint64_t resends_left, resends_counted, last_resend_ns;
	uint8_t cookie[TAG_COOKIE_BYTES];	/* the cookie that the member's
						 * Join contained */
	/*
	 * Asynchronous: the unwrapped number of the member's newest push; the
	 * epoch of the last Ack, which the first push of a process uses.
	 */
	int64_t push;
	uint32_t push_epoch;
	int64_t catch_up_round;	/* first round that was not sent again to the
				 * member, which is catching up */
	uint32_t catch_up_run;	/* number of rounds sent again for its last
				 * Probe */
	struct member_flow flow;
};

struct members {
	struct member *m;	/* members by id */
	uint32_t *rank;		/* by id: position of the member in the order of
				 * member numbers */
	uint32_t count;		/* number of ids assigned */
	uint32_t room;
	uint32_t present;
	int64_t from_max;	/* greatest `from` of all present members */
};

/* Record that a packet of m has arrived. */
static inline void member_note_packet(struct member *m, uint64_t now_ns);

/*
 * Record that m has sent a packet since its Join, which shows that its process
 * is running.  If the packet may have been sent before the Join, do nothing.
 */
static inline void member_confirm(struct member *m, uint64_t now_ns);

/* Return the time, in ns, since the last packet of member m. */
static inline uint64_t member_silent_ns(const struct member *m,
    uint64_t now_ns);

/*
 * Return the id of the worker or switch with this type and number, even if the
 * member is not present.  Returns MEMBERS_NONE if there is no such member.
 */
static inline uint32_t members_find(const struct members *s, uint8_t type,
    uint32_t worker);

/*
 * Return an id for a member that joins.  If the member was in the job before,
 * the result is its old id; otherwise it is a free id.  Returns MEMBERS_NONE if
 * there is no room.  The member is not present until members_enter() is called.
 */
static inline uint32_t members_assign_id(struct members *s, uint8_t type,
    uint32_t worker);

/*
 * Make member `id` present.  The member contributes from iteration `from` on.
 */
static inline void members_enter(struct members *s, uint32_t id, int64_t from);

/* Make member `id` absent. */
static inline void members_leave(struct members *s, uint32_t id);

/* Compute from_max again after the field `from` of a member has changed. */
static inline void members_update_from_max(struct members *s);

/* Count the present members that may contribute to iteration t. */
static inline uint32_t members_count_at(const struct members *s, int64_t t);

/*
 * Return the next present member, starting at id *next, and set *next to the id
 * after this member.  Returns NULL at the end.
 */
static inline struct member *members_next(const struct members *s,
    uint32_t *next);

/* Free the table. */
static inline void members_free(struct members *s);

/* implementation */

static inline void
member_note_packet(struct member *m, uint64_t now_ns)
{
	if (now_ns > m->last_packet_ns)
		m->last_packet_ns = now_ns;
}

static inline void
member_confirm(struct member *m, uint64_t now_ns)
{
	m->confirmed |= now_ns >= m->confirms_ns;
}

static inline uint64_t
member_silent_ns(const struct member *m, uint64_t now_ns)
{
	return now_ns > m->last_packet_ns ? now_ns - m->last_packet_ns : 0;
}

static inline void
members_free(struct members *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->m[i].pushed);
		free(s->m[i].loss_detect);
	}
	free(s->m);
	free(s->rank);
	*s = (struct members){ 0 };
}

static inline uint32_t
members_find(const struct members *s, uint8_t type, uint32_t worker)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->m[i].worker == worker && s->m[i].type == type)
			return i;
	}
	return MEMBERS_NONE;
}

/* Compare two members by number and, if the numbers are equal, by type. */
static inline int
members_compare(const struct member *a, const struct member *b)
{
	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

/*
 * Insert id into the order of member numbers, which already contains all
 * smaller ids.
 */
static inline void
members_rank_id(struct members *s, uint32_t id)
{
	uint32_t below = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		if (i == id)
			continue;
		if (members_compare(&s->m[i], &s->m[id]) < 0)
			below++;
		else
			s->rank[i]++;
	}
	s->rank[id] = below;
}

/*
 * Make room for another id.  Returns false if there is no memory or if there
 * are MEMBERS_MAX ids already.
 */
static inline bool
members_reserve(struct members *s)
{
	uint32_t room = s->room == 0 ? 16 : s->room * 2;
	struct member *m;
	uint32_t *rank;

	if (s->count < s->room)
		return true;
	if (s->count >= MEMBERS_MAX)
		return false;
	m = realloc(s->m, room * sizeof(*m));
	if (m == NULL)
		return false;
	s->m = m;
	rank = realloc(s->rank, room * sizeof(*rank));
	if (rank == NULL)
		return false;
	s->rank = rank;
	s->room = room;
	return true;
}

/*
 * Assign the id of the member that left first to a new member, and return the
 * id.  Returns MEMBERS_NONE if some ids have never been used or if no member
 * has left.  Sums that are still filling may contain contributions of the old
 * member.  The new member does not contribute to these sums.
 */
static inline uint32_t
members_reuse_id(struct members *s, uint8_t type, uint32_t worker)
{
	uint32_t oldest = MEMBERS_NONE;
	struct member *m;

	if (s->count < MEMBERS_MAX)
		return MEMBERS_NONE;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!s->m[i].present && (oldest == MEMBERS_NONE ||
		    s->m[i].gone_ns < s->m[oldest].gone_ns))
			oldest = i;
	}
	if (oldest == MEMBERS_NONE)
		return MEMBERS_NONE;
	for (uint32_t i = 0; i < s->count; i++)
		s->rank[i] -= s->rank[i] > s->rank[oldest];
	m = &s->m[oldest];
	*m = (struct member){ .type = type, .worker = worker,
	    .push = MEMBERS_NO_PUSH, .pushed = m->pushed, .reused = true };
	members_rank_id(s, oldest);
	return oldest;
}

static inline uint32_t
members_assign_id(struct members *s, uint8_t type, uint32_t worker)
{
	uint32_t id = members_find(s, type, worker);

	if (id != MEMBERS_NONE)
		return id;
	if (!members_reserve(s))
		return members_reuse_id(s, type, worker);
	id = s->count++;
	s->m[id] = (struct member){ .type = type, .worker = worker,
	    .push = MEMBERS_NO_PUSH };
	members_rank_id(s, id);
	return id;
}

static inline void
members_update_from_max(struct members *s)
{
	s->from_max = INT64_MIN;
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->m[i].present && s->m[i].from > s->from_max)
			s->from_max = s->m[i].from;
	}
}

static inline void
members_enter(struct members *s, uint32_t id, int64_t from)
{
	if (!s->m[id].present)
		s->present++;
	s->m[id].present = true;
	s->m[id].from = from;
	members_update_from_max(s);
}

static inline void
members_leave(struct members *s, uint32_t id)
{
	s->m[id].present = false;
	free(s->m[id].loss_detect);
	s->m[id].loss_detect = NULL;
	s->present--;
	members_update_from_max(s);
}

static inline uint32_t
members_count_at(const struct members *s, int64_t t)
{
	uint32_t n = 0;

	if (t >= s->from_max)
		return s->present;
	for (uint32_t i = 0; i < s->count; i++)
		n += s->m[i].present && s->m[i].from <= t;
	return n;
}

static inline struct member *
members_next(const struct members *s, uint32_t *next)
{
	while (*next < s->count) {
		struct member *m = &s->m[(*next)++];

		if (m->present)
			return m;
	}
	return NULL;
}

#endif
