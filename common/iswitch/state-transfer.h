/*
 * state-transfer.h - copy a running worker's state to a worker that joins late
 *
 * A worker that joins late or returns fetches the state of another worker
 * instead of starting the job again.  The receiver (struct state_receiver)
 * requests chunks until it has all of them; the sender (struct state_sender)
 * answers with parts of a snapshot.  The receiver requests runs of chunks, and
 * at most one window of chunks is outstanding.  If no chunk has arrived for a
 * while, the receiver requests the missing chunks again.  So neither the sender
 * nor the switches on the path need timers.
 *
 * struct state_transfer combines a receiver and a sender for one worker.  The
 * caller passes the control messages that arrive to state_transfer_receive().
 * When sender.wanted is set, the caller takes a snapshot and calls
 * state_transfer_set_snapshot().  When it is too late to join the job without
 * another worker's state, the caller calls state_transfer_start_fetch(), which
 * also leaves the job if the worker had joined it.  Then state_transfer_next()
 * writes the messages to send until receiver.end is set.
 *
 * The functions read no clock: time is an argument (monotonic, in ns).  All
 * messages go through the secure channel of the caller (channel-client.h).
 * state_transfer_free() frees the memory.
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
#define TRANSFER_KEEP_NS 5000000000u	/* how long a snapshot is kept after the
					 * last Fetch */

enum {
	TRANSFER_WINDOW = 128,		/* maximum number of chunks that were
					 * requested and have not arrived */
	TRANSFER_FIRST_NS = 20000000,	/* initial wait before the missing
					 * chunks are requested again */
	TRANSFER_LAST_NS = 250000000,	/* longest wait; each wait is twice the
					 * previous one */
	TRANSFER_TRIES = 3		/* number of states with a wrong CRC
					 * after which the receiver gives up */
};

/*
 * If its Fetch is refused, a receiver repeats the Fetch until this time after
 * the first refusal, because other workers may join again.  The time is five
 * times as long if the switch answers that the job is not open.
 */
#define TRANSFER_REFUSED_NS UINT64_C(2000000000)

enum state_receiver_end {
	STATE_RECEIVER_GOING,
	STATE_RECEIVER_HAS,
	STATE_RECEIVER_REFUSED,
	STATE_RECEIVER_UNANSWERED,
	STATE_RECEIVER_NO_MEMORY
};

struct state_receiver {
	uint16_t job;
	uint32_t worker;		/* number of this worker */
	uint32_t xid;			/* xid of the next Fetch */
	bool waits;			/* the job must wait for this worker */
	bool lacks_permit;		/* the switch may have been restarted,
					 * so it no longer knows that it refused
					 * this worker's Join */
	uint64_t give_up_ns;		/* longest time without a chunk */
	uint64_t refused_ns;		/* how long to wait for a worker that
					 * sends its state */
	uint64_t first_refusal_ns;	/* time of the first refusal since the
					 * last Chunk; 0: none */
	enum state_receiver_end end;
	uint8_t status;			/* status of a refusal */
	uint32_t sender;
	uint64_t iteration;		/* number of results in the state */
	uint32_t bytes;
	uint8_t *body;			/* owned; the state; NULL: there is no
					 * state, or the caller has taken it */

	uint32_t snapshot, crc, chunks;	/* number of the snapshot, 0 until it is
					 * known; CRC of the state; number of
					 * chunks */
	uint8_t *came;			/* owned; for each chunk: has it
					 * arrived? */
	uint32_t next;			/* chunk to request next */
	uint32_t here, out;		/* number of chunks that have arrived;
					 * number of chunks that were requested
					 * and have not arrived */
	uint64_t news_ns, ask_ns, wait_ns;
	uint64_t chunk_ns;		/* time when the last missing chunk
					 * arrived */
	unsigned spoilt;		/* number of states that were received
					 * with a wrong CRC */
};

/* The snapshot that a worker sends. */
struct state_sender {
	uint32_t worker;		/* number of this worker */
	uint32_t snapshot;		/* number of the last snapshot; 0: none
					 * yet */
	bool has;			/* a snapshot exists */
	bool wanted;			/* the caller must take a snapshot of
					 * the worker's state */
	struct transfer_fetch asked;	/* the Fetch that must be answered when
					 * there is a snapshot */
	uint8_t *body;			/* owned */
	uint32_t bytes, crc;
	uint64_t iteration;
	uint64_t used_ns;
};

enum {
	STATE_TRANSFER_TRIES = 10, /* after this number of states that were too
				    * old to join with, the worker gives up */
	STATE_TRANSFER_PATIENT = 2 /* after this number of tries, the job must
				    * wait for this worker */
};

/*
 * The kind of a message that has arrived, which tells the caller what to do
 * with the message.
 */
enum state_transfer_news {
	STATE_TRANSFER_MESSAGE,	 /* a message that the worker must process */
	STATE_TRANSFER_TAKEN,	 /* a message of a state transfer: call
				  * state_transfer_next() */
	STATE_TRANSFER_NOTHING,	 /* a challenge, or a repeated message */
	STATE_TRANSFER_DOUBTFUL, /* a message that is not authenticated */
	STATE_TRANSFER_MALFORMED
};

struct state_transfer {
	struct state_receiver receiver;
	struct state_sender sender;
	bool fetching;			/* the receiver is active */
	unsigned tries;			/* number of fetches started */
	bool leaves;			/* a Leave with xid leave_xid is due */
	uint32_t leave_xid;
	struct transfer_fetch asked;	/* the Fetch that this worker is
					 * answering */
	uint32_t answer, answers;	/* the next Chunk of the answer; number
					 * of Chunks in the answer */
};

/* Initialise h for the worker with this number. */
static inline void state_transfer_init(struct state_transfer *h,
    uint32_t worker);

/* Free the memory of h. */
static inline void state_transfer_free(struct state_transfer *h);

/*
 * Process the len bytes of a control message that arrived through the channel
 * of `in`.  The caller processes *c only if the result is
 * STATE_TRANSFER_MESSAGE.  `given` is the number of results in our own state.
 * If h is NULL, no state is transferred.
 */
static inline enum state_transfer_news state_transfer_receive(
    struct state_transfer *h,
    struct membership *in, struct channel_client *ch, uint64_t given,
    const uint8_t *p, size_t len, struct control *c, uint64_t now_ns);

/*
 * Use `body`, our state after `given` results, as the snapshot, and answer the
 * worker that requested the state.  h takes ownership of `body`.
 */
static inline void state_transfer_set_snapshot(struct state_transfer *h,
    uint8_t *body, uint32_t bytes, uint64_t given, uint64_t now_ns);

/*
 * Tell whether the worker could continue with the state of another worker after
 * membership `in` has ended.  `lost` says whether the network no longer keeps
 * the results that this worker needs.  `been` says whether this worker was in
 * the job before.
 */
static inline bool state_transfer_is_useful(const struct state_transfer *h,
    const struct membership *in, bool lost, bool been);

/*
 * Start to fetch a state, and leave the job that was joined as `in`.  If no
 * worker sends its state, a `patient` worker waits, because other workers may
 * still join.  An asynchronous worker that has been in the job does not wait:
 * it starts the job again.
 */
static inline void state_transfer_start_fetch(struct state_transfer *h,
    const struct membership *in, bool patient, uint64_t now_ns);

/*
 * Return the time at which state_transfer_next() must be called if nothing
 * arrives.
 */
static inline uint64_t state_transfer_deadline_ns(
    const struct state_transfer *h);

/*
 * Write the next message to msg, which has room for CONTROL_MAX_BYTES.  Returns
 * the length of the message, or 0.  `in` is the present or last membership.
 */
static inline size_t state_transfer_next(struct state_transfer *h,
    struct membership *in, uint64_t now_ns, uint8_t *msg);

/*
 * Initialise h.  `xid` must be newer than every xid that this address has used.
 */
static inline void state_receiver_init(struct state_receiver *h, uint16_t job,
    uint32_t worker, uint32_t xid, bool waits, uint64_t give_up_ns,
    uint64_t now_ns);

/* Free the memory of h. */
static inline void state_receiver_free(struct state_receiver *h);

/* Process Chunk k. */
static inline void state_receiver_receive( struct state_receiver *h,
    const struct transfer_chunk *k, uint64_t now_ns);

/*
 * Process the Ack of a Fetch.  The status of this Ack says that no worker sends
 * its state, now or ever.
 */
static inline void state_receiver_receive_status( struct state_receiver *h,
    uint8_t status, uint64_t now_ns);

/*
 * Return the time at which state_receiver_next() must be called if nothing
 * arrives.
 */
static inline uint64_t state_receiver_deadline_ns(
    const struct state_receiver *h);

/*
 * If a Fetch is due, write it to msg, which has room for CONTROL_MAX_BYTES.
 * Returns the length of the Fetch, or 0.
 */
static inline size_t state_receiver_next(struct state_receiver *h,
    uint64_t now_ns, uint8_t *msg);

/* Free the snapshot. */
static inline void state_sender_free(struct state_sender *d);

/*
 * Process a Fetch when our state has `iteration` results.  If this function
 * sets d->wanted, the caller must take a snapshot of the worker's state, now or
 * later, and then answer the Fetch in d->asked.
 */
static inline void state_sender_receive_fetch(struct state_sender *d,
    const struct transfer_fetch *f, uint64_t iteration, uint64_t now_ns);

/*
 * Use `body`, the state after `iteration` results, as the snapshot.  d takes
 * ownership of `body`.
 */
static inline void state_sender_set_snapshot(struct state_sender *d,
    uint8_t *body, uint32_t bytes, uint64_t iteration, uint64_t now_ns);

/* Return the number of Chunks that answer Fetch f. */
static inline uint32_t state_sender_count(const struct state_sender *d,
    const struct transfer_fetch *f);

/*
 * Write Chunk k of the answer to Fetch f to msg, which has room for
 * CONTROL_MAX_BYTES.  Returns the length of the Chunk.
 */
static inline size_t state_sender_put_chunk(const struct state_sender *d,
    const struct transfer_fetch *f, uint32_t k, uint16_t job, uint32_t xid,
    uint8_t *msg);

/* Free the snapshot if no Fetch has arrived for TRANSFER_KEEP_NS. */
static inline void state_sender_drop_unused(struct state_sender *d,
    uint64_t now_ns);

/* implementation */

static inline void
state_receiver_init(struct state_receiver *h, uint16_t job, uint32_t worker,
    uint32_t xid, bool waits, uint64_t give_up_ns, uint64_t now_ns)
{
	*h = (struct state_receiver){ .job = job, .worker = worker, .xid = xid,
	    .waits = waits, .give_up_ns = give_up_ns, .sender = UINT32_MAX,
	    .news_ns = now_ns, .ask_ns = now_ns,
	    .wait_ns = TRANSFER_FIRST_NS };
}

static inline void
state_receiver_free(struct state_receiver *h)
{
	free(h->body);
	free(h->came);
	h->body = h->came = NULL;
}

/* Allocate memory for the state to which chunk k belongs. */
static inline void
state_receiver_allocate(
    struct state_receiver *h, const struct transfer_chunk *k)
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

/*
 * Check the CRC of the state after all chunks have arrived.  If the CRC is
 * wrong, fetch all chunks again.
 */
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

static inline void
state_receiver_receive(
    struct state_receiver *h, const struct transfer_chunk *k, uint64_t now_ns)
{
	if (h->end != STATE_RECEIVER_GOING)
		return;
	/*
	 * While chunks arrive, an answer without the snapshot is late or comes
	 * from another sender.
	 */
	if (h->snapshot != 0 && h->here > 0 &&
	    now_ns - h->chunk_ns < TRANSFER_LAST_NS &&
	    (!k->ready || k->snapshot != h->snapshot))
		return;
	h->sender = k->sender;
	h->first_refusal_ns = 0;
	if (!k->ready) {		/* the sender is still taking the
					 * snapshot */
		h->snapshot = 0;
		h->ask_ns = now_ns + TRANSFER_FIRST_NS;
		return;
	}
	h->news_ns = now_ns;
	if (h->snapshot == 0 || k->snapshot != h->snapshot)
		state_receiver_allocate(h, k);
	if (h->end != STATE_RECEIVER_GOING || k->bytes != h->bytes ||
	    k->index >= h->chunks || h->came[k->index] != 0)
		return;
	memcpy(h->body + (size_t)k->index * TRANSFER_CHUNK_BYTES, k->data,
	    k->data_bytes);
	h->came[k->index] = 1;
	h->here++;
	h->chunk_ns = now_ns;
	h->out -= h->out > 0;
	h->wait_ns = TRANSFER_FIRST_NS;
	h->ask_ns = now_ns + h->wait_ns;
	if (h->here == h->chunks)
		state_receiver_check(h, now_ns);
}

static inline void
state_receiver_receive_status(
    struct state_receiver *h, uint8_t status, uint64_t now_ns)
{
	bool refused;

	if (h->end != STATE_RECEIVER_GOING)
		return;
	h->status = status;
	h->lacks_permit = status == CONTROL_NO_JOB ||
	    status == CONTROL_NOT_MEMBER;
	refused = status == CONTROL_REFUSED || status == CONTROL_NOT_READY;
	if (refused && h->first_refusal_ns == 0)
		h->first_refusal_ns = now_ns;
	if (h->lacks_permit || status == CONTROL_NO_ROOM || (refused &&
	    now_ns - h->first_refusal_ns < (status == CONTROL_REFUSED ? 1 : 5) *
	    h->refused_ns))
		h->ask_ns = now_ns + TRANSFER_LAST_NS;
	else if (status != CONTROL_DONE)
		h->end = STATE_RECEIVER_REFUSED;
}

static inline uint64_t
state_receiver_deadline_ns(const struct state_receiver *h)
{
	const bool room = !h->lacks_permit && h->snapshot != 0 &&
	    h->next < h->chunks &&
	    h->out + TRANSFER_RUN <= TRANSFER_WINDOW;

	if (h->end != STATE_RECEIVER_GOING)
		return TRANSFER_NEVER;
	return room ? 0 : h->ask_ns;
}

/* Store the next run of missing chunks, from h->next on, in Fetch f. */
static inline bool
state_receiver_next_run(struct state_receiver *h, struct transfer_fetch *f)
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

static inline size_t
state_receiver_next(struct state_receiver *h, uint64_t now_ns, uint8_t *msg)
{
	struct transfer_fetch f = { .waits = h->waits, .count = 1,
	    .worker = h->worker, .snapshot = h->snapshot };

	if (state_receiver_deadline_ns(h) > now_ns)
		return 0;
	if (now_ns - h->news_ns >= h->give_up_ns) {
		h->end = STATE_RECEIVER_UNANSWERED;
		return 0;
	}
	if (h->ask_ns <= now_ns) {	/* no chunk has arrived, so request all
					 * missing chunks again */
		h->next = h->out = 0;
		h->ask_ns = now_ns +
		    backoff_take_ns(&h->wait_ns, TRANSFER_LAST_NS);
	}
	if (h->snapshot != 0 && !state_receiver_next_run(h, &f))
		return 0;
	return (size_t)(transfer_put_fetch(control_put(msg, CONTROL_FETCH,
	    h->job, h->xid++), &f) - msg);
}

static inline void
state_sender_free(struct state_sender *d)
{
	free(d->body);
	d->body = NULL;
	d->has = false;
}

static inline void
state_sender_set_snapshot(struct state_sender *d, uint8_t *body, uint32_t bytes,
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

static inline void
state_sender_receive_fetch(struct state_sender *d,
    const struct transfer_fetch *f, uint64_t iteration, uint64_t now_ns)
{
	/*
	 * If this worker's switch, or a switch above that switch, has fewer
	 * slots than segments, no worker can join with a state that is one
	 * iteration old.
	 */
	if (f->snapshot == 0 && !(d->has && d->iteration >= iteration)) {
		state_sender_free(d);
		d->wanted = true;
		d->asked = *f;
	}
	d->used_ns = now_ns;
}

static inline void
state_sender_drop_unused(struct state_sender *d, uint64_t now_ns)
{
	if (d->has && now_ns - d->used_ns > TRANSFER_KEEP_NS)
		state_sender_free(d);
}

static inline uint32_t
state_sender_count(const struct state_sender *d, const struct transfer_fetch *f)
{
	const uint32_t chunks = d->has ? transfer_chunks(d->bytes) : 0;

	if (!d->has || (f->snapshot != 0 && f->snapshot != d->snapshot))
		return 1;
	return f->first >= chunks ? 0 : chunks - f->first < f->count ?
	    chunks - f->first : f->count;
}

static inline size_t
state_sender_put_chunk(const struct state_sender *d,
    const struct transfer_fetch *f, uint32_t k, uint16_t job, uint32_t xid,
    uint8_t *msg)
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
 * Tell whether the member is behind the job that refused its Join.  Both
 * iterations are numbers as in packets.  Iteration 0 (a new worker) is behind
 * all other iterations, except those just before the counter wraps to 0.
 */
static inline bool
state_transfer_is_behind(const struct membership *in)
{
	return in->join_next == 0 && in->job_next < SEG_ITERATIONS - SEG_NEAR ?
	    in->job_next != 0 : seg_before(in->join_next, in->job_next);
}

static inline bool
state_transfer_is_useful(const struct state_transfer *h,
    const struct membership *in, bool lost, bool been)
{
	return in->cf.sends_state && h->tries < STATE_TRANSFER_TRIES &&
	    ((in->end == MEMBERSHIP_GOING && lost) ||
	    (in->end == MEMBERSHIP_REFUSED && in->status == CONTROL_REFUSED &&
	    (been || state_transfer_is_behind(in))));
}

static inline void
state_transfer_start_fetch(
    struct state_transfer *h, const struct membership *in, bool patient,
    uint64_t now_ns)
{
	state_receiver_free(&h->receiver);
	h->leaves = in->joined;
	h->leave_xid = in->xid;
	state_receiver_init(&h->receiver, in->cf.job, in->cf.number,
	    in->xid + 1, h->tries >= STATE_TRANSFER_PATIENT, in->cf.give_up_ns,
	    now_ns);
	h->receiver.refused_ns = patient ? TRANSFER_REFUSED_NS : 0;
	h->fetching = true;
	h->tries++;
	h->answer = h->answers = 0;
	state_sender_free(&h->sender);
}

/* Repeat the Fetch, because the channel has changed. */
static inline void
state_transfer_repeat_fetch(struct state_transfer *h, uint64_t now_ns)
{
	if (h->fetching && h->receiver.end == STATE_RECEIVER_GOING)
		h->receiver.ask_ns = now_ns;
}

/* Queue the Chunks that answer Fetch f. */
static inline void
state_transfer_queue_answer(
    struct state_transfer *h, const struct transfer_fetch *f)
{
	h->asked = *f;
	h->answer = 0;
	h->answers = state_sender_count(&h->sender, f);
}

static inline void
state_transfer_set_snapshot(struct state_transfer *h, uint8_t *body,
    uint32_t bytes, uint64_t given, uint64_t now_ns)
{
	const bool wanted = h->sender.wanted;

	state_sender_set_snapshot(&h->sender, body, bytes, given, now_ns);
	if (wanted)
		state_transfer_queue_answer(h, &h->sender.asked);
}

/*
 * Process message c if it belongs to a state transfer.  Returns false if it
 * does not.
 */
static inline bool
state_transfer_receive_transfer(struct state_transfer *h,
    const struct membership *in, const struct control *c, uint64_t given,
    uint64_t now_ns)
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
		/*
		 * if there are fewer slots than segments, one more iteration is
		 * kept
		 */
		state_sender_receive_fetch(
		    &h->sender, &f, given, now_ns);
		state_transfer_queue_answer(h, &f);
		return true;
	case CONTROL_CHUNK:
		if (!h->fetching || !transfer_get_chunk(c, &k))
			return false;
		state_receiver_receive(&h->receiver, &k, now_ns);
		return true;
	case CONTROL_ACK:
		if (!h->fetching || !control_get_ack(c, &a) ||
		    a.action != CONTROL_FETCH)
			return false;
		state_receiver_receive_status(&h->receiver, a.status, now_ns);
		return true;
	default: return false;
	}
}

static inline enum state_transfer_news
state_transfer_receive(struct state_transfer *h, struct membership *in,
    struct channel_client *ch, uint64_t given, const uint8_t *p, size_t len,
    struct control *c, uint64_t now_ns)
{
	enum channel_client_news news;

	if (!control_parse(p, len, c))
		return STATE_TRANSFER_MALFORMED;
	news = channel_client_receive(ch, p, len, c);
	if (news == CHANNEL_CLIENT_GOOD)
		return h != NULL && state_transfer_receive_transfer(
					h, in, c, given, now_ns)
			   ? STATE_TRANSFER_TAKEN
			   : STATE_TRANSFER_MESSAGE;
	membership_receive_doubtful(in, news, c, now_ns);
	if (news == CHANNEL_CLIENT_CHALLENGED && h != NULL)
		state_transfer_repeat_fetch(h, now_ns);
	return news == CHANNEL_CLIENT_BAD || news == CHANNEL_CLIENT_HINT ?
	    STATE_TRANSFER_DOUBTFUL : STATE_TRANSFER_NOTHING;
}

static inline uint64_t
state_transfer_deadline_ns(const struct state_transfer *h)
{
	return h->leaves || h->answer < h->answers ? 0 : h->fetching ?
	    state_receiver_deadline_ns(&h->receiver) : TRANSFER_NEVER;
}

/*
 * Write the same Join as before.  The switch refuses this Join, and therefore
 * permits this worker to fetch a state.
 */
static inline size_t
state_transfer_put_join(struct state_receiver *h, const struct membership *in,
    uint64_t now_ns, uint8_t *msg)
{
	h->lacks_permit = false;
	h->ask_ns = now_ns + TRANSFER_FIRST_NS;
	return membership_repeat_join(in, h->xid++, msg);
}

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
		return state_sender_put_chunk(&h->sender, &h->asked,
		    h->answer++, in->cf.job, membership_xid(in), msg);
	if (h->fetching && h->receiver.lacks_permit &&
	    h->receiver.end == STATE_RECEIVER_GOING &&
	    now_ns >= h->receiver.ask_ns)
		return state_transfer_put_join(&h->receiver, in, now_ns, msg);
	return h->fetching ? state_receiver_next(&h->receiver, now_ns, msg) : 0;
}

#endif
