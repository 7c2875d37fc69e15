/*
 * ports.h - the ports of a switch, and the hosts behind each port
 *
 * Each remote host has its own port.  On loopback all processes have the same
 * address, so each pair of a loopback address and a UDP port counts as a host.
 * A rule defines the settings of one host, or assigns all hosts of a prefix to
 * one port:
 *
 * 	10.0.0.7:rate=20Mbit,queue=olaf		one host
 * 	10.0.1.0/24:rate=1G			a port for all of them
 *
 * If several rules match a host, the rule with the longest prefix applies.  A
 * port is created when it is first used.  Untrusted hosts can cause the
 * creation of any number of ports, so the memory for ports is limited.  When
 * the limit is reached, the switch forgets an idle host and gives its port to
 * the new host.  If no host is idle, the new host gets no port.  A struct ports
 * owns its ports; ports_free() frees them.
 */
#ifndef INNET_SWITCH_PORTS_H
#define INNET_SWITCH_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"
#include "common/base/num.h"
#include "common/queue/port.h"
#include "common/wire/addr.h"

enum {
	PORTS_RULES_MAX = 64, PORTS_NONE = UINT32_MAX,
	PORTS_TRIES = 64,		/* maximum number of hosts that are
					 * checked to find an idle host */
	PORTS_TIGHT_BYTES = 65536,	/* if less memory than this is left,
					 * idle ports must free memory */
	/*
	 * The default number of slots of Olaf queues.  It is 8 as in the Olaf
	 * paper, in which each update fits into one frame.  For a switch in the
	 * path the number is 1,024, because there an update needs a slot for
	 * each of its frames.
	 */
	PORTS_SLOTS = 8, PORTS_SLOTS_IN_PATH = 1024
};

#define PORTS_RATE_MAX 1000000000000000u

struct ports_rule {
	union addr at;			/* prefix of the hosts, or address and
					 * UDP port of one host */
	uint8_t bits;			/* length of the prefix */
	bool shares;			/* all matching hosts share one port */
	bool has_rate, has_slots, has_queue;
	struct port_conf conf;
	uint32_t port;			/* index of the shared port once it
					 * exists, otherwise PORTS_NONE */
};

struct ports_conf {
	struct port_conf all;
	struct ports_rule rule[PORTS_RULES_MAX];
	uint32_t rules;
	bool shaped;			/* at least one port has a rate that is
					 * given neither in `all` nor in a
					 * rule */
	uint64_t memory_bytes;		/* limit on the memory of the ports of
					 * hosts and of their queues; 0: no
					 * limit */
	struct hashmap_multiplier hash_seed;	/* seed of maps that untrusted
						 * hosts fill */
};

struct ports_place {
	union addr host;		/* the host; family 0: the host was
					 * forgotten */
	uint32_t port, next;		/* index of the port; index of the next
					 * place with the same key */
	bool shares;			/* other hosts may use the port too */
};

struct ports {
	struct ports_conf *cf;		/* borrowed; the field `port` of its
					 * rules is changed */
	struct port **port;
	uint32_t n, room;
	struct ports_place *place;
	uint32_t places, places_room;
	struct hashmap by_host;		/* maps the key of a host (addr_key())
					 * to the index of the first place with
					 * this key */
	uint32_t last;			/* index of the place used last, or
					 * PORTS_NONE */
	struct slots_budget budget;
	uint32_t hand;			/* index of the place to check next when
					 * an idle host is needed */
};

/* Parse the rule s and add it to cf.  Returns NULL or an error message. */
static inline const char *ports_add_rule(struct ports_conf *cf, const char *s);

/*
 * Set the settings that the rules do not contain to those of cf->all.  Call
 * this function after the last rule.
 */
static inline void ports_complete_rules(struct ports_conf *cf);

/* Can packets wait at any port? */
static inline bool ports_can_queue(const struct ports_conf *cf);

/* Does any port have an Olaf queue? */
static inline bool ports_use_olaf(const struct ports_conf *cf);

/*
 * Return a set of ports that contains no port yet and has the settings cf,
 * which are borrowed.
 */
static inline struct ports ports_of(struct ports_conf *cf);

/* Free all ports. */
static inline void ports_free(struct ports *s);

/*
 * Return the host of an address: the address with port 0 or, on loopback, the
 * address and its port.
 */
static inline union addr ports_host(const union addr *a);

/*
 * Return the port towards address `to`, and create it if necessary.  Returns
 * NULL if there is no memory.
 */
static inline struct port *ports_find_port(struct ports *s,
    const union addr *to);

/*
 * Create a port with the settings cf.  Returns its index, or PORTS_NONE if
 * there is no memory.
 */
static inline uint32_t ports_make_port(struct ports *s,
    const struct port_conf *cf);

/* Return the rule that applies to a host, or NULL. */
static inline struct ports_rule *ports_find_rule(const struct ports *s,
    const union addr *host);

/*
 * Return the number of bytes of memory for a host that has its own port with
 * the settings cf. If cf is NULL, return the number of bytes for a host that
 * uses a shared port.
 */
static inline uint64_t ports_host_bytes(const struct port_conf *cf);

/*
 * Is the memory nearly used up?  If so, the caller must call ports_trim_idle()
 * before the next frame.
 */
static inline bool ports_memory_is_low(const struct ports *s);

/* Free the memory of some idle ports. */
static inline void ports_trim_idle(struct ports *s);

/* implementation */

static inline struct ports
ports_of(struct ports_conf *cf)
{
	for (uint32_t i = 0; i < cf->rules; i++)
		cf->rule[i].port = PORTS_NONE;
	return (struct ports){ .cf = cf, .last = PORTS_NONE,
	    .by_host.multiplier = cf->hash_seed,
	    .budget.limit_bytes = cf->memory_bytes };
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
	hashmap_free(&s->by_host);
}

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

/*
 * Set one setting of a rule, which the user has written as "key=value".
 * Returns NULL or an error message.
 */
static inline const char *
ports_set_rule(struct ports_rule *r, const char *key, const char *value)
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
	    NULL : "queue= must be olaf or fifo";
}

/*
 * Return a pointer to the last colon before the first '=' in rule s, after
 * which the settings begin.  Returns NULL if the rule has no settings.
 */
static inline const char *
ports_find_settings(const char *s)
{
	const char *colon = NULL;

	for (; *s != '\0' && *s != '='; s++) {
		if (*s == ':')
			colon = s;
	}
	return *s == '=' ? colon : NULL;
}

/*
 * Parse the hosts of a rule: "10.0.1.0/24", "fd00::1" or HOST:PORT.  Returns
 * NULL or an error message.
 */
static inline const char *
ports_parse_prefix(struct ports_rule *r, char *name)
{
	char *slash = strchr(name, '/');
	uint64_t bits;
	const char *why;

	if (slash != NULL)
		*slash = '\0';
	if (strchr(name, '.') == NULL && strchr(name, '[') == NULL &&
	    strchr(name, ':') != NULL) {	/* this is an IPv6 address
						 * without brackets */
		char whole[ADDR_NAME_BYTES];

		if (snprintf(whole, sizeof(whole), "[%s]", name) >=
		    (int)sizeof(whole))
			return "not an IP address";
		why = addr_parse(whole, "0", &r->at);
	} else {
		why = addr_parse(name, "0", &r->at);
	}
	if (why != NULL)
		return why;
	if (addr_port(&r->at) != 0 && !addr_is_loopback(&r->at))
		return "only hosts on loopback can have a UDP port";
	bits = r->at.sa.sa_family == AF_INET6 ? 128 : 32;
	if (slash != NULL && num_u64(slash + 1, 0, bits, &bits) != NULL)
		return "not a prefix length";
	r->bits = (uint8_t)bits;
	r->shares = slash != NULL;
	return NULL;
}

static inline const char *
ports_add_rule(struct ports_conf *cf, const char *s)
{
	struct ports_rule *r = &cf->rule[cf->rules];
	const char *at = ports_find_settings(s), *why;
	char item[128];

	if (cf->rules == PORTS_RULES_MAX)
		return "given more than 64 times";
	if (at == NULL || at == s || (size_t)(at - s) >= sizeof(item))
		return "not HOST:rate=RATE,slots=N,queue=NAME";
	*r = (struct ports_rule){ .port = PORTS_NONE };
	memcpy(item, s, (size_t)(at - s));
	item[at - s] = '\0';
	why = ports_parse_prefix(r, item);
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
		why = ports_set_rule(r, item, equals + 1);
	}
	cf->rules += why == NULL;
	return why;
}

static inline void
ports_complete_rules(struct ports_conf *cf)
{
	for (uint32_t i = 0; i < cf->rules; i++) {
		struct ports_rule *r = &cf->rule[i];
		const struct port_conf given = r->conf;

		r->conf = cf->all;
		if (r->has_rate)
			r->conf.rate_bps = given.rate_bps;
		if (r->has_slots)
			r->conf.slots = given.slots;
		if (r->has_queue)
			r->conf.queue = given.queue;
		if (r->conf.queue == PORT_OLAF && r->conf.slots == 0)
			r->conf.slots = PORTS_SLOTS;
	}
}

/* Does rule r match the host? */
static inline bool
ports_rule_matches(const struct ports_rule *r, const union addr *host)
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

static inline struct ports_rule *
ports_find_rule(const struct ports *s, const union addr *host)
{
	struct ports_rule *best = NULL;

	for (uint32_t i = 0; i < s->cf->rules; i++) {
		struct ports_rule *r = &s->cf->rule[i];

		if (ports_rule_matches(r, host) && (best == NULL ||
		    r->bits > best->bits))
			best = r;
	}
	return best;
}

static inline uint32_t
ports_make_port(struct ports *s, const struct port_conf *cf)
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
	p->slots.budget = &s->budget;
	s->port[s->n] = p;
	return s->n++;
}

static inline uint64_t
ports_host_bytes(const struct port_conf *cf)
{
	const uint64_t place = sizeof(struct ports_place) +
	    2 * sizeof(struct hashmap_cell);
	const uint32_t slots = cf == NULL || cf->slots > 0 ? 0 : SLOTS_FIRST;

	return cf == NULL ? place : place + sizeof(struct port) +
	    (cf->slots + slots) * sizeof(struct slot);
}

/* Forget the host at place k, unless it has already been forgotten. */
static inline void
ports_forget_host(struct ports *s, uint32_t k)
{
	struct ports_place *p = &s->place[k];
	const uint64_t key = addr_key(&p->host, &s->cf->hash_seed);
	uint32_t *at = p->host.sa.sa_family == 0 ? NULL :
	    hashmap_get(&s->by_host, key);

	if (at != NULL && *at == k && p->next == PORTS_NONE) {
		hashmap_remove(&s->by_host, key);
	} else if (at != NULL) {
		while (*at != k)
			at = &s->place[*at].next;
		*at = p->next;
	}
	p->host = (union addr){ 0 };
	s->last = PORTS_NONE;
}

/*
 * Reset an idle port and change its settings to cf. Returns false if there is
 * no memory.
 */
static inline bool
ports_reset_port(struct ports *s, struct port *p, const struct port_conf *cf)
{
	const struct port was = *p;
	bool have;

	s->budget.used_bytes -= slots_bytes(&p->slots);
	slots_free(&p->slots);
	have = port_init(p, cf);
	memcpy(p->n, was.n, sizeof(p->n));
	p->index = was.index;
	p->slots.budget = &s->budget;
	if (have && slots_charge_budget(&s->budget, slots_bytes(&p->slots)))
		return true;
	slots_free(&p->slots);
	p->slots.budget = &s->budget;
	return false;
}

/* Does the host at place k have its own port, with an empty queue? */
static inline bool
ports_is_idle(const struct ports *s, uint32_t k)
{
	const struct port *p = s->port[s->place[k].port];

	return !s->place[k].shares && p->slots.count == 0 &&
	    p->updates == NULL;
}

/*
 * Forget a host so that a new host can use its place, and return the index of
 * this place.  If cf is NULL, the host must use a shared port.  Otherwise the
 * host must be idle, and its port gets the settings cf. Returns PORTS_NONE if
 * no such host is found.
 */
static inline uint32_t
ports_reuse_place(struct ports *s, const struct port_conf *cf)
{
	for (uint32_t i = 0; i < PORTS_TRIES && i < s->places; i++) {
		const uint32_t k = s->hand++ % s->places;

		if (cf == NULL ? !s->place[k].shares : !ports_is_idle(s, k))
			continue;
		ports_forget_host(s, k);
		if (cf == NULL || ports_reset_port(s, s->port[s->place[k].port],
		    cf))
			return k;
	}
	return PORTS_NONE;
}

static inline bool
ports_memory_is_low(const struct ports *s)
{
	return s->budget.limit_bytes > 0 && s->budget.used_bytes +
	    PORTS_TIGHT_BYTES > s->budget.limit_bytes;
}

static inline void
ports_trim_idle(struct ports *s)
{
	for (uint32_t i = 0; i < PORTS_TRIES / 8 && i < s->places; i++) {
		const uint32_t k = s->hand++ % s->places;
		struct port *p = s->port[s->place[k].port];

		if (ports_is_idle(s, k) && p->slots.size > 0)
			ports_reset_port(s, p, &p->cf);
	}
}

/*
 * Add a place.  Its port is the shared port of rule r if this port exists,
 * otherwise a new port.  Returns the index of the place, or PORTS_NONE if there
 * is no memory.
 */
static inline uint32_t
ports_add_place(struct ports *s, struct ports_rule *r,
    const struct port_conf *cf)
{
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
	    ports_make_port(s, cf);
	if (port == PORTS_NONE)
		return PORTS_NONE;
	s->place[s->places].port = port;
	return s->places++;
}

/*
 * Add a host that has no place, and return the index of its new place.  Returns
 * PORTS_NONE if there is no memory.
 */
static inline uint32_t
ports_add_host(struct ports *s, const union addr *host)
{
	struct ports_rule *r = ports_find_rule(s, host);
	const bool shares = r != NULL && r->shares;
	const struct port_conf *cf = r == NULL ? &s->cf->all : &r->conf;
	const struct port_conf *own = shares && r->port != PORTS_NONE ? NULL :
	    cf;
	uint32_t k, *head;

	k = slots_charge_budget(&s->budget, ports_host_bytes(own)) ?
	    ports_add_place(s, r, cf) : ports_reuse_place(s, own);
	head = k == PORTS_NONE
		   ? NULL
		   : hashmap_put(&s->by_host, addr_key(host, &s->cf->hash_seed),
			 PORTS_NONE);
	if (head == NULL)
		return PORTS_NONE;
	if (shares)
		r->port = s->place[k].port;
	s->place[k] = (struct ports_place){ *host, s->place[k].port, *head,
	    shares };
	*head = k;
	return k;
}

/* Does address `to` belong to `host`, which ports_host() has returned? */
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
 * Find the port towards address `to` if the host of `to` is not the host used
 * last.  This is a separate function so that the rest of ports_find_port() can
 * be inlined.
 */
__attribute__((noinline, unused)) static struct port *
ports_search_host(struct ports *s, const union addr *to)
{
	const union addr host = ports_host(to);
	const uint32_t *head = hashmap_get(&s->by_host,
	    addr_key(&host, &s->cf->hash_seed));
	uint32_t k;

	for (k = head == NULL ? PORTS_NONE : *head; k != PORTS_NONE &&
	    !addr_same(&s->place[k].host, &host); k = s->place[k].next)
		;
	if (k == PORTS_NONE)
		k = ports_add_host(s, &host);
	s->last = k;
	return k == PORTS_NONE ? NULL : s->port[s->place[k].port];
}

static inline struct port *
ports_find_port(struct ports *s, const union addr *to)
{
	if (s->last != PORTS_NONE && ports_is_on(to, &s->place[s->last].host))
		return s->port[s->place[s->last].port];
	return ports_search_host(s, to);
}

static inline bool
ports_can_queue(const struct ports_conf *cf)
{
	bool shaped = cf->shaped || cf->all.rate_bps > 0;

	for (uint32_t i = 0; i < cf->rules; i++)
		shaped |= cf->rule[i].conf.rate_bps > 0;
	return shaped;
}

static inline bool
ports_use_olaf(const struct ports_conf *cf)
{
	bool merges = cf->all.queue == PORT_OLAF;

	for (uint32_t i = 0; i < cf->rules; i++)
		merges |= cf->rule[i].conf.queue == PORT_OLAF;
	return merges;
}

#endif
