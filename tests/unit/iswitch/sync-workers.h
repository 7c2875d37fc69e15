/*
 * sync-workers.h - synchronous workers in the world of hub.h. A test opens the
 * world once, begins a run in it, steps it, asks whether all workers are still
 * without error, and ends it.
 */
#ifndef INNET_TESTS_SYNC_WORKERS_H
#define INNET_TESTS_SYNC_WORKERS_H

#include "tests/unit/iswitch/hub.h"
#include "tests/unit/tap.h"

static inline struct world *
world_open(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert(w != NULL);
	w->fly = malloc(FLYING * sizeof(*w->fly));
	assert(w->fly != NULL);
	return w;
}

static inline void
world_close(struct world *w)
{
	free(w->fly);
	free(w);
}

static inline void
worker_send(struct world *w, int k)
{
	struct doer *d = &w->doer[k];
	uint8_t msg[SEG_HEADER_BYTES + 4 * F];
	struct sync_worker_out o;

	while (sync_worker_next(&d->l, w->now_ns, &o)) {
		if (o.count == 0)
			post(w, k, SWITCH, CONTROL_TOS, o.message, o.len);
		for (uint32_t i = o.first; i < o.first + o.count; i++) {
			uint32_t n = seg_floats_at(w->elements, F, i);

			memcpy(seg_put(msg, o.iteration, 1, i),
			    &d->grad[o.iteration & 1][i * F], 4 * (size_t)n);
			post(w, k, SWITCH, SEG_TOS, msg,
			    SEG_HEADER_BYTES + 4 * (size_t)n);
		}
	}
}

static inline void
worker_take(struct world *w, int k, const struct datagram *p)
{
	struct doer *d = &w->doer[k];
	struct control c;
	struct seg seg;

	if (p->tos == CONTROL_TOS) {
		assert(control_parse(p->bytes, p->len, &c));
		sync_worker_receive_control(&d->l, &c, w->now_ns);
		return;
	}
	assert(seg_parse(p->bytes, p->len, &seg));
	if (sync_worker_receive_result(&d->l, &seg, w->now_ns) ==
	    SYNC_WORKER_TAKE)
		memcpy(&d->result[seg.iteration & 1][seg.index * F], seg.vec,
		    4 * (size_t)seg.n);
}

/* Is the result correct? */
static inline void
worker_check(struct world *w, struct doer *d)
{
	const uint32_t t = d->l.t;

	d->partial |= sync_worker_is_partial(&d->l);
	for (uint32_t i = 0; i < w->elements && !w->early; i++) {
		float want = 0;

		for (int k = 0; k < w->workers; k++)
			want += value(k, t, i);
		d->wrong |= d->result[t & 1][i] != want;
	}
}

/* The state of the training process: results, gradients, the end. */
static inline void
worker_live(struct world *w, int k)
{
	struct doer *d = &w->doer[k];
	struct sync_worker *l = &d->l;

	while (sync_worker_is_whole(l) && d->done < w->goal) {
		worker_check(w, d);
		sync_worker_advance(l, w->now_ns);
		d->done++;
		if (!d->busy && d->done < w->goal) {
			d->busy = true;
			d->ready_ns = w->now_ns + d->think_ns;
		}
	}
	if (d->done == w->goal) {
		sync_worker_leave(l, w->now_ns);
	} else if (d->busy && w->now_ns >= d->ready_ns) {
		for (uint32_t i = 0; i < w->elements; i++)
			d->grad[l->t & 1][i] = value(k, l->t, i);
		sync_worker_set_gradient(l, w->now_ns);
		d->busy = false;
	}
	worker_send(w, k);
}

static inline uint64_t
worker_due(const struct doer *d)
{
	uint64_t due = sync_worker_deadline_ns(&d->l);

	return d->busy && d->ready_ns < due ? d->ready_ns : due;
}

/* Run one event; return false when all workers have ended. */
static inline bool
step(struct world *w)
{
	uint64_t next = w->flying > 0 ? w->fly[0].at_ns : UINT64_MAX;
	bool going = false;

	for (int k = 0; k < w->workers; k++) {
		struct doer *d = &w->doer[k];

		if (d->dead || !sync_worker_is_going(&d->l))
			continue;
		going = true;
		if (worker_due(d) < next)
			next = worker_due(d);
	}
	if (!going || next == UINT64_MAX)
		return false;
	w->now_ns = next > w->now_ns ? next : w->now_ns;
	hub_stragglers(w);
	if (w->flying > 0 && w->fly[0].at_ns <= w->now_ns) {
		struct datagram d = land(w);

		if (d.to != SWITCH && !w->doer[d.to].dead)
			worker_take(w, d.to, &d);
		else if (d.to == SWITCH && !w->hub.dead && d.tos == SEG_TOS)
			hub_segment(w, d.from, d.bytes, d.len);
		else if (d.to == SWITCH && !w->hub.dead)
			hub_control(w, d.from, d.bytes, d.len);
	}
	for (int k = 0; k < w->workers; k++) {
		if (!w->doer[k].dead && sync_worker_is_going(&w->doer[k].l))
			worker_live(w, k);
	}
	return true;
}

static inline void
begin(struct world *w, int workers, uint32_t elements, uint32_t goal,
    uint32_t next, uint64_t seed)
{
	struct datagram *fly = w->fly;

	*w = (struct world){ .rng = rng_seed(seed), .workers = workers,
	    .elements = elements, .goal = goal, .fly = fly };
	w->hub.h = (unsigned)workers;
	w->hub.elements = elements;
	for (int k = 0; k < workers; k++) {
		const struct membership_conf in = { .type = CONTROL_WORKER,
		    .job = 7, .cluster = 1, .number = (uint32_t)k,
		    .elements = elements, .floats_max = 366,
		    .give_up_ns = 30000 * MS,
		    .xid = (uint32_t)rng_u64(&w->rng) };
		const struct sync_worker_conf cf = { .next = next, .window = 8,
		    .run_bytes = 4 * (SEG_HEADER_BYTES + 4 * F),
		    .buffer_bytes = 65536 };

		w->doer[k].busy = true;
		sync_worker_init(&w->doer[k].l, &in, &cf, 0);
	}
}

/* Run to the end; return true if all workers left with correct results. */
static inline bool
all_well(struct world *w)
{
	bool well = true;

	while (step(w))
		;
	for (int k = 0; k < w->workers; k++) {
		const struct doer *d = &w->doer[k];
		char why[SYNC_WORKER_WHY_BYTES];

		well = well && d->l.in.end == MEMBERSHIP_LEFT && !d->wrong &&
		    d->done == w->goal;
		if (!well)
			note("worker %d: %u of %u, end %d, t %u%s: %s", k,
			    d->done, w->goal, d->l.in.end, d->l.t, d->wrong ?
			    ", wrong" : "", sync_worker_why(&d->l, why));
	}
	return well;
}

static inline uint64_t
joins(const struct world *w)
{
	uint64_t n = 0;

	for (int k = 0; k < w->workers; k++)
		n += w->doer[k].l.in.joins;
	return n;
}

static inline uint64_t
total(const struct world *w, enum sync_worker_count what)
{
	uint64_t n = 0;

	for (int k = 0; k < w->workers; k++)
		n += w->doer[k].l.n[what];
	return n;
}

static inline void
end(struct world *w)
{
	for (int k = 0; k < w->workers; k++)
		sync_worker_free(&w->doer[k].l);
}

#endif
