/*
 * stations.h - who is behind which port of an Ethernet switch
 *
 * Two tables: the port behind which an Ethernet address is (the filtering
 * database of IEEE 802.1D), and the Ethernet address of an IP address.  Both
 * are told what a driver hears: of the kernel's own tables, and of frames that
 * came.  What was heard last counts.  Strangers may make up any number of
 * addresses: at STATIONS_MAX a table is forgotten and learnt anew.  Owns its
 * memory: stations_free().
 */
#ifndef INNET_SWITCH_INPATH_STATIONS_H
#define INNET_SWITCH_INPATH_STATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"
#include "common/switch/ports.h"

enum {
	STATIONS_MAX = 65536,
	STATIONS_NOWHERE = UINT32_MAX,	/* not known */
	STATIONS_HERE = UINT32_MAX - 1	/* the machine's own */
};

/* How a frame is addressed on an Ethernet. */
struct station_at {
	uint8_t mac[6];
	uint16_t vlan;			/* its tag; 0: none */
};

struct station {
	union addr host;		/* as ports_host() makes them */
	struct station_at at;
	uint32_t next;			/* of the same key */
};

struct stations {
	struct hashmap port_of;		/* Ethernet address -> port */
	struct hashmap by_host;		/* addr_key() -> station */
	struct station *station;
	uint32_t n, room;
	bool forgot;			/* ports: to be asked for again */
	struct hashmap_multiplier by;	/* of both maps */
};

/* Of which by is so: hashmap.h. */
static inline void
stations_seed(struct stations *s, const struct hashmap_multiplier *by)
{
	s->by = *by;
	hashmap_seed(&s->port_of, by);
	hashmap_seed(&s->by_host, by);
}

static inline void
stations_free(struct stations *s)
{
	hashmap_free(&s->port_of);
	hashmap_free(&s->by_host);
	free(s->station);
	*s = (struct stations){ 0 };
}

/* Is it an address of many? */
static inline bool
stations_is_group(const uint8_t mac[6])
{
	return (mac[0] & 1) != 0;
}

static inline uint64_t
stations_key(const uint8_t mac[6])
{
	uint64_t key = 0;

	memcpy(&key, mac, 6);
	return key;
}

/* The port behind which an Ethernet address is, or NOWHERE, or HERE. */
static inline uint32_t
stations_find_port(const struct stations *s, const uint8_t mac[6])
{
	const uint32_t *at = hashmap_get(&s->port_of, stations_key(mac));

	return at == NULL ? STATIONS_NOWHERE : *at;
}

/* An Ethernet address is behind a port.  Without memory it is not noted. */
static inline void
stations_set_port(struct stations *s, const uint8_t mac[6], uint32_t port)
{
	uint32_t *at;

	if (stations_is_group(mac))
		return;
	if (s->port_of.count >= STATIONS_MAX) {
		hashmap_free(&s->port_of);
		s->forgot = true;
	}
	at = hashmap_put(&s->port_of, stations_key(mac), port);
	if (at != NULL)
		*at = port;
}

/* It is not behind that port any more. */
static inline void
stations_forget_port(struct stations *s, const uint8_t mac[6], uint32_t port)
{
	if (stations_find_port(s, mac) == port)
		hashmap_remove(&s->port_of, stations_key(mac));
}

/* How a host is reached, or NULL: not known. */
static inline struct station *
stations_find_host(const struct stations *s, const union addr *to)
{
	const union addr host = ports_host(to);
	const uint32_t *at = hashmap_get(&s->by_host,
	    addr_key(&host, &s->by));
	uint32_t k = at == NULL ? STATIONS_NOWHERE : *at;

	while (k != STATIONS_NOWHERE && !addr_same(&s->station[k].host, &host))
		k = s->station[k].next;
	return k == STATIONS_NOWHERE ? NULL : &s->station[k];
}

/* A host is reached so.  Without memory it is not noted. */
static inline void
stations_set_host(struct stations *s, const union addr *host,
    const struct station_at *at)
{
	struct station *p = stations_find_host(s, host);
	uint32_t *head;

	if (p != NULL) {
		p->at = *at;
		return;
	}
	if (s->n == STATIONS_MAX) {
		hashmap_free(&s->by_host);
		s->n = 0;
	}
	if (s->n == s->room) {
		const uint32_t room = s->room == 0 ? 64 : s->room * 2;

		p = realloc(s->station, room * sizeof(*p));
		if (p == NULL)
			return;
		s->station = p;
		s->room = room;
	}
	p = &s->station[s->n];
	*p = (struct station){ .host = ports_host(host), .at = *at };
	head = hashmap_put(&s->by_host, addr_key(&p->host, &s->by),
	    STATIONS_NOWHERE);
	if (head == NULL)
		return;
	p->next = *head;
	*head = s->n++;
}

#endif
