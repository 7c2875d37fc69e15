/*
 * carrier.h - what all modes of innet-worker share
 *
 * Where gradients come from: a child process whose messages are judged here,
 * or made up in time.  Beside it the socket, the nap until something can be
 * done, the capture, and the lines it says.  A mode asks carrier_next() for
 * what is new, gives results with child_send(), and is done when it sets
 * `done`; a mode that fails says why and calls carrier_fail().
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
	CARRIER_AT_ONCE = 64,	/* of anything, between looks at all else */
	CARRIER_MISSES = 16	/* messages not guessed at after a wrong one */
};

enum carrier_event {
	CARRIER_NOTHING,
	CARRIER_HELLO,		/* `elements` is known; answer the hello */
	CARRIER_WEIGHTS,	/* of a child alone */
	CARRIER_GRADIENT,
	CARRIER_STATE		/* of a child that was asked for it */
};

struct carrier_callbacks;

struct carrier {
	const struct worker_conf *cf;
	struct udpio u;
	struct udp_transmit out;		/* over u: send here */
	int got, next;			/* messages of u: had, being read */
	size_t at;			/* in that one */
	const struct carrier_callbacks *callbacks; /* the mode's, and its own */
	void *ctx;
	struct udp_scatter place; /* of the message, if it is there: */
	bool placed;
	unsigned misses;		/* messages that are not guessed at */
	unsigned batches;		/* since the last nap */
	struct child child;
	struct stream_order order;		/* what it has said */
	struct rng rng;
	uint32_t worker;		/* for hello and summary: as told, or
					 * as a mode has learnt */
	uint32_t elements;		/* of all vectors; 0 not known yet */
	float *vec;			/* a made-up gradient */
	uint64_t gradients;		/* taken or made so far */
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
	uint64_t child_heard_ns;		/* the child, last */
	uint64_t ticked_ns, warned_ns;
	uint64_t unreachable;		/* as warned of */
	unsigned taken;			/* messages since the last nap */
	int rc;
	bool done;
};

/*
 * Open the socket, whose packets leave with tos, and start the child if there
 * is to be one, or exit 1.  *mtu becomes the path's, or what was given.
 */
void carrier_open(struct carrier *c, const struct worker_conf *cf,
    uint8_t tos, uint64_t *mtu);

/* End the child, close all.  The exit status. */
int carrier_close(struct carrier *c);

/* Is it to end: done, a signal, its time, nobody who reads a capture? */
bool carrier_is_over(const struct carrier *c, uint64_t now_ns);

/*
 * Sleep until a packet or the child's bytes come, a synthetic gradient is
 * due, or at most span_ns.  Bytes for the child are written on, and packets
 * that --impair made late are sent.
 */
void carrier_wait(struct carrier *c, uint64_t now_ns, uint64_t span_ns);

/*
 * What is new: *h and *body (borrowed until the next call) of weights and
 * gradients.  At most CARRIER_AT_ONCE from one nap to the next.
 */
enum carrier_event carrier_next(struct carrier *c, uint64_t now_ns,
    struct stream_head *h, const uint8_t **body);

/*
 * Where gradients point: as the user says, or the child's hello, or `unsaid`.
 * False if the two contradict each other: that is said, and the run fails.
 */
bool carrier_direction(struct carrier *c, enum stream_direction unsaid,
    enum stream_direction *to);

/* Ask the child for its state, once; CARRIER_STATE will follow. */
void carrier_ask_state(struct carrier *c);

/* Is what comes next of the child its state?  For who takes nothing else. */
bool carrier_has_state(struct carrier *c);

/* Tell the child to go on from a state, which has so many results. */
void carrier_give_state(struct carrier *c, const uint8_t *state,
    uint32_t bytes, uint64_t iteration);

/*
 * Answer the child's hello, if there is a child; _with more members, as JSON
 * that begins with a comma, 256 bytes at most.
 */
void carrier_send_hello(struct carrier *c, unsigned members);
void carrier_send_hello_with(struct carrier *c, unsigned members,
    const char *more);

/* Has the child not yet said what it must?  If for too long, name it. */
bool carrier_awaits_child(struct carrier *c, uint64_t now_ns);

/* Look after the child, SIGUSR1 aside; true once a second, for progress. */
bool carrier_tick(struct carrier *c, uint64_t now_ns);

/* Has SIGUSR1 come since the last call? */
bool carrier_summary_requested(struct carrier *c);

/* The summary: so many counters by name, and the socket's. */
void carrier_summary(const struct carrier *c, const char *const *name,
    const uint64_t *n, size_t counts);

/*
 * The next datagram that has come, in the capture already; false if there is
 * none for now.  A flood ends after CARRIER_AT_ONCE batches, for the rest.
 */
bool carrier_packet(struct carrier *c, struct udpio_packet *p);

/* What a mode does whenever its loop turns; ctx is its own. */
struct carrier_callbacks {
	/* When it has something to do; TIMER_NEVER. */
	uint64_t (*deadline_ns)(const void *ctx);
	void (*receive)(void *ctx, const struct udpio_packet *p,
	    uint64_t now_ns);
	/* Where what comes next belongs, unless that is not known; and were
	 * these heads foreseen?  NULL: it never is. */
	bool (*find_place)(void *ctx, struct udp_scatter *l);
	bool (*matches_place)(void *ctx, const struct udpio_message *m);
	/* After all packets: what the carrier has, then what is due. */
	void (*read_child)(void *ctx, uint64_t now_ns);
	void (*act)(void *ctx, uint64_t now_ns);
};

/*
 * Nap until there is something to do, 50 ms at most, and take the packets that
 * have come.  The time after the nap.
 */
uint64_t carrier_run_once(struct carrier *c, const struct carrier_callbacks *m,
    void *ctx, uint64_t now_ns);

/* Turn until it is over. */
void carrier_run(
    struct carrier *c, const struct carrier_callbacks *m, void *ctx);

/*
 * It is closed, and no gradient has left; why, if one was there.  That is said,
 * unless something else was, a signal ended it, or a child that had said hello
 * had nothing to do.  The exit status.
 */
int carrier_sent_nothing(const struct carrier *c, const char *why);

/* It cannot go on; why has been said. */
void carrier_fail(struct carrier *c);

#endif
