/*
 * routes.h - where the workers of each cluster were heard from
 *
 * For (cluster, worker) the address of its last packet, and for a cluster
 * each address once, as a model for all of it goes to each address once.
 * Who was not heard for ROUTES_KEEP_NS is forgotten, and its place is another's
 * when there is none left.  Used by the live switch and by the parameter
 * server.  Owns its memory; routes_free().
 */
#ifndef INNET_OLAF_ROUTES_H
#define INNET_OLAF_ROUTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/keymap.h"
#include "common/wire/addr.h"

#define ROUTES_KEEP_NS 60000000000u	/* a minute */
#define ROUTES_MAX 1000000u		/* workers in all */
#define ROUTES_LEAST 64u		/* however little memory there is */
#define ROUTES_BYTES 256u	/* of one, with what tables leave free */
#define ROUTES_SWEEP_NS 1000000000u	/* the old are looked for no oftener */

struct route {
	union addr to;
	uint64_t heard_ns;
	uint16_t cluster;
	uint32_t worker;
};

struct routes_cluster {
	uint32_t *at;		/* places in route[], owned */
	uint32_t count, room;
};

struct routes {
	struct keymap index;	/* cluster << 32 | worker -> route */
	struct route *route;
	uint32_t count, room, most;
	uint64_t swept_ns;
	struct routes_cluster *cluster;	/* 65,536 */
};

/* How many rows of ROUTES_BYTES there may be in so many bytes; 0: no limit. */
static inline uint32_t
routes_within(uint64_t bytes)
{
	if (bytes == 0 || bytes / ROUTES_BYTES > ROUTES_MAX)
		return ROUTES_MAX;
	return bytes / ROUTES_BYTES < ROUTES_LEAST ? ROUTES_LEAST :
	    (uint32_t)(bytes / ROUTES_BYTES);
}

/* To take so many bytes at most, or 0: no limit.  False without memory. */
static inline bool
routes_init(struct routes *r, uint64_t bytes)
{
	*r = (struct routes){ .cluster = calloc(65536, sizeof(*r->cluster)),
	    .most = routes_within(bytes) };
	return r->cluster != NULL;
}

static inline void
routes_free(struct routes *r)
{
	for (unsigned c = 0; r->cluster != NULL && c < 65536; c++)
		free(r->cluster[c].at);
	free(r->cluster);
	free(r->route);
	keymap_free(&r->index);
}

/* Room for one more in an array; the array, moved perhaps, or NULL. */
static inline void *
routes_room(void *p, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t more = *room == 0 ? 8 : *room * 2;
	void *q;

	if (count < *room)
		return p;
	q = realloc(p, more * size);
	if (q != NULL)
		*room = more;
	return q;
}

/* Forget who was not heard for long; the others move together. */
static inline void
routes_sweep(struct routes *r, uint64_t now_ns)
{
	struct routes_cluster *c;
	uint32_t n = 0;

	for (uint32_t k = 0; k < 65536; k++)
		r->cluster[k].count = 0;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct route it = r->route[i];
		const uint64_t key = (uint64_t)it.cluster << 32 | it.worker;

		if (it.heard_ns + ROUTES_KEEP_NS < now_ns) {
			keymap_remove(&r->index, key);
			continue;
		}
		c = &r->cluster[it.cluster];
		c->at[c->count++] = n;
		*keymap_get(&r->index, key) = n;
		r->route[n++] = it;
	}
	r->count = n;
	r->swept_ns = now_ns;
}

/* A new worker; its place, or UINT32_MAX without room. */
static inline uint32_t
routes_add(struct routes *r, uint16_t cluster, uint32_t worker,
    uint64_t now_ns)
{
	struct routes_cluster *c = &r->cluster[cluster];
	void *p;

	if (r->count == r->most && now_ns - r->swept_ns >= ROUTES_SWEEP_NS)
		routes_sweep(r, now_ns);
	if (r->count == r->most)
		return UINT32_MAX;
	p = routes_room(r->route, r->count, &r->room, sizeof(*r->route));
	if (p == NULL)
		return UINT32_MAX;
	r->route = p;
	p = routes_room(c->at, c->count, &c->room, sizeof(*c->at));
	if (p == NULL)
		return UINT32_MAX;
	c->at = p;
	c->at[c->count++] = r->count;
	r->route[r->count] = (struct route){ .cluster = cluster,
	    .worker = worker };
	return r->count++;
}

/* A packet of this worker came from this address.  Without room it is not
 * noted, and models for the worker have no route. */
static inline void
routes_see(struct routes *r, uint16_t cluster, uint32_t worker,
    const union addr *from, uint64_t now_ns)
{
	const uint64_t key = (uint64_t)cluster << 32 | worker;
	uint32_t *have = keymap_get(&r->index, key), at;

	if (have != NULL) {
		at = *have;
	} else {
		at = routes_add(r, cluster, worker, now_ns);
		if (at == UINT32_MAX)
			return;
		if (keymap_put(&r->index, key, at) == NULL) {
			r->cluster[cluster].count--;
			r->count--;
			return;
		}
	}
	r->route[at].to = *from;
	r->route[at].heard_ns = now_ns;
}

/* This worker, or NULL if it was not heard of late. */
static inline const struct route *
routes_find(const struct routes *r, uint16_t cluster, uint32_t worker,
    uint64_t now_ns)
{
	const uint32_t *at = keymap_get(&r->index,
	    (uint64_t)cluster << 32 | worker);

	if (at == NULL || r->route[*at].heard_ns + ROUTES_KEEP_NS < now_ns)
		return NULL;
	return &r->route[*at];
}

/* The next worker of a cluster likewise; *next starts at 0 and runs along. */
static inline const struct route *
routes_next(const struct routes *r, uint16_t cluster, uint64_t now_ns,
    uint32_t *next)
{
	const struct routes_cluster *c = &r->cluster[cluster];

	while (*next < c->count) {
		const struct route *it = &r->route[c->at[(*next)++]];

		if (it->heard_ns + ROUTES_KEEP_NS >= now_ns)
			return it;
	}
	return NULL;
}

/*
 * The next address of a cluster, each once; *next starts at 0 and runs along.
 * NULL when there are no more.
 */
static inline const union addr *
routes_each(const struct routes *r, uint16_t cluster, uint64_t now_ns,
    uint32_t *next)
{
	const struct routes_cluster *c = &r->cluster[cluster];
	const struct route *it, *o;

	while ((it = routes_next(r, cluster, now_ns, next)) != NULL) {
		bool skip = false;

		for (uint32_t k = 0; k + 1 < *next && !skip; k++) {
			o = &r->route[c->at[k]];
			skip = o->heard_ns + ROUTES_KEEP_NS >= now_ns &&
			    addr_same(&o->to, &it->to);
		}
		if (!skip)
			return &it->to;
	}
	return NULL;
}

/* A member of a list: where it is, below the switch at `own` (NULL: any). */
static inline void
routes_tell(const struct route *r, struct counters *c, const union addr *own,
    uint64_t now_ns)
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
