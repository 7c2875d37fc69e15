/*
 * ask.h - send one request at a time, again until it is answered
 *
 * A request keeps its transaction number (xid) when it is sent again, so the
 * switch executes it once.  An answer counts if it comes from the peer, is for
 * this job, request and xid, and its authentication tag is right; every other
 * packet is ignored.  Each of the ASK_TRIES tries waits twice as long as the
 * one before, within give_up_ns in all; a challenge is answered at once.
 */
#ifndef INNET_CTL_ASK_H
#define INNET_CTL_ASK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/udp-io.h"
#include "common/wire/addr.h"
#include "common/auth/channel-client.h"
#include "common/wire/control.h"
#include "common/wire/seg.h"

enum { ASK_TRIES = 5 };

struct ask_options {
	union addr to, from;
	bool bound;			/* send from the address `from` */
	uint16_t job;
	uint64_t give_up_ns;		/* for all ASK_TRIES tries together */
	struct key key;
	bool commands;			/* the key is the one for commands */
	const sigset_t *wait_mask;	/* while waiting; NULL: unchanged */
	const volatile sig_atomic_t *stop;
};

struct ask {
	const struct ask_options *cf;
	struct udpio u;
	struct channel_client channel;
	char peer[ADDR_NAME_BYTES];
	uint32_t xid;			/* of the newest request */
	uint16_t job;			/* that requests name */
};

enum ask_kind {
	ASK_ACK,
	ASK_SEGMENT,		/* the answer to Help is the segment, */
	ASK_HELP		/* or the switch asks its members for it */
};

struct ask_answer {
	enum ask_kind kind;
	struct control_ack ack;	/* text is borrowed until the next request */
	struct seg seg;		/* of ASK_SEGMENT; borrowed, too */
};

/* Open the socket; exit with status 1 if that fails. */
void ask_open(struct ask *, const struct ask_options *);

/* Close the socket. */
void ask_close(struct ask *);

/*
 * Send a request with the n bytes of its body, at most CONTROL_JOIN_BYTES, and
 * wait for its answer.  False after a warning if there is none, or without one
 * if a signal asked to stop.
 */
bool ask_request(struct ask *, uint8_t action, const uint8_t *body, size_t n,
    struct ask_answer *);

/* Warn with the peer and the verb in front: "PEER: VERB: ..." */
void ask_warn(const struct ask *, uint8_t action, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Warn about an Ack whose status is not 0. */
void ask_refused(const struct ask *, const struct control_ack *);

#endif
