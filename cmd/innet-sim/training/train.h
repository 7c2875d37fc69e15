/*
 * train.h - trainings while they run
 *
 * The switch is iswitch.h, the workers are iswitch/sync-worker.h or
 * async-worker.h, the servers iswitch.h with jobs of whole vectors (job.h) or
 * of answers (iswitch/job-async-server.h): the very machines that run live, fed
 * with the datagrams that they exchange.  A segment has one float here, 1 from
 * every worker, and the length of its frame is what it would be with all of
 * them: so every sum shows how many gradients are in it, and must agree with
 * what its Seg says.  Under chaos it has the two of ledger.h.  The ring
 * has no machine elsewhere: train-ring.c has its rules.
 *
 * Two kinds of time pass at a host.  A message (a vector, or in a ring a part
 * of one) costs messages x message + bytes / copy_rate before its first packet
 * leaves and after its last has come; hosts do that one at a time.  A packet
 * costs `packet` each way, one at a time, beside that.
 */
#ifndef INNET_SIM_TRAIN_H
#define INNET_SIM_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/chaos/chaos.h"
#include "cmd/innet-sim/nodes/plane-driver.h"
#include "cmd/innet-sim/training/ledger.h"
#include "cmd/innet-sim/run/result.h"
#include "cmd/innet-sim/engine/sim.h"
#include "cmd/innet-sim/scenario/training-keys.h"
#include "common/base/durations.h"
#include "common/dlp/program.h"
#include "common/dlp/worker.h"
#include "common/iswitch/async-worker.h"
#include "common/iswitch/program.h"
#include "common/iswitch/state-transfer.h"
#include "common/iswitch/sync-worker-control.h"
#include "common/switch/receive.h"

enum {
	TRAIN_PORT = 5000,		/* of workers */
	TRAIN_INSIDE = 0,		/* pipe->port: within a host */
	TRAIN_STALE = 8,		/* staleness counted apart below it */
	TRAIN_LIFE = 22			/* a machine that is started again
					   begins with newer numbers, by an
					   hour of control_first_xid() */
};

enum train_count {
	TRAIN_PUT, TRAIN_CAME,		/* packets, over any pipe */
	TRAIN_PACKETS,			/* of gradients, from hosts */
	TRAIN_HELPS,			/* Help from workers */
	TRAIN_WRONG,			/* sums that their Seg belies */
	TRAIN_GRADIENTS, TRAIN_DISCARDED,
	TRAIN_COUNTS
};

struct train_worker;

/* The two iterations of which some worker may be in, of a training in step. */
struct train_round {
	uint64_t ready_ns;		/* the last gradient of it */
	uint32_t done;			/* workers that have its result */
};

enum {
	TRAIN_MESSAGE_BYTES = DLP_BYTES_MAX,	/* more than of control */
	TRAIN_LONGS = 16384	/* under way at once, at most */
};

/* A message that is longer than a packet has room for. */
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
	uint32_t joined;		/* workers; all: it begins */
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
	uint32_t carried;		/* floats of a segment that are here */
	struct ledger *ledger;		/* of what they hold, or NULL */
	uint32_t struck;		/* bit: a fault that was drawn, and has
					   come about */
	bool gives;			/* workers hand over their states */
};

/* A switch or server. */
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
	uint32_t lives;			/* how often it has been started */
	/* of a server: */
	struct sim_pipe *rx;		/* from its link to its process */
	uint64_t busy_ns, tx_ns;	/* free from then on */
	uint32_t updated;		/* iteration, in step */
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
};

/* A worker of a session of DLP. */
struct train_dlp {
	struct dlp_worker m;
	bool has;			/* the result of its step */
};

/* Of a worker that may be killed: train-life.c. */
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

extern const struct sim_kind train_switch_kind, train_server_kind,
    train_worker_kind;

/* train-switch.c: a datagram that a plane sends goes on its way. */
sim_plane_send train_emit;

/* Is there a capture of node n?  Of the switches that sum. */
bool train_captured(const struct sim_node *n);

/* train-build.c */

/* A segment's bytes, at most, as the machines have it. */
static inline uint32_t
train_segment_bytes(const struct training *t)
{
	return training_head(t->cf) + 4 * t->carried;
}

void train_build(struct sim *s);

/* The first iteration of a training in step. */
uint32_t train_first(const struct sim *s);

/* The machine of a worker in step, that has had so many results. */
void train_open_worker(const struct sim *s, struct train_worker *w,
    uint64_t iterations, uint32_t xid);

/* The machine of an aggregating node, as the tools have it by default. */
void train_open_machine(struct train_switch *w);

/* The faults of t, which begins now; one of them begins or ends. */
void train_add_faults(struct sim *s, const struct training *t);
void train_fail(struct sim *s, uint32_t id);

void train_free(struct sim *s);

/* All have joined, or all are done: begin, or end. */
void train_begin(struct sim *s, struct training *t);
static inline bool
train_over(const struct training *t)
{
	return t->busy == 0;
}

static inline bool
train_is_dlp(const struct training *t)
{
	return t->cf->program == TRAINING_DLP;
}

/* The port that switches and servers are known by. */
static inline uint16_t
train_port(const struct training *t)
{
	return train_is_dlp(t) ? DLP_SWITCH_PORT : UPDATE_PORT;
}

/* Addresses that stand for nodes, and back. */
union addr train_addr(const struct training *t, const struct sim_node *n);
struct sim_node *train_at(const struct training *t, const union addr *a);

/* train-net.c */

/* Let the node wake at at_ns; *wake_ns is when it will so far. */
void train_wake(struct sim *s, const struct sim_node *n, uint64_t *wake_ns,
    uint64_t at_ns);

/* A packet with len bytes at p; its frame has the length of a segment's. */
struct sim_packet train_packet(struct training *t, uint8_t tos,
    const uint8_t *p, uint32_t len);

/* Its bytes; they are good until so many more are under way. */
const uint8_t *train_bytes(const struct sim *s, const struct sim_datagram *d);

/* The training that a node is of. */
struct training *train_of(const struct sim *s, const struct sim_node *n);

/* Over a pipe of the training's, ready then. */
void train_put(struct sim *s, struct training *t, struct sim_pipe *pipe,
    const struct sim_packet *p, uint64_t ready_ns);

/* It is lost: sim_lose(). */
void train_lose(struct sim *s, const struct sim_packet *p, enum sim_loss why);

/* What a message of so many bytes costs a host. */
uint64_t train_cost_ns(const struct training *t, uint64_t bytes);

/* Does a sum have as many gradients in it as its Seg says? */
static inline bool
train_right(const struct seg *g)
{
	return g->n == 1 && !(vec_get(g->vec, 0) < g->contributions) &&
	    !(vec_get(g->vec, 0) > g->contributions);
}

/* A result has come to worker w, whatever it is to it. */
void train_check(struct sim *s, struct train_worker *w, const struct seg *g);

/* train-trust.c: the key of a training that has one, or NULL */
const struct key *train_key(const struct training *t);

/* What is random in a life of a machine, number `who` of the training. */
void train_secret(const struct sim *s, const struct training *t,
    uint32_t who, uint32_t lives, uint8_t secret[32]);

/* A channel of a worker that begins. */
void train_open_channel(const struct sim *s, struct train_worker *w);

/* Say the len bytes at msg, which has room for CONTROL_MAX_BYTES. */
void train_say(struct sim *s, struct train_worker *w, uint8_t *msg,
    size_t len);

/* Is there a message for the machine in d?  Then c is it. */
bool train_hear(struct sim *s, struct train_worker *w, struct membership *in,
    struct state_transfer *h, const struct sim_datagram *d, struct control *c);

/* Prove a segment of a worker's; may a result, which was read, be believed? */
void train_prove(const struct train_worker *w, struct segment_tag *p,
    uint8_t *seg);
bool train_believes(const struct train_worker *w, struct segment_tag *p,
    const struct sim_datagram *d);

/* train-worker.c */

/* A gradient takes so long to compute. */
uint64_t train_compute_ns(struct train_worker *w);

/* Who sums for worker w. */
const struct sim_node *train_peer(const struct train_worker *w);

/* To the switch or server, or to n: len bytes at p. */
void train_send(struct sim *s, struct train_worker *w,
    const struct sim_node *n, uint8_t tos, const uint8_t *p, uint32_t len);

/* Segments of a gradient, with proofs of the machine's if they need any. */
void train_send_run(struct sim *s, struct train_worker *w,
    struct segment_tag *tags, uint32_t iteration, uint32_t first,
    uint32_t count);

/* Worker w is done. */
void train_finish(struct sim *s, struct train_worker *w);

/* A span of an aggregation. */
void train_aggregated(struct training *t, uint64_t ns);

/* It has one more result, or the state that is of it; have all workers? */
bool train_count_result(struct sim *s, struct train_worker *w);

/* train-life.c */

/* Worker w may be killed, and others hand over their state. */
void train_life_open(struct train_worker *w);
void train_life_free(struct train_worker *w);

/* It is killed, or started again. */
void train_life_end(struct train_worker *w);
void train_life_begin(struct sim *s, struct train_worker *w);

/* The port of its life. */
static inline uint16_t
train_life_port(const struct train_worker *w)
{
	return (uint16_t)(TRAIN_PORT + (w->life.lives + 1) / 2);
}

/* A segment of a result is taken; the result is. */
void train_life_take(struct train_worker *w, const struct seg *g);
void train_life_use(struct train_worker *w);

/* A message of a state that is handed over was taken: what follows is said. */
void train_life_answer(struct sim *s, struct train_worker *w);

/*
 * Does it take over a state, or begin to, now that its machine has ended?  Then
 * *due is when to look again.
 */
bool train_life_inherits(struct sim *s, struct train_worker *w,
    uint64_t *due);

/* train-async.c */

void train_async_open(struct train_worker *w,
    const struct membership_conf *in);
void train_async_begin(struct sim *s, struct train_worker *w);
void train_async_arrive(struct sim *s, struct train_worker *w,
    const struct sim_packet *p);
uint64_t train_async_step(struct sim *s, struct train_worker *w);

/* train-dlp.c */

void train_dlp_open(struct train_worker *w, uint64_t now_ns);
void train_dlp_machine(struct train_switch *w);
void train_dlp_gradient(struct train_worker *w, uint64_t now_ns);
void train_dlp_take(struct sim *s, struct train_worker *w,
    const struct sim_datagram *d);

/* Send what is due; when more is. */
uint64_t train_dlp_pump(struct sim *s, struct train_worker *w);

/* What its switch counted, and its workers. */
uint64_t train_dlp_partial(const struct training *t);
uint64_t train_dlp_left_out(const struct training *t);
uint64_t train_dlp_repeated(const struct training *t);

/* train-ring.c */

void train_ring_open(struct train_worker *w);
uint64_t train_ring_bytes(const struct train_worker *w);	/* of a step */
void train_ring_send(struct sim *s, struct train_worker *w);
void train_ring_arrive(struct train_worker *w, const struct sim_packet *p);
bool train_ring_has(const struct train_worker *w);	/* this step's part */
bool train_ring_on(struct train_worker *w);	/* false: that was the last */

/* train-result.c: result.h, for trainings. */
extern const struct result_figure train_figures[];
bool train_result(struct sim *s, struct result_row *row);

/* Is all as it must be? */
bool train_whole(struct sim *s, struct training *t);

#endif
