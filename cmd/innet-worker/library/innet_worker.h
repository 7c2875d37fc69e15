/*
 * innet_worker.h - sum vectors of several processes in the network: libinnet.so
 *
 * Each process joins a job of a switch that runs innet-switch -p iswitch, and
 * starts all_reduce operations.  Each operation adds the vectors of all members
 * and gives every member the sum.  All members must start operations of the
 * same lengths in the same order.
 *
 *	static struct innet_worker_options o;
 *	char why[INNET_WORKER_TEXT_BYTES];
 *
 *	o.size = sizeof(o);
 *	o.address = "10.0.0.1:46638";
 *	o.rank = rank;
 *	o.ranks = 4;
 *	struct innet_worker *w = innet_worker_join(&o, why);
 *	uint64_t ticket = innet_worker_start(w, vec, vec, n, NULL);
 *	if (innet_worker_wait(w, ticket, INNET_WORKER_NEVER) != 0)
 *		fprintf(stderr, "%s\n", innet_worker_error(w, why));
 *	innet_worker_leave(w);
 *
 * The library starts one thread for each handle.  It has no global variables,
 * handles no signals, prints nothing and never ends the process.  Several
 * threads can use a handle at the same time, except for innet_worker_leave().
 * After fork(), the child must not use the handles of its parent.
 *
 * Vectors are float (32 bits) in the byte order of the host, and may contain
 * infinities and NaN.  Names of times end in _ns for nanoseconds.
 * innet_worker(3) describes the options, and each function in more detail.
 */
#ifndef INNET_WORKER_H
#define INNET_WORKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INNET_WORKER_NEVER UINT64_MAX	/* a time-out that never ends */

enum {
	INNET_WORKER_TEXT_BYTES = 1024,	/* size of a buffer for an error */
	INNET_WORKER_DONE = 0,		/* the operation is complete */
	INNET_WORKER_PENDING = 1,	/* the operation is not complete yet */
	INNET_WORKER_FAILED = -1	/* the worker has failed */
};

struct innet_worker;			/* a member of a job */

/*
 * The options of a member.  Every member that is 0 has its default value.
 * Later versions of the library may add members at the end, so `size` must be
 * sizeof(struct innet_worker_options).
 */
struct innet_worker_options {
	size_t size;
	const char *address;	/* HOST:PORT of the switch; required */
	const char *key;	/* file with the key of the switch, or NULL */
	const char *auth;	/* packets to authenticate: "none", "control" or
				 * "all"; NULL: "control" with a key, and
				 * otherwise "none" */
	const void *session;	/* bytes that must be equal for all members, or
				 * NULL */
	size_t session_bytes;
	uint32_t job;		/* number of the job, 0 to 65535 */
	uint32_t rank;		/* number of this member, from 0 on */
	uint32_t ranks;		/* number of members, at most 4096; 0: that of
				 * the switch's -H, and the job waits for a
				 * replacement if a member leaves */
	uint32_t ring;		/* length of the ring in elements, equal for all
				 * members; 0: 749568 */
	uint32_t mtu;		/* largest packet in bytes, with its IP header;
				 * 0: the MTU of the path */
	uint64_t give_up_ns;	/* the worker fails after this time without an
				 * answer; 0: 30 s */
	uint64_t join_timeout_ns; /* innet_worker_join() fails after this time;
				   * 0: after give_up_ns without an answer */
	uint64_t silence_ns;	/* the worker fails if the caller starts no
				 * operation for this time; 0: never */
	uint64_t spin_ns;	/* after a packet, poll for this time before
				 * sleeping; at most 1 s */
	const char *impair;	/* faults of sent packets, for tests, such as
				 * "loss=1%"; NULL: none */
	const char *reduce;	/* how the switch combines the vectors: "sum",
				 * "ordered", "fixed", "median" or "trimmed:N";
				 * NULL: as the switch's options say.  Needs
				 * `ranks` */
	uint64_t straggler_ns;	/* time after which the switch completes a sum
				 * without late members, at most 1 h; 0: as the
				 * switch's options say.  Needs `ranks` */
};

/* The numbers of contributions to a sum. */
struct innet_worker_count {
	uint32_t most;	/* largest number of any segment; all segments are
			 * scaled to this number */
	uint32_t least;		/* smallest number of any segment */
};

/*
 * Join a job and return a handle, or NULL after a failure.  `why` has room for
 * INNET_WORKER_TEXT_BYTES, and gets the reason of a failure.  The function
 * returns when the switch has accepted this member, which can be before other
 * members join.
 */
struct innet_worker *innet_worker_join(
    const struct innet_worker_options *options, char *why);

/*
 * Start an operation: add the n floats at `in` to those of all other members,
 * and store the sum at `out`, which may be equal to `in` but must not overlap
 * it otherwise.  Returns a ticket, or 0 if the worker has failed.  The function
 * does not wait.  The library reads `in` and writes `out` until
 * innet_worker_wait() or innet_worker_test() returns INNET_WORKER_DONE or
 * INNET_WORKER_FAILED for this ticket, or innet_worker_leave() returns.
 *
 * If `count` is NULL, a sum that lacks the contribution of a member is a
 * failure.  Otherwise the library stores the numbers of contributions there,
 * at the latest when the operation is complete.
 */
uint64_t innet_worker_start(struct innet_worker *w, const float *in,
    float *out, size_t n, struct innet_worker_count *count);

/*
 * Wait until the operation with this ticket is complete, for at most
 * timeout_ns.  Operations complete in the order of their start.  If the
 * function returns INNET_WORKER_PENDING, the operation continues, and
 * innet_worker_error() returns the reason for the wait.
 */
int innet_worker_wait(
    struct innet_worker *w, uint64_t ticket, uint64_t timeout_ns);

/* Return the state of the operation with this ticket without waiting. */
int innet_worker_test(struct innet_worker *w, uint64_t ticket);

/*
 * Store the text of the last error in `why`, which has room for
 * INNET_WORKER_TEXT_BYTES, and return `why`.  After a failure of the worker,
 * the text is the reason of this failure.
 */
const char *innet_worker_error(struct innet_worker *w, char *why);

/*
 * Leave the job, end the thread and free the handle.  Operations that are not
 * complete are abandoned.  `w` may be NULL.
 */
void innet_worker_leave(struct innet_worker *w);

/*
 * Return the number of floats in a segment of the job.  Each vector begins with
 * a new segment, so vectors with a multiple of this length waste no space.
 */
uint32_t innet_worker_floats(struct innet_worker *w);

/* Return the version of the library, such as "1.0". */
const char *innet_worker_version(void);

#ifdef __cplusplus
}
#endif

#endif
