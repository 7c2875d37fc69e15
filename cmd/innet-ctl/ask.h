/*
 * ask.h - one request at a time, asked until it is answered
 *
 * A request keeps its xid when it is sent again, so that it is done once.  An
 * answer is taken if it comes from the peer, for this job, request and xid,
 * and its channel finds it good; anything else is passed over.  Each try waits
 * as long as the settings say, and no longer; a challenge is answered at once.
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

struct ask_conf {
	union addr to, from;
	bool bound;			/* send from `from` */
	uint16_t job;
	uint64_t give_up_ns;		/* of ASK_TRIES tries in all */
	struct key key;
	bool commands;			/* it is the key of commands */
	const sigset_t *wait_mask;	/* while waiting; NULL: as it is */
	const volatile sig_atomic_t *stop;
};

struct ask {
	const struct ask_conf *cf;
	struct udpio u;
	struct channel_client channel;
	char peer[ADDR_NAME_BYTES];
	uint32_t xid;			/* of the last request */
	uint16_t job;			/* that requests are about */
};

enum ask_kind {
	ASK_ACK,
	ASK_SEGMENT,		/* Help is answered with the segment itself, */
	ASK_HELP		/* or passed on to those who owe it */
};

struct ask_answer {
	enum ask_kind kind;
	struct control_ack ack;	/* text borrowed until the next question */
	struct seg seg;		/* of ASK_SEGMENT; likewise */
};

/* A socket; exits 1 if there is none.  ask_close(). */
void ask_open(struct ask *, const struct ask_conf *);
void ask_close(struct ask *);

/*
 * Send a request with the n bytes of its body, at most CONTROL_JOIN_BYTES, and
 * wait for its answer.  False if none came, which has been said, or a signal
 * asked to stop.
 */
bool ask(struct ask *, uint8_t action, const uint8_t *body, size_t n,
    struct ask_answer *);

/* Say on standard error what is wrong with what the peer does: PEER: VERB: */
void ask_warn(const struct ask *, uint8_t action, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of an Ack whose status is not 0. */
void ask_refused(const struct ask *, const struct control_ack *);

#endif
