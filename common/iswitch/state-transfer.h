/*
 * state-transfer.h - a worker's part in handing a state over, either way
 *
 * handover.h has the heir and the donor; here is when a worker is which, and
 * what it says.  Its caller gives it the control messages that come, takes a
 * snapshot when donor.wanted is set (heritage_has()), and when it may not join
 * for it is too late, begins to fetch: then heritage_next() says what to send,
 * by heritage_due(), until heir.end.  What was joined before is left.
 *
 * Pure: time is an argument (ns, monotonic).  What is said goes through the
 * caller's channel (secure-channel.h), and what comes by it is heritage_hear()'s.
 * Owns its memory: heritage_free().
 */
#ifndef INNET_ISWITCH_STATE_TRANSFER_H
#define INNET_ISWITCH_STATE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/state-copy.h"
#include "common/iswitch/membership.h"

enum {
	HERITAGE_TRIES = 10,		/* each too late for its Join */
	HERITAGE_PATIENT = 2		/* tries; then the job waits for us */
};

/* What has come by a channel: */
enum heritage_news {
	HERITAGE_MESSAGE,		/* a message for the machine */
	HERITAGE_TAKEN,			/* of a state: is there an answer? */
	HERITAGE_NOTHING,		/* a challenge, or what came before */
	HERITAGE_DOUBTFUL,		/* anybody's, perhaps */
	HERITAGE_MALFORMED
};

struct heritage {
	struct heir heir;
	struct donor donor;
	bool fetching;			/* the heir's */
	unsigned tries;
	bool leaves;			/* what was joined, with leave_xid */
	uint32_t leave_xid;
	struct handover_fetch asked;	/* to be answered */
	uint32_t answer, answers;	/* with these Chunks of it */
};

static inline void
heritage_init(struct heritage *h, uint32_t worker)
{
	*h = (struct heritage){ .donor.worker = worker };
}

static inline void
heritage_free(struct heritage *h)
{
	heir_free(&h->heir);
	donor_free(&h->donor);
}

/*
 * Is who has joined behind the job that has refused it?  Of two iterations of
 * the wire; 0 is behind all others, for who begins has nothing that they lack,
 * but for those that it comes right after where the count comes round.
 */
static inline bool
heritage_is_behind(const struct membership *in)
{
	return in->join_next == 0 && in->job_next < SEG_ITERATIONS - SEG_NEAR ?
	    in->job_next != 0 : seg_before(in->join_next, in->job_next);
}

/*
 * A machine has ended: would another's state help?  lost: the network has no
 * more what it waits for; been: it has been in the job before.
 */
static inline bool
heritage_helps(const struct heritage *h, const struct membership *in,
    bool lost, bool been)
{
	return in->cf.gives && h->tries < HERITAGE_TRIES &&
	    ((in->end == MEMBERSHIP_GOING && lost) ||
	    (in->end == MEMBERSHIP_REFUSED && in->status == CONTROL_REFUSED &&
	    (been || heritage_is_behind(in))));
}

/* Begin to fetch; what was joined as `in` is over, and is left. */
static inline void
heritage_begin(struct heritage *h, const struct membership *in,
    uint64_t now_ns)
{
	heir_free(&h->heir);
	h->leaves = in->joined;
	h->leave_xid = in->xid;
	heir_init(&h->heir, in->cf.job, in->cf.number, in->xid + 1,
	    h->tries >= HERITAGE_PATIENT, in->cf.give_up_ns, now_ns);
	if (!in->cf.async)	/* then the job may be founded anew */
		h->heir.refused_ns = HANDOVER_REFUSED_NS;
	h->fetching = true;
	h->tries++;
	h->answer = h->answers = 0;
	donor_free(&h->donor);
}

/* The channel is another: what was asked for is asked for again. */
static inline void
heritage_again(struct heritage *h, uint64_t now_ns)
{
	if (h->fetching && h->heir.end == HEIR_GOING)
		h->heir.ask_ns = now_ns;
}

/* There is an answer to f. */
static inline void
heritage_give(struct heritage *h, const struct handover_fetch *f)
{
	h->asked = *f;
	h->answer = 0;
	h->answers = donor_count(&h->donor, f);
}

/* Our state after `given` results, for who has asked; body becomes h's. */
static inline void
heritage_has(struct heritage *h, uint8_t *body, uint32_t bytes,
    uint64_t given, uint64_t now_ns)
{
	const bool wanted = h->donor.wanted;

	donor_has(&h->donor, body, bytes, given, now_ns);
	if (wanted)
		heritage_give(h, &h->donor.asked);
}

/*
 * Is c of a state that is handed over?  Then it is done with; `given` results
 * are in the state that we have ourselves.
 */
static inline bool
heritage_take(struct heritage *h, const struct membership *in,
    const struct control *c, uint64_t given, uint64_t now_ns)
{
	struct handover_fetch f;
	struct handover_chunk k;
	struct control_ack a;

	if (c->job != in->cf.job)
		return false;
	switch (c->action) {
	case CONTROL_FETCH:
		if (!in->cf.gives || !in->joined || h->fetching ||
		    !handover_get_fetch(c, &f))
			return false;
		/* where slots are few one iteration is behind what is kept */
		donor_asked(&h->donor, &f, given + (in->span != 0), now_ns);
		heritage_give(h, &f);
		return true;
	case CONTROL_CHUNK:
		if (!h->fetching || !handover_get_chunk(c, &k))
			return false;
		heir_take(&h->heir, &k, now_ns);
		return true;
	case CONTROL_ACK:
		if (!h->fetching || !control_get_ack(c, &a) ||
		    a.action != CONTROL_FETCH)
			return false;
		heir_refused(&h->heir, a.status, now_ns);
		return true;
	default: return false;
	}
}

/*
 * The len bytes of a control message have come by the channel of membership
 * `in`.  Only c of HERITAGE_MESSAGE is still to be acted upon.  given: as
 * above; h NULL: no state is handed over.
 */
static inline enum heritage_news
heritage_hear(struct heritage *h, struct membership *in, struct channel *ch,
    uint64_t given, const uint8_t *p, size_t len, struct control *c,
    uint64_t now_ns)
{
	enum channel_news news;

	if (!control_parse(p, len, c))
		return HERITAGE_MALFORMED;
	news = channel_take(ch, p, len, c);
	if (news == CHANNEL_GOOD)
		return h != NULL && heritage_take(h, in, c, given, now_ns) ?
		    HERITAGE_TAKEN : HERITAGE_MESSAGE;
	membership_doubts(in, news, c, now_ns);
	if (news == CHANNEL_CHALLENGED && h != NULL)
		heritage_again(h, now_ns);
	return news == CHANNEL_BAD || news == CHANNEL_HINT ?
	    HERITAGE_DOUBTFUL : HERITAGE_NOTHING;
}

/* When heritage_next() has something, even if nothing comes. */
static inline uint64_t
heritage_due(const struct heritage *h)
{
	return h->leaves || h->answer < h->answers ? 0 : h->fetching ?
	    heir_due(&h->heir) : HANDOVER_NEVER;
}

/*
 * What is to be sent, written at msg, which has room for CONTROL_MAX_BYTES:
 * its length, 0 if nothing is.  `in` is what we have joined, or had.
 */
static inline size_t
heritage_next(struct heritage *h, struct membership *in, uint64_t now_ns,
    uint8_t *msg)
{
	if (h->leaves) {
		h->leaves = false;
		return (size_t)(control_put(msg, CONTROL_LEAVE, in->cf.job,
		    h->leave_xid) - msg);
	}
	if (h->answer < h->answers)
		return donor_put(&h->donor, &h->asked, h->answer++,
		    in->cf.job, membership_xid(in), msg);
	return h->fetching ? heir_next(&h->heir, now_ns, msg) : 0;
}

#endif
