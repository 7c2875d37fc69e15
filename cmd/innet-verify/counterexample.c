/* counterexample.c - simulate a schedule with the queue of the other tools */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/innet-verify/counterexample.h"
#include "common/base/message.h"
#include "common/olaf/aom.h"
#include "common/queue/txctl.h"
#include "common/queue/port.h"

/* BYTE_A_NS is the rate in bits/s at which a frame of n bytes takes n ns. */
enum { WORKER = 0 };
#define BYTE_A_NS 8000000000u

/*
 * Because of rounding, a probability that should be 1 can be smaller by this
 * amount.
 */
#define ROUNDING 1e-9

struct player {
	const struct spec *spec;
	struct schedule *s;
	struct played *r;
	struct port port;
	struct aom age[SPEC_CLUSTERS_MAX]; /* ages that begin at the first
					    * arrival */
	struct aom peak[SPEC_CLUSTERS_MAX]; /* ages that begin at the first
					     * delivery */
	struct txctl control[SPEC_CLUSTERS_MAX];
	size_t acked[SPEC_CLUSTERS_MAX]; /* number of departures whose status
					  * was checked */
	struct planned_update *
	    *open; /* updates that opened a slot; owned */
	size_t opened, left;
	uint8_t vec[4];
};

const char *
fate_name(enum fate f)
{
	static const char *const name[] = {
		"held", "opened", "merged", "dropped"
	};

	return name[f];
}

/* Deliver the update whose slot is being transmitted. */
static void
deliver_update(struct player *p)
{
	const uint64_t now = port_deadline_ns(&p->port);
	const uint64_t made = port_head(&p->port)->up.generated_ns;
	struct planned_update *x = p->open[p->left++];
	struct played_cluster *c = &p->r->of[x->c];
	struct aom *peak = &p->peak[x->c];
	const uint64_t age = now - p->age[x->c].made_ns;

	x->leaves_ns = now;
	if (age > c->max_age_ns)
		c->max_age_ns = age;
	if (peak->started)
		x->peak_ns = now - peak->made_ns;
	if (aom_deliver(&p->age[x->c], now, made) == AOM_NOMEM ||
	    aom_deliver(peak, now, made) == AOM_NOMEM)
		err(1, "no memory for the ages of cluster %llu",
		    (unsigned long long)p->spec->cluster[x->c].id);
	c->delivered++;
	port_pop(&p->port);
}

/* Process the statuses that reached the cluster of x before x arrived. */
static void
receive_statuses(struct player *p, const struct planned_update *x)
{
	const struct update_status status = { .filled = true,
	    .capacity = (uint16_t)p->spec->slots,
	    .active = (uint16_t)p->spec->n };

	for (size_t i = p->acked[x->c]; i < p->left; i++) {
		const uint64_t came = p->open[i]->leaves_ns +
		    p->spec->ack_ns;

		if (came > x->at_ns)
			break;
		if (p->open[i]->c == x->c)
			txctl_set_status(&p->control[x->c], &status, came);
		p->acked[x->c] = i + 1;
	}
}

/* Offer x to the queue, and record how the queue handles x. */
static void
offer_update(struct player *p, struct planned_update *x)
{
	const struct tally_count *full =
	    &p->port.updates->tally.all.of[TALLY_DROPPED_FULL];
	const uint64_t dropped = full->packets;
	const uint32_t taken = p->port.slots.count;
	const struct update u = { .kind = UPDATE_UPDATE, .worker = WORKER,
	    .merged = 1, .cluster = (uint16_t)p->spec->cluster[x->c].id,
	    .sequence = (uint32_t)x->k + 1, .generated_ns = x->at_ns,
	    .elements = 1, .n = 1, .vec = p->vec };
	const struct arrival a = { .bytes = p->vec, .have = sizeof(p->vec),
	    .wire_bytes = (uint32_t)p->spec->service_ns, .is_update = true,
	    .up = &u };
	struct played_cluster *c = &p->r->of[x->c];

	port_offer(&p->port, &a, x->at_ns);
	c->sent++;
	if (full->packets > dropped) {
		x->fate = FATE_DROPPED;
		c->dropped++;
	} else if (p->port.slots.count > taken) {
		x->fate = FATE_OPENED;
		p->open[p->opened++] = x;
	} else {
		x->fate = FATE_MERGED;
		c->merged++;
	}
}

/* Do the offset and the jitter of the cluster allow the arrival of x? */
static bool
is_on_time(const struct player *p, const struct planned_update *x)
{
	const struct spec_cluster *c = &p->spec->cluster[x->c];

	return x->at_ns >= spec_arrival(c, x->k, c->offset_lo_ns, 0) &&
	    x->at_ns <= spec_arrival(c, x->k, c->offset_hi_ns, c->jitter_ns);
}

/*
 * Play the schedule up to the arrival of x.  Return false if the specification
 * does not allow x.
 */
static bool
play_update(struct player *p, struct planned_update *x)
{
	if (!is_on_time(p, x)) {
		p->r->why = "an update arrives at a time that is not allowed";
		return false;
	}
	while (port_deadline_ns(&p->port) <= x->at_ns)
		deliver_update(p);
	receive_statuses(p, x);
	x->begins_ns = p->port.slots.count == 0 ? x->at_ns :
	    port_deadline_ns(&p->port) + (p->port.slots.count - 1) *
	    p->spec->service_ns;
	if (!p->age[x->c].started)
		aom_start(&p->age[x->c], x->at_ns, x->at_ns);
	if (x->sent) {
		offer_update(p, x);
		return true;
	}
	p->r->of[x->c].held++;
	if (txctl_probability(&p->control[x->c], x->at_ns) < 1 - ROUNDING)
		return true;
	p->r->why = "an update is held back that must be sent";
	return false;
}

/*
 * Is there, for each cluster, one offset with which all its arrivals are
 * possible?
 */
static bool
has_one_offset(const struct spec *spec, const struct schedule *s)
{
	uint64_t lo[SPEC_CLUSTERS_MAX], hi[SPEC_CLUSTERS_MAX];

	for (size_t c = 0; c < spec->n; c++) {
		lo[c] = spec->cluster[c].offset_lo_ns;
		hi[c] = spec->cluster[c].offset_hi_ns;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct planned_update *x = &s->row[i];
		const struct spec_cluster *c = &spec->cluster[x->c];
		const uint64_t most = x->at_ns - x->k * c->period_ns;
		const uint64_t least = most < c->jitter_ns ? 0 :
		    most - c->jitter_ns;

		lo[x->c] = least > lo[x->c] ? least : lo[x->c];
		hi[x->c] = most < hi[x->c] ? most : hi[x->c];
		if (lo[x->c] > hi[x->c])
			return false;
	}
	return true;
}

/* End all ages at the horizon, store their maxima and peaks, and free them. */
static void
close_ages(struct player *p, uint64_t horizon_ns)
{
	for (size_t c = 0; c < p->spec->n; c++) {
		struct played_cluster *of = &p->r->of[c];

		if (aom_end(&p->age[c], horizon_ns) == -1)
			err(1, "no memory for the ages");
		if (p->age[c].max_ns > of->max_age_ns)
			of->max_age_ns = p->age[c].max_ns;
		of->peaks = p->peak[c].peaks;
		of->peak_sum_ns = (uint64_t)p->peak[c].peak_sum_ns;
		aom_free(&p->age[c]);
		aom_free(&p->peak[c]);
	}
}

bool
counterexample_play(const struct spec *spec, uint64_t horizon_ns,
    struct schedule *s, struct played *r)
{
	const struct port_conf cf = { .queue = PORT_OLAF,
	    .slots = (uint32_t)spec->slots, .rate_bps = BYTE_A_NS,
	    .threshold = NAN, .active_window_ns = SPEC_BILLION };
	struct player p = { .spec = spec, .s = s, .r = r,
	    .open = calloc(s->n + 1, sizeof(*p.open)) };

	*r = (struct played){ 0 };
	if (!port_init(&p.port, &cf) || !port_allocate_updates(&p.port) ||
	    p.open == NULL)
		err(1, "no memory for a replay of %zu updates", s->n);
	for (size_t c = 0; c < spec->n; c++)
		p.control[c] = spec->cluster[c].control;
	if (!has_one_offset(spec, s))
		r->why = "no single offset explains the updates of a cluster";
	for (size_t i = 0; r->why == NULL && i < s->n; i++) {
		if (!play_update(&p, &s->row[i]))
			break;
	}
	while (port_deadline_ns(&p.port) != PORT_NEVER)
		deliver_update(&p);
	close_ages(&p, horizon_ns);
	port_free(&p.port);
	free(p.open);
	return r->why == NULL;
}

/* Does the average of u exceed the average of v by more than the bound? */
static bool
are_apart(const struct objective *o, const struct played_cluster *u,
    const struct played_cluster *v)
{
	/*
	 * This is su / nu - sv / nv > bound, multiplied by nu * nv.  The
	 * products are at most 2^111.
	 */
	const __int128 su = (__int128)u->peak_sum_ns * v->peaks;
	const __int128 sv = (__int128)v->peak_sum_ns * u->peaks;

	if (u->peaks == 0 || v->peaks == 0)
		return false;
	if (o->relative)
		return (su - sv) * SPEC_BILLION > su * (__int128)o->bound;
	return su - sv > (__int128)o->bound * u->peaks * v->peaks;
}

bool
counterexample_violates(const struct spec *spec, const struct objective *o,
    const struct played *r)
{
	for (size_t u = 0; u < spec->n; u++) {
		if (o->kind == OBJECTIVE_NO_LOSS && r->of[u].dropped > 0)
			return true;
		if (o->kind == OBJECTIVE_PEAK &&
		    r->of[u].max_age_ns > o->bound)
			return true;
		if (o->kind == OBJECTIVE_FAIR && r->of[u].peaks == 0)
			return true;
		for (size_t v = 0; o->kind == OBJECTIVE_FAIR && v < spec->n;
		    v++) {
			if (are_apart(o, &r->of[u], &r->of[v]))
				return true;
		}
	}
	return false;
}

bool
counterexample_link(uint64_t service_ns, uint64_t *payload_bytes,
    uint64_t *rate_bps)
{
	enum { HEADERS = 42, LEAST = 256, MOST = 1456 };

	for (uint32_t n = LEAST; n <= MOST; n += 4) {
		const uint64_t bits_e9 = (n + HEADERS) * (uint64_t)BYTE_A_NS;
		struct link l = { .rate_bps = (bits_e9 + service_ns / 2) /
		    service_ns };

		*payload_bytes = n;
		*rate_bps = l.rate_bps;
		if (l.rate_bps > 0 && link_time_ns(&l, n + HEADERS) ==
		    service_ns)
			return true;
	}
	return false;
}
