/*
 * sampler.h - a learner's batches, from a memory elsewhere
 *
 * The next batch is drawn while the learner learns from this one.  In one
 * exchange the priorities of a batch that is learned from go to the memory and
 * another is drawn, so a draw knows all priorities but those of the one batch
 * that is being learned from meanwhile.  Of several servers each draws a share
 * of a batch, by what it weighs (shards.h).  Where the memory is a table and
 * its answer is small, the learner asks for a batch and reads it one lesson
 * later: so it waits for no processor but its own, where actors take them all.
 * Else a thread with the connection does so, for it is work to receive much,
 * and to draw from a list.  Without prefetching the learner waits for each
 * exchange.
 *
 * --batches has one exchange draw several batches of a table, and tell what
 * priorities all of them got: what it costs to send, to be answered and to wake
 * a thread is then paid once for so many lessons.  They are dealt out, the
 * first experience drawn to the first batch, the second to the second: strata
 * are in order.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_H
#define INNET_AGENT_APEX_SAMPLER_H

#include <pthread.h>

#include "cmd/innet-agent/apex/redis-link.h"
#include "cmd/innet-agent/algo/off-policy.h"
#include "cmd/innet-agent/apex/names.h"
#include "common/base/latency.h"

enum { FEED_FETCH_MOST = 4096 };	/* experiences of a list at once */
enum feed_how { FEED_WAIT, FEED_ASK, FEED_THREAD };
enum feed_state { FEED_EMPTY, FEED_READY, FEED_TAKEN, FEED_JUDGED };

/* A server, and its table; of a list, the server alone. */
struct shard {
	struct link link;
	struct names names;
	double weigh;		/* what it is drawn by, as seen last */
	bool made, warm;	/* it is there; it has its part of warmup */
	uint64_t capacity;	/* it was found to fit with; 0: not yet */
	uint64_t opened;	/* of the connection asked over; */
	size_t asked;		/* rounds whose answer is to come, */
	bool told[2];		/* and whether priorities went with it */
	bool owed;		/* what f->told has for it is to be told */
};

/* A batch that is asked for, or of which some has come. */
struct round {
	size_t share[SHARDS_MAX];	/* of each shard */
	bool come[SHARDS_MAX];
};

struct feed {
	/* the caller's: */
	const struct conf *cf;
	const volatile sig_atomic_t *got;	/* a signal came */
	size_t reserve;		/* bytes that servers are to have besides */

	enum feed_how how;
	struct shard *shard;
	size_t shards;
	const struct link *lost;	/* the connection that failed */
	struct link *idle;	/* whose server has nothing to draw, */
	char waiting[256];	/* and what it waits for */
	size_t bytes;		/* of an experience */
	uint8_t *blob;		/* one, with what may stand before it */
	size_t many;		/* experiences in one of these, */
	struct batch batch[2];
	size_t part;		/* of which the learner has this one, */
	struct batch dealt;	/* borrowed from there */
	uint64_t draws;		/* so far */
	uint64_t limits;	/* answers that a limit was reached */
	uint64_t bad;		/* experiences left out: see why_bad */
	const char *why_bad;
	/* of both, or without a table: draws, */
	struct latency exchange;
	struct latency fetch;	/* and fetches of the list */
	struct rng rng;

	/* of a table: */
	uint64_t *ids;		/* as they travel, batch of them; */
	float *numbers;
	double *chance;		/* of what has come of round 0 */
	struct round round[2];	/* from the one that is next, */
	size_t rounds;
	size_t drawn[2][SHARDS_MAX];	/* shares of what is in a batch */
	uint64_t *told_ids;	/* priorities told last, as they travel, */
	float *told_numbers;
	size_t told[SHARDS_MAX];	/* and how many to each shard */

	/* of a list: */
	struct rows one;	/* that has just come */
	struct replay replay;
	uint64_t fetched_ns;	/* when last */

	/* what learner and thread share, under the lock: */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum feed_state state[2];
	bool failed;		/* lost->call.why says why */
	size_t turn;		/* whose batch is the learner's next */
};

/*
 * One of the two ways to exchange batches, by what is in the memory: fill b,
 * whose priorities are told before if it is judged.
 */
enum feed_result { FEED_DRAWN, FEED_NOT_YET, FEED_LOST };
enum feed_result feed_table(struct feed *f, struct batch *b, bool judged);
enum feed_result feed_list(struct feed *f, struct batch *b, bool judged);

/* Where the i-th that is drawn stands among the batches of an exchange. */
static inline size_t
feed_place(const struct feed *f, size_t i)
{
	const size_t batches = f->cf->remote.batches;

	return i % batches * f->cf->set.batch + i / batches;
}

/* A shard's part of so many. */
static inline uint64_t
feed_part(const struct feed *f, uint64_t n)
{
	return (n + f->shards - 1) / f->shards;
}

/* s has its table: it was there, or it is made now. */
bool feed_make(struct feed *f, struct shard *s);

/*
 * The table of s draws as the learner does, and has the capacity and the alpha
 * that options gave; or there is none.
 */
bool feed_fits(struct feed *f, struct shard *s);

/* The same of all tables; false with f->lost. */
bool feed_check(struct feed *f);

/*
 * Ask for a batch, and say what priorities b has, if it is not NULL.  Where a
 * connection fails, who waits for the answer sees it.
 */
void feed_ask(struct feed *f, const struct batch *b);

/* What is wrong with the experience in f->blob, from `at` on, or row i. */
const char *feed_row(struct feed *f, size_t at, size_t len, struct rows *rows,
    size_t i);

/* With f->cf and f->got set; exits 1 without memory. */
void feed_open(struct feed *f);

/* Remove all tables but the first; false with f->lost. */
bool feed_clear(struct feed *f);

/* Begin to draw, perhaps ahead; exits 1 without a thread. */
void feed_begin(struct feed *f);

/* Draw no more: all of *f may be read from here on.  And give back memory. */
void feed_end(struct feed *f);
void feed_close(struct feed *f);

/* What a learner is to use. */
struct memory feed_memory(struct feed *f);

#endif
