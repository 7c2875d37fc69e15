/*
 * peer-check.h - find out why no model arrives from the switch or server
 *
 * After 250 ms without a model, a worker of program olaf asks the switch or
 * server for its counters (Stats, innet-wire(5)).  The answer shows whether a
 * switch or server is running and what is missing there.  After one second
 * without a model, and every ten seconds after that, the worker prints what it
 * is waiting for.
 */
#ifndef INNET_WORKER_PEER_CHECK_H
#define INNET_WORKER_PEER_CHECK_H

#include "common/auth/handshake-client.h"

#include "cmd/innet-worker/carrier.h"

enum { PEER_CHECK_TEXT_BYTES = 200 };

/* A channel that several requests share, with the last xid used on it. */
struct peer_channel {
	struct channel_client channel;
	uint32_t xid;
};

/* The caller zeroes this struct, then sets peer and handshake. */
struct peer_check {
	struct peer_channel *peer;
	const struct handshake_client *handshake;
	uint64_t heard_ns;		/* time when the last model arrived */
	uint64_t ask_ns, report_ns;
	uint32_t xid;			/* xid of the last Stats; 0: none */
	bool answered;
	bool needs_mac;	/* the peer drops messages without a MAC */
	bool needs_tags;	/* the peer has dropped data without tags */
	char program[16];		/* program of the peer */
	bool is_switch;
	bool has_models;	/* the peer has received or sent models */
};

/*
 * Handle the control message c, which channel_client_receive() classified as
 * `news`.  Returns true if the message answers a request of this check.
 */
bool peer_check_receive(struct peer_check *q, enum channel_client_news news,
    const struct control *c);

/*
 * If no model has arrived since heard_ns, request the peer's counters and
 * report the reason.  If no model will ever arrive because the peer runs
 * another program, prints this reason and returns false.
 */
bool peer_check_run(struct peer_check *q, struct carrier *c, uint64_t heard_ns,
    uint64_t now_ns);

/*
 * Write to `words` why no model may have arrived, and return `words`.  The text
 * is "" or begins with "; ", because the caller appends it to a message.
 */
const char *peer_check_explain(const struct peer_check *q,
    char words[PEER_CHECK_TEXT_BYTES]);

#endif
