/*
 * Test the addresses of workers: the newest counts, expires after a minute, and
 * appears only once.
 */
#include "common/base/rng.h"
#include "common/olaf/routes.h"
#include "tests/unit/tap.h"

static union addr
address_at(uint16_t port)
{
	union addr a = { .in = { .sin_family = AF_INET,
	    .sin_port = htons(port) } };

	a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static bool
is_at(const struct routes *r, uint16_t cluster, uint32_t worker,
    uint64_t now_ns, uint16_t port)
{
	const union addr want = address_at(port);
	const struct route *a = routes_find(r, cluster, worker, now_ns);

	return a == NULL ? port == 0 : addr_same(&a->to, &want);
}

/* Store the ports of the addresses of a cluster in ports[]. */
static uint32_t
list_addresses(const struct routes *r, uint16_t cluster, uint64_t now_ns,
    uint16_t ports[64])
{
	const union addr *a;
	uint32_t next = 0, n = 0;

	while ((a = routes_next_address(r, cluster, now_ns, &next)) != NULL)
		ports[n++] = addr_port(a);
	return n;
}

static void
note_packet(struct routes *r, uint16_t cluster, uint32_t worker, uint16_t port,
    uint64_t now_ns)
{
	const union addr a = address_at(port);

	routes_note(r, cluster, worker, &a, now_ns);
}

static void
test_rules(void)
{
	const uint64_t minute = ROUTES_KEEP_NS;
	uint16_t p[64];
	struct routes r;

	if (!ok(routes_init(&r, 0, &hashmap_constant),
	    "there is room for routes"))
		return;
	ok(is_at(&r, 0, 0, 0, 0) && list_addresses(&r, 65535, 0, p) == 0,
	    "before the first packet there is no route");
	note_packet(&r, 1, 5, 1000, 10);
	ok(is_at(&r, 1, 5, 10, 1000), "a worker has the address from which it "
	    "sent");
	ok(is_at(&r, 2, 5, 10, 0) && is_at(&r, 1, 6, 10, 0),
	    "another cluster or worker has no route");
	ok(is_at(&r, 1, 5, 10 + minute, 1000), "a route is known for a minute");
	ok(is_at(&r, 1, 5, 11 + minute, 0) &&
		list_addresses(&r, 1, 11 + minute, p) == 0,
	    "a route is forgotten after a minute");
	note_packet(&r, 1, 5, 1001, 20 + minute);
	ok(is_at(&r, 1, 5, 20 + minute, 1001) && routes_count(&r) == 1,
	    "a worker that moved has its last address");
	ok(list_addresses(&r, 1, 20 + minute, p) == 1 && p[0] == 1001,
	    "no packet goes to its former address");
	note_packet(&r, 1, 6, 1001, 20 + minute);
	note_packet(&r, 1, 7, 1002, 20 + minute);
	ok(list_addresses(&r, 1, 20 + minute, p) == 2 && p[0] == 1001 &&
		p[1] == 1002,
	    "two workers at one address: a model for all goes there once");
	note_packet(&r, 1, 6, 1001, 30 + minute);
	ok(list_addresses(&r, 1, 25 + 2 * minute, p) == 1 && p[0] == 1001,
	    "the worker that still sends keeps the address of both");
	note_packet(&r, 65535, UINT32_MAX, 9, 0);
	ok(is_at(&r, 65535, UINT32_MAX, 0, 9) &&
		list_addresses(&r, 65535, 0, p) == 1,
	    "the last possible cluster and worker have a route");
	note_packet(&r, 9, 1, 1000, 5 * minute);
	note_packet(&r, 9, 1, 1001, 5 * minute + 1);
	ok(is_at(&r, 9, 1, 5 * minute + 1, 1001) &&
		list_addresses(&r, 9, 5 * minute + 1, p) == 1 && p[0] == 1001,
	    "a worker may move within a tick");
	note_packet(&r, 9, 1, 1001, 5 * minute + 2);
	ok(is_at(&r, 9, 1, 6 * minute + 2, 1001),
	    "the minute counts from the last packet within the tick");
	routes_free(&r);
}

/*
 * With room for 64 routes, a new one replaces the one that was silent longest.
 */
static void
test_room(void)
{
	const uint64_t minute = ROUTES_KEEP_NS, tick = 1 << ROUTES_TICK;
	struct routes r;
	bool same = true;

	if (!ok(routes_init(&r, 1, &hashmap_constant),
	    "there is room for routes"))
		return;
	ok(r.route.most == ROUTES_LEAST && routes_limit(0) == ROUTES_MAX &&
	    routes_limit(100 * ROUTES_BYTES) == 100,
	    "the memory determines how many workers may be known");
	for (uint32_t w = 0; w < r.route.most; w++)
		note_packet(&r, (uint16_t)(w % 3), w, (uint16_t)(1000 + w),
		    (10 + w) * tick);
	note_packet(&r, 0, 0, 1000, 100 * tick);
	note_packet(&r, 1, 100, 9, 120 * tick);
	ok(is_at(&r, 1, 100, 120 * tick, 9) && is_at(&r, 0, 0, 120 * tick,
	    1000) && is_at(&r, 1, 1, 120 * tick, 0) &&
	    routes_count(&r) == ROUTES_LEAST,
	    "if there is no more room, the route that was silent longest is "
	    "replaced");
	for (uint32_t w = 2; w < r.route.most; w += 2)
		note_packet(&r, (uint16_t)(w % 3), w, (uint16_t)(2000 + w),
		    minute + 9 * tick);
	note_packet(&r, 1, 200, 9, minute + 130 * tick);
	for (uint32_t w = 2; w < r.route.most; w++)
		same = same && is_at(&r, (uint16_t)(w % 3), w, minute +
		    130 * tick, w % 2 == 0 ? (uint16_t)(2000 + w) : 0);
	ok(same && routes_count(&r) == ROUTES_LEAST / 2,
	    "a route that was silent for a minute is removed first");
	routes_free(&r);
}

/* One packet from an address allows a number of models for all to go there. */
static void
test_credit(void)
{
	struct quota q = quota_of(0, &hashmap_constant);
	union addr a = address_at(9);
	uint32_t n, sent[2] = { 0 };
	uint16_t p[64];
	struct routes r;

	if (!ok(routes_init(&r, 0, &hashmap_constant), "there is room"))
		return;
	a.in.sin_addr.s_addr = htonl(0x0a000001);
	for (int validated = 0; validated < 2; validated++) {
		routes_set_quota(&r, &q, validated == 1);
		routes_note(&r, 1, 1, &a, 10);
		for (int k = 0; k < 1000; k++, routes_use_credit(&r, 1))
			sent[validated] += list_addresses(&r, 1, 10, p);
	}
	ok(sent[0] == ROUTES_CREDIT && sent[1] == 1000,
	    "one packet allows %u models to a silent address, and all to an "
	    "address that answers", sent[0]);
	routes_set_quota(&r, &q, false);
	note_packet(&r, 1, 2, 8, 10);
	for (int k = 0; k < 1000; k++)
		routes_note(&r, 1, 1, &a, 10);
	for (n = 0; list_addresses(&r, 1, 10, p) == 2 && n < 10000; n++)
		routes_use_credit(&r, 1);
	ok(n == ROUTES_CREDIT_MOST, "the number of models that can be saved up "
	    "is limited");
	ok(list_addresses(&r, 1, 10, p) == 1 && p[0] == 8,
	    "loopback has no limit");
	routes_free(&r);
	quota_free(&q);
}

/* An address other than loopback gets at most 64 routes. */
static void
test_quotas(void)
{
	struct quota q = quota_of(0, &hashmap_constant);
	union addr a = address_at(9);
	bool all = true;
	struct routes r;

	if (!ok(routes_init(&r, 0, &hashmap_constant), "there is room"))
		return;
	r.quota = &q;
	a.in.sin_addr.s_addr = htonl(0x0a000001);
	for (uint32_t w = 0; w < 64; w++)
		all = all && routes_note(&r, (uint16_t)w, w, &a, 10);
	ok(all && !routes_note(&r, 1, 100, &a, 10) && routes_count(&r) == 64,
	    "an address has 64 routes in all clusters together");
	ok(routes_note(&r, 5, 5, &a, 11), "an address keeps the routes that it "
	    "has");
	a.in.sin_addr.s_addr = htonl(0x0a000002);
	ok(routes_note(&r, 1, 100, &a, 11) && routes_note(&r, 2, 2, &a, 12),
	    "another address has its own routes, and may take one over");
	a.in.sin_addr.s_addr = htonl(0x0a000001);
	ok(routes_note(&r, 1, 101, &a, 12) && !routes_note(&r, 1, 102, &a, 12),
	    "a route that was taken over makes room");
	ok(routes_note(&r, 1, 102, &a, 13 + ROUTES_KEEP_NS),
	    "routes that expired make room");
	routes_free(&r);
	ok(q.host.rows.count > 0, "an address with a route has a row");
	quota_free(&q);
}

/* A million forged workers fit a table of fixed size, with few steps. */
static void
test_flood(void)
{
	struct routes r;
	uint32_t next = 0, n = 0;

	if (!ok(routes_init(&r, 20000 * ROUTES_BYTES, &hashmap_constant),
	    "there is room for 20,000"))
		return;
	for (uint32_t w = 0; w < 1000000; w++)
		note_packet(&r, (uint16_t)w, w, (uint16_t)(w % 7 + 1), w);
	ok(routes_count(&r) == 20000 && r.route.room <= 65536 &&
	    r.place.room <= 65536, "1,000,000 workers need 20,000 rows");
	routes_free(&r);
	if (!routes_init(&r, 0, &hashmap_constant))
		return;
	for (uint32_t w = 0; w < 100000; w++)
		note_packet(&r, 1, w, (uint16_t)(w % 60000 + 1), 1);
	while (routes_next_address(&r, 1, 1, &next) != NULL)
		n++;
	ok(n == 60000, "100,000 workers at 60,000 addresses: %u addresses, "
	    "with one step each", n);
	routes_free(&r);
}

/* Compare random packets with an array of the last packet of each worker. */
static bool
test_twin(uint64_t seed)
{
	enum { CLUSTERS = 3, WORKERS = 12, PORTS = 6 };
	struct { uint64_t heard; uint16_t port; } last[CLUSTERS][WORKERS] = {
	    { { 0 } } };
	struct rng rng = rng_seed(seed);
	uint64_t now = 1;
	struct routes r;
	bool same = routes_init(&r, 0, &hashmap_constant);

	for (int i = 0; i < 300 && same; i++) {
		uint16_t c = (uint16_t)rng_below(&rng, CLUSTERS), got[64];
		uint32_t w = (uint32_t)rng_below(&rng, WORKERS), n, want = 0;
		bool in[PORTS + 1] = { false };

		now += rng_below(&rng, ROUTES_KEEP_NS / 5);
		last[c][w].heard = now;
		last[c][w].port = (uint16_t)(1 + rng_below(&rng, PORTS));
		note_packet(&r, c, w, last[c][w].port, now);
		if (rng_below(&rng, 7) == 0)
			routes_expire(&r, now);
		if (rng_below(&rng, 9) == 0)	/* one worker moves often */
			note_packet(
			    &r, 7, 1, (uint16_t)rng_below(&rng, 9), now);
		c = (uint16_t)rng_below(&rng, CLUSTERS);
		for (w = 0; w < WORKERS; w++) {
			bool fresh = last[c][w].port != 0 &&
			    last[c][w].heard + ROUTES_KEEP_NS >= now;

			same = same && is_at(&r, c, w, now,
			    fresh ? last[c][w].port : 0);
			want += fresh && !in[last[c][w].port];
			in[last[c][w].port] |= fresh;
		}
		n = list_addresses(&r, c, now, got);
		same = same && n == want;
		for (uint32_t k = 0; k < n && same; k++) {
			same = in[got[k]];
			in[got[k]] = false;
		}
	}
	routes_free(&r);
	return same;
}

int
main(void)
{
	bool same = true;

	test_rules();
	test_room();
	test_credit();
	test_quotas();
	test_flood();
	for (uint64_t seed = 0; seed < 100; seed++)
		same = same && test_twin(seed);
	ok(same, "100 random crowds agree with an array of last packets");
	return tap_end();
}
