/*
 * handle.h - the state behind a handle of innet_worker.h
 *
 * The caller's threads and the thread of the library share the members that
 * `lock` guards.  The thread of the library owns the socket, the ring and the
 * membership.  It reads and writes the caller's vectors only while their
 * operations are not complete and the worker has not failed.
 */
#ifndef INNET_WORKER_LIBRARY_HANDLE_H
#define INNET_WORKER_LIBRARY_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-worker/library/innet_worker.h"
#include "cmd/innet-worker/stall-report.h"
#include "cmd/innet-worker/sync-io.h"
#include "cmd/innet-worker/udp-receiver.h"
#include "cmd/innet-worker/worker.h"
#include "common/auth/key.h"
#include "common/net/spin.h"
#include "common/net/udp-io.h"
#include "common/net/udp-transmit.h"

/* One all_reduce of the caller; all pointers are borrowed. */
struct operation {
	const float *in;
	float *out;
	uint32_t n;			/* number of elements; may be 0 */
	struct innet_worker_count *count;	/* NULL: the sum must have all
						 * contributions */
};

struct innet_worker {
	/* constant after innet_worker_join() has started the thread */
	struct worker_conf cf;
	struct key key;
	char *name;			/* address of the switch, as the caller
					 * wrote it; owned */
	uint64_t silence_ns;		/* TIMER_NEVER: no limit */
	pthread_t thread;
	bool has_thread;
	int wake_fd;			/* an eventfd that ends the thread's
					 * wait; -1: not open */

	/* used by the thread */
	struct udpio u;
	bool has_socket;
	struct udp_transmit out;
	struct udp_receiver in;
	struct sync_io io;
	struct spin spin;
	struct stall_report stall;
	uint64_t stalled_since_ns;	/* start of the wait that `stalled`
					 * describes */
	uint64_t used_ns;		/* time when an operation last began or
					 * ended */

	/* guarded by `lock` */
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* signalled for all members below */
	unsigned waiters;		/* number of threads that wait for
					 * `changed` */
	struct operation *queue;	/* owned; the operation with ticket t is
					 * at (t - 1) % room */
	size_t room;			/* a power of two, or 0 */
	uint64_t started;		/* last ticket */
	uint64_t taken;			/* last ticket that the thread has put
					 * into the ring */
	uint64_t done;			/* last ticket whose operation is
					 * complete */
	bool leaving;			/* the caller leaves the job */
	bool joined, failed;
	uint32_t floats;		/* if `joined`: number of floats in a
					 * segment */
	char failure[INNET_WORKER_TEXT_BYTES];	/* if `failed`: the reason */
	char stalled[INNET_WORKER_TEXT_BYTES];	/* reason of the current wait,
						 * or "" */
	char error[INNET_WORKER_TEXT_BYTES];	/* last error of a function */
};

/* The function of the library's thread; arg is a struct innet_worker. */
void *innet_worker_thread(void *arg);

#endif
