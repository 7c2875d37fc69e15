/*
 * carrier.h - the parts of innet-worker that all modes share
 *
 * A carrier reads gradients from a child process and checks its messages, or
 * makes up synthetic gradients at a given rate.  It also has the socket, the
 * wait for events, the capture and the summary.  A mode asks carrier_next() for
 * the next message, sends results with child_send(), and sets `done` when it is
 * done; a mode that fails prints why and calls carrier_fail().
 */
#ifndef INNET_WORKER_CARRIER_H
#define INNET_WORKER_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rng.h"
#include "common/net/child.h"
#include "common/net/udp-transmit.h"
#include "common/net/udp-io.h"
#include "cmd/innet-worker/udp-scatter.h"
#include "common/wire/stream-order.h"
#include "common/wire/stream.h"

#include "cmd/innet-worker/worker.h"

enum {
	CARRIER_AT_ONCE = 64,	/* of one kind, before other work is done */
	CARRIER_MISSES = 16	/* messages not placed after a wrong guess */
};

enum carrier_event {
	CARRIER_NOTHING,
	CARRIER_HELLO,		/* `elements` is known: answer the hello */
	CARRIER_WEIGHTS,	/* never synthetic */
	CARRIER_GRADIENT,
	CARRIER_STATE		/* the child was asked for it */
};

struct carrier_callbacks;

struct carrier {
	const struct worker_conf *cf;
	struct udpio u;
	struct udp_transmit out;	/* over u: modes send with this */
	int got, next;			/* messages of u: received, current */
	size_t at;			/* offset in the current message */
	const struct carrier_callbacks *callbacks; /* the mode's, and its own */
	void *ctx;
	struct udp_scatter place; /* of the message, if placed */
	bool placed;
	unsigned misses;		/* messages still not to be placed */
	unsigned batches;		/* received since the last wait */
	struct child child;
	struct stream_order order;		/* state of the conversation */
	struct rng rng;
	uint32_t worker;		/* for hello and summary: as given, or
					 * as a mode has learnt */
	uint32_t elements;		/* of all vectors; 0 not known yet */
	float *vec;			/* a synthetic gradient; owned */
	uint64_t gradients;		/* so far */
	bool last;			/* --count gradients have been taken */
	bool mode_makes_vectors;	/* set by a mode that makes up vectors
					 * itself */
	bool child_paused;		/* by one that takes none for now */
	bool blocked;			/* by one with more to send than the
					 * socket took: a nap ends for room */
	bool socket_in_thread;		/* by one whose thread has the socket
					 * and the capture */
	int watch;			/* what a nap ends for: u.fd, or that
					 * thread's bell */
	bool child_ended, child_has_exited, bye;
	uint64_t start_ns;		/* all these are monotonic */
	uint64_t end_ns;		/* of --duration */
	uint64_t next_ns;		/* next synthetic gradient */
	uint64_t child_heard_ns;		/* last message of the child */
	uint64_t ticked_ns, warned_ns;
	uint64_t unreachable;		/* packets, at the last warning */
	unsigned taken;			/* events since the last wait */
	int rc;
	bool done;
};

/*
 * Open the socket, whose packets have this ToS, and start the child if there is
 * one, or exit 1.  Stores the path's MTU, or the one that was given, in *mtu.
 */
void carrier_open(struct carrier *c, const struct worker_conf *cf,
    uint8_t tos, uint64_t *mtu);

/* End the child and close everything.  Returns the exit status. */
int carrier_close(struct carrier *c);

/*
 * Should the worker end?  It does when it is done, got a signal, reached its
 * time limit, or lost the reader of its capture.
 */
bool carrier_is_over(const struct carrier *c, uint64_t now_ns);

/*
 * Wait until a packet or bytes of the child come, a synthetic gradient is due,
 * or span_ns is over.  Also writes pending bytes to the child and sends packets
 * that --impair has delayed.
 */
void carrier_wait(struct carrier *c, uint64_t now_ns, uint64_t span_ns);

/*
 * Return the next event.  *h and *body (borrowed until the next call) are those
 * of weights and gradients.  Returns at most CARRIER_AT_ONCE events between two
 * waits.
 */
enum carrier_event carrier_next(struct carrier *c, uint64_t now_ns,
    struct stream_head *h, const uint8_t **body);

/*
 * Store in *to where gradients point: as the user says, or the child's hello,
 * or `unsaid`. If the two contradict each other, prints that, fails the run and
 * returns false.
 */
bool carrier_direction(struct carrier *c, enum stream_direction unsaid,
    enum stream_direction *to);

/* Ask the child for its state, once; CARRIER_STATE will follow. */
void carrier_ask_state(struct carrier *c);

/*
 * Is the child's next message its state?  For modes that take no other message
 * now.
 */
bool carrier_has_state(struct carrier *c);

/* Let the child go on from a state after `iteration` results. */
void carrier_give_state(struct carrier *c, const uint8_t *state,
    uint32_t bytes, uint64_t iteration);

/* Answer the child's hello, if there is a child. */
void carrier_send_hello(struct carrier *c, unsigned members);
/* Do so with more members: JSON that begins with a comma, 256 bytes at most. */
void carrier_send_hello_with(struct carrier *c, unsigned members,
    const char *more);

/*
 * Is a message due that the child must send first?  If for too long, prints
 * which and fails.
 */
bool carrier_awaits_child(struct carrier *c, uint64_t now_ns);

/* Check the child, and return true once a second, for progress. */
bool carrier_tick(struct carrier *c, uint64_t now_ns);

/* Has SIGUSR1 come since the last call? */
bool carrier_summary_requested(struct carrier *c);

/*
 * Is the summary printed at the end of a run with this exit status?  The reason
 * for a failure comes last, so no summary for people follows it.
 */
bool carrier_wants_summary(const struct worker_conf *cf, int rc);

/* Print the summary: `counts` counters by name, and those of the socket. */
void carrier_summary(const struct carrier *c, const char *const *name,
    const uint64_t *n, size_t counts);

/*
 * Return the next datagram that came, already captured; false if there is none
 * for now.  During a flood it stops after CARRIER_AT_ONCE batches, so that
 * other work is done.
 */
bool carrier_packet(struct carrier *c, struct udpio_packet *p);

/* The callbacks of a mode; ctx is its own. */
struct carrier_callbacks {
	/* Return when it has work to do, or TIMER_NEVER. */
	uint64_t (*deadline_ns)(const void *ctx);
	void (*receive)(void *ctx, const struct udpio_packet *p,
	    uint64_t now_ns);
	/* Where what comes next belongs, unless that is not known; and were
	 * these heads foreseen?  NULL: it never is. */
	bool (*find_place)(void *ctx, struct udp_scatter *l);
	bool (*matches_place)(void *ctx, const struct udpio_message *m);
	/* After all packets: read the child, then do work that is due. */
	void (*read_child)(void *ctx, uint64_t now_ns);
	void (*act)(void *ctx, uint64_t now_ns);
};

/*
 * Wait until there is something to do, 50 ms at most, and hand over the packets
 * that came.  Returns the time after the wait.
 */
uint64_t carrier_run_once(struct carrier *c, const struct carrier_callbacks *m,
    void *ctx, uint64_t now_ns);

/* Run until it is over. */
void carrier_run(
    struct carrier *c, const struct carrier_callbacks *m, void *ctx);

/*
 * After carrier_close(), when no gradient was sent: print why, or that there
 * was no gradient, unless another reason was printed, a signal ended the
 * worker, or the child said hello and had nothing to do.  Returns the exit
 * status.
 */
int carrier_sent_nothing(const struct carrier *c, const char *why);

/* Fail the run; the caller has printed why. */
void carrier_fail(struct carrier *c);

#endif
