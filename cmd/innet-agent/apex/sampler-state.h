/*
 * sampler-state.h - what a learner's sampler knows, and the layout of a batch
 *
 * sampler.c and sampler-table.c share this state, so it stands apart from the
 * interface (sampler.h).
 *
 * With --batches, one exchange draws several batches and returns the priorities
 * of all of them, so the cost of an exchange is paid once for several lessons.
 * The rows are dealt out in turn: the first experience drawn goes to the first
 * batch, the second to the second, because a draw returns strata in order.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_STATE_H
#define INNET_AGENT_APEX_SAMPLER_STATE_H

#include <pthread.h>

#include "cmd/innet-agent/algo/off-policy.h"
#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/key-names.h"
#include "cmd/innet-agent/apex/redis-link.h"
#include "common/base/latency.h"

/* How a learner exchanges batches with the memory. */
enum sampler_mode {
	SAMPLER_BLOCKING,  /* it waits for each exchange */
	SAMPLER_PIPELINED, /* it requests a batch, reads it a lesson later */
	SAMPLER_THREADED   /* a thread with the connections does it */
};

/* The state of one of the two batches. */
enum sampler_state {
	SAMPLER_EMPTY,		/* nothing was drawn yet */
	SAMPLER_READY,		/* drawn, and the learner has not used it */
	SAMPLER_TAKEN,		/* the learner learns from it */
	SAMPLER_PRIORITIZED	/* used: it has the new priorities */
};

enum sampler_result {
	SAMPLER_DRAWN,	 /* the batch is full */
	SAMPLER_NOT_YET, /* the memory has too little; waiting says why */
	SAMPLER_LOST	 /* the connection `lost` failed */
};

/* A server and its table; if experiences are a list, the server alone. */
struct shard {
	struct link link;
	struct names names;
	double weight;		/* its share of a draw, from its last reply */
	bool exists, warm;	/* its table exists; has its part of warmup */
	uint64_t capacity;	/* that we made or accepted; 0: none yet */
	uint64_t connection;	/* the one that requests were sent over */
	size_t requests;	/* rounds requested and not yet answered, */
	bool sends_priorities[2];	/* and whether priorities went along */
	bool owes_priorities;	/* its part of the priorities is unsent */
};

/* A batch that is requested, or partly received. */
struct round {
	size_t share[SHARDS_MAX];	/* rows of each shard */
	bool received[SHARDS_MAX];
};

struct sampler {
	/* set by the caller before sampler_open(): */
	const struct conf *cf;
	const volatile sig_atomic_t *stop;	/* set by a signal */
	size_t reserve;		/* bytes that servers need for other keys */

	enum sampler_mode mode;
	struct shard *shard;	/* `shards` of them, owned */
	size_t shards;
	const struct link *lost;	/* the connection that failed */
	struct link *idle;	/* to a server that has too little to draw, */
	char waiting[256];	/* and what that server waits for */
	size_t bytes;		/* of an encoded experience */
	uint8_t *blob;		/* one of them and a priority; owned */
	size_t rows;		/* experiences of one exchange, */
	struct batch batch[2];	/* in each of these */
	size_t part;		/* which part of it the learner uses, */
	struct batch dealt;	/* borrowed from it */
	uint64_t draws;		/* batches drawn so far */
	uint64_t limits;	/* replies that a rate limit was reached */
	uint64_t bad;		/* experiences left out; why_bad: the last */
	const char *why_bad;
	struct latency exchange;	/* of draws */
	struct latency fetch;	/* of fetches from the list */
	struct rng rng;

	/* for tables: */
	uint64_t *ids;		/* rows of them, in the order of the wire; */
	float *values;		/* likewise; both owned */
	double *chance;		/* of each row of round 0; owned */
	struct round round[2];	/* those requested, the oldest first */
	size_t rounds;
	size_t drawn[2][SHARDS_MAX];	/* shares of the rows in a batch */
	uint64_t *priority_ids;	/* newest priorities, as they travel; owned */
	float *priority_values;
	size_t priority_counts[SHARDS_MAX];	/* how many go to each shard */

	/* for a list: */
	struct rows one;	/* the experience just received */
	struct local_replay replay;
	uint64_t fetched_ns;	/* when the list was last read */

	/* shared by learner and thread, under the lock: */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum sampler_state state[2];
	bool failed;		/* lost->call.why says why */
	size_t turn;		/* the batch that the learner uses next */
};

/* Return the row of the batches where the i-th experience drawn belongs. */
static inline size_t
sampler_row(const struct sampler *sm, size_t i)
{
	const size_t batches = sm->cf->remote.batches;

	return i % batches * sm->cf->hyper.batch + i / batches;
}

/* Return one shard's part of n, rounded up. */
static inline uint64_t
sampler_part(const struct sampler *sm, uint64_t n)
{
	return (n + sm->shards - 1) / sm->shards;
}

/*
 * Decode the experience in sm->blob, from byte `at` to `len`, into row i of
 * rows.  Return NULL, or what is wrong with it.
 */
static inline const char *
sampler_decode(const struct sampler *sm, size_t at, size_t len,
    struct rows *rows, size_t i)
{
	return codec_get(sm->cf->env, sm->blob + at, len < at ? 0 : len - at,
	    sm->bytes, rows, i);
}

#endif
