/*
 * Test addresses: reading the printed form gives the same address, and invalid
 * ones are refused.
 */
#include "common/wire/networks.h"
#include "tests/unit/tap.h"

static void
check_parse(const char *s, const char *want)
{
	char name[ADDR_NAME_BYTES];
	union addr a;
	const char *why = addr_parse(s, "46638", &a);

	if (!ok(why == NULL && strcmp(addr_print(&a, name), want) == 0,
	    "'%s' is %s", s, want))
		note("%s", why == NULL ? name : why);
}

static void
check_error(const char *s, const char *want)
{
	union addr a;
	const char *why = addr_parse(s, "46638", &a);

	if (!ok(why != NULL && strcmp(why, want) == 0, "'%.40s' is refused: "
	    "%s", s, want))
		note("%s", why == NULL ? "read" : why);
}

static bool
same_address(const char *s, const char *t)
{
	union addr a, b;

	/* fields that a comparison must ignore differ */
	memset(&a, 0x55, sizeof(a));
	memset(&b, 0xaa, sizeof(b));
	return addr_parse(s, "1", &a) == NULL &&
	    addr_parse(t, "1", &b) == NULL && addr_same(&a, &b) &&
	    addr_same(&b, &a);
}

/* Does the list have the address? */
static bool
list_allows(const char *list, const char *address)
{
	struct networks ns = { 0 };
	union addr a;

	return networks_parse(&ns, list) == NULL && addr_parse(address, "1",
	    &a) == NULL && networks_allow(&ns, &a);
}

static void
check_networks(void)
{
	struct networks none = { 0 };
	union addr a;

	ok(addr_parse("192.0.2.7", "1", &a) == NULL && networks_allow(&none,
	    &a), "without networks every address is allowed");
	ok(list_allows("192.0.2.0/24", "192.0.2.255") &&
		!list_allows("192.0.2.0/24", "192.0.3.0"),
	    "a network ends where its prefix ends");
	ok(list_allows("192.0.2.128/25", "192.0.2.128") &&
		!list_allows("192.0.2.128/25", "192.0.2.127"),
	    "a network can end within a byte");
	ok(list_allows("192.0.2.7", "192.0.2.7:9") && !list_allows("192.0.2.7",
	    "192.0.2.6"), "an address is a network of one host, whatever the "
	    "port");
	ok(list_allows("0.0.0.0/0", "203.0.113.1") && !list_allows("0.0.0.0/0",
	    "[::1]"), "a network of IPv4 has no address of IPv6");
	ok(list_allows("::/0", "[2001:db8::1]") && list_allows("2001:db8::/33",
	    "[2001:db8:7fff::]") && !list_allows("2001:db8::/33",
	    "[2001:db8:8000::]"), "IPv6 networks have their own prefixes");
	ok(list_allows("10.0.0.0/8,::1", "[::1]"),
	    "an address is allowed if one of several networks has it");
	ok(networks_parse(&none, "10.0.0.0/8/8") != NULL &&
	    networks_parse(&none, "10.0.0.0/08x") != NULL &&
	    networks_parse(&none, "10.0.0/8") != NULL && none.n == 0,
	    "an invalid network is refused");
}

int
main(void)
{
	char longest[300], name[ADDR_NAME_BYTES];
	union addr a = { 0 };

	check_parse("127.0.0.1:9000", "127.0.0.1:9000");
	check_parse("127.0.0.1", "127.0.0.1:46638");
	check_parse(":9000", "127.0.0.1:9000");
	check_parse("", "127.0.0.1:46638");
	check_parse("255.255.255.255:0", "255.255.255.255:0");
	check_parse("0.0.0.0:65535", "0.0.0.0:65535");
	check_parse("[::1]:9000", "[::1]:9000");
	check_parse("[::1]", "[::1]:46638");
	check_parse("[2001:db8::ffff]:1", "[2001:db8::ffff]:1");
	check_error("127.0.0.1:65536", "not HOST:PORT");
	check_error("127.0.0.1:000080", "not HOST:PORT");
	check_error("127.0.0.1:", "not HOST:PORT");
	check_error("127.0.0.1:-1", "not HOST:PORT");
	check_error("127.0.0.1:http", "not HOST:PORT");
	check_error("[::1", "not [ADDRESS]:PORT");
	check_error("[::1]9000", "not [ADDRESS]:PORT");
	check_error("[::1]:", "not HOST:PORT");
	memset(longest, '1', sizeof(longest));
	longest[256] = '\0';
	check_error(longest, "host name too long");
	ok(addr_parse("127.0.0.1:80x", "1", &a) != NULL,
	    "a port with a letter after it is refused");

	ok(same_address("127.0.0.1:5", ":5"),
	    "two spellings of an address are equal");
	ok(!same_address("127.0.0.1:5", "127.0.0.1:6"),
	    "addresses with different ports differ");
	ok(!same_address("127.0.0.1:5", "127.0.0.2:5"),
	    "addresses with different hosts differ");
	ok(same_address("[::1]:5", "[0:0::1]:5"),
	    "two spellings of an IPv6 address are equal");
	ok(!same_address("[::1]:5", "[::2]:5"), "IPv6 addresses can differ in "
	    "their last byte");
	ok(!same_address("[::]:5", "0.0.0.0:5"),
	    "addresses of different families differ");

	a.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
	    .sin6_port = htons(65535) };
	memset(&a.in6.sin6_addr, 0xff, 16);
	ok(strcmp(addr_print(&a, name),
	    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535") == 0,
	    "a name has room for the longest address");
	ok(addr_len(&a) == sizeof(a.in6) && addr_port(&a) == 65535,
	    "an IPv6 address has its own length, and its port is in host byte "
	    "order");
	a.in = (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons(1) };
	ok(addr_len(&a) == sizeof(a.in) && addr_port(&a) == 1,
	    "an IPv4 address has its own length");
	check_networks();
	return tap_end();
}
