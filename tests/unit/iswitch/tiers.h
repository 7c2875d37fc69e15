/*
 * tiers.h - synchronous workers below switches, in a random network
 *
 * Workers join one switch, or its racks in turn, and sum vectors in virtual
 * time; the code of workers and switches is the real one.  Links have a rate, a
 * delay and a queue, and lose, duplicate and delay packets, all from one seed.
 * Nodes are numbered: workers, racks, and the root, which is the last.  With
 * cf.depth the vector is a ring, and the workers add pieces of random lengths.
 * A test may define TIERS_FLOATS, the number of floats in a segment.
 */
#ifndef INNET_TESTS_TIERS_H
#define INNET_TESTS_TIERS_H

#include <assert.h>

#include "common/base/rng.h"
#include "common/iswitch/sync-ring.h"
#include "common/iswitch/sync-worker-control.h"
#include "tests/unit/iswitch/rigged.h"

#ifndef TIERS_FLOATS
#define TIERS_FLOATS 2
#endif

enum { TIERS_NODES = 12, TIERS_SEGS = 256,
	TIERS_ELEMENTS = TIERS_FLOATS * TIERS_SEGS,
	TIERS_BYTES = 152 + 4 * TIERS_FLOATS,
	TIERS_JOB = 7, TIERS_PORT = 1000 };

struct tiers_conf {
	uint64_t seed;
	int workers, racks;		/* racks: 0 for a single tier */
	uint32_t elements, goal, next, window, run;
	double loss, twice, late, run_loss, pause, full;
	uint64_t packet_ns, queue_ns, delay_ns, late_ns, pause_ns, think_ns,
	    skew_ns, grain_ns, limit_ns;
	bool follows;			/* H is the number of members */
	uint32_t restarts;		/* restarts of the root, which then
					 * loses its state */
	uint32_t slots, slots_root;	/* slots of a rack and of the root; 0:
					 * whole vectors */
	uint32_t depth;			/* ring: number of pieces that a worker
					 * adds before it waits; 0: no ring */
	uint32_t piece_most;		/* ring: longest piece, in elements */
	const uint32_t *piece;		/* ring: lengths of `goal` pieces, or
					 * NULL for random lengths */
};

struct tiers_packet {
	uint64_t at_ns, order;
	int from, to;
	uint8_t tos;
	uint32_t len;
	uint8_t bytes[TIERS_BYTES];
};

struct tiers_node {
	struct tiers *w;
	struct rigged plane;		/* a switch */
	struct sync_worker l;		/* a worker */
	float grad[2][TIERS_ELEMENTS], result[2][TIERS_ELEMENTS];
	struct sync_ring ring;
	uint32_t added;			/* ring: number of pieces added */
	uint64_t ready_ns;		/* time of its next gradient */
	uint64_t full_ns;		/* the socket is full until then */
	uint64_t awake_ns, busy_ns[2];	/* its link: to the parent, from the
					 * parent */
	uint32_t done;
	bool thinks, wrong;
};

struct tiers {
	struct tiers_conf cf;
	struct rng rng;
	uint64_t now_ns, order, sent, steps, restart_ns;
	uint32_t restarts;
	int nodes;
	struct tiers_node node[TIERS_NODES];
	struct tiers_packet *fly;	/* a heap */
	size_t flying, room;
};

static inline bool
tiers_chance(struct tiers *w, double p)
{
	return p > 0 && rng_double(&w->rng) < p;
}

static inline bool
tiers_sooner(const struct tiers_packet *a, const struct tiers_packet *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns :
	    a->order < b->order;
}

static inline void
tiers_launch(struct tiers *w, const struct tiers_packet *p)
{
	size_t i = w->flying++;

	if (i == w->room) {
		w->room = w->room == 0 ? 1024 : 2 * w->room;
		w->fly = realloc(w->fly, w->room * sizeof(*w->fly));
		assert(w->fly != NULL);
	}
	for (; i > 0 && tiers_sooner(p, &w->fly[(i - 1) / 2]); i = (i - 1) / 2)
		w->fly[i] = w->fly[(i - 1) / 2];
	w->fly[i] = *p;
}

static inline struct tiers_packet
tiers_land(struct tiers *w)
{
	const struct tiers_packet first = w->fly[0],
	    last = w->fly[--w->flying];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < w->flying; i = k) {
		if (k + 1 < w->flying &&
		    tiers_sooner(&w->fly[k + 1], &w->fly[k]))
			k++;
		if (!tiers_sooner(&w->fly[k], &last))
			break;
		w->fly[i] = w->fly[k];
	}
	w->fly[i] = last;
	return first;
}

static inline int
tiers_above(const struct tiers *w, int n)
{
	return n >= w->cf.workers || w->cf.racks == 0 ? w->nodes - 1 :
	    w->cf.workers + n % w->cf.racks;
}

/* Send a datagram over the link between a node and the one above it. */
static inline void
tiers_carry(struct tiers *w, int from, int to, uint8_t tos, const uint8_t *p,
    uint32_t len)
{
	const bool down = tiers_above(w, to) == from;
	uint64_t *busy = &w->node[down ? to : from].busy_ns[down];
	struct tiers_packet d = { .from = from, .to = to, .tos = tos,
	    .len = len };

	w->sent++;
	if (len > sizeof(d.bytes))
		return;		/* a list of members: dropped */
	*busy = *busy > w->now_ns ? *busy : w->now_ns;
	if (w->cf.queue_ns > 0 && *busy - w->now_ns > w->cf.queue_ns)
		return;
	*busy += w->cf.packet_ns;
	if (tiers_chance(w, w->cf.loss))
		return;
	memcpy(d.bytes, p, len);
	for (int copies = 1 + tiers_chance(w, w->cf.twice); copies > 0;
	    copies--) {
		d.at_ns = *busy + w->cf.delay_ns;
		if (copies > 1 || tiers_chance(w, w->cf.late))
			d.at_ns += rng_below(&w->rng, w->cf.late_ns + 1);
		d.order = w->order++;
		tiers_launch(w, &d);
	}
}

static inline union addr
tiers_addr(int n)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)(TIERS_PORT + n)),
	    .sin_addr = { htonl(0x7f000001) } } };
}

static inline void
tiers_carry_run(struct tiers *w, int from, int to, const struct post *p)
{
	if (tiers_chance(w, w->cf.run_loss))
		return;
	for (uint32_t k = 0; k < p->count; k++)
		tiers_carry(w, from, to, p->tos, p->p + (size_t)k * p->bytes,
		    k + 1 < p->count ? p->bytes : p->last_bytes);
}

/* Send the post p of a switch. */
static inline void
tiers_deliver(void *ctx, const struct post *p)
{
	struct tiers_node *n = ctx;
	struct tiers *w = n->w;
	const int self = (int)(n - w->node);
	const struct member *m;
	uint32_t next = 0;

	if (p->to == POST_PARENT)
		tiers_carry_run(w, self, tiers_above(w, self), p);
	if (p->to == POST_ONE)
		tiers_carry_run(w, self, addr_port(&p->at) - TIERS_PORT, p);
	while (p->to == POST_GROUP && (m = members_next(
	    &rigged_switch(&n->plane)->job[p->group]->core.members, &next)) !=
	    NULL)
		tiers_carry_run(w, self, addr_port(&m->at) - TIERS_PORT, p);
}

/* Return a gradient value: a whole number, so that sums are exact. */
static inline float
tiers_value(int worker, uint32_t t, uint32_t i)
{
	return (float)((int)((i * 31 + t * 17 + (uint32_t)worker * 101) %
	    2001) - 1000);
}

/* Return the vector from which node n sends the gradient of an iteration. */
static inline const float *
tiers_gradient(const struct tiers *w, const struct tiers_node *n,
    uint32_t iteration)
{
	return w->cf.depth > 0 ? sync_ring_gradient(&n->ring, &n->l,
	    iteration) : n->grad[iteration & 1];
}

static inline void
tiers_worker_send(struct tiers *w, int k)
{
	struct tiers_node *n = &w->node[k];
	uint8_t m[SEG_HEADER_BYTES + 4 * TIERS_FLOATS];
	struct sync_worker_out o;
	const int up = tiers_above(w, k);

	while (w->now_ns >= n->full_ns &&
	    sync_worker_next(&n->l, w->now_ns, &o)) {
		bool lost = tiers_chance(w, w->cf.run_loss);
		uint32_t left = 0;

		if (o.count == 0 && !lost)
			tiers_carry(w, k, up, CONTROL_TOS, o.message,
			    (uint32_t)o.len);
		if (o.count > 0 && tiers_chance(w, w->cf.full)) {
			left = 1 + (uint32_t)rng_below(&w->rng, o.count);
			sync_worker_unsent(&n->l, &o, left);
			n->full_ns = w->now_ns + rng_below(&w->rng, 50000);
		}
		for (uint32_t i = o.first; i < o.first + o.count - left; i++) {
			const uint32_t floats = seg_floats_at(w->cf.elements,
			    TIERS_FLOATS, i);

			memcpy(seg_put(m, o.iteration, 1, i),
			    tiers_gradient(w, n, o.iteration) +
			    (size_t)i * TIERS_FLOATS,
			    4 * (size_t)floats);
			if (!lost)
				tiers_carry(w, k, up, SEG_TOS, m,
				    SEG_HEADER_BYTES + 4 * floats);
		}
	}
}

/* Is the result of node n correct? */
static inline bool
tiers_right(const struct tiers *w, const struct tiers_node *n)
{
	const uint32_t t = n->l.t;
	bool right = !sync_worker_is_partial(&n->l);

	for (uint32_t i = 0; i < w->cf.elements; i++) {
		float want = 0;

		for (int k = 0; k < w->cf.workers; k++)
			want += tiers_value(k, t, i);
		right = right && n->result[t & 1][i] == want;
	}
	return right;
}

/* Return the length of piece i of a ring, which is the same at all workers. */
static inline uint32_t
tiers_piece_elements(const struct tiers *w, uint32_t i)
{
	struct rng r = rng_seed(w->cf.seed + i);

	return w->cf.piece != NULL ? w->cf.piece[i] :
	    1 + (uint32_t)rng_below(&r, w->cf.piece_most);
}

/* Check the results of pieces that are complete. */
static inline void
tiers_take_pieces(struct tiers *w, struct tiers_node *n)
{
	struct sync_ring_piece p;

	for (; sync_ring_take(&n->ring, &p); n->done++) {
		n->wrong = n->wrong || p.most != p.least ||
		    p.most != w->cf.workers ||
		    p.elements != tiers_piece_elements(w, n->done);
		for (uint32_t i = 0; i < p.elements; i++) {
			float want = 0;

			for (int k = 0; k < w->cf.workers; k++)
				want += tiers_value(k, n->done, i);
			n->wrong = n->wrong || p.out[i] != want;
		}
		free(p.out);
	}
}

/* May node n add a piece now or later, without a result? */
static inline bool
tiers_may_add(const struct tiers *w, const struct tiers_node *n)
{
	return n->added < w->cf.goal && n->added - n->done < w->cf.depth &&
	    sync_ring_has_room(&n->ring);
}

/* Add the next piece to the ring of worker k. */
static inline void
tiers_add_piece(struct tiers *w, int k)
{
	struct tiers_node *n = &w->node[k];
	const uint32_t elements = tiers_piece_elements(w, n->added);
	float *vec = malloc(elements * sizeof(*vec));

	assert(vec != NULL);
	for (uint32_t i = 0; i < elements; i++)
		vec[i] = tiers_value(k, n->added, i);
	sync_ring_add(&n->ring, vec, vec, elements);
	n->added++;
}

/* Do the work of tiers_worker_live() for a ring. */
static inline void
tiers_ring_live(struct tiers *w, int k)
{
	struct tiers_node *n = &w->node[k];
	struct sync_worker *l = &n->l;

	sync_ring_run(&n->ring, l, w->now_ns);
	tiers_take_pieces(w, n);
	while (tiers_may_add(w, n) && w->now_ns >= n->ready_ns) {
		tiers_add_piece(w, k);
		sync_ring_run(&n->ring, l, w->now_ns);
		n->ready_ns = w->now_ns + rng_below(&w->rng,
		    w->cf.think_ns + 1);
	}
	n->thinks = tiers_may_add(w, n);
	if (n->done == w->cf.goal)
		sync_worker_leave(l, w->now_ns);
	tiers_worker_send(w, k);
}

static inline void
tiers_worker_live(struct tiers *w, int k)
{
	struct tiers_node *n = &w->node[k];
	struct sync_worker *l = &n->l;

	if (w->cf.depth > 0) {
		tiers_ring_live(w, k);
		return;
	}
	while (sync_worker_is_whole(l) && n->done < w->cf.goal) {
		n->wrong = n->wrong || !tiers_right(w, n);
		sync_worker_advance(l, w->now_ns);
		n->done++;
		n->thinks = n->done < w->cf.goal;
		n->ready_ns = w->now_ns + rng_below(&w->rng,
		    w->cf.think_ns + 1);
	}
	if (n->done == w->cf.goal) {
		sync_worker_leave(l, w->now_ns);
	} else if (n->thinks && w->now_ns >= n->ready_ns) {
		const uint32_t t = sync_worker_iteration(l);

		for (uint32_t i = 0; i < w->cf.elements; i++)
			n->grad[t & 1][i] = tiers_value(k, t, i);
		sync_worker_set_gradient(l, w->now_ns);
		n->thinks = false;
	}
	tiers_worker_send(w, k);
}

static inline void
tiers_take(struct tiers *w, const struct tiers_packet *p)
{
	struct tiers_node *n = &w->node[p->to];
	const union addr from = tiers_addr(p->from);
	struct control c;
	struct seg g;

	if (p->to >= w->cf.workers && p->from == w->nodes - 1) {
		iswitch_receive_parent(rigged_switch(&n->plane), TIERS_JOB,
		    p->tos, p->bytes, p->len, w->now_ns);
	} else if (p->to >= w->cf.workers) {
		rigged_take(&n->plane, &from, p->tos, p->bytes, p->len,
		    w->now_ns);
	} else if (p->tos == CONTROL_TOS) {
		if (control_parse(p->bytes, p->len, &c))
			sync_worker_receive_control(&n->l, &c, w->now_ns);
	} else if (seg_parse(p->bytes, p->len, &g) &&
		   sync_worker_receive_result(&n->l, &g, w->now_ns) ==
		       SYNC_WORKER_TAKE) {
		if (w->cf.depth > 0)
			sync_ring_store(&n->ring, &n->l, &g);
		else
			memcpy(&n->result[g.iteration & 1]
			    [g.index * TIERS_FLOATS], g.vec, 4 * (size_t)g.n);
	}
}

/* Return when node k acts next if no packet arrives. */
static inline uint64_t
tiers_due(const struct tiers *w, int k)
{
	const struct tiers_node *n = &w->node[k];
	uint64_t due;

	if (k >= w->cf.workers) {
		due = iswitch_deadline_ns(rigged_switch(&n->plane));
	} else {
		if (!sync_worker_is_going(&n->l))
			return UINT64_MAX;
		due = sync_worker_deadline_ns(&n->l);
		due = n->thinks && n->ready_ns < due ? n->ready_ns : due;
		due = n->full_ns > w->now_ns ? n->full_ns : due;
	}
	if (due < UINT64_MAX - w->cf.grain_ns && w->cf.grain_ns > 0 &&
	    due > w->now_ns)
		due += w->cf.grain_ns - due % w->cf.grain_ns;
	return due > n->awake_ns ? due : n->awake_ns;
}

static inline void
tiers_live(struct tiers *w, int k)
{
	struct tiers_node *n = &w->node[k];

	if (k < w->cf.workers && sync_worker_is_going(&n->l)) {
		tiers_worker_live(w, k);
	} else if (k >= w->cf.workers) {
		iswitch_run_deadlines(rigged_switch(&n->plane), w->now_ns);
		outbox_flush(rigged_switch(&n->plane)->out);
	}
}

static inline void
tiers_open_switch(struct tiers *w, int k, int below)
{
	const bool child = k < w->nodes - 1;
	const struct iswitch_conf cf = { .job = { .child = child, .keep = 16,
	    .h = w->cf.follows ? 0 : (uint16_t)below,
	    .slots = child ? w->cf.slots : w->cf.slots_root,
	    .rule.reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
	    .member_timeout_ns = 60000000000 }, .floats = TIERS_FLOATS,
	    .floats_max = 366, .number = (uint32_t)k };

	rigged_open(&w->node[k].plane, &cf, (uint32_t)rng_u64(&w->rng),
	    tiers_deliver, &w->node[k]);
}

static inline int
tiers_below_root(const struct tiers *w)
{
	return w->cf.racks > 0 ? w->cf.racks : w->cf.workers;
}

/* Restart the root, which loses its state. */
static inline void
tiers_restart_root(struct tiers *w)
{
	const int root = w->nodes - 1;

	rigged_close(&w->node[root].plane);
	tiers_open_switch(w, root, tiers_below_root(w));
}

/* Restart the root if it is time for that. */
static inline void
tiers_restart(struct tiers *w)
{
	if (w->restarts == w->cf.restarts || w->now_ns < w->restart_ns)
		return;
	for (int k = 0; k < w->cf.workers; k++) {
		if (w->node[k].done + 2 + w->cf.depth > w->cf.goal)
			return; /* a worker that leaves sends nothing again */
	}
	w->restarts++;
	w->restart_ns = w->now_ns + rng_below(&w->rng, 20 * w->cf.delay_ns);
	tiers_restart_root(w);
}

/* Run one event; returns false if none is left before the limit. */
static inline bool
tiers_step(struct tiers *w)
{
	uint64_t next = w->flying > 0 ? w->fly[0].at_ns : UINT64_MAX;
	bool going = false;
	int who = -1;

	for (int k = 0; k < w->cf.workers; k++)
		going = going || sync_worker_is_going(&w->node[k].l);
	for (int k = 0; k < w->nodes; k++) {
		const uint64_t due = tiers_due(w, k);

		if (due < next) {
			next = due;
			who = k;
		}
	}
	if (!going || next > w->cf.limit_ns || ++w->steps > 4000000)
		return false;
	w->now_ns = next > w->now_ns ? next : w->now_ns;
	if (who < 0) {
		struct tiers_packet p = tiers_land(w);
		struct tiers_node *n = &w->node[p.to];

		who = p.to;
		if (n->awake_ns > w->now_ns) {
			p.at_ns = n->awake_ns;
			tiers_launch(w, &p);
			return true;
		}
		tiers_take(w, &p);
		if (tiers_chance(w, w->cf.pause))
			n->awake_ns = w->now_ns + rng_below(&w->rng,
			    w->cf.pause_ns + 1);
	}
	tiers_live(w, who);
	tiers_restart(w);
	return true;
}

static inline void
tiers_open(struct tiers *w, const struct tiers_conf *cf)
{
	const uint32_t segment = SEG_HEADER_BYTES + 4 * TIERS_FLOATS;

	memset(w, 0, sizeof(*w));	/* too large for a temporary object */
	w->cf = *cf;
	w->rng = rng_seed(cf->seed);
	w->nodes = cf->workers + cf->racks + 1;
	for (int k = 0; k < w->nodes; k++)
		w->node[k].w = w;
	for (int k = 0; k < cf->workers; k++) {
		const struct membership_conf in = { .type = CONTROL_WORKER,
		    .job = TIERS_JOB, .number = (uint32_t)k,
		    .elements = cf->elements, .floats_max = 366,
		    .give_up_ns = cf->limit_ns,
		    .xid = (uint32_t)rng_u64(&w->rng) };
		const struct sync_worker_conf s = { .next = cf->next,
		    .window = cf->window, .run_bytes = cf->run * segment,
		    .buffer_bytes = 1 << 20, .ring = cf->depth > 0 };
		struct tiers_node *n = &w->node[k];

		sync_worker_init(&n->l, &in, &s, 0);
		if (cf->depth > 0 && !sync_ring_init(&n->ring, cf->elements))
			abort();
		n->thinks = true;
		n->ready_ns = n->awake_ns = rng_below(&w->rng,
		    cf->skew_ns + 1);
	}
	for (int k = 0; k < cf->racks; k++)
		tiers_open_switch(w, cf->workers + k,
		    (cf->workers + cf->racks - 1 - k) / cf->racks);
	w->restart_ns = rng_below(&w->rng, cf->skew_ns + 40 * cf->delay_ns);
	tiers_open_switch(w, w->nodes - 1, tiers_below_root(w));
}

/* Segments that members have sent: for the first time, or again. */
static inline uint64_t
tiers_count(const struct tiers *w, enum retransmit_count what)
{
	uint64_t n = 0;

	for (int k = 0; k < w->cf.workers; k++)
		n += w->node[k].l.retransmit.n[what];
	return n;
}

static inline void
tiers_close(struct tiers *w)
{
	for (int k = 0; k < w->nodes; k++) {
		struct tiers_node *n = &w->node[k];

		for (uint32_t i = n->ring.first; i != n->ring.end; i++)
			free(n->ring.piece[i % SYNC_RING_PIECES].out);
		sync_ring_free(&n->ring);
		if (k < w->cf.workers)
			sync_worker_free(&n->l);
		else
			rigged_close(&n->plane);
	}
	free(w->fly);
}

#endif
