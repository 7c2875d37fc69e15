/*
 * state-copy.h - a worker that comes late, or back, takes over another's state
 *
 * Who lacks a state (struct state_receiver) asks for chunks of it until it has
 * them all; who has one (struct state_sender) answers from a snapshot.  Chunks
 * are asked for in runs, a window of them at a time; what has not come when
 * nothing has come for a while is asked for again.  So the sender and the
 * switches between need no timers.
 *
 * Pure: time is an argument (ns, monotonic).  What is said and heard here goes
 * through the caller's channel (channel-client.h).
 */
#ifndef INNET_ISWITCH_STATE_COPY_H
#define INNET_ISWITCH_STATE_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
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
		h->ask_ns = now_ns + h->wait_ns;
		h->wait_ns = h->wait_ns * 2 > TRANSFER_LAST_NS ?
		    TRANSFER_LAST_NS : h->wait_ns * 2;
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
	struct transfer_chunk c = { .asker = f->asker, .sender = d->worker };

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

#endif
