/*
 * A training's switches and server: those that sum are planes, the others pass
 * on what is for others: train.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/run/captures.h"
#include "cmd/innet-sim/training/train.h"

/* The pipe from a switch toward node n. */
static struct sim_pipe *
way_to(const struct train_switch *w, const struct sim_node *n)
{
	const struct training *t = w->t;
	uint32_t i;

	if (n == t->server)
		return w->server != NULL ? w->server : w->up;
	if (n < t->host)	/* a switch: the core, or one of the racks */
		return n == t->sw ? w->up : w->down[n - t->sw - 1];
	i = (uint32_t)(n - t->host);
	if (w->node == t->sw && t->racks > 0)
		return w->down[i / t->cf->rack];
	return i - w->first < w->n ? w->down[i - w->first] : w->up;
}

/* A server's process begins to send an answer: what that takes. */
static void
answer(struct train_switch *w, const struct seg *g)
{
	const struct scenario_training *cf = w->t->cf;
	const bool every = cf->mode == TRAINING_ASYNC;

	if (w->busy_ns < w->sim->now_ns)
		w->busy_ns = w->sim->now_ns;
	if (every || !w->has_updated || w->updated != g->iteration)
		w->busy_ns += cf->update_ns;
	w->has_updated = true;
	w->updated = g->iteration;
	w->busy_ns += train_cost_ns(w->t, 4 * (uint64_t)w->t->elements);
}

/* One datagram of ours, by its way, to that address. */
void
train_emit(const struct sim_plane *from, uint32_t socket, const union addr *to,
    uint8_t tos, const uint8_t *p, uint32_t len)
{
	struct train_switch *w = from->node->own;
	struct training *t = w->t;
	uint64_t ready_ns = w->sim->now_ns;
	struct sim_packet q;
	struct seg g;

	q = train_packet(t, tos, p, len);
	q.dg.from = w->node;
	q.dg.to = train_at(t, to);
	q.dg.sport = (uint16_t)(train_port(t) + socket);
	q.dg.dport = addr_port(to);
	if (w->node->out != NULL)
		capture_put(w->sim, w->node->out, &q, ready_ns);
	if (w->node != t->server) {
		train_put(w->sim, t, way_to(w, q.dg.to), &q, ready_ns +
		    t->cf->switch_ns);
		return;
	}
	if (seg_is(tos)) {
		g = seg_split(bytes_get(p, 8));
		t->n[TRAIN_PACKETS]++;
		if (g.index == 0)
			answer(w, &g);
	}
	ready_ns = w->busy_ns > ready_ns ? w->busy_ns : ready_ns;
	w->tx_ns = (w->tx_ns > ready_ns ? w->tx_ns : ready_ns) +
	    t->cf->packet_ns;
	train_put(w->sim, t, w->up, &q, w->tx_ns);
}

/* It has said all that it has to now: when it has more. */
static void
sleep_on(struct sim *s, struct train_switch *w)
{
	if (!train_over(w->t))
		train_wake(s, w->node, &w->wake_ns,
		    plane_deadline_ns(&w->plane->pl));
}

static void
take(struct sim *s, struct train_switch *w, const struct sim_datagram *d)
{
	uint8_t copy[TRAIN_MESSAGE_BYTES];
	union addr from = train_addr(w->t, d->from);
	struct packet p = { .from = &from, .to = &w->self, .tos = d->tos,
	    .socket = (uint32_t)(d->dport - train_port(w->t)), .payload = copy,
	    .bytes = d->len };

	memcpy(copy, train_bytes(s, d), d->len);
	from.in.sin_port = htons(d->sport);
	sim_plane_take(w->plane, &p);
	sleep_on(s, w);
}

static void
arrive(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct train_switch *w = n->own;

	(void)by;
	w->t->n[TRAIN_CAME]++;
	if (w->plane != NULL && p->dg.to == n)
		take(s, w, &p->dg);
	else
		train_put(s, w->t, way_to(w, p->dg.to), p, s->now_ns +
		    w->t->cf->switch_ns);
}

/*
 * To a server: its process takes packets one after the other, and after the
 * last of a vector it has to be read.
 */
static void
arrive_server(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct train_switch *w = n->own;
	struct training *t = w->t;
	const struct sim_datagram *d = &p->dg;

	t->n[TRAIN_CAME]++;
	if (by->port == TRAIN_INSIDE) {
		take(s, w, d);
		return;
	}
	if (w->busy_ns < s->now_ns)
		w->busy_ns = s->now_ns;
	w->busy_ns += t->cf->packet_ns;
	if (seg_is(d->tos) && seg_split(bytes_get(d->p, 8)).index ==
	    t->segs - 1)
		w->busy_ns += train_cost_ns(t, 4 * (uint64_t)t->elements);
	train_put(s, t, w->rx, p, w->busy_ns);
}

bool
train_captured(const struct sim_node *n)
{
	const struct train_switch *w = n->own;

	return n->kind == &train_switch_kind && w->plane != NULL;
}

static void
wake(struct sim *s, struct sim_node *n)
{
	struct train_switch *w = n->own;

	if (w->wake_ns != s->now_ns)
		return;		/* it slept on, or has been awake */
	w->wake_ns = SIM_NEVER;
	if (train_over(w->t) || n->down > 0)
		return;
	sim_plane_wake(w->plane);
	sleep_on(s, w);
}

/* What it holds is lost, and the machine begins anew, as a tool restarted. */
static void
fail(struct sim *s, struct sim_node *n, bool down)
{
	struct train_switch *w = n->own;

	for (uint32_t i = 0; down && i < s->pipes; i++) {
		if (s->pipe[i].from == n)
			sim_clear(s, &s->pipe[i], false);
	}
	if (!down || w->plane == NULL)
		return;
	if (!sim_plane_adds_up(w->plane))
		sim_wrong(s, "account: %s: segments are not accounted for",
		    n->name);
	sim_plane_free(w->plane);
	train_open_machine(w);
}

static void
end(struct sim_node *n)
{
	struct train_switch *w = n->own;

	sim_plane_free(w->plane);
	free(w->down);
	free(w);
}

const struct sim_kind train_switch_kind = { "switch", arrive, wake, fail,
	end };
const struct sim_kind train_server_kind = { "server", arrive_server, wake,
	NULL, end };
