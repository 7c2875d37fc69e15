/* A queue in the path that has the key: what it believes, and who it. */
#include <arpa/inet.h>

#include "common/olaf/openers.h"
#include "common/olaf/opening.h"
#include "common/olaf/path.h"
#include "common/program/channels.h"
#include "tests/unit/tap.h"

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
	*w = (struct worker){ .at = at(host, 5000), .xid = 7 };
	channel_open(&w->channel, k, true, (const uint8_t *)"nonce--A");
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

/* It is let in anew after something has changed, and data goes through. */
static bool
goes_on(struct worker *w)
{
	struct mail up, down;

	if (!enters(w))
		return false;
	up = update(w, 50);
	down = model(w);
	passes(&up);
	passes(&down);
	return judged(&up) == UPDATE_OK && believed(w, &down) == UPDATE_OK;
}

static void
to_and_fro(void)
{
	struct worker w;
	struct mail m, was;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	ok(enters(&w), "a worker is let in through the queue");
	ok(memcmp(w.opening.key.salt, ps.openers.key.salt, PROOF_SALT_BYTES) !=
	    0, "under a salt that is not the server's");
	m = was = update(&w, 1);
	ok(passes(&m) == UPDATE_OK && judged(&was) == SOUNDNESS_BAD_PROOF &&
	    judged(&m) == UPDATE_OK, "what goes up is good at the server as "
	    "it leaves, not as it came");
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "nor is that one the queue's");
	m = was;
	ok(passes(&m) == SOUNDNESS_REPLAYED, "it comes once");
	m = was = update(&w, 2);
	m.b[40] ^= 1;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "changed it is nothing");
	m = was;
	ok(passes(&m) == UPDATE_OK && judged(&m) == UPDATE_OK,
	    "and as it was it still is good");
	m = was = model(&w);
	ok(passes(&m) == UPDATE_OK && believed(&w, &was) ==
	    SOUNDNESS_BAD_PROOF && believed(&w, &m) == UPDATE_OK &&
	    believed(&w, &m) == SOUNDNESS_REPLAYED, "the same down");
	m = update(&w, 3);
	m.to = at(8, 46638);
	ok(passes(&m) == SOUNDNESS_REGULAR, "to another server it passes");
}

/* Updates that are held back leave in another order, and merge. */
static void
orders(void)
{
	struct mail m[MOST];
	struct worker w;
	bool good = true, once = true;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	enters(&w);
	for (uint32_t k = 0; k < MOST; k++) {
		struct packet p;
		bool down;

		m[k] = update(&w, k);
		p = packet(&m[k]);
		good = good && path_judge(&q.path, &p, &down) == UPDATE_OK;
	}
	for (uint32_t k = MOST; k-- > 0;) {	/* the last one first */
		struct packet p = packet(&m[k]);

		if (k % 3 == 1)
			continue;		/* it was merged */
		path_prove(&q.path, &q.env, &p);
		good = good && judged(&m[k]) == UPDATE_OK;
		once = once && judged(&m[k]) == SOUNDNESS_REPLAYED;
	}
	ok(good && once, "of 128 updates that leave in any order none is late "
	    "at the server");
	ok(goes_on(&w), "what comes next goes on");
	path_free(&q.path);
	ok(goes_on(&w), "without the queue, too");
	stand(2);
	ok(goes_on(&w), "and behind another");
	stand(2);
	ok(goes_on(&w), "even of the same secret");
	serve(2);
	ok(goes_on(&w), "and so it does at a server that is started again");
}

/* All that was overheard, of both sides of the queue, is sent once more. */
static void
overheard(void)
{
	struct mail m, open, ack, up, direct;
	struct worker w, v;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	start(&v, 2, &key);
	enters(&w);
	m = w.open;		/* from another address, at that instant */
	m.from = v.at;
	passes(&m);
	m = w.ack;
	m.to = v.at;
	passes(&m);
	m = up = update(&w, 1);
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "salts are of one address");
	enters(&v);
	m = direct = up;
	passes(&direct);
	open = w.open;
	ack = w.ack;
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_REPLAYED, "an Open and its Ack once more "
	    "forget no counter");
	m = direct;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "what has left is not let in");
	m = open;
	m.from = v.at;
	passes(&m);
	m = ack;
	m.to = v.at;
	passes(&m);
	m = up;
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "nor from another address, with "
	    "its Open and Ack");
	ok(goes_on(&v), "whose own worker is let in again");
	m = up;
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "and still it is nothing there");
	serve(2);		/* another run, and back to the former */
	ok(goes_on(&w), "the server is started again");
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "the run before is nothing");
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "nor with its Open and Ack");
	ok(goes_on(&w), "of which the worker knows nothing");
	stand(1);
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_PROOF, "nor after the queue was "
	    "started again, under the same secret");
}

static void
strangers(void)
{
	static const uint8_t another[] = "another key of sixteen bytes";
	struct mail m, was;
	struct worker w, s;
	struct key other;

	key_set(&other, another, sizeof(another));
	serve(1);
	stand(1);
	start(&s, 3, &other);
	ok(!enters(&s) && q.path.rows.count == 0,
	    "who has another key leaves nothing");
	start(&w, 1, &key);
	enters(&w);
	was = w.open;
	for (uint32_t i = 0; i < was.n; i++) {
		m = was;
		m.from = at(4, 5000);
		m.b[i] ^= 1;
		passes(&m);
	}
	ok(q.path.rows.count == 1, "nor an Open that was changed");
	m = w.ack;
	m.b[PATH_SALT_AT] ^= 1;
	was = m;
	ok(passes(&m) == UPDATE_OK && memcmp(&m, &was, sizeof(m)) == 0,
	    "an Ack that was changed goes on as it came");
	for (uint32_t i = 0; i < 3 * PATH_MOST; i++) {
		m = w.open;
		m.from.in.sin_addr.s_addr = htonl(0x0b000000 + i);
		passes(&m);
	}
	ok(q.path.rows.count == PATH_MOST, "one that was overheard, from "
	    "three times as many addresses as are kept");
	ok(goes_on(&w), "the worker is let in again");
	q.path.credulous = true;
	m = update(&w, 9);
	m.b[40] ^= 1;
	ok(passes(&m) == UPDATE_OK && judged(&m) == UPDATE_OK,
	    "a trace without the secret believes anything, and proves it");
}

int
main(void)
{
	key_set(&key, file, sizeof(file));
	to_and_fro();
	orders();
	overheard();
	strangers();
	openers_free(&ps.openers);
	channels_free(&ps.channels);
	path_free(&q.path);
	return tap_end();
}
