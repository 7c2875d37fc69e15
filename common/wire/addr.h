/* addr.h - read, print and compare UDP addresses */
#ifndef INNET_WIRE_ADDR_H
#define INNET_WIRE_ADDR_H

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/hashmap.h"

enum { ADDR_NAME_BYTES = INET6_ADDRSTRLEN + 10 };

/*
 * A UDP address.  The member words[] makes the size of the union a multiple of
 * a register's size, so that a copy does not consist of overlapping parts.  A
 * processor is slow at reading a value that was written in overlapping parts.
 * For IPv4, words[0] contains the family, the port and the address.
 */
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint64_t words[4];
};
static_assert(offsetof(struct sockaddr_in, sin_addr) == 4,
    "family, port and address are a word");

/*
 * Read an address in one of the forms HOST:PORT, [V6]:PORT, HOST or :PORT.  The
 * form :PORT means 127.0.0.1:PORT.  Returns NULL or an error message.
 */
static inline const char *addr_parse(const char *s, const char *default_port,
    union addr *a);

/*
 * Write an address such as "127.0.0.1:46638" or "[::1]:46638" to `name` and
 * return `name`.
 */
static inline const char *addr_print(const union addr *a,
    char name[ADDR_NAME_BYTES]);

/* Return the length of the socket address, in bytes. */
static inline socklen_t addr_len(const union addr *a);

/* Return the port, in host order. */
static inline uint16_t addr_port(const union addr *a);

/* Do a and b have the same address and the same port? */
static inline bool addr_same(const union addr *a, const union addr *b);

/* Do a and b have the same address, whatever their ports are? */
static inline bool addr_same_host(const union addr *a, const union addr *b);

/*
 * Compare two addresses for sorting: IPv4 comes before IPv6, then by address in
 * network order, then by port.
 */
static inline int addr_compare(const union addr *a, const union addr *b);

/* Is `a` a loopback address? */
static inline bool addr_is_loopback(const union addr *a);

/* Is `a` a multicast address? */
static inline bool addr_is_group(const union addr *a);

/*
 * Store the IP address in `a`, without the port, as the 16 bytes of an IPv6
 * address.  An IPv4 address is mapped to IPv6.
 */
static inline void addr_bytes(const union addr *a, uint8_t to[16]);

/*
 * Return the address that addr_bytes() stored at `from`, with the port `port`.
 */
static inline union addr addr_of_bytes(const uint8_t from[16], uint16_t port);

/*
 * Return a key for hash tables, made from an address and its port.  Equal
 * addresses have equal keys.  Different IPv4 addresses have different keys.  An
 * attacker who does not know the multiplier cannot choose IPv6 addresses with
 * equal keys.
 */
static inline uint64_t addr_key(const union addr *a,
    const struct hashmap_multiplier *multiplier);

/*
 * Return a key for hash tables, made from an address and a VLAN.  An attacker
 * who does not know the multiplier cannot choose addresses and VLANs with equal
 * keys.
 */
static inline uint64_t addr_vlan_key(const union addr *a, uint64_t vlan,
    const struct hashmap_multiplier *multiplier);

/* implementation */

static inline socklen_t
addr_len(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

static inline uint16_t
addr_port(const union addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port :
	    a->in.sin_port);
}

/*
 * Do the work of addr_same() for IPv6.  This is a separate function so that the
 * test of IPv4 can be inlined.
 */
__attribute__((noinline, unused)) static bool
addr_same_v6(const union addr *a, const union addr *b)
{
	return b->sa.sa_family == AF_INET6 && a->in6.sin6_port ==
	    b->in6.sin6_port && memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr,
	    16) == 0;
}

static inline bool
addr_same(const union addr *a, const union addr *b)
{
	return a->sa.sa_family != AF_INET6 ? a->words[0] == b->words[0] :
	    addr_same_v6(a, b);
}

static inline bool
addr_same_host(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET6)
		return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16) == 0;
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

static inline int
addr_compare(const union addr *a, const union addr *b)
{
	const bool v6 = a->sa.sa_family == AF_INET6;
	int c;

	if (v6 != (b->sa.sa_family == AF_INET6))
		return v6 ? 1 : -1;
	if (v6)
		c = memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16);
	else
		c = memcmp(&a->in.sin_addr, &b->in.sin_addr, 4);
	return c != 0 ? c : (int)addr_port(a) - (int)addr_port(b);
}

static inline bool
addr_is_loopback(const union addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
	return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
}

static inline void
addr_bytes(const union addr *a, uint8_t to[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	if (a->sa.sa_family == AF_INET6) {
		memcpy(to, &a->in6.sin6_addr, 16);
	} else {
		memcpy(to, mapped, 12);
		memcpy(to + 12, &a->in.sin_addr, 4);
	}
}

static inline union addr
addr_of_bytes(const uint8_t from[16], uint16_t port)
{
	union addr a = { .in6 = { .sin6_family = AF_INET6,
	    .sin6_port = htons(port) } };

	memcpy(&a.in6.sin6_addr, from, 16);
	if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
		a = (union addr){ .in = { .sin_family = AF_INET,
		    .sin_port = htons(port) } };
		memcpy(&a.in.sin_addr, from + 12, 4);
	}
	return a;
}

static inline uint64_t
addr_key(const union addr *a, const struct hashmap_multiplier *multiplier)
{
	unsigned __int128 product;
	uint64_t half[2];

	if (a->sa.sa_family != AF_INET6)
		return (uint64_t)ntohl(a->in.sin_addr.s_addr) << 16 |
		    addr_port(a);
	memcpy(half, &a->in6.sin6_addr, sizeof(half));
	product = (unsigned __int128)(half[0] ^ multiplier->high ^
	    0x9e3779b97f4a7c15) *
	    (half[1] ^ multiplier->low ^ 0xd6e8feb86659fd93);
	half[0] = (uint64_t)(product >> 64) ^ (uint64_t)product;
	return half[0] * 0x9e3779b97f4a7c15 + addr_port(a);
}

static inline uint64_t
addr_vlan_key(const union addr *a, uint64_t vlan,
    const struct hashmap_multiplier *multiplier)
{
	const unsigned __int128 product = (unsigned __int128)(
	    addr_key(a, multiplier) ^ multiplier->high ^ 0x9e3779b97f4a7c15) *
	    (vlan ^ multiplier->low ^ 0xd6e8feb86659fd93);

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline const char *
addr_print(const union addr *a, char name[ADDR_NAME_BYTES])
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool v6 = a->sa.sa_family == AF_INET6;

	inet_ntop(a->sa.sa_family, v6 ? (const void *)&a->in6.sin6_addr :
	    (const void *)&a->in.sin_addr, host, sizeof(host));
	snprintf(name, ADDR_NAME_BYTES, v6 ? "[%s]:%u" : "%s:%u", host,
	    addr_port(a));
	return name;
}

static inline bool
addr_is_group(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ?
	    IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr) :
	    a->sa.sa_family == AF_INET &&
	    IN_MULTICAST(ntohl(a->in.sin_addr.s_addr));
}

static inline const char *
addr_parse(const char *s, const char *default_port, union addr *a)
{
	char host[256] = "127.0.0.1";
	const struct addrinfo want = { .ai_socktype = SOCK_DGRAM };
	const char *colon = strrchr(s, ':'), *port = default_port;
	struct addrinfo *got;
	size_t len = strlen(s);
	int bad;

	if (*s == '[') {
		const char *end = strchr(s, ']');

		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return "not [ADDRESS]:PORT";
		colon = end[1] == ':' ? end + 1 : NULL;
		len = (size_t)(end - ++s);
	} else if (colon != NULL) {
		len = (size_t)(colon - s);
	}
	if (colon != NULL)
		port = colon + 1;
	if (*port < '0' || *port > '9' || strlen(port) > 5 ||
	    strtoul(port, NULL, 10) > 65535)
		return "not HOST:PORT";
	if (len >= sizeof(host))
		return "host name too long";
	if (len > 0) {
		memcpy(host, s, len);
		host[len] = '\0';
		if (strspn(host, "0123456789") == len)
			return "a host is missing; write a port alone as :PORT";
	}
	bad = getaddrinfo(host, port, &want, &got);
	if (bad != 0)
		return gai_strerror(bad);
	memcpy(a, got->ai_addr, got->ai_addrlen);
	freeaddrinfo(got);
	return NULL;
}

#endif
