/*
 * Test the server's rule: closed forms, a twin in doubles, and updates that it
 * refuses.
 */
#include <float.h>

#include "common/base/rng.h"
#include "common/olaf/server-rule.h"
#include "tests/unit/tap.h"

enum { E = 7, N = 3 };		/* ranges of 3, 3 and 1 */

static uint8_t bytes[4 * E];

/* Make range r of a vector of `elements` elements, n a packet, each x. */
static struct update
make_packet(uint32_t elements, uint32_t n, uint32_t r, float x, float reward)
{
	const uint32_t packets = update_packets(elements, n);
	struct update u = { .kind = UPDATE_UPDATE, .cluster = 4, .worker = 9,
	    .merged = 1, .generated_ns = 77, .reward = reward,
	    .elements = elements, .first = r * n, .vec = bytes,
	    .following = (uint16_t)(packets - 1 - r) };

	u.n = r + 1 < packets ? n : elements - u.first;
	for (uint32_t i = 0; i < u.n; i++)
		vec_set(bytes, i, x);
	return u;
}

static struct update
whole_vector(float x, float reward)
{
	return make_packet(2, 2, 0, x, reward);
}

/* Start a server with two weights, both w. */
static struct server_rule
start_rule(float w)
{
	const struct update u = whole_vector(w, 0);
	struct server_rule p = { 0 };

	if (!server_rule_take_weights(&p, &u))
		abort();
	return p;
}

static void
test_sgd(void)
{
	struct server_rule_conf cf = { .average_ema = 1, .rate = 0.25 };
	struct server_rule p = start_rule(3);
	struct update u = whole_vector(2, 0);

	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_APPLIED &&
	    p.w[0] == 3.5f &&
	    p.w[1] == 3.5f, "sgd adds rate times gradient to the weights");
	server_rule_free(&p);

	cf = (struct server_rule_conf){ .average_ema = 0.5, .rate = 1 };
	p = start_rule(0);
	u = whole_vector(1, 0);
	for (int k = 1; k <= 20; k++)
		server_rule_update(&cf, &p, &u);
	ok(p.g[0] == 1 - 0x1p-20f, "the average of a steady gradient is (1 - "
	    "2^-k) g");
	ok(p.w[1] == 20 - 1 + 0x1p-20f,
	    "the weights have the sum of the averages: k - 1 + 2^-k times g");
	server_rule_free(&p);

	cf.average_ema = 0.25;
	p = start_rule(0);
	u = whole_vector(16, 0);
	server_rule_update(&cf, &p, &u);
	u = whole_vector(0, 0);
	server_rule_update(&cf, &p, &u);
	ok(p.g[0] == 3 && p.w[0] == 7,
	    "a is the share of the newest gradient: a g, then (1 - a) a g");
	server_rule_free(&p);
}

/* Compute Adam as Kingma and Ba wrote it, all in doubles. */
static void
test_adam(double average)
{
	const struct server_rule_conf cf =
	    { .average_ema = average, .rate = 0.01,
	    .optimizer = SERVER_RULE_ADAM };
	double w = 0.5, g = 0, m = 0, v = 0, worst = 0;
	struct server_rule p = start_rule(0.5f);
	struct rng r = rng_seed(8);

	for (int t = 1; t <= 2000; t++) {
		float x = (float)rng_uniform(&r, -1, 2);
		struct update u = whole_vector(x, 0);

		server_rule_update(&cf, &p, &u);
		g += average * ((double)x - g);
		m = 0.9 * m + 0.1 * g;
		v = 0.999 * v + 0.001 * g * g;
		w += 0.01 * (m / (1 - pow(0.9, t))) /
		    (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
		worst = fmax(worst, fabs(w - (double)p.w[0]));
	}
	if (!ok(worst < 1e-4 && p.w[0] == p.w[1] && fabs(w) > 1,
	    "adam, average %g: 2,000 steps agree with a computation in doubles",
	    average))
		note("%g at %g", worst, w);
	server_rule_free(&p);
}

/* Offer rewards in a row; a string of y and n says which are accepted. */
static void
test_gate(
    const char *name, enum server_rule_gate kind, const char *want, float end)
{
	static const float reward[] = { 1, 1, 2, 0.5f, 1.5f, 2.5f, -4, -3 };
	const struct server_rule_conf cf = { .gate = kind, .gate_ema = 0.5,
	    .average_ema = 1, .rate = 1 };
	struct server_rule p = start_rule(0);
	bool same = true;
	int passed = 0;

	for (int i = 0; want[i] != '\0'; i++) {
		struct update u = whole_vector(1, reward[i]);
		enum server_rule_verdict v = server_rule_update(&cf, &p, &u);

		passed += want[i] == 'y';
		same = same && v == (want[i] == 'y' ? SERVER_RULE_APPLIED :
		    SERVER_RULE_GATED) && p.w[0] == (float)passed &&
		    p.range[0].version == 1 + (uint32_t)passed;
	}
	ok(same, "gate %s accepts %s, and a refused update changes no weight",
	    name, want);
	if (!ok(p.range[0].reward == (double)end, "the reward r_g ends at %g",
	    (double)end))
		note("%g", p.range[0].reward);
	server_rule_free(&p);
}

static void
test_initial_worker(void)
{
	const struct server_rule_conf cf = { .average_ema = 1, .rate = 1 };
	struct server_rule p = { 0 };
	struct update u = make_packet(E, N, 2, 30, 0);

	ok(!server_rule_is_ready(&p) && server_rule_update(&cf, &p,
	    &u) == SERVER_RULE_NO_MODEL,
	    "before the first weights no update is accepted");
	ok(!server_rule_take_weights(&p, &u) && !p.has_initial,
	    "the last packet of a vector does not show the length of a range, "
	    "so it is not accepted");
	u = make_packet(E, N, 1, 20, 0);
	ok(server_rule_take_weights(&p, &u) && p.initial_worker == 9 &&
		p.w[3] == 20 && p.w[5] == 20 && p.w[2] == 0 &&
		!server_rule_is_ready(&p),
	    "any other packet sets the length of a range, and its worker");
	u = make_packet(E, N, 0, 11, 0);
	u.worker = 8;
	ok(!server_rule_take_weights(&p, &u) && p.w[0] == 0,
	    "weights of another worker are not accepted, even for a free "
	    "range");
	u.worker = 9;
	ok(server_rule_take_weights(&p, &u) && p.w[0] == 11 && p.w[2] == 11,
	    "weights of the first worker are accepted");
	u = make_packet(E, N, 0, 99, 0);
	ok(!server_rule_take_weights(&p, &u) && p.w[0] == 11,
	    "weights of a range are accepted once");
	u = make_packet(E, N, 0, 1, 0);
	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_NO_MODEL &&
	    p.w[0] == 11,
	    "no update is accepted while a range is missing");
	u = make_packet(E, N, 2, 30, 0);
	ok(server_rule_take_weights(&p, &u) && server_rule_is_ready(&p) &&
		p.w[6] == 30,
	    "with the last range the model is complete");
	ok(!server_rule_take_weights(&p, &u),
	    "then no weights are accepted at all");
	server_rule_free(&p);
	ok(p.w == NULL && !server_rule_is_ready(&p),
	    "a freed model is empty");
	u = make_packet(1, 1, 0, 5, 0);
	ok(server_rule_take_weights(&p, &u) && server_rule_is_ready(&p) &&
		p.w[0] == 5,
	    "a vector of one element in one packet is a complete model");
	server_rule_free(&p);
}

static struct server_rule
start_three_ranges(void)
{
	struct server_rule p = { 0 };

	for (uint32_t r = 0; r < 3; r++) {
		const struct update u = make_packet(E, N, r, 0, 0);

		if (!server_rule_take_weights(&p, &u))
			abort();
	}
	return p;
}

static void
test_ranges(void)
{
	const struct server_rule_conf cf = { .average_ema = 1, .rate = 1 };
	struct server_rule p = start_three_ranges();
	struct update u = make_packet(E, N, 1, 2, 6), model;

	server_rule_update(&cf, &p, &u);
	server_rule_update(&cf, &p, &u);
	ok(p.w[2] == 0 && p.w[3] == 4 && p.w[5] == 4 && p.w[6] == 0,
	    "an update of a range changes only that range");
	ok(p.range[0].version == 1 && p.range[1].version == 3 &&
	    p.range[2].version == 1 &&
	    p.range[0].step == 0 && p.range[1].step == 2,
	    "an update counts only in the version and step of its range");
	server_rule_make_model(&p, &u, UPDATE_ALL_WORKERS, &model);
	ok(model.kind == UPDATE_MODEL && model.cluster == 4 &&
	    model.worker == UPDATE_ALL_WORKERS && model.sequence == 3 &&
	    model.following == 1 && model.elements == E && model.n == N &&
	    model.first == N && model.reward == 6,
	    "the answer has the range, its version and its reward r_g");

	u.elements = E + 1;
	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_MISMATCHED,
	    "an update of another length is refused");
	u = make_packet(E, N, 1, 2, 0);
	u.n = 2;
	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_MISMATCHED,
	    "an update with other ranges is refused");
	u = make_packet(E, 4, 1, 2, 0);
	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_MISMATCHED,
	    "an update with other ranges is refused even if it ends with the "
	    "vector");
	ok(p.w[3] == 4 && p.w[4] == 4 && p.range[1].version == 3,
	    "refused updates change nothing");
	server_rule_free(&p);
}

/* Does everything equal the state before u was refused? */
static bool
test_nonfinite(const struct server_rule_conf *cf, struct server_rule *p,
    const struct update *u)
{
	const size_t block = 4 * (size_t)p->elements * sizeof(float);
	const struct server_rule_range was = p->range[0];
	const uint32_t version = p->range[0].version, step = p->range[0].step;
	float *copy = malloc(block);
	bool same;

	memcpy(copy, p->w, block);
	same = server_rule_update(cf, p, u) == SERVER_RULE_NONFINITE &&
	    memcmp(copy, p->w, block) == 0 && p->range[0].version == version &&
	    p->range[0].step == step && p->range[0].rewarded == was.rewarded &&
	    p->range[0].reward == was.reward;
	free(copy);
	return same;
}

static void
test_refusal(const char *name, enum server_rule_optimizer optimizer, float much)
{
	const struct server_rule_conf cf = { .average_ema = 0.5, .rate = 2,
	    .optimizer = optimizer, .gate_ema = 0.5 };
	struct server_rule p = start_rule(FLT_MAX / 2);
	struct update u = whole_vector(1, 5);

	vec_set(bytes, 1, much);	/* only the last element is bad */
	ok(test_nonfinite(&cf, &p, &u),
	    "%s: a first update that is refused changes nothing, not even r_g",
	    name);
	u = whole_vector(1, 3);
	ok(server_rule_update(&cf, &p, &u) == SERVER_RULE_APPLIED &&
	    p.range[0].reward == 3,
	    "%s: the next update counts as the first", name);
	u = whole_vector(1, 1000);
	vec_set(bytes, 1, much);
	ok(test_nonfinite(&cf, &p, &u),
	    "%s: a later update that is refused changes nothing",
	    name);
	server_rule_free(&p);
}

int
main(void)
{
	test_sgd();
	test_adam(1);
	test_adam(0.5);
	test_gate("none", SERVER_RULE_NONE, "yyyyyyyy", -2.03125f);
	test_gate("ema", SERVER_RULE_EMA, "ynynyynn", -2.03125f);
	test_gate("last", SERVER_RULE_LAST, "ynynyyny", -3);
	test_gate("best", SERVER_RULE_BEST, "ynynnynn", 2.5f);
	test_initial_worker();
	test_ranges();
	test_refusal("sgd", SERVER_RULE_SGD, FLT_MAX);
	test_refusal("adam", SERVER_RULE_ADAM, 1e30f);
	return tap_end();
}
