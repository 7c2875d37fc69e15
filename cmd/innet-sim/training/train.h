/*
 * train.h - trainings while they run
 *
 * Switches, servers and workers are the machines of common/iswitch and
 * common/dlp that run live, and they exchange the same datagrams.  A segment
 * has one float here, 1 from every worker, and its frame has the length that it
 * would have with all floats.  So every sum shows how many gradients are in it,
 * which must agree with its header.  Under chaos a segment has the two floats
 * of ledger.h.  Only the ring has its rules here, in train-ring.c.
 *
 * A host spends time on messages and on packets.  A message (a vector or, in a
 * ring, a part of one) costs messages x message + bytes / copy_rate before its
 * first packet leaves and after its last packet has arrived, one message at a
 * time.  Beside that, each packet costs `packet` in each direction, one packet
 * at a time.
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
#include "common/iswitch/sync-worker-control.h"
#include "common/switch/receive.h"

enum {
	TRAIN_PORT = 5000, /* of workers */
	TRAIN_INSIDE = 0,  /* pipe->port: within a host */
	TRAIN_STALE = 8,   /* lower values of staleness have a count each */
	TRAIN_LIFE = 22	   /* a restarted machine begins with
			      transaction numbers that are an
			      hour of control_first_xid() newer */
};

enum train_count {
	TRAIN_PUT,
	TRAIN_CAME,    /* packets sent and received, over any pipe */
	TRAIN_PACKETS, /* of gradients, from hosts */
	TRAIN_HELPS,   /* Help from workers */
	TRAIN_WRONG,   /* sums that contradict their header */
	TRAIN_GRADIENTS,
	TRAIN_DISCARDED,
	TRAIN_COUNTS
};

struct train_worker;

/* One of the two iterations that synchronous workers may be in. */
struct train_round {
	uint64_t ready_ns;		/* when its last gradient was ready */
	uint32_t done;			/* workers that have its result */
};

enum {
	TRAIN_MESSAGE_BYTES = DLP_BYTES_MAX,	/* more than of control */
	TRAIN_LONGS = 16384	/* under way at once, at most */
};

/* A message that is too long for struct sim_datagram. */
struct train_long {
	uint32_t number;
	uint8_t p[TRAIN_MESSAGE_BYTES];
};

struct training {
	const struct scenario_training *cf;
	struct sim_node *sw;		/* the core or only switch is first */
	uint32_t switches, racks;	/* racks 0: one switch */
	struct sim_node *server;	/* or NULL */
	struct sim_node *host;		/* workers */
	struct train_worker *w;
	uint32_t floats, elements, segs;
	uint32_t number;		/* in the scenario */
	uint32_t joined; /* workers; it begins when all have joined */
	uint32_t busy;			/* workers that are not done */
	uint64_t began_ns, end_ns;
	uint64_t updates;		/* of weights */
	struct train_round round[2];
	uint64_t n[TRAIN_COUNTS], lost[SIM_LOSSES];
	uint64_t stale[TRAIN_STALE + 1], stale_sum, stale_count;
	struct durations iteration, compute, network, aggregation, latency;
	uint64_t most_ns;		/* of an aggregation */
	struct train_long *longs;	/* by number; owned */
	uint32_t long_number;		/* of the last */
	uint64_t give_up_ns;		/* SIM_NEVER, or as in the tools */
	uint32_t carried; /* floats of a segment in the simulation */
	struct ledger *ledger;		/* checks sums under chaos, or NULL */
	uint32_t struck; /* bits: random faults that have begun */
	bool sends_state;		/* workers hand over their states */
};

/* A switch or a server. */
struct train_switch {
	struct training *t;
	struct sim *sim;
	struct sim_node *node;
	struct sim_pipe *up;		/* to the core, or of a server */
	struct sim_pipe **down;		/* to workers, or to racks */
	uint32_t first, n;		/* workers, or racks, behind them */
	uint32_t members, number;	/* of the machine */
	struct sim_pipe *server;	/* to it, or NULL */
	struct sim_plane *plane;	/* NULL: it only forwards; owned */
	struct plane_conf conf;
	struct iswitch_settings settings;	/* of its program: */
	struct dlp_settings dlp;
	union addr self, parent;
	uint64_t wake_ns;
	uint32_t lives;			/* number of starts */
	/* of a server: */
	struct sim_pipe *rx;		/* from its link to its process */
	uint64_t busy_ns, tx_ns;	/* free from then on */
	uint32_t updated;		/* iteration, if synchronous */
	bool has_updated;
};

enum train_phase {
	TRAIN_JOINS, TRAIN_COMPUTES, TRAIN_SENDS, TRAIN_WAITS,
	TRAIN_RECEIVES, TRAIN_MEETS, TRAIN_UPDATES, TRAIN_DONE
};

struct train_ring {
	uint32_t step;
	uint32_t *got[2];		/* packets, by step, of t & 1; owned */
};

struct train_async {
	struct async_worker m;
	bool learning;			/* a round shows at learn_ns */
	uint64_t learn_ns;
	int64_t shown;			/* rounds that are in the weights */
	int64_t t_w;			/* Algorithm 1 */
	uint64_t committed_ns;		/* since the last round; 0: none */
	uint64_t learnt_ns;		/* last update */
	bool was_member;
	bool finished;			/* all iterations, but it continues */
};

/* A worker of a session of DLP. */
struct train_dlp {
	struct dlp_worker m;
	bool has;			/* the result of its step */
};

/* The state of a worker that may be killed: train-life.h. */
struct train_life {
	uint32_t lives, dead;		/* faults that hold it down */
	struct state_transfer transfer;
	float *what[2];			/* results, by iteration & 1; owned */
	uint64_t used, weights;		/* results, and what stands for them */
};

struct train_worker {
	struct training *t;
	struct sim_node *node;
	struct sim_pipe *up, *rx;
	uint32_t id;
	uint64_t tx_ns, rx_ns, busy_ns;	/* free from then on */
	uint64_t wake_ns;
	uint64_t paused_ns;		/* nothing happens before */
	struct rng chance;
	double speed;
	enum train_phase phase;
	uint64_t phase_ns;		/* when it ends; SIM_NEVER */
	uint64_t began_ns, ready_ns, sent_ns;	/* of the iteration */
	uint64_t iterations;
	uint64_t counted;		/* of them, in training.round */
	bool in;			/* a member */
	struct channel_client channel;		/* to who sums */
	struct sync_worker l;
	struct train_life life;
	struct train_ring ring;
	struct train_async a;
	struct train_dlp *dlp;		/* NULL: of iSwitch; owned */
};

/* Return the bytes of a segment, at most, as the machines have it. */
static inline uint32_t train_segment_bytes(const struct training *t);

static inline bool train_is_over(const struct training *t);

static inline bool train_is_dlp(const struct training *t);

/* The port that switches and servers are known by. */
static inline uint16_t train_port(const struct training *t);

/* Does a sum have as many gradients in it as its Seg says? */
static inline bool train_is_right_sum(const struct seg *g);

/* The port of its life. */
static inline uint16_t train_life_port(const struct train_worker *w);

/*
 * Does worker w continue after its last iteration, until all workers have
 * ended?  An asynchronous one does if racks are killed: others may need its
 * state, or its pushes to complete a round.
 */
static inline bool train_continues(const struct train_worker *w);

/* Return the first iteration of a synchronous training. */
static inline uint32_t train_first_iteration(const struct sim *s);

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

#endif
