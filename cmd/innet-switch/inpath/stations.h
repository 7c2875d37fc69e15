/*
 * stations.h - the hosts that are reachable through each port of an Ethernet
 * switch
 *
 * There are two tables: the port of each Ethernet address (the filtering
 * database of IEEE 802.1D) and the Ethernet address of each IP address.  The
 * driver fills both from the kernel's tables and from received frames; newer
 * information replaces older information.  Untrusted hosts can invent any
 * number of addresses, so a table that reaches STATIONS_MAX entries is emptied
 * and filled again.  A struct stations owns its memory; free it with
 * stations_free().
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
	STATIONS_NOWHERE = UINT32_MAX,	/* unknown */
	STATIONS_HERE = UINT32_MAX - 1 /* the address belongs to this machine */
};

/* The address of a host on an Ethernet network. */
struct station_at {
	uint8_t mac[6];
	uint16_t vlan;			/* VLAN tag of the host; 0: none */
};

struct station {
	union addr host;	/* address of the host, in the form that
				 * ports_host() returns */
	struct station_at at;
	uint32_t next;	/* index of the next station with the same key */
};

struct stations {
	struct hashmap port_of;		/* Ethernet address -> port */
	struct hashmap by_host;		/* addr_key() -> station */
	struct station *station;
	uint32_t n, room;
	bool forgot;	/* the table of ports was emptied, so the ports must be
			 * queried again */
	struct hashmap_multiplier by;	/* hash multiplier of both maps */
};

/* Set the hash seed of both tables, which must be empty. */
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

/* Is this a multicast or broadcast address? */
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

/* Return the port of an Ethernet address, STATIONS_NOWHERE or STATIONS_HERE. */
static inline uint32_t
stations_find_port(const struct stations *s, const uint8_t mac[6])
{
	const uint32_t *at = hashmap_get(&s->port_of, stations_key(mac));

	return at == NULL ? STATIONS_NOWHERE : *at;
}

/* Set the port of an Ethernet address.  Does nothing if out of memory. */
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

/* Forget the port of an Ethernet address if the port is `port`. */
static inline void
stations_forget_port(struct stations *s, const uint8_t mac[6], uint32_t port)
{
	if (stations_find_port(s, mac) == port)
		hashmap_remove(&s->port_of, stations_key(mac));
}

/* Return the station of a host, or NULL if it is unknown. */
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

/* Set the Ethernet address of a host.  Does nothing if out of memory. */
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
