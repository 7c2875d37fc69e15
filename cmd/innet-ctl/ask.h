/*
 * ask.h - send a request repeatedly until it is answered
 *
 * Only one request runs at a time.  When a request is sent again, it keeps its
 * transaction number (xid), so the switch executes it only once.  An answer
 * counts only if it comes from the peer, matches the job, the request and the
 * xid, and has a valid authentication tag.  All other packets are ignored.
 * Each of the ASK_TRIES tries waits twice as long as the one before, except for
 * Help, whose tries are equally long.  All tries together take at most
 * give_up_ns.  A challenge is answered immediately.
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
	bool bound;			/* `from` is used as the source
					 * address */
	uint16_t job;
	uint64_t give_up_ns;		/* time limit for all ASK_TRIES tries
					 * together */
	struct key key;
	bool commands;			/* `key` is the key for commands */
	const sigset_t *wait_mask; /* signal mask while waiting; NULL:
				    * unchanged */
	const volatile sig_atomic_t *stop;
};

struct ask {
	const struct ask_options *cf;
	struct udpio u;
	struct channel_client channel;
	char peer[ADDR_NAME_BYTES];
	uint32_t xid;			/* xid of the latest request */
	uint16_t job;			/* job that the requests name */
};

enum ask_kind {
	ASK_ACK,
	ASK_SEGMENT,		/* the answer to Help is the segment itself */
	ASK_HELP		/* the answer to Help is that the switch asks
				 * the members */
};

struct ask_answer {
	enum ask_kind kind;
	struct control_ack ack;	/* the text in `ack` is valid until the next
				 * request */
	struct seg seg;	/* the segment, for ASK_SEGMENT; valid until the next
			 * request */
};

/* Open the socket.  If that fails, exit with status 1. */
void ask_open(struct ask *, const struct ask_options *);

/* Close the socket. */
void ask_close(struct ask *);

/*
 * Send a request with a body of n bytes, at most CONTROL_JOIN_BYTES, and wait
 * for its answer.  If there is no answer, warn and return false.  If a signal
 * asks to stop, return false without a warning.
 */
bool ask_request(struct ask *, uint8_t action, const uint8_t *body, size_t n,
    struct ask_answer *);

/* Print a warning that begins with the peer and the verb: "PEER: VERB: ..." */
void ask_warn(const struct ask *, uint8_t action, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Print a warning about an Ack whose status is not 0. */
void ask_refused(const struct ask *, const struct control_ack *);

#endif
