/*
 * Compare the sum tree, in plain C and in the form for this processor, with
 * prefix sums in an array, index for index.
 */
#include <math.h>
#include <string.h>

#include "common/replay/sumtree.h"
#include "tests/unit/iswitch/plainsum.h"
#include "tests/unit/tap.h"

enum kind { UNIFORM, HEAVY, SPARSE, ONE, FULL, KINDS };
static const char *const kinds[] = { "uniform", "heavy-tailed", "sparse",
	"one huge", "all the greatest" };
enum { BATCH = 1000, MOST = 65536, FORMS = 3 };

static size_t sampled;		/* draws in all, by each form */

/* Return the AVX2 form, or plain C if this processor lacks it. */
static const struct sumnode_form *
avx2_or_plain(void)
{
	return sumnode_avx2() != NULL ? sumnode_avx2() : sumnode_plain();
}

/* Trees of n leaves: in the best form here, in plain C, and for AVX2. */
static void
open_both(struct sumtree t[FORMS], size_t n)
{
	for (int f = 0; f < FORMS; f++) {
		if (!sumtree_open(&t[f], n))
			abort();
	}
	t[1].form = sumnode_plain();
	t[2].form = avx2_or_plain();
}

static void
close_both(struct sumtree t[FORMS])
{
	for (int f = 0; f < FORMS; f++)
		sumtree_close(&t[f]);
}

/* Return a weight for leaf i of n. */
static uint32_t
draw_weight(struct rng *r, enum kind kind, size_t i, size_t n)
{
	const double u = rng_double(r);

	switch (kind) {
	case UNIFORM:
		return (uint32_t)rng_below(r, SUMTREE_WEIGHT_MAX) + 1;
	case HEAVY:
		return (uint32_t)(u * u * u * u * u * u * SUMTREE_WEIGHT_MAX);
	case SPARSE:
		return u < 0.001 ? SUMTREE_WEIGHT_MAX : 0;
	case ONE:
		return i == n / 3 ? SUMTREE_WEIGHT_MAX : u < 0.5;
	default:
		return SUMTREE_WEIGHT_MAX;
	}
}

/* Return sums to search for: random ones, and those on both sides of leaves. */
static void
choose_targets(struct rng *r, const struct plainsum *s, uint64_t total,
    uint64_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		x[i] = rng_below(r, total);
		if (i % 4 == 3)
			x[i] = s->upto[rng_below(r, s->n)] - i / 4 % 2;
		if (x[i] >= total)
			x[i] = i % 8 == 3 ? 0 : total - 1;
	}
}

/*
 * Do the trees find the same leaves as the array?  Makes n draws, in batches.
 */
static bool
same_found(struct rng *r, struct sumtree t[FORMS], struct plainsum *s, size_t n)
{
	static uint64_t x[BATCH];
	static uint32_t at[FORMS][BATCH], w[FORMS][BATCH];
	const uint64_t total = plainsum_add(s);
	size_t bad = 0, m, i;

	for (int f = 0; f < FORMS; f++)
		bad += t[f].total != total;
	for (; n > 0 && total > 0; n -= m, sampled += m) {
		m = rng_below(r, n < BATCH ? n : BATCH) + 1;
		choose_targets(r, s, total, x, m);
		for (int f = 0; f < FORMS; f++)
			sumtree_find(&t[f], x, m, at[f], w[f]);
		for (i = 0; i < m; i++)
			bad += at[0][i] != plainsum_find(s, x[i]) ||
			    w[0][i] != s->w[at[0][i]] || w[0][i] == 0;
		for (int f = 1; f < FORMS; f++)
			bad += memcmp(at[0], at[f], m * sizeof(**at)) != 0 ||
			    memcmp(w[0], w[f], m * sizeof(**w)) != 0;
	}
	return bad == 0;
}

/* Do the trees have the same weights as the array? */
static bool
same_weights(const struct sumtree t[FORMS], const struct plainsum *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (int f = 0; f < FORMS; f++)
			if (sumtree_weight(&t[f], i) != s->w[i])
				return false;
	}
	return true;
}

/* Apply updates, with duplicates, and an insert that may wrap, to all trees. */
static void
change_trees(struct rng *r, struct sumtree t[FORMS], struct plainsum *s,
    enum kind kind)
{
	static uint32_t at[BATCH], w[BATCH], run[MOST];
	const size_t n = rng_below(r, BATCH), from = rng_below(r, s->n);
	const size_t len = rng_below(r, (s->n < MOST ? s->n : MOST) + 1);

	for (size_t i = 0; i < n; i++) {
		at[i] = (uint32_t)rng_below(r, i % 3 ? s->n : s->n / 8 + 1);
		s->w[at[i]] = w[i] = draw_weight(r, kind, at[i], s->n);
	}
	for (size_t i = 0; i < len; i++)
		s->w[(from + i) % s->n] = run[i] =
		    draw_weight(r, kind, (from + i) % s->n, s->n);
	for (int f = 0; f < FORMS; f++) {
		sumtree_update(&t[f], at, w, n);
		sumtree_insert(&t[f], from, run, len);
	}
}

static void
scale_trees(struct sumtree t[FORMS], struct plainsum *s, int shift)
{
	for (size_t i = 0; i < s->n; i++)
		s->w[i] = (uint32_t)fmin(SUMTREE_WEIGHT_MAX,
		    ceil(ldexp(s->w[i], shift)));
	for (int f = 0; f < FORMS; f++)
		sumtree_scale(&t[f], shift);
}

/* Do rounds of changes and draws, with every kind of weights. */
static void
run_rounds(size_t n, size_t draws)
{
	enum { ROUNDS = 4 };
	struct plainsum s = plainsum_new(n);
	struct rng r = rng_seed(n);
	struct sumtree t[FORMS];
	bool good;

	open_both(t, n);
	for (int kind = 0; kind < KINDS; kind++) {
		good = true;
		for (int round = 0; round < ROUNDS; round++) {
			change_trees(&r, t, &s, (enum kind)kind);
			if (round == ROUNDS - 1)
				scale_trees(t, &s, (int)rng_below(&r, 60) - 30);
			good = good && same_found(&r, t, &s,
			    draws / (KINDS * ROUNDS)) && same_weights(t, &s);
		}
		ok(good, "%zu leaves, %s: the tree and the array find the same "
		    "leaves", n,
		    kinds[kind]);
	}
	close_both(t);
	plainsum_free(&s);
}

static void
test_sizes(void)
{
	static const struct {
		size_t n, draws;
	} size[] = {
		{ 1, 2000 }, { 2, 2000 }, { 15, 20000 }, { 16, 20000 },
		{ 17, 20000 }, { 255, 20000 }, { 256, 20000 },
		{ 257, 20000 }, { 1000, 4300000 }, { 4095, 200000 },
		{ 65536, 3800000 }, { 65537, 1000000 },
		{ ((size_t)1 << 20) + 3, 1000000 },
	};

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++)
		run_rounds(size[i].n, size[i].draws);
	ok(sampled >= 10000000, "there were %zu draws in all", sampled);
}

/* A tree has few weights in all levels but one: each is found at both ends. */
static void
test_large(void)
{
	enum { FEW = 100 };
	const size_t n = ((size_t)1 << 24) + 5;
	struct rng r = rng_seed(1);
	uint32_t where[FEW], w[FEW], at[2];
	struct sumtree t[FORMS];
	uint64_t upto = 0;
	size_t bad = 0;

	open_both(t, n);
	for (uint32_t i = 0; i < FEW; i++) {
		where[i] = (uint32_t)(n / FEW * i + rng_below(&r, n / FEW));
		w[i] = (uint32_t)rng_below(&r, SUMTREE_WEIGHT_MAX) + 1;
	}
	where[FEW - 1] = (uint32_t)n - 1;
	for (int f = 0; f < FORMS; f++)
		sumtree_update(&t[f], where, w, FEW);
	for (int i = 0; i < FEW; i++, upto += w[i - 1]) {
		for (int f = 0; f < FORMS; f++) {
			sumtree_find(&t[f], (uint64_t[]){ upto,
			    upto + w[i] - 1 }, 2, at, NULL);
			bad += at[0] != where[i] || at[1] != where[i];
		}
	}
	for (int f = 0; f < FORMS; f++)
		bad += t[f].total != upto;
	ok(bad == 0,
	    "%zu leaves: the few with a weight are found", n);
	close_both(t);
}

/*
 * All forms draw the same with the same random numbers; with strata, one from
 * each.
 */
static void
test_strata(uint32_t most, size_t n)
{
	struct plainsum s = plainsum_new(n);
	struct rng r = rng_seed(n), twin;
	uint32_t at[FORMS][BATCH], w[BATCH];
	struct sumtree t[FORMS];
	size_t bad = 0;
	uint64_t total;

	open_both(t, n);
	for (size_t i = 0; i < n; i++)
		s.w[i] = (uint32_t)rng_below(&r, most + 1);
	s.w[n - 1] = most;
	for (int f = 0; f < FORMS; f++)
		sumtree_insert(&t[f], 0, s.w, n);
	total = plainsum_add(&s);
	for (int round = 0; round < 100; round++) {
		const size_t m = rng_below(&r, BATCH) + 1;

		for (int f = FORMS - 1; f >= 0; f--) {
			twin = r;
			sumtree_draw(&t[f], &twin, true, m, at[f],
			    f == 0 ? w : NULL);
			bad += memcmp(at[f], at[FORMS - 1],
			    m * sizeof(**at)) != 0;
		}
		r = twin;
		for (size_t i = 0; i < m; i++) {
			const uint64_t from = i * total / m;
			const uint64_t end = (i + 1) * total / m;

			bad += at[0][i] < plainsum_find(&s, from) ||
			    at[0][i] > plainsum_find(&s, end > from ?
			    end - 1 : from) || w[i] != s.w[at[0][i]];
		}
	}
	ok(bad == 0, "%zu leaves of 0 to %u: one draw comes from each part of "
	    "the total", n, most);
	close_both(t);
	plainsum_free(&s);
}

/*
 * Return Pearson's statistic of n draws against weights w, minus its mean, in
 * its standard deviations.  It is far above 5 if the draws follow other
 * weights.
 */
static double
far_off(const uint32_t *count, const uint32_t *w, size_t leaves, uint64_t total,
    double n)
{
	double sum = 0, freedom = -1, expect, d;

	for (size_t i = 0; i < leaves; i++) {
		if (w[i] == 0) {
			sum += count[i] == 0 ? 0 : HUGE_VAL;
			continue;
		}
		expect = n * w[i] / (double)total;
		d = count[i] - expect;
		sum += d * d / expect;
		freedom++;
	}
	return (sum - freedom) / sqrt(2 * freedom);
}

static void
test_chances(bool strata)
{
	enum { LEAVES = 1000, DRAWS = 2000000 };
	static uint32_t count[LEAVES], w[LEAVES], at[BATCH];
	struct rng r = rng_seed(5);
	struct sumtree t;
	double off, other;

	memset(count, 0, sizeof(count));
	sumtree_open(&t, LEAVES);
	for (size_t i = 0; i < LEAVES; i++)
		w[i] = i % 5 == 0 ? 0 : (uint32_t)rng_below(&r, 1000) + 20;
	sumtree_insert(&t, 0, w, LEAVES);
	for (int i = 0; i < DRAWS; i += BATCH) {
		sumtree_draw(&t, &r, strata, BATCH, at, NULL);
		for (int j = 0; j < BATCH; j++)
			count[at[j]]++;
	}
	off = far_off(count, w, LEAVES, t.total, DRAWS);
	ok(off < 4 && (strata || off > -4),
	    "leaves are drawn by weight%s: chi-squared %+.1f deviations",
	    strata ? " from strata" : "", off);
	for (size_t i = 1; i < LEAVES; i += 10)
		w[i] += w[i] / 20;
	other = far_off(count, w, LEAVES, t.total, DRAWS);
	ok(other > off + 8, "a tenth of them with 5 %% more would be detected: "
	    "%+.1f", other);
	sumtree_close(&t);
}

/* All forms detect one of n sums that is not below the total, at any place. */
static void
test_within(void)
{
	static const uint64_t totals[] = { 1, 2, 1000, (uint64_t)1 << 40,
		INT64_MAX };
	static const uint64_t outs[] = { 0, 1, INT64_MAX, UINT64_MAX };
	const struct sumnode_form *form[FORMS] = { sumnode_best(),
		sumnode_plain(), avx2_or_plain() };
	unsigned bad = 0;
	uint64_t x[11];

	for (int f = 0; f < FORMS; f++) {
		for (size_t n = 0; n <= 11; n++) {
			for (size_t i = 0; i < 5 * (n + 1) * 4; i++) {
				const uint64_t total = totals[i % 5];
				const uint64_t out = outs[i / 5 % 4];
				const size_t at = i / 20;

				for (size_t j = 0; j < n; j++)
					x[j] = j % 2 == 0 ? total - 1 : 0;
				bad += !form[f]->within(x, n, total);
				if (at == n)
					continue;
				x[at] = total > UINT64_MAX - out ? UINT64_MAX :
				    total + out;
				bad += form[f]->within(x, n, total);
			}
		}
	}
	ok(bad == 0, "a sum that is not below the total is detected");
}

int
main(void)
{
	if (sumnode_avx2() == NULL)
		note("no AVX2: plain C against itself");
	test_within();
	test_sizes();
	test_large();
	test_strata(SUMTREE_WEIGHT_MAX, 1000);
	test_strata(1, 1000);
	test_strata(SUMTREE_WEIGHT_MAX, 1);
	test_chances(false);
	test_chances(true);
	return tap_end();
}
