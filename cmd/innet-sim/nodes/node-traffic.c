/* node-traffic.c - frames of other programs; see node-traffic.h */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-sim/nodes/node-traffic.h"

enum { SENT, RECEIVED, DROPPED_FULL, LOST_LINK, LOST_DOWN, QUEUED, LOSS,
    DELAY };

const struct result_figure node_traffic_figures[] = {
	[SENT] = { "sent", "sent", RESULT_COUNT },
	[RECEIVED] = { "received", "received", RESULT_COUNT },
	[DROPPED_FULL] = { "dropped_full", "full", RESULT_COUNT },
	[LOST_LINK] = { "lost_link", "link", RESULT_COUNT },
	[LOST_DOWN] = { "lost_down", "down", RESULT_COUNT },
	[QUEUED] = { "queued", "queued", RESULT_COUNT },
	[LOSS] = { "loss_percent", "loss%", RESULT_PERCENT },
	[DELAY] = { "mean_delay_ns", "delay", RESULT_NS },
	{ 0 }
};

void
node_traffic_add(struct sim *s, struct sim_node *n, struct sim_node *to,
    const struct scenario_traffic *cf)
{
	struct sim_source *o = &s->source[s->sources];
	uint64_t t;

	*o = (struct sim_source){ .cf = cf, .to = to,
	    .arrivals = { .kind = (enum arrivals_kind)cf->arrivals,
	    .burst = cf->burst },
	    .pace = arrivals_every(((unsigned __int128)(8 * cf->frame_bytes) *
	    1000000000 << 32) / cf->rate_bps),
	    /*
	     * each source has its own random numbers, which do not change if
	     * another source is added to the scenario
	     */
	    .chance = rng_seed((s->seed ^ 0x7265677561726c) +
	    0x9e3779b97f4a7c15 * s->sources),
	    .stop_ns = cf->stop_ns < s->sc->duration_ns ? cf->stop_ns :
	    s->sc->duration_ns };
	n->own = o;
	s->sources++;
	t = arrivals_first(&o->arrivals, &o->pace, &o->chance) + cf->start_ns;
	o->pace.nominal += (unsigned __int128)cf->start_ns << 32;
	if (t < o->stop_ns)
		sim_wake(s, n, t);
}

/* Send the next frame of a source to its switch. */
static void
send_next_frame(struct sim *s, struct sim_node *n)
{
	struct sim_source *o = n->own;
	const struct sim_packet p = {
		.wire_bytes = (uint32_t)o->cf->frame_bytes,
		.up = { .kind = SIM_REGULAR, .merged = 1,
		    .worker = (uint32_t)(o - s->source),
		    .generated_ns = s->now_ns } };
	uint64_t next;

	o->sent++;
	sim_receive(s, o->to, NULL, &p);
	next = arrivals_next(&o->arrivals, &o->pace, &o->chance, s->now_ns);
	if (next < o->stop_ns)
		sim_wake(s, n, next);
}

void
node_traffic_receive(struct sim *s, const struct sim_packet *p)
{
	struct sim_source *o = node_traffic_of(s, p);

	o->received++;
	o->delay_ns += s->now_ns - p->up.generated_ns;
}

/* Count the frames of each source that are in queues and on links. */
static void
count_waiting(const struct sim *s, uint64_t *waiting)
{
	for (uint32_t i = 0; i < s->pipes; i++) {
		const struct sim_ring *r = &s->pipe[i].ring;
		const struct port *e = s->pipe[i].egress;

		for (uint32_t k = 0; k < r->count; k++) {
			const struct update *u = &r->item[(r->head + k) &
			    (r->room - 1)].p.up;

			if (u->kind == SIM_REGULAR)
				waiting[u->worker]++;
		}
		for (uint32_t k = 0; e != NULL && k < e->slots.count; k++) {
			const struct slot *slot = &e->slots.ring[
			    (e->slots.head + k) % e->slots.size];

			if (!slot->is_update)
				waiting[slot->up.worker]++;
		}
	}
}

static void
add_row(struct result_row *row, const struct sim_source *o, uint64_t waiting)
{
	double *v = row->v;

	v[SENT] += (double)o->sent;
	v[RECEIVED] += (double)o->received;
	v[DROPPED_FULL] += (double)o->dropped;
	v[LOST_LINK] += (double)o->lost[SIM_LOST_LINK];
	v[LOST_DOWN] += (double)o->lost[SIM_LOST_DOWN];
	v[QUEUED] += (double)waiting;
	v[DELAY] += (double)o->delay_ns;	/* this is the total;
						 * set_shares() divides it
						 * later */
}

static void
set_shares(struct result_row *row)
{
	double *v = row->v;

	v[LOSS] = v[SENT] > 0 ? 100 * (v[DROPPED_FULL] + v[LOST_LINK] +
	    v[LOST_DOWN]) / v[SENT] : 0;
	v[DELAY] = v[RECEIVED] > 0 ? (double)(uint64_t)(v[DELAY] /
	    v[RECEIVED]) : 0;
}

bool
node_traffic_result(const struct sim *s, struct result_row *row)
{
	uint64_t *waiting = sim_alloc(s->sources, sizeof(*waiting), "sources");
	const size_t n = s->sc->traffic.n;
	bool whole = true;

	count_waiting(s, waiting);
	for (size_t i = 0; row != NULL && i <= n; i++)
		row[i] = (struct result_row){ 0 };
	for (uint32_t i = 0; i < s->sources; i++) {
		const struct sim_source *o = &s->source[i];
		uint64_t sum = o->received + o->dropped + waiting[i];

		for (int k = 0; k < SIM_LOSSES; k++)
			sum += o->lost[k];
		if (sum != o->sent) {
			warnx("traffic at %s: sent %" PRIu64 " frames, but %"
			    PRIu64 " are accounted for; this is a bug",
			    o->to->name,
			    o->sent, sum);
			whole = false;
		}
		if (row == NULL)
			continue;
		add_row(&row[o->cf - scenario_traffic(s->sc)], o, waiting[i]);
		add_row(&row[n], o, waiting[i]);
	}
	for (size_t i = 0; row != NULL && i <= n; i++)
		set_shares(&row[i]);
	free(waiting);
	return whole;
}

const struct sim_kind node_traffic_kind = {
    .name = "traffic", .wake = send_next_frame };
