/*
 * sim.h - the simulator's engine: nodes, pipes and one queue of events
 *
 * This comment describes how a kind of node must behave.
 *
 * Time is sim->now_ns, in whole ns from 0.  It changes only between events.  A
 * network consists of nodes (workers, switches, servers) that are joined by
 * pipes.  A link is two pipes, one for each direction.  A pipe accepts packets
 * from its sender and delivers them to its receiver in order.  A packet arrives
 * when its last bit has left and the propagation time is over.  Only workers
 * with ideal access send without a pipe: their packets arrive at once.
 *
 * A kind of node is a struct sim_kind in a file node-NAME.c.  arrive() receives
 * a packet and the pipe that it came over.  wake() is called at the time that
 * the node passed to sim_wake(), fail() when the node goes down or recovers,
 * and free() at the end.  A node calls sim_send() to send over a pipe with a
 * plain queue, which may have a limit.  A node with an Olaf or drop-tail port
 * passes packets to the egress of the pipe through the data plane
 * (nodes/plane-driver.h).  A node may keep its state in node->own.  It reads no
 * clock.  It draws random numbers only from sim->chance, or from its own
 * generators, which are seeded from sim->seed.  If common/ has a header for a
 * decision, the node calls that header.
 *
 * Events at the same time are ordered by class: faults and recoveries; ends of
 * transmission; deliveries to servers; models on the way to workers; arrivals
 * at switches; wakes; new updates.  Within a class they are ordered by index.
 * Pipes and nodes are numbered in the order of the scenario.  Workers are
 * numbered by group, cluster and id.  Packets of one pipe stay in order.
 *
 * Packets carry no vectors: up.n and up.elements are 0, and wire_bytes is the
 * length that the frame would have (captures contain zeros).  A packet is
 * copied by value, without allocation.  A packet that is neither an update nor
 * a model is a frame of another program (nodes/node-traffic.h).
 *
 * Every constituent that was sent is counted exactly once: as delivered, or
 * with the reason for its loss.  sim_count_loss() counts losses of nodes and
 * pipes, and the tally of an egress counts those of its queue.
 * result_make_rows() checks these counts in every run.
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

/* Value of a packet's up.kind: a frame of another program (node-traffic.h). */
enum { SIM_REGULAR = 0 };

#define SIM_NEVER UINT64_MAX
#define SIM_NONE UINT32_MAX

/* Reasons for the loss of a packet outside the queues of updates. */
enum sim_loss {
	SIM_LOST_LINK,		/* the packet was lost at random on a link */
	SIM_LOST_DOWN,		/* a link or switch was down */
	SIM_LOST_QUEUE,		/* the queue of a plain pipe was full */
	SIM_LOSSES
};

/* A datagram between two nodes of a training job. */
struct sim_datagram {
	struct sim_node *from, *to;
	uint16_t sport, dport;
	uint16_t len;
	uint8_t tos;
	uint8_t p[36];		/* a segment with one float, a control message,
				 * or the number of a longer message; see
				 * train.h */
};

struct sim_packet {
	uint32_t wire_bytes;	/* length of the frame */
	union {
		struct update up;	/* an update without a vector */
		struct sim_datagram dg;	/* the datagram of a training job; see
					 * train.h */
	};
};

_Static_assert(sizeof(struct sim_datagram) <= sizeof(struct update),
    "a datagram makes no packet longer");

struct sim_flying {
	uint64_t left_ns, at_ns; /* time when the packet's last bit leaves; time
				  * when the packet arrives */
	struct sim_packet p;
};

/* The packets in a pipe, in order.  Owns its memory; `room` is a power of 2. */
struct sim_ring {
	struct sim_flying *item;
	uint32_t head, count, room;
};

struct sim_node;

struct sim_pipe {
	struct sim_ring ring;	/* this member is in the first cache line */
	uint64_t deadline_ns;	/* time of the next arrival; other events are
				 * ignored */
	struct sim_node *to;
	uint32_t port;	/* number that the sender or the receiver has chosen for
			 * the pipe */
	uint32_t left;	/* number of packets in the ring that have left */
	double loss;
	struct link link;	/* rate and queue of the link, used by a plain
				 * queue */
	uint64_t propagation_ns;
	uint32_t index;		/* index of this pipe in sim->pipe */
	enum sim_class class;	/* class of the arrival events of this pipe */
	uint32_t queue;	/* limit on frames in the queue or being sent; 0: no
			 * limit */
	uint32_t down;	/* number of current faults of the pipe; 0: the pipe is
			 * up */
	struct sim_flying one;	/* memory of the ring while ring.room is 1 */
	struct port *egress;	/* the sender's port; NULL: a plain queue */
	uint64_t leave_ns; /* time of the next SIM_LEAVE; other events are
			    * ignored */
	struct sim_node *from;
};

/*
 * The port of a switch toward the server, with counters that the tally of the
 * port does not have.
 */
struct sim_port {
	struct port *egress;	/* port in sim->plane that has the same index */
	const struct scenario_switch *cf;
	unsigned __int128 wait_ns;	/* total time that frames waited in the
					 * queue */
	uint64_t served, busy_ns;
};

/* Captures at the two ends of a pipe, or NULL. */
struct sim_tap {
	struct pcapio_out *left, *came;
};

struct sim;

struct sim_kind {
	const char *name;
	void (*arrive)(struct sim *, struct sim_node *, struct sim_pipe *by,
	    const struct sim_packet *);	/* `by` is the pipe; NULL if the worker
					 * has ideal access */
	void (*wake)(struct sim *, struct sim_node *);
	void (*fail)(struct sim *, struct sim_node *, bool down);
	void (*free)(struct sim_node *);
	/*
	 * deliver models to n workers of the group, starting with worker `base`
	 */
	void (*model)(struct sim *, const struct sim_node *, uint32_t base,
	    uint32_t n, const struct sim_packet *);
	bool serves;	/* packets that arrive here are SIM_DELIVERY events */
};

/*
 * The functions that the engine calls for the network it runs:
 * nodes/update-network.h or training/train-build.h.
 */
struct sim_network {
	/* count a lost packet */
	void (*lose)(struct sim *, const struct sim_packet *, enum sim_loss);
	void (*fault)(struct sim *, uint32_t id);	/* handle a SIM_FAULT */
	void (*generate)(struct sim *, uint32_t id); /* handle a SIM_GENERATE */
	void (*leave)(struct sim *, struct sim_pipe *);	/* handle a SIM_LEAVE */
	/*
	 * drop the frames that wait in the port of the pipe's sender, and count
	 * them as lost
	 */
	void (*clear_port)(struct sim *, struct sim_pipe *);
	/* write a packet as a frame to a capture */
	void (*put_frame)(const struct sim *, struct pcapio_out *,
	    const struct sim_packet *, uint64_t stamp_ns);
	void (*new_day)(const struct sim *);	/* called when a calendar day
						 * begins, or NULL */
	void (*end)(struct sim *);	/* called when the run ends, or NULL */
};

/* Functions for packet faults at the end of a pipe; see link-faults.h. */
struct sim_pipe_hook {
	/* does the packet arrive now? */
	bool (*arrives)(struct sim *, struct sim_pipe *,
	    const struct sim_packet *);
	void (*late)(struct sim *);	/* handle a SIM_LATE event: a packet
					 * arrives late */
};

struct sim_node { /* the most used fields are in the first cache line */
	_Alignas(64) const struct sim_kind *kind;
	void *own;		/* state that belongs to the kind */
	struct sim_pipe *up;	/* pipe toward the server, or NULL; the next
				 * pipe in sim->pipe leads back */
	struct pcapio_out *in, *out;	/* captures of the node, or NULL */
	uint32_t down;	/* number of current faults; 0: the node is up */
	uint16_t first;	/* lowest cluster id; the port subtracts this number
			 * from cluster ids */
	uint32_t index;		/* index in sim->node */
	struct hashmap cluster;	/* maps a cluster id to the first route of the
				 * cluster */
	char name[JSON_READER_NAME_BYTES + 16];
};

/*
 * A route from a node to workers of a cluster.  The workers are behind a pipe,
 * or at this node.
 */
struct sim_route {
	uint32_t first, n;	/* id of the first worker; number of workers */
	struct sim_pipe *down; /* pipe to the workers; NULL: each worker has its
				* own pipe or ideal access */
	struct sim_node *group;	/* node of the workers' group */
	uint32_t base;		/* index of the first worker in sim->worker */
	uint32_t next;		/* next route of this cluster, or SIM_NONE */
	bool again;	/* an earlier route of the cluster has the same pipe */
};

struct sim_worker {
	struct arrivals arrivals;
	uint32_t group, at;	/* indexes of the nodes of the worker's group
				 * and of its switch */
	uint32_t cluster;	/* index of the worker's cluster in
				 * sim->cluster */
	uint32_t id;		/* id of the worker in its cluster */
	uint32_t put;		/* number of updates generated */
	uint32_t up, down;	/* indexes of the worker's pipes, or SIM_NONE */
};

enum sim_count {
	SIM_GENERATED, SIM_SUPPRESSED, SIM_SENT, SIM_RECEIVED, SIM_MERGED,
	SIM_MODELS, SIM_TIMED_OUT, SIM_GATED, SIM_COUNTS
};

struct sim_cluster {	/* the most changed fields are in the first cache
			 * line */
	_Alignas(64) uint16_t id;
	bool sent;		/* an update of the cluster was sent */
	uint32_t packets;	/* number of packets in a vector */
	uint32_t frame, last_frame; /* number of bytes in a frame; number of
				     * bytes in a vector's last frame */
	uint64_t count[SIM_COUNTS];
	uint32_t group;		/* index of the cluster's first group in the
				 * scenario */
	uint64_t lost[SIM_LOSSES]; /* number of lost constituents, by reason */
	uint64_t cleared;	/* number of constituents lost when a queue was
				 * cleared */
	unsigned __int128 delay_ns;	/* total delay of received packets */
	uint64_t goal;	/* number of constituents to receive; 0: no goal */
	uint64_t goal_ns;	/* time when the goal was reached; 0: not
				 * reached yet */
	uint64_t last_ns; /* time when the cluster's last update was sent or
			   * received */
	struct aom *age;	/* age of each packet of a vector; owned */
	struct server_rule_range *range; /* server state of each packet of a
					  * vector; owned */
};

struct sim {
	const struct scenario *sc;
	const struct sim_network *network;
	uint64_t now_ns, end_ns;	/* end_ns: end of the run */
	double other_end;	/* mean age with the other value of ages_to,
				 * divided by the mean age */
	uint64_t seed;
	struct rng arrivals, bursts, control, chance;
	struct calendar events;
	struct sim_port *port;	/* ports of the switches, which are the first
				 * nodes */
	struct sim_plane *plane; /* plane of the switches (see plane-driver.h),
				  * or NULL */
	struct sim_pipe *pipe;
	uint32_t pipes;
	struct sim_node *node;
	uint32_t nodes;
	struct sim_worker *worker;
	uint32_t workers;
	struct sim_cluster *cluster;
	uint32_t clusters;
	uint32_t *cluster_of;	/* index of each cluster id, or SIM_NONE; 65,536
				 * entries */
	struct sim_route *route;
	uint32_t routes, routes_room;
	uint64_t handled;	/* number of events handled so far */
	uint64_t models_lost[SIM_LOSSES];
	const volatile int *stopped;	/* flag that a signal handler sets, or
					 * NULL */
	struct training *training;	/* if not NULL, the network consists of
					 * these training jobs only */
	uint32_t trainings;
	struct sim_tap *tap; /* captures of each pipe; NULL: no link is
			      * captured */
	uint64_t was_ns;	/* now_ns of the previous event */
	struct sim_source *source;	/* sources of regular traffic; see
					 * node-traffic.h */
	uint32_t sources;
	struct link_faults *link_faults; /* state of the faults of links (see
					  * link-faults.h), or NULL */
	const struct sim_pipe_hook *pipe_hook;	/* functions of link-faults.h,
						 * or NULL */
	char *wrong;			/* text of the first error,
					 * SIM_WRONG_BYTES long; if NULL, an
					 * error ends the process */
	uint64_t most;	/* limit on the number of events; 0: no limit */
	struct send_limit *send_limit;	/* limit on the packets of each node, or
					 * NULL; borrowed */
};

enum { SIM_WRONG_BYTES = 200 };

static inline enum sim_class sim_class_of(struct heap x);

static inline uint32_t sim_id_of(struct heap x);

/* Schedule a call of the node's wake() at the time at_ns. */
static inline void sim_wake(struct sim *s, const struct sim_node *n, uint64_t
    at_ns);

static inline struct sim_cluster * sim_cluster(const struct sim *s, uint16_t
    id);

/* Write p to a capture with the timestamp stamp_ns. */
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

/*
 * Schedule an event of this class and index at the time at_ns, which must not
 * be in the past.
 */
void sim_schedule(struct sim *s, enum sim_class class, uint32_t id,
    uint64_t at_ns);

static inline void
sim_wake(struct sim *s, const struct sim_node *n, uint64_t at_ns)
{
	sim_schedule(s, SIM_WAKE, n->index, at_ns);
}

/*
 * Send p over a pipe with a plain queue.  The packet is ready at ready_ns,
 * which must be neither in the past nor before the previous packet is ready.
 */
void sim_send(struct sim *s, struct sim_pipe *pipe, const struct sim_packet *p,
    uint64_t ready_ns);

/*
 * Reserve a place for a packet that leaves over a pipe at left_ns.  Returns the
 * place; the caller writes the packet to it.
 */
struct sim_packet *sim_put_in_flight(struct sim *s, struct sim_pipe *pipe,
    uint64_t left_ns);

/*
 * Drop the packets in the queue of a pipe and on its link, and count them as
 * lost.  If `all` is false, packets that have left the sender still arrive.
 */
void sim_clear_pipe(struct sim *s, struct sim_pipe *pipe, bool all);

/*
 * Take a node down, or restore it.  sim_fail_link() does so with the link whose
 * pipe toward the server is `up`.
 */
void sim_fail_node(struct sim *s, struct sim_node *n, bool down);
void sim_fail_link(struct sim *s, struct sim_pipe *up, bool down);

/* Report that the run cannot continue, or that a check has failed. */
void sim_report_wrong(struct sim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Count a lost packet. */
void sim_count_loss(struct sim *s, const struct sim_packet *p,
    enum sim_loss why);

/* Deliver p to a node.  `by` is the pipe that it came over, or NULL. */
void sim_receive(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p);

/* Send model p from node n to its workers, along the routes of the node. */
void sim_send_model(struct sim *s, struct sim_node *n,
    const struct sim_packet *p, uint64_t ready_ns);

/* Handle events until none is left, or until the end of the scenario. */
void sim_run(struct sim *s);

static inline struct sim_cluster *
sim_cluster(const struct sim *s, uint16_t id)
{
	return &s->cluster[s->cluster_of[id]];
}

/* Allocate n zeroed elements of `bytes` bytes each, or exit. */
void *sim_alloc(size_t n, size_t bytes, const char *what);

/*
 * Allocate memory like sim_alloc(), but in whole cache lines and large pages.
 */
void *sim_alloc_large(size_t n, size_t bytes, const char *what);

/* Make a link from the next two pipes; return the pipe toward the server. */
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
 * Commit a frame of wire_bytes bytes at `to` in the buffer of the capture.  The
 * caller has written the first `whole` bytes; this function clears the others.
 */
void sim_commit_frame(const struct sim *s, struct pcapio_out *out, uint8_t *to,
    uint32_t whole, uint32_t wire_bytes, uint64_t stamp_ns);

/* Write to the capture of a pipe the packets that left before or at by_ns. */
void sim_capture_left(const struct sim *s, const struct sim_pipe *pipe,
    uint64_t by_ns);

#endif
