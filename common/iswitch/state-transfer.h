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
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/arq/backoff.h"
#include "common/iswitch/membership.h"
#include "common/wire/state-transfer.h"

#define TRANSFER_NEVER UINT64_MAX
#define TRANSFER_KEEP_NS 5000000000u	/* a sender's, after the last Fetch */

enum {
	TRANSFER_WINDOW = 128,		/* chunks asked for and not come */
	TRANSFER_FIRST_NS = 20000000,	/* without news: ask again */
	TRANSFER_LAST_NS = 250000000,	/* doubled up to this */
	TRANSFER_TRIES = 3
};

/*
 * Nobody gives a state: so long it may be that others are yet to join again;
 * and five times as long where the switch says that the job is not open.
 */
#define TRANSFER_REFUSED_NS 2000000000u

enum state_receiver_end {
	STATE_RECEIVER_GOING,
	STATE_RECEIVER_HAS,
	STATE_RECEIVER_REFUSED,
	STATE_RECEIVER_UNANSWERED,
	STATE_RECEIVER_NO_MEMORY
};

struct state_receiver {
	uint16_t job;
	uint32_t worker;		/* our number */
	uint32_t xid;			/* of the next Fetch */
	bool waits;			/* the job is to wait for us */
	uint64_t give_up_ns;		/* without news */
	uint64_t refused_ns; /* patience with a job without senders */
	uint64_t begun_ns;
	enum state_receiver_end end;
	uint8_t status;			/* of a refusal */
	uint32_t sender;
	uint64_t iteration;		/* results that are in the state */
	uint32_t bytes;
	uint8_t *body;			/* owned; NULL: none, or taken */

	uint32_t snapshot, crc, chunks;	/* snapshot 0: not known yet */
	uint8_t *came;			/* of each chunk; owned */
	uint32_t next, here, out;	/* to ask for, come, asked for */
	uint64_t news_ns, ask_ns, wait_ns;
	unsigned spoilt;		/* came whole, and were not as sent */
};

/* Begin; xid: newer than those of before from the same address. */
static inline void
state_receiver_init(struct state_receiver *h, uint16_t job, uint32_t worker,
    uint32_t xid, bool waits, uint64_t give_up_ns, uint64_t now_ns)
{
	*h = (struct state_receiver){ .job = job, .worker = worker, .xid = xid,
	    .waits = waits, .give_up_ns = give_up_ns, .sender = UINT32_MAX,
	    .begun_ns = now_ns, .news_ns = now_ns, .ask_ns = now_ns,
	    .wait_ns = TRANSFER_FIRST_NS };
}

static inline void
state_receiver_free(struct state_receiver *h)
{
	free(h->body);
	free(h->came);
	h->body = h->came = NULL;
}

/* The state is h's to fill: room for it. */
static inline void
state_receiver_size(struct state_receiver *h, const struct transfer_chunk *k)
{
	state_receiver_free(h);
	h->snapshot = k->snapshot;
	h->sender = k->sender;
	h->iteration = k->iteration;
	h->bytes = k->bytes;
	h->crc = k->crc;
	h->chunks = transfer_chunks(k->bytes);
	h->next = h->here = h->out = 0;
	h->body = malloc(k->bytes + 1u);
	h->came = calloc(h->chunks, 1);
	if (h->body == NULL || h->came == NULL)
		h->end = STATE_RECEIVER_NO_MEMORY;
}

/* All are here: are they what was sent?  If not, all again. */
static inline void
state_receiver_check(struct state_receiver *h, uint64_t now_ns)
{
	if (crc32c(0, h->body, h->bytes) == h->crc) {
		h->end = STATE_RECEIVER_HAS;
		return;
	}
	h->snapshot = 0;
	h->ask_ns = now_ns;
	h->status = CONTROL_BAD_VALUE;
	if (++h->spoilt == TRANSFER_TRIES)
		h->end = STATE_RECEIVER_REFUSED;
}

/* A Chunk has come. */
static inline void
state_receiver_take(
    struct state_receiver *h, const struct transfer_chunk *k, uint64_t now_ns)
{
	if (h->end != STATE_RECEIVER_GOING)
		return;
	h->sender = k->sender;
	if (!k->ready) {		/* it is on its way from its child */
		h->snapshot = 0;
		h->ask_ns = now_ns + TRANSFER_FIRST_NS;
		return;
	}
	h->news_ns = now_ns;
	if (h->snapshot == 0 || k->snapshot != h->snapshot)
		state_receiver_size(h, k);
	if (h->end != STATE_RECEIVER_GOING || k->bytes != h->bytes ||
	    k->index >= h->chunks || h->came[k->index] != 0)
		return;
	memcpy(h->body + (size_t)k->index * TRANSFER_CHUNK_BYTES, k->data,
	    k->data_bytes);
	h->came[k->index] = 1;
	h->here++;
	h->out -= h->out > 0;
	h->wait_ns = TRANSFER_FIRST_NS;
	h->ask_ns = now_ns + h->wait_ns;
	if (h->here == h->chunks)
		state_receiver_check(h, now_ns);
}

/* The Ack of a Fetch: nobody will give any, or not now. */
static inline void
state_receiver_refused(
    struct state_receiver *h, uint8_t status, uint64_t now_ns)
{
	if (h->end != STATE_RECEIVER_GOING)
		return;
	h->status = status;
	if (status == CONTROL_NO_ROOM || status == CONTROL_NO_JOB ||
	    (status == CONTROL_REFUSED && now_ns - h->begun_ns <
	    h->refused_ns) || (status == CONTROL_NOT_READY &&
	    now_ns - h->begun_ns < 5 * h->refused_ns))
		h->ask_ns = now_ns + TRANSFER_LAST_NS;
	else if (status != CONTROL_DONE)
		h->end = STATE_RECEIVER_REFUSED;
}

/* When state_receiver_next() has something, even if nothing comes. */
static inline uint64_t
state_receiver_due(const struct state_receiver *h)
{
	const bool room = h->snapshot != 0 && h->next < h->chunks &&
	    h->out + TRANSFER_RUN <= TRANSFER_WINDOW;

	if (h->end != STATE_RECEIVER_GOING)
		return TRANSFER_NEVER;
	return room ? 0 : h->ask_ns;
}

/* The first chunks from h->next on that have not come, a run of them. */
static inline bool
state_receiver_run(struct state_receiver *h, struct transfer_fetch *f)
{
	while (h->next < h->chunks && h->came[h->next] != 0)
		h->next++;
	f->first = h->next;
	f->count = 0;
	while (h->next < h->chunks && f->count < TRANSFER_RUN &&
	    h->came[h->next] == 0) {
		h->next++;
		f->count++;
	}
	h->out += f->count;
	return f->count > 0;
}

/*
 * The Fetch that is due, written at msg, which has room for CONTROL_MAX_BYTES:
 * its length, 0 if none is.
 */
static inline size_t
state_receiver_next(struct state_receiver *h, uint64_t now_ns, uint8_t *msg)
{
	struct transfer_fetch f = { .waits = h->waits, .count = 1,
	    .worker = h->worker, .snapshot = h->snapshot };

	if (state_receiver_due(h) > now_ns)
		return 0;
	if (now_ns - h->news_ns >= h->give_up_ns) {
		h->end = STATE_RECEIVER_UNANSWERED;
		return 0;
	}
	if (h->ask_ns <= now_ns) {	/* silence: what has not come, again */
		h->next = h->out = 0;
		h->ask_ns = now_ns +
		    backoff_take_ns(&h->wait_ns, TRANSFER_LAST_NS);
	}
	if (h->snapshot != 0 && !state_receiver_run(h, &f))
		return 0;
	return (size_t)(transfer_put_fetch(control_put(msg, CONTROL_FETCH,
	    h->job, h->xid++), &f) - msg);
}

/* What a member has to give. */
struct state_sender {
	uint32_t worker;		/* its number */
	uint32_t snapshot;		/* the last; 0: there was none */
	bool has, wanted;		/* one is to be taken */
	struct transfer_fetch asked;	/* while it is wanted */
	uint8_t *body;			/* owned */
	uint32_t bytes, crc;
	uint64_t iteration;
	uint64_t used_ns;
};

static inline void
state_sender_free(struct state_sender *d)
{
	free(d->body);
	d->body = NULL;
	d->has = false;
}

/* The state as it is after so many results; body becomes d's own. */
static inline void
state_sender_has(struct state_sender *d, uint8_t *body, uint32_t bytes,
    uint64_t iteration, uint64_t now_ns)
{
	state_sender_free(d);
	d->snapshot++;
	d->snapshot += d->snapshot == 0;
	d->body = body;
	d->bytes = bytes;
	d->crc = crc32c(0, body, bytes);
	d->iteration = iteration;
	d->used_ns = now_ns;
	d->has = true;
	d->wanted = false;
}

/*
 * A Fetch has come when we have had so many results.  `wanted` is set if a
 * snapshot is to be taken; then state_sender_has(), now or later, and
 * state_sender_put() to who `asked`.
 */
static inline void
state_sender_asked(struct state_sender *d, const struct transfer_fetch *f,
    uint64_t iteration, uint64_t now_ns)
{
	if (f->snapshot == 0 && !(d->has && d->iteration + 1 >= iteration)) {
		state_sender_free(d);
		d->wanted = true;
		d->asked = *f;
	}
	d->used_ns = now_ns;
}

/* Nobody has asked for a while: what there is need not be kept. */
static inline void
state_sender_rest(struct state_sender *d, uint64_t now_ns)
{
	if (d->has && now_ns - d->used_ns > TRANSFER_KEEP_NS)
		state_sender_free(d);
}

/* How many Chunks answer f. */
static inline uint32_t
state_sender_count(const struct state_sender *d, const struct transfer_fetch *f)
{
	const uint32_t chunks = d->has ? transfer_chunks(d->bytes) : 0;

	if (!d->has || (f->snapshot != 0 && f->snapshot != d->snapshot))
		return 1;
	return f->first >= chunks ? 0 : chunks - f->first < f->count ?
	    chunks - f->first : f->count;
}

/* Answer k of f at msg, which has room for CONTROL_MAX_BYTES: its length. */
static inline size_t
state_sender_put(const struct state_sender *d, const struct transfer_fetch *f,
    uint32_t k, uint16_t job, uint32_t xid, uint8_t *msg)
{
	const uint32_t i = f->first + k;
	struct transfer_chunk c = {
	    .receiver = f->receiver, .sender = d->worker};

	if (d->has && (f->snapshot == 0 || f->snapshot == d->snapshot)) {
		c.ready = true;
		c.snapshot = d->snapshot;
		c.iteration = d->iteration;
		c.bytes = d->bytes;
		c.crc = d->crc;
		c.index = i;
		c.data = d->body + (size_t)i * TRANSFER_CHUNK_BYTES;
		c.data_bytes = transfer_chunk_bytes(d->bytes, i);
	}
	return (size_t)(transfer_put_chunk(control_put(msg, CONTROL_CHUNK,
	    job, xid), &c) - msg);
}

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
	return in->cf.sends_state && h->tries < STATE_TRANSFER_TRIES &&
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
		if (!in->cf.sends_state || !in->joined || h->fetching ||
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
