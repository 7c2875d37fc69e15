/*
 * aom.h - compute the Age of Model at a receiver, exact to the nanosecond
 *
 * See Olaf, sections 2.2 and 6.  At time t, the age is t minus the time at
 * which the newest update that has been received was generated.  Plotted over
 * time, the age is a sawtooth: it climbs with slope one, and it falls when a
 * fresher update arrives.  A struct aom records one sequence of deliveries.
 * Figures can also be computed for a set of sequences (the ranges of a cluster,
 * or all clusters).  Such figures cover the times of all these sequences
 * together.
 *
 * Times are in nanoseconds on one clock, at most AOM_MAX_NS, and calls must be
 * in order of time.  Sums are exact integers in ns^2.  Means are rounded half
 * up to a nanosecond.  A percentile is the least whole number `a` of
 * nanoseconds for which time(age <= a) >= percent / 100 * time, where time(age
 * <= a) is the time during which the age was at most a.
 *
 * A struct aom owns two words of memory for each delivery that makes the age
 * fall, until aom_free() is called.  Stale deliveries need no memory.
 * Computing figures temporarily needs another 128 KiB.  Functions that allocate
 * return -1 if there is no memory.
 */
#ifndef INNET_OLAF_AOM_H
#define INNET_OLAF_AOM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define AOM_MAX_NS ((uint64_t)INT64_MAX)

enum { AOM_GRID_BITS = 12 };	/* a grid has at most 1 << AOM_GRID_BITS
				 * buckets */

typedef unsigned __int128 aom_u128;
typedef __int128 aom_i128;

/*
 * One climb of the sawtooth, from age lo_ns to age hi_ns.  Its duration is
 * hi_ns - lo_ns.
 */
struct aom_tooth {
	uint64_t lo_ns, hi_ns;
};

struct aom {
	uint64_t from_ns;	/* time from which on the age is counted */
	uint64_t fell_ns;	/* time when the age last fell, or from_ns if it
				 * never fell */
	uint64_t made_ns;	/* time when the newest delivered update was
				 * generated */
	uint64_t end_ns;	/* time until which the age is counted; set by
				 * aom_end() */
	uint64_t max_ns, max_peak_ns;
	uint64_t peaks;
	uint64_t ahead;		/* number of updates that were delivered before
				 * the time at which they were generated */
	aom_u128 area2;		/* twice the integral of the age over all teeth,
				 * in ns^2 */
	aom_u128 peak_sum_ns;
	struct aom_tooth *tooth;	/* owned */
	size_t teeth, room;
	bool started;
};

enum aom_fate { AOM_NOMEM = -1, AOM_STALE, AOM_FRESH };

struct aom_figures {
	bool known;		/* at least one sequence has started, so the
				 * figures are known */
	aom_u128 time_ns;	/* total duration of all sequences */
	uint64_t mean_ns, p50_ns, p95_ns, p99_ns, max_ns;
	uint64_t peaks, mean_peak_ns, max_peak_ns;	/* if there are no
							 * peaks, all three are
							 * 0 */
};

struct aom_point {
	uint64_t age_ns;
	double share;		/* share of the time during which the age was at
				 * most age_ns */
};

enum { AOM_CDF_BITS = 10, AOM_CDF_POINTS = (1 << AOM_CDF_BITS) + 1 };

/*
 * Start to count the age at time t.  The model was generated at time `made`,
 * which must not be after t.
 */
static inline void aom_start(struct aom *a, uint64_t t, uint64_t made);

/*
 * Record that an update that was generated at time `made` was delivered at time
 * t.  Returns AOM_FRESH if the age falls or is counted from now on, AOM_STALE
 * if the delivery has no effect, or AOM_NOMEM.  If `made` is after t, count
 * this in a->ahead and use t instead of `made`.  A delivery before the time
 * from which on the age is counted is stale.
 */
static inline enum aom_fate aom_deliver(struct aom *a, uint64_t t,
    uint64_t made);

/* Stop counting the age at time t.  Returns 0, or -1 if there is no memory. */
static inline int aom_end(struct aom *a, uint64_t t);

/* Free the teeth. */
static inline void aom_free(struct aom *a);

/*
 * Compute the figures of a set of n sequences, which must all have ended.
 * Returns 0, or -1 if there is no memory.
 */
static inline int aom_figures(const struct aom *const set[], size_t n,
    struct aom_figures *f);

/*
 * Compute the figures of aom_figures() except the percentiles.  If the total
 * duration is 0, the mean is the largest age.
 */
static inline void aom_sums(const struct aom *const set[], size_t n,
    struct aom_figures *f);

/*
 * Compute n percentiles of the ages in a set of sequences and store them in
 * found[].  n is at most 8, and the numbers in percent[] must increase.
 * Returns 0, or -1 if there is no memory.
 */
static inline int aom_percentiles(const struct aom *const set[], size_t sets,
    const unsigned percent[], size_t n, uint64_t found[]);

/*
 * Store points of the cumulative distribution of the ages in a set in to[],
 * which must have room for AOM_CDF_POINTS points.  The ages of the points are
 * evenly spaced.  Returns the number of points, 0 if the total duration is 0,
 * or -1 if there is no memory.
 */
static inline int aom_cdf(const struct aom *const set[], size_t sets,
    struct aom_point *to);

/* Return twice the integral of the age up to time t, in ns^2. */
static inline aom_u128 aom_area2_until(const struct aom *a, uint64_t t);

/* implementation */

/*
 * A sum that may exceed 128 bits, because it is the sum over many sequences,
 * each of which may contribute up to 2^127.
 */
struct aom_sum {
	aom_u128 low;
	uint64_t high;
};

/*
 * A grid over ages.  Bucket i begins at age base + (i << shift).  `rise` is the
 * number of climbs that begin in the bucket minus the number of climbs that end
 * in the bucket.  To compute `sum`, add the distance of each beginning from the
 * beginning of the bucket, and subtract the distance of each end.  A walk over
 * the buckets computes time(age <= x).
 */
struct aom_grid {
	uint64_t base_ns;
	unsigned bits, shift;	/* the grid has 1 << bits buckets of 1 << shift
				 * ns each */
	struct aom_cell { int64_t rise; aom_i128 sum; } *cell;
};

/* The position of a walk over a grid, at the beginning of a bucket. */
struct aom_walk {
	uint64_t at_ns;
	aom_i128 rise;		/* number of climbs that pass the age at_ns */
	aom_i128 time_ns;	/* time(age <= at_ns) */
};

/* The range of ages and the duration of the teeth in a set of sequences. */
struct aom_extent {
	uint64_t min_ns, max_ns;	/* smallest age in a tooth; largest age,
					 * also of sequences without teeth */
	size_t teeth;
	aom_u128 time_ns;
};

static inline void
aom_start(struct aom *a, uint64_t t, uint64_t made)
{
	assert(made <= t && t <= AOM_MAX_NS);
	a->from_ns = a->fell_ns = t;
	a->made_ns = made;
	a->max_ns = t - made;
	a->started = true;
}

static inline void
aom_free(struct aom *a)
{
	free(a->tooth);
	*a = (struct aom){ 0 };
}

/* End the current climb at time t.  Returns 0, or -1 if there is no memory. */
static inline int
aom_end_tooth(struct aom *a, uint64_t t)
{
	const uint64_t lo = a->fell_ns - a->made_ns, hi = t - a->made_ns;
	struct aom_tooth *more;

	if (hi > a->max_ns)
		a->max_ns = hi;
	if (hi == lo)
		return 0;
	if (a->teeth == a->room) {
		more = realloc(a->tooth, sizeof(*more) * (a->room * 2 + 2));
		if (more == NULL)
			return -1;
		a->tooth = more;
		a->room = a->room * 2 + 2;
	}
	a->tooth[a->teeth++] = (struct aom_tooth){ lo, hi };
	a->area2 += (aom_u128)(hi - lo) * ((aom_u128)lo + hi);
	return 0;
}

static inline enum aom_fate
aom_deliver(struct aom *a, uint64_t t, uint64_t made)
{
	if (made > t) {
		a->ahead++;
		made = t;
	}
	if (!a->started) {
		aom_start(a, t, made);
		return AOM_FRESH;
	}
	if (made <= a->made_ns || t < a->fell_ns)
		return AOM_STALE;
	if (aom_end_tooth(a, t) == -1)
		return AOM_NOMEM;
	a->peaks++;
	a->peak_sum_ns += t - a->made_ns;
	if (t - a->made_ns > a->max_peak_ns)
		a->max_peak_ns = t - a->made_ns;
	a->fell_ns = t;
	a->made_ns = made;
	return AOM_FRESH;
}

static inline aom_u128
aom_area2_until(const struct aom *a, uint64_t t)
{
	const uint64_t lo = a->fell_ns - a->made_ns;

	if (t < a->fell_ns)
		t = a->fell_ns;
	return a->area2 + (aom_u128)(t - a->fell_ns) *
	    ((aom_u128)lo + (t - a->made_ns));
}

static inline int
aom_end(struct aom *a, uint64_t t)
{
	if (!a->started)
		return 0;
	a->end_ns = t < a->fell_ns ? a->fell_ns : t;
	return aom_end_tooth(a, a->end_ns);
}

/* Add v to the sum. */
static inline void
aom_sum_add(struct aom_sum *s, aom_u128 v)
{
	s->low += v;
	s->high += s->low < v;
}

/*
 * Return s / by, rounded down.  `by` must be less than 2^127, and the result
 * must fit into 64 bits.
 */
static inline uint64_t
aom_sum_div(struct aom_sum s, aom_u128 by)
{
	aom_u128 rest = s.high, q = 0;

	for (int i = 127; i >= 0; i--) {
		rest = rest << 1 | (s.low >> i & 1);
		q <<= 1;
		if (rest >= by) {
			rest -= by;
			q |= 1;
		}
	}
	return (uint64_t)q;
}

/*
 * Add to the grid that a climb begins (`sign` is 1) or ends (`sign` is -1) at
 * age x.
 */
static inline void
aom_grid_add(struct aom_grid *g, uint64_t x, int sign)
{
	const uint64_t at = x - g->base_ns, i = at >> g->shift;
	struct aom_cell *c;

	if (x < g->base_ns || i >> g->bits != 0)
		return;
	c = &g->cell[i];
	c->rise += sign;
	c->sum += (int64_t)(at - (i << g->shift)) * sign;
}

/* Add the teeth of n sequences to the empty grid g. */
static inline void
aom_grid_fill(struct aom_grid *g, const struct aom *const set[], size_t n)
{
	for (size_t i = 0; i < (size_t)1 << g->bits; i++)
		g->cell[i] = (struct aom_cell){ 0 };
	for (size_t k = 0; k < n; k++) {
		const struct aom_tooth *t = set[k]->tooth;

		for (size_t i = 0; i < set[k]->teeth; i++) {
			aom_grid_add(g, t[i].lo_ns, 1);
			aom_grid_add(g, t[i].hi_ns, -1);
		}
	}
}

/*
 * Return the position after bucket i of the grid.  w is the position before
 * this bucket.
 */
static inline struct aom_walk
aom_grid_step(const struct aom_grid *g, size_t i, struct aom_walk w)
{
	const struct aom_cell *c = &g->cell[i];
	const uint64_t wide = (uint64_t)1 << g->shift;

	w.time_ns += (w.rise + c->rise) * (aom_i128)wide - c->sum;
	w.rise += c->rise;
	w.at_ns += wide;
	return w;
}

/* Return the number of significant bits of v. */
static inline unsigned
aom_bits(uint64_t v)
{
	return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

/*
 * For each time s in sought[], find the least age x with time(age <= x) >= s.
 * The n times must be above 0 and increase, and the ages must be at most 1 <<
 * bits ns above the position w.  The function first uses a coarse grid, and
 * then a finer grid for each bucket that contains one of the ages x.
 */
static inline void
aom_seek(struct aom_grid *g, const struct aom *const set[], size_t sets,
    struct aom_walk w, unsigned bits, unsigned grid_bits,
    const aom_u128 sought[], size_t n, uint64_t found[])
{
	struct aom_walk next, begin[8];
	size_t k = 0;

	assert(n <= 8);
	g->base_ns = w.at_ns;
	g->bits = bits < grid_bits ? bits : grid_bits;
	g->shift = bits - g->bits;
	aom_grid_fill(g, set, sets);
	for (size_t i = 0; k < n && i < (size_t)1 << g->bits; i++, w = next) {
		next = aom_grid_step(g, i, w);
		while (k < n && (aom_u128)next.time_ns >= sought[k]) {
			begin[k] = w;
			found[k++] = next.at_ns;
		}
	}
	assert(k == n);
	bits = g->shift;
	for (size_t i = 0; bits > 0 && i < n; i = k) {
		for (k = i; k < n && begin[k].at_ns == begin[i].at_ns; k++)
			;
		aom_seek(g, set, sets, begin[i], bits, grid_bits, sought + i,
		    k - i, found + i);
	}
}

/*
 * Return the smallest and the largest age, the number of teeth and their total
 * duration, over all `sets` sequences in set[].
 */
static inline struct aom_extent
aom_extent(const struct aom *const set[], size_t sets)
{
	struct aom_extent e = { .min_ns = UINT64_MAX };

	for (size_t k = 0; k < sets; k++) {
		const struct aom *a = set[k];

		e.teeth += a->teeth;
		if (a->started && a->max_ns > e.max_ns)
			e.max_ns = a->max_ns;
		for (size_t i = 0; i < a->teeth; i++) {
			e.time_ns += a->tooth[i].hi_ns - a->tooth[i].lo_ns;
			if (a->tooth[i].lo_ns < e.min_ns)
				e.min_ns = a->tooth[i].lo_ns;
		}
	}
	return e;
}

static inline int
aom_percentiles(const struct aom *const set[], size_t sets,
    const unsigned percent[], size_t n, uint64_t found[])
{
	const struct aom_extent e = aom_extent(set, sets);
	const struct aom_walk w = { .at_ns = e.min_ns };
	struct aom_grid g = { 0 };
	aom_u128 sought[8];
	unsigned grid_bits = aom_bits(e.teeth);

	assert(n <= 8);
	for (size_t i = 0; i < n; i++) {
		found[i] = e.max_ns;
		sought[i] = (e.time_ns * percent[i] + 99) / 100;
		if (sought[i] == 0)
			sought[i] = 1;
	}
	for (size_t i = 0; e.teeth == 1 && i < n; i++)
		found[i] = e.min_ns + (uint64_t)sought[i];
	if (e.teeth <= 1)	/* this is common in a short trace */
		return 0;
	if (grid_bits > AOM_GRID_BITS)
		grid_bits = AOM_GRID_BITS;
	g.cell = malloc(sizeof(*g.cell) << grid_bits);
	if (g.cell == NULL)
		return -1;
	aom_seek(&g, set, sets, w, aom_bits(e.max_ns - e.min_ns), grid_bits,
	    sought, n, found);
	free(g.cell);
	return 0;
}

static inline int
aom_cdf(const struct aom *const set[], size_t sets, struct aom_point *to)
{
	const struct aom_extent e = aom_extent(set, sets);
	struct aom_walk w = { .at_ns = e.min_ns };
	struct aom_grid g = { .base_ns = e.min_ns };
	unsigned bits;
	int n = 0;

	if (e.time_ns == 0)
		return 0;
	bits = aom_bits(e.max_ns - e.min_ns);
	g.bits = bits < AOM_CDF_BITS ? bits : AOM_CDF_BITS;
	g.shift = bits - g.bits;
	g.cell = malloc(sizeof(*g.cell) << g.bits);
	if (g.cell == NULL)
		return -1;
	aom_grid_fill(&g, set, sets);
	to[n++] = (struct aom_point){ .age_ns = w.at_ns };
	for (size_t i = 0; (aom_u128)w.time_ns < e.time_ns; i++) {
		w = aom_grid_step(&g, i, w);
		to[n++] = (struct aom_point){ w.at_ns < e.max_ns ? w.at_ns :
		    e.max_ns, (double)w.time_ns / (double)e.time_ns };
	}
	free(g.cell);
	return n;
}

static inline void
aom_sums(const struct aom *const set[], size_t n, struct aom_figures *f)
{
	struct aom_sum area2 = { 0 };
	aom_u128 peaks = 0;

	*f = (struct aom_figures){ 0 };
	for (size_t k = 0; k < n; k++) {
		const struct aom *a = set[k];

		if (!a->started)
			continue;
		f->known = true;
		f->time_ns += a->end_ns - a->from_ns;
		f->peaks += a->peaks;
		peaks += a->peak_sum_ns;
		aom_sum_add(&area2, a->area2);
		if (a->max_ns > f->max_ns)
			f->max_ns = a->max_ns;
		if (a->max_peak_ns > f->max_peak_ns)
			f->max_peak_ns = a->max_peak_ns;
	}
	f->mean_ns = f->max_ns;
	if (f->time_ns > 0) {
		aom_sum_add(&area2, f->time_ns);
		f->mean_ns = aom_sum_div(area2, 2 * f->time_ns);
	}
	if (f->peaks > 0)
		f->mean_peak_ns = (uint64_t)((2 * peaks + f->peaks) /
		    (2 * (aom_u128)f->peaks));
}

static inline int
aom_figures(const struct aom *const set[], size_t n, struct aom_figures *f)
{
	static const unsigned percent[] = { 50, 95, 99 };
	uint64_t found[3];

	aom_sums(set, n, f);
	if (aom_percentiles(set, n, percent, 3, found) == -1)
		return -1;
	f->p50_ns = found[0];
	f->p95_ns = found[1];
	f->p99_ns = found[2];
	return 0;
}

#endif
