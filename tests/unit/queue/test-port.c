/*
 * Test features of the port that test-twin.c and test-olaf-queue.c do not
 * cover: a late driver, regular frames, the status, vectors cut in other ways,
 * updates that stay queued, and several destinations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/queue/port.h"
#include "tests/unit/tap.h"

enum { FRAME = 100, TIME = 100, MOST = 12 };	/* bytes, ns a frame */

static void
make_port(struct port *e, enum port_queue queue, uint32_t slots)
{
	const struct port_conf cf = { .queue = queue, .slots = slots,
	    .rate_bps = 8000000000u, .threshold = NAN,
	    .active_window_ns = 1000 };

	if (!port_init(e, &cf))
		abort();
}

static uint64_t mismatched;	/* so far */
static uint32_t destination;	/* number of the next update's destination */

/* Make a packet with n elements of the vector of cluster c. */
static bool
cut_update(struct port *e, uint16_t c, uint32_t elements, uint32_t n,
    uint16_t following, uint64_t now_ns)
{
	static uint32_t sequence;
	enum port_verdict v;
	uint8_t bytes[UPDATE_HEADER_BYTES + 4 * MOST] = { 0 };
	struct arrival a = { .bytes = bytes, .wire_bytes = FRAME,
	    .have = UPDATE_HEADER_BYTES + 4 * n, .is_update = true,
	    .destination = destination };
	struct update u = { .kind = UPDATE_UPDATE, .cluster = c,
	    .worker = sequence, .sequence = sequence, .merged = 1,
	    .following = following, .elements = elements };

	sequence++;
	update_put(bytes, &u);
	a.up = &u;
	if (update_parse(bytes, a.have, &u) != UPDATE_OK)
		return false;
	v = port_offer(e, &a, now_ns);
	mismatched += v == PORT_MISMATCHED;
	return v == PORT_TAKEN;
}

static void
make_update(struct port *e, uint16_t c, uint64_t now_ns)
{
	cut_update(e, c, 1, 1, 0, now_ns);
}

static void
make_regular(struct port *e, uint64_t now_ns)
{
	const uint8_t byte = 0x55;
	const struct arrival a = { .bytes = &byte, .have = 1,
	    .framed = true, .wire_bytes = FRAME };

	port_offer_plain(e, &a, now_ns);
}

static bool
head_is(const struct port *e, uint16_t cluster, uint64_t due)
{
	const struct slot *s = port_head(e);

	return s != NULL && s->is_update && s->up.cluster == cluster &&
	    port_deadline_ns(e) == due;
}

static void
test_late_pop(enum port_queue queue, const char *name)
{
	struct port e;

	make_port(&e, queue, 4);
	ok(port_deadline_ns(&e) == PORT_NEVER && port_head(&e) == NULL,
	    "%s: an empty port has no deadline", name);
	for (uint16_t c = 1; c <= 3; c++)
		make_update(&e, c, 1000);
	ok(head_is(&e, 1, 1000 + TIME), "the first frame leaves after its "
	    "time");
	port_pop(&e);		/* at any time, because the port does not learn
				 * it */
	ok(head_is(&e, 2, 1000 + 2 * TIME), "the next frame leaves on the "
	    "schedule of the link, even if the driver was late");
	port_pop(&e);
	make_update(&e, 4, 1000 + 2 * TIME + 50);
	ok(head_is(&e, 3, 1000 + 3 * TIME),
	    "an arrival meanwhile does not change that");
	port_pop(&e);
	ok(head_is(&e, 4, 1000 + 4 * TIME), "the arrival itself follows the "
	    "schedule too");
	port_pop(&e);
	make_update(&e, 5, 1000 + 4 * TIME - 1);
	ok(head_is(&e, 5, 1000 + 5 * TIME),
	    "a frame that arrives before the link is free waits for it");
	port_pop(&e);
	make_update(&e, 6, 5000);
	ok(head_is(&e, 6, 5000 + TIME), "after a pause a frame starts on "
	    "arrival");
	port_free(&e);
}

static void
test_regular(void)
{
	struct port e;

	make_port(&e, PORT_OLAF, 3);
	make_regular(&e, 0);
	make_update(&e, 1, 0);
	make_update(&e, 1, 0);
	ok(port_deadline_ns(&e) == TIME && !port_head(&e)->is_update &&
	    e.slots.count == 2, "a regular frame needs a slot and time on the "
	    "link, and updates behind it merge");
	make_regular(&e, 1);
	make_regular(&e, 2);
	ok(e.n[PORT_REGULAR].dropped == 1 && e.slots.count == 3,
	    "without a free slot a regular frame is dropped");
	make_update(&e, 2, 3);
	ok(e.updates->tally.all.of[TALLY_DROPPED_FULL].packets == 1,
	    "without a free slot an update is dropped, because regular frames "
	    "use slots");
	port_pop(&e);
	ok(e.n[PORT_REGULAR].sent == 1 && head_is(&e, 1, 2 * TIME) &&
	    port_head(&e)->up.merged == 2, "a regular frame leaves in its "
	    "turn");
	port_pop(&e);
	ok(!port_head(&e)->is_update && port_deadline_ns(&e) == 3 * TIME,
	    "a regular frame never changes its place");
	port_count_queued(&e);
	ok(e.updates->tally.all.of[TALLY_QUEUED].packets == 0 &&
	    tally_is_conserved(&e.updates->tally.all),
	    "regular frames are not in the tally of updates");
	port_pop(&e);
	ok(e.n[PORT_REGULAR].sent == 2 && port_deadline_ns(&e) == PORT_NEVER,
	    "regular frames are counted separately");
	port_free(&e);
}

static void
test_queued(enum port_queue queue, uint64_t packets)
{
	struct port e;
	const struct tally_count *q;

	make_port(&e, queue, 8);
	for (uint64_t i = 0; i < 7; i++)
		make_update(&e, (uint16_t)(i % 2), i);
	port_pop(&e);
	make_regular(&e, 50);
	port_count_queued(&e);
	q = &e.updates->tally.all.of[TALLY_QUEUED];
	ok(q->packets == packets && q->constituents == 6 &&
	    tally_is_conserved(&e.updates->tally.all) &&
	    tally_is_conserved(&e.updates->tally.cluster[0]) &&
	    e.updates->tally.cluster[1].of[TALLY_QUEUED].constituents == 3,
	    "updates that stay, with the locked one, count as queued once: "
	    "%llu packets", (unsigned long long)packets);
	port_free(&e);
}

static bool
status_is(struct port *e, uint64_t now_ns, uint32_t qn, uint32_t n,
    uint32_t qmax)
{
	const struct update_status s = port_status(e, now_ns);

	return s.filled && s.occupancy == qn && s.active == n &&
	    s.capacity == qmax && s.full == (qn == e->slots.size);
}

static void
test_status(void)
{
	struct port e;

	make_port(&e, PORT_OLAF, 2);
	ok(status_is(&e, 0, 0, 0, 2), "the status of an empty port has no "
	    "cluster and no frame");
	make_update(&e, 1, 1000);
	ok(status_is(&e, 1000, 1, 1, 2), "the locked frame counts in the "
	    "status");
	make_update(&e, 1, 1010);
	make_update(&e, 1, 1020);
	ok(status_is(&e, 1020, 2, 1, 2), "one cluster can fill both slots");
	make_update(&e, 2, 1030);
	ok(status_is(&e, 1030, 2, 2, 2),
	    "a cluster whose update was dropped is active");
	port_pop(&e);
	ok(status_is(&e, 2020, 1, 2, 2), "a cluster is active until its last "
	    "update is a window ago");
	ok(status_is(&e, 2021, 1, 1, 2), "after that it is not active");
	ok(status_is(&e, 2031, 1, 0, 2), "a frame can stay longer than its "
	    "cluster is active");
	port_free(&e);
	make_port(&e, PORT_FIFO, 65535);
	ok(status_is(&e, 0, 0, 0, 65535), "the status can have 65,535 slots");
	port_free(&e);
	make_port(&e, PORT_FIFO, 65536);
	ok(status_is(&e, 0, 0, 0, 65535), "a port with more slots has 65,535 "
	    "in its status");
	port_free(&e);
}

/*
 * Does a length n of packets exist that gives such a packet of `elements`
 * elements?
 */
static bool
tally_has(uint32_t elements, uint32_t n, uint32_t len, uint32_t following)
{
	uint32_t packets = update_packets(elements, n);

	return following < packets && len == (following > 0 ? n :
	    elements - (packets - 1) * n);
}

/*
 * Packets of random lengths arrive, any one first.  The port accepts a packet
 * if and only if some length fits all accepted packets and this one.
 */
static bool
test_shapes_twin(uint32_t elements, uint64_t seed)
{
	struct port e;
	struct rng r = rng_seed(seed);
	bool can[MOST + 1], same = true;
	uint64_t ignored = 0;

	make_port(&e, PORT_FIFO, 1);
	mismatched = 0;
	memset(can, true, sizeof(can));
	for (int i = 0; i < 20 && same; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&r, elements);
		uint32_t packets = update_packets(elements, n);
		uint32_t f = (uint32_t)rng_below(&r, packets);
		uint32_t len = f > 0 ? n : elements - (packets - 1) * n;
		bool fits = false;

		for (uint32_t k = 1; k <= elements; k++)
			fits =
			    fits || (can[k] && tally_has(elements, k, len, f));
		for (uint32_t k = 1; k <= elements && fits; k++)
			can[k] = can[k] && tally_has(elements, k, len, f);
		same = cut_update(&e, 3, elements, len, (uint16_t)f, 0) == fits;
		ignored += !fits;
		same = same && mismatched == ignored &&
		    !cut_update(&e, 3, elements + 1, 1, 1, 0);
		ignored++;
	}
	port_free(&e);
	return same;
}

static void
test_shapes(void)
{
	struct port e;
	bool same = true;

	make_port(&e, PORT_OLAF, 8);
	mismatched = 0;
	ok(cut_update(&e, 1, 10, 1, 0, 0), "the last packet of a vector may "
	    "arrive first");
	ok(!cut_update(&e, 1, 10, 2, 0, 0),
	    "a last packet of another length does not match");
	ok(!cut_update(&e, 1, 10, 4, 1, 0),
	    "a packet whose length does not fit the last packet does not "
	    "match");
	ok(!cut_update(&e, 1, 10, 10, 0, 0), "a vector in one packet does not "
	    "match");
	ok(!cut_update(&e, 1, 11, 1, 0, 0), "a packet of a longer vector does "
	    "not match");
	ok(cut_update(&e, 1, 10, 3, 2, 0) && !cut_update(&e, 1, 10, 9, 1, 0),
	    "once the length of a packet is known, no other length matches");
	ok(cut_update(&e, 2, 11, 11, 0, 0),
	    "another cluster may have other lengths");
	ok(mismatched == 5 &&
	    e.updates->tally.all.of[TALLY_ARRIVED].packets == 3,
	    "a packet that does not match is ignored and does not count as "
	    "arrived");
	port_free(&e);
	for (uint32_t n = 1; n < MOST; n++) {
		for (uint64_t seed = 0; seed < 10; seed++)
			same = same && test_shapes_twin(n, seed);
	}
	ok(same, "random packets of 1 to %d elements, in any order, agree with "
	    "a search of all lengths", MOST - 1);
}

static void
test_impossible(void)
{
	struct port e;

	make_port(&e, PORT_OLAF, 8);
	mismatched = 0;
	ok(!cut_update(&e, 1, 10, 6, 0, 0),
	    "a last packet that is longer than the others does not match");
	ok(cut_update(&e, 1, 10, 5, 0, 0) && cut_update(&e, 1, 10, 5, 1, 0),
	    "it does not affect the packets that match");
	ok(mismatched == 1, "the packet that does not match is counted");
	port_free(&e);
}

/* Return the number of 10.0.0.host or fd00::host at a port, in a VLAN. */
static uint32_t
number_of(struct port *e, const char *host, const char *udp_port, uint64_t vlan)
{
	union addr to;

	return addr_parse(host, udp_port, &to) == NULL ?
	    port_find_destination(e, &to, vlan) : DESTINATIONS_NONE;
}

static void
test_destinations(void)
{
	struct port e;
	uint32_t a, b;
	union addr to = { .in.sin_family = AF_INET };
	bool fresh = true;

	make_port(&e, PORT_OLAF, 8);
	a = number_of(&e, "10.0.0.1", "9", 0);
	b = number_of(&e, "10.0.0.2", "9", 0);
	ok(a == 0 && b != a && number_of(&e, "10.0.0.1", "8", 0) > b &&
	    number_of(&e, "10.0.0.1", "9", 1) > b &&
	    number_of(&e, "10.0.0.1", "9", 2) > b &&
	    number_of(&e, "[::10.0.0.1]", "9", 0) > b &&
	    number_of(&e, "10.0.0.2", "9", 0) == b &&
	    number_of(&e, "10.0.0.1", "9", 0) == a,
	    "address, UDP port, family and VLAN make a destination");
	make_update(&e, 7, 0);		/* in transmission */
	for (int i = 0; i < 6; i++) {
		destination = i % 2 == 0 ? a : b;
		make_update(&e, 1, 1);
	}
	ok(e.slots.count == 3 && e.slots.ring[1].up.merged == 3 &&
	    e.slots.ring[1].destination == a &&
	    e.slots.ring[2].up.merged == 3 && e.slots.ring[2].destination == b,
	    "updates of a cluster to two destinations wait separately");
	ok(status_is(&e, 1, 3, 3, 8), "each destination of a cluster counts as "
	    "an active cluster");
	port_pop(&e);
	destination = b;
	make_update(&e, 1, 2);
	destination = a;
	make_update(&e, 1, 2);
	ok(e.slots.count == 3 && e.slots.ring[2].up.merged == 4 &&
	    slots_head(&e.slots)->up.merged == 3,
	    "when the update to one destination is locked, the other can still "
	    "merge");
	mismatched = 0;
	destination = b;
	ok(cut_update(&e, 5, 2, 2, 0, 3), "a vector to one destination has two "
	    "elements");
	destination = a;
	ok(cut_update(&e, 5, 3, 3, 0, 3) && mismatched == 0,
	    "a vector to the other destination has three elements, and each "
	    "has its own lengths");
	destination = b;
	ok(!cut_update(&e, 5, 3, 3, 0, 3) && mismatched == 1,
	    "the lengths hold for later updates to the same destination");
	for (uint32_t i = 0; i < 2 * DESTINATIONS_MOST; i++) {
		to.in.sin_addr.s_addr = htonl(0x0b000000 + i);
		fresh = port_find_destination(&e, &to, 0) > b && fresh;
		fresh = fresh && number_of(&e, "10.0.0.1", "9", 0) == a;
	}
	ok(fresh, "destinations of unknown hosts get unused numbers");
	ok(number_of(&e, "10.0.0.1", "9", 0) == a &&
	    number_of(&e, "10.0.0.2", "9", 0) > b &&
	    e.updates->destinations.rows.count == DESTINATIONS_MOST,
	    "a destination in use keeps its number, and a forgotten one gets "
	    "another");
	destination = 0;
	port_free(&e);
}

int
main(void)
{
	test_late_pop(PORT_OLAF, "olaf");
	test_late_pop(PORT_FIFO, "fifo");
	test_regular();
	test_queued(PORT_OLAF, 2);
	test_queued(PORT_FIFO, 6);
	test_status();
	test_shapes();
	test_impossible();
	test_destinations();
	return tap_end();
}
