/*
 * Compare the Age of Model with closed forms, Olaf's vectors and a brute-force
 * twin.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/olaf/aom.h"
#include "tests/unit/tap.h"

struct delivery {
	uint64_t at, made;
};

/* Feed n deliveries to a cluster that counts from 0 and ends at `end`. */
static struct aom
deliver_all(const struct delivery *d, size_t n, uint64_t end)
{
	struct aom a = { 0 };

	aom_start(&a, 0, 0);
	for (size_t i = 0; i < n; i++)
		aom_deliver(&a, d[i].at, d[i].made);
	aom_end(&a, end);
	return a;
}

static struct aom_figures
test_figures(const struct aom *a)
{
	struct aom_figures f;

	if (aom_figures(&a, 1, &f) == -1)
		abort();
	return f;
}

/* Olaf vectors, ages in ms counted from 0, means to 0.1 us. */
static void
test_vectors(void)
{
	static const struct {
		const char *name;
		struct delivery d[4];
		size_t n;
		uint64_t end;
		unsigned mean_e4;	/* ms / 10000 */
		uint64_t peak_sum;
	} v[] = {
		{ "V1 C1", { { 11, 1 }, { 31, 6 } }, 2, 31, 148548, 41 },
		{ "V1 C2", { { 21, 5 } }, 1, 31, 138871, 21 },
		{ "V1 C2 oldest", { { 21, 3 } }, 1, 31, 145323, 21 },
		{ "V2 C1", { { 11, 1 } }, 1, 21, 100238, 11 },
		{ "V2 C2", { { 21, 4 } }, 1, 21, 105000, 21 },
		{ "V2 C3", { { 0, 0 } }, 0, 21, 105000, 0 },
		{ "V4 C1", { { 11, 1 }, { 21, 3 }, { 31, 12 } }, 3, 31,
		    142097, 59 },
		{ "V6 C1", { { 3, 1 }, { 7, 5 }, { 9, 6 } }, 3, 9, 29444, 13 },
		{ "V7 C1", { { 27, 1 } }, 1, 87, 428103, 27 },
		{ "V7 C2", { { 47, 3 }, { 87, 21 } }, 2, 87, 421207, 131 },
		{ "V7 C2 oldest", { { 47, 2 }, { 87, 21 } }, 2, 87, 425805,
		    132 },
		{ "V7 C3", { { 67, 14 } }, 1, 87, 402816, 67 },
		{ "V7 C3 oldest", { { 67, 5 } }, 1, 87, 423506, 67 },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct delivery d[4];
		struct aom a;

		for (size_t k = 0; k < v[i].n; k++)
			d[k] = (struct delivery){ v[i].d[k].at * 1000000,
			    v[i].d[k].made * 1000000 };
		a = deliver_all(d, v[i].n, v[i].end * 1000000);
		ok((test_figures(&a).mean_ns + 50) / 100 == v[i].mean_e4 &&
		    a.peak_sum_ns == v[i].peak_sum * 1000000,
		    "%s: mean %" PRIu64 " ns", v[i].name,
		    test_figures(&a).mean_ns);
		aom_free(&a);
	}
}

static void
test_closed_forms(void)
{
	struct aom a = { 0 }, b = { 0 };
	const struct aom *both[] = { &a, &b };
	struct aom_figures f;

	f = test_figures(&a);
	ok(!f.known && f.mean_ns == 0, "without a delivery the age is not "
	    "known");
	aom_end(&a, 99);
	ok(!a.started, "the end does not start the age");

	ok(aom_deliver(&a, 50, 20) == AOM_FRESH,
	    "the first delivery starts the age");
	aom_end(&a, 50);
	f = test_figures(&a);
	ok(f.known && f.mean_ns == 30 && f.p50_ns == 30 && f.max_ns == 30 &&
	    f.time_ns == 0 && f.peaks == 0, "with a span of 0 the figures are "
	    "the age itself");
	aom_free(&a);

	aom_start(&a, 0, 0);
	aom_end(&a, 100);
	f = test_figures(&a);
	ok(f.mean_ns == 50 && f.p50_ns == 50 && f.p95_ns == 95 &&
	    f.p99_ns == 99 && f.max_ns == 100, "a single climb from 0 to 100 "
	    "has the right mean and percentiles");
	aom_free(&a);

	aom_start(&a, 0, 0);
	aom_end(&a, 1);
	ok(test_figures(&a).mean_ns == 1 && test_figures(&a).p50_ns == 1,
	    "half a nanosecond is rounded up");
	aom_free(&a);

	aom_start(&a, 10, 10);
	ok(aom_deliver(&a, 20, 10) == AOM_STALE &&
	    aom_deliver(&a, 20, 9) == AOM_STALE && a.peaks == 0,
	    "an equal or older update is stale, and the age does not change");
	ok(aom_deliver(&a, 9, 9) == AOM_STALE, "a delivery before the start is "
	    "stale");
	ok(aom_deliver(&a, 20, 25) == AOM_FRESH && a.ahead == 1 &&
	    a.made_ns == 20, "an update made after its delivery is counted and "
	    "has age 0");
	ok(aom_deliver(&a, 20, 20) == AOM_STALE,
	    "the same update again is stale");
	aom_end(&a, 20);
	ok(test_figures(&a).max_peak_ns == 10 && a.teeth == 1,
	    "there is one peak of 10");
	aom_free(&a);

	aom_start(&a, 0, 0);
	aom_end(&a, 10);
	aom_start(&b, 0, 0);
	aom_end(&b, 30);
	aom_figures(both, 2, &f);
	ok(f.mean_ns == 13 && f.p50_ns == 10 && f.max_ns == 30,
	    "two clusters: the mean is (50 + 450) / 40, and half of the time "
	    "the age is at most 10");
	aom_free(&a);
	aom_free(&b);
}

static void
test_limits(void)
{
	enum { MANY = 1000 };
	static struct aom many[MANY];
	const struct aom *set[MANY];
	struct aom a = { 0 };
	struct aom_figures f;

	aom_start(&a, 0, 0);
	aom_end(&a, AOM_MAX_NS);
	f = test_figures(&a);
	ok(f.mean_ns == (uint64_t)1 << 62 && f.max_ns == AOM_MAX_NS &&
	    f.p50_ns == (uint64_t)1 << 62, "a climb of 292 years has the right "
	    "figures");
	aom_free(&a);

	aom_start(&a, AOM_MAX_NS - 1, 0);
	aom_end(&a, AOM_MAX_NS);
	f = test_figures(&a);
	ok(f.mean_ns == AOM_MAX_NS && f.p99_ns == AOM_MAX_NS,
	    "the last nanosecond has age 2^63 - 1.5");
	aom_free(&a);

	for (int i = 0; i < MANY; i++) {
		aom_start(&many[i], 0, 0);
		aom_end(&many[i], AOM_MAX_NS);
		set[i] = &many[i];
	}
	aom_figures(set, MANY, &f);
	ok(f.mean_ns == (uint64_t)1 << 62, "the sum of areas can exceed 2^128");
	for (int i = 0; i < MANY; i++)
		aom_free(&many[i]);
}

/*
 * The twin has ages in a table of half nanoseconds.  In the slot from h to h +
 * 1 the age rises from age2[h] to age2[h] + 1, in halves.
 */
enum { SPAN = 400, MACHINES = 3 };

struct twin {
	unsigned age2[2 * SPAN * MACHINES];
	size_t slots;
};

static void
twin_add(struct twin *w, const struct delivery *d, size_t n, uint64_t end)
{
	for (uint64_t h = 2 * d[0].at; h < 2 * end; h++) {
		uint64_t g = 0;

		for (size_t i = 0; i < n; i++) {
			const uint64_t made = d[i].made < d[i].at ?
			    d[i].made : d[i].at;

			if (2 * d[i].at <= h && made > g)
				g = made;
		}
		w->age2[w->slots++] = (unsigned)(h - 2 * g);
	}
}

/* Return 2 time(age <= a), exact for a whole a. */
static uint64_t
twin_time(const struct twin *w, uint64_t a)
{
	uint64_t time = 0;

	for (size_t i = 0; i < w->slots; i++)
		time += w->age2[i] < 2 * a;
	return time;
}

static bool
twin_agrees(const struct twin *w, const struct aom_figures *f)
{
	static const unsigned percent[] = { 50, 95, 99 };
	const uint64_t got[] = { f->p50_ns, f->p95_ns, f->p99_ns };
	uint64_t sum4 = 0, mean, a;

	for (size_t i = 0; i < w->slots; i++)
		sum4 += 2 * w->age2[i] + 1;	/* in quarters, in the middle */
	if (w->slots == 0)
		return f->time_ns == 0;
	mean = (sum4 + 2 * w->slots) / (4 * w->slots);
	if (f->time_ns * 2 != w->slots || f->mean_ns != mean)
		return false;
	for (int i = 0; i < 3; i++) {
		for (a = 0; twin_time(w, a) * 100 < percent[i] * w->slots; a++)
			;
		if (got[i] != a)
			return false;
	}
	return true;
}

static void
test_brute_force(void)
{
	struct rng g = rng_seed(7);
	struct aom a[MACHINES];
	const struct aom *set[MACHINES] = { &a[0], &a[1], &a[2] };
	struct delivery d[40];
	static struct twin w;
	struct aom_figures f;
	int bad = 0;

	for (int round = 0; round < 1000; round++) {
		const uint64_t end = 1 + rng_below(&g, SPAN);

		w.slots = 0;
		memset(a, 0, sizeof(a));
		for (int m = 0; m < MACHINES; m++) {
			const size_t n = 1 + rng_below(&g, 40);
			uint64_t t = 0;
			size_t k;

			for (k = 0; k < n && t <= end; k++) {
				d[k].at = t;
				d[k].made = rng_below(&g, t + 3);
				aom_deliver(&a[m], t, d[k].made);
				t += rng_below(&g, 20);
			}
			aom_end(&a[m], end);
			twin_add(&w, d, k, end);
		}
		aom_figures(set, MACHINES, &f);
		bad += !twin_agrees(&w, &f);
		for (int m = 0; m < MACHINES; m++)
			aom_free(&a[m]);
	}
	ok(bad == 0, "1000 random sets of three agree with brute force");
}

int
main(void)
{
	test_vectors();
	test_closed_forms();
	test_limits();
	test_brute_force();
	return tap_end();
}
