/*
 * program.h - the contract of programs: what computes in a switch
 *
 * A program takes packets and a time, keeps state, and gives packets and the
 * time at which it is to be called again.  It answers control messages, counts
 * under named reasons and states its memory.  It reads no clock, touches no
 * socket and knows no driver: traces, sockets, interfaces and the simulator
 * come to it alike, through the data plane (plane.h).
 *
 * A program is a folder in common/ with its rules, a program.h that fills in
 * one struct program, and a row in switch/programs.h.  Of the members below
 * those that are marked may be NULL.
 *
 * What it sends goes to its outbox (outbox.h) or, packets that came, back to
 * the plane: env->offer() puts an update before the queue of the port behind
 * which an address is, env->pass() sends a packet on as it came, beside the
 * queue.
 */
#ifndef INNET_SWITCH_PROGRAM_H
#define INNET_SWITCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/counters.h"
#include "common/base/opt.h"
#include "common/auth/rate-limit.h"
#include "common/switch/outbox.h"
#include "common/switch/packet.h"
#include "common/wire/control.h"
#include "common/auth/key.h"

#define PROGRAM_NEVER UINT64_MAX

struct slot;			/* of a queue: common/queue/slots.h */

/* Whose is a packet? */
enum program_claim {
	PROGRAM_REGULAR,	/* other traffic: it is forwarded */
	PROGRAM_TAKES,		/* it is for the program, if it is sound */
	/* another run of the program sent it: skipped */
	PROGRAM_OWN,
	PROGRAM_OTHERS		/* the program's kind, but between others */
};

/* How a switch stands among the others: settings that programs share. */
struct program_place {
	union addr address;	/* its own; family 0: it has none */
	union addr above;	/* its parent, or server; family 0: none */
	bool live;		/* ways are sockets, which the driver knows
				 * apart; in a trace they are ports */
	bool in_path;		/* live, at interfaces: what is between others
				 * comes too, and what is not sound goes on */
	bool replayed;		/* whoever answers it answered another run */
	union addr group;	/* by it, and a port from this on for each job,
				 * members behind a port hear results
				 * together; family 0: they have none */
	uint32_t xid;		/* of its first request */
	const struct key *key;		/* of control messages; NULL: none */
	const struct key *commands;	/* of those that command; NULL: key */
	struct hashmap_number by;	/* of maps that strangers fill */
	bool quotas;		/* of addresses: quota.h */
	bool tagged;			/* data goes with proofs: --auth all */
	bool needs_cookie;		/* who is elsewhere must have one */
	bool secret_known;		/* it was given; else drawn, if live: */
	uint8_t secret[32];
	uint64_t memory_bytes;	/* for what it makes later; 0: no limit */
	bool plans;		/* a dry run: say what memory is needed */
};

/* What a program may ask of the plane that it is in. */
struct program_env {
	void *plane;
	const struct program_place *place;
	struct outbox *out;
	/* An update is to leave by a way, and the port towards `to`.  False:
	 * it is not cut as its cluster's are, or there is no such port. */
	bool (*offer)(void *plane, uint32_t way, const union addr *to,
	    const struct packet *p, const struct update *u, uint64_t now_ns);
	/* A model from `from` says how its cluster's updates are cut. */
	void (*cut)(void *plane, const union addr *from,
	    const struct update *model, uint64_t now_ns);
	/* A packet passes beside all queues, as it came or was changed. */
	void (*pass)(void *plane, struct packet *p, uint64_t now_ns);
	/* A place where the payload of p may be changed; p follows. */
	void (*edit)(void *plane, struct packet *p);
	/* A model passes the queue towards `to`: does it change its status? */
	bool (*stamp)(void *plane, const union addr *to,
	    struct update_status *status, uint64_t now_ns);
	/* How often strangers are told something. */
	struct rate_limit *rate_limit;
	/* A claimed packet was not sound: count it under the verdict. */
	void (*ignore)(void *plane, unsigned verdict);
	/* What became of a cluster's updates at all ports. */
	void (*tally)(void *plane, uint16_t cluster, struct counters *c);
};

/* Some of the memory that a switch plans with. */
struct memory_part {
	const char *what;	/* plural */
	uint64_t number, bytes;	/* bytes: of all of them */
	bool grows;		/* only later, if all goes on well */
};

enum { MEMORY_PARTS = 8 };

/* What a request over the network came to. */
enum program_reply {
	PROGRAM_ANSWERS,	/* the Ack is filled in */
	PROGRAM_LATER,		/* no answer yet: the peer asks again */
	PROGRAM_UNKNOWN		/* the program has no such request */
};

/*
 * What a program is.  It needs a name, port, init, claim, take and stats, a
 * state, and each for what its posts go to; all else may be NULL or 0.
 */
struct program {
	const char *name;
	const char *about;	/* a few words, for --help */
	uint16_t (*port)(const void *conf);	/* UDP, if none is given */
	const char *trace_address;	/* its own in a trace; NULL: none */
	uint8_t tos;		/* of what it sends most */
	/* of one that begins so; NULL: its codepoints say what it takes */
	uint32_t (*datagram_bytes)(const uint8_t *p, size_t have);

	/* ports where nothing else is said */
	uint64_t rate_bps;	/* 0: nothing waits */
	bool merges;		/* their queues are Olaf's */
	bool beside;		/* what it posts waits for no link */
	bool tagged;		/* its data can have proofs: --auth all */
	bool unkeyed;		/* a key covers nothing of its packets */

	/* settings: a block of so many bytes, and its options by name */
	size_t conf_bytes;
	const struct opt *opts;
	void (*defaults)(void *conf);
	/* One of opts, by its ch.  NULL, or what is wrong with arg. */
	const char *(*set)(void *conf, int option, const char *arg);
	/* All are set.  NULL, or what does not go together. */
	const char *(*settle)(void *conf, struct program_place *place);
	/* what the settings own is given back */
	void (*forget)(void *conf);
	/* What it plans to hold, into parts, which has room for
	 * MEMORY_PARTS; how many of them are used. */
	size_t (*memory)(const void *conf, struct memory_part *parts);

	/* state: a block of so many bytes; false without memory */
	size_t state_bytes;
	bool (*init)(void *state, const void *conf,
	    const struct program_env *env);
	void (*free)(void *state);

	/* the data plane */
	enum program_claim (*claim)(void *state, struct packet *p);
	void (*take)(void *state, struct packet *p, uint64_t now_ns);
	uint64_t (*due)(const void *state);
	bool due_if_tagged;	/* nothing ever is where data has no proofs */
	void (*fire)(void *state, uint64_t now_ns);
	/* Addresses of a group of an outbox's post, one a call, or NULL. */
	const union addr *(*each)(const void *state, uint32_t group,
	    uint32_t *next, uint64_t now_ns);
	/* By which group's address does who is there hear posts to all of his
	 * as well?  NULL: by none.  NULL here: nobody does. */
	const union addr *(*multicast_group)(
	    const void *state, const union addr *at);
	/* Where a group's post goes up to, and by which way; or NULL. */
	const union addr *(*up)(const void *state, uint32_t group,
	    uint32_t *way);
	/* What it owes, for a driver with room: posts some. */
	bool (*has_backlog)(const void *state);
	bool (*send_backlog)(void *state);
	/* Of a way that is not PACKET_WAY_OWN: is it still needed, and which
	 * address is it where the driver does not choose? */
	bool (*needs)(const void *state, uint32_t way);
	void (*address)(const void *state, uint32_t way, union addr *a);
	/* An update that had a tail leaves its queue: it is proved anew. */
	void (*retag)(void *state, struct slot *s, uint64_t now_ns);

	/* the control plane */
	/* Is the address a member's, of that job (-1: of any), and how many
	 * such addresses are there?  NULL: nobody is a member. */
	bool (*is_member)(const void *state, const union addr *at,
	    int32_t job);
	uint32_t (*member_count)(const void *state);
	void (*heard)(void *state, const union addr *from, uint64_t now_ns);
	/* Nobody was heard for span_ns up to now_ns, for the switch itself was
	 * held up: that others are silent is to count without it. */
	void (*stalled)(void *state, uint64_t span_ns, uint64_t now_ns);
	/* A control message from what is above: env->place->above. */
	void (*told)(void *state, const uint8_t *p, size_t len,
	    uint64_t now_ns);
	enum program_reply (*control)(void *state, const union addr *from,
	    const struct control *c, struct control_ack *a, uint64_t now_ns);
	/* What there is: a group of a list each. */
	void (*jobs)(const void *state, struct counters *c, uint64_t now_ns);
	/* Who belongs to a job.  False: there is no such job. */
	bool (*members)(const void *state, uint16_t job, struct counters *c,
	    uint64_t now_ns);
	/* Counters, or gauges, of a job (-1: of none).  False likewise. */
	bool (*stats)(const void *state, int32_t job, bool gauges,
	    struct counters *c, uint64_t now_ns);

	/* accounts: everything; a line at the end; one while it runs */
	void (*account)(const void *state, struct counters *c);
	void (*summary)(const void *state, struct counters *line);
	void (*progress)(const void *state, struct counters *line);
	/* What goes wrong for long, to be told; NULL if nothing does. */
	const char *(*trouble)(void *state, char *text, size_t room,
	    uint64_t now_ns);
	/* Do its counters add up?  Or NULL. */
	bool (*adds_up)(const void *state);
	/* Is it trouble if that address is unreachable?  NULL: it is not. */
	bool (*relies)(const void *state, const union addr *at);
};

#endif
