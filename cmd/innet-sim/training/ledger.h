/*
 * ledger.h - gradients whose sums show which gradients they contain
 *
 * A segment of a gradient has two floats.  The first float has a digit for each
 * worker, so that a sum shows how many contributions of each worker it
 * contains.  The second float is a number that depends on the worker, the
 * segment, and the iteration (in an asynchronous training job, the push).  So a
 * sum of wrong segments has a wrong second float.  All sums are whole numbers
 * below 2^24 and therefore exact in any order.
 *
 * A synchronous result contains one contribution of each worker.  An
 * asynchronous result may contain any pushes, but the pushes of a worker must
 * be in order, and each must occur once.  The ledger therefore keeps the first
 * result of each round and segment, and ledger_check_rounds() checks them.  It
 * stops at the first result with more contributions than a digit can count; a
 * rack may send such a result.  A worker that gets the same result later must
 * get the same bits.
 *
 * A server answers each worker separately.  Together, all answers to a worker
 * must contain the first pushes of every worker, and as many of the worker's
 * own pushes as there are answers.
 */
#ifndef INNET_SIM_LEDGER_H
#define INNET_SIM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/seg.h"

enum {
	LEDGER_FLOATS = 2,
	LEDGER_WORKERS_SYNC = 16,
	LEDGER_WORKERS_ASYNC = 7, /* limit: 8^7 is below 2^24 */
	LEDGER_WORKERS_MANY = 4,  /* maximum number of workers in asynchronous
				   * jobs with racks or a server */
	LEDGER_DIGIT_MANY = 64	  /* base of the digits in asynchronous jobs
				   * with racks or a server: 64^4 is 2^24 */
};

/*
 * The first result of a round and segment.  If `contributions` is 0, no result
 * has arrived.
 */
struct ledger_entry {
	uint16_t contributions;
	float who, what;
};

struct ledger {
	uint64_t seed;
	uint32_t workers, segs;
	uint32_t digit;	/* base of the digits of the first float */
	bool async, server;
	bool restarted;			/* a worker of an asynchronous job
					 * started the job again, so the rounds
					 * began again, too */
	uint32_t first, rounds;	/* asynchronous: first round that is kept;
				 * number of rounds that are kept */
	/*
	 * entries, indexed by round and segment; with a server, also by worker;
	 * owned
	 */
	struct ledger_entry *entry;
	uint64_t results;		/* number of results checked so far */
};

/* The training job that a ledger checks. */
struct ledger_options {
	uint32_t workers, segs;
	bool async, racks, server;
	uint32_t first, rounds;	/* in asynchronous jobs: first round, and number
				 * of rounds to keep */
};

/* Make a ledger.  Exits if out of memory. */
struct ledger *ledger_new(uint64_t seed, const struct ledger_options *cf);
void ledger_free(struct ledger *l);

/* Write the LEDGER_FLOATS floats of a worker's segment to vec. */
void ledger_put(const struct ledger *l, uint32_t worker, uint32_t iteration,
    uint32_t index, uint8_t *vec);

/* Check a result that a worker received.  Returns NULL, or an error message. */
const char *ledger_check(struct ledger *l, uint32_t worker,
    const struct seg *g);

/*
 * At the end of an asynchronous training job, check that all rounds together
 * contain the pushes that were sent: pushes[worker] of each worker.  Returns
 * NULL, or an error message about segment *segment.
 */
const char *ledger_check_rounds(const struct ledger *l, const uint32_t *pushes,
    uint32_t *segment);

#endif
