/*
 * membership.h - the membership of a worker or a switch in a job, from its Join
 * to its Leave
 *
 * The protocol is the same for all kinds of jobs (iSwitch, section 3.4).  A
 * member sends Joins until the switch answers.  Later it sends another Join
 * from time to time, so that the switch does not remove it.  The member halts
 * and resumes with the job, joins again if the switch has removed it, and sends
 * a Leave at the end.  Synchronous workers, asynchronous workers and child
 * switches differ only in `type` and `async`.
 *
 * The functions use no clock and no socket: time is an argument (monotonic, in
 * ns), and membership_next() writes the messages that the caller sends.  The
 * caller passes each message that arrives to its secure channel
 * (channel-client.h).  It passes messages that the channel accepts to
 * membership_receive(), and messages that the channel rejects to
 * membership_receive_doubtful().  The caller takes the xids of its own requests
 * from membership_xid(), and calls membership_note_sent() after it has sent any
 * other packet.
 */
#ifndef INNET_ISWITCH_MEMBERSHIP_H
#define INNET_ISWITCH_MEMBERSHIP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/arq/backoff.h"
#include "common/auth/channel-client.h"
#include "common/auth/segment-tag.h"
#include "common/wire/addr.h"
#include "common/wire/seg.h"

#define MEMBERSHIP_NEVER UINT64_MAX

enum {
	MEMBERSHIP_FIRST_NS = 20000000,	/* initial wait for an Ack; the wait
					 * doubles each time */
	MEMBERSHIP_SECOND_NS = 1000000000,	/* longest wait for an Ack */
	MEMBERSHIP_OPEN_NS = 50000000,	/* time between Joins if the job is not
					 * open */
	MEMBERSHIP_LEAVE_NS = 20000000,	/* initial wait for the Ack of a Leave;
					 * the wait doubles each time */
	MEMBERSHIP_LEAVES = 5,		/* maximum number of Leaves that are
					 * sent */
	MEMBERSHIP_LATE_NS = 250000000,	/* for this time after a Join, an
					 * answer to an earlier segment may
					 * arrive */
	MEMBERSHIP_LATE_XIDS = 1 << 24,	/* an answer to a request that is older
					 * than the Join by this number is not
					 * late, but the counter has wrapped */
	MEMBERSHIP_HINT_NS = 50000000,	/* shortest time between two Joins that
					 * are sent because of hints */
	MEMBERSHIP_STATUS_TEXT_BYTES = 96,	/* maximum length of the text of
						 * an Ack */
	MEMBERSHIP_WHY_BYTES = 256,
	MEMBERSHIP_MESSAGE_BYTES = CONTROL_HEADER_BYTES + CONTROL_JOIN_MAX +
	    CHANNEL_CLIENT_MORE_BYTES
};

struct membership_conf {
	enum control_type type;
	bool async;
	uint16_t job, cluster;
	uint32_t number;		/* number of the worker or of the
					 * switch */
	uint32_t elements;
	uint16_t floats;		/* number of floats in a segment; 0:
					 * accept the number that the job
					 * uses */
	uint16_t floats_max;		/* maximum number of floats in a segment
					 * that we can accept */
	uint64_t give_up_ns;		/* longest time without an answer, or
					 * NEVER */
	uint32_t xid;			/* xid of the first request */
	bool wants_left;		/* the switch tells the member if others
					 * have left and fewer than H remain */
	uint16_t h;			/* if wants_left: H of the job, or 0 for
					 * the H of the switch */
	struct control_rule rule;	/* if wants_left: rule of the job, or 0
					 * for the rule of the switch */
	bool repairs;			/* this member supports Probe, STATE and
					 * NACK */
	bool sends_state;		/* the member offers its state to
					 * members that join late */
	bool creates_job;		/* a Join may create the job; if not
					 * set, the switch refuses the Join if
					 * the job does not exist */
	bool any_xid;			/* replay of a capture: accept answers
					   to the requests of another program */
	bool can_multicast;		/* the member accepts results sent to a
					 * multicast group */
	bool tagged;			/* data has authentication tags */
	const struct key *key;	/* borrowed; key of the tags; NULL: the tags are
				 * tokens */
	const struct channel_client *channel;	/* borrowed, or NULL; channel
						 * whose cookie the tags use */
};

/* The progress of a member, which its Join reports. */
struct membership_place {
	uint32_t next;			/* first iteration whose result the
					 * member has not applied */
	uint32_t crc;			/* checksum of the member's weights; 0:
					 * unknown */
	bool again;			/* the member can contribute to
					 * iteration next - 1 again */
};

/* The reason why the membership has ended.  membership_why() explains it. */
enum membership_end {
	MEMBERSHIP_GOING,
	MEMBERSHIP_LEFT,		/* the caller called
					 * membership_leave() */
	MEMBERSHIP_RESET,
	MEMBERSHIP_REFUSED,		/* the switch refused the Join; `status`
					 * contains the reason */
	MEMBERSHIP_KEYED,		/* the switch has a different key, or no
					 * key */
	MEMBERSHIP_FORM,		/* only one of the two sides uses
					 * authentication tags */
	MEMBERSHIP_UNANSWERED
};

/* The effect of a control message on the membership. */
enum membership_news {
	MEMBERSHIP_NOTHING,		/* nothing has changed for the caller */
	MEMBERSHIP_IGNORED,		/* the message is not for us, or it is
					 * old */
	MEMBERSHIP_IN,			/* we have become a member, for the
					 * first time or again */
	MEMBERSHIP_STAYS,		/* we are still a member, and the Ack
					 * contained new values of the job */
	MEMBERSHIP_OUT,			/* we are no longer a member, so we must
					 * send a Join */
	MEMBERSHIP_HALTED,
	MEMBERSHIP_RESUMED,
	MEMBERSHIP_ASKED,		/* the switch requests our segment
					 * `seg` */
	MEMBERSHIP_SHORT,		/* others have left, and fewer than H
					 * members remain; see `left` */
	MEMBERSHIP_LOST,		/* the switch no longer keeps the result
					 * of segment `seg` */
	MEMBERSHIP_ENDED		/* see `end` */
};

struct membership {
	struct membership_conf cf;
	enum membership_end end;
	uint8_t status;			/* status of the refusal */
	char status_text[MEMBERSHIP_STATUS_TEXT_BYTES];	/* text of the
							 * refusal */
	bool joined, halted;
	bool forgotten;			/* the switch has challenged us, so it
					 * may have restarted; our next Join is
					 * not answered yet */
	uint32_t instance;		/* instance of the job that we joined */
	enum { MEMBERSHIP_UNDOUBTED, MEMBERSHIP_NO_MAC,
	    MEMBERSHIP_WRONG_KEY } doubt;	/* what is wrong with the
						 * MACs of the answers to
						 * this Join */
	bool leaves_first;		/* a Leave must be sent before the next
					 * Join */
	bool orphan;			/* the switch's parent, whose address is
					 * in status_text, does not answer */
	uint32_t xid;			/* xid of the next request */
	uint64_t joins, ignored;	/* number of Joins that were sent;
					 * number of messages that were
					 * ignored */
	struct seg seg;			/* the segment, without `vec`, to which
					 * the last MEMBERSHIP_ASKED or
					 * MEMBERSHIP_LOST refers */

	/* The values of the job, from the last Ack of a Join. */
	bool closed;			/* the job waits for more members */
	bool whole;			/* the switch is a server, which answers
					 * whole vectors */
	bool job_async;
	bool repairs;			/* both sides support Probes */
	uint16_t h, members;
	uint32_t job_next, job_elements, job_floats;
	struct control_left left;	/* from the last MEMBERSHIP_SHORT */
	union addr holder;		/* if the status is TAKEN: address of
					 * the member that has our number */
	union addr group;		/* multicast group of results; family 0:
					 * none */
	bool in_multicast_group;	/* the caller sets this */
	struct segment_tag tags;		/* authentication tags of
						 * segments, used if data has
						 * tags */
	uint32_t floats, segs;		/* number of floats in a segment; number
					 * of segments; both are 0 until the
					 * first Join is accepted */
	uint32_t span;			/* number of segments that can have
					 * slots at the same time; 0: all
					 * segments */
	uint64_t life_ns;		/* time between signs of life */

	/* The requests that have not been answered yet. */
	bool join_open, leaving;	/* not answered yet */
	uint32_t first_xid, join_xid;	/* xids of the first and the last
					 * transmission of this Join */
	uint32_t xid_ahead;		/* if any_xid: xid of the other program
					   minus our xid */
	uint32_t first_next;		/* value of `next` in the first Join
					 * that has no answer */
	uint32_t join_next;		/* value of `next` in the last Join that
					 * was sent */
	uint32_t leave_xid;
	unsigned leaves;
	uint64_t join_ns;		/* time when the next Join must be sent,
					 * or NEVER */
	uint64_t join_wait_ns;		/* time from the last Join to the next
					 * one */
	uint64_t join_since_ns;		/* time when the first Join that has no
					 * answer was sent */
	uint64_t asked_ns;		/* time when the last Join was sent */
	uint64_t rtt_ns;		/* round trip time of the last Join; 0:
					 * unknown */
	uint64_t leave_ns, sent_ns;
};

/* Initialise m; the first Join is due at once. */
static inline void membership_init(struct membership *m,
    const struct membership_conf *cf, uint64_t now_ns);

/*
 * If a message is due now, write it to msg, which has room for
 * MEMBERSHIP_MESSAGE_BYTES.  Returns the length of the message, or 0.  `at` is
 * the progress of the member, which is used only if membership_join_is_due()
 * returns true.
 */
static inline size_t membership_next(struct membership *m, uint64_t now_ns,
    const struct membership_place *at, uint8_t *msg);

/*
 * Return the time at which membership_next() must be called if nothing arrives,
 * or NEVER.
 */
static inline uint64_t membership_deadline_ns(const struct membership *m);

/*
 * Tell whether membership_next() would write a Join, which needs the progress
 * of the member.
 */
static inline bool membership_join_is_due(const struct membership *m,
    uint64_t now_ns);

/* Process a control message from the switch that the channel has accepted. */
static inline enum membership_news membership_receive(struct membership *m,
    const struct control *c, uint64_t now_ns);

/*
 * Process message c, which the channel has not accepted.  An attacker may have
 * sent the message, so the message never ends the membership.  It can only
 * cause one more Join, and a pause until this Join is answered.
 */
static inline void membership_receive_doubtful(struct membership *m,
    enum channel_client_news news, const struct control *c, uint64_t now_ns);

/*
 * Tell whether segments may be sent.  They may not be sent while the switch may
 * have forgotten us: a switch that has restarted rejects their authentication
 * tags, and asks for them again and again.
 */
static inline bool membership_works(const struct membership *m);

/* Return the xid for a request that the caller writes itself. */
static inline uint32_t membership_xid(struct membership *m);

/*
 * Record that the caller has sent a message.  Each message is a sign of life.
 */
static inline void membership_note_sent(struct membership *m, uint64_t now_ns);

/*
 * Write the refused Join to msg again, with a new xid, because the switch may
 * have been restarted since it refused the Join.  Returns the length of the
 * Join.
 */
static inline size_t membership_repeat_join(const struct membership *m,
    uint32_t xid, uint8_t *msg);

/*
 * Make the next Join due now, even if we are a member already, to get the
 * current values of the job.
 */
static inline void membership_join(struct membership *m, uint64_t now_ns);

/*
 * Begin to leave the job and to join it again, because the switch has lost the
 * segments that we had sent.
 */
static inline void membership_rejoin(struct membership *m, uint64_t now_ns);

/*
 * Begin to leave the job.  After this, membership_next() writes Leaves until
 * the switch answers.
 */
static inline void membership_leave(struct membership *m, uint64_t now_ns);

/*
 * Return what is wrong with the switch's answers and what the user can do, as a
 * phrase for a message after the name of the switch.  Returns NULL if the
 * answers are valid, or if there are none.
 */
static inline const char *membership_doubt(const struct membership *m);

/*
 * Write to `why` the reason why the membership ended and what the user can do,
 * as a phrase for a message after the name of the switch.  Returns `why`, which
 * is empty if there is nothing to explain.
 */
static inline const char *membership_why(const struct membership *m,
    char why[MEMBERSHIP_WHY_BYTES]);

/* Return at_ns + span_ns, or NEVER if this sum is too large. */
static inline uint64_t membership_after(uint64_t at_ns, uint64_t span_ns);

/* implementation */

static inline void
membership_init(struct membership *m, const struct membership_conf *cf,
    uint64_t now_ns)
{
	*m = (struct membership){ .cf = *cf, .xid = cf->xid,
	    .join_ns = now_ns, .join_wait_ns = MEMBERSHIP_FIRST_NS,
	    .sent_ns = now_ns, .life_ns = MEMBERSHIP_SECOND_NS };
}

static inline uint64_t
membership_after(uint64_t at_ns, uint64_t span_ns)
{
	return span_ns > MEMBERSHIP_NEVER - at_ns ? MEMBERSHIP_NEVER :
	    at_ns + span_ns;
}

static inline bool
membership_works(const struct membership *m)
{
	return m->end == MEMBERSHIP_GOING && m->joined && !m->forgotten &&
	    !m->halted && !m->leaving;
}

static inline void
membership_note_sent(struct membership *m, uint64_t now_ns)
{
	m->sent_ns = now_ns;
}

static inline uint32_t
membership_xid(struct membership *m)
{
	return m->xid++;
}

static inline void
membership_join(struct membership *m, uint64_t now_ns)
{
	if (m->join_open || m->join_ns != MEMBERSHIP_NEVER)
		return;
	m->join_ns = now_ns;
	m->join_wait_ns = MEMBERSHIP_FIRST_NS;
}

static inline void
membership_rejoin(struct membership *m, uint64_t now_ns)
{
	m->joined = m->halted = m->join_open = false;
	m->leaves_first = true;
	m->join_ns = now_ns;
	m->join_wait_ns = MEMBERSHIP_FIRST_NS;
}

static inline enum membership_news
membership_end_with(struct membership *m, enum membership_end end)
{
	m->end = end;
	return MEMBERSHIP_ENDED;
}

/*
 * Halt, because the job has halted.  Send a Join each second until the switch
 * resumes the job.
 */
static inline enum membership_news
membership_halt(struct membership *m, uint64_t now_ns)
{
	const bool was = m->halted;

	m->halted = true;
	if (!m->join_open) {
		m->join_ns = now_ns + MEMBERSHIP_SECOND_NS;
		m->join_wait_ns = MEMBERSHIP_SECOND_NS;
	}
	return was ? MEMBERSHIP_NOTHING : MEMBERSHIP_HALTED;
}

/*
 * Has the instance of the job that we had joined before accepted our Join?  If
 * not, we are a new member of the job.
 */
static inline bool
membership_was_in(const struct membership *m, const struct control_ack *a)
{
	return m->joined && (a->instance != 0 && m->instance != 0 ?
	    a->instance == m->instance : !m->forgotten);
}

/*
 * Does the switch combine contributions by the rule that our Join named?  A
 * switch that is older than these rules ignores them.
 */
static inline bool
membership_has_rule(const struct membership *m, const struct control_ack *a)
{
	const struct control_rule *r = &m->cf.rule;

	return (r->reduce == 0 || r->reduce == a->rule.reduce) &&
	    (r->straggler_us == 0 || r->straggler_us == a->rule.straggler_us);
}

/*
 * Enter the job, because the switch has accepted our Join, and copy the values
 * of the job.
 */
static inline enum membership_news
membership_enter(struct membership *m, const struct control_ack *a)
{
	const bool was = membership_was_in(m, a), resumed = m->halted;

	if (a->elements != m->cf.elements || a->floats == 0 ||
	    a->floats > m->cf.floats_max ||
	    (m->segs > 0 && a->floats != m->floats) ||
	    seg_count(a->elements, a->floats) > SEG_INDEX_MAX) {
		m->status = CONTROL_BAD_VALUE;
		return membership_end_with(m, MEMBERSHIP_REFUSED);
	}
	if (!membership_has_rule(m, a)) {
		snprintf(m->status_text, sizeof(m->status_text), "it is too "
		    "old for --reduce and --straggler of a worker");
		m->status = CONTROL_REFUSED;
		return membership_end_with(m, MEMBERSHIP_REFUSED);
	}
	m->floats = a->floats;
	m->segs = seg_count(a->elements, a->floats);
	m->span = a->span;
	m->life_ns = a->timeout_s == 0 ? MEMBERSHIP_SECOND_NS :
	    (uint64_t)a->timeout_s * MEMBERSHIP_SECOND_NS / 3;
	m->joined = true;
	m->instance = a->instance;
	m->cf.creates_job = false;	/* from now on, the job has begun */
	m->forgotten = m->halted = false;
	return !was ? MEMBERSHIP_IN : resumed ? MEMBERSHIP_RESUMED :
	    MEMBERSHIP_STAYS;
}

/* Tell whether c may be the answer to the Join that we are waiting for. */
static inline bool
membership_awaits_ack(const struct membership *m, const struct control *c)
{
	return c->action == CONTROL_ACK && c->job == m->cf.job &&
	    m->join_open && c->xid - m->first_xid <= m->join_xid -
	    m->first_xid;
}

static inline void
membership_receive_doubtful(struct membership *m, enum channel_client_news news,
    const struct control *c, uint64_t now_ns)
{
	switch (news) {
	case CHANNEL_CLIENT_CHALLENGED:
		m->forgotten = m->joined;	/* a switch that has not been
						 * restarted keeps the channels
						 * of its members */
		if (m->join_open)
			m->join_ns = now_ns;
		else if (m->leaving && m->leaves > 0)
			m->leave_ns = now_ns;
		else if (m->joined && !m->leaving)
			membership_join(m, now_ns);	/* the tags depend on
							 * the cookie of the
							 * last Join */
		break;
	case CHANNEL_CLIENT_HINT:
		if (membership_awaits_ack(m, c))
			m->doubt = MEMBERSHIP_WRONG_KEY;
		else if (m->joined && !m->leaving && !m->halted &&
		    now_ns - m->asked_ns >= MEMBERSHIP_HINT_NS)
			membership_join(m, now_ns);
		break;
	case CHANNEL_CLIENT_BAD:
		if (!c->has_mac && membership_awaits_ack(m, c))
			m->doubt = MEMBERSHIP_NO_MAC;
		break;
	case CHANNEL_CLIENT_OLD:
	case CHANNEL_CLIENT_GOOD: break;
	}
}

/*
 * Copy only the printable characters of an Ack's text, because the Ack may be
 * forged.
 */
static inline void
membership_keep_text(struct membership *m, const struct control_ack *a)
{
	size_t n = 0;

	for (; n < a->text_bytes && n < sizeof(m->status_text) - 1; n++)
		m->status_text[n] = a->text[n] >= ' ' && a->text[n] <= '~' ?
		    (char)a->text[n] : '?';
	m->status_text[n] = '\0';
}

/* Process the answer to our Join. */
static inline enum membership_news
membership_receive_join_ack(struct membership *m, const struct control_ack *a,
    uint32_t xid, uint64_t now_ns)
{
	membership_keep_text(m, a);
	m->doubt = MEMBERSHIP_UNDOUBTED;
	m->orphan = a->status == CONTROL_NO_PARENT;
	if (m->orphan)			/* our last Join is still valid */
		return MEMBERSHIP_NOTHING;
	if (m->cf.any_xid)
		m->xid_ahead = xid - m->join_xid;
	if (m->join_open && xid == m->join_xid)
		m->rtt_ns = now_ns - m->asked_ns;
	m->join_open = false;
	m->join_ns = MEMBERSHIP_NEVER;
	m->h = a->h;
	m->members = a->members;
	m->closed = a->closed;
	m->whole = a->whole;
	m->job_async = a->async;
	m->repairs = m->cf.repairs && a->repairs;
	m->job_next = a->next;
	m->job_elements = a->elements;
	m->job_floats = a->floats;
	m->holder = addr_of_bytes(a->holder, a->holder_port);
	m->group = a->groups ? addr_of_bytes(a->group, a->group_port) :
	    (union addr){ 0 };
	if (a->status == CONTROL_DONE && a->closed) {
		m->join_ns = now_ns + MEMBERSHIP_OPEN_NS;
		m->join_wait_ns = MEMBERSHIP_FIRST_NS;
	}
	if (m->cf.channel != NULL && (a->status == CONTROL_DONE ||
	    a->status == CONTROL_NOT_READY))	/* the switch needs the cookie
						 * of this Join */
		memcpy(m->tags.cookie, m->cf.channel->cookie, TAG_COOKIE_BYTES);
	if (a->status == CONTROL_DONE && a->tagged != m->cf.tagged)
		return membership_end_with(m, MEMBERSHIP_FORM);
	if (a->status == CONTROL_DONE && a->tagged)
		segment_tag_set_key(&m->tags, m->cf.key, m->cf.job, a->salt,
		    a->epoch, a->next, !membership_was_in(m, a),
		    m->cf.async);
	if (a->status == CONTROL_DONE)
		return membership_enter(m, a);
	if (a->status == CONTROL_NOT_READY)
		return membership_halt(m, now_ns);
	m->status = a->status;
	return membership_end_with(m, MEMBERSHIP_REFUSED);
}

/*
 * Process the status of a Help, or of one of our segments that was not
 * accepted.
 */
static inline enum membership_news
membership_receive_help_ack(struct membership *m, const struct control_ack *a,
    uint64_t now_ns)
{
	m->seg = seg_split(a->seg);
	switch (a->status) {
	case CONTROL_GONE:
		return m->joined ? MEMBERSHIP_LOST : MEMBERSHIP_IGNORED;
	case CONTROL_NOT_READY:
		return membership_halt(m, now_ns);
	case CONTROL_NOT_MEMBER:
	case CONTROL_NO_JOB:
		if (!m->joined)
			return MEMBERSHIP_IGNORED;
		m->joined = m->halted = false;
		membership_join(m, now_ns);
		return MEMBERSHIP_OUT;
	default:
		return MEMBERSHIP_NOTHING;
	}
}

/*
 * Does c, which says that we are not a member, answer a message that we sent
 * before our last Join?  The answer to a Help has the xid of the Help.  The
 * answer to a segment has job 0 and an xid of the switch.  A member that sends
 * Probes can ignore it for a while, because the next Probe gets an answer with
 * its xid.
 */
static inline bool
membership_is_late(const struct membership *m, const struct control *c,
    uint64_t now_ns)
{
	if (c->job == 0)
		return m->repairs && now_ns - m->asked_ns < MEMBERSHIP_LATE_NS;
	return !m->cf.any_xid && control_newer(m->join_xid, c->xid) &&
	    m->join_xid - c->xid < MEMBERSHIP_LATE_XIDS;
}

static inline enum membership_news
membership_receive_ack(struct membership *m, const struct control *c,
    uint64_t now_ns)
{
	struct control_ack a;

	/* an Ack with the status NOT_MEMBER may have job 0 */
	if (!control_get_ack(c, &a) || (c->job != m->cf.job &&
	    (c->job != 0 || a.status != CONTROL_NOT_MEMBER)))
		return MEMBERSHIP_IGNORED;
	switch (a.action) {
	case CONTROL_JOIN:
		if (!m->cf.any_xid && (!m->join_open || c->xid -
		    m->first_xid > m->join_xid - m->first_xid))
			return MEMBERSHIP_IGNORED;
		return membership_receive_join_ack(m, &a, c->xid, now_ns);
	case CONTROL_HELP:
		if (a.status == CONTROL_NOT_MEMBER &&
		    membership_is_late(m, c, now_ns))
			return MEMBERSHIP_IGNORED;
		return membership_receive_help_ack(m, &a, now_ns);
	case CONTROL_LEAVE:
		return m->leaving && m->leaves > 0 && c->xid == m->leave_xid
			   ? membership_end_with(m, MEMBERSHIP_LEFT)
			   : MEMBERSHIP_IGNORED;
	default:
		return MEMBERSHIP_IGNORED;
	}
}

/* Resume the job after a Halt. */
static inline enum membership_news
membership_resume(struct membership *m, uint64_t now_ns)
{
	if (!m->halted)
		return MEMBERSHIP_NOTHING;
	m->halted = false;
	/* a Join that was refused because of the Halt must be sent again */
	if (m->forgotten)
		m->join_ns = now_ns;
	else if (m->joined && !m->join_open && !m->closed)
		m->join_ns = MEMBERSHIP_NEVER;
	return MEMBERSHIP_RESUMED;
}

static inline enum membership_news
membership_receive(struct membership *m, const struct control *c,
    uint64_t now_ns)
{
	enum membership_news news = MEMBERSHIP_IGNORED;
	uint64_t word;

	if (m->end != MEMBERSHIP_GOING)
		return MEMBERSHIP_NOTHING;
	if (c->action == CONTROL_ACK) {
		news = membership_receive_ack(m, c, now_ns);
	} else if (c->job == m->cf.job) {
		switch (c->action) {
		case CONTROL_HALT: news = membership_halt(m, now_ns); break;
		case CONTROL_RESUME: news = membership_resume(m, now_ns); break;
		case CONTROL_RESET:
			news = membership_end_with(m, MEMBERSHIP_RESET);
			break;
		case CONTROL_HELP:
			if (!control_get_number(c, 8, &word))
				break;
			m->seg = seg_split(word);
			news = MEMBERSHIP_ASKED;
			break;
		case CONTROL_LEFT:
			if (m->cf.wants_left && m->joined && !m->leaving &&
			    control_get_left(c, &m->left))
				news = MEMBERSHIP_SHORT;
			break;
		default: break;
		}
	}
	m->ignored += news == MEMBERSHIP_IGNORED;
	return news;
}

static inline void
membership_leave(struct membership *m, uint64_t now_ns)
{
	if (m->end != MEMBERSHIP_GOING || m->leaving)
		return;
	if (!m->joined)
		m->end = MEMBERSHIP_LEFT;
	m->leaving = true;
	m->join_open = false;
	m->join_ns = MEMBERSHIP_NEVER;
	m->leave_ns = now_ns;
}

static inline size_t
membership_put_leave(struct membership *m, uint64_t now_ns, uint8_t *msg)
{
	if (now_ns < m->leave_ns)
		return 0;
	if (m->leaves == MEMBERSHIP_LEAVES) {
		m->end = MEMBERSHIP_LEFT;	/* send no further Leave,
						 * because the switch will
						 * notice that we are gone */
		return 0;
	}
	if (m->leaves == 0)
		m->leave_xid = m->xid++;
	m->leave_ns = now_ns + ((uint64_t)MEMBERSHIP_LEAVE_NS << m->leaves++);
	return (size_t)(control_put(msg, CONTROL_LEAVE, m->cf.job,
	    m->leave_xid) - msg);
}

/* Return the Join of a member whose progress is `at`. */
static inline struct control_join
membership_make_join(const struct membership *m,
    const struct membership_place *at)
{
	return (struct control_join){ .type = (uint8_t)m->cf.type,
	    .async = m->cf.async,
	    .cluster = m->cf.cluster,
	    .worker = m->cf.number,
	    .elements = m->cf.elements,
	    .floats = m->segs > 0 ? (uint16_t)m->floats : m->cf.floats,
	    .next = at->next,
	    .crc = at->crc,
	    .again = at->again,
	    .repairs = m->cf.repairs,
	    .sends_state = m->cf.sends_state,
	    .creates_job = m->cf.creates_job,
	    .can_multicast = m->cf.can_multicast,
	    .in_multicast_group = m->in_multicast_group,
	    .wants_instance = true,
	    .wants_left = m->cf.wants_left,
	    .h = m->cf.h,
	    .rule = m->cf.rule };
}

static inline size_t
membership_repeat_join(const struct membership *m, uint32_t xid, uint8_t *msg)
{
	const struct membership_place at = { .next = m->join_next };
	struct control_join join = membership_make_join(m, &at);

	join.creates_job = false;
	return (size_t)(control_put_join(control_put(msg, CONTROL_JOIN,
	    m->cf.job, xid), &join) - msg);
}

static inline size_t
membership_put_join(struct membership *m, uint64_t now_ns,
    const struct membership_place *at, uint8_t *msg)
{
	const struct control_join join = membership_make_join(m, at);

	if (!m->join_open) {
		m->first_xid = m->xid;
		m->first_next = at->next;
		m->join_since_ns = now_ns;
	}
	if (!m->join_open || m->xid != m->join_xid + 1)
		m->join_xid = m->xid++;	/* other requests were sent since the
					 * last Join, so use a new xid */
	m->join_open = true;
	m->join_next = at->next;
	m->joins++;
	m->asked_ns = now_ns;
	m->join_ns = now_ns + backoff_take_ns(&m->join_wait_ns,
	    MEMBERSHIP_SECOND_NS);
	return (size_t)(control_put_join(control_put(msg, CONTROL_JOIN,
	    m->cf.job, m->join_xid), &join) - msg);
}

/*
 * Return the time at which the next Join is due, including a Join that is only
 * a sign of life, or NEVER.
 */
static inline uint64_t
membership_join_deadline_ns(const struct membership *m)
{
	const uint64_t life = m->joined && !m->join_open ?
	    m->sent_ns + m->life_ns : MEMBERSHIP_NEVER;

	return life < m->join_ns ? life : m->join_ns;
}

/*
 * Return the time at which to stop waiting for the answer to a Join, or NEVER.
 */
static inline uint64_t
membership_give_up_ns(const struct membership *m)
{
	return m->join_open ? membership_after(m->join_since_ns,
	    m->cf.give_up_ns) : MEMBERSHIP_NEVER;
}

static inline bool
membership_join_is_due(const struct membership *m, uint64_t now_ns)
{
	return m->end == MEMBERSHIP_GOING && !m->leaving &&
	    now_ns < membership_give_up_ns(m) &&
	    now_ns >= membership_join_deadline_ns(m);
}

static inline size_t
membership_next(struct membership *m, uint64_t now_ns,
    const struct membership_place *at, uint8_t *msg)
{
	size_t len = 0;

	if (m->end != MEMBERSHIP_GOING)
		return 0;
	if (m->leaving) {
		len = membership_put_leave(m, now_ns, msg);
	} else if (now_ns >= membership_give_up_ns(m)) {
		m->end = m->doubt == MEMBERSHIP_UNDOUBTED ?
		    MEMBERSHIP_UNANSWERED : MEMBERSHIP_KEYED;
	} else if (m->leaves_first) {
		m->leaves_first = false;
		len = (size_t)(control_put(msg, CONTROL_LEAVE, m->cf.job,
		    m->xid++) - msg);
	} else if (now_ns >= membership_join_deadline_ns(m)) {
		membership_join(m, now_ns);
		len = membership_put_join(m, now_ns, at, msg);
	}
	if (len > 0)
		m->sent_ns = now_ns;
	return len;
}

static inline uint64_t
membership_deadline_ns(const struct membership *m)
{
	const uint64_t join = membership_join_deadline_ns(m),
	    patience = membership_give_up_ns(m);

	if (m->end != MEMBERSHIP_GOING)
		return MEMBERSHIP_NEVER;
	if (m->leaving)
		return m->leave_ns;
	return join < patience ? join : patience;
}

/*
 * Write that the switch is asynchronous and we are synchronous, or the other
 * way round.
 */
static inline void
membership_explain_mode(const struct membership *m, char *p, size_t room)
{
	static const char *const start[][2] = {
		[CONTROL_WORKER] = { "worker without --async",
		    "worker with --async" },
		[CONTROL_SWITCH] = { "switch without --async",
		    "switch with --async" },
		[CONTROL_SERVER] = { "ps without --async", "ps with --async" }
	};

	snprintf(p, room, "the %s sums %ssynchronously; start innet-%s",
	    m->whole ? "server" : "switch", m->job_async ? "a" : "",
	    start[m->cf.type][m->job_async]);
}

/*
 * Write which value of the job differs from our value, for a message that
 * begins with "refused: ".
 */
static inline void
membership_explain_value(const struct membership *m, char *p, size_t room)
{
	const uint32_t floats = m->segs > 0 ? m->floats :
	    m->cf.floats > 0 ? m->cf.floats : m->cf.floats_max;

	if (m->status_text[0] != '\0')
		snprintf(p, room, "%s", m->status_text);
	else if (m->job_async != m->cf.async)
		membership_explain_mode(m, p, room);
	else if (m->job_elements == 0)
		snprintf(p, room, "it cannot sum a vector of %" PRIu32 " "
		    "elements with %" PRIu32 " in a segment", m->cf.elements,
		    floats);
	else if (m->job_elements != m->cf.elements)
		snprintf(p, room, "its vectors have %" PRIu32 " elements, "
		    "%" PRIu32 " in a segment; the vector of this worker has "
		    "%" PRIu32,
		    m->job_elements, m->job_floats, m->cf.elements);
	else if (m->job_floats != floats)
		snprintf(p, room, "its segments have %" PRIu32 " floats, and "
		    "those of this worker %" PRIu32, m->job_floats, floats);
	else
		snprintf(p, room, "%s", control_status_text(m->status));
}

static inline const char *
membership_doubt(const struct membership *m)
{
	switch (m->doubt) {
	case MEMBERSHIP_NO_MAC:
		return "its answers are not authenticated; give both the same "
		    "--key";
	case MEMBERSHIP_WRONG_KEY:
		return "it has another key; give both the same --key";
	case MEMBERSHIP_UNDOUBTED: break;
	}
	return NULL;
}

static inline const char *
membership_why(const struct membership *m, char why[MEMBERSHIP_WHY_BYTES])
{
	int n = snprintf(why, MEMBERSHIP_WHY_BYTES, "job %u: %s", m->cf.job,
	    m->end == MEMBERSHIP_REFUSED ? "refused: " : "");
	const size_t room = MEMBERSHIP_WHY_BYTES - (size_t)n;
	char *p = why + n, name[ADDR_NAME_BYTES];

	if (m->end == MEMBERSHIP_RESET)
		snprintf(p, room, "it was reset; start the worker again");
	else if (m->end == MEMBERSHIP_KEYED)
		snprintf(p, room, "%s", membership_doubt(m));
	else if (m->end == MEMBERSHIP_FORM)
		snprintf(p, room, "it sends data %s authentication tags; give "
		    "both the same --auth, and the same --key if any",
		    m->cf.tagged ?
		    "without" : "with");
	else if (m->end == MEMBERSHIP_UNANSWERED && m->orphan)
		snprintf(p, room,
		    "the parent %s of this switch has not answered for %.1f s; "
		    "start the parent",
		    m->status_text, (double)m->cf.give_up_ns / 1e9);
	else if (m->end == MEMBERSHIP_UNANSWERED)
		snprintf(p, room, "no answer to a Join after %.1f s; is a "
		    "switch running there?", (double)m->cf.give_up_ns / 1e9);
	else if (m->end != MEMBERSHIP_REFUSED)
		why[0] = '\0';
	else if (m->status == CONTROL_BAD_VALUE)
		membership_explain_value(m, p, room);
	else if (m->status == CONTROL_BAD_MAC)
		snprintf(p, room, "it accepts authenticated messages only; "
		    "give this side its --key");
	else if (m->status == CONTROL_UNKNOWN && m->status_text[0] != '\0')
		snprintf(p, room, "it runs program %s, and this side runs "
		    "iswitch; give both the same --program", m->status_text);
	else if (m->status == CONTROL_REFUSED && m->status_text[0] != '\0')
		snprintf(p, room, "%s", m->status_text);
	else if (m->status == CONTROL_REFUSED && m->join_next == 0 &&
	    m->job_next == 0)
		snprintf(p, room, "the other workers began with other weights; "
		    "give all of them the same seed for the weights");
	else if (m->status == CONTROL_REFUSED || m->status == CONTROL_GONE)
		snprintf(p, room, "it cannot continue from iteration "
		    "%" PRIu32 " with these weights; restore the weights of "
		    "iteration %" PRIu32,
		    m->join_next, m->job_next);
	else if (m->status == CONTROL_TAKEN)
		snprintf(p, room, "%s %" PRIu32 " is also used by %s, which "
		    "joined later; give each its own number", m->cf.type ==
		    CONTROL_WORKER ? "--worker" : "--number", m->cf.number,
		    addr_print(&m->holder, name));
	else
		snprintf(p, room, "%s%s%s", control_status_text(m->status),
		    m->status_text[0] == '\0' ? "" : ": ", m->status_text);
	return why;
}

#endif
