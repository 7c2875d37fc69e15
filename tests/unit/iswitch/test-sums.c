/*
 * Compare the results of the aggregation switch with sums computed here: each
 * reduction, each length of a vector, 1 to 32 workers, and any order of
 * arrival.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/rng.h"
#include "tests/unit/iswitch/rigged.h"
#include "tests/unit/tap.h"

enum { F = SEG_FLOATS_V4, WORKERS = 32 };

static struct rigged plane;
#define sw (*rigged_switch(&plane))
static uint32_t workers;
static double worst;		/* error, in units of its bound */
static uint64_t results;
static uint32_t crc;		/* of all results, in order of their index */

/* Return the gradient of worker w at e: any sign, many magnitudes. */
static float
gradient_value(uint32_t w, uint32_t e)
{
	uint64_t x = ((uint64_t)w << 32 | e) * 0x9e3779b97f4a7c15 + 12345;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 32;
	return ldexpf((float)(int32_t)x / 0x1p31f, (int)(x >> 33) % 8 - 6);
}

static int
compare_floats(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Return the error of element e as a share of its bound. */
static double
error_of(float got, uint32_t e)
{
	const struct reduce *r = &sw.cf.job.rule.reduce;
	float v[WORKERS], ordered = 0;
	double sum = 0, size = 0, want;
	int64_t fixed = 0;

	for (uint32_t w = 0; w < workers; w++) {
		v[w] = gradient_value(w, e);
		sum += (double)v[w];
		size += fabs((double)v[w]);
		fixed += llrint((double)v[w] * 0x1p24);
		ordered = w == 0 ? v[0] : ordered + v[w];
	}
	switch (r->kind) {
	case REDUCE_SUM:
		return fabs((double)got - sum) / (size * 0x1p-24 * workers);
	case REDUCE_ORDERED:	/* equal to this sum, and near the exact one */
		return got == ordered ? fabs((double)got - sum) / (size *
		    0x1p-24 * workers) : 1e9;
	case REDUCE_FIXED:
		return got == (float)fixed * 0x1p-24f ?
		    fabs((double)got - sum) / (workers * 0x1p-24 +
		    size * 0x1p-24) : 1e9;
	default: break;
	}
	qsort(v, workers, sizeof(*v), compare_floats);
	if (r->kind == REDUCE_MEDIAN || 2 * r->trim >= workers) {
		want = workers % 2 != 0 ? (double)v[workers / 2] :
		    ((double)v[workers / 2 - 1] + (double)v[workers / 2]) / 2;
	} else {
		want = 0;
		for (uint32_t k = r->trim; k < workers - r->trim; k++)
			want += (double)v[k];
		want /= workers - 2 * r->trim;
	}
	return fabs((double)got - want * workers) / (1e-12 +
	    fabs(want * workers) * 0x1p-23);
}

/* Check results as they leave: every 97th element of a long vector. */
static void
check_results(void *ctx, const struct post *p)
{
	struct seg g;

	(void)ctx;
	if (p->tos != SEG_TOS)
		return;
	for (uint32_t k = 0; k < p->count; k++) {
		const uint32_t len = k + 1 < p->count ? p->bytes :
		    p->last_bytes;

		if (!seg_parse(p->p + (size_t)k * p->bytes, len, &g))
			continue;
		results += g.contributions == workers;
		crc ^= crc32c(g.index, g.vec, 4 * (size_t)g.n);
		for (uint32_t i = 0; i < g.n; i += g.n < 8 ? 1 : 97) {
			double d = error_of(vec_get(g.vec, i),
			    g.index * F + i);

			worst = d > worst || isnan(d) ? d : worst;
		}
	}
}

static union addr
address_of(uint32_t w)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)(1000 + w)) } };
}

static void
join_worker(uint32_t w, uint32_t elements)
{
	const struct control_join j = { .type = CONTROL_WORKER, .worker = w,
	    .elements = elements };
	const union addr from = address_of(w);
	uint8_t m[64];
	uint8_t *end = control_put_join(control_put(m, CONTROL_JOIN, 1, 7),
	    &j);

	rigged_take(&plane, &from, CONTROL_TOS, m, (size_t)(end - m), 1);
}

static void
send_segment(uint32_t w, uint32_t elements, uint32_t i)
{
	const uint32_t n = seg_floats_at(elements, F, i);
	const union addr from = address_of(w);
	uint8_t m[SEG_HEADER_BYTES + 4 * F];
	uint8_t *p = seg_put(m, 0, 1, i);

	for (uint32_t k = 0; k < n; k++)
		vec_set(p, k, gradient_value(w, i * F + k));
	rigged_take(&plane, &from, SEG_TOS, m, SEG_HEADER_BYTES + 4 * n, 2);
}

/*
 * Run an iteration of n workers; the worker that sends first changes with the
 * segment.
 */
static bool
run_iteration(struct reduce r, uint32_t n, uint32_t elements, struct rng *rng)
{
	const struct iswitch_conf cf = { .job = { .rule.reduce = r,
	    .h = (uint16_t)n, .keep = 16, .member_timeout_ns = 1000000000 },
	    .floats = F, .floats_max = F };
	const uint32_t segs = seg_count(elements, F);
	uint32_t order[WORKERS];

	workers = n;
	worst = 0;
	results = 0;
	crc = 0;
	rigged_open(&plane, &cf, 1, check_results, NULL);
	for (uint32_t w = 0; w < n; w++) {
		order[w] = w;
		join_worker(n - 1 - w, elements);
	}
	for (uint32_t i = 0; i < segs; i++) {
		for (uint32_t k = n; k > 1; k--) {
			uint32_t o = (uint32_t)rng_below(rng, k);
			uint32_t swap = order[k - 1];

			order[k - 1] = order[o];
			order[o] = swap;
		}
		for (uint32_t k = 0; k < n; k++)
			send_segment(order[k], elements, i);
	}
	outbox_flush(sw.out);
	rigged_close(&plane);
	return results == segs && worst <= 1;
}

static const struct {
	const char *name;
	struct reduce r;
} kind[] = {
	{ "sum", { .kind = REDUCE_SUM } },
	{ "ordered", { .kind = REDUCE_ORDERED } },
	{ "fixed", { .kind = REDUCE_FIXED, .fixed_bits = 24 } },
	{ "median", { .kind = REDUCE_MEDIAN } },
	{ "trimmed:2", { .kind = REDUCE_TRIMMED, .trim = 2 } },
};

/* Test the four models of iSwitch's Table 1, and about one segment. */
static void
test_lengths(struct rng *rng)
{
	static const uint32_t short_ones[] = { 1, F - 1, F, F + 1,
	    40020 / 4, 157520 / 4 };
	static const uint32_t models[] = { 3310000 / 4, 6410000 / 4 };

	for (int k = 0; k < 5; k++) {
		bool good = true;

		for (size_t l = 0; l < 6; l++)
			for (uint32_t n = 1; n <= WORKERS; n += l < 4 ? 1 : 31)
				good = (n < reduce_needs(&kind[k].r, n) ||
				    run_iteration(kind[k].r, n, short_ones[l],
				    rng)) && good;
		ok(good, "%s: sums of short vectors of up to 32 workers are "
		    "right", kind[k].name);
		if (k > 2)
			continue;
		for (size_t l = 0; l < 2; l++)
			ok(run_iteration(kind[k].r, 4, models[l], rng) &&
			    run_iteration(kind[k].r, l == 0 ? 32 : 9, models[l],
			    rng), "%s: sums of %u elements and many workers "
			    "are right",
			    kind[k].name, models[l]);
	}
}

static void
test_orders(struct rng *rng)
{
	for (int k = 1; k < 5; k++) {
		uint32_t first = 0;
		bool same = true;

		for (int shuffle = 0; shuffle < 100; shuffle++) {
			same = run_iteration(kind[k].r, 7, 1000, rng) && same;
			first = shuffle == 0 ? crc : first;
			same = same && crc == first;
		}
		ok(same, "%s: 100 orders of arrival give the same bits",
		    kind[k].name);
	}
}

int
main(void)
{
	struct rng rng = rng_seed(1);

	test_lengths(&rng);
	test_orders(&rng);
	return tap_end();
}
