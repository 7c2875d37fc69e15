/*
 * sync-io.h - the packets of a synchronous worker, between its socket and its
 * vectors
 *
 * iswitch/sync-worker.h makes the decisions, and the caller owns the socket and
 * the clock.  Gradients are sent directly from a vector; one call sends a run
 * of segments.  Results are received directly into a vector if their place is
 * known before they arrive.  innet-worker and libinnet.so share this code, so
 * it prints nothing and never exits.  Times are monotonic, in ns.
 */
#ifndef INNET_WORKER_SYNC_IO_H
#define INNET_WORKER_SYNC_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cmd/innet-worker/control-io.h"
#include "cmd/innet-worker/udp-scatter.h"
#include "cmd/innet-worker/worker.h"
#include "common/iswitch/state-transfer.h"
#include "common/iswitch/sync-ring.h"
#include "common/iswitch/sync-worker.h"
#include "common/net/udp-transmit.h"

enum { SYNC_IO_WHY_BYTES = 1024 };

enum sync_io_count {
	SYNC_IO_RESULTS, SYNC_IO_FOREIGN, SYNC_IO_MALFORMED, SYNC_IO_BAD_MAC,
	SYNC_IO_BAD_PROOF, SYNC_IO_SEND_FAILED, SYNC_IO_COUNTS
};

struct sync_io {
	const struct worker_conf *cf;	/* borrowed */
	struct udp_transmit *out;	/* borrowed */
	struct control_io control;
	struct state_transfer transfer;
	struct sync_worker l;
	bool begun;			/* l is initialised */
	bool blocked;	/* the socket had no room; the caller clears this flag
			 * when it waits for room */
	uint32_t elements;		/* length of the vectors */
	bool has_ring;			/* `ring` is used, and not `grad` */
	float *grad[2], *result[2];	/* gradients and results, indexed by
					 * iteration & 1; in a ring, the results
					 * belong to `ring` */
	struct sync_ring ring;
	uint64_t given;	/* number of results that the caller has used */
	uint32_t place_t, place;	/* all segments of iteration place_t
					 * before segment `place` have
					 * arrived */
	uint8_t head[UDPIO_RUN_MAX][SEG_HEADER_BYTES + SEG_TAG_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX]; /* alternately the header and the
					        * floats of each segment */
	uint64_t n[SYNC_IO_COUNTS];
};

/* The values with which a worker joins a job. */
struct sync_io_join {
	uint64_t next;			/* the first iteration */
	uint32_t crc;			/* checksum of the weights; 0:
					 * unknown */
	uint32_t xid;			/* xid of the first request */
	uint64_t mtu;			/* MTU of the path */
	bool sends_state;		/* the worker can send its state to
					 * others */
};

/*
 * Initialise io, whose packets are sent through `out`.  Returns false with
 * errno set if the kernel provides no random numbers.
 */
bool sync_io_open(struct sync_io *io, const struct worker_conf *cf,
    struct udp_transmit *out);

/* Free the ring and the state, but not the vectors of other modes. */
void sync_io_free(struct sync_io *io);

/*
 * Open the ring of io->elements elements.  Returns false if out of memory.
 */
bool sync_io_open_ring(struct sync_io *io);

/*
 * Return the checksum with which workers with a ring join.  It also contains
 * the word "ring", so that the switch refuses a worker without a ring.  All
 * members must have the same `bytes` bytes at `weights`.
 */
uint32_t sync_io_ring_crc(const void *weights, size_t bytes);

/* Join the job. */
void sync_io_join(struct sync_io *io, const struct sync_io_join *at,
    uint64_t now_ns);

/* Send all packets that are due. */
void sync_io_send(struct sync_io *io, uint64_t now_ns);

/* Handle a datagram from the switch. */
void sync_io_receive(struct sync_io *io, const struct udpio_packet *p,
    uint64_t now_ns);

/*
 * Return the number of contributions of a complete sum.  Below a rack, the
 * worker knows this number only from --ranks.
 */
uint16_t sync_io_all_contributions(const struct sync_io *io);

/*
 * Write to `text` why the worker has ended.  `program` is the name of the
 * program whose gradients the worker carries.  The text begins with the name of
 * the switch.
 */
void sync_io_explain_end(const struct sync_io *io, const char *program,
    char text[SYNC_IO_WHY_BYTES]);

/*
 * Find the place in the vector for the results that come next.  Returns false
 * if the place is not known.  ctx points to a struct sync_io; sync-place.c.
 */
bool sync_io_find_place(void *ctx, struct udp_scatter *l);

/* Are the results in the message those whose place was found? */
bool sync_io_matches_place(void *ctx, const struct udpio_message *m);

#endif
