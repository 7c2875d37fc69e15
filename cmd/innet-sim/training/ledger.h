/*
 * ledger.h - gradients whose sums show which gradients are in them
 *
 * A segment of a gradient has two floats.  The first has a digit for each
 * worker, so that a sum shows how often each worker is in it.  The second is a
 * number that depends on the worker, the iteration (asynchronous: the push) and
 * the segment, so that a sum of other segments differs.  All sums are whole
 * numbers below 2^24 and therefore exact in any order.
 *
 * A synchronous result has each worker once.  An asynchronous result may have
 * any pushes, but those of a worker are in order and each is there once.  So
 * the first result of each round and segment is kept, and ledger_check_rounds()
 * checks all of them, up to the first with more contributions than a digit can
 * count, which a rack may send.  A worker that gets the same result later must
 * get the same bits.  A server answers each worker separately: all answers to a
 * worker together have the first pushes of every worker, and as many of its own
 * as there are answers.
 */
#ifndef INNET_SIM_LEDGER_H
#define INNET_SIM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/seg.h"

enum {
	LEDGER_FLOATS = 2,
	LEDGER_WORKERS_SYNC = 16,
	LEDGER_WORKERS_ASYNC = 7, /* 8^7 is below 2^24 */
	LEDGER_WORKERS_MANY = 4,  /* asynchronous, with racks or a server */
	LEDGER_DIGIT_MANY = 64	  /* and there 64^4 is 2^24 */
};

/* The first result of a round and segment; contributions 0: none yet. */
struct ledger_entry {
	uint16_t contributions;
	float who, what;
};

struct ledger {
	uint64_t seed;
	uint32_t workers, segs;
	uint32_t digit;			/* contributions of one, and 1 */
	bool async, server;
	bool restarted;			/* asynchronous: a worker started the
					 * job again, and so its rounds */
	uint32_t first, rounds;		/* asynchronous: rounds that are kept */
	/* round by segment; of a server, of each worker; owned */
	struct ledger_entry *entry;
	uint64_t results;		/* checked */
};

/* The training that a ledger checks. */
struct ledger_options {
	uint32_t workers, segs;
	bool async, racks, server;
	uint32_t rounds;		/* asynchronous */
};

/* Make a ledger; exit without memory. */
struct ledger *ledger_new(uint64_t seed, const struct ledger_options *cf);
void ledger_free(struct ledger *l);

/* Write the LEDGER_FLOATS floats of a worker's segment to vec. */
void ledger_put(const struct ledger *l, uint32_t worker, uint32_t iteration,
    uint32_t index, uint8_t *vec);

/* Check a result that a worker received; return NULL, or what is wrong. */
const char *ledger_check(struct ledger *l, uint32_t worker,
    const struct seg *g);

/*
 * Asynchronous, at the end: do all rounds have the pushes that there were,
 * pushes[worker]?  Return NULL, or what is wrong with segment *segment.
 */
const char *ledger_check_rounds(const struct ledger *l, const uint32_t *pushes,
    uint32_t *segment);

#endif
