/* train-build.c - build the networks of training jobs; see train-build.h */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-sim/training/train-async.h"
#include "cmd/innet-sim/training/train-build.h"
#include "cmd/innet-sim/training/train-dlp.h"
#include "cmd/innet-sim/training/train-faults.h"
#include "cmd/innet-sim/training/train-life.h"
#include "cmd/innet-sim/training/train-member.h"
#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-pieces.h"
#include "cmd/innet-sim/training/train-ring.h"
#include "cmd/innet-sim/training/train-switch.h"
#include "cmd/innet-sim/training/train-worker.h"

#define GIVE_UP_NS 30000000000u	/* default of innet-worker */

enum {
	SPARE_ROUNDS = 8 /* number of rounds to keep in addition to the
			  * iterations */
};

static const struct scenario_training *
get_training(const struct scenario *sc, uint32_t k)
{
	return (const struct scenario_training *)sc->trainings.item + k;
}

static uint32_t
count_racks(const struct scenario_training *cf)
{
	const uint64_t racks = cf->rack == 0 ? 1 :
	    (cf->workers + cf->rack - 1) / cf->rack;

	return racks == 1 ? 0 : (uint32_t)racks;
}

/* Add the pipe from a host's link to its process. */
static struct sim_pipe *
add_inside(struct sim *s, struct sim_node *n)
{
	struct sim_pipe *p = sim_add_link(s, n, n, 0, 0, 0, 0);

	p->port = TRAIN_INSIDE;
	return p;
}

static struct sim_pipe *
add_uplink(struct sim *s, const struct training *t, struct sim_node *from,
    struct sim_node *to, uint64_t rate_bps)
{
	return sim_add_link(s, from, to, rate_bps, rate_bps,
	    t->cf->propagation_ns, t->cf->loss);
}

static uint64_t
get_rate(const struct training *t, uint64_t rate_bps)
{
	return rate_bps == SCENARIO_WORD1 ? t->cf->rate_bps : rate_bps;
}

static void
add_switch(struct sim *s, struct training *t, uint32_t i)
{
	struct train_switch *w = sim_alloc(1, sizeof(*w), "switches");
	struct sim_node *n = &t->sw[i];
	const uint32_t workers = (uint32_t)t->cf->workers;

	*w = (struct train_switch){ .t = t, .sim = s, .node = n,
	    .wake_ns = SIM_NEVER };
	n->kind = &train_switch_kind;
	n->own = w;
	snprintf(n->name, sizeof(n->name), i == 0 ? "%s.switch" :
	    "%s.rack%u", training_name(t->cf), i - 1);
	w->n = t->racks == 0 ? workers : t->racks;
	if (i > 0) {
		w->first = (i - 1) * (uint32_t)t->cf->rack;
		w->n = (uint32_t)t->cf->rack < workers - w->first ?
		    (uint32_t)t->cf->rack : workers - w->first;
	}
	w->down = sim_alloc(w->n, sizeof(*w->down), "links");
	w->self = train_node_addr(t, n);
}

static void
add_server(struct sim *s, struct training *t)
{
	struct train_switch *w = sim_alloc(1, sizeof(*w), "servers");
	struct train_switch *core = t->sw->own;
	struct sim_node *n = t->server;

	*w = (struct train_switch){ .t = t, .sim = s, .node = n,
	    .wake_ns = SIM_NEVER };
	n->kind = &train_server_kind;
	n->own = w;
	snprintf(n->name, sizeof(n->name), "%s.server",
	    training_name(t->cf));
	w->self = train_node_addr(t, n);
	w->up = add_uplink(s, t, n, t->sw, get_rate(t, t->cf->server_bps));
	w->rx = add_inside(s, n);
	core->server = w->up + 1;
}

static void
add_worker(struct sim *s, struct training *t, uint32_t i)
{
	struct train_worker *w = &t->w[i];
	struct sim_node *n = &t->host[i];
	struct sim_node *at = t->racks == 0 ? t->sw :
	    &t->sw[1 + i / t->cf->rack];
	struct train_switch *sw = at->own;

	n->kind = &train_worker_kind;
	n->own = w;
	snprintf(n->name, sizeof(n->name), "%s.%u", training_name(t->cf), i);
	*w = (struct train_worker){ .t = t, .node = n, .id = i,
	    .wake_ns = SIM_NEVER, .phase_ns = SIM_NEVER, .speed = 1,
	    .chance = rng_seed(s->seed * 0x9e3779b97f4a7c15 + i),
	    .up = add_uplink(s, t, n, at, t->cf->rate_bps) };
	w->rx = add_inside(s, n);
	sw->down[i - sw->first] = w->up + 1;
}

/* Open the state machine of a worker. */
static void
open_worker(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	const struct membership_conf in = train_membership(w, 1);
	const struct chaos_plan *plan = s->sc->chaos;

	train_open_channel(s, w);
	if (t->cf->approach == TRAINING_RING) {
		train_ring_open(w);
		w->in = true;
		t->joined++;
	} else if (train_is_dlp(t)) {
		train_dlp_open(w, s->now_ns);
	} else if (t->cf->mode == TRAINING_SYNC) {
		if (training_has_ring(t->cf) || (plan != NULL && plan->ring))
			train_pieces_open(s, w);
		train_open_sync_worker(s, w, 0, 1);
	} else {
		train_async_open(s, w, &in);
	}
	if (t->sends_state)
		train_life_open(w);
	if (plan != NULL && (plan->old >> w->id & 1) != 0)
		w->l.in.cf.repairs = w->a.m.in.cf.repairs = false;
	if (t->cf->approach != TRAINING_RING)
		train_wake(s, w->node, &w->wake_ns, 0);
}

static void
reserve_durations(struct training *t)
{
	if (!durations_reserve(&t->iteration) ||
	    !durations_reserve(&t->compute) ||
	    !durations_reserve(&t->network) ||
	    !durations_reserve(&t->aggregation) ||
	    !durations_reserve(&t->latency))
		err(1, "figures");
}

/*
 * Set the workers' speeds.  They depend only on the seed, so they are the same
 * in all training jobs.
 */
static void
set_speeds(const struct sim *s, struct training *t)
{
	const size_t n = t->cf->workers;
	double *speed = sim_alloc(n, sizeof(*speed), "speeds");
	struct rng r = rng_seed(s->seed ^ 0x737065656473);

	arrivals_speeds(speed, n, t->cf->speeds, false, &r);
	for (size_t i = 0; i < n && t->cf->speeds > 0; i++)
		t->w[i].speed = speed[i];
	free(speed);
}

static void
open_machine(struct train_switch *w, uint32_t members, uint32_t number)
{
	w->members = members;
	w->number = number;
	train_open_machine(w);
}

/*
 * Open the state machines of the switches that compute sums, or of the server.
 */
static void
open_machines(struct training *t)
{
	if (t->cf->approach == TRAINING_PS)
		open_machine(t->server->own, (uint32_t)t->cf->workers, 0);
	for (uint32_t i = 0; t->cf->approach == TRAINING_SWITCH &&
	    i < t->switches; i++) {
		struct train_switch *w = t->sw[i].own;

		open_machine(w, w->n, i);
	}
}

/* Add the links from the racks to the core. */
static void
link_racks(struct sim *s, struct training *t)
{
	struct train_switch *core = t->sw->own;

	for (uint32_t i = 1; i < t->switches; i++) {
		struct train_switch *w = t->sw[i].own;

		w->up = add_uplink(s, t, &t->sw[i], t->sw, get_rate(t,
		    t->cf->core_bps));
		w->parent = core->self;
		core->down[i - 1] = w->up + 1;
	}
}

static void
add_training(struct sim *s, uint32_t k, struct sim_node *node)
{
	struct training *t = &s->training[k];
	const struct scenario_training *cf = get_training(s->sc, k);

	*t = (struct training){ .cf = cf, .number = k, .sw = node,
	    .racks = count_racks(cf), .elements = training_has_ring(cf) ?
	    (uint32_t)cf->ring : training_elements(cf),
	    .floats = training_floats(cf), .busy = (uint32_t)cf->workers,
	    .carried = 1 };
	t->segs = seg_count(t->elements, t->floats);
	if (s->sc->chaos != NULL) {
		t->carried = LEDGER_FLOATS;
		t->ledger = ledger_new(s->seed, &(struct ledger_options){
		    .workers = (uint32_t)cf->workers, .segs = t->segs,
		    .async = cf->mode == TRAINING_ASYNC,
		    .racks = cf->rack > 0,
		    .server = cf->approach == TRAINING_PS,
		    .first = train_first_round(s),
		    .rounds = (uint32_t)cf->iterations + SPARE_ROUNDS });
	}
	t->give_up_ns = cf->give_up_ns;
	if (cf->give_up_ns == SCENARIO_WORD2)
		t->give_up_ns = SIM_NEVER;
	else if (cf->give_up_ns == SCENARIO_WORD1)
		t->give_up_ns = s->sc->faults.n == 0 &&
		    cf->straggler_ns == 0 ? SIM_NEVER : GIVE_UP_NS;
	t->sends_state = scenario_kills(s->sc, cf) ||
	    (s->sc->chaos != NULL && s->sc->chaos->kills_racks);
	t->switches = 1 + t->racks;
	t->server = cf->approach == TRAINING_PS ? node + t->switches : NULL;
	t->host = node + t->switches + (t->server != NULL);
	t->w = sim_alloc(cf->workers, sizeof(*t->w), "workers");
	reserve_durations(t);
	for (uint32_t i = 0; i < t->switches; i++)
		add_switch(s, t, i);
	link_racks(s, t);
	if (t->server != NULL)
		add_server(s, t);
	for (uint32_t i = 0; i < cf->workers; i++)
		add_worker(s, t, i);
	set_speeds(s, t);
	open_machines(t);
	for (uint32_t i = 0; i < cf->workers; i++)
		open_worker(s, &t->w[i]);
	if (t->joined == cf->workers)
		train_begin(s, t);
}

const struct sim_network train_network = { .lose = train_count_loss,
	.fault = train_handle_fault, .put_frame = train_put_frame };

void
train_build(struct sim *s)
{
	uint32_t pipes = 0, at = 0;

	for (uint32_t k = 0; k < s->sc->trainings.n; k++) {
		const struct scenario_training *cf = get_training(s->sc, k);
		const uint32_t racks = count_racks(cf), server = cf->approach ==
		    TRAINING_PS;

		s->nodes += 1 + racks + server + (uint32_t)cf->workers;
		pipes += 2 * racks + 4 * (server + (uint32_t)cf->workers);
	}
	s->node = sim_alloc_large(s->nodes, sizeof(*s->node), "nodes");
	s->pipe = sim_alloc(pipes, sizeof(*s->pipe), "pipes");
	for (uint32_t i = 0; i < s->nodes; i++)
		s->node[i].index = i;
	s->trainings = (uint32_t)s->sc->trainings.n;
	s->training = sim_alloc(s->trainings, sizeof(*s->training),
	    "trainings");
	for (uint32_t k = 0; k < s->trainings; k++) {
		struct training *t = &s->training[k];

		add_training(s, k, &s->node[at]);
		at += t->switches + (t->server != NULL) +
		    (uint32_t)t->cf->workers;
	}
}

void
train_free(struct sim *s)
{
	for (uint32_t k = 0; k < s->trainings; k++) {
		struct training *t = &s->training[k];

		for (uint32_t i = 0; i < t->cf->workers; i++) {
			sync_worker_free(&t->w[i].l);
			train_pieces_free(&t->w[i]);
			train_life_free(&t->w[i]);
			async_worker_free(&t->w[i].a.m);
			free(t->w[i].dlp);
			free(t->w[i].ring.got[0]);
			free(t->w[i].ring.got[1]);
		}
		free(t->w);
		train_free_messages(t);
		ledger_free(t->ledger);
		durations_free(&t->iteration);
		durations_free(&t->compute);
		durations_free(&t->network);
		durations_free(&t->aggregation);
		durations_free(&t->latency);
	}
	free(s->training);
}
