/*
 * handshake-client.h - data with proofs, at who sends it up: a worker, or a
 * switch
 *
 * It asks the switch or server above by Open, again and again until that
 * answers, over a channel (channel-client.h) that is the caller's and that
 * other requests may share.  The Ack tells the salt: from then on what goes up
 * is proved under the channel's pass, and what comes down is believed if it is
 * proved, and each counter once (tag.h).  When what was sent up is not
 * answered for a second it asks again: that above may have begun anew.
 *
 * Pure: time (ns) is an argument.  The caller sends what
 * handshake_client_next() says, and gives what channel_client_receive() found
 * good, or else.
 */
#ifndef INNET_AUTH_HANDSHAKE_CLIENT_H
#define INNET_AUTH_HANDSHAKE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/channel-client.h"
#include "common/auth/key.h"
#include "common/auth/tag.h"
#include "common/capture/soundness.h"
#include "common/wire/update.h"

#define HANDSHAKE_CLIENT_NEVER UINT64_MAX

enum {
	HANDSHAKE_CLIENT_FIRST_NS =
	    25000000, /* unanswered; then twice as long, */
	HANDSHAKE_CLIENT_MOST_NS = 1000000000, /* up to this */
	HANDSHAKE_CLIENT_SILENCE_NS =
	    1000000000, /* no data, having sent some */
	HANDSHAKE_CLIENT_BYTES = CONTROL_HEADER_BYTES +
				 CHANNEL_CLIENT_PAD_BYTES +
				 CHANNEL_CLIENT_MORE_BYTES
};

struct handshake_client {
	bool on;			/* data has proofs */
	bool accepts_any_tag;		/* in a trace without a secret: all of
				   them are good */
	struct channel_client *channel;	/* borrowed */
	const struct key *file;		/* NULL: proofs are tokens; borrowed */
	bool open;			/* an Ack has told the salt */
	struct tag_key key;
	uint8_t cookie[TAG_COOKIE_BYTES];
	uint64_t counter;		/* of what went up last */
	struct tag_window came;	/* of what came down */
	bool asks;			/* an Open is under way */
	uint64_t ask_ns, wait_ns;	/* when to ask, and then when again */
	bool awaits;			/* data went up, nothing came down */
	uint64_t since_ns;		/* ... since then, or it asks */
	uint8_t status;			/* it was refused so: control_status */
	bool other_key;			/* it has another key, as it seems */
};

/* on: data has proofs.  file: the key, or NULL. */
static inline void
handshake_client_init(struct handshake_client *o, bool on,
    struct channel_client *channel, const struct key *file)
{
	*o = (struct handshake_client){
	    .on = on, .channel = channel, .file = file};
}

/* The ToS of data. */
static inline uint8_t
handshake_client_tos(const struct handshake_client *o)
{
	return o->on ? UPDATE_TAGGED_TOS : UPDATE_TOS;
}

/* May data go up? */
static inline bool
handshake_client_is_ready(const struct handshake_client *o)
{
	return !o->on || o->open || o->accepts_any_tag;
}

/* It is to be open: ask now, unless it is, or is asked for. */
static inline void
handshake_client_start(struct handshake_client *o, uint64_t now_ns)
{
	if (handshake_client_is_ready(o) || o->asks)
		return;
	o->asks = true;
	o->ask_ns = o->since_ns = now_ns;
	o->wait_ns = HANDSHAKE_CLIENT_FIRST_NS;
}

/* When something is to be asked; HANDSHAKE_CLIENT_NEVER. */
static inline uint64_t
handshake_client_deadline_ns(const struct handshake_client *o)
{
	if (o->asks)
		return o->ask_ns;
	return o->open && o->awaits ? o->since_ns + HANDSHAKE_CLIENT_SILENCE_NS
				    : HANDSHAKE_CLIENT_NEVER;
}

/*
 * It is now_ns: is an Open to be sent, under that xid?  Its length at msg,
 * which has room for HANDSHAKE_CLIENT_BYTES; or 0.
 */
static inline uint32_t
handshake_client_next(
    struct handshake_client *o, uint32_t xid, uint64_t now_ns, uint8_t *msg)
{
	const uint64_t due = handshake_client_deadline_ns(o);

	if (now_ns < due)
		return 0;
	if (!o->asks) {
		o->asks = true;
		o->wait_ns = HANDSHAKE_CLIENT_FIRST_NS;
	}
	o->ask_ns = due + o->wait_ns;	/* however late it is: a trace knows */
	if (o->wait_ns < HANDSHAKE_CLIENT_MOST_NS)
		o->wait_ns *= 2;
	return (uint32_t)channel_client_protect(o->channel, msg,
	    (size_t)(control_put(msg, CONTROL_OPEN, 0, xid) - msg));
}

/* The Ack of an Open, which is that above's. */
static inline void
handshake_client_take_ack(
    struct handshake_client *o, const struct control_ack *a)
{
	const bool salt = !o->open || memcmp(o->key.salt, a->salt,
	    TAG_SALT_BYTES) != 0;

	o->status = a->status;
	o->other_key = false;
	if (a->status != CONTROL_DONE)
		return;			/* it is asked again */
	if (salt) {
		tag_key_set(&o->key, o->file == NULL ? NULL :
		    &o->file->start, a->salt);
		o->came = (struct tag_window){ 0 };
	}
	memcpy(o->cookie, o->channel->cookie, TAG_COOKIE_BYTES);
	o->open = true;
	o->asks = o->awaits = false;
}

/*
 * A control message c from that above, of which channel_client_receive() said
 * `news`: true if it was for us.
 */
static inline bool
handshake_client_receive(struct handshake_client *o,
    enum channel_client_news news, const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	if (!o->on)
		return false;
	if (news == CHANNEL_CLIENT_CHALLENGED) {
		if (o->asks)
			o->ask_ns = now_ns;
		return false;		/* another's question, perhaps */
	}
	if (c->action != CONTROL_ACK || !control_get_ack(c, &a) ||
	    a.action != CONTROL_OPEN)
		return false;
	if (news == CHANNEL_CLIENT_GOOD)
		handshake_client_take_ack(o, &a);
	else if (news == CHANNEL_CLIENT_HINT && a.status == CONTROL_BAD_MAC)
		o->other_key = true;
	return true;
}

/*
 * The packet of so many bytes at p, which has room for UPDATE_TAIL_BYTES more,
 * goes up: it is proved if it has to be.  Its length.
 */
static inline uint32_t
handshake_client_tag(
    struct handshake_client *o, uint8_t *p, uint32_t bytes, uint64_t now_ns)
{
	if (!o->on)
		return bytes;
	if (!o->awaits) {
		o->awaits = true;
		o->since_ns = now_ns;
	}
	return (uint32_t)tag_update_put(&o->key, tag_head(TAG_UP, 0, 0,
	    o->cookie), p, bytes, ++o->counter);
}

/* handshake_client_check() where packets are proved: apart, as they seldom are.
 */
__attribute__((noinline, unused)) static unsigned
handshake_client_check_tag(
    struct handshake_client *o, const uint8_t *p, size_t bytes)
{
	uint64_t counter;

	if (!o->open || !tag_update_good(&o->key, tag_head(TAG_DOWN, 0,
	    0, NULL), p, bytes, &counter))
		return SOUNDNESS_BAD_TAG;
	if (!tag_window_accept(&o->came, counter))
		return SOUNDNESS_REPLAYED;
	o->awaits = false;
	return UPDATE_OK;
}

/*
 * May what came down with that ToS, so many bytes at p, be believed?
 * UPDATE_OK, or the verdict.
 */
static inline unsigned
handshake_client_check(
    struct handshake_client *o, uint8_t tos, const uint8_t *p, size_t bytes)
{
	if ((tos & 0xfc) != handshake_client_tos(o))
		return SOUNDNESS_BAD_TAG;
	return !o->on || o->accepts_any_tag ? UPDATE_OK :
	    handshake_client_check_tag(o, p, bytes);
}

/* Why it is not open, to follow "refused: "; NULL: it may be soon. */
static inline const char *
handshake_client_problem(const struct handshake_client *o)
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
