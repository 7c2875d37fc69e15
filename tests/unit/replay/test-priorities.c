/* Compare prioritised sampling with its formulas. */
#include <math.h>
#include <string.h>

#include "common/replay/priority-sampling.h"
#include "tests/unit/tap.h"

enum { SLOTS = 1000, DRAWS = 4096 };

static void
test_valid(void)
{
	ok(priorities_valid(0) && priorities_valid(1e-45f) &&
	    priorities_valid(3.4e38f),
	    "0 and any finite number above 0 can be a priority");
	ok(!priorities_valid(-1e-45f) && !priorities_valid(-1) &&
	    !priorities_valid(NAN) &&
	    !priorities_valid(INFINITY) && !priorities_valid(-INFINITY),
	    "NaN, infinity and negative numbers cannot be a priority");
}

/* Compute the leaf of a priority with libm, without rounding. */
static double
leaf_of(const struct priorities *r, float p)
{
	const double q = p > 0 ? ldexp(pow((double)p, r->alpha), r->shift) : 0;

	return p > 0 && q < 1 ? 1 : q;
}

/* Are all leaves p^alpha 2^shift, rounded, and the total their sum? */
static bool
leaves_are_right(const struct priorities *r)
{
	uint64_t sum = 0, live = 0;
	double d, most = 0;

	for (size_t i = 0; i < r->tree.n; i++) {
		const uint32_t leaf = sumtree_weight(&r->tree, i);

		d = fabs(leaf - leaf_of(r, r->priority[i]));
		most = d > most ? d : most;
		sum += leaf;
		live += leaf > 0;
	}
	if (most > 0.5 + 1e-3)
		note("a leaf is %g off", most);
	return most <= 0.5 + 1e-3 && sum == r->tree.total && live == r->live;
}

static double
mean_leaf(const struct priorities *r)
{
	return (double)r->tree.total / (double)r->live;
}

static void
open_per(struct priorities *r, size_t n, double alpha)
{
	if (!priorities_open(r, n, alpha))
		abort();
}

/* Make n priorities of e^-spread to e^spread times scale, some of them 0. */
static void
fill_priorities(
    struct rng *rng, float *p, size_t n, double spread, double scale)
{
	for (size_t i = 0; i < n; i++)
		p[i] = rng_below(rng, 7) == 0 ? 0 :
		    (float)(scale * exp(rng_uniform(rng, -spread, spread)));
}

static void
test_leaves(double alpha, double spread)
{
	struct rng rng = rng_seed(1);
	float p[SLOTS];
	struct priorities r;

	open_per(&r, SLOTS, alpha);
	fill_priorities(&rng, p, SLOTS, spread, 1);
	priorities_insert(&r, 123, p, SLOTS);
	ok(leaves_are_right(&r) && memcmp(r.priority + 123, p, (SLOTS - 123) *
	    sizeof(*p)) == 0 && memcmp(r.priority, p + SLOTS - 123,
	    123 * sizeof(*p)) == 0, "alpha %g, e^-%g to e^%g: leaves are "
	    "round(p^alpha 2^%d)", alpha, spread, spread, r.shift);
	priorities_close(&r);
}

static void
test_duplicates(void)
{
	static const uint32_t slot[] = { 3, 5, 3, 5, 3 };
	static const float p[] = { 1, 2, 3, 0, 5 };
	struct priorities r;

	open_per(&r, 7, 1);
	priorities_set(&r, slot, p, 5);
	ok(leaves_are_right(&r) && r.priority[3] == 5 && r.priority[5] == 0 &&
	    r.live == 1 && r.highest == 5, "of duplicates the last one counts");
	priorities_set(&r, slot, (float[]){ 1, 0, 3e38f, 0, 0 }, 5);
	ok(leaves_are_right(&r) && r.tree.total == 0,
	    "the last one counts also if it is 0 and another was too large");
	priorities_close(&r);
}

/* Priorities fall and rise by far more than the 23 bits of a leaf. */
static void
test_follows(double alpha)
{
	static const double to[] = { 1e-12, 1e-30, 1e-3, 1e30, 1e-20, 1 };
	struct rng rng = rng_seed(2);
	uint32_t slot[SLOTS];
	float p[SLOTS];
	size_t bad = 0;
	struct priorities r;

	open_per(&r, SLOTS, alpha);
	for (int i = 0; i < 6; i++) {
		fill_priorities(&rng, p, SLOTS, 1, to[i]);
		for (size_t n = 0, m; n < SLOTS; n += m) {
			m = rng_below(&rng, SLOTS - n) + 1;
			for (size_t j = 0; j < m; j++)
				slot[j] = (uint32_t)(n + j);
			priorities_set(&r, slot, p + n, m);
			bad += !leaves_are_right(&r);
		}
		bad += mean_leaf(&r) < PRIORITIES_MEAN / 2 / PRIORITIES_RANGE ||
		    mean_leaf(&r) > PRIORITIES_MEAN * 4 * PRIORITIES_RANGE;
	}
	ok(bad == 0, "alpha %g: the shift follows the mean, down and up",
	    alpha);
	priorities_close(&r);
}

/* A priority far above all others keeps the shift low while it stays. */
static void
test_outlier(float p17)
{
	struct rng rng = rng_seed(3);
	uint32_t at;
	struct priorities r;
	float p[SLOTS];
	int shift;
	bool good;

	open_per(&r, SLOTS, 1);
	fill_priorities(&rng, p, SLOTS, 1, 1);
	priorities_insert(&r, 0, p, SLOTS);
	shift = r.shift;
	priorities_set(&r, (uint32_t[]){ 17 }, &p17, 1);
	good = leaves_are_right(&r) && r.shift < shift &&
	       r.priority[17] == p17 &&
	       sumtree_weight(&r.tree, 17) > SUMTREE_WEIGHT_MAX / 2;
	ok(good, "a priority of %g, far above the others, has a leaf near the "
	    "largest (2^%d)",
	    (double)p17, r.shift);
	priorities_set(&r, (uint32_t[]){ 17 }, (float[]){ 1 }, 1);
	for (int i = 0; i < 2 * SLOTS; i++) {
		at = (uint32_t)rng_below(&rng, SLOTS);
		priorities_set(&r, &at, (float[]){ r.priority[at] }, 1);
	}
	ok(leaves_are_right(&r) && r.shift == shift,
	    "after it has left, the others have their bits again (2^%d)",
	    r.shift);
	priorities_close(&r);
}

/* Return the shift that a rescale must choose by the rule of priorities.h. */
static int
expected_shift(const struct priorities *r)
{
	double q, sum = 0, most = 0;
	int shift, fits;

	for (size_t i = 0; i < r->used; i++) {
		priorities_power(r->alpha, &r->priority[i], 1, &q);
		sum += q;
		most = q > most ? q : most;
	}
	shift = ilogb(PRIORITIES_MEAN) - ilogb(sum / (double)r->live);
	fits = ilogb(SUMTREE_WEIGHT_MAX / most);
	return fits < shift ? fits : shift;
}

/*
 * Rescales obey the rule with changing priorities and outliers, whatever the
 * shift before.
 */
static void
test_rescales(double alpha)
{
	struct rng rng = rng_seed(11);
	int bad = 0, rescales = 0;
	double level = 0;
	struct priorities r;

	open_per(&r, SLOTS, alpha);
	for (int i = 0; i < 4000; i++) {
		const int n = 1 + (int)rng_below(&rng, PRIORITIES_GROUP);
		uint32_t at[PRIORITIES_GROUP];
		float p[PRIORITIES_GROUP];

		level += rng_below(&rng, 2) == 0 ? 0.5 : -0.5;
		for (int j = 0; j < n; j++) {
			at[j] = (uint32_t)rng_below(&rng, SLOTS);
			p[j] = (float)(exp2(fmod(level, 20)) *
			    (1 + (double)rng_below(&rng, 1000)));
			if (rng_below(&rng, 5000) == 0)
				p[j] *= 1e9f;
		}
		priorities_set(&r, at, p, (size_t)n);
		if (r.live == 0 || r.since != 0)
			continue;
		rescales++;
		bad += r.shift != expected_shift(&r) || !leaves_are_right(&r);
	}
	ok(bad == 0 && rescales > 50, "alpha %g: each of %d rescales obeys the "
	    "rule", alpha, rescales);
	priorities_close(&r);
}

static void
test_extremes(void)
{
	static const float p[] = { 1e-45f, 3.4e38f, 0, 1 };
	struct priorities r;

	for (int i = 0; i < 4; i++) {
		open_per(&r, 4, i);
		priorities_insert(&r, 2, p, 4);
		ok(leaves_are_right(&r) && r.live == 3,
		    "the smallest and the largest float are priorities with "
		    "alpha %d",
		    i);
		priorities_close(&r);
	}
	open_per(&r, 1, 0.6);
	priorities_insert(&r, 0, p, 1);
	ok(leaves_are_right(&r) && mean_leaf(&r) >= PRIORITIES_MEAN / 2,
	    "a table of one slot can have the smallest float");
	priorities_set(&r, (uint32_t[]){ 0 }, p + 1, 1);
	ok(leaves_are_right(&r) && mean_leaf(&r) >= PRIORITIES_MEAN / 2,
	    "a table of one slot can have the largest float");
	priorities_close(&r);
}

/*
 * Rebuild in slices.  Meanwhile draws use the former tree, in which each leaf
 * is right except leaves that are too large for it.  No step does more than a
 * slice.
 */
static void
test_slices(double alpha, bool outlier)
{
	enum { SLICE = 64 };
	struct rng rng = rng_seed(12);
	size_t goes = 0, bad = 0, drawn = 0;
	struct priorities r;
	uint32_t at[SLOTS], slot[SLOTS];
	float p[SLOTS], weight[SLOTS];
	double prob[SLOTS];
	int shift;

	open_per(&r, SLOTS, alpha);
	fill_priorities(&rng, p, SLOTS - 3, 1, 1);
	for (uint32_t i = 0; i < SLOTS; i++)
		at[i] = i;
	priorities_set(&r, at, p, SLOTS - 3);
	r.slice = SLICE;
	r.most = 0;
	shift = r.shift;
	if (outlier) {
		p[17] = 3e30f;
		priorities_set(&r, at + 17, p + 17, 1);
		bad += sumtree_weight(&r.tree, 17) != SUMTREE_WEIGHT_MAX;
	} else {
		for (int i = 0; i < SLOTS; i++)
			p[i] *= 1e-9f;
		priorities_set(&r, at, p, SLOTS - 3);
	}
	for (; r.next.leaf != NULL; goes++) {
		const uint32_t one = (uint32_t)rng_below(&rng, SLOTS - 3);

		bad += r.shift != shift && r.next_shift == shift;
		fill_priorities(
		    &rng, &p[one], one != 17, 1, outlier ? 1 : 1e-9);
		if (goes % 2 == 0)
			priorities_set(&r, &one, &p[one], 1);
		else
			priorities_insert(&r, one, &p[one], 1);
		priorities_draw(&r, &rng, 1, false, SLOTS, slot, prob, weight);
		for (int i = 0; i < SLOTS; i++, drawn++)
			bad += prob[i] != (double)sumtree_weight(&r.tree,
			    slot[i]) / (double)r.tree.total;
		priorities_continue_rebuild(&r);
	}
	ok(bad == 0 && drawn > 0 && goes >= SLOTS / SLICE && r.most == SLICE,
	    "alpha %g, %s: the tree is rebuilt in %zu steps of %zu leaves, and "
	    "can be drawn from meanwhile",
	    alpha, outlier ? "an outlier" : "all fall", goes, r.most);
	ok(r.shift != shift && r.shift == expected_shift(&r) &&
		leaves_are_right(&r),
	    "then all leaves are as if rebuilt at once (2^%d, 2^%d)",
	    shift, r.shift);
	priorities_close(&r);
}

/*
 * Set priorities during a rebuild, also some that are too large for the new
 * tree.
 */
static void
test_slices_any(void)
{
	struct rng rng = rng_seed(13);
	size_t bad = 0, ends = 0;
	struct priorities r;
	double level = 0;

	open_per(&r, SLOTS, 0.6);
	r.slice = 16;
	for (int i = 0; i < 20000; i++) {
		const size_t n = 1 + rng_below(&rng, 20);
		const bool was = r.next.leaf != NULL;
		float p[20];

		level += rng_uniform(&rng, -1, 1);
		fill_priorities(&rng, p, n, 3, exp(30 * sin(level / 10)));
		priorities_insert(&r, rng_below(&rng, SLOTS), p, n);
		priorities_continue_rebuild(&r);
		if (was && r.next.leaf == NULL) {
			ends++;
			bad += !leaves_are_right(&r);
		}
	}
	ok(bad == 0 && ends > 20 && r.most == 16,
	    "%zu rebuilds during random changes were right in the end", ends);
	priorities_close(&r);
}

/*
 * Compare probabilities and weights of draws with their formulas in binary64.
 */
static void
test_draws(double alpha, double beta, bool strata)
{
	static uint32_t slot[DRAWS];
	static double prob[DRAWS];
	static float weight[DRAWS], p[SLOTS];
	struct rng rng = rng_seed(4);
	double most = 0, worst = 0, w;
	struct priorities r;
	size_t bad = 0;

	open_per(&r, SLOTS, alpha);
	fill_priorities(&rng, p, SLOTS, 5, 1);
	priorities_insert(&r, 0, p, SLOTS);
	priorities_draw(&r, &rng, beta, strata, DRAWS, slot, prob, weight);
	for (int i = 0; i < DRAWS; i++) {
		bad += prob[i] != (double)sumtree_weight(&r.tree, slot[i]) /
		    (double)r.tree.total || p[slot[i]] == 0;
		w = pow(SLOTS * prob[i], -beta);
		most = w > most ? w : most;
	}
	for (int i = 0; i < DRAWS; i++) {
		w = pow(SLOTS * prob[i], -beta) / most;
		worst = fmax(worst, fabs(weight[i] - w) / w);
	}
	ok(bad == 0 && worst < 1e-7, "alpha %g, beta %g%s: probabilities are "
	    "leaves over the total, weights (N P)^-beta / the largest "
	    "(%.0e)", alpha,
	    beta, strata ? ", strata" : "", worst);
	priorities_close(&r);
}

/*
 * Compare how often slots are drawn with p^alpha; the threshold is 5
 * deviations.
 */
static void
test_chances(double alpha)
{
	enum { ROUNDS = 200 };
	static uint32_t slot[DRAWS], count[SLOTS];
	static double prob[DRAWS];
	static float weight[DRAWS], p[SLOTS];
	struct rng rng = rng_seed(6);
	double sum = 0, chi = 0, freedom = -1, expect;
	struct priorities r;

	memset(count, 0, sizeof(count));
	open_per(&r, SLOTS, alpha);
	fill_priorities(&rng, p, SLOTS, 1, 1);
	priorities_insert(&r, 0, p, SLOTS);
	for (int i = 0; i < ROUNDS; i++) {
		priorities_draw(&r, &rng, 1, false, DRAWS, slot, prob, weight);
		for (int j = 0; j < DRAWS; j++)
			count[slot[j]]++;
	}
	for (int i = 0; i < SLOTS; i++)
		sum += p[i] > 0 ? pow(p[i], alpha) : 0;
	for (int i = 0; i < SLOTS; i++) {
		if (p[i] == 0) {
			chi += count[i] == 0 ? 0 : HUGE_VAL;
			continue;
		}
		expect = ROUNDS * (double)DRAWS * pow(p[i], alpha) / sum;
		chi += (count[i] - expect) * (count[i] - expect) / expect;
		freedom++;
	}
	chi = (chi - freedom) / sqrt(2 * freedom);
	ok(fabs(chi) < 5, "alpha %g: slots are drawn as often as p^alpha says: "
	    "chi-squared %+.1f deviations", alpha, chi);
	priorities_close(&r);
}

static void
test_clear(void)
{
	struct rng rng = rng_seed(7);
	uint32_t slot[DRAWS];
	double prob[DRAWS];
	float weight[DRAWS], p[SLOTS];
	size_t bad = 0;
	struct priorities r;

	open_per(&r, SLOTS, 0.6);
	ok(!priorities_draw(&r, &rng, 1, false, 1, slot, prob, weight),
	    "an empty table gives no draw");
	for (int i = 0; i < SLOTS; i++)
		p[i] = 1;
	priorities_insert(&r, 0, p, SLOTS);
	for (uint32_t i = 0; i < SLOTS / 2; i++)
		slot[i] = 2 * i;
	priorities_clear(&r, slot, SLOTS / 2);
	ok(leaves_are_right(&r) && r.live == SLOTS / 2 && r.highest == 1 &&
	    priorities_draw(&r, &rng, 1, true, DRAWS, slot, prob, weight),
	    "every second slot is cleared");
	for (int i = 0; i < DRAWS; i++)
		bad += slot[i] % 2 == 0 || weight[i] != 1 ||
		    prob[i] != 2.0 / SLOTS;
	ok(bad == 0, "cleared slots are not drawn");
	for (uint32_t i = 0; i < SLOTS; i++)
		slot[i] = i;
	priorities_clear(&r, slot, SLOTS);
	ok(r.tree.total == 0 && r.live == 0 &&
	    !priorities_draw(&r, &rng, 1, false, 1, slot, prob, weight),
	    "a table whose slots are all cleared gives no draw");
	priorities_close(&r);
}

/*
 * Beside priorities of 1, of which the first may be large, `least` is not
 * raised, and half of it is.
 */
static void
test_raised(float greatest, float least)
{
	struct priorities r;
	float p[SLOTS];

	open_per(&r, SLOTS + 2, 1);
	p[0] = greatest;
	for (int i = 1; i < SLOTS; i++)
		p[i] = 1;
	priorities_insert(&r, 0, p, SLOTS);
	priorities_insert(&r, SLOTS, &least, 1);
	ok(r.raised == 0, "%g next to %g is not raised", (double)least,
	    (double)greatest);
	least /= 2;
	priorities_insert(&r, SLOTS + 1, &least, 1);
	ok(r.raised == 1 && sumtree_weight(&r.tree, SLOTS + 1) == 1,
	    "half of that priority is raised");
	priorities_close(&r);
}

int
main(void)
{
	static const double alpha[] = { 0, 0.3, 0.5, 0.6, 1, 2, 4 };

	test_valid();
	for (int i = 0; i < 7; i++) {
		test_leaves(alpha[i], 1);
		test_leaves(alpha[i], 20);
	}
	test_duplicates();
	test_follows(0.6);
	test_follows(1);
	test_outlier(1e30f);
	test_outlier(3000);
	test_rescales(0.6);
	test_rescales(2);
	test_slices(0.6, false);
	test_slices(1, true);
	test_slices_any();
	test_extremes();
	test_raised(1, 0x1p-15f);	/* 2^-15 of the mean */
	test_raised(0x1p20f, 0x1p-3f);	/* 2^-23 of the largest */
	for (int i = 0; i < 6; i++)
		test_draws(alpha[i], alpha[6 - i], i % 2);
	test_chances(0.6);
	test_chances(1);
	test_clear();
	return tap_end();
}
