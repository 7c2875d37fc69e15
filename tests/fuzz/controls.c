/*
 * Fuzz a live plane of each program, with its clients.  The input is a byte of
 * settings, then datagrams.  A datagram is a byte with the sender (3 bits), the
 * kind (2 bits) and the delay (3 bits), a byte with its length, and its bytes.
 * With a key each client has a channel, answers challenges and adds a MAC to
 * its requests; a client with an open session tags its data.  Each answer must
 * belong to a request, a text must arrive completely, and data for a client
 * with an open session must have a valid tag, with each counter once.
 */
#include <math.h>

#include "common/switch/receive.h"
#include "common/switch/programs.h"
#include "common/auth/channel-client.h"
#include "tests/fuzz/fuzz.h"

enum { ASKERS = 8 };

static struct plane pl;
static uint32_t asked_xid;
static const union addr *asker;
static struct channel_client channel[ASKERS];
static struct handshake_client handshake[ASKERS];
static bool challenged;

static union addr
host(uint32_t n)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(46638), .sin_addr = { htonl(0x0a000000 +
	    n) } } };
}

/* A client with an open session must accept the data that the plane sends. */
static void
on_data(const union addr *to, const struct post *p)
{
	for (uint32_t k = 0; k < ASKERS; k++) {
		const union addr at = host(k);
		const uint8_t *q = p->p;

		for (uint32_t i = 0; addr_same(&at, to) && handshake[k].open &&
		    i < p->count; i++, q += p->bytes)
			must(handshake_client_check(&handshake[k], p->tos, q,
			    i + 1 < p->count ? p->bytes : p->last_bytes) ==
			    UPDATE_OK, "what the switch hands out is proved");
	}
}

/* Check a message to a client: an Ack must belong to a request. */
static void
on_send(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct control_ack a;
	enum channel_client_news news;
	struct control c;

	(void)ctx;
	(void)socket;
	(void)from;
	(void)now_ns;
	must(p->count > 0 && p->last_bytes <= p->bytes, "a run is a run");
	if (p->tos == UPDATE_TAGGED_TOS)
		on_data(to, p);
	if (p->tos != CONTROL_TOS || asker == NULL || !addr_same(to, asker))
		return;
	must(control_parse(p->p, p->bytes, &c), "what answers is a message");
	for (uint32_t k = 0; k < ASKERS; k++) {
		const union addr at = host(k);

		if (!addr_same(&at, to))
			continue;
		news = channel_client_receive(&channel[k], p->p, p->bytes, &c);
		handshake_client_receive(&handshake[k], news, &c, now_ns);
		switch (news) {
		case CHANNEL_CLIENT_CHALLENGED: challenged = true; break;
		case CHANNEL_CLIENT_GOOD:
		case CHANNEL_CLIENT_HINT: break;
		default:	/* without a key: with an invented cookie */
			must(channel[k].key == NULL && c.cookie != NULL,
			    "what the switch says is proved");
		}
	}
	if (c.action != CONTROL_ACK || c.xid != asked_xid)
		return;
	must(control_get_ack(&c, &a), "an Ack is whole");
	must(a.status < CONTROL_STATUSES, "its status is one");
	if (a.status != CONTROL_DONE || a.text == NULL)
		return;
	must(a.text_bytes <= CONTROL_PAGE_BYTES && a.page < a.pages &&
	    (a.page + 1 == a.pages || a.text_bytes == CONTROL_PAGE_BYTES),
	    "pages are full");
	must(a.page > 0 || a.text[0] == '{', "a text is an object");
}

static void
on_leave(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	(void)ctx;
	(void)port;
	(void)when_ns;
	if (s->changed)
		port_update_header(s);
}

static const struct plane_driver driver = { .send_run = on_send,
	.send_slot = on_leave };

static void
account(void)
{
	const uint64_t *n = pl.n;
	uint64_t ignored = 0;

	for (unsigned w = 0; w < SOUNDNESS_VERDICTS; w++)
		ignored += pl.ignored[w];
	must(ignored == n[PLANE_IGNORED], "what is ignored has a reason");
	must(n[PLANE_PACKETS] == n[PLANE_TAKEN] + n[PLANE_OWN] +
	    n[PLANE_REGULAR] + n[PLANE_PASSED] + ignored,
	    "every packet is counted once");
	must(pl.program->counters_add_up == NULL ||
		 pl.program->counters_add_up(pl.state),
	    "the program's counters add up");
}

/* Deliver one datagram at now_ns. */
static void
come(const struct plane_conf *cf, uint8_t what, uint8_t *p, uint32_t len,
    uint64_t now_ns)
{
	static const uint8_t tos[] = { CONTROL_TOS, UPDATE_TOS, SEG_TOS,
	    UPDATE_TAGGED_TOS };
	const union addr from = host(what & 7);
	struct packet k = { .from = &from, .to = &cf->place.address,
	    .tos = tos[what >> 3 & 3], .payload = p, .bytes = len,
	    .wire_bytes = len + FRAME_V4_BYTES };
	struct control c;

	asker = NULL;
	if (k.tos == CONTROL_TOS && control_parse(p, len, &c)) {
		asker = &from;
		asked_xid = c.xid;
	}
	plane_advance(&pl, now_ns);
	plane_receive(&pl, &k);
	plane_flush(&pl);
	account();
}

/* Send the n bytes at p as a datagram of this kind from the client. */
static void
ask(const struct plane_conf *cf, uint8_t what, const uint8_t *p, uint32_t n,
    uint64_t now_ns)
{
	const bool seals = cf->place.key != NULL && n >= CONTROL_HEADER_BYTES &&
	    (what >> 3 & 3) == 0;
	uint8_t *q =
	    malloc(n + CHANNEL_CLIENT_PAD_BYTES + CHANNEL_CLIENT_MORE_BYTES);
	uint8_t *exact;

	if (q == NULL)
		abort();
	memcpy(q, p, n);
	if (seals) {
		q[1] = 0;
		n = (uint32_t)channel_client_protect(&channel[what & 7], q, n);
	} else if ((what >> 3 & 3) == 3 && handshake[what & 7].open) {
		n = handshake_client_tag(&handshake[what & 7], q, n, now_ns);
	}
	exact = fuzz_copy(q, n);
	come(cf, what, exact, n, now_ns);
	free(exact);
	free(q);
}

/* Deliver the datagrams of an input. */
static void
session(const struct plane_conf *cf, const uint8_t *p, size_t len)
{
	static const uint64_t step_ns[] = { 0, 1, 1000, 1000000, 50000000,
	    300000000, 1100000000, 11000000000 };
	uint64_t now = 1000000000;

	while (len >= 2 && len - 2 >= p[1]) {
		const uint32_t n = p[1];

		now += step_ns[p[0] >> 5];
		challenged = false;
		ask(cf, p[0], p + 2, n, now);
		if (challenged)
			ask(cf, p[0], p + 2, n, now);
		p += 2 + n;
		len -= 2 + n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct plane_conf cf = { .place = { .live = true, .xid = 1,
	    .memory_bytes = 1 << 18 } };
	struct program_place place;
	struct key key = { 0 };
	void *settings;

	if (len < 1)
		return 0;
	cf.program = programs[p[0] % 3];
	settings = calloc(1, cf.program->conf_bytes);
	if (settings == NULL)
		abort();
	cf.program->set_defaults(settings);
	if (cf.program == &olaf_program)
		((struct olaf_conf *)settings)->upstream = host(7);
	cf.place.address = host(255);
	cf.settings = settings;
	place = cf.place;
	must(cf.program->check_settings(settings, &place) == NULL,
	    "it is settled");
	key_set(&key, "a key", 5);
	cf.place.key = p[0] & 64 ? &key : NULL;
	cf.place.tagged = p[0] & 32 && cf.program->supports_tags;
	for (uint32_t k = 0; k < ASKERS; k++) {
		channel_client_open(&channel[k], cf.place.key,
		    cf.place.key != NULL, (const uint8_t *)"nonce--0");
		handshake_client_init(
		    &handshake[k], true, &channel[k], cf.place.key);
	}
	cf.ports.all = (struct port_conf){ .threshold = NAN,
	    .slots = 4, .active_window_ns = 1000000000,
	    .queue = cf.program->merges_updates ? PORT_OLAF : PORT_FIFO,
	    .rate_bps = p[0] & 128 ? 100000 : 0 };
	must(plane_init(&pl, &cf, &driver, NULL), "there is memory");
	/* the session is open */
	if (cf.place.tagged && cf.program == &olaf_program)
		handshake_client_take_ack(
		    &((struct olaf *)pl.state)->relay_tag.above,
		    &(struct control_ack){.action = CONTROL_OPEN});
	session(&cf, p + 1, len - 1);
	plane_count_queued(&pl);
	plane_free(&pl);
	free(settings);
	return 0;
}
