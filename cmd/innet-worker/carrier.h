/*
 * carrier.h - the parts of innet-worker that all modes share
 *
 * A carrier reads gradients from a child process and checks its messages, or
 * generates synthetic gradients at a given rate.  It also owns the socket,
 * waits for events, and writes the capture and the summary.  A mode calls
 * carrier_next() to get the next message, sends results with child_send(), and
 * sets `done` when it is done.  A mode that fails prints the reason and calls
 * carrier_fail().
 */
#ifndef INNET_WORKER_CARRIER_H
#define INNET_WORKER_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rng.h"
#include "common/net/child.h"
#include "common/net/spin.h"
#include "common/net/udp-transmit.h"
#include "common/net/udp-io.h"
#include "cmd/innet-worker/udp-receiver.h"
#include "common/wire/stream-order.h"
#include "common/wire/stream.h"

#include "cmd/innet-worker/worker.h"

enum {
	CARRIER_AT_ONCE = 64	/* number of events before other work is done */
};

enum carrier_event {
	CARRIER_NOTHING,
	CARRIER_HELLO,	/* this event reports that `elements` is known; the mode
			 * then answers the hello */
	CARRIER_WEIGHTS,	/* weights of the child; never synthetic */
	CARRIER_GRADIENT,
	CARRIER_STATE		/* the state that the child was asked for */
};

struct carrier {
	const struct worker_conf *cf;
	struct udpio u;
	struct udp_transmit out; /* sender of packets over u, which the modes
				  * use */
	struct udp_receiver in;	/* receiver of packets from u; a mode may set
				 * its functions */
	struct child child;
	struct stream_order order; /* state of the exchange of messages with the
				    * child */
	struct rng rng;
	uint32_t worker;		/* worker number for the hello and the
					 * summary; the user gives it or the
					 * mode learns it */
	uint32_t elements;	/* length of all vectors; 0: not known yet */
	float *vec;			/* a synthetic gradient; owned */
	uint64_t gradients;		/* number of gradients so far */
	bool last;			/* --count gradients have been taken */
	bool mode_makes_vectors;	/* flag, set by a mode that generates
					 * vectors itself */
	bool child_paused;	/* flag, set while a mode takes no gradient */
	bool watch_paused;	/* with --stdio, notice the end of the other
				 * program while it is paused */
	bool blocked;			/* flag, set by a mode if the socket had
					 * no room; the wait then ends when
					 * there is room */
	bool socket_in_thread;		/* flag, set by a mode whose thread owns
					 * the socket and the capture */
	int watch;			/* descriptor that ends a wait: u.fd, or
					 * an eventfd of the mode's thread */
	bool child_ended, child_has_exited, bye;
	uint64_t start_ns;	/* this and the following times are monotonic */
	uint64_t end_ns;		/* end of --duration */
	uint64_t next_ns;	/* time of the next synthetic gradient */
	uint64_t child_heard_ns;	/* time of the child's last message */
	struct spin spin;
	uint64_t signals_ns;	/* time when signals were last delivered */
	uint64_t ticked_ns, warned_ns;
	uint64_t unreachable;	/* number of unreachable packets at the last
				 * warning */
	unsigned taken;	/* number of events since the last wait */
	int rc;
	bool done;
};

/*
 * Open the socket, whose packets get this ToS, and start the child if there is
 * one.  Exits with status 1 on failure.  Stores the MTU in *mtu: the value that
 * the user gave, or otherwise that of the path.
 */
void carrier_open(struct carrier *c, const struct worker_conf *cf,
    uint8_t tos, uint64_t *mtu);

/* End the child and close everything.  Returns the exit status. */
int carrier_close(struct carrier *c);

/*
 * Should the worker end?  It ends when it is done, received a signal, reached
 * its time limit, or lost the reader of its capture.
 */
bool carrier_is_over(const struct carrier *c, uint64_t now_ns);

/*
 * Wait until a packet or data from the child arrives, a synthetic gradient is
 * due, or span_ns is over.  Also writes pending bytes to the child and sends
 * packets that --impair has delayed.
 */
void carrier_wait(struct carrier *c, uint64_t now_ns, uint64_t span_ns);

/*
 * Return the next event.  Sets *h and *body for weights and gradients; *body is
 * borrowed until the next call.  Returns at most CARRIER_AT_ONCE events between
 * two waits.
 */
enum carrier_event carrier_next(struct carrier *c, uint64_t now_ns,
    struct stream_head *h, const uint8_t **body);

/*
 * Store the direction of gradients in *to.  The user or the child's hello
 * determines the direction; otherwise the direction is `unsaid`.  If the user
 * and the child contradict each other, prints an error, fails the run and
 * returns false.
 */
bool carrier_direction(struct carrier *c, enum stream_direction unsaid,
    enum stream_direction *to);

/* Ask the child once for its state; the event CARRIER_STATE follows. */
void carrier_ask_state(struct carrier *c);

/*
 * Is the child's next message its state?  A mode calls this while it takes no
 * other messages.
 */
bool carrier_has_state(struct carrier *c);

/* Let the child continue from a state that includes `iteration` results. */
void carrier_give_state(struct carrier *c, const uint8_t *state,
    uint32_t bytes, uint64_t iteration);

/* Answer the child's hello, if there is a child. */
void carrier_send_hello(struct carrier *c, unsigned members);
/*
 * Answer the hello with more JSON members.  `more` begins with a comma and has
 * at most 256 bytes.
 */
void carrier_send_hello_with(struct carrier *c, unsigned members,
    const char *more);

/*
 * Must the child still send a message before the worker can continue?  If the
 * message does not arrive in time, prints which message is missing and fails
 * the run.
 */
bool carrier_awaits_child(struct carrier *c, uint64_t now_ns);

/* Check the child.  Returns true once a second, when progress is due. */
bool carrier_tick(struct carrier *c, uint64_t now_ns);

/* Has the worker received SIGUSR1 since the last call? */
bool carrier_summary_requested(struct carrier *c);

/*
 * Should a run with this exit status end with the summary?  A reason for a
 * failure must be the last line, so no summary for people follows it.
 */
bool carrier_wants_summary(const struct worker_conf *cf, int rc);

/*
 * Print the summary: `counts` counters with their names, then the counters of
 * the socket.
 */
void carrier_summary(const struct carrier *c, const char *const *name,
    const uint64_t *n, size_t counts);

/*
 * Store the next datagram, which is already captured, in *p.  Returns false if
 * there is none now.  During a flood, the function stops after some time, so
 * that other work is done, too (udp-receiver.h).
 */
bool carrier_packet(struct carrier *c, struct udpio_packet *p);

/* The callbacks of a mode; `ctx` is the argument that the mode chose. */
struct carrier_callbacks {
	/*
	 * Return the next time at which the mode has work to do, or
	 * TIMER_NEVER.
	 */
	uint64_t (*deadline_ns)(const void *ctx);
	void (*receive)(void *ctx, const struct udpio_packet *p,
	    uint64_t now_ns);
	/*
	 * Called after all packets: read the child, then do work that is due.
	 */
	void (*read_child)(void *ctx, uint64_t now_ns);
	void (*act)(void *ctx, uint64_t now_ns);
};

/*
 * Wait until there is something to do, for at most 50 ms, and pass the packets
 * that arrived to the mode.  Returns the time after the wait.
 */
uint64_t carrier_run_once(struct carrier *c, const struct carrier_callbacks *m,
    void *ctx, uint64_t now_ns);

/* Run until the worker is done. */
void carrier_run(
    struct carrier *c, const struct carrier_callbacks *m, void *ctx);

/*
 * Call this after carrier_close() if no gradient was sent.  Prints `why`, or
 * prints that there was no gradient.  Prints nothing if another reason was
 * printed, if a signal ended the worker, or if the child sent its hello and had
 * nothing to do.  Returns the exit status.
 */
int carrier_sent_nothing(const struct carrier *c, const char *why);

/* Mark the run as failed; the caller has printed the reason. */
void carrier_fail(struct carrier *c);

#endif
