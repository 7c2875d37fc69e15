/*
 * program.h - the contract of programs: the part of a switch that computes
 *
 * A program receives packets with a time, keeps state, sends packets and says
 * when it must be called again.  It answers control requests, counts its
 * packets by reason and plans its memory.  A program reads no clock, touches
 * no socket and knows no driver: traces, sockets, network interfaces and the
 * simulator all reach it through the data plane (plane.h).
 *
 * A program is a folder in common/ with its rules, a program.h that fills in
 * one struct program, and a row in switch/programs.h.
 *
 * A program posts its datagrams to an outbox (outbox.h).  It returns received
 * packets to the plane: env->enqueue_update() puts an update into the queue of
 * the port towards an address, and env->forward_packet() sends a packet on
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

enum { PACKET_SOCKET_OWN = 0 };	/* the socket of the switch's own address */

/*
 * A packet, from a driver to the plane and from the plane to the program.
 * Everything is borrowed for the call; the bytes are borrowed until the plane
 * is flushed.  Over sockets there is only the payload of a datagram.  In traces
 * and on interfaces the payload is in a frame, which a queue keeps.  In the
 * simulator an update has no bytes at all.
 *
 * The fields are in this order for speed: first those that are set for every
 * packet, then in whole words those that are 0 unless there is a frame.  A
 * value written in overlapping parts could not be read back at once.
 */
struct packet {
	const union addr *from, *to;	/* port 0 if there is none */
	uint8_t *payload;		/* of the datagram */
	uint32_t bytes;			/* of the payload */
	uint32_t wire_bytes;		/* of its frame, on a link */
	uint8_t tos;
	uint32_t socket;		/* number of the socket that received
					 * it, or of its port in a trace */
	const struct update *update;	/* already parsed; or NULL */

	/* the frame: */
	const struct frame *frame;	/* offsets of its parts; NULL: none */
	uint8_t *data;			/* Ethernet, as received */
	uint64_t vlan;			/* frame_vlan() of it; 0: none */
	enum frame_is is;
	enum frame_sums sums;		/* on arrival, if they were checked */
	uint32_t have, len;		/* bytes present; before truncation */
	bool changed;			/* the payload was: checksums are due */
	bool bare;			/* an update in the paper's format, */
	uint16_t cluster;		/* of this cluster */
};

#define PROGRAM_NEVER UINT64_MAX

struct slot;			/* of a queue: common/queue/slots.h */
struct key;			/* common/auth/key.h */
struct rate_limit;		/* common/auth/rate-limit.h */

/* Which part of the switch handles a packet. */
enum packet_class {
	PACKET_REGULAR,		/* other traffic: the plane forwards it */
	PACKET_FOR_PROGRAM,	/* the program receives it if it is sound */
	PACKET_FROM_PROGRAM,	/* a captured run of the program sent it; the
				 * plane drops it */
	PACKET_BETWEEN_OTHERS	/* of the program's protocol, but neither from
				 * nor to this switch: it is forwarded */
};

/* The settings of the switch that all programs share. */
struct program_place {
	union addr address;	/* the switch's own; family 0: none */
	union addr parent;	/* parent switch or server; family 0: none */
	bool live;		/* the driver knows at which socket a packet
				 * arrived; in a trace the ports tell */
	bool in_path;		/* live at interfaces: packets between other
				 * hosts arrive too; unsound ones go on */
	bool replayed;		/* the peers answered another run */
	union addr group;	/* first multicast group: a job's group has
				 * the job's number added to the port; family
				 * 0: results are not sent by multicast */
	uint32_t xid;		/* of the switch's first request */
	const struct key *key;	/* of control messages; NULL: none */
	const struct key *command_key;	/* of commands; NULL: key */
	struct hashmap_multiplier hash_seed;	/* of maps that untrusted hosts
						 * fill */
	bool quotas;		/* limit what one host may use: quota.h */
	bool tagged;		/* data carries tags: --auth all */
	bool needs_cookie;	/* requests from other hosts need a cookie */
	bool secret_known;	/* the user gave the secret; a live switch
				 * without one draws it at random */
	uint8_t secret[32];
	uint64_t memory_bytes;	/* limit of later allocations; 0: none */
	bool dry_run;		/* only report the memory needed */
};

/* The functions of the plane that its program may call. */
struct program_env {
	void *plane;		/* first argument of each function */
	const struct program_place *place;
	struct outbox *out;
	/*
	 * Put the update u, which is in the packet p, into the queue of the
	 * port towards `to`, to leave by `socket`.  Returns false if
	 * it is not segmented like the other updates of its cluster, or if
	 * there is no such port.
	 */
	bool (*enqueue_update)(void *plane, uint32_t socket,
	    const union addr *to, const struct packet *p,
	    const struct update *u, uint64_t now_ns);
	/* Learn from a model in the packet p that came from `from` how the
	 * updates of its cluster to that address are segmented. */
	void (*learn_shape)(void *plane, const union addr *from,
	    const struct packet *p, const struct update *model,
	    uint64_t now_ns);
	/* Send a received packet on, past all queues. */
	void (*forward_packet)(void *plane, struct packet *p,
	    uint64_t now_ns);
	/* Move the payload of p to memory that may be changed. */
	void (*make_writable)(void *plane, struct packet *p);
	/* Merge the state of the queue towards `to` into the status of a
	 * model; returns whether the status changed. */
	bool (*stamp_status)(void *plane, const union addr *to,
	    struct update_status *status, uint64_t now_ns);
	/* Limits the answers to unauthenticated hosts. */
	struct rate_limit *rate_limit;
	/* Count a received packet as ignored, under a soundness verdict. */
	void (*count_ignored)(void *plane, unsigned verdict);
	/* Add the counters of a cluster's updates at all ports to c. */
	void (*put_cluster)(void *plane, uint16_t cluster,
	    struct counters *c);
};

/* One part of the memory that a switch plans to use. */
struct memory_part {
	const char *name;	/* plural noun */
	uint64_t number, bytes;	/* bytes: of all of them together */
	bool grows;		/* allocated later, as members join */
};

enum { MEMORY_PARTS = 8 };

/* The result of a control request. */
enum program_reply {
	PROGRAM_ANSWERED,	/* the Ack is filled in */
	PROGRAM_LATER,		/* no answer yet: the peer retries */
	PROGRAM_UNKNOWN		/* the program has no such request */
};

/*
 * A program.  Required are name, default_port, init_state, classify, receive
 * and put_counters, and the member that finds the addresses of each kind of
 * post that the program makes (each_member, parent_address).  Every other
 * member may be NULL or 0.
 */
struct program {
	const char *name;
	const char *about;	/* a few words, for --help */
	/* Return the UDP port to use if the user gives none. */
	uint16_t (*default_port)(const void *conf);
	const char *trace_address;	/* of the switch in a trace; or NULL */
	uint8_t tos;		/* of most packets that it sends */
	/* Return the length of the datagram that starts at p.  NULL: the
	 * codepoints of its packets tell the length. */
	uint32_t (*datagram_bytes)(const uint8_t *p, size_t have);

	/* defaults of the ports */
	uint64_t rate_bps;	/* 0: packets leave at once */
	bool merges_updates;	/* ports use the Olaf queue */
	bool bypasses_queues;	/* posts are not queued at ports */
	bool supports_tags;	/* its data can carry tags: --auth all */
	bool ignores_key;	/* no packet of it can be authenticated */

	/* settings: a block of conf_bytes, zeroed, and the options */
	size_t conf_bytes;
	const struct opt *options;
	void (*set_defaults)(void *conf);
	/* Set one of options, by its ch.  Returns NULL, or what is wrong. */
	const char *(*set_option)(void *conf, int option, const char *arg);
	/* Check the settings together once all are set, and adapt them to
	 * place.  Returns NULL, or what is wrong. */
	const char *(*check_settings)(void *conf,
	    struct program_place *place);
	/* Free the memory that the settings own. */
	void (*free_settings)(void *conf);
	/* List the memory that it plans to use in parts, which has room for
	 * MEMORY_PARTS; returns how many it filled in. */
	size_t (*plan_memory)(const void *conf, struct memory_part *parts);

	/* state: a block of state_bytes, zeroed */
	size_t state_bytes;
	/* Initialize the state; returns false without memory. */
	bool (*init_state)(void *state, const void *conf,
	    const struct program_env *env);
	void (*free_state)(void *state);

	/* the data plane */
	/* Decide which part of the switch handles p. */
	enum packet_class (*classify)(void *state, struct packet *p);
	/* Process a packet of class PACKET_FOR_PROGRAM. */
	void (*receive)(void *state, struct packet *p, uint64_t now_ns);
	/* Return when on_deadline must be called next, or PROGRAM_NEVER. */
	uint64_t (*deadline_ns)(const void *state);
	bool deadline_needs_tags;	/* without tags there is none ever */
	/* Do the work of a deadline that has passed. */
	void (*on_deadline)(void *state, uint64_t now_ns);
	/* Return the next address that a post to the group is sent to, and
	 * advance *next, which starts at 0; NULL at the end. */
	const union addr *(*each_member)(const void *state, uint32_t group,
	    uint32_t *next, uint64_t now_ns);
	/* Return the multicast group through which the member at `at`
	 * receives results, or NULL. */
	const union addr *(*multicast_group)(
	    const void *state, const union addr *at);
	/* Return where a group's post to the parent goes, and set *socket
	 * to the socket to use; NULL: drop the post. */
	const union addr *(*parent_address)(const void *state,
	    uint32_t group, uint32_t *socket);
	/* Does it have packets to send once the driver has room? */
	bool (*has_backlog)(const void *state);
	/* Post some of them; returns whether any were posted. */
	bool (*send_backlog)(void *state);
	/* Is a socket, not PACKET_SOCKET_OWN, still needed? */
	bool (*needs_socket)(const void *state, uint32_t socket);
	/* Set *a to the address of a socket in a trace. */
	void (*socket_address)(const void *state, uint32_t socket,
	    union addr *a);
	/* Replace the tag of an update that leaves its queue. */
	void (*retag_update)(void *state, struct slot *s, uint64_t now_ns);

	/* the control plane */
	/* Is `at` a member of the job (-1: of any job)?  NULL: there are no
	 * members. */
	bool (*is_member)(const void *state, const union addr *at,
	    int32_t job);
	/* Return the number of such addresses. */
	uint32_t (*member_count)(const void *state);
	/* Note that a valid message came from `from`. */
	void (*peer_alive)(void *state, const union addr *from,
	    uint64_t now_ns);
	/* Do not count the span_ns before now_ns as silence of the peers: the
	 * switch itself was not running. */
	void (*stalled)(void *state, uint64_t span_ns, uint64_t now_ns);
	/* Process a control message from env->place->parent. */
	void (*parent_message)(void *state, const uint8_t *p, size_t len,
	    uint64_t now_ns);
	/* Execute the request c from `from`, and fill in the Ack. */
	enum program_reply (*handle_request)(void *state,
	    const union addr *from, const struct control *c,
	    struct control_ack *a, uint64_t now_ns);
	/* Add all jobs to c, a group of a list each. */
	void (*list_jobs)(const void *state, struct counters *c,
	    uint64_t now_ns);
	/* Add the members of a job; returns false if it does not exist. */
	bool (*list_members)(const void *state, uint16_t job,
	    struct counters *c, uint64_t now_ns);
	/* Add the counters, or the gauges, of a job (-1: of the switch);
	 * returns false if it does not exist. */
	bool (*put_counters)(const void *state, int32_t job, bool gauges,
	    struct counters *c, uint64_t now_ns);

	/* output for users */
	/* Add all counters to a report. */
	void (*put_report)(const void *state, struct counters *c);
	/* Add the most important counters to the line at the end. */
	void (*put_summary)(const void *state, struct counters *line);
	/* Add some counters to the line that is printed while it runs. */
	void (*put_progress)(const void *state, struct counters *line);
	/* Return a lasting problem to report, written to text, or NULL. */
	const char *(*describe_problem)(void *state, char *text, size_t room,
	    uint64_t now_ns);
	/* Do its counters add up?  NULL: there is nothing to check. */
	bool (*counters_add_up)(const void *state);
	/* Must the user know if `at` is unreachable?  NULL: no. */
	bool (*depends_on)(const void *state, const union addr *at);
};

#endif
