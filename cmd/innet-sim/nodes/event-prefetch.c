/*
 * event-prefetch.c - prefetch the data that the next events will read; see
 * event-prefetch.h
 */
#include "config.h"

#include "cmd/innet-sim/nodes/event-prefetch.h"
#include "cmd/innet-sim/nodes/node-switch.h"
#include "common/base/prefetch.h"

enum { FEW = 1000 };	/* number of workers whose data fit into the cache */

/* Prefetch the data that tell which objects an event needs. */
static void
fetch_first(const struct sim *s, struct heap x)
{
	const uint32_t id = sim_id_of(x);

	switch (sim_class_of(x)) {
	case SIM_GENERATE:
		prefetch_bytes(&s->worker[id], sizeof(*s->worker));
		break;
	case SIM_LEAVE:
		prefetch_bytes(slots_head(&s->pipe[id].egress->slots),
		    sizeof(struct slot));
		break;
	case SIM_DELIVERY:
	case SIM_ARRIVAL:
		prefetch_bytes(&s->pipe[id].ring.item[s->pipe[id].ring.head],
		    sizeof(struct sim_flying));
		break;
	default:
		break;
	}
}

/* Prefetch the data that node n keeps about a cluster. */
static void
fetch_cluster(const struct sim *s, const struct sim_node *n, uint16_t cluster)
{
	if (n->kind == &node_switch_kind)
		port_prefetch(n->up->egress, cluster - n->first);
	else
		prefetch_bytes(sim_cluster(s, cluster),
		    sizeof(struct sim_cluster));
}

/*
 * Prefetch the objects that event x needs.  The data that identify them are
 * already in the cache.
 */
static void
fetch_rest(const struct sim *s, struct heap x)
{
	const uint32_t id = sim_id_of(x);
	const struct sim_pipe *p = &s->pipe[id];
	const struct sim_ring *r = &p->ring;
	const struct sim_worker *w = &s->worker[id];
	const struct slot *head;

	switch (sim_class_of(x)) {
	case SIM_GENERATE:
		prefetch_bytes(&s->cluster[w->cluster], sizeof(*s->cluster));
		if (w->up == SIM_NONE)
			fetch_cluster(s, &s->node[w->at],
			    s->cluster[w->cluster].id);
		break;
	case SIM_LEAVE:
		head = slots_head(&p->egress->slots);
		if (head != NULL && head->is_update)
			port_prefetch(p->egress, head->up.cluster);
		break;
	case SIM_DELIVERY:
	case SIM_ARRIVAL:
		if (r->count > 0 && r->item[r->head].p.up.kind ==
		    UPDATE_UPDATE)
			fetch_cluster(s, p->to, r->item[r->head].p.up.cluster);
		break;
	default:
		break;
	}
}

void
event_prefetch_day(const struct sim *s)
{
	const struct calendar *c = &s->events;
	const struct calendar_list *tomorrow = calendar_tomorrow(c);

	if (s->workers <= FEW)		/* the scenario has no network of
					 * updates, or only a small one */
		return;
	for (size_t i = 0; i < tomorrow->n; i++)
		fetch_first(s, tomorrow->item[i]);
	for (size_t i = c->at; i < c->today.n; i++)
		fetch_rest(s, c->today.item[i]);
}
