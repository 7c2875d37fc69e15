/* update-network.c - build a network of updates; see update-network.h */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/nodes/event-prefetch.h"
#include "cmd/innet-sim/nodes/node-server.h"
#include "cmd/innet-sim/nodes/node-switch.h"
#include "cmd/innet-sim/nodes/node-traffic.h"
#include "cmd/innet-sim/nodes/node-worker.h"
#include "cmd/innet-sim/nodes/plane-driver.h"
#include "cmd/innet-sim/nodes/update-frames.h"
#include "cmd/innet-sim/nodes/update-network.h"
#include "common/base/message.h"
#include "common/wire/frame.h"

/*
 * Return the first switch with this name, or the server with this name, and set
 * *count to the number of nodes that have it.
 */
static struct sim_node *
find_node(const struct sim *s, const char *name, uint64_t *count)
{
	struct sim_node *at = s->node;
	int64_t server = scenario_server(s->sc, name);

	*count = 1;
	for (size_t i = 0; i < s->sc->switches.n; i++) {
		const struct scenario_switch *w = &scenario_switches(s->sc)[i];

		if (strcmp(w->name, name) == 0) {
			*count = w->count;
			return at;
		}
		at += w->count;
	}
	return at + server;
}

static void
set_name(struct sim_node *n, const char *name, uint64_t i, uint64_t count)
{
	if (count == 1)
		snprintf(n->name, sizeof(n->name), "%s", name);
	else
		snprintf(n->name, sizeof(n->name), "%s.%u", name,
		    (unsigned)i);
}

/* Count the nodes that send regular traffic. */
static uint32_t
count_sources(const struct scenario *sc)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sc->traffic.n; i++)
		n += (uint32_t)scenario_switches(sc)[scenario_switch(sc,
		    scenario_traffic(sc)[i].at)].count;
	return n;
}

/* Return the node of a group of workers. */
static struct sim_node *
get_group_node(const struct sim *s, uint32_t number)
{
	return &s->node[s->nodes - count_sources(s->sc) - s->sc->workers.n +
			number];
}

static void
add_nodes(struct sim *s)
{
	const struct scenario *sc = s->sc;
	uint32_t at = 0;

	for (size_t i = 0; i < sc->switches.n; i++)
		s->nodes += (uint32_t)scenario_switches(sc)[i].count;
	s->nodes +=
	    (uint32_t)(sc->servers.n + sc->workers.n) + count_sources(sc);
	s->node = sim_alloc_large(s->nodes, sizeof(*s->node), "nodes");
	for (size_t i = 0; i < sc->switches.n; i++) {
		const struct scenario_switch *w = &scenario_switches(sc)[i];

		for (uint64_t k = 0; k < w->count; k++) {
			set_name(&s->node[at], w->name, k, w->count);
			s->node[at++].kind = &node_switch_kind;
		}
	}
	for (size_t i = 0; i < sc->servers.n; i++) {
		set_name(&s->node[at], scenario_servers(sc)[i].name, 0, 1);
		s->node[at].own = (void *)(uintptr_t)&scenario_servers(sc)[i];
		s->node[at++].kind = &node_server_kind;
	}
	for (size_t i = 0; i < sc->workers.n; i++) {
		set_name(&s->node[at], scenario_workers(sc)[i].name, 0, 1);
		s->node[at++].kind = &node_worker_kind;
	}
	for (; at < s->nodes; at++)
		s->node[at].kind = &node_traffic_kind;
	for (uint32_t i = 0; i < s->nodes; i++)
		s->node[i].index = i;
}

/* Return the number of pipes that the access links of g need. */
static uint32_t
count_access_pipes(const struct scenario *sc, const struct scenario_workers *g)
{
	const uint64_t workers = (g->clusters.to - g->clusters.from + 1) *
	    g->workers;

	if (g->access_bps == 0 && g->access_propagation_ns == 0 &&
	    !(g->access_loss > 0))
		return 0;
	return 2 * (uint32_t)(g->shared ? scenario_switches(sc)[
	    scenario_switch(sc, g->at)].count : workers);
}

static void
add_links(struct sim *s)
{
	const struct scenario *sc = s->sc;
	uint32_t pipes = 0;

	for (size_t i = 0; i < sc->switches.n; i++)
		pipes += 2 * (uint32_t)scenario_switches(sc)[i].count;
	for (size_t i = 0; i < sc->workers.n; i++)
		pipes += count_access_pipes(sc, &scenario_workers(sc)[i]);
	s->pipe = sim_alloc_large(pipes, sizeof(*s->pipe), "pipes");
	for (size_t i = 0; i < sc->links.n; i++) {
		const struct scenario_link *l = &scenario_links(sc)[i];
		uint64_t n, m;
		struct sim_node *from = find_node(s, l->from, &n);
		struct sim_node *to = find_node(s, l->to, &m);

		for (uint64_t k = 0; k < n; k++) {
			struct sim_pipe *p = sim_add_link(s, &from[k],
			    &to[k * m / n], l->rate_bps, l->back_bps ==
			    SCENARIO_WORD1 ? l->rate_bps : l->back_bps,
			    l->propagation_ns, l->loss);

			p[0].link.frame_ns = p[1].link.frame_ns = l->frame_ns;
			if (l->queue != SCENARIO_WORD1)
				p[1].queue = (uint32_t)l->queue;
			from[k].up = p;
		}
	}
}

/* Return the cluster with this id.  Create it if it is new. */
static struct sim_cluster *
add_cluster(struct sim *s, uint16_t id, uint32_t number)
{
	const struct scenario_workers *g = &scenario_workers(s->sc)[number];
	const uint32_t floats = (uint32_t)(g->payload_bytes -
	    UPDATE_HEADER_BYTES) / 4;
	const uint32_t elements = g->elements == SCENARIO_WORD1 ? floats :
	    (uint32_t)g->elements;
	struct sim_cluster *c;

	if (s->cluster_of[id] != SIM_NONE)
		return sim_cluster(s, id);
	c = &s->cluster[s->cluster_of[id] = s->clusters++];
	c->id = id;
	c->group = number;
	c->packets = update_packets(elements, floats);
	c->frame = FRAME_V4_BYTES + (uint32_t)g->payload_bytes;
	c->last_frame = c->frame - 4 * (c->packets * floats - elements);
	if (g->frame_bytes != SCENARIO_WORD1)
		c->frame = c->last_frame = (uint32_t)g->frame_bytes;
	c->age = sim_alloc(c->packets, sizeof(*c->age), "ages");
	c->range = sim_alloc(c->packets, sizeof(*c->range), "models");
	for (uint32_t i = 0; i < c->packets; i++)
		c->range[i].version = 1; /* version number of a worker's own
					  * weights */
	if (s->sc->ages_from < SCENARIO_WORD2) {
		for (uint32_t i = 0; i < c->packets; i++)
			aom_start(&c->age[i], s->sc->ages_from,
			    s->sc->ages_from);
	}
	return c;
}

/* Append a route to a cluster to the routes of n. */
static void
add_route(struct sim *s, struct sim_node *n, uint16_t cluster,
    struct sim_route r)
{
	uint32_t *at = hashmap_put(&n->cluster, cluster, SIM_NONE);

	if (s->routes == s->routes_room) {
		s->routes_room = s->routes_room == 0 ? 64 :
		    2 * s->routes_room;
		s->route = realloc(s->route, s->routes_room *
		    sizeof(*s->route));
	}
	if (at == NULL || s->route == NULL)
		err(1, "routes");
	r.next = SIM_NONE;
	for (; *at != SIM_NONE; at = &s->route[*at].next)
		r.again |= r.down != NULL && s->route[*at].down == r.down;
	*at = s->routes;
	s->route[s->routes++] = r;
}

/*
 * Add routes to the workers of a cluster at switch n.  The first of these
 * workers has the index `base`.
 */
static void
add_routes(struct sim *s, struct sim_node *node, struct sim_node *n,
    uint16_t cluster, uint32_t base, struct sim_pipe *shared)
{
	const struct sim_group *group = node->own;
	struct sim_route r = { .first = (uint32_t)group->cf->first,
	    .n = (uint32_t)group->cf->workers, .group = node, .base = base };

	if (shared != NULL)
		add_route(s, node, cluster, r);	/* add a route at the end of the
						 * link where the group is */
	r.down = shared;
	for (; n != NULL; n = n->up == NULL ? NULL : n->up->to) {
		add_route(s, n, cluster, r);
		r.down = n->up == NULL ? NULL : n->up + 1;
	}
}

/* Add an access link, which belongs to one worker or is shared by the group. */
static struct sim_pipe *
add_access(struct sim *s, struct sim_node *node, struct sim_node *at,
    const struct scenario_workers *g, uint32_t port)
{
	struct sim_pipe *p = sim_add_link(s, node, at, g->access_bps,
	    g->access_bps, g->access_propagation_ns, g->access_loss);

	p[1].port = port;
	if (g->access_queue != SCENARIO_WORD1)
		p[0].queue = p[1].queue = (uint32_t)g->access_queue;
	return p;
}

/* Make the transmission control of a group, or return NULL if it uses none. */
static struct txctl *
make_controls(const struct sim_group *group)
{
	const struct txctl each = { .kind = (enum txctl_kind)group->cf->control,
	    .threshold_ns = group->cf->threshold_ns };
	struct txctl *all;

	if (each.kind == TXCTL_NONE)
		return NULL;
	all = sim_alloc(group->n, sizeof(*all), "workers");
	for (uint32_t i = 0; i < group->n; i++)
		all[i] = each;
	return all;
}

/*
 * Add the k-th cluster of a group at a switch; its workers get the next
 * indexes.
 */
static void
add_cluster_workers(struct sim *s, struct sim_node *node, uint32_t number,
    uint64_t k, struct sim_node *at, struct sim_pipe *shared)
{
	const struct scenario_workers *g = &scenario_workers(s->sc)[number];
	const uint16_t id = (uint16_t)(g->clusters.from + k);
	struct sim_cluster *c = add_cluster(s, id, number);
	const uint32_t base = s->workers;
	const bool own = shared == NULL && count_access_pipes(s->sc, g) > 0;

	c->goal += g->goal * g->workers;
	for (uint32_t i = 0; i < g->workers; i++) {
		struct sim_worker *w = &s->worker[s->workers];

		*w = (struct sim_worker){ .group = node->index,
		    .at = at->index,
		    .cluster = (uint32_t)(c - s->cluster),
		    .id = (uint32_t)g->first + i,
		    .up = SIM_NONE, .down = SIM_NONE };
		if (shared != NULL)
			w->up = shared->index;
		if (own) {
			w->up = add_access(s, node, at, g,
			    s->workers)->index;
			w->down = w->up + 1;
		}
		s->workers++;
	}
	add_routes(s, node, at, id, base, shared == NULL ? NULL :
	    shared + 1);
}

static void
add_workers(struct sim *s, uint32_t number)
{
	const struct scenario_workers *g = &scenario_workers(s->sc)[number];
	const uint64_t clusters = g->clusters.to - g->clusters.from + 1;
	struct sim_node *node = get_group_node(s, number);
	struct sim_group *group = sim_alloc(1, sizeof(*group), "groups");
	uint64_t n;
	struct sim_node *at = find_node(s, g->at, &n), *was = NULL;
	struct sim_pipe *shared = NULL;

	*group = (struct sim_group){ .cf = g, .base = s->workers,
	    .n = (uint32_t)(clusters * g->workers),
	    .arrivals = { .kind = (enum arrivals_kind)g->arrivals,
	    .burst = g->burst, .jitter_ns = g->jitter_ns, .walk = g->walk,
	    .aligned = g->phase == SCENARIO_ALIGNED },
	    .stop_ns = g->stop_ns < s->sc->duration_ns ? g->stop_ns :
	    s->sc->duration_ns };
	group->control = make_controls(group);
	node->own = group;
	for (uint64_t k = 0; k < clusters; k++) {
		struct sim_node *to = &at[k * n / clusters];

		if (g->shared && count_access_pipes(s->sc, g) > 0 && to != was)
			shared = add_access(s, node, to, g, SIM_NONE);
		add_cluster_workers(s, node, number, k, to, shared);
		was = to;
	}
}

static void
open_switches(struct sim *s)
{
	struct sim_node *n = s->node;
	size_t ports = 0;

	for (size_t i = 0; i < s->sc->switches.n; i++)
		ports += scenario_switches(s->sc)[i].count;
	s->port = sim_alloc_large(ports, sizeof(*s->port), "switches");
	s->plane = sim_alloc(1, sizeof(*s->plane), "switches");
	sim_plane_open_ports(s->plane, s);
	for (size_t i = 0; i < s->sc->switches.n; i++) {
		const struct scenario_switch *w = &scenario_switches(s->sc)[i];

		for (uint64_t k = 0; k < w->count; k++, n++) {
			n->own = &s->port[n->index];
			if (!node_switch_open(s, n, w))
				err(1, "switch %s", n->name);
		}
	}
}

/*
 * Schedule two events for each fault i: number 2 i for its beginning and number
 * 2 i + 1 for its end.
 */
static void
add_faults(struct sim *s)
{
	for (uint32_t i = 0; i < s->sc->faults.n; i++) {
		const struct scenario_fault *f = &scenario_faults(s->sc)[i];

		sim_schedule(s, SIM_FAULT, 2 * i, f->from_ns);
		sim_schedule(s, SIM_FAULT, 2 * i + 1, f->to_ns);
	}
}

/* Add a source at each switch that a traffic entry names. */
static void
add_traffic(struct sim *s)
{
	const struct scenario *sc = s->sc;
	struct sim_node *n = get_group_node(s, (uint32_t)sc->workers.n);

	s->source = sim_alloc(count_sources(sc), sizeof(*s->source), "sources");
	for (size_t i = 0; i < sc->traffic.n; i++) {
		uint64_t count;
		struct sim_node *at = find_node(s, scenario_traffic(sc)[i].at,
		    &count);

		for (uint64_t k = 0; k < count; k++)
			node_traffic_add(s, n++, &at[k],
			    &scenario_traffic(sc)[i]);
	}
}

/* Count a lost packet. */
static void
count_loss(struct sim *s, const struct sim_packet *p, enum sim_loss why)
{
	if (p->up.kind == UPDATE_UPDATE)
		sim_cluster(s, p->up.cluster)->lost[why] += p->up.merged;
	else if (p->up.kind == UPDATE_MODEL)
		s->models_lost[why]++;
	else
		node_traffic_of(s, p)->lost[why]++;
}

/*
 * Fail the links or switches of fault i / 2 if i is even; otherwise restore
 * them.
 */
static void
set_failed(struct sim *s, uint32_t i)
{
	const struct scenario_fault *f = &scenario_faults(s->sc)[i / 2];
	const bool down = i % 2 == 0, link = f->link[0] != '\0';
	const char *name = link ? f->link : f->node;
	const int64_t first = scenario_switch(s->sc, name);
	uint32_t at = 0;

	for (int64_t k = 0; k < first; k++)
		at += (uint32_t)scenario_switches(s->sc)[k].count;
	for (uint32_t k = 0; k < scenario_switches(s->sc)[first].count; k++) {
		struct sim_node *n = &s->node[at + k];

		if (f->index != SCENARIO_WORD1 && f->index != k)
			continue;
		if (link)
			sim_fail_link(s, n->up, down);
		else
			sim_fail_node(s, n, down);
	}
}

static void
count_queued(struct sim *s)
{
	plane_count_queued(&s->plane->pl);
}

const struct sim_network update_network = { .lose = count_loss,
    .fault = set_failed,
    .generate = node_worker_generate,
    .leave = sim_plane_handle_departure,
    .clear_port = sim_plane_clear_port,
    .put_frame = update_frames_put,
    .new_day = event_prefetch_day,
    .end = count_queued };

void
update_network_build(struct sim *s)
{
	const struct scenario *sc = s->sc;
	uint64_t workers = 0, clusters = 0;

	for (size_t i = 0; i < sc->workers.n; i++) {
		const struct scenario_workers *g = &scenario_workers(sc)[i];

		const uint64_t n = g->clusters.to - g->clusters.from + 1;

		workers += n * g->workers;
		clusters += n;
	}
	if (clusters > 65536)	/* groups share clusters, because there are only
				 * 65,536 ids */
		clusters = 65536;
	s->worker = sim_alloc_large(workers, sizeof(*s->worker), "workers");
	s->cluster = sim_alloc_large(clusters, sizeof(*s->cluster), "clusters");
	s->cluster_of = malloc(65536 * sizeof(*s->cluster_of));
	if (s->cluster_of == NULL)
		err(1, "clusters");
	memset(s->cluster_of, 0xff, 65536 * sizeof(*s->cluster_of));
	add_nodes(s);
	add_links(s);
	for (uint32_t i = 0; i < sc->workers.n; i++)
		add_workers(s, i);
	open_switches(s);
	add_faults(s);
	for (uint32_t i = 0; i < sc->workers.n; i++)
		node_worker_start(s, get_group_node(s, i));
	add_traffic(s);
}
