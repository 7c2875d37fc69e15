/*
 * weight-update-thread.h - the thread that keeps the weights: LWU (local weight
 * update) in iSwitch's Algorithm 1
 *
 * iswitch/async-worker.h makes the decisions; this thread owns the clock, the
 * socket and the lock.  The thread holds the lock of all shared data, including
 * the socket, except while it sleeps.  The other thread (LGC, local gradient
 * computing) reads and commits between weight_thread_lock() and
 * weight_thread_unlock().  LGC holds the lock only as long as it takes to copy
 * the weights once.  Each thread wakes the other through an eventfd.
 */
#ifndef INNET_WORKER_WEIGHT_UPDATE_THREAD_H
#define INNET_WORKER_WEIGHT_UPDATE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/durations.h"
#include "common/iswitch/async-worker.h"
#include "common/net/spin.h"
#include "common/net/udp-transmit.h"

#include "cmd/innet-worker/control-io.h"
#include "cmd/innet-worker/worker.h"

enum weight_thread_count {
	WEIGHT_THREAD_SEND_FAILED,
	WEIGHT_THREAD_FOREIGN,
	WEIGHT_THREAD_MALFORMED,
	WEIGHT_THREAD_BAD_MAC,
	WEIGHT_THREAD_BAD_PROOF,
	WEIGHT_THREAD_COUNTS
};

struct weight_thread {
	const struct worker_conf *cf;
	uint64_t mtu;
	uint32_t elements;
	bool ascend;	/* add gradients instead of subtracting them */
	pthread_t thread;
	int wake_fd, notify_fd; /* eventfd that wakes this thread; eventfd that
				 * wakes the gradient thread (LGC) */
	struct spin spin;
	atomic_uint lock_waiters; /* number of threads that wait for the lock */

	pthread_mutex_t lock;		/* protects the following fields */
	struct udpio *u;
	struct udp_transmit *out;
	struct async_worker w;
	struct state_transfer transfer;
	struct control_io control;
	bool was_member;   /* the worker has been a member of the job with these
			    * weights */
	uint8_t *gradient; /* the committed gradient; owned */
	bool leave, over, failed;
	unsigned possible; /* the actions that the gradient thread (LGC) could
			    * take at the last check */
	int64_t reported_round;	/* next round whose CRC may be printed */
	uint64_t n[WEIGHT_THREAD_COUNTS];
	struct durations rounds; /* times from a commit to the next round */
	uint64_t committed_ns;		/* time of a commit since the last
					 * round; 0: none */
	uint8_t head[UDPIO_RUN_MAX][SEG_HEADER_BYTES + SEG_TAG_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX]; /* alternately the header and the
					        * floats of each segment */
};

/*
 * Start the thread with the weights before round `first`.  Exits with status 1
 * on failure.
 */
void weight_thread_start(struct weight_thread *l, const struct worker_conf *cf,
    struct udpio *u, struct udp_transmit *out, uint64_t mtu, uint32_t elements,
    const uint8_t *w, uint64_t first, bool ascend);

/*
 * Leave the job and end the thread.  Returns false if the thread has failed and
 * has printed why.
 */
bool weight_thread_stop(struct weight_thread *l);

/*
 * Take the lock.  If the thread waits for the lock, too, the caller gets it
 * first.
 */
void weight_thread_lock(struct weight_thread *l);
/* Release the lock. */
void weight_thread_unlock(struct weight_thread *l);

/*
 * Clear the notification of the thread.  Call this before you read the state of
 * the thread.
 */
void weight_thread_clear_notice(struct weight_thread *l);

/* Can a gradient be committed now?  The caller must hold the lock. */
bool weight_thread_is_ready(const struct weight_thread *l);

/*
 * Commit a gradient: copy it, and let the thread send it.  The caller must hold
 * the lock.
 */
void weight_thread_commit(struct weight_thread *l, const uint8_t *vec);

/*
 * Copy the weights and return true if they are newer than *seen; otherwise
 * return false.  The caller must hold the lock.
 */
bool weight_thread_copy_weights(
    const struct weight_thread *l, uint8_t *w, uint64_t *seen);

#endif
