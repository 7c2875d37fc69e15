/*
 * hub.h - a simulated world for tests of synchronous workers. It has the
 * simplest possible aggregation switch, and a network that loses, duplicates
 * and delays packets, in virtual time. The caller steps the world and passes
 * datagrams for SWITCH to hub_segment() and hub_control().
 */
#ifndef INNET_TESTS_HUB_H
#define INNET_TESTS_HUB_H

#include <assert.h>

#include "common/base/rng.h"
#include "common/iswitch/sync-worker-control.h"

#define MS ((uint64_t)1000000)

enum { WORKERS = 8, F = 8, SEGS = 16, ELEMENTS = F * SEGS, KEEP = 16,
	FLYING = 65536, SWITCH = -1 };

struct datagram {
	uint64_t at_ns, order;
	int from, to;
	uint8_t tos;
	size_t len;
	uint8_t bytes[128];
};

/* The switch's state of a segment, in its simplest form. */
struct slot {
	uint32_t iteration;
	bool used, complete;
	unsigned bits, contributions;
	float sum[F];
};

struct hub {
	bool member[WORKERS], dead, halted;
	uint32_t from[WORKERS];
	unsigned h, members;
	bool begun;		/* a slot has started */
	bool founded;
	uint32_t start, newest;
	uint32_t elements;
	struct slot slot[2][SEGS];
	struct slot kept[KEEP][SEGS];	/* by iteration % KEEP */
	uint64_t straggler_ns, began_ns[2][SEGS];
	unsigned fails;		/* status of the Acks of Joins, or 0 */
};

struct doer {
	struct sync_worker l;
	float grad[2][ELEMENTS], result[2][ELEMENTS];
	bool joined_late, dead, busy;
	uint64_t ready_ns;	/* time of its next gradient */
	uint64_t think_ns;
	uint32_t done;		/* number of results */
	bool wrong, partial;
};

struct world {
	struct rng rng;
	double loss, dup, reorder;
	uint64_t now_ns, order;
	int workers;
	uint32_t elements, goal;
	struct hub hub;
	struct doer doer[WORKERS];
	struct datagram *fly;	/* a heap */
	size_t flying;
	bool early;		/* results may lack members */
};

static inline bool
sooner(const struct datagram *a, const struct datagram *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns :
	    a->order < b->order;
}

static inline void
launch(struct world *w, const struct datagram *d)
{
	size_t i = w->flying++;

	assert(w->flying < FLYING);
	for (; i > 0 && sooner(d, &w->fly[(i - 1) / 2]); i = (i - 1) / 2)
		w->fly[i] = w->fly[(i - 1) / 2];
	w->fly[i] = *d;
}

static inline struct datagram
land(struct world *w)
{
	const struct datagram first = w->fly[0], last = w->fly[--w->flying];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < w->flying; i = k) {
		if (k + 1 < w->flying && sooner(&w->fly[k + 1], &w->fly[k]))
			k++;
		if (!sooner(&w->fly[k], &last))
			break;
		w->fly[i] = w->fly[k];
	}
	w->fly[i] = last;
	return first;
}

/* Send the datagram through the bad network. */
static inline void
post(struct world *w, int from, int to, uint8_t tos, const uint8_t *p,
    size_t len)
{
	struct datagram d = { .from = from, .to = to, .tos = tos,
	    .len = len };
	int copies = 1 + (rng_double(&w->rng) < w->dup);

	assert(len <= sizeof(d.bytes));
	memcpy(d.bytes, p, len);
	if (rng_double(&w->rng) < w->loss)
		return;
	for (int i = 0; i < copies; i++) {
		d.at_ns = w->now_ns + 20000 + rng_below(&w->rng, 20000);
		if (rng_double(&w->rng) < w->reorder)
			d.at_ns += rng_below(&w->rng, MS);
		d.order = w->order++;
		launch(w, &d);
	}
}

/* Return the gradient of a worker in whole numbers, so that sums are exact. */
static inline float
value(int worker, uint32_t t, uint32_t i)
{
	return (float)((int)((i * 31 + t * 17 + (uint32_t)worker * 101) %
	    2001) - 1000);
}

static inline void
hub_ack(struct world *w, int to, const struct control *c,
    enum control_action what, enum control_status status, uint64_t seg)
{
	struct hub *s = &w->hub;
	const struct control_ack a = { .action = (uint8_t)what,
	    .status = (uint8_t)status, .h = (uint16_t)s->h,
	    .members = (uint16_t)s->members, .next = to >= 0 ? s->from[to] : 0,
	    .floats = F, .elements = s->elements, .timeout_s = 10,
	    .seg = seg };
	uint8_t msg[CONTROL_MAX_BYTES];

	post(w, SWITCH, to, CONTROL_TOS, msg, (size_t)(control_put_ack(
	    control_put(msg, CONTROL_ACK, c == NULL ? 0 : c->job,
	    c == NULL ? 0 : c->xid), &a) - msg));
}

static inline void
spread(struct world *w, const struct slot *g, uint32_t index, int to)
{
	uint8_t msg[SEG_HEADER_BYTES + 4 * F];
	uint32_t n = seg_floats_at(w->elements, F, index);
	uint8_t *p = seg_put(msg, g->iteration, (uint16_t)g->contributions,
	    index);

	memcpy(p, g->sum, 4 * (size_t)n);
	for (int i = 0; i < w->workers; i++) {
		if (w->hub.member[i] && (to == SWITCH || to == i))
			post(w, SWITCH, i, SEG_TOS, msg, SEG_HEADER_BYTES +
			    4 * (size_t)n);
	}
}

static inline void
finish(struct world *w, struct slot *g, uint32_t index)
{
	g->complete = true;
	w->hub.kept[g->iteration % KEEP][index] = *g;
	spread(w, g, index, SWITCH);
}

static inline void
hub_segment(struct world *w, int from, const uint8_t *p, size_t len)
{
	struct hub *s = &w->hub;
	struct slot *g, *before, *kept;
	struct seg seg;

	assert(seg_parse(p, len, &seg));
	if (!s->member[from]) {
		hub_ack(w, from, NULL, CONTROL_HELP, CONTROL_NOT_MEMBER,
		    bytes_get(p, 8));
		return;
	}
	if (s->halted) {
		uint8_t msg[8];

		control_put(msg, CONTROL_HALT, 7, 0);
		post(w, SWITCH, from, CONTROL_TOS, msg, 8);
		return;
	}
	if (s->members < s->h)
		return;			/* early */
	g = &s->slot[seg.iteration & 1][seg.index];
	before = &s->slot[~seg.iteration & 1][seg.index];
	kept = &s->kept[seg.iteration % KEEP][seg.index];
	if (g->used && seg_before(seg.iteration, g->iteration)) {
		if (kept->used && kept->iteration == seg.iteration)
			spread(w, kept, seg.index, from);
		else
			hub_ack(w, from, NULL, CONTROL_HELP, CONTROL_GONE,
			    bytes_get(p, 8));
		return;
	}
	if (!g->used || seg_before(g->iteration, seg.iteration)) {
		if (seg_before(seg.iteration, s->from[from]) ||
		    (seg.iteration != s->start && (!before->used ||
		    !before->complete ||
		    before->iteration != seg_step(seg.iteration, -1))))
			return;		/* late, early */
		*g = (struct slot){ .iteration = seg.iteration,
		    .used = true };
		s->began_ns[seg.iteration & 1][seg.index] = w->now_ns;
		s->begun = true;
		if (seg_before(s->newest, seg.iteration))
			s->newest = seg.iteration;
	}
	if (g->complete) {
		spread(w, g, seg.index, from);
	} else if ((g->bits >> from & 1) == 0) {
		g->bits |= 1u << from;
		g->contributions++;
		for (uint32_t i = 0; i < seg.n; i++) {
			float v;

			memcpy(&v, seg.vec + 4 * i, 4);
			g->sum[i] += v;
		}
		if (g->contributions == s->h)
			finish(w, g, seg.index);
	}
}

/* Complete slots that have waited for too long. */
static inline void
hub_stragglers(struct world *w)
{
	struct hub *s = &w->hub;

	for (uint32_t i = 0; i < 2 * SEGS && s->straggler_ns > 0; i++) {
		struct slot *g = &s->slot[i / SEGS][i % SEGS];

		if (g->used && !g->complete && w->now_ns -
		    s->began_ns[i / SEGS][i % SEGS] > s->straggler_ns)
			finish(w, g, i % SEGS);
	}
}

static inline void
hub_help(struct world *w, int from, const struct control *c)
{
	struct hub *s = &w->hub;
	struct slot *g, *kept;
	uint8_t msg[16];
	uint64_t word;
	struct seg seg;

	assert(control_get_number(c, 8, &word));
	seg = seg_split(word);
	if (!s->member[from]) {
		hub_ack(w, from, c, CONTROL_HELP, CONTROL_NOT_MEMBER, word);
		return;
	}
	g = &s->slot[seg.iteration & 1][seg.index];
	kept = &s->kept[seg.iteration % KEEP][seg.index];
	if (kept->used && kept->iteration == seg.iteration) {
		spread(w, kept, seg.index, from);
		return;
	}
	if (g->used && seg_before(seg.iteration, g->iteration)) {
		hub_ack(w, from, c, CONTROL_HELP, CONTROL_GONE, word);
		return;
	}
	bytes_put(control_put(msg, CONTROL_HELP, 7, 99), word, 8);
	for (int i = 0; i < w->workers; i++) {
		bool has = g->used && g->iteration == seg.iteration &&
		    (g->bits >> i & 1) != 0;

		if (s->member[i] && !has)
			post(w, SWITCH, i, CONTROL_TOS, msg, 16);
	}
}

/*
 * As in iswitch_may_join_at(), members that return may be one iteration apart.
 */
static inline bool
hub_admits(struct hub *s, uint32_t next)
{
	if (s->begun)
		return !seg_before(seg_step(s->newest, 1), next) &&
		    !seg_before(next, seg_step(s->newest, -KEEP + 2));
	if (next == seg_step(s->start, -1)) {
		s->start = next;
		s->newest = seg_step(next, -1);
		for (int i = 0; i < WORKERS; i++)
			s->from[i] = next;
		return true;
	}
	return next == s->start || next == seg_step(s->start, 1);
}

static inline void
hub_join(struct world *w, int from, const struct control *c)
{
	struct hub *s = &w->hub;
	struct control_join j;

	assert(control_get_join(c, &j) && (int)j.worker == from);
	if (s->fails != 0) {
		s->from[from] = 12;
		hub_ack(w, from, c, CONTROL_JOIN, (enum control_status)s->fails,
		    0);
		return;
	}
	if (!s->founded) {
		s->founded = true;
		s->start = j.next;
		s->newest = seg_step(j.next, -1);
	}
	if (!s->member[from]) {
		if (!hub_admits(s, j.next)) {
			hub_ack(w, from, c, CONTROL_JOIN, CONTROL_REFUSED, 0);
			return;
		}
		s->member[from] = true;
		s->members++;
		s->from[from] = s->begun && s->straggler_ns > 0 ?
		    seg_step(s->newest, 1) : s->start;
	}
	hub_ack(w, from, c, CONTROL_JOIN, s->halted ? CONTROL_NOT_READY :
	    CONTROL_DONE, 0);
}

static inline void
hub_control(struct world *w, int from, const uint8_t *p, size_t len)
{
	static const char text[] = "{\"members\":[{\"worker\":1}]}";
	struct hub *s = &w->hub;
	uint8_t msg[CONTROL_MAX_BYTES];
	struct control c;

	assert(control_parse(p, len, &c) && c.job == 7);
	switch (c.action) {
	case CONTROL_JOIN: hub_join(w, from, &c); break;
	case CONTROL_HELP: hub_help(w, from, &c); break;
	case CONTROL_LEAVE:
		/*
		 * H does not change: a member that leaves must not complete
		 * slots
		 */
		hub_ack(w, from, &c, CONTROL_LEAVE, s->member[from] ?
		    CONTROL_DONE : CONTROL_NOT_MEMBER, 0);
		break;
	case CONTROL_MEMBERS:
		post(w, SWITCH, from, CONTROL_TOS, msg, (size_t)(
		    control_put_ack(control_put(msg, CONTROL_ACK, 7, c.xid),
		    &(struct control_ack){ .action = CONTROL_MEMBERS,
		    .pages = 1, .text = (const uint8_t *)text,
		    .text_bytes = sizeof(text) - 1 }) - msg));
		break;
	default: assert(0);
	}
}

/* The switch forgets everything. */
static inline void
hub_restart(struct world *w)
{
	struct hub *s = &w->hub, old = *s;

	*s = (struct hub){ .h = old.h, .elements = old.elements,
	    .straggler_ns = old.straggler_ns };
}

#endif
