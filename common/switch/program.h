/*
 * program.h - the interface between a switch and its program, which does the
 * computing
 *
 * A program receives packets with their times, keeps state, sends packets and
 * says when it must be called again.  It also answers control requests, counts
 * packets by what happened to the packets, and calculates the memory that it
 * will need.  A program reads no clock, uses no socket and does not depend on a
 * driver: the drivers for traces, sockets, network interfaces and the simulator
 * call it through the data plane (plane.h).
 *
 * A program consists of a folder in common/ that contains its rules, a file
 * program.h in this folder that fills in one struct program, and a row in
 * switch/programs.h.
 *
 * A program posts its datagrams to an outbox (outbox.h).  It returns received
 * packets to the plane: env->enqueue_update() puts an update into the queue of
 * the port towards an address, and env->forward_packet() forwards a packet
 * without queueing it.
 */
#ifndef INNET_SWITCH_PROGRAM_H
#define INNET_SWITCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/counters.h"
#include "common/base/hashmap.h"
#include "common/base/opt.h"
#include "common/switch/outbox.h"
#include "common/wire/addr.h"
#include "common/wire/control.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

enum { PACKET_SOCKET_OWN = 0 };	/* number of the socket that has the switch's
				 * own address */

/*
 * A packet that a driver passes to the plane and the plane passes to the
 * program.  All pointers are borrowed for the duration of the call; the bytes
 * are borrowed until the plane is flushed.  A packet from a socket is only the
 * payload of a datagram.  In traces and on interfaces the payload is part of a
 * frame, and a queue keeps the whole frame.  In the simulator an update has no
 * bytes at all.
 *
 * The order of the fields is chosen for speed.  The fields that are set for
 * every packet come first.  The fields that are 0 unless there is a frame
 * follow and fill whole words, because a processor is slow at reading a value
 * that was written in overlapping parts.
 */
struct packet {
	const union addr *from, *to;	/* source and destination; the port is 0
					 * if the packet has no port */
	uint8_t *payload;		/* payload of the datagram */
	uint32_t bytes;			/* length of the payload */
	uint32_t wire_bytes;		/* length of the packet's frame on a
					 * link, in bytes */
	uint8_t tos;
	uint32_t socket;		/* number of the socket that received
					 * the packet; in a trace: number of the
					 * socket to whose port the packet was
					 * sent */
	const struct update *update;	/* the parsed update, or NULL */

	/* The next fields describe the frame: */
	const struct frame *frame;	/* borrowed; offsets of the parts of the
					 * frame; NULL: there is no frame */
	uint8_t *data;			/* the Ethernet frame as received */
	uint64_t vlan;			/* VLAN of the frame (frame_vlan()); 0:
					 * none */
	enum frame_is is;
	enum frame_sums sums;		/* result of the check of the checksums
					 * on arrival, if they were checked */
	uint32_t have, len;		/* number of bytes of the frame that are
					 * present; length of the frame before
					 * truncation */
	bool changed;			/* the payload was changed, so the
					 * checksum must be computed again */
	bool bare;			/* the packet is bare: an update in the
					 * format of the Olaf paper */
	uint16_t cluster;		/* cluster of the update if `bare` is
					 * set */
};

#define PROGRAM_NEVER UINT64_MAX

struct slot;			/* A slot of a queue is defined in
				 * common/queue/slots.h. */
struct key;			/* common/auth/key.h */
struct rate_limit;		/* common/auth/rate-limit.h */

/*
 * The class of a packet, which determines the part of the switch that handles
 * the packet.
 */
enum packet_class {
	PACKET_REGULAR,		/* the packet is other traffic, which the plane
				 * forwards */
	PACKET_FOR_PROGRAM,	/* the packet is for the program, which receives
				 * the packet if it is valid */
	PACKET_FROM_PROGRAM,	/* the packet was sent by another run of the
				 * program, whose traffic was captured; the
				 * plane drops the packet */
	PACKET_BETWEEN_OTHERS	/* the packet uses the program's protocol but is
				 * neither from nor to this switch; the plane
				 * forwards the packet */
};

/* The settings of the switch that all programs share. */
struct program_place {
	union addr address;	/* the switch's own address; family 0: none */
	union addr parent;	/* address of the parent switch or server;
				 * family 0: none */
	bool live;		/* the driver knows which socket received a
				 * packet; if not set, as in a trace, the UDP
				 * port shows which socket it was */
	bool in_path;		/* the switch is live on network interfaces, so
				 * packets between other hosts arrive as well,
				 * and invalid packets are forwarded */
	bool replayed;		/* the input is a trace, in which the packets of
				 * peers are answers to another run */
	/*
	 * The first multicast group.  The port of a job's group is the port of
	 * this address plus the number of the job.  Family 0: results are not
	 * sent by multicast.
	 */
	union addr group;
	uint32_t xid;		/* xid of the first request that the switch
				 * sends */
	const struct key *key;	/* key of control messages; NULL: no key */
	const struct key *command_key;	/* key of commands; NULL: commands use
					 * `key` */
	struct hashmap_multiplier hash_seed;	/* seed of maps that untrusted
						 * hosts fill */
	bool quotas;		/* each host has quotas (quota.h) */
	bool tagged;		/* data packets carry tags (--auth all) */
	bool needs_cookie;	/* requests that come from other machines need a
				 * cookie */
	bool secret_known;	/* the user has given the secret; if not set, a
				 * live switch chooses the secret at random */
	uint8_t secret[32];
	uint64_t memory_bytes;	/* limit on the memory that is allocated later;
				 * 0: no limit */
	uint32_t sockets;	/* number of sockets that the program may use at
				 * the same time; 0: no limit */
	bool dry_run;		/* --dry-run was given: only report how much
				 * memory is needed */
};

/* The functions of the plane that its program may call. */
struct program_env {
	void *plane;		/* first argument of each of these functions */
	const struct program_place *place;
	struct outbox *out;
	/*
	 * Offer the update u of packet p to the queue of the port towards
	 * address `to`.  The update will leave through socket `socket`.
	 * Returns false if the vector of the update is not divided into packets
	 * like the other vectors of its cluster, or if there is no such port.
	 */
	bool (*enqueue_update)(void *plane, uint32_t socket,
	    const union addr *to, const struct packet *p,
	    const struct update *u, uint64_t now_ns);
	/*
	 * The model in packet p came from address `from`.  Record how this
	 * model is divided into packets, because updates of the same cluster to
	 * this address are divided in the same way.
	 */
	void (*learn_shape)(void *plane, const union addr *from,
	    const struct packet *p, const struct update *model,
	    uint64_t now_ns);
	/* Forward a received packet without queueing it. */
	void (*forward_packet)(void *plane, struct packet *p,
	    uint64_t now_ns);
	/* Move the payload of p to memory that may be written. */
	void (*make_writable)(void *plane, struct packet *p);
	/* Merge the state of the queue towards `to` into the status of a model.
	 * Returns whether the status has changed. */
	bool (*stamp_status)(void *plane, const union addr *to,
	    struct update_status *status, uint64_t now_ns);
	/* limit on the answers to unauthenticated hosts */
	struct rate_limit *rate_limit;
	/*
	 * Count a received packet as ignored, with a verdict of soundness.h as
	 * the reason.
	 */
	void (*count_ignored)(void *plane, unsigned verdict);
	/*
	 * Add the counters of a cluster's updates, summed over all ports, to c.
	 */
	void (*put_cluster)(void *plane, uint16_t cluster,
	    struct counters *c);
};

/* One part of the memory that a switch will need. */
struct memory_part {
	const char *name;	/* name of the part, a plural noun */
	uint64_t number, bytes;	/* number of items in the part; total size of
				 * all items, in bytes */
	bool grows;		/* the memory is allocated later, as members
				 * join or destinations are used */
	bool unlimited;		/* --memory does not limit this part */
};

enum { MEMORY_PARTS = 8 };

/* The result of a control request. */
enum program_reply {
	PROGRAM_ANSWERED,	/* the Ack is filled in */
	PROGRAM_LATER,		/* there is no answer yet, so the peer must send
				 * the request again */
	PROGRAM_UNKNOWN		/* the program does not know this request */
};

/*
 * A program.  These members are required: name, default_port, init_state,
 * classify, receive and put_counters.  A program that posts to a group or to
 * the parent also needs each_member or parent_address.  Every other member may
 * be NULL or 0.
 */
struct program {
	const char *name;
	const char *about;	/* description in a few words, for --help */
	/* Return the UDP port to use if the user gives no port. */
	uint16_t (*default_port)(const void *conf);
	const char *trace_address;	/* default address of the switch in a
					 * trace, or NULL */
	uint8_t tos;		/* ToS byte of most packets that the program
				 * sends */
	/*
	 * Return the length of the datagram that starts at p.  NULL: the length
	 * follows from the codepoints of the program's packets.
	 */
	uint32_t (*datagram_bytes)(const uint8_t *p, size_t have);

	/* the defaults of ports */
	uint64_t rate_bps;	/* default rate; 0: packets leave at once */
	bool merges_updates;	/* ports use the Olaf queue */
	bool bypasses_queues;	/* posts are not queued at ports */
	bool supports_tags;	/* data packets can carry tags, so --auth all is
				 * allowed */
	bool ignores_key;	/* no packet of the program can be
				 * authenticated */

	/*
	 * The settings are a block of conf_bytes bytes, which is zeroed at
	 * first and which the options fill.
	 */
	size_t conf_bytes;
	const struct opt *options;
	void (*set_defaults)(void *conf);
	/*
	 * Set the option with code `option` to `arg`.  Returns NULL or an error
	 * message.
	 */
	const char *(*set_option)(void *conf, int option, const char *arg);
	/*
	 * Check whether the settings can be combined, after all options are
	 * set, and adapt them to `place`.  Returns NULL or an error message.
	 */
	const char *(*check_settings)(void *conf,
	    struct program_place *place);
	/* Free the memory that the settings own. */
	void (*free_settings)(void *conf);
	/*
	 * List the memory that the program will need.  The list is written to
	 * `parts`, which has room for MEMORY_PARTS entries.  Returns the number
	 * of entries.
	 */
	size_t (*plan_memory)(const void *conf, struct memory_part *parts);

	/*
	 * The state is a block of state_bytes bytes, which is zeroed at first.
	 */
	size_t state_bytes;
	/* Initialise the state.  Returns false if there is no memory. */
	bool (*init_state)(void *state, const void *conf,
	    const struct program_env *env);
	void (*free_state)(void *state);

	/* functions for the data plane */
	/*
	 * Return the class of packet p, which determines the part of the switch
	 * that processes the packet.
	 */
	enum packet_class (*classify)(void *state, struct packet *p);
	/* Process a packet of class PACKET_FOR_PROGRAM. */
	void (*receive)(void *state, struct packet *p, uint64_t now_ns);
	/*
	 * Return the time when on_deadline() must be called next, or
	 * PROGRAM_NEVER.
	 */
	uint64_t (*deadline_ns)(const void *state);
	bool deadline_needs_tags;	/* without tags the program has no
					 * deadlines */
	/* Do the work that is due by now_ns. */
	void (*on_deadline)(void *state, uint64_t now_ns);
	/*
	 * Return the next address to which a post to the group is sent, and
	 * advance *next, which must be 0 before the first call.  Returns NULL
	 * after the last address.
	 */
	const union addr *(*each_member)(const void *state, uint32_t group,
	    uint32_t *next, uint64_t now_ns);
	/*
	 * Return the multicast group that delivers results to the member with
	 * address `at`, or NULL.
	 */
	const union addr *(*multicast_group)(
	    const void *state, const union addr *at);
	/*
	 * Return the address to which a post of the group to the parent is
	 * sent, and set *socket to the socket that sends the post.  Returns
	 * NULL if the post must be dropped.
	 */
	const union addr *(*parent_address)(const void *state,
	    uint32_t group, uint32_t *socket);
	/*
	 * Does the program have a backlog, which consists of packets that must
	 * be sent as soon as the driver has room?
	 */
	bool (*has_backlog)(const void *state);
	/*
	 * Post some packets of the backlog.  Returns whether any were posted.
	 */
	bool (*send_backlog)(void *state);
	/*
	 * Is the socket with number `socket` still needed?  The function is not
	 * called for PACKET_SOCKET_OWN.
	 */
	bool (*needs_socket)(const void *state, uint32_t socket);
	/*
	 * Return the size, in bytes, that each buffer of this socket should
	 * have.  The kernel doubles this size to allow for its overhead.
	 */
	uint64_t (*socket_bytes)(const void *state, uint32_t socket);
	/*
	 * Set *a to the address that the socket with number `socket` has in a
	 * trace.
	 */
	void (*socket_address)(const void *state, uint32_t socket,
	    union addr *a);
	/* Replace the authentication tag of an update that leaves its queue. */
	void (*retag_update)(void *state, struct slot *s, uint64_t now_ns);

	/* functions for the control plane */
	/*
	 * Is `at` the address of a member of job `job`, or of any job if `job`
	 * is -1?  NULL: the program has no members.
	 */
	bool (*is_member)(const void *state, const union addr *at,
	    int32_t job);
	/* Return the number of different addresses of members. */
	uint32_t (*member_count)(const void *state);
	/* Record that a valid message has arrived from the address `from`. */
	void (*peer_alive)(void *state, const union addr *from,
	    uint64_t now_ns);
	/*
	 * The switch itself did not run during the last span_ns before now_ns,
	 * so do not count this time as silence of the peers.
	 */
	void (*stalled)(void *state, uint64_t span_ns, uint64_t now_ns);
	/* Process a control message from env->place->parent. */
	void (*parent_message)(void *state, const uint8_t *p, size_t len,
	    uint64_t now_ns);
	/*
	 * Execute request c, which came from address `from`, and fill in its
	 * Ack.
	 */
	enum program_reply (*handle_request)(void *state,
	    const union addr *from, const struct control *c,
	    struct control_ack *a, uint64_t now_ns);
	/*
	 * Add each job to c, as a group of the list that the caller has begun.
	 */
	void (*list_jobs)(const void *state, struct counters *c,
	    uint64_t now_ns);
	/*
	 * Add the members of a job to c.  Returns false if the job does not
	 * exist.
	 */
	bool (*list_members)(const void *state, uint16_t job,
	    struct counters *c, uint64_t now_ns);
	/*
	 * Add the counters of a job to c or, if `gauges` is true, add its
	 * gauges.  If `job` is -1, add those of the whole switch.  Returns
	 * false if the job does not exist.
	 */
	bool (*put_counters)(const void *state, int32_t job, bool gauges,
	    struct counters *c, uint64_t now_ns);

	/* functions for the output to users */
	/* Add all counters to a report. */
	void (*put_report)(const void *state, struct counters *c);
	/*
	 * Add the most important counters to the summary line at the end of the
	 * run.
	 */
	void (*put_summary)(const void *state, struct counters *line);
	/*
	 * Add some counters to the progress line, which is printed while the
	 * switch runs.
	 */
	void (*put_progress)(const void *state, struct counters *line);
	/*
	 * Write a description of a lasting problem to `text` and return `text`.
	 * Returns NULL if there is no such problem.
	 */
	const char *(*describe_problem)(void *state, char *text, size_t room,
	    uint64_t now_ns);
	/*
	 * Are the program's counters consistent?  NULL: there is nothing to
	 * check.
	 */
	bool (*counters_add_up)(const void *state);
	/*
	 * If address `at` is unreachable, must a warning be printed?  NULL: no
	 * such warning is necessary.
	 */
	bool (*depends_on)(const void *state, const union addr *at);
};

#endif
