/* chaos-draw.c - draw a training job and its faults; see chaos-draw.h */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cmd/innet-sim/chaos/chaos-draw.h"
#include "cmd/innet-sim/training/ledger.h"
#include "common/base/rng.h"
#include "common/wire/frame.h"

enum {
	FLOATS = 366,			/* number of floats in a full segment */
	STATE_SEGS = 50, /* largest number of segments in a state transfer */
	PIECES_FACTOR = 4,	/* factor by which an iteration with a ring may
				 * be longer */
	WORK = 2000, WORK_MUCH = 40000	/* limits on the number of segments of
					 * all workers in a run */
};

#define SECOND_NS ((uint64_t)1000000000)
/*
 * Limit on the duration of a run, in virtual time.  A run with 40 % loss in
 * which only Help messages cause retransmissions may take 20 minutes.
 */
#define BOUND_NS (3600 * SECOND_NS)

static bool
draw_chance(struct rng *r, double share)
{
	return rng_double(r) < share;
}

/* Draw a number from lo to hi; each order of magnitude is equally likely. */
static double
draw_scaled(struct rng *r, double lo, double hi)
{
	return lo * pow(hi / lo, rng_double(r));
}

static uint64_t
draw_scaled_ns(struct rng *r, double lo_ns, double hi_ns)
{
	return (uint64_t)draw_scaled(r, lo_ns, hi_ns);
}

static uint64_t
draw_between(struct rng *r, uint64_t lo, uint64_t hi)
{
	return lo + rng_below(r, hi - lo + 1);
}

/* Draw the approach, the number of workers, and their racks. */
static void
draw_topology(struct rng *r, struct scenario_training *t)
{
	const double kind = rng_double(r);
	const uint64_t most = kind < 0.75 ? LEDGER_WORKERS_SYNC :
	    LEDGER_WORKERS_ASYNC;

	t->mode = kind < 0.75 ? TRAINING_SYNC : TRAINING_ASYNC;
	t->approach = kind >= 0.6 && kind < 0.75 ? TRAINING_PS :
	    TRAINING_SWITCH;
	t->workers = draw_chance(r, 0.9) ? draw_between(r, 1, 5)
					 : draw_between(r, 1, most);
	if (t->mode == TRAINING_ASYNC && draw_chance(r, 0.25))
		t->approach = TRAINING_PS;
	else if (t->workers > 1 && draw_chance(r, 0.4))
		t->rack = draw_between(r, 1, t->workers - 1);
	if (t->mode == TRAINING_ASYNC && t->workers > LEDGER_WORKERS_MANY &&
	    (t->rack > 0 || t->approach == TRAINING_PS)) {
		t->workers = LEDGER_WORKERS_MANY;
		t->rack = t->rack < t->workers ? t->rack : 2;
	}
}

/* Draw racks and workers of an asynchronous training job. */
static void
draw_async_racks(struct rng *r, struct scenario_training *t)
{
	t->mode = TRAINING_ASYNC;
	t->approach = TRAINING_SWITCH;
	t->workers = draw_between(r, 2, LEDGER_WORKERS_MANY);
	t->rack = draw_between(r, 1, t->workers - 1);
}

/* Draw one switch or racks, and workers of a synchronous training job. */
static void
draw_sync_switches(struct rng *r, struct scenario_training *t)
{
	t->mode = TRAINING_SYNC;
	t->approach = TRAINING_SWITCH;
	t->workers = draw_between(r, 1, draw_chance(r, 0.9) ? 5 :
	    LEDGER_WORKERS_SYNC);
	if (t->workers > 1 && draw_chance(r, 0.4))
		t->rack = draw_between(r, 1, t->workers - 1);
}

/* Draw the sizes of vectors and segments, and the number of iterations. */
static void
draw_sizes(struct rng *r, struct scenario_training *t)
{
	const uint64_t work = draw_chance(r, 0.95) ? WORK : WORK_MUCH;
	const uint64_t segs = draw_chance(r, 0.95) ? (uint64_t)draw_scaled(r, 1,
	    50) : draw_between(r, 50, 600);
	const uint64_t floats =
	    draw_chance(r, 0.7) ? FLOATS : draw_between(r, 1, 40);
	uint64_t most = work / (segs * t->workers);

	most = most < 3 ? 3 : most > 40 ? 40 : most;
	t->payload_bytes = SEG_HEADER_BYTES + 4 * floats;
	t->elements = segs * floats;
	t->iterations = draw_between(r, 2, most);
	t->staleness = draw_between(r, 0, 5);
}

/*
 * Limit the size of the weights, which workers send as a state, to a few
 * kilobytes.
 */
static void
limit_state(struct scenario_training *t)
{
	const uint64_t most = STATE_SEGS * (t->payload_bytes -
	    SEG_HEADER_BYTES) / 4;

	t->elements = t->elements < most ? t->elements : most;
}

/* Draw the speeds of links, switches and hosts. */
static void
draw_speeds(struct rng *r, struct scenario_training *t)
{
	static const uint64_t rates[] = { 100000000, 1000000000, 10000000000,
		0 };

	t->rate_bps = rates[rng_below(r, 4)];
	t->core_bps = t->server_bps = t->ring = UINT64_MAX;
	t->propagation_ns = draw_scaled_ns(r, 500, 5e6);
	t->switch_ns = draw_between(r, 0, 2000);
	t->compute_ns = t->mode == TRAINING_SYNC && draw_chance(r, 0.2) ? 0 :
	    draw_scaled_ns(r, 1000, 2e7);
	t->shape = rng_below(r, TRAINING_EXPONENTIAL + 1);
	t->spread = rng_double(r);
	t->speeds = draw_chance(r, 0.5) ? 0 : rng_double(r) * 0.9;
	t->update_ns = draw_chance(r, 0.5) ? 0 : draw_scaled_ns(r, 100, 1e6);
	t->messages = 1;
	t->message_ns = draw_chance(r, 0.7) ? 0 : draw_scaled_ns(r, 100, 1e5);
	t->packet_ns = draw_chance(r, 0.7) ? 0 : draw_between(r, 1, 2000);
	t->barrier = t->mode == TRAINING_SYNC && draw_chance(r, 0.1);
	t->give_up_ns = SCENARIO_WORD2;	/* workers never give up, so a run that
					 * hangs shows an error */
}

static void
draw_link_faults(struct rng *r, struct chaos_plan *p)
{
	struct link_fault_rates *w = &p->rates;

	p->share = draw_chance(r, 0.5) ? 1 : rng_double(r);
	if (draw_chance(r, 0.7))
		w->loss = draw_scaled(r, 0.001, 0.4);
	if (draw_chance(r, 0.3)) {
		w->burst = draw_scaled(r, 0.0005, 0.05);
		w->calm = draw_scaled(r, 0.1, 0.9);
		w->burst_loss = rng_uniform(r, 0.5, 1);
	}
	if (draw_chance(r, 0.4))
		w->twice = draw_scaled(r, 0.001, 0.3);
	if (draw_chance(r, 0.4))
		w->late = draw_scaled(r, 0.001, 0.5);
	w->late_ns = draw_scaled_ns(r, 1000, 2e7);
	if (p->t.approach == TRAINING_PS) {	/* with a parameter server,
						 * packets cross six links
						 * instead of two */
		w->loss /= 4;
		w->burst_loss /= 4;
	}
}

/*
 * If the plan kills a switch of a synchronous training job, let it kill at most
 * one worker, and none if there are racks and the plan is not severe.  The
 * other workers pause instead.  Otherwise, the killed worker and the other
 * workers could lack different results.
 */
static void
keep_one_alive(struct chaos_plan *p)
{
	uint32_t switches = 0, deaths = 0;

	if (p->t.mode == TRAINING_ASYNC)
		return;
	for (uint32_t i = 0; i < p->sc.faults.n; i++)
		switches += chaos_kind(p, i) == CHAOS_KILL;
	for (uint32_t i = 0; i < p->sc.faults.n && switches > 0; i++) {
		if (chaos_kind(p, i) == CHAOS_DEATH &&
		    (deaths++ > 0 || (p->t.rack > 0 && !p->severe)))
			p->fault[i].worker = SCENARIO_PAUSED;
	}
}

/*
 * Pause the workers that the plan would kill, because a worker with a ring
 * cannot take over the state of another worker.
 */
static void
pause_workers(struct chaos_plan *p)
{
	for (uint32_t i = 0; i < p->sc.faults.n; i++) {
		if (chaos_kind(p, i) == CHAOS_DEATH)
			p->fault[i].worker = SCENARIO_PAUSED;
	}
}

/* Restart a killed switch only after all old packets have left the network. */
static void
set_give_up(struct chaos_plan *p)
{
	for (uint32_t i = 0; i < p->sc.faults.n; i++) {
		struct scenario_fault *f = &p->fault[i];
		const uint64_t least = f->from_ns + p->rates.late_ns +
		    4 * p->t.propagation_ns + 1000000;

		if (chaos_kind(p, i) == CHAOS_KILL && f->to_ns < least)
			f->to_ns = least;
		p->killed |= chaos_kind(p, i) == CHAOS_KILL ||
		    chaos_kind(p, i) == CHAOS_DEATH;
	}
}

/*
 * Estimate the duration of a run without faults.  The estimate may be a little
 * too long.
 */
static double
get_ideal_ns(const struct scenario_training *t)
{
	const double bits = t->rate_bps == 0 ? 0 : 8.0 *
	    (double)(4 * t->elements + FRAME_V4_BYTES) /
	    (double)t->rate_bps * 1e9;

	return (double)t->iterations * ((double)t->compute_ns + 8 *
	    (double)t->propagation_ns + 2 * bits + 10000);
}

/* Return the share of packets that arrive over a link. */
static double
get_arrivals(const struct link_fault_rates *w)
{
	const double bursts = w->burst == 0 ? 0 : w->burst /
	    (w->burst + w->calm) * w->burst_loss;

	return (1 - w->loss) * (1 - bursts);
}

/*
 * Raise a limit on slots if the run would not end within BOUND_NS.  With few
 * slots, all members wait for each group of segments.  If a Probe or its answer
 * is lost, the others wait until the next Probe, up to 250 ms later.  Workers
 * without Probes wait for seconds.  (With 4 slots, 683 segments and a loss of
 * 37 %, each group of segments took a second.  With 14 workers below two racks
 * and a loss of 45 %, it took two seconds.)
 */
static void
raise_slots(const struct chaos_plan *p, uint64_t *slots)
{
	const double arrive = get_arrivals(&p->rates);
	const double segs = (double)p->t.elements * 4 /
	    (double)(p->t.payload_bytes - SEG_HEADER_BYTES);
	/* a burst lasts for 1 / calm packets */
	const double wait_ns = (p->old != 0 ? 1e9 : 250e6) /
	    (arrive * arrive) / (p->rates.burst > 0 ? p->rates.calm : 1);

	/* three slots hold one segment (job_fit_slots()) */
	while (*slots > 0 && (double)p->t.iterations * segs /
	    ((double)*slots / 3) * wait_ns > (double)BOUND_NS / 8)
		*slots *= 2;
}

/*
 * Draw limits on the number of segments that the rack switches and the core can
 * sum at a time, or leave the numbers unlimited.
 */
static void
draw_slots(struct rng *r, struct chaos_plan *p)
{
	const double vectors = 3.0 * (double)p->t.elements * 4 /
	    (double)(p->t.payload_bytes - SEG_HEADER_BYTES) + 6;

	if (p->t.mode == TRAINING_ASYNC || p->t.approach != TRAINING_SWITCH ||
	    p->memory_bytes > 0 || draw_chance(r, 0.6))
		return;
	if (draw_chance(r, 0.9))
		p->t.slots = (uint64_t)draw_scaled(r, 4, vectors);
	p->t.core_slots = p->t.slots;
	if (p->t.rack > 0 && draw_chance(r, 0.8))
		p->t.core_slots = draw_chance(r, 0.1) ? 0 :
		    (uint64_t)draw_scaled(r, 4, vectors);
	if (get_arrivals(&p->rates) < 0.9) {
		raise_slots(p, &p->t.slots);
		raise_slots(p, &p->t.core_slots);
	}
}

/*
 * Draw a fault of a link or a machine that happens 1 to `left` times.  Returns
 * the number of times.
 *
 * A switch is killed only if the protocol lets the job continue.  In an
 * asynchronous job, only racks are killed.  No switch is killed if workers wait
 * for each other outside the network, because such workers send nothing while
 * they wait.
 */
static uint32_t
draw_fault(struct rng *r, const struct scenario_training *t,
    struct scenario_fault *f, uint64_t survivor, uint32_t left,
    bool kills_racks)
{
	const bool racks = t->rack > 0;
	const double kind = rng_double(r), end_ns = 1.5 * get_ideal_ns(t);
	uint64_t at = (uint64_t)rng_uniform(r, 0, end_ns);
	uint32_t n = 1;

	f->index = rng_below(r, t->workers);
	if (kind < 0.3 || (kind < 0.6 && !kills_racks &&
	    (t->mode == TRAINING_ASYNC || t->approach == TRAINING_PS ||
	    t->barrier))) {
		strcpy(f->link, "worker");
		n = draw_chance(r, 0.3) ? (uint32_t)draw_between(r, 2, 4) : 1;
	} else if (kind < 0.6 && racks &&
	    (kills_racks || draw_chance(r, 0.6))) {
		strcpy(f->node, "rack");
		f->index = rng_below(r, (t->workers + t->rack - 1) / t->rack);
	} else if (kind < 0.6) {
		strcpy(f->node, "switch");
		f->index = 0;
	} else if (kind < 0.75 && racks) {
		strcpy(f->link, "rack");
		f->index = rng_below(r, (t->workers + t->rack - 1) / t->rack);
	} else if (t->workers > 1 && t->mode == TRAINING_SYNC &&
	    !t->barrier && draw_chance(r, 0.5)) {
		f->worker = SCENARIO_KILLED;	/* any worker except the one
						 * that must survive */
		f->index = (survivor + 1 + rng_below(r, t->workers - 1)) %
		    t->workers;
	} else {
		f->worker = SCENARIO_PAUSED;
	}
	n = n < left ? n : left;
	for (uint32_t i = 0; i < n; i++) {
		f[i] = f[0];
		f[i].from_ns = at;
		f[i].to_ns = at + draw_scaled_ns(r, 1000, n > 1 ? 1e8 : 3e9);
		at = f[i].to_ns + draw_scaled_ns(r, 1000, 1e8);
	}
	return n;
}

static void
draw_faults(struct rng *r, struct chaos_plan *p)
{
	const uint64_t most = !p->kills_racks && draw_chance(r, 0.4) ? 0 :
	    draw_between(r, 1, 4);
	const uint64_t survivor = rng_below(r, p->t.workers);
	uint32_t n = 0;

	for (uint64_t i = 0; i < most && n < CHAOS_FAULTS; i++) {
		const uint32_t m = draw_fault(r, &p->t, &p->fault[n],
		    survivor, CHAOS_FAULTS - n, p->kills_racks);

		for (uint32_t k = n; k < n + m && m > 1; k++)
			p->flaps |= 1u << k;
		n += m;
	}
	p->sc.faults.n = n;
}

/*
 * In the protocol, iteration 0 means a new worker, unless the job is within
 * SEG_NEAR iterations of the wrap-around of iteration numbers.  A killed worker
 * starts again at the first iteration of the plan, so this iteration must be
 * within that distance.
 */
static void
limit_wrap(struct chaos_plan *p)
{
	bool dies = false;

	for (uint32_t i = 0; i < p->sc.faults.n; i++)
		dies |= chaos_kind(p, i) == CHAOS_DEATH;
	if (dies && p->t.mode == TRAINING_SYNC && p->first > SEG_NEAR &&
	    p->first < SEG_ITERATIONS - SEG_NEAR)
		p->first = SEG_ITERATIONS - SEG_NEAR;
}

/* Draw more losses and duplicates.  Some duplicates arrive immediately. */
static void
draw_severe_links(struct rng *r, struct chaos_plan *p)
{
	struct link_fault_rates *w = &p->rates;
	const double hops = p->t.approach == TRAINING_PS ? 4 : 1;

	if (draw_chance(r, 0.5))
		w->loss = rng_uniform(r, 0.2, 0.5) / hops;
	if (draw_chance(r, 0.5))
		w->twice = draw_scaled(r, 0.1, 0.6);
	if (draw_chance(r, 0.3))
		w->late_ns = 0;
}

/* Does the plan kill this worker? */
static bool
kills_worker(const struct chaos_plan *p, uint64_t worker)
{
	bool kills = false;

	for (uint32_t i = 0; i < p->sc.faults.n; i++)
		kills |= chaos_kind(p, i) == CHAOS_DEATH &&
		    p->fault[i].index == worker;
	return kills;
}

/* Draw a worker that the plan does not kill. */
static uint64_t
draw_survivor(struct rng *r, const struct chaos_plan *p)
{
	uint64_t worker = rng_below(r, p->t.workers);

	while (kills_worker(p, worker))
		worker = (worker + 1) % p->t.workers;
	return worker;
}

/*
 * Kill some of the workers that would have paused, and let faults happen at the
 * same time.  One worker survives, because no state would be left otherwise.
 */
static void
draw_severe_faults(struct rng *r, struct chaos_plan *p)
{
	const uint64_t survivor = draw_survivor(r, p);
	struct scenario_fault *f = p->fault;

	while (p->sc.faults.n < 2)
		p->sc.faults.n += draw_fault(r, &p->t, &f[p->sc.faults.n],
		    survivor, 1, p->kills_racks);
	for (uint32_t i = 0; i < p->sc.faults.n; i++) {
		const uint64_t span_ns = f[i].to_ns - f[i].from_ns;

		if (p->kills_racks && f[i].worker == SCENARIO_PAUSED &&
		    f[i].index != survivor && draw_chance(r, 0.6))
			f[i].worker = SCENARIO_KILLED;
		if (i > 0 && (p->flaps >> i & 1) == 0 && draw_chance(r, 0.7)) {
			f[i].from_ns = f[0].from_ns;
			f[i].to_ns = f[i].from_ns + span_ns;
		}
	}
}

/*
 * Reduce the losses if a worker below a rack is replaced and would not get a
 * state within BOUND_NS.  Its request and the answer cross eight links.  (With
 * a loss of 48 %, one request in 200 was answered.)
 */
static void
limit_path_loss(struct chaos_plan *p)
{
	struct link_fault_rates *w = &p->rates;
	bool kills = false;

	for (uint32_t i = 0; i < p->t.workers; i++)
		kills |= kills_worker(p, i);
	while (kills && p->t.rack > 0 && pow(get_arrivals(w), 8) < 0.02) {
		w->loss *= 0.9;
		w->burst_loss *= 0.9;
	}
}

/*
 * Make the training job and its faults harder; the other draws stay the same.
 */
static void
draw_severe(struct chaos_plan *p)
{
	struct rng r = rng_seed(p->seed ^ 0x736576657265);

	draw_severe_links(&r, p);
	draw_severe_faults(&r, p);
	limit_path_loss(p);
}

void
chaos_draw(struct chaos_plan *p, uint64_t seed,
    const struct chaos_draw_kind *kind)
{
	struct rng r = rng_seed(seed ^ 0x6368616f73);

	*p = (struct chaos_plan){ .seed = seed, .first = 1,
	    .kills_racks = kind->kills_racks, .ring = kind->ring,
	    .severe = kind->severe };
	if (kind->kills_racks)
		draw_async_racks(&r, &p->t);
	else if (kind->ring)
		draw_sync_switches(&r, &p->t);
	else
		draw_topology(&r, &p->t);
	draw_sizes(&r, &p->t);
	if (kind->kills_racks)
		limit_state(&p->t);
	draw_speeds(&r, &p->t);
	draw_link_faults(&r, p);
	draw_faults(&r, p);
	if (kind->severe)
		draw_severe(p);
	if (kind->ring)
		pause_workers(p);
	keep_one_alive(p);
	set_give_up(p);
	if (draw_chance(&r, 0.2))	/* the iteration number will soon wrap
					 * around */
		p->first = SEG_ITERATIONS - (uint32_t)draw_between(&r, 1, 10);
	/*
	 * workers in `old` use only Help and never repeat an iteration, so no
	 * worker or switch may be killed
	 */
	if (p->t.mode == TRAINING_SYNC && !p->killed && !p->ring &&
	    draw_chance(&r, 0.1))
		p->old = draw_chance(&r, 0.3) ? UINT32_MAX :
		    (uint32_t)rng_below(&r, 1 << 16);
	if (get_arrivals(&p->rates) < 0.6)
		p->old = 0;	/* workers in `old` would need hours */
	/* a switch with too little memory does not answer Probes, which a ring
	 * needs */
	if (p->t.mode == TRAINING_SYNC && !p->killed && p->t.rack == 0 &&
	    !p->ring && draw_chance(&r, 0.05))
		p->memory_bytes = (uint64_t)((double)(4 * p->t.elements /
		    (p->t.payload_bytes - SEG_HEADER_BYTES) + 4) *
		    draw_scaled(&r, 50, 2000));
	draw_slots(&r, p);
	limit_wrap(p);
	p->sc.duration_ns = (p->ring ? PIECES_FACTOR : 1) * BOUND_NS;
	p->sc.trainings.item = &p->t;
	p->sc.trainings.n = 1;
	p->sc.faults.item = p->fault;
	p->sc.chaos = p;
}

enum chaos_kind
chaos_kind(const struct chaos_plan *p, uint32_t i)
{
	const struct scenario_fault *f = &p->fault[i];

	if (f->worker != SCENARIO_LIVES)
		return f->worker == SCENARIO_PAUSED ? CHAOS_PAUSE :
		    CHAOS_DEATH;
	if (f->link[0] == '\0')
		return CHAOS_KILL;
	return (p->flaps >> i & 1) != 0 ? CHAOS_FLAP : CHAOS_PARTITION;
}

static void
print_faults(FILE *f, const struct chaos_plan *p)
{
	for (uint32_t i = 0; i < p->sc.faults.n; i++) {
		const struct scenario_fault *x = &p->fault[i];
		const char *key = x->link[0] != '\0' ? "link" :
		    x->worker != SCENARIO_LIVES ? "worker" : "switch";
		const char *what = x->link[0] != '\0' ? x->link :
		    x->worker == SCENARIO_PAUSED ? "paused" :
		    x->worker == SCENARIO_KILLED ? "killed" : x->node;

		fprintf(f, "%s{\"%s\":\"%s\",\"index\":%" PRIu64 ",\"from\":\"%"
		    PRIu64 "ns\",\"to\":\"%" PRIu64 "ns\"}", i == 0 ? "" : ",",
		    key, what, x->index, x->from_ns, x->to_ns);
	}
}

void
chaos_print(FILE *f, const struct chaos_plan *p)
{
	static const char *const shape[] = { "constant", "uniform",
		"lognormal", "exponential" };
	static const char *const auth[] = { "none", "control", "all" };
	const struct scenario_training *t = &p->t;
	const struct link_fault_rates *w = &p->rates;

	fprintf(f, "{\"seed\":%" PRIu64 ",\"trainings\":[{\"approach\":\"%s\","
	    "\"mode\":\"%s\",\"workers\":%" PRIu64 ",\"rack\":%" PRIu64
	    ",\"slots_of_sums\":%" PRIu64 ",\"core_slots_of_sums\":%" PRIu64
	    ",\"vector\":\"%" PRIu64 "B\",\"payload\":\"%" PRIu64
	    "B\",\"auth\":\"%s\",\"iterations\":%" PRIu64
	    ",\"staleness\":%" PRIu64 ",\"barrier\":%s", p->seed,
	    t->approach == TRAINING_PS ? "ps" : "switch",
	    t->mode == TRAINING_ASYNC ? "async" : "sync", t->workers, t->rack,
	    t->slots, t->core_slots, 4 * t->elements, t->payload_bytes,
	    auth[t->auth], t->iterations, t->staleness,
	    t->barrier ? "true" : "false");
	fprintf(f, ",\"rate\":%" PRIu64 ",\"propagation\":\"%" PRIu64
	    "ns\",\"switch_delay\":\"%" PRIu64 "ns\",\"compute\":\"%" PRIu64
	    "ns\",\"compute_shape\":\"%s\",\"compute_spread\":%.4f,"
	    "\"speeds\":%.4f,\"update\":\"%" PRIu64 "ns\",\"message\":\"%"
	    PRIu64 "ns\",\"packet\":\"%" PRIu64 "ns\"}]", t->rate_bps,
	    t->propagation_ns, t->switch_ns, t->compute_ns, shape[t->shape],
	    t->spread, t->speeds, t->update_ns, t->message_ns, t->packet_ns);
	fprintf(f, ",\"faults\":[");
	print_faults(f, p);
	fprintf(f, "],\"links\":{\"share\":%.4f,\"loss\":%.4f,\"burst\":%.4f,"
	    "\"calm\":%.4f,\"burst_loss\":%.4f,\"twice\":%.4f,\"late\":%.4f,"
	    "\"late_by\":\"%" PRIu64 "ns\"},\"first\":%" PRIu32
	    ",\"old\":%" PRIu32 ",\"memory\":%" PRIu64 "}\n", p->share,
	    w->loss, w->burst, w->calm, w->burst_loss, w->twice, w->late,
	    w->late_ns, p->first, p->old, p->memory_bytes);
}
