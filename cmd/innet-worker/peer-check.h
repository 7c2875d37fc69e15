/*
 * peer-check.h - what is at the other end, if no model comes from there
 *
 * After a quarter of a second without a model a worker of program olaf asks the
 * switch or server for its counters (Stats, innet-wire(5)).  From these it
 * knows whether that is one at all, and after a second, and again every ten,
 * it says what it waits for.
 */
#ifndef INNET_WORKER_PEER_CHECK_H
#define INNET_WORKER_PEER_CHECK_H

#include "common/auth/handshake-client.h"

#include "cmd/innet-worker/carrier.h"

enum { PEER_CHECK_TEXT_BYTES = 200 };

/* A channel that several ask by, and the last xid of theirs. */
struct peer_channel {
	struct channel_client channel;
	uint32_t xid;
};

/* All zero at first, but for way and opening, which are the mode's. */
struct peer_check {
	struct peer_channel *peer;
	const struct handshake_client *handshake;
	uint64_t heard_ns;		/* the last model */
	uint64_t ask_ns, report_ns;
	uint32_t xid;			/* of the last request; 0: none */
	bool answered;
	bool needs_mac;			/* it takes sealed messages only */
	bool needs_tags;		/* it has dropped data without proofs */
	char program[16];		/* that answered */
	bool is_switch;
	bool has_models;		/* from its server; or has sent them */
};

/* c has come from there, which channel_client_receive() finds so: is it an
 * answer?
 */
bool peer_check_receive(struct peer_check *q, enum channel_client_news news,
    const struct control *c);

/*
 * No model has come since heard_ns: ask, and say so.  False if it will never:
 * another program is there, which has been said.
 */
bool peer_check_run(struct peer_check *q, struct carrier *c, uint64_t heard_ns,
    uint64_t now_ns);

/* Why no model may have come, to follow a sentence; words. */
const char *peer_check_explain(const struct peer_check *q,
    char words[PEER_CHECK_TEXT_BYTES]);

#endif
