/*
 * Test draws from several shards (replay/shards.h), and keys in slots
 * (apex/key-slot.h).
 */
#include <math.h>
#include <string.h>

#include "common/replay/shards.h"
#include "cmd/innet-memory/store/replay-buffer.h"
#include "cmd/innet-agent/apex/key-slot.h"

#include "tests/unit/tap.h"

enum { SHARDS = 3, EACH = 40, BATCH = 100, ITEMS = SHARDS * EACH };

struct site {
	struct replay_buffer b[SHARDS];
	uint64_t id[ITEMS];
	double weigh[SHARDS];	/* weights at the last read */
	struct rng rng;
};

static void
read_weight(struct site *s, size_t k)
{
	int shift;
	const uint64_t sum = replay_buffer_draw_sum(&s->b[k], &shift);

	s->weigh[k] = shards_weight(sum, shift);
}

/*
 * Open shards whose priorities have different ranges, so each has its own
 * scale.
 */
static void
open_site(struct site *s, uint64_t seed)
{
	const struct replay_buffer_settings conf = {
	    .capacity = EACH, .alpha = 1};

	*s = (struct site){ .rng = rng_seed(seed) };
	for (size_t k = 0; k < SHARDS; k++) {
		replay_buffer_open(&s->b[k], &conf, NULL, NULL);
		for (size_t i = 0; i < EACH; i++) {
			const float p = (float)ldexp(1 + (double)(i % 7),
			    3 * (int)k);
			void *item = (void *)(k * EACH + i + 1);

			replay_buffer_add_batch(&s->b[k], &p, &item, 1,
			    &s->id[k * EACH + i]);
		}
		read_weight(s, k);
	}
}

static void
close_site(struct site *s)
{
	for (size_t k = 0; k < SHARDS; k++)
		replay_buffer_close(&s->b[k]);
}

/* Change one priority of some shard. */
static void
change_priority(struct site *s)
{
	const size_t at = rng_below(&s->rng, ITEMS);
	const float p = (float)(1 + rng_below(&s->rng, 300));

	replay_buffer_update_priorities(&s->b[at / EACH], &s->id[at], &p, 1);
}

/* Add the present probabilities over all shards. */
static void
add_chances(const struct site *s, double *due)
{
	double q[ITEMS], sum = 0;

	for (size_t i = 0; i < ITEMS; i++) {
		q[i] = (double)s->b[i / EACH].priority[i % EACH];
		sum += q[i];
	}
	for (size_t i = 0; i < ITEMS; i++)
		due[i] += BATCH * q[i] / sum;
}

/*
 * Draw by the sums of the last read.  Add 1 / P of each draw to *told and, by
 * item, to said; on average this is the number of items.
 */
static void
draw_union(struct site *s, double *hits, double *told)
{
	struct replay_buffer_draw d[BATCH];
	size_t share[SHARDS];
	double p[BATCH];
	size_t at = 0;

	shards_divide(s->weigh, SHARDS, BATCH, &s->rng, share);
	for (size_t k = 0; k < SHARDS; k++) {
		read_weight(s, k);	/* the weight before the draw */
		if (share[k] == 0)
			continue;
		replay_buffer_sample(&s->b[k], &s->rng, share[k], 1, false, d);
		for (size_t i = 0; i < share[k]; i++) {
			p[at + i] = d[i].prob;
			hits[(size_t)(uintptr_t)d[i].item - 1]++;
		}
		shards_chances(p + at, share[k], share[k], BATCH);
		at += share[k];
	}
	for (size_t i = 0; i < BATCH; i++)
		*told += 1 / (BATCH * p[i]);
}

/*
 * Return chi-squared of hits with ITEMS - 1 degrees of freedom, as its distance
 * from the mean in deviations.
 */
static double
chi_squared_excess(const double *hits, const double *due)
{
	double chi = 0;

	for (size_t i = 0; i < ITEMS; i++)
		chi += (hits[i] - due[i]) * (hits[i] - due[i]) / due[i];
	return (chi - (ITEMS - 1)) / sqrt(2 * (ITEMS - 1));
}

/*
 * Run rounds of draws.  In each round one priority changes, after the read of
 * the sums if `old` is set.  Return excess(), and the number of items that 1 /
 * P gives.
 */
static double
run_rounds(uint64_t seed, bool old, double *items)
{
	double hits[ITEMS] = { 0 }, due[ITEMS] = { 0 }, told = 0, got;
	const int n = 3000;
	struct site s;

	open_site(&s, seed);
	for (int i = 0; i < n; i++) {
		change_priority(&s);
		for (size_t k = 0; k < SHARDS && !old; k++)
			read_weight(&s, k);
		add_chances(&s, due);
		draw_union(&s, hits, &told);
	}
	got = chi_squared_excess(hits, due);
	*items = told / n;
	close_site(&s);
	note("seed %ju: %.2f deviations, %.2f items", (uintmax_t)seed, got,
	    *items);
	return got;
}

/* The weights are those of one table with all items. */
static bool
test_weights(double beta)
{
	double p[4] = { 0.5, 0.25, 0.2, 0.1 };
	float w[4];

	shards_chances(p, 2, 1, 4);
	shards_chances(p + 2, 2, 3, 4);
	/* 1/8, 1/16, 0.15 and 0.075 */
	shards_weights(p, 4, beta, w);
	for (int i = 0; i < 4; i++) {
		const double due = pow(0.0625 / p[i], beta);

		if (fabs((double)w[i] - due) > 1e-6)
			return false;
	}
	return w[1] == 1;
}

static bool
test_shares(double a, double b, double c, size_t n, const char *kind)
{
	const double weigh[SHARDS] = { a, b, c };
	size_t share[SHARDS];
	struct rng rng = rng_seed(5);
	bool good = true;

	for (int i = 0; i < 1000; i++) {
		shards_divide(weigh, SHARDS, n, &rng, share);
		good &= share[0] + share[1] + share[2] == n;
		for (size_t k = 0; k < SHARDS; k++)
			good &= kind[k] == 'x' || (share[k] == 0) ==
			    (kind[k] == '0');
	}
	return good;
}

/*
 * Names with the tags of all parts are in the slots of these parts, in order.
 */
static bool
test_tags(unsigned parts)
{
	char tag[KEYSLOT_TAG], name[64];
	unsigned last = 0;

	for (unsigned k = 0; k < parts; k++) {
		keyslot_tag(k, parts, tag);
		snprintf(name, sizeof(name), "innet:replay%s", tag);
		if (keyslot_of(name) < k * KEYSLOT_SLOTS / parts ||
		    (k > 0 && keyslot_of(name) <= last))
			return false;
		last = keyslot_of(name);
	}
	return last < KEYSLOT_SLOTS;
}

int
main(void)
{
	double items;

	ok(fabs(run_rounds(1, false, &items)) < 4,
	    "draws over three shards follow the priorities of all shards while "
	    "these change");
	ok(fabs(items - ITEMS) < 2, "the mean of 1 / P is the number of items");
	/* the sum of a shard is old by the change of one item */
	ok(fabs(run_rounds(2, true, &items)) < 4,
	    "draws by old sums follow the priorities too");
	ok(fabs(items - ITEMS) < 2, "the mean of 1 / P is right with old sums "
	    "too");
	ok(test_weights(0) && test_weights(0.4) && test_weights(1),
	    "weights are those of one table with all items");
	ok(test_shares(1, 2, 3, 64, "nnn") && test_shares(0, 2, 0, 64, "0n0") &&
		test_shares(1, 0, 1, 64, "n0n"),
	    "all draws are divided among the shards, and a shard without "
	    "weight gets none");
	ok(test_shares(0, 0, 0, 9, "n00"),
	    "if no shard has weight, the first gets all draws");
	ok(test_shares(1e-300, 1e300, 0, 9, "0n0"),
	    "the division works for sums of very different size");
	ok(shards_weight(3 << 20, 20) == 3 && shards_weight(3, -2) == 12,
	    "the weight of a shard is sum / 2^shift");
	ok(keyslot_of("123456789") == 0x31c3 && keyslot_of("foo") == 12182 &&
	    keyslot_of("x{foo}y") == 12182 && keyslot_of("{}foo") ==
	    keyslot_crc16("{}foo", 5) % KEYSLOT_SLOTS,
	    "slots equal those of Redis");
	ok(test_tags(1) && test_tags(2) && test_tags(3) && test_tags(64),
	    "each part of the slots has a tag");
	return tap_end();
}
