/*
 * routes.h - the addresses from which the workers of each cluster send
 *
 * For each pair (cluster, worker) the table contains the source address of the
 * worker's last packet.  For each cluster, the table contains every address
 * only once, because a model for the whole cluster is sent to each address only
 * once.  The table forgets a worker that has sent nothing for ROUTES_KEEP_NS.
 * If there is no room for another worker, it forgets the worker whose last
 * packet is the oldest.  If addresses are not validated (routes_set_quota),
 * each packet from an address gives this address credit for a limited number of
 * models for the whole cluster.  To record or to forget a worker takes constant
 * time.  The live switch and the parameter server use this table.
 * routes_free() frees the memory.
 */
#ifndef INNET_OLAF_ROUTES_H
#define INNET_OLAF_ROUTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/lru.h"
#include "common/auth/quota.h"
#include "common/wire/addr.h"

#define ROUTES_KEEP_NS 60000000000u	/* one minute */
#define ROUTES_MAX 1000000u		/* maximum number of workers */
#define ROUTES_LEAST 64u		/* number of workers for which the table
					 * has room even if the memory limit is
					 * very small */
#define ROUTES_BYTES 320u	/* number of bytes of memory for one route,
				 * including its share of the unused table
				 * cells */

enum {
	ROUTES_SWEEP = 64,	/* maximum number of old routes that are removed
				 * while one packet is processed */
	ROUTES_TICK = 20,	/* a tick is 2^20 ns; the order of packets
				 * within a tick is not recorded */
	ROUTES_CREDIT = 64,	/* number of models for the whole cluster that
				 * one packet adds to the credit of its
				 * address */
	ROUTES_CREDIT_MOST = 4096	/* maximum credit of an address */
};

/*
 * The numbers of the rows before and after a row in a list; 0 means that there
 * is no such row.
 */
struct routes_link {
	uint32_t before, after;
};

struct routes_list {
	uint32_t first, last;
};

struct route {
	union addr to;
	uint64_t heard_ns;		/* arrival time of the worker's last
					 * packet */
	uint16_t cluster;
	uint32_t worker;
	uint32_t place;			/* number of the row of the worker's
					 * address in the table `place` */
	struct routes_link cluster_link;	/* links in the list of all
						 * routes of the cluster */
	/*
	 * Links in the list of routes at the same address.  The first route in
	 * the list is that of the worker whose packet arrived last; workers
	 * whose packets arrived in the same tick are in any order.
	 */
	struct routes_link place_link;
};

/* An address that workers of a cluster use. */
struct routes_place {
	union addr at;
	uint16_t cluster;
	struct routes_link cluster_link;	/* links in the list of all
						 * places of the cluster */
	struct routes_list routes;	/* routes at this address */
	uint32_t credit;		/* if `bounded` is set: number of models
					 * for the whole cluster that may still
					 * be sent to this address */
};

struct routes_cluster {
	struct routes_list routes, places;
	uint32_t count;			/* number of routes of the cluster,
					 * including expired routes */
};

struct routes {
	struct lru route;		/* maps cluster << 32 | worker to the
					 * route of the worker */
	struct lru place;		/* maps a cluster and an address to a
					 * struct routes_place */
	struct hashmap_multiplier hash_seed; /* seed of the hash of addresses */
	struct routes_cluster *cluster;	/* owned; 65,536 entries */
	struct quota *quota;		/* borrowed; limits the routes of each
					 * address; NULL: no limit */
	bool bounded;			/* addresses are not validated */
};

/* Return the number of routes that fit into `bytes` bytes (0: no limit). */
static inline uint32_t routes_limit(uint64_t bytes);

/*
 * Initialise r, whose table may use at most `bytes` bytes (0: no limit).
 * Returns false if there is no memory.
 */
static inline bool routes_init(struct routes *r, uint64_t bytes,
    const struct hashmap_multiplier *hash_seed);

/* Free the table. */
static inline void routes_free(struct routes *r);

/*
 * Limit the number of routes of each address by `quota`; NULL means that there
 * is no limit.  If `validated` is true, all addresses have completed a
 * handshake, so an address needs no credit to get models.
 */
static inline void routes_set_quota(struct routes *r, struct quota *quota,
    bool validated);

/*
 * Record that a packet of worker `worker` has arrived from address `from`.
 * Returns false if there is no memory, or if the address has used up its quota.
 * If the result is false, the worker has no route.
 */
static inline bool routes_note(struct routes *r, uint16_t cluster,
    uint32_t worker, const union addr *from, uint64_t now_ns);

/*
 * Return the route of a worker, or NULL if the worker has no route that is
 * fresh.
 */
static inline const struct route *routes_find(const struct routes *r,
    uint16_t cluster, uint32_t worker, uint64_t now_ns);

/*
 * Return the next fresh route of a cluster, or NULL after the last one.  *next
 * must be 0 before the first call.
 */
static inline const struct route *routes_next(const struct routes *r,
    uint16_t cluster, uint64_t now_ns, uint32_t *next);

/*
 * Return the next address to which models for the whole cluster are sent, or
 * NULL after the last one.  Each address is returned once.  *next must be 0
 * before the first call.
 */
static inline const union addr *routes_next_address(const struct routes *r,
    uint16_t cluster, uint64_t now_ns, uint32_t *next);

/*
 * May a model for the whole cluster be sent to the address p?  It may if the
 * address has credit or needs no credit.
 */
static inline bool routes_may_send(const struct routes *r,
    const struct routes_place *p);

/*
 * Reduce the credit of each address of the cluster by one model for the whole
 * cluster.
 */
static inline void routes_use_credit(const struct routes *r, uint16_t cluster);

/* Count the fresh routes of a cluster. */
static inline uint32_t routes_workers(const struct routes *r, uint16_t cluster,
    uint64_t now_ns);

/* Count all routes. */
static inline uint32_t routes_count(const struct routes *r);

/* Remove the route of a worker, because the worker now has another name. */
static inline void routes_remove(struct routes *r, uint16_t cluster,
    uint32_t worker);

/* Remove up to ROUTES_SWEEP routes that are too old. */
static inline void routes_expire(struct routes *r, uint64_t now_ns);

/* Return the place in row number `at`. */
static inline struct routes_place *routes_place(const struct routes *r,
    uint32_t at);

/*
 * Add the address of route r and the time since the worker's last packet to c,
 * for a list of members.  `own` is the address of the switch that has the
 * route, or NULL.
 */
static inline void routes_put_member(const struct route *r, struct counters *c,
    const union addr *own, uint64_t now_ns);

/* implementation */

static inline uint32_t
routes_limit(uint64_t bytes)
{
	if (bytes == 0 || bytes / ROUTES_BYTES > ROUTES_MAX)
		return ROUTES_MAX;
	return bytes / ROUTES_BYTES < ROUTES_LEAST ? ROUTES_LEAST :
	    (uint32_t)(bytes / ROUTES_BYTES);
}

static inline bool
routes_init(struct routes *r, uint64_t bytes,
    const struct hashmap_multiplier *hash_seed)
{
	const uint32_t most = routes_limit(bytes);

	*r = (struct routes){ .hash_seed = *hash_seed,
	    .route = lru_new(most, sizeof(struct route), hash_seed),
	    .place = lru_new(most, sizeof(struct routes_place), hash_seed),
	    .cluster = calloc(65536, sizeof(*r->cluster)) };
	return r->cluster != NULL;
}

static inline void
routes_set_quota(struct routes *r, struct quota *quota, bool validated)
{
	r->quota = quota;
	r->bounded = quota != NULL && !validated;
}

static inline void
routes_free(struct routes *r)
{
	free(r->cluster);
	lru_free(&r->route);
	lru_free(&r->place);
}

static inline uint32_t
routes_count(const struct routes *r)
{
	return r->route.count;
}

/* Return the route in row number `at`. */
static inline struct route *
routes_route(const struct routes *r, uint32_t at)
{
	return lru_row(&r->route, at);
}

static inline struct routes_place *
routes_place(const struct routes *r, uint32_t at)
{
	return lru_row(&r->place, at);
}

/*
 * Return the links of row number `at`, which are `offset` bytes from the start
 * of the row.
 */
static inline struct routes_link *
routes_link(const struct lru *t, uint32_t at, size_t offset)
{
	return (void *)((uint8_t *)lru_row(t, at) + offset);
}

/* Remove row number `at` from a list. */
static inline void
routes_unlink(const struct lru *t, struct routes_list *l, uint32_t at,
    size_t offset)
{
	const struct routes_link k = *routes_link(t, at, offset);

	if (k.before == 0)
		l->first = k.after;
	else
		routes_link(t, k.before, offset)->after = k.after;
	if (k.after == 0)
		l->last = k.before;
	else
		routes_link(t, k.after, offset)->before = k.before;
}

/* Add row number `at` at the end of a list. */
static inline void
routes_append(const struct lru *t, struct routes_list *l, uint32_t at,
    size_t offset)
{
	*routes_link(t, at, offset) = (struct routes_link){ l->last, 0 };
	if (l->last == 0)
		l->first = at;
	else
		routes_link(t, l->last, offset)->after = at;
	l->last = at;
}

/* Add row number `at` at the start of a list. */
static inline void
routes_prepend(const struct lru *t, struct routes_list *l, uint32_t at,
    size_t offset)
{
	*routes_link(t, at, offset) = (struct routes_link){ 0, l->first };
	if (l->first == 0)
		l->last = at;
	else
		routes_link(t, l->first, offset)->before = at;
	l->first = at;
}

/*
 * Return the key under which address `at` of a cluster is in the table of
 * places.
 */
static inline uint64_t
routes_place_key(const struct routes *r, uint16_t cluster,
    const union addr *at)
{
	return at->sa.sa_family == AF_INET6
		   ? addr_key(at, &r->hash_seed) + cluster * 0xd6e8feb86659fd93
		   : addr_key(at, &r->hash_seed) << 16 | cluster;
}

/*
 * Return the number of the row of address `at` of a cluster.  If there is no
 * such row, add one.  Returns 0 if there is no memory, or in the very unlikely
 * case that a different address has the same key.
 */
static inline uint32_t
routes_make_place(struct routes *r, uint16_t cluster, const union addr *at)
{
	const uint64_t key = routes_place_key(r, cluster, at);
	uint32_t p = lru_find(&r->place, key);
	struct routes_place *o;

	if (p != 0) {
		o = routes_place(r, p);
		return o->cluster == cluster && addr_same(&o->at, at) ? p : 0;
	}
	p = lru_add(&r->place, key);
	if (p == 0)
		return 0;
	o = routes_place(r, p);
	o->at = *at;
	o->cluster = cluster;
	routes_append(&r->place, &r->cluster[cluster].places, p,
	    offsetof(struct routes_place, cluster_link));
	return p;
}

/*
 * Remove route number `at` from the list of its address.  If the address has no
 * other routes, remove the address too.
 */
static inline void
routes_leave_place(struct routes *r, uint32_t at)
{
	struct route *it = routes_route(r, at);
	struct routes_place *p = routes_place(r, it->place);

	routes_unlink(&r->route, &p->routes, at, offsetof(struct route,
	    place_link));
	if (p->routes.first == 0) {
		routes_unlink(&r->place, &r->cluster[it->cluster].places,
		    it->place, offsetof(struct routes_place, cluster_link));
		lru_remove(&r->place, it->place);
	}
	if (r->quota != NULL)
		quota_release(r->quota, &it->to, QUOTA_ROUTES, 1);
	it->place = 0;
}

/* Forget route number `at`. */
static inline void
routes_forget(struct routes *r, uint32_t at)
{
	struct route *it = routes_route(r, at);
	struct routes_cluster *c = &r->cluster[it->cluster];

	if (it->place != 0)
		routes_leave_place(r, at);
	routes_unlink(&r->route, &c->routes, at, offsetof(struct route,
	    cluster_link));
	c->count--;
	lru_remove(&r->route, at);
}

static inline void
routes_remove(struct routes *r, uint16_t cluster, uint32_t worker)
{
	const uint32_t at = lru_find(&r->route, (uint64_t)cluster << 32 |
	    worker);

	if (at != 0)
		routes_forget(r, at);
}

static inline void
routes_expire(struct routes *r, uint64_t now_ns)
{
	uint32_t at;

	for (int n = 0; n < ROUTES_SWEEP && (at = lru_oldest(&r->route)) !=
	    0 && routes_route(r, at)->heard_ns + ROUTES_KEEP_NS < now_ns; n++)
		routes_forget(r, at);
}

/*
 * Add a route without an address.  Returns the number of its row, or 0 if there
 * is no memory.
 */
static inline uint32_t
routes_add(struct routes *r, uint16_t cluster, uint32_t worker)
{
	struct routes_cluster *c = &r->cluster[cluster];
	struct route *it;
	uint32_t at;

	if (r->route.count == r->route.most)
		routes_forget(r, lru_oldest(&r->route));
	at = lru_add(&r->route, (uint64_t)cluster << 32 | worker);
	if (at == 0)
		return 0;
	it = routes_route(r, at);
	it->cluster = cluster;
	it->worker = worker;
	routes_append(&r->route, &c->routes, at, offsetof(struct route,
	    cluster_link));
	c->count++;
	return at;
}

/*
 * Make `from` the address of route number `at`.  Returns false if memory or
 * quota is exhausted.
 */
static inline bool
routes_set_place(struct routes *r, uint32_t at, const union addr *from)
{
	struct route *it = routes_route(r, at);

	if (it->place != 0 && !addr_same(&it->to, from))
		routes_leave_place(r, at);
	if (it->place != 0) {
		routes_unlink(&r->route, &routes_place(r, it->place)->routes,
		    at, offsetof(struct route, place_link));
	} else {
		if (r->quota != NULL && !quota_charge(r->quota, from,
		    QUOTA_ROUTES, 1))
			return false;
		it->place = routes_make_place(r, it->cluster, from);
		if (it->place == 0) {
			if (r->quota != NULL)
				quota_release(r->quota, from, QUOTA_ROUTES, 1);
			return false;
		}
		it->to = *from;
	}
	routes_prepend(&r->route, &routes_place(r, it->place)->routes, at,
	    offsetof(struct route, place_link));
	return true;
}

/*
 * Has a packet of the worker with route `it` already arrived from address
 * `from` in the current tick?
 */
static inline bool
routes_is_unchanged(
    const struct route *it, const union addr *from, uint64_t now_ns)
{
	return it->place != 0 && it->heard_ns >> ROUTES_TICK == now_ns >>
	    ROUTES_TICK && addr_same(&it->to, from);
}

/*
 * Set the address of a worker whose packet has just arrived.  Returns the
 * number of the worker's route, or 0 if memory or quota is exhausted.
 */
static inline uint32_t
routes_move_worker(struct routes *r, uint16_t cluster, uint32_t worker,
    const union addr *from, uint64_t now_ns)
{
	uint32_t at;

	routes_expire(r, now_ns);
	at = lru_find(&r->route, (uint64_t)cluster << 32 | worker);
	if (at == 0)
		at = routes_add(r, cluster, worker);
	if (at == 0)
		return 0;
	lru_mark_used(&r->route, at);
	if (routes_set_place(r, at, from))
		return at;
	routes_forget(r, at);
	return 0;
}

static inline bool
routes_note(struct routes *r, uint16_t cluster, uint32_t worker,
    const union addr *from, uint64_t now_ns)
{
	uint32_t at = lru_find(&r->route, (uint64_t)cluster << 32 | worker);
	struct routes_place *p;

	if (at == 0 ||
	    !routes_is_unchanged(routes_route(r, at), from, now_ns)) {
		at = routes_move_worker(r, cluster, worker, from, now_ns);
		if (at == 0)
			return false;
	}
	routes_route(r, at)->heard_ns = now_ns;
	if (!r->bounded)
		return true;
	p = routes_place(r, routes_route(r, at)->place);
	if (p->credit <= ROUTES_CREDIT_MOST - ROUTES_CREDIT)
		p->credit += ROUTES_CREDIT;
	return true;
}

/*
 * Has a packet of the worker with route `it` arrived within the last
 * ROUTES_KEEP_NS?
 */
static inline bool
routes_is_fresh(const struct route *it, uint64_t now_ns)
{
	return it->heard_ns + ROUTES_KEEP_NS >= now_ns;
}

static inline const struct route *
routes_find(const struct routes *r, uint16_t cluster, uint32_t worker,
    uint64_t now_ns)
{
	const uint32_t at = lru_find(&r->route,
	    (uint64_t)cluster << 32 | worker);

	return at == 0 || !routes_is_fresh(routes_route(r, at), now_ns) ?
	    NULL : routes_route(r, at);
}

static inline const struct route *
routes_next(const struct routes *r, uint16_t cluster, uint64_t now_ns,
    uint32_t *next)
{
	uint32_t at = *next == 0 ? r->cluster[cluster].routes.first :
	    routes_route(r, *next)->cluster_link.after;

	while (at != 0 && !routes_is_fresh(routes_route(r, at), now_ns))
		at = routes_route(r, at)->cluster_link.after;
	if (at == 0)
		return NULL;
	*next = at;
	return routes_route(r, at);
}

static inline bool
routes_may_send(const struct routes *r, const struct routes_place *p)
{
	return !r->bounded || p->credit > 0 || addr_is_loopback(&p->at);
}

static inline void
routes_use_credit(const struct routes *r, uint16_t cluster)
{
	struct routes_place *p;

	for (uint32_t at = r->bounded ? r->cluster[cluster].places.first : 0;
	    at != 0; at = p->cluster_link.after) {
		p = routes_place(r, at);
		p->credit -= p->credit > 0;
	}
}

static inline const union addr *
routes_next_address(const struct routes *r, uint16_t cluster, uint64_t now_ns,
    uint32_t *next)
{
	uint32_t at = *next == 0 ? r->cluster[cluster].places.first :
	    routes_place(r, *next)->cluster_link.after;

	while (at != 0 && (!routes_may_send(r, routes_place(r, at)) ||
	    !routes_is_fresh(routes_route(r,
	    routes_place(r, at)->routes.first), now_ns)))
		at = routes_place(r, at)->cluster_link.after;
	if (at == 0)
		return NULL;
	*next = at;
	return &routes_place(r, at)->at;
}

static inline uint32_t
routes_workers(const struct routes *r, uint16_t cluster, uint64_t now_ns)
{
	uint32_t next = 0, n = 0;

	while (routes_next(r, cluster, now_ns, &next) != NULL)
		n++;
	return n;
}

static inline void
routes_put_member(const struct route *r, struct counters *c,
    const union addr *own, uint64_t now_ns)
{
	char name[ADDR_NAME_BYTES];

	addr_print(&r->to, name);
	*strrchr(name, ':') = '\0';
	counters_word(c, "address", name);
	counters_put(c, "port", addr_port(&r->to));
	counters_word(c, "type", "worker");
	counters_word(c, "parent", own == NULL ? "" : addr_print(own, name));
	counters_put(c, "last_heard_ms", now_ns > r->heard_ns ?
	    (now_ns - r->heard_ns) / 1000000 : 0);
}

#endif
