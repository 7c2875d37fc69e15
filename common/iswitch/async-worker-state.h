/*
 * async-worker-state.h - an asynchronous worker: its settings and its state
 */
#ifndef INNET_ISWITCH_ASYNC_WORKER_STATE_H
#define INNET_ISWITCH_ASYNC_WORKER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/async-weights.h"
#include "common/iswitch/membership.h"
#include "common/arq/probe.h"

#define ASYNC_WORKER_NEVER MEMBERSHIP_NEVER

enum {
	ASYNC_WORKER_ASKS = 256,	/* of the server, waiting */
	ASYNC_WORKER_BURST_NS = 1000000,	/* of a paced vector */
	ASYNC_WORKER_AGAIN_NS = 1000000000,	/* then a server has none */
	ASYNC_WORKER_UNSENT_BYTES = 80000,	/* before another is committed:
						 * a run, and what the kernel
						 * adds */
	ASYNC_WORKER_WHY_BYTES = MEMBERSHIP_WHY_BYTES
};

struct async_worker_conf {
	float gamma;			/* negative: gradients point up */
	int64_t first;			/* round that the weights precede */
	uint64_t staleness;		/* rounds; staler is discarded */
	uint64_t pace_bps;		/* bits/s of vectors; 0: no limit */
	uint32_t run_segments;		/* what one send can carry */
};

/* Why it has ended, if not as a member; async_worker_why() has the words. */
enum async_worker_end {
	ASYNC_WORKER_GOING,
	ASYNC_WORKER_NO_MEMORY,
	ASYNC_WORKER_STUCK,		/* `round` of `index` does not come */
	/* or `round` of `index` shows that the job is not ours any more: */
	ASYNC_WORKER_AHEAD,		/* it has not come there */
	ASYNC_WORKER_OTHER,		/* it has another */
	ASYNC_WORKER_SILENT,		/* it does not show its own */
	ASYNC_WORKER_GONE		/* it keeps it no more */
};

enum async_worker_count {
	ASYNC_WORKER_SENT,		/* gradients, all of each */
	ASYNC_WORKER_SEGMENTS,
	ASYNC_WORKER_RESENT,		/* segments */
	ASYNC_WORKER_PROBES, ASYNC_WORKER_STATES, ASYNC_WORKER_NACKS,
	ASYNC_WORKER_COUNTS
};

/* To be sent: a run of segments of the gradient, or a control message. */
struct async_worker_out {
	uint32_t iteration, first, count;	/* count 0: a message */
	bool again;			/* the server lacks them, or they were
					 * lost */
	bool mended;			/* the mender's */
	size_t len;
	uint8_t message[CONTROL_MAX_BYTES];
};

struct async_worker {
	struct async_worker_conf cf;
	struct membership in;		/* of the job */
	struct async_weights weights;
	enum async_worker_end end;
	int64_t round;			/* of what ended it */
	uint32_t index;
	uint64_t n[ASYNC_WORKER_COUNTS];

	/* repair, if both sides know how: of the last push, and a round */
	bool repairs;
	struct retransmit retransmit;

	/* the gradient that was committed last */
	uint32_t pushes;		/* and those before it */
	uint32_t sent;			/* segments of it */
	bool busy;			/* it is being sent, or repaired */
	bool again;			/* ... once more, for all was lost */
	bool blocked;			/* there was no room */
	int64_t need;			/* t_s that a server's answer makes */
	uint64_t send_ns;		/* from then on: the next run */
	uint64_t told_ns;		/* it was sent, or asked for, last */
	uint32_t ask[ASYNC_WORKER_ASKS];	/* indices, a queue */
	uint32_t asks, asked;
};

#endif
