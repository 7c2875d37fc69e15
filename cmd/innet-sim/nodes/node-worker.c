/* A group of workers: sim.h. */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-sim/nodes/node-worker.h"

/* Its packets go to the switch, one behind the other. */
static void
send_update(struct sim *s, const struct sim_worker *w, float reward)
{
	struct sim_cluster *c = &s->cluster[w->cluster];
	struct sim_packet p = { .up = { .kind = UPDATE_UPDATE,
	    .cluster = c->id, .worker = w->id, .sequence = w->put,
	    .merged = 1, .generated_ns = s->now_ns, .reward = reward } };

	if (!c->sent && s->sc->ages_from == SCENARIO_WORD1) {
		for (uint32_t i = 0; i < c->packets; i++)
			aom_start(&c->age[i], s->now_ns, s->now_ns);
	}
	c->sent = true;
	c->last_ns = s->now_ns;
	c->count[SIM_SENT] += c->packets;
	for (uint32_t i = c->packets; i-- > 0;) {
		p.up.following = (uint16_t)i;
		p.wire_bytes = i == 0 ? c->last_frame : c->frame;
		if (w->up == SIM_NONE)
			sim_receive(s, &s->node[w->at], NULL, &p);
		else
			sim_send(s, &s->pipe[w->up], &p, s->now_ns);
	}
}

/* One update of w is ready: its own next.  True: it was sent. */
static bool
make_update(struct sim *s, const struct sim_crowd *crowd, struct sim_worker *w,
    float reward)
{
	struct sim_cluster *c = &s->cluster[w->cluster];

	w->put++;
	c->count[SIM_GENERATED]++;
	if (crowd->control != NULL && !txctl_should_send(&crowd->control[w -
	    s->worker - crowd->base], s->now_ns, rng_double(&s->control))) {
		c->count[SIM_SUPPRESSED]++;
		return false;
	}
	send_update(s, w, reward);
	return true;
}

/* The reward of w's next update. */
static float
draw_reward(struct sim *s, const struct sim_crowd *crowd,
    const struct sim_worker *w)
{
	return arrivals_reward((enum arrivals_rewards)crowd->cf->rewards,
	    w->put + 1, &s->chance);
}

struct burst {
	struct sim *s;
	const struct sim_crowd *crowd;
	struct sim_worker *w;
};

static bool
put_burst_update(void *to, uint32_t k, uint32_t sequence)
{
	struct burst *b = to;

	(void)sequence;
	make_update(b->s, b->crowd, b->w + k,
	    draw_reward(b->s, b->crowd, b->w + k));
	return true;
}

/* The cluster whose first worker is w bursts. */
static void
send_burst(struct sim *s, const struct sim_crowd *crowd, struct sim_worker *w)
{
	struct burst b = { s, crowd, w };
	uint64_t n = crowd->cf->burst;

	if (n > crowd->cf->count - w->put)
		n = crowd->cf->count - w->put;
	arrivals_put_burst(&s->bursts, (uint32_t)crowd->cf->workers, w->put + 1,
	    (uint32_t)n, put_burst_update, &b);
}

/* The next row of the crowd's schedule, as an event of its first worker. */
static void
schedule_row(struct sim *s, const struct sim_crowd *crowd)
{
	const struct schedule_row *r = &crowd->schedule.row[crowd->played];

	if (crowd->played < crowd->schedule.n && r->at_ns +
	    crowd->cf->start_ns < crowd->stop_ns)
		sim_schedule(s, SIM_GENERATE, crowd->base, r->at_ns +
		    crowd->cf->start_ns);
}

static void
play_row(struct sim *s, struct sim_crowd *crowd)
{
	const struct schedule_row *r = &crowd->schedule.row[crowd->played++];

	make_update(s, crowd, &s->worker[crowd->base + (r->cluster -
	    (uint32_t)crowd->cf->clusters.from) * crowd->cf->workers +
	    r->worker - crowd->cf->first], r->reward);
	schedule_row(s, crowd);
}

/* What is next for a worker that waits for models: a time-out, or an update. */
static void
schedule_wait(struct sim *s, const struct sim_crowd *crowd, uint32_t at,
    bool waits, uint64_t deadline_ns)
{
	crowd->wait[at - crowd->base] = (struct sim_wait){ deadline_ns, waits };
	sim_schedule(s, SIM_GENERATE, at, deadline_ns);
}

/* It computes from now on. */
static void
start_computing(struct sim *s, const struct sim_crowd *crowd, uint32_t at)
{
	struct arrivals *a = &s->worker[at].arrivals;
	uint64_t next;

	crowd->wait[at - crowd->base] = (struct sim_wait){ SIM_NEVER, false };
	a->nominal = (unsigned __int128)s->now_ns << 32;
	next = arrivals_next(&crowd->arrivals, a, &s->arrivals, s->now_ns);
	if (next < crowd->stop_ns)
		schedule_wait(s, crowd, at, false, next);
}

/* A time-out, or an update, of a worker that waits for models. */
static void
end_wait(struct sim *s, const struct sim_crowd *crowd, uint32_t at)
{
	struct sim_wait *l = &crowd->wait[at - crowd->base];
	struct sim_worker *w = &s->worker[at];

	if (l->deadline_ns != s->now_ns) {
		s->now_ns = s->was_ns;	/* a model came: nothing happened */
	} else if (l->waits) {
		s->cluster[w->cluster].count[SIM_TIMED_OUT]++;
		start_computing(s, crowd, at);
	} else {
		bool sent = make_update(s, crowd, w, draw_reward(s, crowd,
		    w));

		l->deadline_ns = SIM_NEVER;
		if (w->put >= crowd->cf->count)
			return;
		if (sent)
			schedule_wait(s, crowd, at, true, s->now_ns +
			    crowd->cf->wait_ns);
		else
			start_computing(s, crowd, at);
	}
}

void
node_worker_generate(struct sim *s, uint32_t at)
{
	struct sim_worker *w = &s->worker[at];
	struct sim_crowd *crowd = s->node[w->crowd].own;
	const bool bursts = crowd->arrivals.kind == ARRIVALS_BURSTS;
	uint64_t next;

	if (crowd->schedule.n > 0) {
		play_row(s, crowd);
		return;
	}
	if (crowd->wait != NULL) {
		end_wait(s, crowd, at);
		return;
	}
	if (bursts)
		send_burst(s, crowd, w);
	else
		make_update(s, crowd, w, draw_reward(s, crowd, w));
	if (w->put >= crowd->cf->count)
		return;
	next = arrivals_next(&crowd->arrivals, &w->arrivals, bursts ?
	    &s->bursts : &s->arrivals, s->now_ns);
	if (next < crowd->stop_ns)
		sim_schedule(s, SIM_GENERATE, at, next);
}

/* When the i-th of the crowd, a worker or a cluster that bursts, begins. */
static uint64_t
draw_first_ns(struct sim *s, const struct sim_crowd *crowd,
    struct sim_worker *w, uint32_t i, double *phase)
{
	const struct scenario_workers *cf = crowd->cf;
	struct rng *r = crowd->arrivals.kind == ARRIVALS_BURSTS ? &s->bursts :
	    &s->arrivals;
	struct arrivals *a = &w->arrivals;
	uint64_t t;

	switch ((enum scenario_phase)cf->phase) {
	case SCENARIO_RANDOM:
	case SCENARIO_ALIGNED:
		t = arrivals_first(&crowd->arrivals, a, r);
		a->nominal += (unsigned __int128)cf->start_ns << 32;
		return t + cf->start_ns;
	case SCENARIO_BY_CLUSTER:
		if (i % cf->workers == 0)
			*phase = rng_double(r);
		t = (uint64_t)(*phase * arrivals_mean_ns(a));
		break;
	case SCENARIO_WINDOW:
		t = rng_below(r, cf->window_ns);
		break;
	case SCENARIO_ORDER:
	default:
		t = (uint64_t)((unsigned __int128)cf->window_ns * i /
		    crowd->n);
		break;
	}
	t += cf->start_ns;
	a->nominal = (unsigned __int128)t << 32;
	return arrivals_add_jitter(&crowd->arrivals, t, r);
}

/* Each worker's step, by its interval or the group's rate, and its speed. */
static void
set_intervals(struct sim *s, const struct sim_crowd *crowd)
{
	const struct scenario_workers *cf = crowd->cf;
	const struct sim_cluster *c = &s->cluster[s->worker[crowd->base]
	    .cluster];
	const uint64_t bytes = (uint64_t)(c->packets - 1) * c->frame +
	    c->last_frame;
	unsigned __int128 step = (unsigned __int128)cf->interval_ns << 32;
	double *speed = malloc(crowd->n * sizeof(*speed));

	if (speed == NULL)
		err(1, "%u workers", crowd->n);
	if (cf->rate_bps != 0)
		step = ((unsigned __int128)(8 * bytes * crowd->n) *
		    1000000000 << 32) / cf->rate_bps;
	if (cf->speeds > 0)
		arrivals_speeds(speed, crowd->n, cf->speeds, cf->rate_bps != 0,
		    &s->arrivals);
	for (uint32_t i = 0; i < crowd->n; i++) {
		s->worker[crowd->base + i].arrivals = arrivals_every(
		    cf->speeds > 0 ? (unsigned __int128)((double)step /
		    speed[i]) : cf->arrivals == ARRIVALS_BURSTS ?
		    step * cf->burst : step);
	}
	free(speed);
}

/* Read the crowd's schedule, which has its workers only, or exit 1. */
static void
read_schedule(struct sim *s, struct sim_crowd *crowd)
{
	const struct scenario_workers *cf = crowd->cf;

	crowd->schedule = schedule_read_or_exit(cf->schedule, 65536,
	    SCENARIO_WORKERS_MAX);
	for (size_t i = 0; i < crowd->schedule.n; i++) {
		const struct schedule_row *r = &crowd->schedule.row[i];

		if (r->cluster < cf->clusters.from ||
		    r->cluster > cf->clusters.to || r->worker < cf->first ||
		    r->worker - cf->first >= cf->workers)
			errx(1, "%s:%u: worker %u of cluster %u is not in the "
			    "group", cf->schedule, r->line, r->worker,
			    r->cluster);
	}
	schedule_row(s, crowd);
}

void
node_worker_start(struct sim *s, struct sim_node *node)
{
	struct sim_crowd *crowd = node->own;
	const bool bursts = crowd->arrivals.kind == ARRIVALS_BURSTS;
	const uint32_t each = bursts ? (uint32_t)crowd->cf->workers : 1;
	double phase = 0;

	if (crowd->cf->schedule[0] != '\0') {
		read_schedule(s, crowd);
		return;
	}
	set_intervals(s, crowd);
	if (crowd->cf->wait_ns > 0)
		crowd->wait = sim_alloc(crowd->n, sizeof(*crowd->wait),
		    "workers");
	for (uint32_t i = 0; i < crowd->n; i += each) {
		struct sim_worker *w = &s->worker[crowd->base + i];
		uint64_t t = draw_first_ns(s, crowd, w, i, &phase);

		if (t >= crowd->stop_ns)
			continue;
		if (crowd->wait != NULL)
			schedule_wait(s, crowd, crowd->base + i, false, t);
		else
			sim_schedule(s, SIM_GENERATE, crowd->base + i, t);
	}
}

static void
receive_model(struct sim *s, const struct sim_node *node, uint32_t base,
    uint32_t n, const struct sim_packet *p)
{
	const struct sim_crowd *crowd = node->own;

	sim_cluster(s, p->up.cluster)->count[SIM_MODELS] += n;
	for (uint32_t i = base; crowd->wait != NULL && i < base + n; i++) {
		if (crowd->wait[i - crowd->base].waits &&
		    p->up.following == 0)
			start_computing(s, crowd, i);
	}
	if (crowd->control == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
		txctl_set_status(&crowd->control[base - crowd->base + i],
		    &p->up.status, s->now_ns);
}

/* A model came over an access link. */
static void
receive_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	if (by->port != SIM_NONE)
		receive_model(s, n, by->port, 1, p);
	else
		sim_send_model(s, n, p, s->now_ns);
}

static void
free_group(struct sim_node *n)
{
	struct sim_crowd *crowd = n->own;

	schedule_free(&crowd->schedule);
	free(crowd->control);
	free(crowd->wait);
	free(crowd);
}

const struct sim_kind node_worker_kind = { .name = "workers",
    .arrive = receive_packet,
    .free = free_group,
    .model = receive_model };
