/*
 * networks.h - a list of networks, and a test whether an address is in one of
 * these networks
 *
 * A network is written as ADDRESS/BITS or as an address alone, for IPv4 or
 * IPv6.
 */
#ifndef INNET_WIRE_NETWORKS_H
#define INNET_WIRE_NETWORKS_H

#include "common/wire/addr.h"

enum { NETWORKS_MAX = 64, NETWORKS_TEXT_MAX = INET6_ADDRSTRLEN + 4 };

struct networks_one {
	uint8_t base[16];	/* address of the network; an IPv4 address is
				 * mapped to IPv6 */
	unsigned bits;		/* length of the prefix in bits, 0 to 128 */
};

struct networks {
	struct networks_one net[NETWORKS_MAX];
	unsigned n;		/* number of networks in the list; 0: every
				 * address is allowed */
};

/* Is the IPv6 address `at` in the network? */
static inline bool
networks_one_has(const struct networks_one *net, const uint8_t at[16])
{
	const unsigned whole = net->bits / 8, rest = net->bits % 8;

	return memcmp(net->base, at, whole) == 0 && (rest == 0 ||
	    (net->base[whole] ^ at[whole]) >> (8 - rest) == 0);
}

/*
 * Is address `a` in one of the networks?  If the list is empty, the result is
 * true.
 */
static inline bool
networks_allow(const struct networks *ns, const union addr *a)
{
	uint8_t at[16];

	if (ns->n == 0)
		return true;
	addr_bytes(a, at);
	for (unsigned i = 0; i < ns->n; i++) {
		if (networks_one_has(&ns->net[i], at))
			return true;
	}
	return false;
}

/* Are all bits after the prefix 0? */
static inline bool
networks_one_is_plain(const struct networks_one *net)
{
	for (unsigned i = net->bits; i < 128; i++) {
		if ((net->base[i / 8] >> (7 - i % 8) & 1) != 0)
			return false;
	}
	return true;
}

/* Read ADDRESS[/BITS].  Returns NULL or an error message. */
static inline const char *
networks_one_parse(const char *s, struct networks_one *net)
{
	char host[NETWORKS_TEXT_MAX];
	const size_t len = strcspn(s, "/");
	union addr a = { 0 };
	unsigned most = 32;

	if (len >= sizeof(host))
		return "not ADDRESS or ADDRESS/BITS";
	memcpy(host, s, len);
	host[len] = '\0';
	a.sa.sa_family = AF_INET;
	if (inet_pton(AF_INET, host, &a.in.sin_addr) != 1) {
		a.sa.sa_family = AF_INET6;
		most = 128;
		if (inet_pton(AF_INET6, host, &a.in6.sin6_addr) != 1)
			return "not ADDRESS or ADDRESS/BITS";
	}
	addr_bytes(&a, net->base);
	net->bits = most;
	if (s[len] == '/') {
		const char *bits = s + len + 1;
		const size_t digits = strspn(bits, "0123456789");

		if (digits == 0 || digits > 3 || bits[digits] != '\0' ||
		    strtoul(bits, NULL, 10) > most)
			return "the number of bits after / is missing or too "
			    "large";
		net->bits = (unsigned)strtoul(bits, NULL, 10);
	}
	net->bits += 128 - most;
	return networks_one_is_plain(net) ? NULL :
	    "the address has bits set after its prefix";
}

/*
 * Add the networks in a text such as "192.0.2.0/24,::1".  Returns NULL or an
 * error message.
 */
static inline const char *
networks_parse(struct networks *ns, const char *list)
{
	for (const char *p = list; ; p++) {
		char one[NETWORKS_TEXT_MAX + 4];
		const size_t len = strcspn(p, ",");
		const char *why;

		if (len >= sizeof(one))
			return "not ADDRESS or ADDRESS/BITS";
		if (ns->n == NETWORKS_MAX)
			return "more than 64 networks";
		memcpy(one, p, len);
		one[len] = '\0';
		why = networks_one_parse(one, &ns->net[ns->n]);
		if (why != NULL)
			return why;
		ns->n++;
		p += len;
		if (*p == '\0')
			return NULL;
	}
}

#endif
