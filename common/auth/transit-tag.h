/*
 * transit-tag.h - tagged data at a switch that has the key and is in the path
 * between workers and a server
 *
 * Workers and the server are configured with each other's addresses and do not
 * know about the switch.  The switch sees each Open that passes through it.  It
 * has the key, so it can check and compute the MAC of the Ack.  It replaces the
 * server's salt in the Ack with its own salt.  After that a tag is valid on one
 * side of the switch only.  The switch checks data from workers under its own
 * salt, and accepts each counter once.  The queue may merge the data.  When the
 * data leaves, the switch tags it again under the server's salt and the
 * worker's cookie.  The switch handles data from the server in the same way, in
 * the opposite direction.  So a packet that was recorded on one side is useless
 * on the other side, even if it left the queue unchanged.
 *
 * The switch's salt depends on the address, the Open and the time, so data that
 * was tagged under an earlier salt is never accepted again.  The switch chooses
 * the counters of data that it sends up.  These counters are consecutive and
 * start at the counter that the worker had at its Open, so they are never ahead
 * of the worker's counters for long.  So the worker can continue if the switch
 * is removed.  Counters of data that is sent down do not change.
 *
 * Hosts in different VLANs can have the same address, so each pair of VLAN and
 * address has its own row.  If a worker sent its Open before the switch
 * started, it has no row, and its packets pass unchanged.  The switch knows at
 * most TRANSIT_TAG_MOST addresses, which are the most recently used ones.  If a
 * trace is replayed and its secret is not known, every tag is accepted.  The
 * functions use no clock and no socket.  transit_tag_free() frees the memory.
 *
 * This is a separate file because a reviewer of the authentication looks in
 * this folder.  Only the program olaf includes the file.
 */
#ifndef INNET_AUTH_TRANSIT_TAG_H
#define INNET_AUTH_TRANSIT_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/cookie.h"
#include "common/auth/key.h"
#include "common/auth/mac.h"
#include "common/auth/tag.h"
#include "common/base/lru.h"
#include "common/capture/soundness.h"
#include "common/queue/slots.h"
#include "common/switch/program.h"
#include "common/wire/flow.h"

enum {
	TRANSIT_TAG_MOST = 4096,
	TRANSIT_TAG_SOCKET = 1,		/* value of packet.socket for a control
					 * message between other hosts */
	TRANSIT_TAG_SALT_AT = CONTROL_HEADER_BYTES + 2	/* position of the salt
							 * in an Ack */
};

/* A worker, or a switch below this one. */
struct transit_tag_row {
	union addr at;
	uint64_t vlan;			/* VLAN of the worker's frames, from
					 * frame_vlan() */
	union addr asked_of;		/* server to which the worker's last
					 * Open was sent */
	uint8_t asked[COOKIE_BYTES];	/* cookie of the last Open */
	bool open;			/* the Ack has passed */
	union addr server;
	uint8_t cookie[COOKIE_BYTES];
	struct tag_key below, above;	/* key derived with our salt; key
					 * derived with the server's salt */
	struct tag_window came;		/* counters of the packets that have
					 * arrived from below */
	bool begins;			/* the counter of the next packet is the
					   worker's current counter */
	uint64_t counter;		/* counter of the last packet sent up */
};

struct transit_tag {
	bool on;
	bool accepts_any_tag;		/* accept every tag, because a trace is
					 * replayed and its secret is not
					 * known */
	const struct program_place *place;	/* borrowed */
	struct lru rows;
};

/*
 * Initialise h.  `on` says whether the program has no address of its own and
 * its data has tags.
 */
static inline void transit_tag_init(struct transit_tag *h,
    const struct program_place *place, bool on);

/* Erase the keys in the rows and free the rows. */
static inline void transit_tag_free(struct transit_tag *h);

/*
 * Return the class of a packet between other hosts, which determines the part
 * of the switch that handles the packet.
 */
__attribute__((unused)) static enum packet_class transit_tag_classify(
    const struct transit_tag *h, struct packet *p);

/*
 * Handle an Open or its Ack, which transit_tag_classify() has claimed, and
 * forward it.
 */
static inline void transit_tag_forward_control(struct transit_tag *h,
    const struct program_env *env, struct packet *p, uint64_t now_ns);

/*
 * Check the tag of a claimed packet.  Returns UPDATE_OK, or the reason why it
 * must be dropped.  Sets *down if the packet came from a server.
 */
__attribute__((unused)) static unsigned transit_tag_check(struct transit_tag *h,
    const struct packet *p, bool *down);

/*
 * Replace the tag of a packet that is not queued with a tag that is valid on
 * the side to which the packet is sent.
 */
static inline void transit_tag_retag_packet(struct transit_tag *h,
    const struct program_env *env, struct packet *p);

/*
 * When a frame leaves the queue, replace its tag with a tag that is valid under
 * the handshake of its sender.  If this handshake no longer exists, keep the
 * tag, which no receiver accepts.
 */
static inline void transit_tag_retag_slot(struct transit_tag *h,
    struct slot *s);

/* implementation */

static inline void
transit_tag_init(
    struct transit_tag *h, const struct program_place *place, bool on)
{
	*h = (struct transit_tag){
	    .on = on && place->tagged && place->key != NULL,
	    .accepts_any_tag = place->replayed && !place->secret_known,
	    .place = place,
	    .rows = lru_new(TRANSIT_TAG_MOST, sizeof(struct transit_tag_row),
		&place->hash_seed)};
}

static inline void
transit_tag_free(struct transit_tag *h)
{
	if (h->rows.row != NULL)
		explicit_bzero(h->rows.row, (h->rows.made + (size_t)1) *
		    h->rows.row_bytes);
	lru_free(&h->rows);
}

/*
 * Find the row of an address in a VLAN.  Returns the number of the row, or
 * returns 0 and sets *r to NULL.
 */
static inline uint32_t
transit_tag_find_row(const struct transit_tag *h, const union addr *at,
    uint64_t vlan, struct transit_tag_row **r)
{
	const uint32_t k = lru_find(
	    &h->rows, addr_vlan_key(at, vlan, &h->place->hash_seed));

	*r = k == 0 ? NULL : lru_row(&h->rows, k);
	if (*r != NULL && addr_same(&(*r)->at, at) && (*r)->vlan == vlan)
		return k;
	*r = NULL;
	return 0;
}

/*
 * Find the row of an address whose handshake with this server is complete.
 * Returns the number of the row, or returns 0 and sets *r to NULL.
 */
static inline uint32_t
transit_tag_find_open(const struct transit_tag *h, const union addr *at,
    const union addr *server, uint64_t vlan, struct transit_tag_row **r)
{
	const uint32_t k = transit_tag_find_row(h, at, vlan, r);

	if (k != 0 && (*r)->open && addr_same(&(*r)->server, server))
		return k;
	*r = NULL;
	return 0;
}

/* Is the control message an Open or the Ack of an Open? */
static inline bool
transit_tag_is_handshake(const struct packet *p)
{
	struct control c;

	return control_parse(p->payload, p->bytes, &c) && c.has_mac &&
	    !c.commands && (c.action == CONTROL_OPEN ||
	    (c.action == CONTROL_ACK && c.body_bytes >= 2 &&
	    c.body[0] == CONTROL_OPEN && c.body[1] == CONTROL_DONE));
}

__attribute__((noinline, unused)) static enum packet_class
transit_tag_classify(const struct transit_tag *h, struct packet *p)
{
	const uint8_t tos = p->tos & 0xfc;
	struct transit_tag_row *r;

	if (p->is != FRAME_UDP)
		return PACKET_REGULAR;
	if (tos == UPDATE_TAGGED_TOS)
		return transit_tag_find_open(
			   h, p->from, p->to, p->vlan, &r) != 0 ||
			       transit_tag_find_open(
				   h, p->to, p->from, p->vlan, &r) != 0
			   ? PACKET_FOR_PROGRAM
			   : PACKET_REGULAR;
	if (tos != CONTROL_TOS || !transit_tag_is_handshake(p))
		return PACKET_REGULAR;
	p->socket = TRANSIT_TAG_SOCKET;		/* the message is between other
						 * hosts, not for the switch */
	return PACKET_FOR_PROGRAM;
}

/*
 * Keep the cookie of an Open from a worker, if the MAC of the Open is correct.
 */
static inline void
transit_tag_note_open(
    struct transit_tag *h, const struct packet *p, const struct control *c)
{
	struct transit_tag_row *r;
	struct key channel;
	uint32_t k;

	if (c->cookie == NULL)
		return;
	if (!mac_find_key(h->place->key, c->cookie, MAC_REQUEST, p->payload,
	    p->bytes, &channel))
		return;
	k = lru_find_or_add(&h->rows, addr_vlan_key(
	    p->from, p->vlan, &h->place->hash_seed));
	if (k == 0)
		return;
	r = lru_row(&h->rows, k);
	if (!addr_same(&r->at, p->from) || r->vlan != p->vlan)
		*r = (struct transit_tag_row){
		    .at = *p->from, .vlan = p->vlan };
	r->asked_of = *p->to;
	memcpy(r->asked, c->cookie, COOKIE_BYTES);
}

/* Make a salt that no earlier handshake has used. */
static inline void
transit_tag_make_salt(const struct transit_tag *h,
    const struct transit_tag_row *r, uint64_t now_ns,
    uint8_t salt[TAG_SALT_BYTES])
{
	struct key secret;
	struct key_hash hash;
	const bool v6 = r->at.sa.sa_family == AF_INET6;
	uint8_t input[8 + 2 + 16] = { 0 };

	key_set(&secret, h->place->secret, sizeof(h->place->secret));
	hash = key_hash_start(&secret, "innet 1 path");
	bytes_put(bytes_put(input, now_ns, 8), addr_port(&r->at), 2);
	if (v6)
		memcpy(input + 10, &r->at.in6.sin6_addr, 16);
	else
		memcpy(input + 10, &r->at.in.sin_addr, 4);
	key_hash_add(&hash, input, sizeof(input));
	key_hash_add(&hash, r->cookie, COOKIE_BYTES);
	key_hash_add(&hash, r->above.salt, TAG_SALT_BYTES);
	key_hash_finish(&hash, salt, TAG_SALT_BYTES);
}

/*
 * Complete the handshake of row r with a server whose salt is server_salt, and
 * make our own salt.
 */
static inline void
transit_tag_start_row(struct transit_tag *h, struct transit_tag_row *r,
    const union addr *server, const uint8_t server_salt[TAG_SALT_BYTES],
    uint64_t now_ns)
{
	const struct key *key = h->place->key;
	uint8_t salt[TAG_SALT_BYTES];

	r->open = true;
	r->server = *server;
	memcpy(r->cookie, r->asked, COOKIE_BYTES);
	tag_key_set(&r->above, key, server_salt);
	transit_tag_make_salt(h, r, now_ns, salt);
	tag_key_set(&r->below, key, salt);
	r->came = (struct tag_window){ 0 };
	r->counter = 0;
}

/*
 * Replace the server's salt in an Ack from the server with our salt, and
 * compute the MAC of the Ack again.
 */
static inline void
transit_tag_replace_salt(struct transit_tag *h, const struct program_env *env,
    struct packet *p, const struct control *c, uint64_t now_ns)
{
	struct transit_tag_row *r;
	struct control_ack a;
	struct key channel;

	if (transit_tag_find_row(h, p->to, p->vlan, &r) == 0 ||
	    !addr_same(&r->asked_of, p->from) || !control_get_ack(c, &a))
		return;
	if (!mac_find_key(h->place->key, r->asked, MAC_RESPONSE, p->payload,
	    p->bytes, &channel))
		return;
	if (!r->open || !addr_same(&r->server, p->from) ||
	    memcmp(r->cookie, r->asked, COOKIE_BYTES) != 0 ||
	    memcmp(r->above.salt, a.salt, TAG_SALT_BYTES) != 0)
		transit_tag_start_row(h, r, p->from, a.salt, now_ns);
	r->begins = true;
	env->make_writable(env->plane, p);
	memcpy(p->payload + TRANSIT_TAG_SALT_AT, r->below.salt, TAG_SALT_BYTES);
	mac_put(&channel, MAC_RESPONSE, c->counter, p->payload,
	    p->bytes - MAC_BYTES);
}

static inline void
transit_tag_forward_control(struct transit_tag *h,
    const struct program_env *env, struct packet *p, uint64_t now_ns)
{
	struct control c;

	control_parse(p->payload, p->bytes, &c);
	if (c.action == CONTROL_OPEN)
		transit_tag_note_open(h, p, &c);
	else
		transit_tag_replace_salt(h, env, p, &c, now_ns);
	env->forward_packet(env->plane, p, now_ns);
}

/*
 * Check a packet from the worker of row k.  Returns UPDATE_OK, or the reason
 * why it must be dropped.
 */
static inline unsigned
transit_tag_check_up(struct transit_tag *h, uint32_t k, const struct packet *p)
{
	struct transit_tag_row *r = lru_row(&h->rows, k);
	uint64_t counter = 0;
	const bool good = tag_update_good(&r->below, tag_head(TAG_UP, 0,
	    0, r->cookie), p->payload, p->bytes, &counter);

	if (!h->accepts_any_tag && !good)
		return SOUNDNESS_BAD_TAG;
	if (!h->accepts_any_tag && !tag_window_accept(&r->came, counter))
		return SOUNDNESS_REPLAYED;
	if (r->begins && counter > r->counter)
		r->counter = counter - 1;
	r->begins = false;
	lru_mark_used(&h->rows, k);
	return UPDATE_OK;
}

__attribute__((noinline, unused)) static unsigned
transit_tag_check(struct transit_tag *h, const struct packet *p, bool *down)
{
	struct transit_tag_row *r;
	const uint32_t k =
	    transit_tag_find_open(h, p->from, p->to, p->vlan, &r);
	uint64_t counter;

	*down = k == 0;
	if (!*down)
		return transit_tag_check_up(h, k, p);
	transit_tag_find_open(h, p->to, p->from, p->vlan, &r);
	return h->accepts_any_tag || tag_update_good(&r->above,
	    tag_head(TAG_DOWN, 0, 0, NULL), p->payload, p->bytes,
	    &counter) ? UPDATE_OK : SOUNDNESS_BAD_TAG;
}

/*
 * Replace the counter and the tag at the end of the `bytes` bytes at p, which
 * are sent to the server.
 */
static inline void
transit_tag_retag_up(struct transit_tag_row *r, uint8_t *p, uint32_t bytes)
{
	tag_update_put(&r->above, tag_head(TAG_UP, 0, 0, r->cookie), p,
	    bytes - UPDATE_TAIL_BYTES, ++r->counter);
}

static inline void
transit_tag_retag_packet(
    struct transit_tag *h, const struct program_env *env, struct packet *p)
{
	struct transit_tag_row *r;

	env->make_writable(env->plane, p);
	if (transit_tag_find_open(h, p->from, p->to, p->vlan, &r) != 0) {
		transit_tag_retag_up(r, p->payload, p->bytes);
		return;
	}
	transit_tag_find_open(h, p->to, p->from, p->vlan, &r);
	tag_update_put(&r->below, tag_head(TAG_DOWN, 0, 0, NULL),
	    p->payload, p->bytes - UPDATE_TAIL_BYTES, bytes_get(p->payload +
	    p->bytes - UPDATE_TAIL_BYTES, TAG_COUNTER_BYTES));
}

static inline void
transit_tag_retag_slot(struct transit_tag *h, struct slot *s)
{
	union addr from = { 0 }, to = { 0 };
	struct transit_tag_row *r;
	struct frame fr;

	if (!s->framed || frame_parse(FRAME_ETHERNET, s->bytes, s->have,
	    s->have, &fr) != FRAME_UDP)
		return;
	flow_addr(&from, fr.flow.src, fr.flow.sport, fr.flow.v6);
	flow_addr(&to, fr.flow.dst, fr.flow.dport, fr.flow.v6);
	if (transit_tag_find_open(
		h, &from, &to, frame_vlan(s->bytes, &fr), &r) == 0)
		return;
	transit_tag_retag_up(
	    r, s->bytes + s->payload_at, s->have - s->payload_at);
	s->changed = true;
}

#endif
