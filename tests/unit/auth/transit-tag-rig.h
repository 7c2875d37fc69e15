/*
 * transit-tag-rig.h - a server, a queue in the path and workers, all with keys.
 * Tests pass each datagram through the queue. A worker has its channel and
 * handshake, and the server has its channels and handshakes.
 */
#ifndef INNET_TESTS_PATH_RIG_H
#define INNET_TESTS_PATH_RIG_H

#include <arpa/inet.h>

#include "common/auth/handshake-server.h"
#include "common/auth/handshake-client.h"
#include "common/auth/transit-tag.h"
#include "common/auth/channel-server.h"

#define SECOND UINT64_C(1000000000)

enum { MOST = 128 };

static const uint8_t file[] = "sixteen bytes and more";
static struct key key;
static uint64_t now = SECOND;
static struct hashmap_multiplier by;

/* A datagram with its ends. */
struct mail {
	union addr from, to;
	uint8_t tos, b[MOST];
	uint32_t n;
};

static struct {			/* the server */
	union addr at;
	struct program_place place;
	struct channel_server channels;
	struct channel_server_rules rules;
	struct handshake_server handshakes;
} ps;

static struct {			/* the queue */
	struct program_place place;
	struct program_env env;
	struct transit_tag path;
} q;

struct worker {
	union addr at;
	struct channel_client channel;
	struct handshake_client handshake;
	uint32_t xid;
	struct mail open, ack;	/* the last ones, as the queue received them */
};

static union addr
address_at(uint8_t host, uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr = { htonl(0x0a000000 + host) }
	    } };
}

static void
start_server(uint8_t secret)
{
	handshake_server_free(&ps.handshakes);
	channel_server_free(&ps.channels);
	ps.at = address_at(9, 46638);
	ps.place = (struct program_place){ .live = true, .tagged = true,
	    .key = &key, .hash_seed = by, .secret = { secret } };
	ps.channels = channel_server_of(&by);
	ps.rules =
	    (struct channel_server_rules){.key = &key, .needs_cookie = true};
	key_set(&ps.rules.secret, ps.place.secret, sizeof(ps.place.secret));
	handshake_server_init(&ps.handshakes, &ps.place, NULL);
}

static void
make_writable(void *plane, struct packet *p)
{
	(void)plane;
	p->changed = true;
}

static void
forward_packet(void *plane, struct packet *p, uint64_t now_ns)
{
	(void)plane;
	(void)p;
	(void)now_ns;
}

static void
start_queue(uint8_t secret)
{
	transit_tag_free(&q.path);
	q.place = (struct program_place){.live = true,
	    .in_path = true,
	    .tagged = true,
	    .key = &key,
	    .hash_seed = by,
	    .secret = {secret}};
	q.env = (struct program_env){ .make_writable = make_writable,
	    .forward_packet = forward_packet };
	transit_tag_init(&q.path, &q.place, true);
}

static uint64_t mail_vlan;		/* VLAN of packets at the queue */

static struct packet
as_packet(struct mail *m)
{
	return (struct packet){ .from = &m->from, .to = &m->to, .tos = m->tos,
	    .payload = m->b, .bytes = m->n, .is = FRAME_UDP,
	    .vlan = mail_vlan };
}

/*
 * Send a datagram through the queue; return the queue's verdict if it took the
 * datagram.
 */
static unsigned
through_queue(struct mail *m)
{
	struct packet p = as_packet(m);
	unsigned bad;
	bool down;

	if (q.path.rows.most == 0 ||
	    transit_tag_classify(&q.path, &p) != PACKET_FOR_PROGRAM)
		return SOUNDNESS_REGULAR;
	if (p.socket == TRANSIT_TAG_SOCKET) {
		transit_tag_forward_control(&q.path, &q.env, &p, now);
		return UPDATE_OK;
	}
	bad = transit_tag_check(&q.path, &p, &down);
	if (bad == UPDATE_OK)
		transit_tag_retag_packet(&q.path, &q.env, &p);
	return bad;
}

/* Let the server answer a datagram, unless it drops it. */
static bool
server_answer(const struct mail *m, struct mail *to)
{
	struct control_ack a = { .action = CONTROL_OPEN };
	struct channel_server_row *row;
	struct control c;
	uint8_t *p;

	*to = (struct mail){ .from = m->to, .to = m->from, .tos = CONTROL_TOS };
	if (!control_parse(m->b, m->n, &c))
		return false;
	p = control_put(to->b, CONTROL_ACK, 0, c.xid);
	switch (channel_server_check(
	    &ps.channels, &ps.rules, &m->from, m->b, m->n, &c, now, &row)) {
	case CHANNEL_SERVER_GOOD:
		handshake_server_open(&ps.handshakes, &m->from, &c, &a, now);
		to->n =
		    channel_server_protect(&ps.channels, &ps.rules, &m->from,
			to->b, (uint32_t)(control_put_ack(p, &a) - to->b));
		return true;
	case CHANNEL_SERVER_CHALLENGE:
		*p++ = CONTROL_OPEN;
		*p++ = CONTROL_CHALLENGE;
		cookie_make(&ps.rules.secret, &m->from, c.cookie, now, p);
		to->b[1] = CONTROL_HAS_COOKIE;
		to->n = (uint32_t)(p + COOKIE_BYTES - to->b);
		return true;
	default:
		return false;
	}
}

static void
receive_above(struct worker *w, const struct mail *m)
{
	struct control c;

	if (control_parse(m->b, m->n, &c))
		handshake_client_receive(&w->handshake,
		    channel_client_receive(&w->channel, m->b, m->n, &c), &c,
		    now);
}

/*
 * Let the worker send Open, answer a challenge if it gets one, and receive its
 * Ack.
 */
static bool
open_worker(struct worker *w)
{
	struct mail m, a;

	for (int k = 0; k < 2; k++) {
		w->handshake.asks = true;
		w->handshake.ask_ns = ++now;
		m = (struct mail){ .from = w->at, .to = ps.at,
		    .tos = CONTROL_TOS };
		m.n = handshake_client_next(&w->handshake, w->xid++, now, m.b);
		w->open = m;
		through_queue(&m);
		if (!server_answer(&m, &a))
			return false;
		w->ack = a;
		through_queue(&a);
		receive_above(w, &a);
	}
	return w->handshake.open;
}

static void
start_worker(struct worker *w, uint8_t host, const struct key *k)
{
	const uint8_t nonce[COOKIE_NONCE_BYTES] = { 'n', host };

	*w = (struct worker){ .at = address_at(host, 5000), .xid = 7 };
	channel_client_open(&w->channel, k, true, nonce);
	handshake_client_init(&w->handshake, true, &w->channel, k);
}

/* Make an update as it leaves worker w. */
static struct mail
make_update(struct worker *w, uint32_t sequence)
{
	struct mail m = { .from = w->at, .to = ps.at,
	    .tos = UPDATE_TAGGED_TOS };
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = 1,
	    .worker = 1, .sequence = sequence, .merged = 1, .elements = 1 };
	uint8_t *p = update_put(m.b, &u);

	vec_set(p, 0, 1);
	m.n = handshake_client_tag(
	    &w->handshake, m.b, (uint32_t)(p + 4 - m.b), now);
	return m;
}

static struct mail
make_model(const struct worker *w)
{
	struct mail m = { .from = ps.at, .to = w->at,
	    .tos = UPDATE_TAGGED_TOS };
	const struct update u = { .kind = UPDATE_MODEL, .cluster = 1,
	    .worker = UPDATE_ALL_WORKERS, .merged = 1, .elements = 1 };
	uint8_t *p = update_put(m.b, &u);

	vec_set(p, 0, 1);
	m.n = handshake_server_tag(
	    &ps.handshakes, m.b, (uint32_t)(p + 4 - m.b));
	return m;
}

static unsigned
server_verdict(const struct mail *m)
{
	return handshake_server_check(
	    &ps.handshakes, &m->from, m->tos, m->b, m->n);
}

static unsigned
is_accepted(struct worker *w, const struct mail *m)
{
	return handshake_client_check(&w->handshake, m->tos, m->b, m->n);
}

#endif
