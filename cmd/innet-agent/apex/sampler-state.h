/*
 * sampler-state.h - the state of a learner's sampler, and the layout of a batch
 *
 * sampler.c and sampler-table.c share this state, so it is not part of the
 * interface (sampler.h).
 *
 * With --batches, one exchange draws several batches and returns the priorities
 * of all of them, so that several batches share the cost of an exchange.  The
 * rows are dealt to the batches in turn: the first experience drawn goes to the
 * first batch, the second to the second batch, and so on.  The reason is that a
 * draw returns its strata in order.
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
	SAMPLER_BLOCKING,  /* the learner waits for each exchange */
	SAMPLER_PIPELINED, /* request a batch, and read it after learning from
			    * another one */
	SAMPLER_THREADED   /* a thread makes the exchanges */
};

/* The state of one of the two batches. */
enum sampler_state {
	SAMPLER_EMPTY,		/* no batch has been drawn yet */
	SAMPLER_READY,		/* the batch is drawn, but the learner has not
				 * used it yet */
	SAMPLER_TAKEN,		/* the learner learns from this batch */
	SAMPLER_PRIORITIZED	/* the learner has used the batch and set the
				 * new priorities */
};

enum sampler_result {
	SAMPLER_DRAWN,	 /* the batch is full */
	SAMPLER_NOT_YET, /* there are too few experiences; see sm->waiting */
	SAMPLER_LOST	 /* the connection sm->lost failed */
};

/*
 * A server and its table.  If experiences are a list, there is only the server.
 */
struct shard {
	struct link link;
	struct names names;
	double weight;		/* sum of priorities in the last reply */
	bool exists, warm;	/* the table exists; the table has its share of
				 * the warmup */
	uint64_t capacity;	/* capacity that this learner set or accepted;
				 * 0: none */
	uint64_t connection;	/* value of link.opened when the requests were
				 * sent */
	size_t requests;	/* number of requests without a reply yet */
	bool sends_priorities[2];	/* these requests contain priorities */
	bool owes_priorities;	/* this shard's share of the priorities is not
				 * sent yet */
};

/* A batch that is requested, or partly received. */
struct round {
	size_t share[SHARDS_MAX];	/* number of rows from each shard */
	bool received[SHARDS_MAX];
};

struct sampler {
	/* The caller sets the following members before sampler_open(): */
	const struct conf *cf;
	const volatile sig_atomic_t *stop;	/* flag that a signal handler
						 * sets */
	size_t reserve;		/* number of bytes that the servers need for
				 * other keys */

	enum sampler_mode mode;
	struct shard *shard;	/* array of `shards` elements, owned */
	size_t shards;
	const struct link *lost;	/* the connection that failed */
	/* A server that has too few experiences, and that server's error. */
	struct link *idle;
	char waiting[256];
	size_t bytes;		/* number of bytes in an encoded experience */
	uint8_t *blob;		/* one experience and its priority; owned */
	size_t rows;		/* number of experiences in one exchange */
	struct batch batch[2];	/* two batches, each with room for one
				 * exchange */
	size_t part;		/* index of the part that the learner uses */
	struct batch dealt;	/* the part that the learner uses, borrowed from
				 * batch[turn] */
	uint64_t draws;		/* number of batches drawn so far */
	uint64_t limits;	/* number of replies that reported a rate
				 * limit */
	uint64_t bad;		/* number of experiences left out */
	const char *why_bad;	/* reason why the last invalid experience was
				 * left out */
	struct latency exchange;	/* duration of draws */
	struct latency fetch;	/* duration of fetches from the list */
	struct rng rng;

	/* These are for tables: */
	uint64_t *ids;		/* `rows` identifiers in order of arrival;
				 * owned */
	float *values;		/* `rows` probabilities, and later `rows`
				 * importance weights; owned */
	double *chance;		/* probability of each row in round 0; owned */
	struct round round[2];	/* rounds that were requested, the oldest
				 * first */
	size_t rounds;
	/* drawn[b][k]: number of rows of batch b that came from shard k */
	size_t drawn[2][SHARDS_MAX];
	uint64_t *priority_ids;	/* new priorities in the order in which they are
				 * sent; owned */
	float *priority_values;
	size_t priority_counts[SHARDS_MAX];	/* number for each shard */

	/* The following members are used for a list: */
	struct rows one;	/* the experience that was just received */
	struct local_replay replay;
	uint64_t fetched_ns;	/* time when the list was last read */

	/*
	 * The learner and the thread share the following members under the
	 * lock:
	 */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum sampler_state state[2];
	bool failed;		/* lost->call.why has the reason */
	size_t turn;		/* the batch that the learner uses next */
};

/* Return the row, counted over all batches, of the i-th experience drawn. */
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
 * Decode the experience in sm->blob, from byte `at` to byte `len`, into row i
 * of rows.  Return NULL, or a description of the error.
 */
static inline const char *
sampler_decode(const struct sampler *sm, size_t at, size_t len,
    struct rows *rows, size_t i)
{
	return codec_get(sm->cf->env, sm->blob + at, len < at ? 0 : len - at,
	    sm->bytes, rows, i);
}

#endif
