/*
 * sync.h - what a worker of a synchronous job has: sync.c is its loop
 */
#ifndef INNET_WORKER_SYNC_H
#define INNET_WORKER_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-worker/udp-scatter.h"
#include "common/base/durations.h"
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
	float *grad[2], *result[2];	/* by iteration & 1 */
	struct control_io control;
	struct pending_results
	    pending_results;		/* results the child has yet to get */
	uint64_t given;			/* iterations the child has, whole */
	uint64_t left;			/* made up: to --count; 0: no end */
	uint64_t based;			/* those its gradient was based on */
	struct stall_report stall;
	struct state_transfer transfer;
	bool has_state;			/* a state waits for the child */
	bool skips_outdated;		/* its gradients are of weights before
					 * that, still */
	bool begun;			/* l is there */
	bool greeted;
	bool pending;			/* a gradient waits for its result */
	struct durations rounds;	/* first segment to last result */
	uint64_t n[COUNTS];
	uint32_t place_t, place;	/* of that iteration all before is
					 * here */
	uint8_t head[UDPIO_RUN_MAX][SEG_HEADER_BYTES + SEG_TAG_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX];	/* head, floats, by turns */
};

/* Where results that come next belong; false: not known.  ctx: struct sync. */
bool sync_find_place(void *ctx, struct udp_scatter *l);

/* Are these the results that were to come there? */
bool sync_matches_place(void *ctx, const struct udpio_message *m);

#endif
