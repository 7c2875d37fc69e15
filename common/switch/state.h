/*
 * state.h - what a plane consists of: plane.h
 */
#ifndef INNET_SWITCH_STATE_H
#define INNET_SWITCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/auth/rate-limit.h"
#include "common/base/heap.h"
#include "common/capture/soundness.h"
#include "common/switch/ports.h"
#include "common/auth/channel-server.h"
#include "common/switch/program.h"
#include "common/traffic/impair.h"
#include "common/wire/networks.h"

#define PLANE_NEVER UINT64_MAX

#define PLANE_ALL UINT32_MAX		/* clusters */

enum {
	PLANE_CACHED = 1000,	/* clusters, at most, that a cache holds */
	PLANE_V4_MAX = 65507,	/* payload of a datagram over IPv4 */
	PLANE_BEHIND = 64	/* ports that members share; and none of them */
};

struct plane_conf {
	const struct program *program;
	const void *settings;		/* of the program */
	struct program_place place;
	struct ports_conf ports;
	bool regular_queued;		/* regular traffic waits for ports */
	bool recorded;			/* departures are another run's */
	struct impair impair;		/* of what comes */
	struct networks allow;		/* whose packets the program takes */
};

struct plane;

/* What carries packets to the plane and from it. */
struct plane_driver {
	/*
	 * A run of datagrams leaves now: from address `from` (or NULL, then
	 * by `way`) to `to`.
	 */
	void (*send)(void *ctx, uint32_t way, const union addr *from,
	    const union addr *to, const struct post *p, uint64_t now_ns);
	/* Behind which port somebody is, as a number below PLANE_BEHIND, or
	 * PLANE_BEHIND; and a run leaves there to a group.  NULL: no ports. */
	uint32_t (*behind)(void *ctx, const union addr *at);
	void (*share)(void *ctx, uint32_t behind, const union addr *group,
	    const struct post *p, uint64_t now_ns);
	/* What is at the head of a port's queue leaves, at when_ns. */
	void (*leave)(void *ctx, struct port *port, struct slot *s,
	    uint64_t when_ns);
	/* It is lost there: the port goes down.  NULL: none does. */
	void (*lose)(void *ctx, struct port *port, const struct slot *s);
	/* What has left is sent: its slots are about to be used again; NULL:
	 * leave() does so. */
	void (*settle)(void *ctx);
	/* A packet passes beside the queues.  NULL: nothing does. */
	void (*pass)(void *ctx, struct packet *p, uint64_t now_ns);
	/* The headers of its frame are about to be read; NULL: they are there
	 * in any case. */
	void (*whole)(void *ctx, const struct packet *p);
	/* Have its payload where it can be changed; NULL: it can. */
	void (*edit)(void *ctx, struct packet *p);
	/* What really is the time of a departure; NULL: when it is due. */
	uint64_t (*clock)(void *ctx);
	/* A port begins to have something; NULL: the plane sees to it. */
	void (*busy)(void *ctx, struct port *port);
	/* The port towards an address; NULL: by host. */
	struct port *(*towards)(void *ctx, const union addr *to);
};

enum plane_count {
	PLANE_PACKETS,		/* came; each is one of: */
	PLANE_TAKEN,		/* by the program or an Olaf queue */
	PLANE_OWN, PLANE_REGULAR, PLANE_PASSED, PLANE_IGNORED,
	PLANE_NOT_ALLOWED,	/* the program's, of others than --allow */
	PLANE_OUT,		/* the program's, which did not have to wait */
	PLANE_TOO_LONG,		/* of those, for a datagram: not sent */
	PLANE_NO_PORT,		/* no memory for a port: not sent */
	PLANE_IN_LOST, PLANE_IN_DUPLICATED,	/* by impairment */
	PLANE_COUNTS
};

/* Control messages, whatever the program. */
enum plane_control_count {
	CONTROLS_TAKEN, CONTROLS_BAD, CONTROLS_BAD_MAC, CONTROLS_OLD_XID,
	CONTROLS_REPEATED, CONTROLS_ACKS, CONTROLS_REFUSED,
	CONTROLS_CHALLENGED,	/* asked to prove themselves */
	CONTROLS_UNPROVED,	/* without a good pass, and not even that */
	CONTROLS_REPLAYED,	/* a counter that is not new */
	CONTROLS_REFLECTED,	/* from its own address */
	CONTROLS_COUNTS
};

struct plane {
	const struct plane_conf *cf;
	const struct program *program;
	void *state;			/* the program's; owned */
	struct program_env env;
	const struct plane_driver *driver;
	void *ctx;			/* the driver's */
	struct ports ports;
	struct ports_conf ports_cf;
	bool shaped;			/* something may wait at a port */
	bool merges;			/* at one of Olaf's queues even */
	bool unsettled;			/* something has left since settle() */
	struct heap *due;		/* ports that have something */
	size_t dues, dues_room;
	uint64_t port_due_ns;		/* of the first of them */
	bool timed;			/* the program may be due */
	bool impaired;			/* in does anything at all */
	struct impair in;
	struct channel_server channels;
	struct channel_server_rules rules;
	struct rate_limit rate_limit;		/* of what strangers are told */
	uint64_t now_ns;		/* of the last thing that happened */
	uint64_t late_max_ns;		/* a departure behind its time */
	uint64_t n[PLANE_COUNTS];
	uint64_t controls[CONTROLS_COUNTS];
	uint64_t ignored[SOUNDNESS_VERDICTS];
	struct outbox out;
};

#endif
