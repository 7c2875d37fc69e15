/*
 * state-transfer.h - a worker's part in handing a state over, either way
 *
 * handover.h has the receiver and the sender; here is when a worker is which,
 * and what it says.  Its caller gives it the control messages that come, takes
 * a snapshot when sender.wanted is set (state_transfer_has()), and when it may
 * not join for it is too late, begins to fetch: then state_transfer_next() says
 * what to send, by state_transfer_due(), until receiver.end.  What was joined
 * before is left.
 *
 * Pure: time is an argument (ns, monotonic).  What is said goes through the
 * caller's channel (channel-client.h), and what comes by it is
 * state_transfer_hear()'s. Owns its memory: state_transfer_free().
 */
#ifndef INNET_ISWITCH_STATE_TRANSFER_H
#define INNET_ISWITCH_STATE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/state-copy.h"
#include "common/iswitch/membership.h"

enum {
	STATE_TRANSFER_TRIES = 10, /* each too late for its Join */
	STATE_TRANSFER_PATIENT = 2 /* tries; then the job waits for us */
};

/* What has come by a channel: */
enum state_transfer_news {
	STATE_TRANSFER_MESSAGE,	 /* a message for the machine */
	STATE_TRANSFER_TAKEN,	 /* of a state: is there an answer? */
	STATE_TRANSFER_NOTHING,	 /* a challenge, or what came before */
	STATE_TRANSFER_DOUBTFUL, /* anybody's, perhaps */
	STATE_TRANSFER_MALFORMED
};

struct state_transfer {
	struct state_receiver receiver;
	struct state_sender sender;
	bool fetching;			/* the receiver's */
	unsigned tries;
	bool leaves;			/* what was joined, with leave_xid */
	uint32_t leave_xid;
	struct transfer_fetch asked;	/* to be answered */
	uint32_t answer, answers;	/* with these Chunks of it */
};

static inline void
state_transfer_init(struct state_transfer *h, uint32_t worker)
{
	*h = (struct state_transfer){ .sender.worker = worker };
}

static inline void
state_transfer_free(struct state_transfer *h)
{
	state_receiver_free(&h->receiver);
	state_sender_free(&h->sender);
}

/*
 * Is who has joined behind the job that has refused it?  Of two iterations of
 * the wire; 0 is behind all others, for who begins has nothing that they lack,
 * but for those that it comes right after where the count comes round.
 */
static inline bool
state_transfer_is_behind(const struct membership *in)
{
	return in->join_next == 0 && in->job_next < SEG_ITERATIONS - SEG_NEAR ?
	    in->job_next != 0 : seg_before(in->join_next, in->job_next);
}

/*
 * A machine has ended: would another's state help?  lost: the network has no
 * more what it waits for; been: it has been in the job before.
 */
static inline bool
state_transfer_helps(const struct state_transfer *h,
    const struct membership *in, bool lost, bool been)
{
	return in->cf.gives && h->tries < STATE_TRANSFER_TRIES &&
	    ((in->end == MEMBERSHIP_GOING && lost) ||
	    (in->end == MEMBERSHIP_REFUSED && in->status == CONTROL_REFUSED &&
	    (been || state_transfer_is_behind(in))));
}

/* Begin to fetch; what was joined as `in` is over, and is left. */
static inline void
state_transfer_begin(struct state_transfer *h, const struct membership *in,
    uint64_t now_ns)
{
	state_receiver_free(&h->receiver);
	h->leaves = in->joined;
	h->leave_xid = in->xid;
	state_receiver_init(&h->receiver, in->cf.job, in->cf.number,
	    in->xid + 1, h->tries >= STATE_TRANSFER_PATIENT, in->cf.give_up_ns,
	    now_ns);
	if (!in->cf.async)	/* then the job may be founded anew */
		h->receiver.refused_ns = TRANSFER_REFUSED_NS;
	h->fetching = true;
	h->tries++;
	h->answer = h->answers = 0;
	state_sender_free(&h->sender);
}

/* The channel is another: what was asked for is asked for again. */
static inline void
state_transfer_again(struct state_transfer *h, uint64_t now_ns)
{
	if (h->fetching && h->receiver.end == STATE_RECEIVER_GOING)
		h->receiver.ask_ns = now_ns;
}

/* There is an answer to f. */
static inline void
state_transfer_give(struct state_transfer *h, const struct transfer_fetch *f)
{
	h->asked = *f;
	h->answer = 0;
	h->answers = state_sender_count(&h->sender, f);
}

/* Our state after `given` results, for who has asked; body becomes h's. */
static inline void
state_transfer_has(struct state_transfer *h, uint8_t *body, uint32_t bytes,
    uint64_t given, uint64_t now_ns)
{
	const bool wanted = h->sender.wanted;

	state_sender_has(&h->sender, body, bytes, given, now_ns);
	if (wanted)
		state_transfer_give(h, &h->sender.asked);
}

/*
 * Is c of a state that is handed over?  Then it is done with; `given` results
 * are in the state that we have ourselves.
 */
static inline bool
state_transfer_take(struct state_transfer *h, const struct membership *in,
    const struct control *c, uint64_t given, uint64_t now_ns)
{
	struct transfer_fetch f;
	struct transfer_chunk k;
	struct control_ack a;

	if (c->job != in->cf.job)
		return false;
	switch (c->action) {
	case CONTROL_FETCH:
		if (!in->cf.gives || !in->joined || h->fetching ||
		    !transfer_get_fetch(c, &f))
			return false;
		/* where slots are few one iteration is behind what is kept */
		state_sender_asked(
		    &h->sender, &f, given + (in->span != 0), now_ns);
		state_transfer_give(h, &f);
		return true;
	case CONTROL_CHUNK:
		if (!h->fetching || !transfer_get_chunk(c, &k))
			return false;
		state_receiver_take(&h->receiver, &k, now_ns);
		return true;
	case CONTROL_ACK:
		if (!h->fetching || !control_get_ack(c, &a) ||
		    a.action != CONTROL_FETCH)
			return false;
		state_receiver_refused(&h->receiver, a.status, now_ns);
		return true;
	default: return false;
	}
}

/*
 * The len bytes of a control message have come by the channel of membership
 * `in`.  Only c of STATE_TRANSFER_MESSAGE is still to be acted upon.  given: as
 * above; h NULL: no state is handed over.
 */
static inline enum state_transfer_news
state_transfer_hear(struct state_transfer *h, struct membership *in,
    struct channel_client *ch, uint64_t given, const uint8_t *p, size_t len,
    struct control *c, uint64_t now_ns)
{
	enum channel_client_news news;

	if (!control_parse(p, len, c))
		return STATE_TRANSFER_MALFORMED;
	news = channel_client_receive(ch, p, len, c);
	if (news == CHANNEL_CLIENT_GOOD)
		return h != NULL && state_transfer_take(h, in, c, given, now_ns)
			   ? STATE_TRANSFER_TAKEN
			   : STATE_TRANSFER_MESSAGE;
	membership_doubts(in, news, c, now_ns);
	if (news == CHANNEL_CLIENT_CHALLENGED && h != NULL)
		state_transfer_again(h, now_ns);
	return news == CHANNEL_CLIENT_BAD || news == CHANNEL_CLIENT_HINT ?
	    STATE_TRANSFER_DOUBTFUL : STATE_TRANSFER_NOTHING;
}

/* When state_transfer_next() has something, even if nothing comes. */
static inline uint64_t
state_transfer_due(const struct state_transfer *h)
{
	return h->leaves || h->answer < h->answers ? 0 : h->fetching ?
	    state_receiver_due(&h->receiver) : TRANSFER_NEVER;
}

/*
 * What is to be sent, written at msg, which has room for CONTROL_MAX_BYTES:
 * its length, 0 if nothing is.  `in` is what we have joined, or had.
 */
static inline size_t
state_transfer_next(struct state_transfer *h, struct membership *in,
    uint64_t now_ns, uint8_t *msg)
{
	if (h->leaves) {
		h->leaves = false;
		return (size_t)(control_put(msg, CONTROL_LEAVE, in->cf.job,
		    h->leave_xid) - msg);
	}
	if (h->answer < h->answers)
		return state_sender_put(&h->sender, &h->asked, h->answer++,
		    in->cf.job, membership_xid(in), msg);
	return h->fetching ? state_receiver_next(&h->receiver, now_ns, msg) : 0;
}

#endif
