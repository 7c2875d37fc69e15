/*
 * Test arrival processes: their means, their order, and the composition of
 * bursts.
 */
#include <math.h>

#include "common/traffic/arrivals.h"
#include "tests/unit/tap.h"

#define MS 1000000u

/* Return the mean gap over n updates in ns, or -1 if the order is wrong. */
static double
mean_gap(enum arrivals_kind kind, uint64_t jitter_ns, int n)
{
	const struct arrivals_conf cf = { .kind = kind, .burst = 8,
	    .jitter_ns = jitter_ns };
	struct arrivals a = arrivals_every((unsigned __int128)MS << 32);
	struct rng r = rng_seed(7);
	uint64_t first = arrivals_first(&cf, &a, &r), t = first, next;

	for (int i = 0; i < n; i++, t = next) {
		next = arrivals_next(&cf, &a, &r, t);
		if (next < t)
			return -1;
	}
	return (double)(t - first) / n;
}

static void
test_means(void)
{
	static const struct { enum arrivals_kind kind; const char *name;
		double within; } row[] = {
		{ ARRIVALS_PERIODIC, "periodic", 0 },
		{ ARRIVALS_POISSON, "poisson", 0.01 },
		{ ARRIVALS_ONOFF, "onoff", 0.03 },
		{ ARRIVALS_LOGNORMAL, "lognormal", 0.02 },
		{ ARRIVALS_BURSTS, "bursts", 0 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		double is = mean_gap(row[i].kind, 0, 200000);

		if (!ok(fabs(is / MS - 1) <= row[i].within,
		    "%s: the mean gap is the step", row[i].name))
			note("%g ns", is);
	}
	ok(fabs(mean_gap(ARRIVALS_PERIODIC, 3 * MS, 100000) / MS - 1) < 1e-4,
	    "jitter above the step never goes back in time and does not drift");
}

static void
test_firsts(void)
{
	struct arrivals_conf cf = { .aligned = true };
	struct arrivals a = arrivals_every((unsigned __int128)MS << 32);
	struct rng r = rng_seed(1);
	uint64_t most = 0, t;

	ok(arrivals_first(&cf, &a, &r) == 0, "aligned workers begin at 0");
	cf = (struct arrivals_conf){ .kind = ARRIVALS_BURSTS, .burst = 1 };
	for (int i = 0; i < 10000; i++) {
		t = arrivals_first(&cf, &a, &r);
		most = t > most ? t : most;
	}
	ok(most < 0.82 * MS && most > 0.81 * MS,
	    "bursts begin in the first 82 %% of their cycle");
	ok(arrivals_whole_ns(1e300) == 9000000000000000000 &&
	    arrivals_whole_ns(0.5) == 1, "times are rounded to the nearest ns "
	    "and do not overflow");
}

struct seen { uint32_t n, per[4], last[4]; bool rising; uint32_t stop; };

static bool
record_update(void *to, uint32_t k, uint32_t sequence)
{
	struct seen *s = to;

	s->rising = s->rising && sequence == s->last[k] + 1;
	s->last[k] = sequence;
	s->per[k]++;
	return ++s->n != s->stop;
}

static void
test_bursts(void)
{
	struct rng r = rng_seed(3);
	bool whole = true;

	for (int i = 0; i < 1000; i++) {
		struct seen s = { .rising = true };

		whole = arrivals_put_burst(&r, 4, 1, 5, record_update, &s) &&
			whole && s.n == 20 && s.rising && s.per[0] == 5 &&
			s.per[3] == 5;
	}
	ok(whole, "a burst has each update of every worker once and in order");
	ok(!arrivals_put_burst(
	       &r, 4, 1, 5, record_update, &(struct seen){.stop = 3}),
	    "the receiver of a burst can stop it");
}

static void
test_speeds(void)
{
	double v[100], sum = 0, least = 9, most = 0;
	struct rng r = rng_seed(5);

	arrivals_speeds(v, 100, 0.5, true, &r);
	for (int i = 0; i < 100; i++) {
		sum += v[i];
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	ok(fabs(sum - 100) < 1e-9 && least < 0.7 && most > 1.3,
	    "the speeds vary, and their sum is right");
}

int
main(void)
{
	test_means();
	test_firsts();
	test_bursts();
	test_speeds();
	return tap_end();
}
