/*
 * Fuzz workers, a queue in the path that has the key, a server, and an attacker
 * that records all packets on both sides of the queue and sends them again.
 * Each byte is a worker (2 bits), an event (3 bits) and a number (3 bits), and
 * more bytes may belong to it.  The last worker has another key.  The server
 * must not apply an update that no worker made, that comes from another
 * address, or that was applied before; and honest workers must always be able
 * to open a session.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/auth/transit-tag-rig.h"

enum { WORKERS = 4, LOG = 64, UPDATES = 4096, STEPS = 500 };

enum what { ENTER, UP, DOWN, AGAIN, MOVED, FLIP, TIME, NOISE };

static struct worker worker[WORKERS];
static struct mail logged[LOG];
static uint32_t logs, made;
static uint8_t runs;
static struct {
	uint8_t by;
	bool applied;
} sent[UPDATES];

static void
record(const struct mail *m)
{
	logged[logs++ % LOG] = *m;
}

static struct worker *
who(const union addr *at)
{
	for (unsigned k = 0; k < WORKERS; k++)
		if (addr_same(at, &worker[k].at))
			return &worker[k];
	return NULL;
}

/* Let the server apply an accepted update, which a worker must have made. */
static bool
applied(const struct mail *m)
{
	const struct worker *w = who(&m->from);
	struct update u;

	if (server_verdict(m) != UPDATE_OK)
		return false;
	must(update_parse_as(m->tos, m->b, m->n, &u) == UPDATE_OK &&
	    w != NULL && w != &worker[WORKERS - 1], "an honest update");
	must(u.sequence < made && worker + sent[u.sequence].by == w,
	    "that was made there");
	must(!sent[u.sequence].applied, "is applied once");
	sent[u.sequence].applied = true;
	return true;
}

/*
 * Deliver a datagram to the queue, and forward the packets that leave it.
 * beside: deliver it on the far side of the queue.
 */
static bool
comes(struct mail m, bool beside)
{
	const bool up = addr_same(&m.to, &ps.at);
	struct worker *w = up ? NULL : who(&m.to);
	struct mail a;

	if (!beside) {
		through_queue(&m);
		record(&m);
	}
	if ((m.tos & 0xfc) == CONTROL_TOS && up) {
		if (!server_answer(&m, &a))
			return false;
		record(&a);
		return comes(a, false);
	}
	if (up)
		return applied(&m);
	if (w == NULL)
		return false;
	if ((m.tos & 0xfc) == CONTROL_TOS) {
		receive_above(w, &m);
		return true;
	}
	return is_accepted(w, &m) == UPDATE_OK;
}

static bool
sends(struct worker *w)
{
	struct mail m;

	if (made == UPDATES || !w->handshake.open)
		return false;
	sent[made].by = (uint8_t)(w - worker);
	sent[made].applied = false;
	m = make_update(w, made++);
	record(&m);
	return comes(m, false);
}

static bool
tells(const struct worker *w)
{
	struct mail m;

	if (!ps.handshakes.salted)
		return false;
	m = make_model(w);
	record(&m);
	return comes(m, false);
}

/*
 * A worker opens a session; then its packets must be accepted, and the server's
 * too.
 */
static void
begin(struct worker *w)
{
	const bool in = open_worker(w);

	record(&w->open);
	record(&w->ack);
	if (w == &worker[WORKERS - 1]) {
		must(!in, "who has another key is not let in");
		return;
	}
	must(in, "a worker is let in");
	must(made == UPDATES || sends(w), "its updates are applied");
	must(tells(w), "and models are believed");
}

/*
 * Send the bytes of a stranger to the server, or from the server to worker w.
 */
static size_t
noise(struct worker *w, unsigned n, const uint8_t *p, size_t len)
{
	const size_t bytes = len < MOST ? len : MOST;
	struct mail m = { .tos = (n & 1) != 0 ? UPDATE_TAGGED_TOS :
	    CONTROL_TOS, .n = (uint32_t)bytes };

	m.from = (n & 2) != 0 ? ps.at : w->at;
	m.to = (n & 2) != 0 ? w->at : ps.at;
	memcpy(m.b, p, bytes);
	comes(m, (n & 4) != 0);
	return bytes;
}

static void
begin_anew(unsigned n)
{
	if (n == 0)
		transit_tag_free(&q.path);
	else if (n < 4)
		start_queue((uint8_t)n);
	else if (n < 6)
		start_server(n == 4 ? runs : ++runs);
	else
		now += n == 6 ? 30 * SECOND : 600 * SECOND;
}

/* Run one event; return the number of further bytes that belong to it. */
static size_t
step(uint8_t op, const uint8_t *p, size_t len)
{
	struct worker *w = &worker[op & 3];
	const unsigned n = op >> 5;
	struct mail m = { 0 };

	if (logs > 0 && len > 0)
		m = logged[(logs - 1 - p[0] % (logs < LOG ? logs : LOG)) % LOG];
	switch ((enum what)(op >> 2 & 7)) {
	case ENTER: begin(w); return 0;
	case UP: sends(w); return 0;
	case DOWN: tells(w); return 0;
	case TIME: begin_anew(n); return 0;
	case NOISE: return noise(w, n, p, len);
	case AGAIN: break;
	case MOVED:
		if (addr_same(&m.from, &ps.at))
			m.to = w->at;
		else
			m.from = w->at;
		break;
	case FLIP:
		if (len < 2 || m.n == 0)
			return len;
		m.b[p[1] % m.n] ^= (uint8_t)(1 << n);
		comes(m, (p[1] & 128) != 0);
		return 2;
	}
	if (m.n > 0)
		comes(m, (n & 1) != 0);
	return len > 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct key other;

	now = SECOND;
	logs = made = 0;
	runs = 1;
	key_set(&key, file, sizeof(file));
	key_set(&other, "another key of 16 bytes", 23);
	start_server(1);
	start_queue(1);
	for (unsigned k = 0; k < WORKERS; k++)
		start_worker(&worker[k], (uint8_t)(1 + k),
		    k < WORKERS - 1 ? &key : &other);
	for (size_t i = 0, k = 0; i < len && k < STEPS; i++, k++) {
		now++;		/* no two salts have the same time */
		i += step(p[i], p + i + 1, len - i - 1);
	}
	handshake_server_free(&ps.handshakes);
	channel_server_free(&ps.channels);
	transit_tag_free(&q.path);
	return 0;
}
