/*
 * Test the five reductions: against values computed by hand, in any order, and
 * at their limits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/iswitch/reduce.h"
#include "tests/unit/tap.h"

enum { MOST = 75, MEMBERS = 9 };

struct slot {
	struct reduce r;
	struct reduce_count c;
	uint8_t *work;		/* 32-byte aligned */
	uint8_t *out, *x[MEMBERS];	/* 1 byte after malloc's address */
	uint32_t n;
};

static struct slot
slot_new(const char *kind, uint32_t n)
{
	struct slot s = { .n = n };
	const char *why = reduce_parse(kind, &s.r);
	size_t bytes = reduce_work_bytes(&s.r, MEMBERS, n);

	if (why != NULL)
		note("%s: %s", kind, why);
	s.work = aligned_alloc(32, (bytes + 31) / 32 * 32 + 32);
	s.out = (uint8_t *)malloc(4 * n + 1) + 1;
	for (int m = 0; m < MEMBERS; m++)
		s.x[m] = (uint8_t *)malloc(4 * n + 1) + 1;
	return s;
}

static void
slot_free(struct slot *s)
{
	free(s->work);
	free(s->out - 1);
	for (int m = 0; m < MEMBERS; m++)
		free(s->x[m] - 1);
}

/* Add the members in this order; stored rows are ordered by member. */
static void
slot_run(struct slot *s, const uint32_t came[], uint32_t rows)
{
	uint32_t order[MEMBERS], at = 0;

	for (uint32_t m = 0; m < MEMBERS; m++)
		for (uint32_t j = 0; j < rows; j++)
			if (came[j] == m)
				order[at++] = j;
	memset(s->out, 0xa5, 4 * s->n);
	reduce_first(&s->r, s->out, s->work, s->n, s->x[came[0]], &s->c);
	for (uint32_t j = 1; j < rows; j++)
		reduce_add(&s->r, s->out, s->work, j, s->n, s->x[came[j]],
		    &s->c);
	reduce_finish(&s->r, s->out, s->work, rows, order, s->n, rows, &s->c);
}

static const uint32_t in_order[MEMBERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

/* Make numbers of very different size, whose sum depends on the order. */
static void
slot_fill(struct slot *s, struct rng *r)
{
	for (int m = 0; m < MEMBERS; m++)
		for (size_t i = 0; i < s->n; i++)
			vec_set(s->x[m], i, (float)ldexp(rng_double(r) - 0.5,
			    (int)rng_below(r, 30) - 15));
}

static void
shuffle_order(struct rng *r, uint32_t came[])
{
	for (uint32_t j = MEMBERS - 1; j > 0; j--) {
		const uint32_t to = (uint32_t)rng_below(r, j + 1);
		const uint32_t m = came[j];

		came[j] = came[to];
		came[to] = m;
	}
}

/* Count how many of 100 orders of arrival change the result. */
static unsigned
count_differences(struct rng *r, const char *kind, uint32_t n)
{
	struct slot s = slot_new(kind, n);
	uint32_t came[MEMBERS];
	uint8_t first[4 * MOST];
	unsigned other = 0;

	slot_fill(&s, r);
	memcpy(came, in_order, sizeof(came));
	for (int i = 0; i < 100; i++) {
		slot_run(&s, came, MEMBERS);
		if (i == 0)
			memcpy(first, s.out, 4 * n);
		other += memcmp(first, s.out, 4 * n) != 0;
		shuffle_order(r, came);
	}
	if (s.c.nonfinite + s.c.saturated != 0)
		note("%s counts what it should not", kind);
	slot_free(&s);
	return other;
}

static void
test_orders(struct rng *r)
{
	static const char *const free_of_order[] = {
		"ordered", "fixed", "median", "trimmed:2"
	};

	for (size_t k = 0; k < 4; k++) {
		unsigned other = 0;

		for (uint32_t n = 1; n <= MOST; n += 37)
			other += count_differences(r, free_of_order[k], n);
		ok(other == 0, "%s: 100 orders of arrival give the same bits",
		    free_of_order[k]);
	}
	ok(count_differences(r, "sum", MOST) > 50,
	    "sum: the order of arrival matters");
}

/* Reduce one element of up to nine members. */
static float
reduce_one(const char *kind, uint32_t bits, struct reduce_count *c,
    uint32_t rows, const float x[])
{
	struct slot s = slot_new(kind, 1);
	float f;

	s.r.fixed_bits = bits;
	for (uint32_t m = 0; m < rows; m++)
		vec_set(s.x[m], 0, x[m]);
	slot_run(&s, in_order, rows);
	f = vec_get(s.out, 0);
	*c = s.c;
	slot_free(&s);
	return f;
}

static void
test_by_hand(void)
{
	static const float x[] = { 0x1p24f, 1, 1, -0x1p24f, 3 };
	struct reduce_count c;

	ok(reduce_one("sum", 24, &c, 5, x) == 3,
	    "sum: 2^24 + 1 + 1 - 2^24 + 3 is 3");
	ok(reduce_one("ordered", 24, &c, 5, x) == 3,
	    "ordered: the sum is 3 too");
	ok(reduce_one("fixed", 24, &c, 5, x) == 5, "fixed: the sum is 5");
	ok(reduce_one("median", 24, &c, 5, x) == 5,
	    "median: the median is 1, times 5");
	ok(reduce_one("trimmed:1", 24, &c, 5, x) == (float)(25 / 3.),
	    "trimmed:1: the mean is 5/3, times 5");
	ok(reduce_one("trimmed:9", 24, &c, 5, x) == 5,
	    "trimmed:9 equals the median");
	ok(reduce_one("median", 24, &c, 4, x) == 4,
	    "median of 4: the median is 1, times 4");
	ok(c.nonfinite == 0 && c.saturated == 0, "no value was counted as bad");
}

static void
test_roundings(void)
{
	static const float ties[] = { 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 7 };
	static const float once[] = { 0x1p24f, 0x1p-1f, 0x1p-1f };
	static const float up[] = { 0x1p24f, 1, 0x1p-24f };
	static const float far[] = { 0x1p38f, 0x1p14f, 0x1p-24f };
	static const float tiny[] = { 0x1p-149f, -0x1p-149f };
	struct reduce_count c;
	float sum = 0;

	for (int i = 0; i < 6; i++)
		sum += reduce_one("fixed", 1, &c, 1, ties + i);
	ok(sum == 9.5f, "fixed with one bit keeps halves");
	for (int i = 0; i < 5; i++) {
		const float half = ties[i] / 2, even = rintf(ties[i]) / 2;

		ok(reduce_one("fixed", 1, &c, 1, &half) == even,
		    "%g becomes %g, because ties round to "
		    "even", (double)half, (double)even);
	}
	ok(reduce_one("fixed", 24, &c, 3, once) == 0x1p24f,
	    "2^24 + 1/2 + 1/2 is rounded once at the end, to even");
	ok(reduce_one("fixed", 24, &c, 3, up) == 0x1p24f + 2,
	    "2^24 + 1 + 2^-24 is rounded up, because the last bit counts");
	ok(reduce_one("fixed", 24, &c, 3, far) == 0x1.000002p38f,
	    "2^38 + 2^14 + 2^-24 is rounded up, which binary64 would not do");
	ok(reduce_one("fixed", 62, &c, 2, tiny) == 0 && c.saturated == 0,
	    "subnormal numbers become 0 without being counted");
}

static void
test_limits(void)
{
	static const float edge[] = { 0x1.fffffep38f }, past[] = { 0x1p39f };
	static const float inf[] = { -INFINITY, 1 }, nan[] = { NAN, 1, 2 };
	static const float last[] = { -0x1p38f, -0x1p38f, INFINITY };
	static const float four[] = { 0x1p38f, 0x1p38f, 0x1p38f, -0x1p38f };
	static const float deep[] = { -0x1p38f, -0x1p38f, -0x1p38f };
	struct reduce_count c;

	ok(reduce_one("fixed", 24, &c, 1, edge) == edge[0] && c.saturated == 0,
	    "fixed: a number just below 2^39 fits with 24 fraction bits");
	ok(reduce_one("fixed", 24, &c, 1, past) == 0x1p39f &&
		c.saturated == 1 && c.nonfinite == 0,
	    "the next larger number is clamped and counted");
	ok(isnan(reduce_one("fixed", 24, &c, 2, inf)) && c.saturated == 0 &&
	    c.nonfinite == 1, "a sum with infinity is NaN and counted");
	ok(isnan(reduce_one("fixed", 24, &c, 3, nan)) && c.saturated == 0 &&
	    c.nonfinite == 1, "a sum with NaN is NaN and counted");
	ok(isnan(reduce_one("fixed", 24, &c, 3, last)) && c.nonfinite == 1,
	    "a sum with NaN as the last number is NaN and counted");
	ok(reduce_one("fixed", 24, &c, 4, four) == 0x1p38f && c.saturated == 2,
	    "a sum stays at 2^63 - 1, can return, and each time is counted");
	ok(reduce_one("fixed", 24, &c, 3, deep) == -0x1p39f && c.saturated == 2,
	    "a sum stays at -2^63 + 1 too");
}

/* A packet is counted once, however many elements are bad, in any kind. */
static void
test_counted(void)
{
	static const char *const kind[] = {
		"sum", "ordered", "fixed", "median", "trimmed:1"
	};

	for (size_t k = 0; k < 5; k++) {
		struct slot s = slot_new(kind[k], MOST);

		for (int m = 0; m < MEMBERS; m++)
			for (size_t i = 0; i < MOST; i++)
				vec_set(s.x[m], i, m == 3 ? NAN : 1);
		vec_set(s.x[0], MOST - 1, INFINITY);
		vec_set(s.x[0], 1, INFINITY);
		slot_run(&s, in_order, MEMBERS);
		ok(s.c.nonfinite == 2, "%s: two bad packets of nine are "
		    "counted",
		    kind[k]);
		slot_free(&s);
	}
}

static uint64_t
add_fixed_plain(uint32_t bits, int64_t *sum, const uint8_t *x, size_t n,
    bool first, struct reduce_count *c)
{
	return reduce_fixed_plain(sum, x, 0, n, first, ldexp(1, (int)bits), c);
}

/* Test fixed against its plain code, with any exponent, NaN and infinity. */
static void
test_fixed_plain(struct rng *r)
{
	bool same = true;

	for (uint32_t n = 1; n <= MOST; n++) {
		struct slot s = slot_new("fixed", n);
		struct reduce_count c = { 0 };
		int64_t plain[MOST];
		const uint32_t span = 1 + (uint32_t)rng_below(r, 60);

		s.r.fixed_bits = 1 + (uint32_t)rng_below(r, 62);
		for (int m = 0; m < 100; m++) {
			for (size_t i = 0; i < n; i++) {
				uint32_t u = (uint32_t)rng_u64(r);
				float f;

				if (m % 3 != 0)	/* sums just out of range */
					u = (u & 0x807fffff) | (127 - 20 +
					    (uint32_t)rng_below(r, span)) << 23;
				memcpy(&f, &u, 4);
				vec_set(s.x[0], i, f);
			}
			if (m == 0)
				reduce_first(&s.r, s.out, s.work, n, s.x[0],
				    &s.c);
			else
				reduce_add(&s.r, s.out, s.work, 1, n, s.x[0],
				    &s.c);
			c.nonfinite += !add_fixed_plain(s.r.fixed_bits, plain,
			    s.x[0], n, m == 0, &c);
		}
		same = same && memcmp(plain, s.work, 8 * n) == 0 &&
		    memcmp(&c, &s.c, sizeof(c)) == 0;
		slot_free(&s);
	}
	ok(same, "fixed equals the plain code, bit for bit, with the same "
	    "counts");
}

static void
test_words(void)
{
	struct reduce r = { .fixed_bits = 30 };

	ok(reduce_parse("trimmed:2", &r) == NULL && r.trim == 2 &&
	    r.kind == REDUCE_TRIMMED && r.fixed_bits == 30,
	    "trimmed:2 is accepted and keeps the number of bits");
	ok(reduce_parse("means", &r) != NULL && reduce_parse("", &r) != NULL &&
	    reduce_parse("trimmed", &r) != NULL &&
	    reduce_parse("trimmed:", &r) != NULL &&
	    reduce_parse("trimmed:-1", &r) != NULL &&
	    reduce_parse("trimmed:65536", &r) != NULL &&
	    reduce_parse("sum:1", &r) != NULL &&
	    r.kind == REDUCE_TRIMMED && r.trim == 2,
	    "an invalid reduction is refused and changes nothing");
	ok(reduce_needs(&r, 9) == 5 && reduce_needs(&r, 2) == 5,
	    "trimmed:2 needs five contributions");
	ok(reduce_work_bytes(&r, 65535, 366) == (size_t)65535 * 366 * 4,
	    "trimmed stores every contribution");
	r.fixed_bits = 0;
	ok(reduce_parse("fixed", &r) == NULL && r.kind == REDUCE_FIXED &&
	    r.fixed_bits == 24 && reduce_work_bytes(&r, 65535, 366) == 366 * 8,
	    "fixed has 24 bits by default, and needs 8 bytes an element");
	ok(reduce_parse("sum", &r) == NULL && r.kind == REDUCE_SUM &&
	    reduce_work_bytes(&r, 65535, 366) == 0,
	    "sum needs no memory besides the result");
	ok(reduce_parse("ordered", &r) == NULL && r.kind == REDUCE_ORDERED &&
	    reduce_parse("median", &r) == NULL && r.kind == REDUCE_MEDIAN,
	    "ordered and median are accepted");
	ok(reduce_needs(&r, 9) == 3 && reduce_needs(&r, 2) == 2 &&
	    reduce_needs(&r, 1) == 1, "a median needs three contributions, or "
	    "all");
}

int
main(void)
{
	struct rng r = rng_seed(4);

	test_words();
	test_by_hand();
	test_roundings();
	test_limits();
	test_counted();
	test_orders(&r);
	test_fixed_plain(&r);
	return tap_end();
}
