/* Test the limits for one address and for its network prefix. */
#include "common/auth/quota.h"
#include "tests/unit/tap.h"

static union addr
v4(uint32_t host)
{
	union addr a = { .in = { .sin_family = AF_INET, .sin_port = htons(
	    (uint16_t)host) } };

	a.in.sin_addr.s_addr = htonl(host);
	return a;
}

/* In 2001:db8:0:net::/64. */
static union addr
v6(uint16_t net, uint8_t host)
{
	union addr a = { .in6 = { .sin6_family = AF_INET6 } };
	uint8_t *p = a.in6.sin6_addr.s6_addr;

	memcpy(p, (const uint8_t[]){ 0x20, 1, 0xd, 0xb8 }, 4);
	p[6] = (uint8_t)(net >> 8);
	p[7] = (uint8_t)net;
	p[15] = host;
	return a;
}

/* Charge n addresses from a on; return how many charges each one accepts. */
static unsigned
count_charges(struct quota *q, const union addr *a, enum quota_kind what)
{
	unsigned n = 0;

	while (n < 5000 && quota_charge(q, a, what, 1))
		n++;
	return n;
}

int
main(void)
{
	struct quota q = quota_of(1000, &(struct hashmap_multiplier){ 5, 7 });
	union addr a = v4(0x0a000001), b = v4(0x0a000002), c = v6(1, 1),
	    d = v6(1, 9), far = v4(0x0a000101), own = v4(INADDR_LOOPBACK);
	unsigned net = 64;

	ok(count_charges(&q, &a, QUOTA_MEMBERS) == 64 &&
		count_charges(&q, &a, QUOTA_JOBS) == 4 &&
		count_charges(&q, &a, QUOTA_ROUTES) == 64,
	    "an address may have 64 members, 4 jobs and 64 routes");
	ok(quota_charge(&q, &a, QUOTA_BYTES, 250) && !quota_charge(&q, &a,
	    QUOTA_BYTES, 1), "an address may use a quarter of the memory");
	ok(!quota_charge(&q, &b, QUOTA_BYTES, UINT64_MAX) &&
		quota_charge(&q, &b, QUOTA_BYTES, 250),
	    "another address has its own quota");
	ok(!quota_charge(&q, &(union addr){ .in = v4(0x0a000003).in },
	    QUOTA_BYTES, 1) && quota_charge(&q, &far, QUOTA_BYTES, 250),
	    "a network may use half of the memory, and the next network has "
	    "its own quota");
	for (uint32_t h = 2; h < 40; h++) {
		const union addr next = v4(0x0a000000 + h);

		net += count_charges(&q, &next, QUOTA_MEMBERS);
	}
	ok(net == 1024, "a network may have 1,024 members: %u", net);
	ok(count_charges(&q, &c, QUOTA_MEMBERS) == 64 && !quota_charge(&q, &d,
	    QUOTA_MEMBERS, 1), "a /64 of IPv6 counts as one address");
	ok(count_charges(&q, &own, QUOTA_MEMBERS) == 5000,
	    "loopback has no quota");
	quota_release(&q, &c, QUOTA_MEMBERS, 1);
	ok(quota_charge(&q, &d, QUOTA_MEMBERS, 1) && !quota_charge(&q, &c,
	    QUOTA_MEMBERS, 1), "a quota that was returned can be used again");
	quota_release(&q, &c, QUOTA_MEMBERS, 64);
	ok(lru_find(&q.host.rows, quota_key(&c, false)) == 0,
	    "an address that uses nothing has no row");
	quota_free(&q);
	return tap_end();
}
