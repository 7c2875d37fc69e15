/*
 * train.h - training jobs while they run
 *
 * Switches, servers and workers are the state machines of common/iswitch and
 * common/dlp that also run live, and they exchange the same datagrams.  Every
 * worker sends segments with only one float, which is 1, but the frame of a
 * segment has the length that it would have with all floats.  So every sum is
 * the number of gradients that it contains, and its header must have the same
 * number.  With --chaos, a segment has the two floats of ledger.h.  Only the
 * ring has its own rules, in train-ring.c.
 *
 * A host spends time on messages and on packets.  A message is a vector or, in
 * a ring, a part of one.  The host spends messages x message + bytes /
 * copy_rate on it before its first packet leaves and after its last packet has
 * arrived.  A host handles one message at a time.  In addition, the host spends
 * the time `packet` on each packet in each direction, and handles one packet at
 * a time in each direction.
 */
#ifndef INNET_SIM_TRAIN_H
#define INNET_SIM_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/engine/sim.h"
#include "cmd/innet-sim/nodes/plane-driver.h"
#include "cmd/innet-sim/scenario/chaos-plan.h"
#include "cmd/innet-sim/scenario/training-keys.h"
#include "cmd/innet-sim/training/ledger.h"
#include "common/base/durations.h"
#include "common/dlp/program.h"
#include "common/dlp/worker.h"
#include "common/iswitch/async-worker.h"
#include "common/iswitch/program.h"
#include "common/iswitch/state-transfer.h"
#include "common/iswitch/sync-ring.h"
#include "common/iswitch/sync-worker-control.h"
#include "common/switch/receive.h"

enum {
	TRAIN_PORT = 5000, /* UDP port of workers */
	TRAIN_INSIDE = 0,  /* value of pipe->port for a pipe within a host */
	TRAIN_STALE = 8,   /* each value of staleness below 8 has a counter */
	TRAIN_LIFE = 22	   /* each restart adds 1 << 22 to the transaction
			    * numbers, as much as control_first_xid() adds in an
			    * hour */
};

enum train_count {
	TRAIN_PUT,
	TRAIN_CAME,    /* number of packets sent and received over all pipes */
	TRAIN_PACKETS, /* number of packets of gradients that hosts sent */
	TRAIN_HELPS,   /* number of Help messages that workers sent */
	TRAIN_WRONG,   /* number of sums that contradict their headers */
	TRAIN_GRADIENTS,
	TRAIN_DISCARDED,
	TRAIN_COUNTS
};

struct train_worker;

/*
 * The state of an iteration.  Synchronous workers can be in two iterations at a
 * time.
 */
struct train_round {
	uint64_t ready_ns; /* time when the last gradient of the iteration was
			    * ready */
	uint32_t done;	/* number of workers that have the result of the
			 * iteration */
};

enum {
	TRAIN_MESSAGE_BYTES = DLP_BYTES_MAX,	/* limit that is longer than all
						 * control messages */
	TRAIN_LONGS = 16384	/* largest number of long messages on the way */
};

/* A message that is too long for struct sim_datagram. */
struct train_long {
	uint32_t number;
	uint8_t p[TRAIN_MESSAGE_BYTES];
};

struct training {
	const struct scenario_training *cf;
	struct sim_node *sw;	/* nodes of the switches; the core or the only
				 * switch is first */
	uint32_t switches, racks; /* number of switches; number of racks, 0 if
				   * there is only one switch */
	struct sim_node *server;	/* or NULL */
	struct sim_node *host;		/* nodes of the workers */
	struct train_worker *w;
	uint32_t floats, elements, segs;	/* of a vector, or of the ring
						 * of segments */
	uint32_t number;		/* index in the scenario */
	uint32_t joined; /* number of workers that have joined; when all have,
			  * the training job begins */
	uint32_t busy;	/* number of workers that are not done */
	uint64_t began_ns, end_ns;
	uint64_t updates;		/* number of updates of the weights */
	struct train_round round[2];
	uint64_t n[TRAIN_COUNTS], lost[SIM_LOSSES];
	uint64_t stale[TRAIN_STALE + 1], stale_sum, stale_count;
	struct durations iteration, compute, network, aggregation, latency;
	uint64_t most_ns;		/* longest aggregation */
	struct train_long *longs; /* long messages, indexed by number %
				   * TRAIN_LONGS; owned */
	uint32_t long_number;		/* number of the last long message */
	uint64_t give_up_ns;		/* time after which a worker that gets
					 * no result gives up, or SIM_NEVER */
	uint32_t carried; /* number of floats in a simulated segment */
	struct ledger *ledger;		/* ledger that checks the sums under
					 * --chaos; NULL without --chaos */
	uint32_t struck; /* bit set of random faults that have begun */
	bool sends_state;	/* workers can send their states to others */
};

/* A switch or a server. */
struct train_switch {
	struct training *t;
	struct sim *sim;
	struct sim_node *node;
	struct sim_pipe *up;		/* pipe from a rack to the core, or from
					 * the server */
	struct sim_pipe **down;		/* pipes toward the workers or racks */
	uint32_t first, n; /* first worker or rack below the switch; number of
			    * these workers or racks */
	uint32_t members, number;	/* settings of the node's state
					 * machine */
	struct sim_pipe *server;	/* pipe to the server, or NULL */
	struct sim_plane *plane;	/* plane of the switch, owned; NULL: the
					 * switch only forwards packets */
	struct plane_conf conf;
	struct iswitch_settings settings;	/* settings of the program of
						 * this node: `settings` or
						 * `dlp` */
	struct dlp_settings dlp;
	union addr self, parent;
	uint64_t wake_ns;
	uint32_t lives;	/* number of starts of the node's state machine */
	/* only in a server: */
	struct sim_pipe *rx;		/* pipe from the server's link to the
					 * server's process */
	uint64_t busy_ns, tx_ns;	/* times from which the process and the
					 * link are free */
	uint32_t updated;	/* last iteration that updated the weights, if
				 * synchronous */
	bool has_updated;
};

enum train_phase {
	TRAIN_JOINS, TRAIN_COMPUTES, TRAIN_SENDS, TRAIN_WAITS,
	TRAIN_RECEIVES, TRAIN_MEETS, TRAIN_UPDATES, TRAIN_DONE
};

struct train_ring {
	uint32_t step;
	uint32_t *got[2];		/* number of packets received in each
					 * step, indexed by iteration & 1;
					 * owned */
};

struct train_async {
	struct async_worker m;
	bool learning;	/* a new round becomes part of the weights at
			 * learn_ns */
	uint64_t learn_ns;
	int64_t shown;	/* number of rounds in the weights from which LGC
			 * computes gradients */
	int64_t t_w;			/* t_w of Algorithm 1 */
	uint64_t committed_ns;		/* time when the first gradient
					 * committed since the last round was
					 * ready; 0: none */
	uint64_t learnt_ns;		/* time of the last update */
	bool was_member;
	bool finished;	/* the worker has done all iterations, but continues */
};

struct train_pieces;	/* train-pieces.c */

/* A worker of a session of DLP. */
struct train_dlp {
	struct dlp_worker m;
	bool has;	/* the worker has the result of its current step */
};

/* The state of a worker that may be killed; see train-life.h. */
struct train_life {
	uint32_t lives, dead;		/* number of deaths; number of faults
					 * that keep the worker down */
	struct state_transfer transfer;
	float *what[2];	/* results, indexed by iteration & 1; owned */
	uint64_t used, weights;	/* number of results used; number that
				 * represents the weights */
};

struct train_worker {
	struct training *t;
	struct sim_node *node;
	struct sim_pipe *up, *rx;
	uint32_t id;
	uint64_t tx_ns, rx_ns, busy_ns;	/* times from which sending, receiving
					 * and the process are free */
	uint64_t wake_ns;
	uint64_t paused_ns;	/* the worker is paused until this time */
	struct rng chance;
	double speed;
	enum train_phase phase;
	uint64_t phase_ns;		/* end of the phase, or SIM_NEVER */
	uint64_t began_ns, ready_ns, sent_ns;	/* times in the current
						 * iteration */
	uint64_t iterations;
	uint64_t counted; /* number of iterations counted in training.round */
	bool in;			/* the worker is a member of the job */
	struct channel_client channel;	/* channel to the switch or server that
					 * sums the gradients */
	struct sync_worker l;
	struct train_life life;
	struct train_ring ring;
	struct train_pieces *pieces;	/* ring of segments, owned; NULL: each
					 * gradient is a whole vector */
	struct train_async a;
	struct train_dlp *dlp;	/* state of a DLP session, owned; NULL: the
				 * program is iSwitch */
};

/* Return the maximum length of a segment in the state machines, in bytes. */
static inline uint32_t train_segment_bytes(const struct training *t);

static inline bool train_is_over(const struct training *t);

static inline bool train_is_dlp(const struct training *t);

/* Return the UDP port of switches and servers. */
static inline uint16_t train_port(const struct training *t);

/* Does a sum contain as many gradients as its header says? */
static inline bool train_is_right_sum(const struct seg *g);

/* Return the UDP port that the worker has used since its last start. */
static inline uint16_t train_life_port(const struct train_worker *w);

/*
 * Does worker w continue after its last iteration until all workers have
 * ended?  An asynchronous worker continues if racks are killed, because other
 * workers may need its state, or its pushes to complete a round.
 */
static inline bool train_continues(const struct train_worker *w);

/* Return the first iteration of a synchronous training job. */
static inline uint32_t train_first_iteration(const struct sim *s);

/* Return the first round of an asynchronous training job. */
static inline uint32_t train_first_round(const struct sim *s);

/* implementation */

static inline uint32_t
train_segment_bytes(const struct training *t)
{
	return training_head(t->cf) + 4 * t->carried;
}

static inline bool
train_is_over(const struct training *t)
{
	return t->busy == 0;
}

static inline bool
train_is_dlp(const struct training *t)
{
	return t->cf->program == TRAINING_DLP;
}

static inline uint16_t
train_port(const struct training *t)
{
	return train_is_dlp(t) ? DLP_SWITCH_PORT : UPDATE_PORT;
}

static inline bool
train_is_right_sum(const struct seg *g)
{
	return g->n == 1 && !(vec_get(g->vec, 0) < g->contributions) &&
	    !(vec_get(g->vec, 0) > g->contributions);
}

static inline uint16_t
train_life_port(const struct train_worker *w)
{
	return (uint16_t)(TRAIN_PORT + (w->life.lives + 1) / 2);
}

static inline bool
train_continues(const struct train_worker *w)
{
	return w->t->cf->mode == TRAINING_ASYNC && w->t->sends_state;
}

static inline uint32_t
train_first_iteration(const struct sim *s)
{
	return s->sc->chaos == NULL ? 1 : s->sc->chaos->first;
}

static inline uint32_t
train_first_round(const struct sim *s)
{
	const struct chaos_plan *p = s->sc->chaos;

	return p != NULL && p->severe && p->kills_racks ? p->first : 0;
}

#endif
