/*
 * ledger.h - gradients whose sums show what is in them, and are checked
 *
 * A segment of a gradient has two floats: which worker it is of, as a digit of
 * its own, so that a sum tells how often each is in it; and a number that
 * depends on worker, iteration (out of step: push) and segment, so that a sum
 * of others than it should be of is another.  All sums are whole numbers below
 * 2^24, exact in any order.
 *
 * In step a result is of each worker once.  Out of step it may be of any
 * pushes, but of each worker's in order and each once; so the first result of
 * each round and segment is written down, and ledger_check_rounds() goes
 * through them, up to one that has more contributions than a digit counts, as a
 * rack's may.  Whoever gets the same result later must get the same bits.  A
 * server answers each worker on his own: all answers to one are, together, the
 * first pushes of each worker, and as many of his own as there are answers.
 */
#ifndef INNET_SIM_LEDGER_H
#define INNET_SIM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/seg.h"

enum {
	LEDGER_FLOATS = 2,
	LEDGER_WORKERS_SYNC = 16,
	LEDGER_WORKERS_ASYNC = 7,	/* 8^7 is below 2^24 */
	LEDGER_WORKERS_MANY = 4,	/* out of step, by racks or a server */
	LEDGER_DIGIT_MANY = 64		/* and there 64^4 is 2^24 */
};

/* The first result of a round and a segment; contributions 0: none yet. */
struct ledger_entry {
	uint16_t contributions;
	float who, what;
};

struct ledger {
	uint64_t seed;
	uint32_t workers, segs;
	uint32_t digit;			/* contributions of one, and 1 */
	bool async, server;
	uint32_t first, rounds;		/* out of step: those written down */
	/* round by segment; of a server, of each worker; owned */
	struct ledger_entry *entry;
	uint64_t results;		/* checked */
};

/* What a ledger is of. */
struct ledger_options {
	uint32_t workers, segs;
	bool async, racks, server;
	uint32_t rounds;		/* out of step */
};

/* Exits without memory. */
struct ledger *ledger_new(uint64_t seed, const struct ledger_options *cf);
void ledger_free(struct ledger *l);

/* A worker's segment: its LEDGER_FLOATS floats to vec. */
void ledger_put(const struct ledger *l, uint32_t worker, uint32_t iteration,
    uint32_t index, uint8_t *vec);

/* A result has come to a worker: NULL, or what is wrong with it. */
const char *ledger_check(struct ledger *l, uint32_t worker,
    const struct seg *g);

/*
 * Out of step, when all is over: are all rounds of the pushes that there were,
 * pushes[worker]?  NULL, or what is wrong; *segment has it.
 */
const char *ledger_check_rounds(const struct ledger *l, const uint32_t *pushes,
    uint32_t *segment);

#endif
