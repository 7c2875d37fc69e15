/*
 * path-rig.h - a server, a queue in the path and workers, all with keys
 *
 * Datagrams go through the queue by hand; a worker has its channel and its
 * opening, the server its channels and openers.
 */
#ifndef INNET_TESTS_PATH_RIG_H
#define INNET_TESTS_PATH_RIG_H

#include <arpa/inet.h>

#include "common/auth/handshake-server.h"
#include "common/auth/handshake-client.h"
#include "common/auth/transit-tag.h"
#include "common/auth/secure-channel-server.h"

#define SECOND UINT64_C(1000000000)

enum { MOST = 128 };

static const uint8_t file[] = "sixteen bytes and more";
static struct key key;
static uint64_t now = SECOND;
static struct keymap_number by;

/* A datagram with its ends. */
struct mail {
	union addr from, to;
	uint8_t tos, b[MOST];
	uint32_t n;
};

static struct {			/* the server */
	union addr at;
	struct program_place place;
	struct channels channels;
	struct channels_rules rules;
	struct openers openers;
} ps;

static struct {			/* the queue */
	struct program_place place;
	struct program_env env;
	struct path path;
} q;

struct worker {
	union addr at;
	struct channel channel;
	struct opening opening;
	uint32_t xid;
	struct mail open, ack;	/* that were last, as the queue got them */
};

static union addr
at(uint8_t host, uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr = { htonl(0x0a000000 + host) }
	    } };
}

static void
serve(uint8_t secret)
{
	openers_free(&ps.openers);
	channels_free(&ps.channels);
	ps.at = at(9, 46638);
	ps.place = (struct program_place){ .live = true, .proves = true,
	    .key = &key, .by = by, .secret = { secret } };
	ps.channels = channels_of(&by);
	ps.rules = (struct channels_rules){ .key = &key, .passes = true };
	key_set(&ps.rules.secret, ps.place.secret, sizeof(ps.place.secret));
	openers_init(&ps.openers, &ps.place, NULL);
}

static void
edit(void *plane, struct packet *p)
{
	(void)plane;
	p->changed = true;
}

static void
pass(void *plane, struct packet *p, uint64_t now_ns)
{
	(void)plane;
	(void)p;
	(void)now_ns;
}

static void
stand(uint8_t secret)
{
	path_free(&q.path);
	q.place = (struct program_place){ .live = true, .in_path = true,
	    .proves = true, .key = &key, .by = by, .secret = { secret } };
	q.env = (struct program_env){ .edit = edit, .pass = pass };
	path_init(&q.path, &q.place, true);
}

static struct packet
packet(struct mail *m)
{
	return (struct packet){ .from = &m->from, .to = &m->to, .tos = m->tos,
	    .payload = m->b, .bytes = m->n, .is = FRAME_UDP };
}

/* A datagram passes the queue; what that said of it if it took it. */
static unsigned
passes(struct mail *m)
{
	struct packet p = packet(m);
	unsigned bad;
	bool down;

	if (q.path.rows.most == 0 || path_claim(&q.path, &p) != PROGRAM_TAKES)
		return SOUNDNESS_REGULAR;
	if (p.way == PATH_WAY) {
		path_control(&q.path, &q.env, &p, now);
		return UPDATE_OK;
	}
	bad = path_judge(&q.path, &p, &down);
	if (bad == UPDATE_OK)
		path_prove(&q.path, &q.env, &p);
	return bad;
}

/* The server answers what came, unless it drops it. */
static bool
answers(const struct mail *m, struct mail *to)
{
	struct control_ack a = { .action = CONTROL_OPEN };
	struct channels_row *row;
	struct control c;
	uint8_t *p;

	*to = (struct mail){ .from = m->to, .to = m->from, .tos = CONTROL_TOS };
	if (!control_parse(m->b, m->n, &c))
		return false;
	p = control_put(to->b, CONTROL_ACK, 0, c.xid);
	switch (channels_judge(&ps.channels, &ps.rules, &m->from, m->b, m->n,
	    &c, now, &row)) {
	case CHANNELS_GOOD:
		openers_open(&ps.openers, &m->from, &c, &a, now);
		to->n = channels_prove(&ps.channels, &ps.rules, &m->from,
		    to->b, (uint32_t)(control_put_ack(p, &a) - to->b));
		return true;
	case CHANNELS_CHALLENGE:
		*p++ = CONTROL_OPEN;
		*p++ = CONTROL_PROVE;
		pass_make(&ps.rules.secret, &m->from, c.pass, now, p);
		to->b[1] = CONTROL_HAS_PASS;
		to->n = (uint32_t)(p + PASS_BYTES - to->b);
		return true;
	default:
		return false;
	}
}

static void
hears(struct worker *w, const struct mail *m)
{
	struct control c;

	if (control_parse(m->b, m->n, &c))
		opening_hear(&w->opening, channel_take(&w->channel, m->b, m->n,
		    &c), &c, now);
}

/* It asks, is challenged if need be, and is let in. */
static bool
enters(struct worker *w)
{
	struct mail m, a;

	for (int k = 0; k < 2; k++) {
		w->opening.asks = true;
		w->opening.ask_ns = ++now;
		m = (struct mail){ .from = w->at, .to = ps.at,
		    .tos = CONTROL_TOS };
		m.n = opening_next(&w->opening, w->xid++, now, m.b);
		w->open = m;
		passes(&m);
		if (!answers(&m, &a))
			return false;
		w->ack = a;
		passes(&a);
		hears(w, &a);
	}
	return w->opening.open;
}

static void
start(struct worker *w, uint8_t host, const struct key *k)
{
	const uint8_t nonce[PASS_NONCE_BYTES] = { 'n', host };

	*w = (struct worker){ .at = at(host, 5000), .xid = 7 };
	channel_open(&w->channel, k, true, nonce);
	opening_init(&w->opening, true, &w->channel, k);
}

/* An update of w as it leaves it. */
static struct mail
update(struct worker *w, uint32_t sequence)
{
	struct mail m = { .from = w->at, .to = ps.at,
	    .tos = UPDATE_PROVED_TOS };
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = 1,
	    .worker = 1, .sequence = sequence, .merged = 1, .elements = 1 };
	uint8_t *p = update_put(m.b, &u);

	vec_set(p, 0, 1);
	m.n = opening_prove(&w->opening, m.b, (uint32_t)(p + 4 - m.b), now);
	return m;
}

static struct mail
model(const struct worker *w)
{
	struct mail m = { .from = ps.at, .to = w->at,
	    .tos = UPDATE_PROVED_TOS };
	const struct update u = { .kind = UPDATE_MODEL, .cluster = 1,
	    .worker = UPDATE_ALL_WORKERS, .merged = 1, .elements = 1 };
	uint8_t *p = update_put(m.b, &u);

	vec_set(p, 0, 1);
	m.n = openers_prove(&ps.openers, m.b, (uint32_t)(p + 4 - m.b));
	return m;
}

static unsigned
judged(const struct mail *m)
{
	return openers_judge(&ps.openers, &m->from, m->tos, m->b, m->n);
}

static unsigned
believed(struct worker *w, const struct mail *m)
{
	return opening_judge(&w->opening, m->tos, m->b, m->n);
}

#endif
