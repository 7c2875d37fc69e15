/* node-worker.c - a group of workers; see node-worker.h */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-sim/nodes/node-worker.h"

/* Send the packets of an update to the switch, one after another. */
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

/*
 * Make the next update of w.  Returns true if it was sent, and false if
 * transmission control suppressed it.
 */
static bool
make_update(struct sim *s, const struct sim_group *group, struct sim_worker *w,
    float reward)
{
	struct sim_cluster *c = &s->cluster[w->cluster];

	w->put++;
	c->count[SIM_GENERATED]++;
	if (group->control != NULL && !txctl_should_send(&group->control[w -
	    s->worker - group->base], s->now_ns, rng_double(&s->control))) {
		c->count[SIM_SUPPRESSED]++;
		return false;
	}
	send_update(s, w, reward);
	return true;
}

/* Draw the reward of w's next update. */
static float
draw_reward(struct sim *s, const struct sim_group *group,
    const struct sim_worker *w)
{
	return arrivals_reward((enum arrivals_rewards)group->cf->rewards,
	    w->put + 1, &s->chance);
}

struct burst {
	struct sim *s;
	const struct sim_group *group;
	struct sim_worker *w;
};

static bool
put_burst_update(void *to, uint32_t k, uint32_t sequence)
{
	struct burst *b = to;

	(void)sequence;
	make_update(b->s, b->group, b->w + k,
	    draw_reward(b->s, b->group, b->w + k));
	return true;
}

/* Send a burst of updates from the cluster whose first worker is w. */
static void
send_burst(struct sim *s, const struct sim_group *group, struct sim_worker *w)
{
	struct burst b = { s, group, w };
	uint64_t n = group->cf->burst;

	if (n > group->cf->count - w->put)
		n = group->cf->count - w->put;
	arrivals_put_burst(&s->bursts, (uint32_t)group->cf->workers, w->put + 1,
	    (uint32_t)n, put_burst_update, &b);
}

/*
 * Schedule the next row of the group's schedule as an event of its first
 * worker.
 */
static void
schedule_row(struct sim *s, const struct sim_group *group)
{
	const struct schedule_row *r = &group->schedule.row[group->played];

	if (group->played < group->schedule.n && r->at_ns +
	    group->cf->start_ns < group->stop_ns)
		sim_schedule(s, SIM_GENERATE, group->base, r->at_ns +
		    group->cf->start_ns);
}

static void
play_row(struct sim *s, struct sim_group *group)
{
	const struct schedule_row *r = &group->schedule.row[group->played++];

	make_update(s, group, &s->worker[group->base + (r->cluster -
	    (uint32_t)group->cf->clusters.from) * group->cf->workers +
	    r->worker - group->cf->first], r->reward);
	schedule_row(s, group);
}

/*
 * Schedule the time-out, or the next update, of a worker that waits for models.
 */
static void
schedule_wait(struct sim *s, const struct sim_group *group, uint32_t at,
    bool waits, uint64_t deadline_ns)
{
	group->wait[at - group->base] = (struct sim_wait){ deadline_ns, waits };
	sim_schedule(s, SIM_GENERATE, at, deadline_ns);
}

/* Let the worker begin to compute its next update. */
static void
start_computing(struct sim *s, const struct sim_group *group, uint32_t at)
{
	struct arrivals *a = &s->worker[at].arrivals;
	uint64_t next;

	group->wait[at - group->base] = (struct sim_wait){ SIM_NEVER, false };
	a->nominal = (unsigned __int128)s->now_ns << 32;
	next = arrivals_next(&group->arrivals, a, &s->arrivals, s->now_ns);
	if (next < group->stop_ns)
		schedule_wait(s, group, at, false, next);
}

/*
 * Handle an event of a worker that waits for models: a time-out or an update.
 */
static void
end_wait(struct sim *s, const struct sim_group *group, uint32_t at)
{
	struct sim_wait *l = &group->wait[at - group->base];
	struct sim_worker *w = &s->worker[at];

	if (l->deadline_ns != s->now_ns) {
		s->now_ns = s->was_ns;	/* a model has already arrived: ignore
					 * this event */
	} else if (l->waits) {
		s->cluster[w->cluster].count[SIM_TIMED_OUT]++;
		start_computing(s, group, at);
	} else {
		bool sent = make_update(s, group, w, draw_reward(s, group,
		    w));

		l->deadline_ns = SIM_NEVER;
		if (w->put >= group->cf->count)
			return;
		if (sent)
			schedule_wait(s, group, at, true, s->now_ns +
			    group->cf->wait_ns);
		else
			start_computing(s, group, at);
	}
}

void
node_worker_generate(struct sim *s, uint32_t at)
{
	struct sim_worker *w = &s->worker[at];
	struct sim_group *group = s->node[w->group].own;
	const bool bursts = group->arrivals.kind == ARRIVALS_BURSTS;
	uint64_t next;

	if (group->schedule.n > 0) {
		play_row(s, group);
		return;
	}
	if (group->wait != NULL) {
		end_wait(s, group, at);
		return;
	}
	if (bursts)
		send_burst(s, group, w);
	else
		make_update(s, group, w, draw_reward(s, group, w));
	if (w->put >= group->cf->count)
		return;
	next = arrivals_next(&group->arrivals, &w->arrivals, bursts ?
	    &s->bursts : &s->arrivals, s->now_ns);
	if (next < group->stop_ns)
		sim_schedule(s, SIM_GENERATE, at, next);
}

/*
 * Return the time at which the i-th worker of the group begins.  If the group
 * sends bursts, this is the time of the cluster whose first worker is worker i.
 */
static uint64_t
draw_first_ns(struct sim *s, const struct sim_group *group,
    struct sim_worker *w, uint32_t i, double *phase)
{
	const struct scenario_workers *cf = group->cf;
	struct rng *r = group->arrivals.kind == ARRIVALS_BURSTS ? &s->bursts :
	    &s->arrivals;
	struct arrivals *a = &w->arrivals;
	uint64_t t;

	switch ((enum scenario_phase)cf->phase) {
	case SCENARIO_RANDOM:
	case SCENARIO_ALIGNED:
		t = arrivals_first(&group->arrivals, a, r);
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
		    group->n);
		break;
	}
	t += cf->start_ns;
	a->nominal = (unsigned __int128)t << 32;
	return arrivals_add_jitter(&group->arrivals, t, r);
}

/*
 * Set each worker's interval from the interval or rate of the group and from
 * the worker's speed.
 */
static void
set_intervals(struct sim *s, const struct sim_group *group)
{
	const struct scenario_workers *cf = group->cf;
	const struct sim_cluster *c = &s->cluster[s->worker[group->base]
	    .cluster];
	const uint64_t bytes = (uint64_t)(c->packets - 1) * c->frame +
	    c->last_frame;
	unsigned __int128 step = (unsigned __int128)cf->interval_ns << 32;
	double *speed = malloc(group->n * sizeof(*speed));

	if (speed == NULL)
		err(1, "%u workers", group->n);
	if (cf->rate_bps != 0)
		step = ((unsigned __int128)(8 * bytes * group->n) *
		    1000000000 << 32) / cf->rate_bps;
	if (cf->speeds > 0)
		arrivals_speeds(speed, group->n, cf->speeds, cf->rate_bps != 0,
		    &s->arrivals);
	for (uint32_t i = 0; i < group->n; i++) {
		s->worker[group->base + i].arrivals = arrivals_every(
		    cf->speeds > 0 ? (unsigned __int128)((double)step /
		    speed[i]) : cf->arrivals == ARRIVALS_BURSTS ?
		    step * cf->burst : step);
	}
	free(speed);
}

/*
 * Read the group's schedule.  Exits 1 if it names a worker outside the group.
 */
static void
read_schedule(struct sim *s, struct sim_group *group)
{
	const struct scenario_workers *cf = group->cf;

	group->schedule = schedule_read_or_exit(cf->schedule, 65536,
	    SCENARIO_WORKERS_MAX);
	for (size_t i = 0; i < group->schedule.n; i++) {
		const struct schedule_row *r = &group->schedule.row[i];

		if (r->cluster < cf->clusters.from ||
		    r->cluster > cf->clusters.to || r->worker < cf->first ||
		    r->worker - cf->first >= cf->workers)
			errx(1, "%s:%u: the group has no worker %u of cluster "
			    "%u", cf->schedule, r->line, r->worker,
			    r->cluster);
	}
	schedule_row(s, group);
}

void
node_worker_start(struct sim *s, struct sim_node *node)
{
	struct sim_group *group = node->own;
	const bool bursts = group->arrivals.kind == ARRIVALS_BURSTS;
	const uint32_t each = bursts ? (uint32_t)group->cf->workers : 1;
	double phase = 0;

	if (group->cf->schedule[0] != '\0') {
		read_schedule(s, group);
		return;
	}
	set_intervals(s, group);
	if (group->cf->wait_ns > 0)
		group->wait = sim_alloc(group->n, sizeof(*group->wait),
		    "workers");
	for (uint32_t i = 0; i < group->n; i += each) {
		struct sim_worker *w = &s->worker[group->base + i];
		uint64_t t = draw_first_ns(s, group, w, i, &phase);

		if (t >= group->stop_ns)
			continue;
		if (group->wait != NULL)
			schedule_wait(s, group, group->base + i, false, t);
		else
			sim_schedule(s, SIM_GENERATE, group->base + i, t);
	}
}

static void
receive_model(struct sim *s, const struct sim_node *node, uint32_t base,
    uint32_t n, const struct sim_packet *p)
{
	const struct sim_group *group = node->own;

	sim_cluster(s, p->up.cluster)->count[SIM_MODELS] += n;
	for (uint32_t i = base; group->wait != NULL && i < base + n; i++) {
		if (group->wait[i - group->base].waits &&
		    p->up.following == 0)
			start_computing(s, group, i);
	}
	if (group->control == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
		txctl_set_status(&group->control[base - group->base + i],
		    &p->up.status, s->now_ns);
}

/* Receive a model over an access link. */
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
	struct sim_group *group = n->own;

	schedule_free(&group->schedule);
	free(group->control);
	free(group->wait);
	free(group);
}

const struct sim_kind node_worker_kind = { .name = "workers",
    .arrive = receive_packet,
    .free = free_group,
    .model = receive_model };
