/*
 * Fuzz both forms of the sum tree, and prioritized sampling from it, against an
 * array of weights.  The first two bytes are the number of leaves, and the next
 * one is alpha in tenths; then come operations, see op().
 */
#include <math.h>

#include "common/base/bytes.h"
#include "common/replay/priority-sampling.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/iswitch/plainsum.h"

enum { LEAVES_MAX = 5000, BATCH = 256, OPS_MAX = 50 };

struct play {
	struct bytes in;
	struct sumtree best, plain;
	struct plainsum sum;
	struct priorities per;
	struct rng rng;
};

/* Return a weight; special ones are as likely as others. */
static uint32_t
weight(struct bytes *in)
{
	const uint32_t u = bytes_u16(in);

	switch (u % 4) {
	case 0: return 0;
	case 1: return SUMTREE_WEIGHT_MAX - u / 4 % 2;
	case 2: return u / 4 % 3;
	default: return u / 4 * 511;
	}
}

/* Return a priority of any size. */
static float
priority(struct bytes *in)
{
	const uint32_t u = bytes_u16(in);

	return u % 8 == 0 ? 0 : ldexpf(1 + (float)(u % 64) / 64,
	    (int)(u >> 8) - 140);
}

/* Do the leaves agree with their priorities, and the sums with the leaves? */
static void
check_per(const struct priorities *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->tree.n; i++) {
		const double p = (double)r->priority[i];
		const double q = p > 0 ? ldexp(pow(p, r->alpha), r->shift) : 0;
		const uint32_t leaf = sumtree_weight(&r->tree, i);

		must((leaf > 0) == (p > 0), "0 and only 0 is never drawn");
		must(fabs(leaf - fmax(q, p > 0)) <= 0.5 + 1e-3,
		    "a leaf is round(p^alpha 2^shift)");
		sum += leaf;
	}
	must(sum == r->tree.total, "the total is the sum of the leaves");
}

static void
check(struct play *p)
{
	const uint64_t total = plainsum_add(&p->sum);
	uint32_t at[2 * BATCH], w[2 * BATCH], twin[2 * BATCH];
	uint64_t x[2 * BATCH];
	size_t i;

	must(p->best.total == total && p->plain.total == total,
	    "the total is the sum of the leaves");
	for (i = 0; i < p->sum.n; i++)
		must(sumtree_weight(&p->best, i) == p->sum.w[i] &&
		    sumtree_weight(&p->plain, i) == p->sum.w[i],
		    "a weight is what was set last");
	if (total == 0)
		return;
	for (i = 0; i < 2 * BATCH; i += 2) {
		x[i] = rng_below(&p->rng, total);
		x[i + 1] = p->sum.upto[plainsum_find(&p->sum, x[i])] - 1;
	}
	sumtree_find(&p->best, x, 2 * BATCH, at, w);
	sumtree_find(&p->plain, x, 2 * BATCH, twin, NULL);
	for (i = 0; i < 2 * BATCH; i++)
		must(at[i] == plainsum_find(&p->sum, x[i]) &&
		    at[i] == twin[i] && w[i] == p->sum.w[at[i]],
		    "found where prefix sums say");
}

/* Set weights and priorities one by one, or several in a row. */
static void
set(struct play *p, size_t n, bool row)
{
	uint32_t at[BATCH] = { 0 }, w[BATCH] = { 0 };
	float f[BATCH];
	size_t from;

	n = row && n > p->sum.n ? p->sum.n : n;
	from = bytes_u16(&p->in) % p->sum.n;
	for (size_t i = 0; i < n; i++) {
		at[i] = (uint32_t)((row ? from + i : bytes_u16(&p->in)) %
		    p->sum.n);
		p->sum.w[at[i]] = w[i] = weight(&p->in);
		f[i] = priority(&p->in);
	}
	if (row) {
		sumtree_insert(&p->best, from, w, n);
		sumtree_insert(&p->plain, from, w, n);
		priorities_insert(&p->per, from, f, n);
	} else {
		sumtree_update(&p->best, at, w, n);
		sumtree_update(&p->plain, at, w, n);
		priorities_set(&p->per, at, f, n);
	}
}

static void
scale(struct play *p, int shift)
{
	for (size_t i = 0; i < p->sum.n; i++)
		p->sum.w[i] = (uint32_t)fmin(SUMTREE_WEIGHT_MAX,
		    ceil(ldexp(p->sum.w[i], shift)));
	sumtree_scale(&p->best, shift);
	sumtree_scale(&p->plain, shift);
}

static void
draw(struct play *p, size_t n, bool strata)
{
	uint32_t at[BATCH];
	double prob[BATCH], sum = 0;
	float weight[BATCH];

	if (!priorities_draw(&p->per, &p->rng, 0.4, strata, n, at, prob,
	    weight)) {
		must(p->per.live == 0, "there is nothing to draw");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		must(prob[i] > 0 && prob[i] <= 1, "what is drawn can be");
		must(weight[i] > 0 && weight[i] <= 1, "weights are 0 to 1");
		must(!strata || i == 0 || at[i] >= at[i - 1],
		    "strata are in order");
		sum = weight[i] == 1 ? 1 : sum;
	}
	must(n == 0 || sum == 1, "the greatest weight is 1");
}

/* Run one operation: its kind, and its number of elements. */
static void
op(struct play *p)
{
	const unsigned what = bytes_u8(&p->in);
	const size_t n = bytes_u8(&p->in);

	switch (what % 5) {
	case 0: set(p, n, false); break;
	case 1: set(p, n, true); break;
	case 2: scale(p, (int)n - 128); break;
	case 3: draw(p, n, what / 5 % 2); break;
	case 4:
		check(p);
		check_per(&p->per);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct play p = { .in = bytes_over(bytes, len), .rng = rng_seed(len) };
	const size_t n = bytes_u16(&p.in) % LEAVES_MAX + 1;
	const double alpha = (bytes_u8(&p.in) % 41) / 10.0;

	if (!sumtree_open(&p.best, n) || !sumtree_open(&p.plain, n) ||
	    !priorities_open(&p.per, n, alpha))
		abort();
	p.plain.form = sumnode_plain();
	p.sum = plainsum_new(n);
	for (int i = 0; i < OPS_MAX && bytes_ok(&p.in); i++)
		op(&p);
	check(&p);
	check_per(&p.per);
	sumtree_close(&p.best);
	sumtree_close(&p.plain);
	priorities_close(&p.per);
	plainsum_free(&p.sum);
	return 0;
}
