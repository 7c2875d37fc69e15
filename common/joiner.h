/*
 * joiner.h - a worker's standing with its switch: Join, signs of life, Leave
 *
 * What belonging to a job takes whatever the job does (iSwitch section 3.4):
 * asking to be let in until there is an answer, saying so again before the
 * switch forgets, being halted and resumed, put out and let in again, and
 * leaving in good order.  Pure: time is an argument, messages go out by
 * joiner_next().  The caller signs what leaves and judges the MAC of what
 * comes (mac.h), and calls joiner_said() when it sends anything of its own.
 */
#ifndef INNET_JOINER_H
#define INNET_JOINER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/control.h"
#include "common/seg.h"

#define JOINER_NEVER UINT64_MAX

enum {
	JOINER_FIRST_NS = 20000000,	/* first wait for an Ack, then doubled */
	JOINER_SECOND_NS = 1000000000,
	JOINER_OPEN_NS = 50000000,	/* until asked again: is it open? */
	JOINER_LEAVES = 5,		/* before the switch is left to notice */
	JOINER_WHY_BYTES = 200,
	JOINER_MESSAGE_BYTES = CONTROL_HEADER_BYTES + CONTROL_JOIN_BYTES +
	    CONTROL_MAC_BYTES
};

struct joiner_conf {
	uint16_t job, cluster;
	uint32_t worker;
	uint32_t elements;
	bool async;
	uint16_t floats;		/* of a segment; 0: as the job has */
	uint16_t floats_max;		/* what we can take */
	uint64_t give_up_ns;		/* without an answer */
	uint32_t xid;			/* of the first request */
};

/* Why it has ended; joiner_why() has the words. */
enum joiner_end {
	JOINER_GOING,
	JOINER_LEFT,			/* as was asked */
	JOINER_RESET,
	JOINER_REFUSED,			/* with `status` */
	JOINER_UNANSWERED
};

/* What a control message came to. */
enum joiner_news {
	JOINER_NOTHING,			/* nothing for the caller */
	JOINER_IGNORED,			/* not for us, or too late */
	JOINER_IN,			/* we are a member, or are again */
	JOINER_OUT,			/* we are none; a Join is on its way */
	JOINER_STOPPED,			/* halted, or over: see `end` */
	JOINER_RESUMED,
	JOINER_ASKED,			/* for a segment of ours: `seg` */
	JOINER_LOST			/* nobody has `seg` any more */
};

struct joiner {
	struct joiner_conf cf;
	enum joiner_end end;
	uint8_t status;			/* of what refused us */
	bool joined, halted;
	bool closed;			/* others are still to join */
	bool whole;			/* a server: answers whole vectors */
	uint32_t xid;			/* of the next request */
	uint64_t joins, ignored;	/* Joins sent, messages ignored */
	struct seg seg;			/* of the last ASKED or LOST, no vec */

	/* the job, as the last Ack has it */
	uint16_t h, members;
	uint32_t floats, segs;		/* 0 before the first */
	uint32_t job_next, job_elements;
	uint64_t life_ns;		/* between signs of life */

	/* requests under way */
	bool join_open, leaving;	/* not answered yet */
	uint32_t first_xid, join_xid;	/* of this Join: first, last sent */
	uint32_t leave_xid;
	unsigned leaves;
	uint64_t join_ns;		/* when to send one; NEVER */
	uint64_t join_wait_ns;		/* until the next after that */
	uint64_t join_since_ns;		/* first that was not answered */
	uint64_t leave_ns, said_ns;
};

static inline void
joiner_init(struct joiner *j, const struct joiner_conf *cf, uint64_t now_ns)
{
	*j = (struct joiner){ .cf = *cf, .xid = cf->xid, .join_ns = now_ns,
	    .join_wait_ns = JOINER_FIRST_NS, .join_since_ns = now_ns,
	    .said_ns = now_ns, .life_ns = JOINER_SECOND_NS };
}

static inline uint64_t
joiner_after(uint64_t at_ns, uint64_t span_ns)
{
	return span_ns > JOINER_NEVER - at_ns ? JOINER_NEVER :
	    at_ns + span_ns;
}

/* May segments leave? */
static inline bool
joiner_works(const struct joiner *j)
{
	return j->end == JOINER_GOING && j->joined && !j->halted &&
	    !j->leaving;
}

/* Something of ours has just been sent: a sign of life. */
static inline void
joiner_said(struct joiner *j, uint64_t now_ns)
{
	j->said_ns = now_ns;
}

/* Ask to be let in (again), now. */
static inline void
joiner_join(struct joiner *j, uint64_t now_ns)
{
	if (j->join_open || j->join_ns != JOINER_NEVER)
		return;
	j->join_ns = now_ns;
	j->join_wait_ns = JOINER_FIRST_NS;
}

static inline enum joiner_news
joiner_over(struct joiner *j, enum joiner_end end)
{
	j->end = end;
	return JOINER_STOPPED;
}

/* The switch has halted the job: Join once a second until it goes on. */
static inline enum joiner_news
joiner_halt(struct joiner *j, uint64_t now_ns)
{
	const bool was = j->halted;

	j->halted = true;
	if (!j->join_open) {
		j->join_ns = now_ns + JOINER_SECOND_NS;
		j->join_wait_ns = JOINER_SECOND_NS;
	}
	return was ? JOINER_NOTHING : JOINER_STOPPED;
}

/* The switch has us. */
static inline enum joiner_news
joiner_enter(struct joiner *j, const struct control_ack *a)
{
	const bool was = j->joined, resumed = j->halted;

	if (a->elements != j->cf.elements || a->floats == 0 ||
	    a->floats > j->cf.floats_max ||
	    (j->segs > 0 && a->floats != j->floats) ||
	    seg_count(a->elements, a->floats) > SEG_INDEX_MAX) {
		j->status = CONTROL_BAD_VALUE;
		return joiner_over(j, JOINER_REFUSED);
	}
	j->floats = a->floats;
	j->segs = seg_count(a->elements, a->floats);
	j->h = a->h;
	j->members = a->members;
	j->closed = a->closed;
	j->whole = a->whole;
	j->life_ns = a->timeout_s == 0 ? JOINER_SECOND_NS :
	    (uint64_t)a->timeout_s * JOINER_SECOND_NS / 3;
	j->joined = true;
	j->halted = false;
	return !was ? JOINER_IN : resumed ? JOINER_RESUMED : JOINER_NOTHING;
}

/* The answer to our Join. */
static inline enum joiner_news
joiner_answered(struct joiner *j, const struct control_ack *a,
    uint64_t now_ns)
{
	j->join_open = false;
	j->join_ns = JOINER_NEVER;
	j->job_next = a->next;
	j->job_elements = a->elements;
	if (a->status == CONTROL_DONE && a->closed) {
		j->join_ns = now_ns + JOINER_OPEN_NS;
		j->join_wait_ns = JOINER_FIRST_NS;
	}
	if (a->status == CONTROL_DONE)
		return joiner_enter(j, a);
	if (a->status == CONTROL_NOT_READY)
		return joiner_halt(j, now_ns);
	if (j->segs == 0)
		j->floats = a->floats;		/* for joiner_why() */
	j->status = a->status;
	return joiner_over(j, JOINER_REFUSED);
}

/* A Help or a segment of ours came to nothing. */
static inline enum joiner_news
joiner_helpless(struct joiner *j, const struct control_ack *a,
    uint64_t now_ns)
{
	j->seg = seg_split(a->seg);
	switch (a->status) {
	case CONTROL_GONE:
		return j->joined ? JOINER_LOST : JOINER_IGNORED;
	case CONTROL_NOT_READY:
		return joiner_halt(j, now_ns);
	case CONTROL_NOT_MEMBER:
	case CONTROL_NO_JOB:
		if (!j->joined)
			return JOINER_IGNORED;
		j->joined = j->halted = false;
		joiner_join(j, now_ns);
		return JOINER_OUT;
	default:
		return JOINER_NOTHING;
	}
}

static inline enum joiner_news
joiner_ack(struct joiner *j, const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	/* who is no member is told so under job 0 */
	if (!control_get_ack(c, &a) || (c->job != j->cf.job &&
	    (c->job != 0 || a.status != CONTROL_NOT_MEMBER)))
		return JOINER_IGNORED;
	switch (a.action) {
	case CONTROL_JOIN:
		return j->join_open && c->xid - j->first_xid <=
		    j->join_xid - j->first_xid ?
		    joiner_answered(j, &a, now_ns) : JOINER_IGNORED;
	case CONTROL_HELP:
		return joiner_helpless(j, &a, now_ns);
	case CONTROL_LEAVE:
		return j->leaving && j->leaves > 0 &&
		    c->xid == j->leave_xid ? joiner_over(j, JOINER_LEFT) :
		    JOINER_IGNORED;
	default:
		return JOINER_IGNORED;
	}
}

/* Go on after a Halt. */
static inline enum joiner_news
joiner_resume(struct joiner *j)
{
	if (!j->halted)
		return JOINER_NOTHING;
	j->halted = false;
	if (j->joined && !j->join_open)
		j->join_ns = JOINER_NEVER;
	return JOINER_RESUMED;
}

/* A control message from the switch, its MAC judged good. */
static inline enum joiner_news
joiner_control(struct joiner *j, const struct control *c, uint64_t now_ns)
{
	enum joiner_news news = JOINER_IGNORED;
	uint64_t word;

	if (j->end != JOINER_GOING)
		return JOINER_NOTHING;
	if (c->action == CONTROL_ACK) {
		news = joiner_ack(j, c, now_ns);
	} else if (c->job == j->cf.job) {
		switch (c->action) {
		case CONTROL_HALT: news = joiner_halt(j, now_ns); break;
		case CONTROL_RESUME: news = joiner_resume(j); break;
		case CONTROL_RESET: news = joiner_over(j, JOINER_RESET); break;
		case CONTROL_HELP:
			if (!control_get_number(c, 8, &word))
				break;
			j->seg = seg_split(word);
			news = JOINER_ASKED;
			break;
		default: break;
		}
	}
	j->ignored += news == JOINER_IGNORED;
	return news;
}

/* It is over: say so to the switch, and be let go. */
static inline void
joiner_leave(struct joiner *j, uint64_t now_ns)
{
	if (j->end != JOINER_GOING || j->leaving)
		return;
	if (!j->joined)
		j->end = JOINER_LEFT;
	j->leaving = true;
	j->join_open = false;
	j->join_ns = JOINER_NEVER;
	j->leave_ns = now_ns;
}

static inline size_t
joiner_say_leave(struct joiner *j, uint64_t now_ns, uint8_t *msg)
{
	if (now_ns < j->leave_ns)
		return 0;
	if (j->leaves == JOINER_LEAVES) {
		j->end = JOINER_LEFT;	/* it will miss us in time */
		return 0;
	}
	if (j->leaves++ == 0)
		j->leave_xid = j->xid++;
	j->leave_ns = now_ns + ((uint64_t)10000000 << j->leaves);
	return (size_t)(control_put(msg, CONTROL_LEAVE, j->cf.job,
	    j->leave_xid) - msg);
}

static inline size_t
joiner_say_join(struct joiner *j, uint64_t now_ns, uint32_t next,
    uint32_t crc, uint8_t *msg)
{
	const struct control_join join = { .type = CONTROL_WORKER,
	    .async = j->cf.async, .cluster = j->cf.cluster,
	    .worker = j->cf.worker, .elements = j->cf.elements,
	    .floats = j->segs > 0 ? (uint16_t)j->floats : j->cf.floats,
	    .next = next, .crc = crc };

	if (!j->join_open)
		j->first_xid = j->xid;
	if (!j->join_open || j->xid != j->join_xid + 1)
		j->join_xid = j->xid++;	/* older than a Help: not heard */
	if (!j->join_open)
		j->join_since_ns = now_ns;
	j->join_open = true;
	j->joins++;
	j->join_ns = now_ns + j->join_wait_ns;
	j->join_wait_ns = j->join_wait_ns * 2 > JOINER_SECOND_NS ?
	    JOINER_SECOND_NS : j->join_wait_ns * 2;
	return (size_t)(control_put_join(control_put(msg, CONTROL_JOIN,
	    j->cf.job, j->join_xid), &join) - msg);
}

/* The xid of a request of the caller's own. */
static inline uint32_t
joiner_xid(struct joiner *j)
{
	return j->xid++;
}

/*
 * What is to be sent now, written at msg, which has room for
 * JOINER_MESSAGE_BYTES: its length, 0 if nothing is.  next is the first
 * iteration not applied, crc the checksum of the weights then, 0 if unknown.
 */
static inline size_t
joiner_next(struct joiner *j, uint64_t now_ns, uint32_t next, uint32_t crc,
    uint8_t *msg)
{
	size_t len = 0;

	if (j->end != JOINER_GOING)
		return 0;
	if (j->leaving) {
		len = joiner_say_leave(j, now_ns, msg);
	} else if (j->join_open && now_ns >= joiner_after(j->join_since_ns,
	    j->cf.give_up_ns)) {
		j->end = JOINER_UNANSWERED;
	} else {
		if (j->joined && now_ns >= j->said_ns + j->life_ns)
			joiner_join(j, now_ns);
		if (now_ns >= j->join_ns)
			len = joiner_say_join(j, now_ns, next, crc, msg);
	}
	if (len > 0)
		j->said_ns = now_ns;
	return len;
}

/* When joiner_next() is due, even if nothing comes. */
static inline uint64_t
joiner_due(const struct joiner *j)
{
	uint64_t due = j->join_ns, at;

	if (j->end != JOINER_GOING)
		return JOINER_NEVER;
	if (j->leaving)
		return j->leave_ns;
	if (j->join_open) {
		at = joiner_after(j->join_since_ns, j->cf.give_up_ns);
		due = at < due ? at : due;
	}
	if (j->joined && !j->join_open && j->said_ns + j->life_ns < due)
		due = j->said_ns + j->life_ns;
	return due;
}

/* What ended it, in words; `next` was in the Join. */
static inline const char *
joiner_why(const struct joiner *j, uint32_t next, char why[JOINER_WHY_BYTES])
{
	int n = snprintf(why, JOINER_WHY_BYTES, "job %u: ", j->cf.job);
	const size_t room = JOINER_WHY_BYTES - (size_t)n;
	char *p = why + n;

	if (j->end == JOINER_RESET)
		snprintf(p, room, "was reset: begin again");
	else if (j->end == JOINER_UNANSWERED)
		snprintf(p, room, "no answer to a Join after %.1f s; is a "
		    "switch there?", (double)j->cf.give_up_ns / 1e9);
	else if (j->status == CONTROL_REFUSED)
		snprintf(p, room, "refused: other workers began from other "
		    "weights, or iteration %" PRIu32 " is not kept any more; "
		    "restore weights that all share", next);
	else if (j->status == CONTROL_BAD_VALUE && j->job_elements != 0)
		snprintf(p, room, "refused: it has %" PRIu32 " elements, %"
		    PRIu32 " a segment; here are %" PRIu32 ", %u at most",
		    j->job_elements, j->floats, j->cf.elements,
		    j->cf.floats_max);
	else if (j->status == CONTROL_BAD_VALUE)
		snprintf(p, room, "refused: it takes no %s job, or no such "
		    "vector", j->cf.async ? "asynchronous" : "synchronous");
	else
		snprintf(p, room, "refused: %s",
		    control_status_text(j->status));
	return why;
}

#endif
