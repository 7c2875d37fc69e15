/*
 * ports.h - the ports of a switch, and what is behind each
 *
 * Each remote host is behind a port of its own; on loopback, where all hosts
 * are one, each address and UDP port is a host.  A rule gives a host other
 * settings than the rest have, or puts all hosts of a prefix behind one port:
 *
 *	10.0.0.7:rate=20Mbit,queue=olaf		one host
 *	10.0.1.0/24:rate=1G			a port for all of them
 *
 * Of rules that fit the longest prefix wins.  Ports are made when they are
 * first asked for.  Owns them: ports_free().
 */
#ifndef INNET_PLANE_PORTS_H
#define INNET_PLANE_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keymap.h"
#include "common/base/num.h"
#include "common/plane/port.h"
#include "common/wire/addr.h"

enum { PORTS_RULES_MAX = 64, PORTS_NONE = UINT32_MAX };

#define PORTS_RATE_MAX 1000000000000000u

struct ports_rule {
	union addr at;			/* prefix, or host with its port */
	uint8_t bits;			/* that count */
	bool shares;			/* one port for all that fit */
	bool has_rate, has_slots, has_queue;
	struct port_conf conf;
	uint32_t port;			/* of a rule that shares; PORTS_NONE */
};

struct ports_conf {
	struct port_conf all;
	struct ports_rule rule[PORTS_RULES_MAX];
	uint32_t rules;
};

struct ports_place {
	union addr host;
	uint32_t port, next;		/* next: of the same key */
};

struct ports {
	/* borrowed; its rules know their port */
	struct ports_conf *cf;
	struct port **port;
	uint32_t n, room;
	struct ports_place *place;
	uint32_t places, places_room;
	struct keymap by_host;		/* addr_key() -> place */
	uint32_t last;			/* place asked for last, or NONE */
};

static inline struct ports
ports_over(struct ports_conf *cf)
{
	for (uint32_t i = 0; i < cf->rules; i++)
		cf->rule[i].port = PORTS_NONE;
	return (struct ports){ .cf = cf, .last = PORTS_NONE };
}

static inline void
ports_free(struct ports *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		port_free(s->port[i]);
		free(s->port[i]);
	}
	free(s->port);
	free(s->place);
	keymap_free(&s->by_host);
}

/* The host of an address: without its port, but on loopback. */
static inline union addr
ports_host(const union addr *a)
{
	union addr h = *a;

	if (addr_is_loopback(a))
		return h;
	if (a->sa.sa_family == AF_INET6)
		h.in6.sin6_port = 0;
	else
		h.in.sin_port = 0;
	return h;
}

/* One "key=value" of a rule.  NULL, or what is wrong. */
static inline const char *
ports_set(struct ports_rule *r, const char *key, const char *value)
{
	uint64_t v = 0;
	const char *why;

	if (strcmp(key, "rate") == 0) {
		r->has_rate = true;
		return num_rate(value, 1, PORTS_RATE_MAX, &r->conf.rate_bps);
	}
	if (strcmp(key, "slots") == 0) {
		why = num_u64(value, 1, 1u << 24, &v);
		r->conf.slots = (uint32_t)v;
		r->has_slots = true;
		return why;
	}
	if (strcmp(key, "queue") != 0)
		return "not rate=, slots= or queue=";
	r->has_queue = true;
	r->conf.queue = strcmp(value, "olaf") == 0 ? PORT_OLAF : PORT_FIFO;
	return strcmp(value, "olaf") == 0 || strcmp(value, "fifo") == 0 ?
	    NULL : "queue is olaf or fifo";
}

/* Where the settings of a rule begin: behind its last colon before a '='. */
static inline const char *
ports_settings(const char *s)
{
	const char *colon = NULL;

	for (; *s != '\0' && *s != '='; s++) {
		if (*s == ':')
			colon = s;
	}
	return *s == '=' ? colon : NULL;
}

/* "10.0.1.0/24", "fd00::1", or HOST:PORT: the addresses a rule is for. */
static inline const char *
ports_prefix(struct ports_rule *r, char *name)
{
	char *slash = strchr(name, '/');
	uint64_t bits;
	const char *why;

	if (slash != NULL)
		*slash = '\0';
	if (strchr(name, '.') == NULL && strchr(name, '[') == NULL &&
	    strchr(name, ':') != NULL) {	/* IPv6 as it is */
		char whole[ADDR_NAME_BYTES];

		if (snprintf(whole, sizeof(whole), "[%s]", name) >=
		    (int)sizeof(whole))
			return "not an address";
		why = addr_parse(whole, "0", &r->at);
	} else {
		why = addr_parse(name, "0", &r->at);
	}
	if (why != NULL)
		return why;
	if (addr_port(&r->at) != 0 && !addr_is_loopback(&r->at))
		return "a UDP port is of hosts on loopback alone";
	bits = r->at.sa.sa_family == AF_INET6 ? 128 : 32;
	if (slash != NULL && num_u64(slash + 1, 0, bits, &bits) != NULL)
		return "not a prefix length";
	r->bits = (uint8_t)bits;
	r->shares = slash != NULL;
	return NULL;
}

/* Add the rule s.  NULL, or what is wrong. */
static inline const char *
ports_rule_add(struct ports_conf *cf, const char *s)
{
	struct ports_rule *r = &cf->rule[cf->rules];
	const char *at = ports_settings(s), *why;
	char item[128];

	if (cf->rules == PORTS_RULES_MAX)
		return "more than 64 of them";
	if (at == NULL || at == s || (size_t)(at - s) >= sizeof(item))
		return "not HOST:rate=RATE,slots=N,queue=NAME";
	*r = (struct ports_rule){ .port = PORTS_NONE };
	memcpy(item, s, (size_t)(at - s));
	item[at - s] = '\0';
	why = ports_prefix(r, item);
	while (why == NULL && *at != '\0') {
		const size_t len = strcspn(at + 1, ",");
		char *equals;

		if (len >= sizeof(item))
			return "item too long";
		memcpy(item, at + 1, len);
		item[len] = '\0';
		at += 1 + len;
		equals = strchr(item, '=');
		if (equals == NULL)
			return "not rate=, slots= or queue=";
		*equals = '\0';
		why = ports_set(r, item, equals + 1);
	}
	cf->rules += why == NULL;
	return why;
}

/* What a rule does not say is as everywhere. */
static inline void
ports_settle(struct ports_conf *cf)
{
	for (uint32_t i = 0; i < cf->rules; i++) {
		struct ports_rule *r = &cf->rule[i];
		const struct port_conf said = r->conf;

		r->conf = cf->all;
		if (r->has_rate)
			r->conf.rate_bps = said.rate_bps;
		if (r->has_slots)
			r->conf.slots = said.slots;
		if (r->has_queue)
			r->conf.queue = said.queue;
		if (r->conf.queue == PORT_OLAF && r->conf.slots == 0)
			r->conf.slots = 8;
	}
}

/* Does the host fit the rule? */
static inline bool
ports_fits(const struct ports_rule *r, const union addr *host)
{
	const bool v6 = host->sa.sa_family == AF_INET6;
	const uint8_t *a = v6 ? host->in6.sin6_addr.s6_addr :
	    (const uint8_t *)&host->in.sin_addr;
	const uint8_t *b = v6 ? r->at.in6.sin6_addr.s6_addr :
	    (const uint8_t *)&r->at.in.sin_addr;
	const unsigned whole = r->bits / 8, rest = r->bits % 8;

	if (r->at.sa.sa_family != host->sa.sa_family ||
	    (addr_port(&r->at) != 0 && addr_port(&r->at) != addr_port(host)))
		return false;
	return memcmp(a, b, whole) == 0 && (rest == 0 ||
	    ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

/* The rule for a host, or NULL. */
static inline struct ports_rule *
ports_rule_for(const struct ports *s, const union addr *host)
{
	struct ports_rule *best = NULL;

	for (uint32_t i = 0; i < s->cf->rules; i++) {
		struct ports_rule *r = &s->cf->rule[i];

		if (ports_fits(r, host) && (best == NULL ||
		    r->bits > best->bits))
			best = r;
	}
	return best;
}

/* A port with these settings: its index, or PORTS_NONE without memory. */
static inline uint32_t
ports_make(struct ports *s, const struct port_conf *cf)
{
	struct port *p;

	if (s->n == s->room) {
		const uint32_t room = s->room == 0 ? 16 : s->room * 2;
		struct port **q = realloc(s->port, room * sizeof(*q));

		if (q == NULL)
			return PORTS_NONE;
		s->port = q;
		s->room = room;
	}
	p = malloc(sizeof(*p));
	if (p == NULL || !port_init(p, cf)) {
		free(p);
		return PORTS_NONE;
	}
	p->index = s->n;
	s->port[s->n] = p;
	return s->n++;
}

/* A host that is new; its place, or PORTS_NONE without memory. */
static inline uint32_t
ports_add(struct ports *s, const union addr *host, uint32_t *head)
{
	struct ports_rule *r = ports_rule_for(s, host);
	const struct port_conf *cf = r == NULL ? &s->cf->all : &r->conf;
	uint32_t port;

	if (s->places == s->places_room) {
		const uint32_t room = s->places_room == 0 ? 64 :
		    s->places_room * 2;
		struct ports_place *p = realloc(s->place, room * sizeof(*p));

		if (p == NULL)
			return PORTS_NONE;
		s->place = p;
		s->places_room = room;
	}
	port = r != NULL && r->port != PORTS_NONE ? r->port :
	    ports_make(s, cf);
	if (port == PORTS_NONE)
		return PORTS_NONE;
	if (r != NULL && r->shares)
		r->port = port;
	s->place[s->places] = (struct ports_place){ *host, port, *head };
	*head = s->places;
	return s->places++;
}

/* Is `to` on that host, as ports_host() makes them? */
static inline bool
ports_is_on(const union addr *to, const union addr *host)
{
	if (to->sa.sa_family != host->sa.sa_family)
		return false;
	if (to->sa.sa_family == AF_INET6 ? memcmp(&to->in6.sin6_addr,
	    &host->in6.sin6_addr, 16) != 0 : to->in.sin_addr.s_addr !=
	    host->in.sin_addr.s_addr)
		return false;
	return !addr_is_loopback(to) || addr_port(to) == addr_port(host);
}

/*
 * The same for a host that was not asked for just before: apart, so that all
 * else of ports_towards() is inline.
 */
__attribute__((noinline, unused)) static struct port *
ports_search(struct ports *s, const union addr *to)
{
	const union addr host = ports_host(to);
	uint32_t *head, k;

	head = keymap_put(&s->by_host, addr_key(&host), PORTS_NONE);
	if (head == NULL)
		return NULL;
	for (k = *head; k != PORTS_NONE &&
	    !addr_same(&s->place[k].host, &host); k = s->place[k].next)
		;
	if (k == PORTS_NONE)
		k = ports_add(s, &host, head);
	s->last = k;
	return k == PORTS_NONE ? NULL : s->port[s->place[k].port];
}

/* The port behind which an address is; NULL without memory. */
static inline struct port *
ports_towards(struct ports *s, const union addr *to)
{
	if (s->last != PORTS_NONE && ports_is_on(to, &s->place[s->last].host))
		return s->port[s->place[s->last].port];
	return ports_search(s, to);
}

/* Can anything wait at any port? */
static inline bool
ports_shaped(const struct ports_conf *cf)
{
	bool shaped = cf->all.rate_bps > 0;

	for (uint32_t i = 0; i < cf->rules; i++)
		shaped |= cf->rule[i].conf.rate_bps > 0;
	return shaped;
}

/* Has any port Olaf's queue? */
static inline bool
ports_merge(const struct ports_conf *cf)
{
	bool merges = cf->all.queue == PORT_OLAF;

	for (uint32_t i = 0; i < cf->rules; i++)
		merges |= cf->rule[i].conf.queue == PORT_OLAF;
	return merges;
}

#endif
