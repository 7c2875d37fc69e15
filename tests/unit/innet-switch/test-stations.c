/* Test stations.h: the port behind which a host is, and how it is reached. */
#include "cmd/innet-switch/inpath/stations.h"

#include "tests/unit/tap.h"

static union addr
make_host(uint32_t ip, uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr = { htonl(ip) } } };
}

static void
test_ports(void)
{
	static const uint8_t a[6] = { 2, 0, 0, 0, 0, 1 },
	    group[6] = { 1, 0, 94, 0, 0, 1 };
	struct stations s = { .n = 0 };

	ok(stations_find_port(&s, a) == STATIONS_NOWHERE,
	    "an unknown address has no port");
	stations_set_port(&s, a, 3);
	stations_set_port(&s, group, 3);
	ok(stations_find_port(&s, a) == 3 && stations_find_port(&s, group) ==
	    STATIONS_NOWHERE, "a known address has a port, and a group address "
	    "never has one");
	stations_set_port(&s, a, 4);
	stations_forget_port(&s, a, 3);
	ok(stations_find_port(&s, a) == 4,
	    "an address that moved is found where it was seen last, also if "
	    "another is forgotten");
	stations_forget_port(&s, a, 4);
	ok(stations_find_port(&s, a) == STATIONS_NOWHERE,
	    "an address can be removed");
	stations_free(&s);
}

static void
test_hosts(void)
{
	struct stations s = { .n = 0 };
	union addr h = make_host(0x0a000001, 9),
		   other = make_host(0x0a000001, 10);
	struct station_at at = { .mac = { 2, 0, 0, 0, 0, 1 } };
	bool good = true;

	stations_set_host(&s, &h, &at);
	ok(stations_find_host(&s, &other) != NULL && s.n == 1,
	    "a host has one entry for all its UDP ports");
	at.mac[5] = 2;
	at.vlan = 7;
	stations_set_host(&s, &other, &at);
	ok(s.n == 1 && stations_find_host(&s, &h)->at.mac[5] == 2 &&
		stations_find_host(&s, &h)->at.vlan == 7,
	    "the newest entry of a host counts");
	for (uint32_t i = 0; i < 1000; i++) {
		h = make_host(0x0b000000 + i, 1);
		at.vlan = (uint16_t)i;
		stations_set_host(&s, &h, &at);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		h = make_host(0x0b000000 + i, 2);
		good = good && stations_find_host(&s, &h) != NULL &&
		    stations_find_host(&s, &h)->at.vlan == i;
	}
	ok(good, "each of a thousand hosts is found");
	stations_free(&s);
}

/* Invented addresses need only the memory of the table. */
static void
test_strangers(void)
{
	struct stations s = { .n = 0 };
	struct station_at at = { .vlan = 0 };
	uint8_t mac[6] = { 2 };
	bool good = true;

	for (uint32_t i = 0; i < 3 * STATIONS_MAX; i++) {
		const union addr h = make_host(i + 1, 1);

		memcpy(mac + 1, &i, 4);
		stations_set_port(&s, mac, 1);
		stations_set_host(&s, &h, &at);
		good = good && stations_find_port(&s, mac) == 1 &&
		    stations_find_host(&s, &h) != NULL;
	}
	ok(good && s.forgot && s.n <= STATIONS_MAX &&
	    s.port_of.count <= STATIONS_MAX,
	    "if invented addresses fill the table, it starts again");
	stations_free(&s);
}

int
main(void)
{
	test_ports();
	test_hosts();
	test_strangers();
	return tap_end();
}
