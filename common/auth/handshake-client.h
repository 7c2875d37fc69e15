/*
 * handshake-client.h - data with proofs, at who sends it up: a worker, or a switch
 *
 * It asks the switch or server above by Open, again and again until that
 * answers, over a channel (secure-channel.h) that is the caller's and that other
 * requests may share.  The Ack tells the salt: from then on what goes up is
 * proved under the channel's pass, and what comes down is believed if it is
 * proved, and each counter once (tag.h).  When what was sent up is not
 * answered for a second it asks again: that above may have begun anew.
 *
 * Pure: time (ns) is an argument.  The caller sends what opening_next() says,
 * and gives what channel_take() found good, or else.
 */
#ifndef INNET_AUTH_HANDSHAKE_CLIENT_H
#define INNET_AUTH_HANDSHAKE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/capture/soundness.h"
#include "common/auth/secure-channel.h"
#include "common/auth/tag.h"
#include "common/wire/update.h"

#define OPENING_NEVER UINT64_MAX

enum {
	OPENING_FIRST_NS = 25000000,	/* unanswered; then twice as long, */
	OPENING_MOST_NS = 1000000000,	/* up to this */
	OPENING_SILENCE_NS = 1000000000,	/* no data, having sent some */
	OPENING_BYTES = CONTROL_HEADER_BYTES + CHANNEL_PAD_BYTES +
	    CHANNEL_MORE_BYTES
};

struct opening {
	bool on;			/* data has proofs */
	bool credulous;			/* in a trace without a secret: all of
					   them are good */
	struct channel *channel;	/* borrowed */
	const struct key *file;		/* NULL: proofs are tokens; borrowed */
	bool open;			/* an Ack has told the salt */
	struct proof_key key;
	uint8_t pass[PROOF_PASS_BYTES];
	uint64_t counter;		/* of what went up last */
	struct proof_window came;	/* of what came down */
	bool asks;			/* an Open is under way */
	uint64_t ask_ns, wait_ns;	/* when to ask, and then when again */
	bool awaits;			/* data went up, nothing came down */
	uint64_t since_ns;		/* ... since then, or it asks */
	uint8_t status;			/* it was refused so: control_status */
	bool other_key;			/* it has another key, as it seems */
};

/* on: data has proofs.  file: the key, or NULL. */
static inline void
opening_init(struct opening *o, bool on, struct channel *channel,
    const struct key *file)
{
	*o = (struct opening){ .on = on, .channel = channel, .file = file };
}

/* The ToS of data. */
static inline uint8_t
opening_tos(const struct opening *o)
{
	return o->on ? UPDATE_PROVED_TOS : UPDATE_TOS;
}

/* May data go up? */
static inline bool
opening_ready(const struct opening *o)
{
	return !o->on || o->open || o->credulous;
}

/* It is to be open: ask now, unless it is, or is asked for. */
static inline void
opening_want(struct opening *o, uint64_t now_ns)
{
	if (opening_ready(o) || o->asks)
		return;
	o->asks = true;
	o->ask_ns = o->since_ns = now_ns;
	o->wait_ns = OPENING_FIRST_NS;
}

/* When something is to be asked; OPENING_NEVER. */
static inline uint64_t
opening_due(const struct opening *o)
{
	if (o->asks)
		return o->ask_ns;
	return o->open && o->awaits ? o->since_ns + OPENING_SILENCE_NS :
	    OPENING_NEVER;
}

/*
 * It is now_ns: is an Open to be sent, under that xid?  Its length at msg,
 * which has room for OPENING_BYTES; or 0.
 */
static inline uint32_t
opening_next(struct opening *o, uint32_t xid, uint64_t now_ns, uint8_t *msg)
{
	const uint64_t due = opening_due(o);

	if (now_ns < due)
		return 0;
	if (!o->asks) {
		o->asks = true;
		o->wait_ns = OPENING_FIRST_NS;
	}
	o->ask_ns = due + o->wait_ns;	/* however late it is: a trace knows */
	if (o->wait_ns < OPENING_MOST_NS)
		o->wait_ns *= 2;
	return (uint32_t)channel_put(o->channel, msg, (size_t)(control_put(msg,
	    CONTROL_OPEN, 0, xid) - msg));
}

/* The Ack of an Open, which is that above's. */
static inline void
opening_acked(struct opening *o, const struct control_ack *a)
{
	const bool salt = !o->open || memcmp(o->key.salt, a->salt,
	    PROOF_SALT_BYTES) != 0;

	o->status = a->status;
	o->other_key = false;
	if (a->status != CONTROL_DONE)
		return;			/* it is asked again */
	if (salt) {
		proof_key_set(&o->key, o->file == NULL ? NULL :
		    &o->file->start, a->salt);
		o->came = (struct proof_window){ 0 };
	}
	memcpy(o->pass, o->channel->pass, PROOF_PASS_BYTES);
	o->open = true;
	o->asks = o->awaits = false;
}

/*
 * A control message c from that above, of which channel_take() said `news`:
 * true if it was for us.
 */
static inline bool
opening_hear(struct opening *o, enum channel_news news,
    const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	if (!o->on)
		return false;
	if (news == CHANNEL_CHALLENGED) {
		if (o->asks)
			o->ask_ns = now_ns;
		return false;		/* another's question, perhaps */
	}
	if (c->action != CONTROL_ACK || !control_get_ack(c, &a) ||
	    a.action != CONTROL_OPEN)
		return false;
	if (news == CHANNEL_GOOD)
		opening_acked(o, &a);
	else if (news == CHANNEL_HINT && a.status == CONTROL_BAD_MAC)
		o->other_key = true;
	return true;
}

/*
 * The packet of so many bytes at p, which has room for UPDATE_TAIL_BYTES more,
 * goes up: it is proved if it has to be.  Its length.
 */
static inline uint32_t
opening_prove(struct opening *o, uint8_t *p, uint32_t bytes, uint64_t now_ns)
{
	if (!o->on)
		return bytes;
	if (!o->awaits) {
		o->awaits = true;
		o->since_ns = now_ns;
	}
	return (uint32_t)proof_update_put(&o->key, proof_head(PROOF_UP, 0, 0,
	    o->pass), p, bytes, ++o->counter);
}

/* opening_judge() where packets are proved: apart, as they seldom are. */
__attribute__((noinline, unused)) static unsigned
opening_judge_proof(struct opening *o, const uint8_t *p, size_t bytes)
{
	uint64_t counter;

	if (!o->open || !proof_update_good(&o->key, proof_head(PROOF_DOWN, 0,
	    0, NULL), p, bytes, &counter))
		return SOUNDNESS_BAD_PROOF;
	if (!proof_window_take(&o->came, counter))
		return SOUNDNESS_REPLAYED;
	o->awaits = false;
	return UPDATE_OK;
}

/*
 * May what came down with that ToS, so many bytes at p, be believed?
 * UPDATE_OK, or the verdict.
 */
static inline unsigned
opening_judge(struct opening *o, uint8_t tos, const uint8_t *p, size_t bytes)
{
	if ((tos & 0xfc) != opening_tos(o))
		return SOUNDNESS_BAD_PROOF;
	return !o->on || o->credulous ? UPDATE_OK :
	    opening_judge_proof(o, p, bytes);
}

/* Why it is not open, to follow "refused: "; NULL: it may be soon. */
static inline const char *
opening_why(const struct opening *o)
{
	if (!o->on || o->open)
		return NULL;
	if (o->other_key)
		return "it has another key; give both the same --key";
	switch (o->status) {
	case CONTROL_DONE: return NULL;
	case CONTROL_UNKNOWN:
		return "it takes data without proofs; give both the same "
		    "--auth, and --key or none";
	default: return control_status_text(o->status);
	}
}

#endif
