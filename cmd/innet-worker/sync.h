/* sync.h - the state of a worker of a synchronous job; sync.c has its loop */
#ifndef INNET_WORKER_SYNC_H
#define INNET_WORKER_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-worker/udp-scatter.h"
#include "common/base/durations.h"
#include "common/iswitch/sync-ring.h"
#include "common/iswitch/sync-worker.h"

#include "cmd/innet-worker/carrier.h"
#include "cmd/innet-worker/pending-results.h"
#include "cmd/innet-worker/stall-report.h"
#include "cmd/innet-worker/control-io.h"

enum sync_count {
	JOINS, CONTROL_IGNORED, ROUND_P10, ROUND_P50, ROUND_P90, ROUND_MEAN,
	RESULTS, FOREIGN, MALFORMED, BAD_MAC, BAD_PROOF, SEND_FAILED, COUNTS
};

struct sync {
	const struct worker_conf *cf;
	struct carrier c;
	struct sync_worker l;
	uint64_t mtu;
	float *grad[2], *result[2];	/* gradients and results, indexed by
					 * iteration & 1; in a ring, the results
					 * belong to `ring` */
	struct sync_ring ring;		/* used if the child's hello says so */
	uint64_t added_ns[SYNC_RING_PIECES];	/* times when the pieces of the
						 * ring were added */
	struct control_io control;
	/* results that the child has not received yet */
	struct pending_results pending_results;
	uint64_t given;	/* number of results that the child has received */
	uint64_t left;	/* number of synthetic gradients left; 0: no limit */
	uint64_t based;	/* value of `given` when the child's current gradient
			 * was taken */
	struct stall_report stall;
	struct state_transfer transfer;
	bool has_state;	/* a state was fetched, and will be sent to the child
			 * next */
	bool skips_outdated;		/* gradients from weights older than the
					 * fetched state may still arrive */
	bool begun;			/* l is initialised */
	bool greeted;
	bool pending;			/* a gradient waits for its result */
	struct durations rounds;	/* times from the first segment sent to
					 * the last result received */
	uint64_t n[COUNTS];
	uint32_t place_t, place;	/* all segments of iteration place_t
					 * before segment `place` have
					 * arrived */
	uint8_t head[UDPIO_RUN_MAX][SEG_HEADER_BYTES + SEG_TAG_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX]; /* alternately the header and the
					        * floats of each segment */
};

/*
 * Handle the results of a ring, and the gradients that the child sends for it;
 * sync-pieces.c.
 */
void sync_process_pieces(struct sync *w, uint64_t now_ns);

/* Open the ring.  Exits with status 1 if out of memory. */
void sync_open_ring(struct sync *w);

/* Free the ring, and the pieces whose results did not arrive. */
void sync_close_ring(struct sync *w);

/* Does the child send pieces of any length? */
static inline bool
sync_has_ring(const struct sync *w)
{
	return w->c.order.ring;
}

/*
 * Find the place in the vector for the results that come next.  Returns false
 * if the place is not known.  ctx points to a struct sync.
 */
bool sync_find_place(void *ctx, struct udp_scatter *l);

/* Are the results in the message those whose place was found? */
bool sync_matches_place(void *ctx, const struct udpio_message *m);

#endif
