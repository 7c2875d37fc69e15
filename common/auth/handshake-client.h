/*
 * handshake-client.h - a client's handshake with a server, and the tags of data
 *   that they exchange afterwards
 *
 * The client is a worker, or a switch below another switch.  The client sends
 * an Open to the switch or server above it, over a channel (channel-client.h)
 * that other requests may use as well.  It repeats the Open until an Ack
 * arrives, which contains the salt.  After that, the client tags the data that
 * it sends up under the channel's cookie.  It accepts data from above if the
 * tag is correct and the counter is new (tag.h).  If the client sends data and
 * nothing arrives from above for one second, the client sends an Open again,
 * because the server may have restarted.
 *
 * The functions read no clock: times are arguments, in ns.  The caller sends
 * the messages that handshake_client_next() writes.  It passes each message
 * that arrives, and the result of channel_client_receive(), to
 * handshake_client_receive().
 */
#ifndef INNET_AUTH_HANDSHAKE_CLIENT_H
#define INNET_AUTH_HANDSHAKE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/arq/backoff.h"
#include "common/auth/channel-client.h"
#include "common/auth/key.h"
#include "common/auth/tag.h"
#include "common/capture/soundness.h"
#include "common/wire/update.h"

#define HANDSHAKE_CLIENT_NEVER UINT64_MAX
#define HANDSHAKE_CLIENT_MOST_NS 1600000000u	/* longest wait for an Ack */

enum {
	HANDSHAKE_CLIENT_FIRST_NS = 25000000, /* time to wait after the first
					       * Open */
	HANDSHAKE_CLIENT_SILENCE_NS = 1000000000, /* if nothing arrives from
						   * above for this time, an
						   * Open is sent */
	HANDSHAKE_CLIENT_BYTES = CONTROL_HEADER_BYTES +
				 CHANNEL_CLIENT_PAD_BYTES +
				 CHANNEL_CLIENT_MORE_BYTES
};

struct handshake_client {
	bool on;			/* data has tags */
	bool accepts_any_tag;		/* accept every tag, because a trace is
					 * replayed without its secret */
	struct channel_client *channel;	/* borrowed */
	const struct key *file;		/* borrowed; the key of the key file;
					 * NULL: the tags are tokens */
	bool open;			/* the Ack that contains the salt has
					 * arrived */
	struct tag_key key;
	uint8_t cookie[TAG_COOKIE_BYTES];
	uint64_t counter;		/* counter of the last packet sent up */
	struct tag_window came;		/* counters of the packets that have
					 * arrived from above */
	bool asks;			/* an Open was sent, and its Ack has not
					 * arrived yet */
	uint64_t ask_ns, wait_ns;	/* time of the next Open; how long to
					 * wait for its Ack */
	bool awaits;			/* data was sent up, and nothing has
					 * arrived from above since then */
	uint64_t since_ns;		/* if `awaits` is set: since when
					 * nothing has arrived from above;
					 * otherwise: time of the first Open */
	uint8_t status; /* control_status of the last refusal */
	bool other_key;			/* according to a hint, the other side
					 * has a different key */
};

/*
 * Initialise o.  `on` says that data has tags.  `file` is the key of the key
 * file, or NULL if the tags are tokens.
 */
static inline void handshake_client_init(struct handshake_client *o, bool on,
    struct channel_client *channel, const struct key *file);

/* Return the ToS byte of data. */
static inline uint8_t handshake_client_tos(const struct handshake_client *o);

/* May data be sent up? */
static inline bool handshake_client_is_ready(const struct handshake_client *o);

/* Start a handshake now, unless it is complete or already started. */
static inline void handshake_client_start(struct handshake_client *o,
    uint64_t now_ns);

/*
 * Return the time at which handshake_client_next() will have an Open to send,
 * or HANDSHAKE_CLIENT_NEVER.
 */
static inline uint64_t handshake_client_deadline_ns(
    const struct handshake_client *o);

/*
 * If an Open is due at now_ns, write it with this xid to msg, which must have
 * room for HANDSHAKE_CLIENT_BYTES.  Returns its length, or 0.
 */
static inline uint32_t handshake_client_next(struct handshake_client *o,
    uint32_t xid, uint64_t now_ns, uint8_t *msg);

/*
 * Process control message c from above, which channel_client_receive()
 * classified as `news`.  Returns true if c belongs to the handshake.
 */
static inline bool handshake_client_receive(struct handshake_client *o,
    enum channel_client_news news, const struct control *c, uint64_t now_ns);

/*
 * If data has tags, append the tag to the packet of `bytes` bytes at p.  The
 * buffer must have room for UPDATE_TAIL_BYTES more bytes.  Returns the new
 * length.
 */
static inline uint32_t handshake_client_tag(struct handshake_client *o,
    uint8_t *p, uint32_t bytes, uint64_t now_ns);

/*
 * Check the packet of `bytes` bytes at p, which came from above with this ToS
 * byte.  Returns UPDATE_OK, or the reason why it must be dropped.
 */
static inline unsigned handshake_client_check(struct handshake_client *o,
    uint8_t tos, const uint8_t *p, size_t bytes);

/*
 * Return why the handshake does not succeed, as a text that follows "refused:
 * ".  Returns NULL if the handshake may still succeed.
 */
static inline const char *handshake_client_problem(
    const struct handshake_client *o);

/* implementation */

static inline void
handshake_client_init(struct handshake_client *o, bool on,
    struct channel_client *channel, const struct key *file)
{
	*o = (struct handshake_client){
	    .on = on, .channel = channel, .file = file};
}

static inline uint8_t
handshake_client_tos(const struct handshake_client *o)
{
	return o->on ? UPDATE_TAGGED_TOS : UPDATE_TOS;
}

static inline bool
handshake_client_is_ready(const struct handshake_client *o)
{
	return !o->on || o->open || o->accepts_any_tag;
}

static inline void
handshake_client_start(struct handshake_client *o, uint64_t now_ns)
{
	if (handshake_client_is_ready(o) || o->asks)
		return;
	o->asks = true;
	o->ask_ns = o->since_ns = now_ns;
	o->wait_ns = HANDSHAKE_CLIENT_FIRST_NS;
}

static inline uint64_t
handshake_client_deadline_ns(const struct handshake_client *o)
{
	if (o->asks)
		return o->ask_ns;
	return o->open && o->awaits ? o->since_ns + HANDSHAKE_CLIENT_SILENCE_NS
				    : HANDSHAKE_CLIENT_NEVER;
}

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
	/*
	 * Count the next wait from the deadline and not from now_ns, so that
	 * the replay of a trace sends each Open at the same time.
	 */
	o->ask_ns = due + backoff_take_ns(&o->wait_ns,
	    HANDSHAKE_CLIENT_MOST_NS);
	return (uint32_t)channel_client_protect(o->channel, msg,
	    (size_t)(control_put(msg, CONTROL_OPEN, 0, xid) - msg));
}

/* Process the Ack of an Open, which came from the server. */
static inline void
handshake_client_take_ack(
    struct handshake_client *o, const struct control_ack *a)
{
	const bool salt = !o->open || memcmp(o->key.salt, a->salt,
	    TAG_SALT_BYTES) != 0;

	o->status = a->status;
	o->other_key = false;
	if (a->status != CONTROL_DONE)
		return;			/* the Open will be repeated */
	if (salt) {
		tag_key_set(&o->key, o->file, a->salt);
		o->came = (struct tag_window){ 0 };
	}
	memcpy(o->cookie, o->channel->cookie, TAG_COOKIE_BYTES);
	o->open = true;
	o->asks = o->awaits = false;
}

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
		return false;		/* the challenge may belong to another
					 * request */
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

/*
 * Check the tag.  This function is separate from handshake_client_check(),
 * because most packets have no tag.
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

static inline unsigned
handshake_client_check(
    struct handshake_client *o, uint8_t tos, const uint8_t *p, size_t bytes)
{
	if ((tos & 0xfc) != handshake_client_tos(o))
		return SOUNDNESS_BAD_TAG;
	return !o->on || o->accepts_any_tag ? UPDATE_OK :
	    handshake_client_check_tag(o, p, bytes);
}

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
		return "it accepts data without authentication tags; give both "
		    "the same --auth, and the same --key if any";
	default: return control_status_text(o->status);
	}
}

#endif
