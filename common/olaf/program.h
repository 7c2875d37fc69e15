/*
 * program.h - program olaf: forward updates to the server, and models to the
 *   workers
 *
 * Updates wait in the queue of the port towards the server, where the Olaf
 * queue merges them.  The switch writes the status of this queue into the
 * models that come back from the server.  Models and initial weights are not
 * queued (Olaf, sections 3 to 5 and 7).
 *
 * A switch in the path (on a bridge or between interfaces) sends each packet to
 * the destination address of the packet.  A switch with its own address sends
 * updates to its upstream, which is the server or another switch.  It sends
 * models from the upstream to the addresses from which the workers last sent a
 * packet (routes.h).
 *
 * Bare packets contain only a reward and a gradient (Olaf, section 4).  The
 * prefix of the source address determines the cluster, and the five-tuple
 * determines the worker.  The time of arrival is used as the time of
 * generation.
 *
 * The control plane can move a worker to another cluster (Olaf, section 7).
 * The worker itself still uses its old cluster and number.  The switch replaces
 * the cluster and the number in packets to the server, and restores them in
 * packets to the worker (struct groups).
 */
#ifndef INNET_OLAF_PROGRAM_H
#define INNET_OLAF_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/hashmap.h"
#include "common/base/num.h"
#include "common/wire/flow.h"
#include "common/wire/stream.h"
#include "common/capture/clusters.h"
#include "common/capture/soundness.h"
#include "common/queue/slots.h"
#include "common/switch/program.h"
#include "common/auth/relay-tag.h"
#include "common/auth/transit-tag.h"
#include "common/olaf/routes.h"

enum { GROUPS_NONE = UINT32_MAX };

/* The name of a worker: its cluster and its number in the cluster. */
struct groups_name {
	uint16_t cluster;
	uint32_t worker;
};

struct groups_row {
	struct groups_name own, given;	/* name that the worker uses; name that
					 * the server uses */
	bool used;
};

/*
 * The workers that were moved to another cluster.  A zeroed struct contains no
 * workers.
 */
struct groups {
	struct groups_row *row;		/* owned */
	uint32_t count, room;		/* number of rows, including unused
					 * rows; number of rows for which memory
					 * is allocated */
	uint32_t most;			/* maximum number of rows; 0: no
					 * limit */
	struct hashmap own, given;	/* maps from `own` and from `given` to
					 * the index of the row that contains
					 * this name */
};

struct olaf_conf {
	union addr upstream;		/* family 0: no upstream was given */
	bool bare;
	uint64_t elements;		/* number of elements that every vector
					 * must have; 0: any number */
	const char *table_path;		/* path of the file that contains the
					 * clusters of bare packets */
	struct clusters table;
};

enum olaf_count { OLAF_MODELS, OLAF_WEIGHTS, OLAF_NO_ROUTE,
	OLAF_NO_ROOM,		/* packets whose worker got no route, because of
				 * a quota or because there was no memory */
	OLAF_COUNTS
};

struct olaf {
	const struct olaf_conf *cf;
	const struct program_env *env;
	bool addressed;			/* the switch has its own address, so it
					 * is not a switch in the path */
	struct routes routes;		/* addresses of workers */
	struct quota quota;		/* quota of routes for each address */
	struct groups groups;		/* workers that were moved */
	struct relay_tag relay_tag;	/* if `addressed` is set: tags of data
					 * packets */
	struct transit_tag transit_tag;	/* if the switch is in the path: tags of
					 * data packets between other hosts */
	uint32_t bare_seen;		/* number of bare packets so far, used
					 * as the sequence number of the next
					 * bare packet */
	uint64_t n[OLAF_COUNTS];
};

enum olaf_option {
	OLAF_UPSTREAM = 1, OLAF_FORMAT, OLAF_TABLE, OLAF_ELEMENTS
};

static const struct opt olaf_opts[] = {
	{ OLAF_UPSTREAM, "upstream", "ADDR",
	    "olaf: forward updates to HOST:PORT" },
	{ OLAF_FORMAT, "format", "NAME",
	    "olaf: format of the packets: innet (default) or bare" },
	{ OLAF_TABLE, "cluster-table", "FILE",
	    "olaf: CSV file (prefix,cluster) with the clusters of bare "
	    "packets" },
	{ OLAF_ELEMENTS, "elements", "N",
	    "olaf: number of elements in each vector; vectors of another "
	    "length are dropped" },
	{ 0 }
};

/*
 * The program.  Its settings are struct olaf_conf and its state is struct olaf.
 */
static const struct program olaf_program;

/* Free the table of moved workers. */
static inline void groups_free(struct groups *g);

/*
 * Return the name that the server uses for the worker whose own name is `own`.
 */
static inline struct groups_name groups_name_above(const struct groups *g,
    struct groups_name own);

/*
 * Return the name that a worker uses for itself, if the server uses the name
 * `given` for this worker.
 */
static inline struct groups_name groups_name_below(const struct groups *g,
    struct groups_name given);

/*
 * Make `given` the name that the server uses for worker `own`.  Returns false
 * if there is no room, or if another moved worker has this name.
 */
static inline bool groups_move(struct groups *g, struct groups_name own,
    struct groups_name given);

/* implementation */

static inline void
groups_free(struct groups *g)
{
	free(g->row);
	hashmap_free(&g->own);
	hashmap_free(&g->given);
}

/* Return the key of a name in a map. */
static inline uint64_t
groups_key(struct groups_name n)
{
	return (uint64_t)n.cluster << 32 | n.worker;
}

static inline struct groups_name
groups_name_above(const struct groups *g, struct groups_name own)
{
	const uint32_t *at = hashmap_get(&g->own, groups_key(own));

	return at == NULL ? own : g->row[*at].given;
}

static inline struct groups_name
groups_name_below(const struct groups *g, struct groups_name given)
{
	const uint32_t *at = hashmap_get(&g->given, groups_key(given));

	return at == NULL ? given : g->row[*at].own;
}

/*
 * Remove the row of worker `own`, so that the server uses the worker's own name
 * again.
 */
static inline void
groups_remove(struct groups *g, struct groups_name own)
{
	const uint32_t *at = hashmap_get(&g->own, groups_key(own));
	struct groups_row *r;

	if (at == NULL)
		return;
	r = &g->row[*at];
	r->used = false;
	hashmap_remove(&g->given, groups_key(r->given));
	hashmap_remove(&g->own, groups_key(own));
}

/*
 * Return the index of an unused row, or GROUPS_NONE if there is no room for
 * another row.
 */
static inline uint32_t
groups_find_room(struct groups *g)
{
	uint32_t room = g->room == 0 ? 16 : g->room * 2;
	struct groups_row *p;

	for (uint32_t i = 0; i < g->count; i++) {
		if (!g->row[i].used)
			return i;
	}
	if (g->most > 0 && g->count == g->most)
		return GROUPS_NONE;
	if (g->count == g->room) {
		p = realloc(g->row, room * sizeof(*p));
		if (p == NULL)
			return GROUPS_NONE;
		g->row = p;
		g->room = room;
	}
	g->row[g->count].used = false;	/* keep the row unused until the move
					 * has succeeded */
	return g->count++;
}

static inline bool
groups_move(struct groups *g, struct groups_name own,
    struct groups_name given)
{
	const uint32_t *taken = hashmap_get(&g->given, groups_key(given));
	uint32_t at;

	if (taken != NULL && groups_key(g->row[*taken].own) !=
	    groups_key(own))
		return false;
	groups_remove(g, own);
	if (groups_key(own) == groups_key(given))
		return true;
	at = groups_find_room(g);
	if (at == GROUPS_NONE || hashmap_put(&g->own, groups_key(own), at) ==
	    NULL)
		return false;
	if (hashmap_put(&g->given, groups_key(given), at) == NULL) {
		hashmap_remove(&g->own, groups_key(own));
		return false;
	}
	g->row[at] = (struct groups_row){ own, given, true };
	return true;
}

static inline void
olaf_set_defaults(void *conf)
{
	*(struct olaf_conf *)conf = (struct olaf_conf){ 0 };
}

static inline const char *
olaf_set_option(void *conf, int option, const char *arg)
{
	struct olaf_conf *cf = conf;
	const char *why;

	switch (option) {
	case OLAF_UPSTREAM:
		why = addr_parse(arg, "46638", &cf->upstream);
		return why != NULL ? why : addr_port(&cf->upstream) == 0 ?
		    "port 0 is not valid" : NULL;
	case OLAF_FORMAT:
		cf->bare = strcmp(arg, "bare") == 0;
		return cf->bare || strcmp(arg, "innet") == 0 ? NULL :
		    "not one of innet, bare";
	case OLAF_ELEMENTS:
		return num_u64(arg, 1, STREAM_ELEMENTS_MAX, &cf->elements);
	default:
		cf->table_path = arg;
		return NULL;
	}
}

static inline void
olaf_free_settings(void *conf)
{
	struct olaf_conf *cf = conf;

	clusters_free(&cf->table);
}

static inline const char *
olaf_check_settings(void *conf, struct program_place *place)
{
	struct olaf_conf *cf = conf;
	const bool addressed = place->address.sa.sa_family != 0 &&
	    !place->in_path;

	if (place->in_path && cf->upstream.sa.sa_family != 0)
		return "--upstream does not apply with --bridge: in the path "
		    "each packet goes to its own destination";
	if (place->in_path && cf->bare)
		return "--format bare does not apply with --bridge: the switch "
		    "finds packets by their codepoint, and bare packets have "
		    "none";
	if (cf->bare != (cf->table_path != NULL))
		return "--format bare and --cluster-table must be "
		    "given together";
	if (cf->bare)
		place->tagged = false;	/* bare packets have no room for tags */
	if (cf->bare)
		cf->table = clusters_load_or_exit(cf->table_path);
	if (addressed && cf->upstream.sa.sa_family == 0)
		return "--listen needs --upstream, the address to which "
		    "updates are forwarded";
	if (!addressed && cf->upstream.sa.sa_family != 0)
		return "--upstream needs --listen, the switch's own address";
	if (addressed && place->address.sa.sa_family !=
	    cf->upstream.sa.sa_family)
		return "--listen and --upstream must both be IPv4 or IPv6";
	if (addressed && addr_same(&place->address, &cf->upstream))
		return "--upstream is the switch's own address";
	place->parent = cf->upstream;
	return NULL;
}

/* Add each cluster that has workers to the list in c. */
static inline void
olaf_list_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct olaf *o = state;

	for (uint32_t k = 0; k < 65536; k++) {
		const uint32_t n = o->routes.cluster[k].count == 0 ? 0 :
		    routes_workers(&o->routes, (uint16_t)k,
		    now_ns);

		if (n == 0)
			continue;
		counters_in(c, NULL);
		counters_put(c, "job", k);
		counters_word(c, "kind", "cluster");
		counters_put(c, "members", n);
		counters_out(c);
	}
}

static inline bool
olaf_list_members(const void *state, uint16_t job, struct counters *c,
    uint64_t now_ns)
{
	const struct olaf *o = state;
	const struct route *r;
	uint32_t next = 0, id = 0;

	counters_put(c, "job", job);
	counters_list(c, "members");
	while ((r = routes_next(&o->routes, job, now_ns, &next)) != NULL) {
		const struct groups_name given = { r->cluster, r->worker };
		const struct groups_name own =
		    groups_name_below(&o->groups, given);

		counters_in(c, NULL);
		counters_put(c, "id", id++);
		counters_put(c, "worker", r->worker);
		counters_put(c, "cluster", own.cluster);
		routes_put_member(r, c, o->addressed ? &o->env->place->address :
		    NULL, now_ns);
		counters_out(c);
	}
	counters_list_end(c);
	return id > 0;
}

static inline bool
olaf_put_counters(const void *state, int32_t job, bool gauges,
    struct counters *c, uint64_t now_ns)
{
	static const char *const name[] = { "models", "weights", "no_route",
	    "no_room_for_route" };
	const struct olaf *o = state;

	if (job >= 0) {
		const uint32_t n = routes_workers(&o->routes, (uint16_t)job,
		    now_ns);

		if (gauges)
			counters_put(c, "members", n);
		else
			o->env->put_cluster(o->env->plane, (uint16_t)job, c);
		return n > 0;
	}
	for (int i = 0; i < OLAF_COUNTS && !gauges; i++)
		counters_put(c, name[i], o->n[i]);
	return true;
}

static inline void
olaf_put_report(const void *state, struct counters *c)
{
	olaf_put_counters(state, -1, false, c, 0);
}

static inline void
olaf_put_summary(const void *state, struct counters *c)
{
	const struct olaf *o = state;

	counters_put(c, "models", o->n[OLAF_MODELS]);
	counters_put(c, "weights", o->n[OLAF_WEIGHTS]);
	if (o->addressed)
		counters_put(c, "models without a route",
		    o->n[OLAF_NO_ROUTE]);
}

static inline bool
olaf_init_state(void *state, const void *conf, const struct program_env *env)
{
	struct olaf *o = state;

	o->cf = conf;
	o->env = env;
	o->addressed = env->place->address.sa.sa_family != 0 &&
	    !env->place->in_path;
	o->groups.most = routes_limit(env->place->memory_bytes / 2);
	o->quota = quota_of(0, &env->place->hash_seed);
	relay_tag_init(&o->relay_tag, env->place, o->addressed, &o->quota);
	transit_tag_init(
	    &o->transit_tag, env->place, !o->addressed && !o->cf->bare);
	if (!routes_init(&o->routes, env->place->memory_bytes / 2,
	    &env->place->hash_seed))
		return false;
	routes_set_quota(&o->routes, env->place->quotas ? &o->quota : NULL,
	    o->relay_tag.below.on);
	return true;
}

static inline void
olaf_free_state(void *state)
{
	struct olaf *o = state;

	routes_free(&o->routes);
	relay_tag_free(&o->relay_tag);
	transit_tag_free(&o->transit_tag);
	quota_free(&o->quota);
	groups_free(&o->groups);
}

/*
 * Look up the cluster of bare packets from address `from`.  Returns false if
 * the table contains no cluster for this address.
 */
static inline bool
olaf_find_cluster(
    const struct olaf *o, const union addr *from, uint16_t *cluster)
{
	const bool v6 = from->sa.sa_family == AF_INET6;

	return clusters_find(&o->cf->table, v6 ?
	    from->in6.sin6_addr.s6_addr : (const uint8_t *)&from->in.sin_addr,
	    v6, cluster);
}

/*
 * Is packet p a bare packet of Olaf?  This function is not inline, because
 * otherwise its search would force olaf_classify() to save registers for every
 * packet.
 */
__attribute__((noinline, unused)) static bool
olaf_classify_bare(const struct olaf *o, struct packet *p)
{
	if (o->addressed && addr_same(p->from, &o->cf->upstream))
		return true;
	p->bare = olaf_find_cluster(o, p->from, &p->cluster);
	return p->bare;
}

/*
 * Classify a packet by its codepoint or, if packets are bare, by its source
 * address.
 */
static inline enum packet_class
olaf_classify(void *state, struct packet *p)
{
	const struct olaf *o = state;
	const bool marked = (p->tos & 0xfc) == UPDATE_TOS ||
	    (o->addressed && (p->tos & 0xfc) == UPDATE_TAGGED_TOS);

	if (p->frame == NULL ? o->env->place->in_path : p->is == FRAME_OTHER)
		return PACKET_REGULAR;	/* a packet without a frame came through
					 * a socket, so it is for the switch */
	if (o->transit_tag.on)
		return transit_tag_classify(&o->transit_tag, p);
	if (o->addressed && !addr_same(p->to, &o->env->place->address))
		return addr_same(p->from, &o->env->place->address)
			   ? PACKET_FROM_PROGRAM
		       : marked ? PACKET_BETWEEN_OTHERS
				: PACKET_REGULAR;
	return (o->cf->bare ? olaf_classify_bare(o, p) : marked) ?
	    PACKET_FOR_PROGRAM : PACKET_REGULAR;
}

/*
 * Parse packet p into *u, and replace the name of the worker by the name that
 * the server uses.  Returns UPDATE_OK, or the reason why the packet is ignored.
 */
static inline unsigned
olaf_parse_update(struct olaf *o, struct packet *p, struct update *u,
    uint64_t now_ns)
{
	struct groups_name own, given;
	struct frame_flow flow;
	unsigned bad;

	if (p->update != NULL) {
		*u = *p->update;
		return UPDATE_OK;
	}
	if (o->cf->bare) {
		flow = flow_from_addrs(p->from, p->to);
		if (!p->bare)		/* olaf_classify() has not looked up the
					 * cluster */
			olaf_find_cluster(o, p->from, &p->cluster);
		bad = soundness_bare(p->payload, p->bytes, p->cluster,
		    clusters_worker(&flow), now_ns, u);
		p->bare = true;
		if (bad == UPDATE_OK)
			u->sequence = ++o->bare_seen;
	} else {
		bad = update_parse_as(p->tos, p->payload, p->bytes, u);
	}
	if (bad != UPDATE_OK || o->groups.count == 0 ||
	    u->kind == UPDATE_MODEL)
		return bad;
	own = (struct groups_name){ u->cluster, u->worker };
	given = groups_name_above(&o->groups, own);
	if (groups_key(own) == groups_key(given))
		return bad;
	u->cluster = given.cluster;
	u->worker = given.worker;
	if (!o->cf->bare) {
		const ptrdiff_t at = u->vec - p->payload;

		o->env->make_writable(o->env->plane, p);
		update_put(p->payload, u);
		u->vec = p->payload + at;
	}
	return bad;
}

/*
 * Record the address of a worker, because models for the worker are sent to
 * this address.
 */
static inline void
olaf_note_route(struct olaf *o, const struct packet *p, const struct update *u,
    uint64_t now_ns)
{
	if (p->from != NULL && (o->addressed || o->env->place->live) &&
	    !routes_note(&o->routes, u->cluster, u->worker, p->from, now_ns))
		o->n[OLAF_NO_ROOM]++;
}

/* Post a packet to the upstream without adding it to the queue. */
static inline void
olaf_post_up(struct olaf *o, const struct packet *p, uint64_t now_ns)
{
	struct outbox *out = o->env->out;
	uint8_t *q = p->payload;

	if (o->relay_tag.above.on) {
		q = outbox_room(out, p->bytes);
		memcpy(q, p->payload, p->bytes);
		relay_tag_retag_up(&o->relay_tag, q, p->bytes, now_ns);
	}
	outbox_add(out, POST_ONE, 0, &o->cf->upstream,
	    relay_tag_tos(&o->relay_tag), q, p->bytes);
}

/*
 * Return the bytes of model p for the workers, with a new tag if data is
 * tagged.
 */
static inline const uint8_t *
olaf_retag_model(struct olaf *o, const struct packet *p)
{
	uint8_t *q;

	if (!o->relay_tag.below.on)
		return p->payload;
	q = outbox_room(o->env->out, p->bytes);
	memcpy(q, p->payload, p->bytes);
	relay_tag_retag_down(&o->relay_tag, q, p->bytes);
	return q;
}

/* Process an update or initial weights from a worker or from another switch. */
static inline void
olaf_handle_update(struct olaf *o, struct packet *p, const struct update *u,
    uint64_t now_ns)
{
	const struct program_env *env = o->env;
	const union addr *to = o->addressed ? &o->cf->upstream : p->to;

	if (u->kind == UPDATE_UPDATE) {
		if (env->enqueue_update(env->plane,
			o->cf->bare && o->addressed ? 1u + u->cluster
						    : PACKET_SOCKET_OWN,
			to, p, u, now_ns))
			olaf_note_route(o, p, u, now_ns);
		return;
	}
	olaf_note_route(o, p, u, now_ns);
	o->n[OLAF_WEIGHTS]++;
	if (o->addressed) {
		olaf_post_up(o, p, now_ns);
		return;
	}
	if (o->transit_tag.on)
		transit_tag_retag_packet(&o->transit_tag, env, p);
	env->forward_packet(env->plane, p, now_ns);
}

/*
 * Send a copy of a model to the worker that has route r.  The copy contains
 * `own`, the name that the worker uses for itself.
 */
static inline void
olaf_send_renamed(struct olaf *o, const struct packet *p,
    const struct update *u, const struct route *r, struct groups_name own)
{
	struct update v = *u;
	uint8_t *q = outbox_room(o->env->out, p->bytes);

	v.cluster = own.cluster;
	if (v.worker != UPDATE_ALL_WORKERS)
		v.worker = own.worker;
	memcpy(q, p->payload, p->bytes);
	update_put(q, &v);
	relay_tag_retag_down(&o->relay_tag, q, p->bytes);
	outbox_add(o->env->out, POST_ONE, 0, &r->to,
	    relay_tag_tos(&o->relay_tag), q, p->bytes);
}

/*
 * Send a model to one worker or to all workers of a cluster.  This function
 * must be used only if no worker has been moved.
 */
static inline void
olaf_distribute(struct olaf *o, const struct packet *p, const struct update *u,
    uint64_t now_ns)
{
	const bool all = u->worker == UPDATE_ALL_WORKERS;
	const uint8_t tos = relay_tag_tos(&o->relay_tag);
	const struct route *r = all ? NULL : routes_find(&o->routes,
	    u->cluster, u->worker, now_ns);
	uint32_t next = 0;

	if (all ? routes_next_address(&o->routes, u->cluster, now_ns, &next) ==
	    NULL : r == NULL)
		o->n[OLAF_NO_ROUTE]++;
	else if (all)
		outbox_add(o->env->out, POST_GROUP, u->cluster, NULL, tos,
		    olaf_retag_model(o, p), p->bytes);
	else
		outbox_add(o->env->out, POST_ONE, 0, &r->to, tos,
		    olaf_retag_model(o, p), p->bytes);
	if (all)
		routes_use_credit(&o->routes, u->cluster);
}

/*
 * Send a model to one worker or to all workers of a cluster.  This function
 * must be used if workers have been moved.  Each worker gets its own copy.
 */
static inline void
olaf_distribute_renamed(struct olaf *o, const struct packet *p,
    const struct update *u, uint64_t now_ns)
{
	const bool all = u->worker == UPDATE_ALL_WORKERS;
	const struct route *r;
	uint32_t next = 0, sent = 0;

	while ((r = routes_next(&o->routes, u->cluster, now_ns, &next)) !=
	    NULL) {
		const struct groups_name given = { r->cluster, r->worker };

		if (all ? !routes_may_send(&o->routes, routes_place(&o->routes,
		    r->place)) : u->worker != r->worker)
			continue;
		sent++;
		olaf_send_renamed(
		    o, p, u, r, groups_name_below(&o->groups, given));
	}
	o->n[OLAF_NO_ROUTE] += sent == 0;
	if (all)
		routes_use_credit(&o->routes, u->cluster);
}

/*
 * Forward a model if the switch is in the path.  If the worker to which the
 * model is addressed was moved, restore the worker's own name first.
 */
static inline void
olaf_forward_model(struct olaf *o, struct packet *p, struct update *u,
    uint64_t now_ns)
{
	const struct route *r;
	uint32_t next = 0;

	while (o->groups.count > 0 && p->to != NULL &&
	    (r = routes_next(&o->routes, u->cluster, now_ns, &next)) != NULL) {
		const struct groups_name given = { r->cluster, r->worker };
		const struct groups_name own =
		    groups_name_below(&o->groups, given);

		if (!addr_same(&r->to, p->to) || groups_key(own) ==
		    groups_key(given))
			continue;
		u->cluster = own.cluster;
		if (u->worker != UPDATE_ALL_WORKERS)
			u->worker = own.worker;
		o->env->make_writable(o->env->plane, p);
		update_put(p->payload, u);
		break;
	}
	if (o->transit_tag.on)
		transit_tag_retag_packet(&o->transit_tag, o->env, p);
	o->env->forward_packet(o->env->plane, p, now_ns);
}

/*
 * Process a model that comes back from the server: write the status of the
 * queue into it and send it to its workers.
 */
static inline void
olaf_handle_model(
    struct olaf *o, struct packet *p, struct update *u, uint64_t now_ns)
{
	const struct program_env *env = o->env;

	o->n[OLAF_MODELS]++;
	if (p->from != NULL)
		env->learn_shape(env->plane, o->addressed ? &o->cf->upstream :
		    p->from, p, u, now_ns);
	if (env->stamp_status(env->plane,
		o->addressed ? &o->cf->upstream : p->from, &u->status,
		now_ns)) {
		env->make_writable(env->plane, p);
		update_put_status(p->payload + UPDATE_HEADER_BYTES,
		    &u->status);
	}
	if (!o->addressed)
		olaf_forward_model(o, p, u, now_ns);
	else if (o->groups.count > 0)
		olaf_distribute_renamed(o, p, u, now_ns);
	else
		olaf_distribute(o, p, u, now_ns);
}

/*
 * Process a bare answer from the upstream, which arrived at the socket of a
 * cluster.
 */
static inline void
olaf_handle_bare_model(struct olaf *o, const struct packet *p, uint64_t now_ns)
{
	const uint16_t cluster = (uint16_t)(p->socket - 1);
	uint32_t next = 0;

	o->n[OLAF_MODELS]++;
	if (p->socket == PACKET_SOCKET_OWN ||
	    routes_next_address(&o->routes, cluster, now_ns, &next) == NULL)
		o->n[OLAF_NO_ROUTE]++;
	else
		outbox_add(o->env->out, POST_GROUP, cluster, NULL, p->tos,
		    p->payload, p->bytes);
	routes_use_credit(&o->routes, cluster);
}

static inline void
olaf_receive(void *state, struct packet *p, uint64_t now_ns)
{
	struct olaf *o = state;
	bool down = o->addressed && addr_same(p->from, &o->cf->upstream);
	struct update u;
	unsigned bad;

	if (o->cf->bare && down) {
		olaf_handle_bare_model(o, p, now_ns);
		return;
	}
	if (p->socket == TRANSIT_TAG_SOCKET && o->transit_tag.on) {
		transit_tag_forward_control(&o->transit_tag, o->env, p, now_ns);
		return;
	}
	bad = UPDATE_OK;
	if (o->transit_tag.on)
		bad = transit_tag_check(&o->transit_tag, p, &down);
	if (o->addressed && !o->cf->bare && p->update == NULL)
		bad = relay_tag_check(&o->relay_tag, down, p);
	if (bad == UPDATE_OK)
		bad = olaf_parse_update(o, p, &u, now_ns);
	if (bad == UPDATE_OK && (o->addressed || o->transit_tag.on) && down !=
	    (u.kind == UPDATE_MODEL))
		bad = SOUNDNESS_FOREIGN;
	if (bad == UPDATE_OK && o->cf->elements > 0 && u.elements !=
	    o->cf->elements)
		bad = SOUNDNESS_MISMATCHED;
	if (bad != UPDATE_OK)
		o->env->count_ignored(o->env->plane, bad);
	else if (u.kind == UPDATE_MODEL)
		olaf_handle_model(o, p, &u, now_ns);
	else
		olaf_handle_update(o, p, &u, now_ns);
}

static inline const union addr *
olaf_next_member(
    const void *state, uint32_t group, uint32_t *next, uint64_t now_ns)
{
	const struct olaf *o = state;

	return routes_next_address(&o->routes, (uint16_t)group, now_ns, next);
}

/* Move a worker to another cluster, because a Regroup message requests this. */
static inline void
olaf_move_worker(struct olaf *o, const struct control *c, struct control_ack *a,
    uint64_t now_ns)
{
	struct groups_name own, given, was;
	struct control_regroup r;

	if (!control_get_regroup(c, &r)) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	own = (struct groups_name){ c->job, r.worker };
	given = (struct groups_name){ r.cluster, r.as };
	if (groups_key(own) != groups_key(given) &&
	    routes_find(&o->routes, given.cluster, given.worker, now_ns) !=
		NULL &&
	    groups_key(groups_name_below(&o->groups, given)) ==
		groups_key(given)) {
		a->status = CONTROL_REFUSED;	/* another worker of the cluster
						 * already has this number */
		return;
	}
	was = groups_name_above(&o->groups, own);
	if (!groups_move(&o->groups, own, given))
		a->status = CONTROL_REFUSED;
	else if (groups_key(was) != groups_key(given))
		routes_remove(&o->routes, was.cluster, was.worker);
}

static inline enum program_reply
olaf_handle_request(void *state, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct olaf *o = state;

	if (c->action == CONTROL_OPEN)
		return relay_tag_handle_open(&o->relay_tag, from, c, a, now_ns);
	if (c->action != CONTROL_REGROUP)
		return PROGRAM_UNKNOWN;
	olaf_move_worker(o, c, a, now_ns);
	return PROGRAM_ANSWERED;
}

static inline void
olaf_receive_from_parent(
    void *state, const uint8_t *p, size_t len, uint64_t now_ns)
{
	struct olaf *o = state;

	relay_tag_receive_control(&o->relay_tag, p, len, now_ns);
}

static inline uint64_t
olaf_deadline_ns(const void *state)
{
	const struct olaf *o = state;

	return handshake_client_deadline_ns(&o->relay_tag.above);
}

static inline void
olaf_on_deadline(void *state, uint64_t now_ns)
{
	struct olaf *o = state;

	relay_tag_send_open(
	    &o->relay_tag, o->env->out, &o->cf->upstream, now_ns);
}

/*
 * Replace the authentication tag of the update in slot s, which is leaving the
 * queue.
 */
static inline void
olaf_retag_update(void *state, struct slot *s, uint64_t now_ns)
{
	struct olaf *o = state;

	if (o->transit_tag.on)
		transit_tag_retag_slot(&o->transit_tag, s);
	else
		relay_tag_retag_up(&o->relay_tag, s->bytes + s->payload_at,
		    s->have - s->payload_at, now_ns);
}

static inline bool
olaf_is_member(const void *state, const union addr *at, int32_t job)
{
	const struct olaf *o = state;

	(void)job;
	return handshake_server_knows(&o->relay_tag.below, at);
}

static inline uint32_t
olaf_member_count(const void *state)
{
	const struct olaf *o = state;

	return o->relay_tag.below.rows.count;
}

static inline const char *
olaf_describe_problem(void *state, char *text, size_t room, uint64_t now_ns)
{
	struct olaf *o = state;

	return relay_tag_describe_problem(
	    &o->relay_tag, &o->cf->upstream, text, room, now_ns);
}

static inline uint16_t
olaf_default_port(const void *conf)
{
	(void)conf;
	return UPDATE_PORT;
}

static inline bool
olaf_depends_on(const void *state, const union addr *at)
{
	const struct olaf *o = state;

	return o->addressed && addr_same(at, &o->cf->upstream);
}

static const struct program olaf_program = {
    .name = "olaf",
    .about = "merge updates that wait for a server",
    .default_port = olaf_default_port,
    .tos = UPDATE_TOS,
    .rate_bps = 40000000000,
    .merges_updates = true,
    .bypasses_queues = true,
    .supports_tags = true,
    .deadline_ns = olaf_deadline_ns,
    .deadline_needs_tags = true,
    .on_deadline = olaf_on_deadline,
    .parent_message = olaf_receive_from_parent,
    .retag_update = olaf_retag_update,
    .is_member = olaf_is_member,
    .member_count = olaf_member_count,
    .describe_problem = olaf_describe_problem,
    .conf_bytes = sizeof(struct olaf_conf),
    .options = olaf_opts,
    .set_defaults = olaf_set_defaults,
    .set_option = olaf_set_option,
    .check_settings = olaf_check_settings,
    .free_settings = olaf_free_settings,
    .state_bytes = sizeof(struct olaf),
    .init_state = olaf_init_state,
    .free_state = olaf_free_state,
    .classify = olaf_classify,
    .receive = olaf_receive,
    .each_member = olaf_next_member,
    .handle_request = olaf_handle_request,
    .list_jobs = olaf_list_jobs,
    .list_members = olaf_list_members,
    .put_counters = olaf_put_counters,
    .put_report = olaf_put_report,
    .put_summary = olaf_put_summary,
    .depends_on = olaf_depends_on,
};

#endif
