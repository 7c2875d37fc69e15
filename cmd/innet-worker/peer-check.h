/*
 * peer-check.h - find out why no model comes from the switch or server
 *
 * After 250 ms without a model, a worker of program olaf asks the switch or
 * server for its counters (Stats, innet-wire(5)).  They show whether there is a
 * switch or server at all, and what it lacks.  After a second, and every ten
 * seconds after that, the worker prints what it is waiting for.
 */
#ifndef INNET_WORKER_PEER_CHECK_H
#define INNET_WORKER_PEER_CHECK_H

#include "common/auth/handshake-client.h"

#include "cmd/innet-worker/carrier.h"

enum { PEER_CHECK_TEXT_BYTES = 200 };

/* A channel that several requests share, and the last xid on it. */
struct peer_channel {
	struct channel_client channel;
	uint32_t xid;
};

/* Zeroed at first, except peer and handshake, which are the mode's. */
struct peer_check {
	struct peer_channel *peer;
	const struct handshake_client *handshake;
	uint64_t heard_ns;		/* when the last model came */
	uint64_t ask_ns, report_ns;
	uint32_t xid;			/* of the last Stats; 0: none */
	bool answered;
	bool needs_mac;			/* it drops messages without a MAC */
	bool needs_tags;		/* it has dropped data without tags */
	char program[16];		/* program of the peer */
	bool is_switch;
	bool has_models;		/* has received or sent some */
};

/*
 * Take the control message c, which channel_client_receive() classified as
 * `news`. True if it answers our request.
 */
bool peer_check_receive(struct peer_check *q, enum channel_client_news news,
    const struct control *c);

/*
 * Ask and report, if no model has come since heard_ns.  False, after printing
 * it, if none will ever come because another program runs there.
 */
bool peer_check_run(struct peer_check *q, struct carrier *c, uint64_t heard_ns,
    uint64_t now_ns);

/* Write why no model may have come, to follow a sentence, and return it. */
const char *peer_check_explain(const struct peer_check *q,
    char words[PEER_CHECK_TEXT_BYTES]);

#endif
