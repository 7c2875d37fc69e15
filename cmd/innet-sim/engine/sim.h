/*
 * sim.h - the simulator's engine: nodes, pipes and one queue of events
 *
 * The contract of a kind of node:
 *
 * Time is sim->now_ns, whole ns from 0.  It changes only between events.  A
 * network is nodes (workers, switches, servers) joined by pipes; a link is two
 * pipes, one for each direction.  A pipe accepts packets from its sender and
 * delivers them to its receiver in order, each when its last bit has left and
 * the propagation time is over.  Only workers with ideal access send without a
 * pipe: their packets arrive at once.
 *
 * A kind of node is a struct sim_kind in a file node-NAME.c.  arrive() receives
 * a packet and the pipe that it came over.  wake() is called at the time that
 * the node passed to sim_wake(), fail() when the node goes down or recovers,
 * and free() at the end.  A node sends with sim_send(), over a pipe with a
 * plain queue that may have a limit; a node with an Olaf or drop-tail port
 * offers packets to the pipe's egress through the data plane
 * (nodes/plane-driver.h).  It may keep its state in node->own.  It reads no
 * clock, and draws only from sim->chance or from generators of its own, seeded
 * from sim->seed.  It makes no decision that a header of common/ makes; it
 * calls that header.
 *
 * Events of the same time are ordered by class: faults and recoveries; ends of
 * transmission; deliveries to servers; models on the way to workers; arrivals
 * at switches; wakes; new updates.  Within a class they are ordered by index:
 * pipes, nodes and workers in the order of the scenario, workers by group,
 * cluster and id.  Packets of one pipe stay in order.
 *
 * Packets carry no vectors: up.n and up.elements are 0, and wire_bytes is the
 * length that the frame would have (captures contain zeros).  A packet is
 * copied by value, without allocation.  A packet that is neither update nor
 * model is a frame of another program (nodes/node-traffic.h).
 *
 * Every constituent that was sent is counted exactly once: as delivered, or
 * under the reason of its loss.  sim_count_loss() counts losses of nodes and
 * pipes, and the tally of an egress those of its queue.  result_make_rows()
 * checks that for every run.
 */
#ifndef INNET_SIM_SIM_H
#define INNET_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/scenario/scenario.h"
#include "cmd/innet-sim/engine/calendar.h"
#include "common/base/hashmap.h"
#include "common/base/rng.h"
#include "common/capture/pcapio.h"
#include "common/olaf/aom.h"
#include "common/olaf/server-rule.h"
#include "common/queue/txctl.h"
#include "common/queue/link.h"
#include "common/queue/port.h"
#include "common/traffic/arrivals.h"
#include "common/traffic/schedule.h"
#include "common/wire/update.h"

enum sim_class {
	SIM_FAULT, SIM_LEAVE, SIM_DELIVERY, SIM_ACK, SIM_ARRIVAL, SIM_WAKE,
	SIM_GENERATE, SIM_LATE
};

enum { SIM_ID_BITS = 29 };

/* A packet's up.kind: a frame of another program (node-traffic.h). */
enum { SIM_REGULAR = 0 };

#define SIM_NEVER UINT64_MAX
#define SIM_NONE UINT32_MAX

/* Why a packet is lost outside of queues of updates. */
enum sim_loss {
	SIM_LOST_LINK,		/* by a link's own loss */
	SIM_LOST_DOWN,		/* a link or switch was down */
	SIM_LOST_QUEUE,		/* no room to wait for a plain pipe */
	SIM_LOSSES
};

/* A datagram between nodes of a training. */
struct sim_datagram {
	struct sim_node *from, *to;
	uint16_t sport, dport;
	uint16_t len;
	uint8_t tos;
	uint8_t p[36];		/* a segment of one float, or a message; or
				   the number of a longer one: train.h */
};

struct sim_packet {
	uint32_t wire_bytes;	/* of the frame */
	union {
		struct update up;	/* no vector in it */
		struct sim_datagram dg;	/* of a training: train.h */
	};
};

_Static_assert(sizeof(struct sim_datagram) <= sizeof(struct update),
    "a datagram makes no packet longer");

struct sim_flying {
	uint64_t left_ns, at_ns;	/* last bit leaves; arrives */
	struct sim_packet p;
};

/* The packets in a pipe, in order.  Owns its memory; room is a power of two. */
struct sim_ring {
	struct sim_flying *item;
	uint32_t head, count, room;
};

struct sim_node;

struct sim_pipe {
	struct sim_ring ring;	/* in the first line of the cache */
	uint64_t deadline_ns;	/* the next arrival; other events are void */
	struct sim_node *to;
	uint32_t port;		/* the sender's or receiver's own number */
	uint32_t left;		/* packets of the ring that have left */
	double loss;
	struct link link;	/* of a plain queue */
	uint64_t propagation_ns;
	uint32_t index;		/* in sim->pipe */
	enum sim_class class;	/* of an arrival's event */
	uint32_t queue;		/* frames that may wait or be sent; 0: any */
	uint32_t down;		/* faults that hold it down */
	struct sim_flying one;	/* the ring while it has room for one */
	struct port *egress;	/* the sender's port; NULL: a plain queue */
	uint64_t leave_ns;	/* the next SIM_LEAVE; other ones are void */
	struct sim_node *from;
};

/* A switch's port toward the server, and counters beside its tally. */
struct sim_port {
	struct port *egress;	/* of sim->plane, which numbers them alike */
	const struct scenario_switch *cf;
	unsigned __int128 wait_ns;	/* sum of waiting times in the queue */
	uint64_t served, busy_ns;
};

/* Captures at a pipe's two ends, or NULL. */
struct sim_tap {
	struct pcapio_out *left, *came;
};

struct sim;

struct sim_kind {
	const char *name;
	void (*arrive)(struct sim *, struct sim_node *, struct sim_pipe *by,
	    const struct sim_packet *);	/* by: NULL from ideal access */
	void (*wake)(struct sim *, struct sim_node *);
	void (*fail)(struct sim *, struct sim_node *, bool down);
	void (*free)(struct sim_node *);
	/* models have come to n workers of the group, from base on */
	void (*model)(struct sim *, const struct sim_node *, uint32_t base,
	    uint32_t n, const struct sim_packet *);
	bool serves;		/* packets up to it are SIM_DELIVERY */
};

/*
 * The network that the engine runs: nodes/update-network.h or
 * training/train-build.h.  The engine calls these functions.
 */
struct sim_network {
	/* count a packet that is lost */
	void (*lose)(struct sim *, const struct sim_packet *, enum sim_loss);
	void (*fault)(struct sim *, uint32_t id);	/* a SIM_FAULT */
	void (*generate)(struct sim *, uint32_t id);	/* a SIM_GENERATE */
	void (*leave)(struct sim *, struct sim_pipe *);	/* a SIM_LEAVE */
	/* lose the frames that wait in the port of the pipe's sender */
	void (*clear_port)(struct sim *, struct sim_pipe *);
	/* write the frame of a packet to a capture */
	void (*put_frame)(const struct sim *, struct pcapio_out *,
	    const struct sim_packet *, uint64_t stamp_ns);
	void (*new_day)(const struct sim *);	/* of the calendar; or NULL */
	void (*end)(struct sim *);		/* of the run; or NULL */
};

/* Faults of packets at the end of a pipe: link-faults.h. */
struct sim_pipe_hook {
	/* does the packet arrive now? */
	bool (*arrives)(struct sim *, struct sim_pipe *,
	    const struct sim_packet *);
	void (*late)(struct sim *);	/* a SIM_LATE: one arrives late */
};

struct sim_node { /* the most used fields are in the first line of the cache */
	_Alignas(64) const struct sim_kind *kind;
	void *own;		/* the kind's */
	struct sim_pipe *up;	/* toward the server, or NULL; the pipe
				 * behind it in sim->pipe is the way back */
	struct pcapio_out *in, *out;	/* captures, or NULL */
	uint32_t down;		/* as of a pipe */
	uint16_t first;		/* its least cluster, which its port calls 0 */
	uint32_t index;		/* in sim->node */
	struct hashmap cluster;	/* -> its first route */
	char name[JSON_READER_NAME_BYTES + 16];
};

/*
 * Where workers of a cluster are, seen from a node: behind a pipe, or here,
 * with ideal access.
 */
struct sim_route {
	uint32_t first, n;	/* ids of the workers */
	struct sim_pipe *down;	/* NULL: a pipe each, or ideal access */
	struct sim_node *group;	/* NULL: another switch is between */
	uint32_t base;		/* of them in sim->worker */
	uint32_t next;		/* route of the same cluster, or SIM_NONE */
	bool again;		/* an earlier route has the same pipe */
};

struct sim_worker {
	struct arrivals arrivals;
	uint32_t group, at;	/* its group, and its switch: nodes */
	uint32_t cluster;	/* in sim->cluster */
	uint32_t id;		/* in its cluster */
	uint32_t put;		/* updates generated */
	uint32_t up, down;	/* its pipes, or SIM_NONE */
};

enum sim_count {
	SIM_GENERATED, SIM_SUPPRESSED, SIM_SENT, SIM_RECEIVED, SIM_MERGED,
	SIM_MODELS, SIM_TIMED_OUT, SIM_GATED, SIM_COUNTS
};

struct sim_cluster {	/* what moves most is in the first line of the cache */
	_Alignas(64) uint16_t id;
	bool sent;		/* something was */
	uint32_t packets;	/* a vector */
	uint32_t frame, last_frame;	/* bytes: of all but the last; of it */
	uint64_t count[SIM_COUNTS];
	uint32_t group;		/* in the scenario */
	uint64_t lost[SIM_LOSSES];	/* constituents */
	uint64_t cleared;	/* of those, in a queue that was cleared */
	unsigned __int128 delay_ns;	/* sum over packets received */
	uint64_t goal;		/* constituents; 0: none */
	uint64_t goal_ns;	/* when `goal` was reached; 0: not yet */
	uint64_t last_ns;	/* when its last update was sent or received */
	struct aom *age;	/* one a packet of the vector; owned */
	struct server_rule_range *range;	/* of its model, likewise */
};

struct sim {
	const struct scenario *sc;
	const struct sim_network *network;
	uint64_t now_ns, end_ns;	/* end: of the run */
	double other_end;	/* the mean age by the other rule of its end,
				 * by that of this one */
	uint64_t seed;
	struct rng arrivals, bursts, control, chance;
	struct calendar events;
	struct sim_port *port;	/* of the switches, the first nodes */
	struct sim_plane *plane; /* of them: plane-driver.h; NULL: none */
	struct sim_pipe *pipe;
	uint32_t pipes;
	struct sim_node *node;
	uint32_t nodes;
	struct sim_worker *worker;
	uint32_t workers;
	struct sim_cluster *cluster;
	uint32_t clusters;
	uint32_t *cluster_of;	/* 65,536: id -> place, or SIM_NONE */
	struct sim_route *route;
	uint32_t routes, routes_room;
	uint64_t handled;	/* events so far */
	uint64_t models_lost[SIM_LOSSES];
	const volatile int *stopped;	/* a signal came, or NULL */
	struct training *training;	/* then there is nothing else */
	uint32_t trainings;
	struct sim_tap *tap;	/* of each pipe; NULL: no link is captured */
	uint64_t was_ns;	/* now_ns before this event */
	struct sim_source *source;	/* of regular traffic: node-traffic.h */
	uint32_t sources;
	struct link_faults *link_faults;	/* link-faults.h; or NULL */
	const struct sim_pipe_hook *pipe_hook;	/* theirs, or NULL */
	char *wrong;			/* what is, SIM_WRONG_BYTES; or NULL:
					   then the tool says so and exits */
	uint64_t most;			/* events; 0: any number */
};

enum { SIM_WRONG_BYTES = 200 };

static inline enum sim_class sim_class_of(struct heap x);

static inline uint32_t sim_id_of(struct heap x);

/* Call the node's wake() at at_ns. */
static inline void sim_wake(struct sim *s, const struct sim_node *n, uint64_t
    at_ns);

static inline struct sim_cluster * sim_cluster(const struct sim *s, uint16_t
    id);

/* Write p, stamped stamp_ns, to a capture. */
static inline void sim_put_frame(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

/* implementation */

static inline enum sim_class
sim_class_of(struct heap x)
{
	return (enum sim_class)(heap_id(&x) >> SIM_ID_BITS);
}

static inline uint32_t
sim_id_of(struct heap x)
{
	return heap_id(&x) & ((1u << SIM_ID_BITS) - 1);
}

/* Schedule an event of this class and index at at_ns, now or later. */
void sim_schedule(struct sim *s, enum sim_class class, uint32_t id,
    uint64_t at_ns);

static inline void
sim_wake(struct sim *s, const struct sim_node *n, uint64_t at_ns)
{
	sim_schedule(s, SIM_WAKE, n->index, at_ns);
}

/*
 * Send p over a pipe with a plain queue.  It is ready at ready_ns: now or
 * later, and not before the packet before it.
 */
void sim_send(struct sim *s, struct sim_pipe *pipe, const struct sim_packet *p,
    uint64_t ready_ns);

/* Return the place of a packet that leaves over a pipe at left_ns. */
struct sim_packet *sim_put_in_flight(struct sim *s, struct sim_pipe *pipe,
    uint64_t left_ns);

/*
 * Lose the packets in the pipe and in its queue; without `all`, packets that
 * have left the sender still arrive.
 */
void sim_clear_pipe(struct sim *s, struct sim_pipe *pipe, bool all);

/* A node, or a link (by its pipe up), goes down or recovers. */
void sim_fail_node(struct sim *s, struct sim_node *n, bool down);
void sim_fail_link(struct sim *s, struct sim_pipe *up, bool down);

/* Report that the run cannot continue or that a check has failed. */
void sim_report_wrong(struct sim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Count a packet that is lost. */
void sim_count_loss(struct sim *s, const struct sim_packet *p,
    enum sim_loss why);

/* Deliver p to a node; by: the pipe, or NULL. */
void sim_receive(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p);

/* Send a model to its workers by the routes of node n. */
void sim_send_model(struct sim *s, struct sim_node *n,
    const struct sim_packet *p, uint64_t ready_ns);

/* Handle events until there are none, or until the end of the scenario. */
void sim_run(struct sim *s);

static inline struct sim_cluster *
sim_cluster(const struct sim *s, uint16_t id)
{
	return &s->cluster[s->cluster_of[id]];
}

/* Allocate n zeroed elements of that many bytes, or exit. */
void *sim_alloc(size_t n, size_t bytes, const char *what);

/* The same, in whole cache lines and large pages. */
void *sim_alloc_large(size_t n, size_t bytes, const char *what);

/* Make a link of the next two pipes; return the pipe up. */
struct sim_pipe *sim_add_link(struct sim *s, struct sim_node *from,
    struct sim_node *to, uint64_t up_bps, uint64_t down_bps,
    uint64_t propagation_ns, double loss);

static inline void
sim_put_frame(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	s->network->put_frame(s, out, p, stamp_ns);
}

/*
 * Commit the frame that stands in the capture's buffer at `to`: of its
 * wire_bytes, `whole` are written and the rest becomes zeros.
 */
void sim_commit_frame(const struct sim *s, struct pcapio_out *out, uint8_t *to,
    uint32_t whole, uint32_t wire_bytes, uint64_t stamp_ns);

/* Write the packets of a captured pipe that have left it by by_ns. */
void sim_capture_left(const struct sim *s, const struct sim_pipe *pipe,
    uint64_t by_ns);

#endif
