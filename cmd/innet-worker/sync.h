/* sync.h - the state of a worker of a synchronous job; sync.c has its loop */
#ifndef INNET_WORKER_SYNC_H
#define INNET_WORKER_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/durations.h"

#include "cmd/innet-worker/carrier.h"
#include "cmd/innet-worker/pending-results.h"
#include "cmd/innet-worker/stall-report.h"
#include "cmd/innet-worker/sync-io.h"

enum sync_count {
	JOINS, CONTROL_IGNORED, ROUND_P10, ROUND_P50, ROUND_P90, ROUND_MEAN,
	IO, COUNTS = (int)IO + (int)SYNC_IO_COUNTS
};

struct sync {
	const struct worker_conf *cf;
	struct carrier c;
	struct sync_io io;		/* packets, and the vectors that they
					 * carry; io.given counts the results
					 * that the child has received */
	uint64_t mtu;
	uint64_t added_ns[SYNC_RING_PIECES];	/* times when the pieces of the
						 * ring were added */
	/* results that the child has not received yet */
	struct pending_results pending_results;
	uint64_t left;	/* number of synthetic gradients left; 0: no limit */
	uint64_t based;	/* value of `io.given` when the child's current gradient
			 * was taken */
	struct stall_report stall;
	bool has_state;	/* a state was fetched, and will be sent to the child
			 * next */
	bool skips_outdated;		/* gradients from weights older than the
					 * fetched state may still arrive */
	bool greeted;
	bool pending;			/* a gradient waits for its result */
	struct durations rounds;	/* times from the first segment sent to
					 * the last result received */
};

/*
 * Handle the results of a ring, and the gradients that the child sends for it;
 * sync-pieces.c.
 */
void sync_process_pieces(struct sync *w, uint64_t now_ns);

/* Open the ring.  Exits with status 1 if out of memory. */
void sync_open_ring(struct sync *w);

/* Free the vectors of the pieces whose results did not arrive. */
void sync_close_ring(struct sync *w);

/* Does the child send pieces of any length? */
static inline bool
sync_has_ring(const struct sync *w)
{
	return w->c.order.ring;
}

#endif
