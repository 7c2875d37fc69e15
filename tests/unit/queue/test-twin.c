/*
 * Compare the queue with a simple twin: an array that is searched and frames
 * that are copied. In 1,000 random scenarios it and port.h must agree on every
 * departure and every counter, and conserve constituents.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/queue/port.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 5, RANGES = 3, BYTES = 32 + 4 * ELEMENTS };

struct item {
	struct update up;
	float v[ELEMENTS];
	uint64_t opened, bytes;
};

struct twin {
	struct port_conf cf;
	struct item q[16];
	uint32_t count;
	uint64_t due, link_free;
	uint64_t n[TALLY_EVENTS];		/* constituents */
};

static void
twin_start(struct twin *t)
{
	uint64_t start = t->link_free;

	if (t->count == 0)
		return;
	if (t->q[0].opened > start)
		start = t->q[0].opened;
	t->due = t->link_free = start + (8000000000u * t->q[0].bytes +
	    t->cf.rate_bps / 2) / t->cf.rate_bps;
}

static void
twin_pop(struct twin *t)
{
	t->n[TALLY_DELIVERED] += t->q[0].up.merged;
	memmove(t->q, t->q + 1, sizeof(t->q[0]) * --t->count);
	twin_start(t);
}

static void
twin_decide(struct twin *t, struct item *e, const struct item *a)
{
	double r = (double)a->up.reward, re = (double)e->up.reward;
	uint64_t opened = e->opened;
	uint32_t me = e->up.merged, ma = a->up.merged;
	struct item was = *e;

	if (a->up.worker == e->up.worker && (int32_t)(a->up.sequence -
	    e->up.sequence) <= 0) {
		t->n[TALLY_SUPERSEDED] += ma;
		return;
	}
	if ((a->up.worker == e->up.worker && ma == 1 && me == 1) ||
	    r > re + t->cf.threshold) {
		bool same = a->up.worker == e->up.worker && ma == 1 && me == 1;

		t->n[same ? TALLY_REPLACED : TALLY_REPLACED_REWARD] += ma;
		t->n[TALLY_SUPERSEDED] += me;
		*e = *a;
		e->opened = opened;
		return;
	}
	if (r < re - t->cf.threshold) {
		t->n[TALLY_DROPPED_REWARD] += ma;
		return;
	}
	if (me + ma > 65535) {
		t->n[TALLY_DROPPED_LIMIT] += ma;
		return;
	}
	t->n[TALLY_AGGREGATED] += ma;
	*e = *a;
	e->opened = opened;
	e->up.merged = (uint16_t)(me + ma);
	e->up.reward = (float)((re * me + r * ma) / (double)(me + ma));
	if (was.up.generated_ns > e->up.generated_ns)
		e->up.generated_ns = was.up.generated_ns;
	for (int i = 0; i < ELEMENTS; i++)
		e->v[i] = t->cf.combine == OLAF_QUEUE_SUM ? was.v[i] + a->v[i] :
		    (float)((double)was.v[i] * (me / (double)(me + ma)) +
		    (double)a->v[i] * (ma / (double)(me + ma)));
}

static void
twin_offer(struct twin *t, const struct item *a)
{
	t->n[TALLY_ARRIVED] += a->up.merged;
	for (uint32_t i = 1; t->cf.queue == PORT_OLAF && i < t->count;
	    i++) {
		if (t->q[i].up.cluster == a->up.cluster &&
		    t->q[i].up.following == a->up.following) {
			twin_decide(t, &t->q[i], a);
			return;
		}
	}
	if (t->count == t->cf.slots) {
		t->n[TALLY_DROPPED_FULL] += a->up.merged;
		return;
	}
	t->q[t->count++] = *a;
	if (t->count == 1)
		twin_start(t);
}

static struct item
random_item(struct rng *r, uint64_t now, uint32_t clusters, bool ranges)
{
	struct item a = { .opened = now, .bytes = 60 + rng_below(r, 3) * 40 };

	a.up = (struct update){ .kind = UPDATE_UPDATE,
	    .cluster = (uint16_t)rng_below(r, clusters),
	    .worker = (uint32_t)rng_below(r, 3),
	    .sequence = (uint32_t)(now / 100 + rng_below(r, 4)),
	    .merged = 1, .generated_ns = now - rng_below(r, 500),
	    .reward = (float)rng_below(r, 5), .n = ELEMENTS,
	    .elements = ELEMENTS };
	if (rng_below(r, 10) == 0)
		a.up.merged = (uint16_t)(1 + rng_below(r, 40000));
	if (ranges) {
		a.up.elements = RANGES * ELEMENTS;
		a.up.following = (uint16_t)rng_below(r, RANGES);
	}
	for (int i = 0; i < ELEMENTS; i++)
		a.v[i] = (float)rng_uniform(r, -1, 1);
	return a;
}

static void
offer_both(struct port *e, const struct item *i, uint64_t now)
{
	uint8_t bytes[BYTES];
	struct update u = i->up;
	const struct arrival a = { .bytes = bytes, .have = BYTES,
	    .wire_bytes = (uint32_t)i->bytes, .is_update = true, .up = &u };

	u.vec = update_put(bytes, &i->up);
	memcpy(bytes + 32, i->v, sizeof(i->v));
	port_offer(e, &a, now);
}

/* Do the two queues agree on the next frame and its time? */
static bool
same_head(const struct port *e, const struct twin *t)
{
	const struct slot *s = port_head(e);
	const struct item *i = &t->q[0];

	if (t->count == 0 || s == NULL)
		return t->count == 0 && s == NULL &&
		    port_deadline_ns(e) == PORT_NEVER;
	return port_deadline_ns(e) == t->due &&
	       s->up.cluster == i->up.cluster && s->up.worker == i->up.worker &&
	       s->up.sequence == i->up.sequence &&
	       s->up.merged == i->up.merged && s->up.reward == i->up.reward &&
	       s->up.generated_ns == i->up.generated_ns &&
	       memcmp(s->up.vec, i->v, sizeof(i->v)) == 0;
}

static bool
same_account(const struct port *e, const struct twin *t)
{
	bool same = tally_is_conserved(&e->updates->tally.all);

	for (int w = 0; w < TALLY_EVENTS; w++)
		same = same &&
		    e->updates->tally.all.of[w].constituents == t->n[w];
	for (unsigned c = 0; c < 16; c++)
		same =
		    same && tally_is_conserved(&e->updates->tally.cluster[c]);
	return same;
}

static bool
run_scenario(uint64_t seed)
{
	struct rng r = rng_seed(seed);
	struct twin t = { .cf = { .slots = 1 + (uint32_t)rng_below(&r, 12),
	    .queue = rng_below(&r, 4) == 0 ? PORT_FIFO : PORT_OLAF,
	    .rate_bps = 1000000000 * (1 + rng_below(&r, 40)),
	    .combine = rng_below(&r, 2) ? OLAF_QUEUE_SUM : OLAF_QUEUE_MEAN,
	    .threshold = rng_below(&r, 2) ? NAN : (double)rng_below(&r, 3),
	    .active_window_ns = 1000000 } };
	const uint32_t clusters = 1 + (uint32_t)rng_below(&r, 12);
	const bool ranges = rng_below(&r, 3) == 0;
	uint64_t now = 1000;
	struct port e;
	bool same = port_init(&e, &t.cf);

	for (int i = 0; i < 400 && same; i++) {
		struct item a = random_item(&r, now, clusters, ranges);

		while (t.count > 0 && t.due <= now && same) {
			same = same_head(&e, &t);
			port_pop(&e);
			twin_pop(&t);
		}
		offer_both(&e, &a, now);
		twin_offer(&t, &a);
		same = same && same_head(&e, &t);
		now += rng_below(&r, 3) * rng_below(&r, 60);
	}
	while (t.count > 0 && same && rng_below(&r, 20) != 0) {
		same = same_head(&e, &t);
		port_pop(&e);
		twin_pop(&t);
	}
	port_count_queued(&e);
	for (uint32_t i = 0; i < t.count; i++)
		t.n[TALLY_QUEUED] += t.q[i].up.merged;
	same = same && same_account(&e, &t);
	port_free(&e);
	return same;
}

int
main(void)
{
	enum { BLOCK = 100 };

	for (uint64_t seed = 0; seed < 1000; seed += BLOCK) {
		uint64_t bad = UINT64_MAX;

		for (uint64_t k = seed; k < seed + BLOCK; k++) {
			if (!run_scenario(k) && bad == UINT64_MAX)
				bad = k;
		}
		if (!ok(bad == UINT64_MAX, "scenarios %llu to %llu agree with "
		    "the twin",
		    (unsigned long long)seed,
		    (unsigned long long)seed + BLOCK - 1))
			note("seed %llu does not", (unsigned long long)bad);
	}
	return tap_end();
}
