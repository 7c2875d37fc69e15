/*
 * weight-update-thread.h - the thread that keeps the weights: LWU of iSwitch's
 * Algorithm 1
 *
 * async-worker.h decides; this is its clock, its socket and its lock.  The
 * thread holds the lock of all that both see, the socket too, except while it
 * sleeps; the other thread (LGC) reads and commits between lwu_enter() and
 * lwu_exit(), for a copy of the weights at the longest.  Each wakes the other
 * through an eventfd.
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
	bool ascend;			/* add gradients, not subtract them */
	pthread_t thread;
	int wake_fd, notify_fd; /* eventfds: of the thread, of LGC */
	atomic_uint lock_waiters;		/* LGC waits for the lock */

	pthread_mutex_t lock;		/* of all from here on: */
	struct udpio *u;
	struct udp_transmit *out;
	struct async_worker w;
	struct state_transfer transfer;
	struct control_io control;
	bool was_member;   /* in the job, with these weights */
	uint8_t *gradient; /* the gradient that was committed */
	bool leave, over, failed;
	unsigned possible; /* what LGC might do at the last look */
	int64_t reported_round;			/* rounds whose CRC was told */
	uint64_t n[WEIGHT_THREAD_COUNTS];
	struct durations rounds;	/* a commit to the round after it */
	uint64_t committed_ns;		/* since the last round; 0: none */
	uint8_t head[UDPIO_RUN_MAX][SEG_HEADER_BYTES + SEG_TAG_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX];	/* head, floats, by turns */
};

/* Start it with weights as they are before round `first`, or exit 1. */
void weight_thread_start(struct weight_thread *l, const struct worker_conf *cf,
    struct udpio *u, struct udp_transmit *out, uint64_t mtu, uint32_t elements,
    const uint8_t *w, uint64_t first, bool ascend);

/* Leave the job, end the thread.  False if it has failed and said why. */
bool weight_thread_stop(struct weight_thread *l);

void weight_thread_lock(struct weight_thread *l);
void weight_thread_unlock(struct weight_thread *l);

/* What it rang for will be looked at now. */
void weight_thread_clear_notice(struct weight_thread *l);

/* Within the lock: may a gradient be committed? */
bool weight_thread_is_ready(const struct weight_thread *l);

/* Within: commit one, which is copied, and sent in the background. */
void weight_thread_commit(struct weight_thread *l, const uint8_t *vec);

/* Within: copy weights that are newer than *seen says; are there any? */
bool weight_thread_copy_weights(
    const struct weight_thread *l, uint8_t *w, uint64_t *seen);

#endif
