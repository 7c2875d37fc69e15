/*
 * Test an asynchronous worker with a toy switch that loses, duplicates and
 * delays packets; compare its weights with plain sums, bit for bit.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/iswitch/async-weights.h"
#include "tests/unit/tap.h"

enum {
	ELEMENTS = 103, FLOATS = 10, SEGS = 11, WORKERS = 4, ROUNDS = 4000,
	FLIGHTS = 20000
};

/* A toy switch: H contributions complete a round, and all rounds are kept. */
struct toy {
	uint8_t *sum;			/* ROUNDS x ELEMENTS float32 */
	uint32_t round[SEGS], have[SEGS];
	uint32_t h, keep;
};

struct flight {
	uint64_t at_ns;
	uint32_t to, round, index;
};

struct net {
	struct toy toy;
	struct async_weights w[WORKERS];
	struct flight f[FLIGHTS];
	uint32_t flights;
	struct rng rng;
	double loss, dup, late;
	uint64_t now_ns;
	uint32_t gone;
};

static uint8_t *
sum_at(struct toy *t, uint32_t round, uint32_t i)
{
	return t->sum + 4 * ((size_t)round * ELEMENTS + (size_t)i * FLOATS);
}

/* Send a result of the toy to a worker, or lose it. */
static void
leave(struct net *n, uint32_t to, uint32_t round, uint32_t i)
{
	int copies = rng_double(&n->rng) < n->loss ? 0 : 1;

	copies += copies > 0 && rng_double(&n->rng) < n->dup;
	while (copies-- > 0 && n->flights < FLIGHTS) {
		uint64_t wait = 50000 + rng_below(&n->rng, 20000);

		if (rng_double(&n->rng) < n->late)
			wait += rng_below(&n->rng, 3000000);
		n->f[n->flights++] = (struct flight){ n->now_ns + wait, to,
		    round, i };
	}
}

/* Pass a contribution to segment i to the toy. */
static void
contribute(struct net *n, uint32_t i)
{
	struct toy *t = &n->toy;
	uint8_t *p = sum_at(t, t->round[i], i);

	if (t->round[i] == ROUNDS)
		return;
	for (uint32_t k = 0; k < seg_floats_at(ELEMENTS, FLOATS, i); k++)
		vec_set(p, k, vec_get(p, k) +
		    (float)rng_uniform(&n->rng, -1, 1));
	if (++t->have[i] < t->h)
		return;
	t->have[i] = 0;
	for (uint32_t w = 0; w < WORKERS; w++)
		leave(n, w, t->round[i], i);
	t->round[i]++;
}

static struct seg
result(struct net *n, uint32_t round, uint32_t i)
{
	return (struct seg){ .iteration = async_weights_wire(round), .index = i,
	    .contributions = (uint16_t)n->toy.h,
	    .vec = sum_at(&n->toy, round, i),
	    .n = seg_floats_at(ELEMENTS, FLOATS, i) };
}

/* Give each datagram that has arrived by now to its worker. */
static void
arrive(struct net *n)
{
	for (uint32_t k = 0; k < n->flights;) {
		struct flight f = n->f[k];
		struct seg g;

		if (f.at_ns > n->now_ns) {
			k++;
			continue;
		}
		n->f[k] = n->f[--n->flights];
		g = result(n, f.round, f.index);
		async_weights_receive_result(&n->w[f.to], &g, n->now_ns);
	}
}

/*
 * Every worker requests missing rounds; the toy answers, or says that they are
 * gone.
 */
static void
help(struct net *n)
{
	uint64_t word;

	for (uint32_t w = 0; w < WORKERS; w++) {
		while (async_weights_next_help(&n->w[w], n->now_ns, &word)) {
			struct seg g = seg_split(word);

			if (g.iteration + n->toy.keep <
			    n->toy.round[g.index])
				n->gone += async_weights_needs(&n->w[w], &g);
			else if (g.iteration < n->toy.round[g.index])
				leave(n, w, g.iteration, g.index);
		}
	}
}

static void
net_open(struct net *n, uint64_t seed, uint32_t h)
{
	uint8_t w[4 * ELEMENTS];

	memset(n, 0, sizeof(*n));
	n->rng = rng_seed(seed);
	n->now_ns = 1;
	n->toy = (struct toy){ .h = h, .keep = ROUNDS,
	    .sum = calloc(ROUNDS, 4 * ELEMENTS) };
	for (uint32_t i = 0; i < ELEMENTS; i++)
		vec_set(w, i, (float)rng_uniform(&n->rng, -1, 1));
	for (uint32_t k = 0; k < WORKERS; k++) {
		async_weights_init(&n->w[k], ELEMENTS, w, 0.01f, 0);
		async_weights_set_segments(&n->w[k], FLOATS);
		async_weights_enter_job(&n->w[k], 0, n->now_ns);
	}
}

static void
net_close(struct net *n)
{
	for (uint32_t k = 0; k < WORKERS; k++)
		async_weights_free(&n->w[k]);
	free(n->toy.sum);
}

/* Push until all rounds are complete, then wait until all workers have them. */
static bool
net_run(struct net *n, uint64_t limit_ns)
{
	bool done = false;

	while (!done && n->now_ns < limit_ns) {
		n->now_ns += 20000;
		if (n->now_ns % 60000 < 20000) {
			for (uint32_t i = 0; i < SEGS; i++) {
				if (rng_double(&n->rng) >= n->loss)
					contribute(n, i);
			}
		}
		arrive(n);
		help(n);
		done = true;
		for (uint32_t k = 0; k < WORKERS; k++)
			done = done && n->w[k].t_s == ROUNDS;
	}
	return done;
}

/* Apply the same rounds in order, element by element, with their CRCs. */
static bool
as_plain(struct net *n, const struct async_weights *a, uint8_t *w)
{
	const float q = 0.01f / (float)n->toy.h;
	uint32_t crc = 0, all;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		all = 0;
		for (uint32_t i = 0; i < SEGS; i++) {
			const uint32_t m = seg_floats_at(ELEMENTS, FLOATS, i);
			const uint8_t index[4] = { 0, 0, 0, (uint8_t)i };
			uint8_t *p = w + 4 * i * FLOATS;

			for (uint32_t k = 0; k < m; k++) {
				volatile float step = q *
				    vec_get(sum_at(&n->toy, r, i), k);

				vec_set(p, k, vec_get(p, k) - step);
			}
			all ^= crc32c_bitwise(crc32c_bitwise(0, index, 4), p,
			    4 * m);
		}
		if (async_weights_crc(a, r, &crc) && crc != all)
			return false;
	}
	return async_weights_crc(a, ROUNDS - 1, &crc) && crc == all &&
	    memcmp(a->w, w, 4 * ELEMENTS) == 0;
}

static void
one_run(uint64_t seed, double loss, double dup, double late)
{
	struct net *n = calloc(1, sizeof(*n));
	uint8_t w[4 * ELEMENTS];
	bool same = true, done, crcs = true;
	uint32_t a, b;

	net_open(n, seed, 1 + (uint32_t)(seed % 4));
	memcpy(w, n->w[0].w, sizeof(w));
	n->loss = loss;
	n->dup = dup;
	n->late = late;
	done = net_run(n, (uint64_t)60 * 1000000000);
	ok(done && as_plain(n, &n->w[0], w), "seed %d, H %u: with loss %g, "
	    "copies %g, late %g the weights equal the plain "
	    "sums", (int)seed, n->toy.h, loss, dup,
	    late);
	for (uint32_t k = 1; k < WORKERS; k++) {
		same = same && memcmp(n->w[k].w, n->w[0].w, sizeof(w)) == 0;
		for (int64_t r = 0; r < ROUNDS; r++)
			crcs = crcs && async_weights_crc(&n->w[k], r, &a) &&
			    async_weights_crc(&n->w[0], r, &b) && a == b;
	}
	ok(done && same && crcs, "all workers have equal weights at each "
	    "round");
	ok(n->w[0].early_bytes == 0 && n->w[0].helping == 0 &&
	    (loss > 0) == (n->w[0].helps > 0),
	    "no early round is left, and workers send Help if packets are "
	    "lost: %d",
	    (int)n->w[0].helps);
	net_close(n);
	free(n);
}

/*
 * Test a worker alone, with one element a segment and two segments; the test
 * makes the results.
 */
struct hand {
	struct async_weights a;
	uint8_t v[4];
	uint64_t now_ns;
};

static void
hand_open(struct hand *h, int64_t first)
{
	uint8_t w[8];

	vec_set(w, 0, 8);
	vec_set(w, 1, 8);
	vec_set(h->v, 0, 2);
	h->now_ns = 1000;
	async_weights_init(&h->a, 2, w, 0.5f, first);
	async_weights_set_segments(&h->a, 1);
	async_weights_enter_job(&h->a, async_weights_wire(first), h->now_ns);
}

static enum async_weights_verdict
give(struct hand *h, int64_t round, uint32_t i)
{
	const struct seg g = { .iteration = async_weights_wire(round),
	    .index = i,
	    .contributions = 2, .vec = h->v, .n = 1 };

	return async_weights_receive_result(&h->a, &g, h->now_ns);
}

static bool
asks(struct hand *h, int64_t round, uint32_t i)
{
	uint64_t word;
	struct seg g;

	if (!async_weights_next_help(&h->a, h->now_ns, &word))
		return false;
	g = seg_split(word);
	return g.iteration == async_weights_wire(round) && g.index == i;
}

static void
by_hand(void)
{
	struct hand h;
	uint64_t word;
	uint32_t crc;

	hand_open(&h, 0);
	ok(give(&h, 0, 0) == ASYNC_WEIGHTS_APPLIED &&
	    vec_get(h.a.w, 0) == 7.5f &&
	    h.a.t_s == 0 && h.a.most == 1 &&
	    async_weights_weights_crc(&h.a) == 0,
	    "a round of one segment adds gamma / contributions times the sum "
	    "to the weights");
	ok(give(&h, 0, 0) == ASYNC_WEIGHTS_DUPLICATE &&
	    vec_get(h.a.w, 0) == 7.5f,
	    "a copy of a result changes nothing");
	ok(!async_weights_next_help(&h.a, h.now_ns, &word),
	    "nothing needs to be requested yet");
	ok(give(&h, 2, 1) == ASYNC_WEIGHTS_EARLY && asks(&h, 0, 1) &&
	    !async_weights_next_help(&h.a, h.now_ns, &word),
	    "if round 2 arrives before 0, the worker requests 0 once, at once");
	ok(give(&h, 2, 1) == ASYNC_WEIGHTS_DUPLICATE,
	    "a copy of an early result changes nothing");
	ok(give(&h, 0, 1) == ASYNC_WEIGHTS_APPLIED && h.a.t_s == 1 &&
	    asks(&h, 1, 1), "when round 0 arrives, the worker requests 1");
	ok(async_weights_crc(&h.a, 0, &crc) &&
	    !async_weights_crc(&h.a, 1, &crc),
	    "round 0 has a CRC, and round 1 has none yet");
	h.now_ns = async_weights_deadline_ns(&h.a);
	ok(asks(&h, 1, 1), "without an answer the worker sends Help again");
	ok(give(&h, 1, 1) == ASYNC_WEIGHTS_APPLIED && h.a.seg[1].next == 3 &&
	    h.a.early_bytes == 0, "when round 1 arrives, the stored round 2 is "
	    "applied too");
	ok(give(&h, 400, 1) == ASYNC_WEIGHTS_AHEAD,
	    "round 400 is too far ahead");
	ok(give(&h, 0, 5) == ASYNC_WEIGHTS_BAD_INDEX,
	    "a segment beyond the end is refused");
	async_weights_free(&h.a);

	hand_open(&h, 0);
	give(&h, 0, 0);
	h.now_ns += ASYNC_WEIGHTS_QUIET_NS;
	ok(asks(&h, 0, 1), "after a silence the worker requests the segment "
	    "that is behind");
	give(&h, 0, 1);
	h.now_ns = async_weights_deadline_ns(&h.a);
	while (!async_weights_next_help(&h.a, h.now_ns, &word))
		h.now_ns = async_weights_deadline_ns(&h.a);
	ok(word == seg_word(1, 0, 0) && h.now_ns >= ASYNC_WEIGHTS_QUIET_MAX_NS,
	    "after a second of silence the worker requests the next round of "
	    "the first segment");
	vec_set(h.v, 0, 1.0f / 0.0f);
	ok(give(&h, 1, 0) == ASYNC_WEIGHTS_APPLIED &&
	    vec_get(h.a.w, 0) == 7.5f &&
	    h.a.nonfinite == 1, "a sum that is not finite changes nothing");
	async_weights_free(&h.a);
}

static void
wraps(void)
{
	const int64_t first = SEG_ITERATIONS - 3;
	struct hand h;
	bool good = true;

	hand_open(&h, first);
	for (int64_t r = first; r < first + 10; r += 2) {
		good = good && give(&h, r + 1, 1) == ASYNC_WEIGHTS_EARLY &&
		    give(&h, r, 0) == ASYNC_WEIGHTS_APPLIED &&
		    give(&h, r, 1) == ASYNC_WEIGHTS_APPLIED &&
		    give(&h, r + 1, 0) == ASYNC_WEIGHTS_APPLIED;
	}
	ok(good && h.a.t_s == first + 10, "rounds continue after 2^24");
	ok(give(&h, first, 0) == ASYNC_WEIGHTS_DUPLICATE,
	    "old rounds stay old after 2^24");
	async_weights_free(&h.a);
}

static void
rejoins(void)
{
	const struct seg gone = { .iteration = 1, .index = 0 };
	struct hand h;

	hand_open(&h, 0);
	for (int64_t r = 0; r < 2; r++) {
		give(&h, r, 0);
		give(&h, r, 1);
	}
	ok(!async_weights_enter_job(&h.a, 1, h.now_ns),
	    "a switch that is behind the worker has another job");
	ok(async_weights_enter_job(&h.a, 4, h.now_ns) && h.a.proving &&
	    give(&h, 2, 0) == ASYNC_WEIGHTS_UNPROVEN && asks(&h, 1, 0),
	    "a worker that joins again requests its last result");
	ok(async_weights_needs(&h.a, &gone), "if the switch has no such "
	    "result, the state is lost");
	ok(give(&h, 1, 0) == ASYNC_WEIGHTS_PROVEN && asks(&h, 2, 0) &&
	    asks(&h, 2, 1), "if the switch sends the result, the worker "
	    "requests the rounds that it missed");
	ok(give(&h, 2, 0) == ASYNC_WEIGHTS_APPLIED,
	    "then the worker accepts the next result");
	async_weights_enter_job(&h.a, 3, h.now_ns);
	vec_set(h.v, 0, 3);
	ok(give(&h, 2, 0) == ASYNC_WEIGHTS_OTHER,
	    "if the result differs, the switch has another job");
	async_weights_free(&h.a);
	hand_open(&h, 0);
	give(&h, 0, 1);
	ok(async_weights_enter_job(&h.a, 2, h.now_ns) &&
	    give(&h, 0, 0) == ASYNC_WEIGHTS_UNPROVEN && asks(&h, 0, 1) &&
	    give(&h, 0, 1) == ASYNC_WEIGHTS_PROVEN && asks(&h, 0, 0) &&
	    give(&h, 0, 0) == ASYNC_WEIGHTS_APPLIED,
	    "a worker without a result of segment 0 requests that of another "
	    "segment");
	async_weights_free(&h.a);
}

/* A late worker gets all rounds, unless it is too late. */
static void
late(void)
{
	struct net *n = calloc(1, sizeof(*n));
	uint8_t w[4 * ELEMENTS];
	bool done;

	net_open(n, 5, 2);
	memcpy(w, n->w[3].w, sizeof(w));
	async_weights_free(&n->w[3]);
	async_weights_init(&n->w[3], ELEMENTS, w, 0.01f, 0);
	n->loss = 0.02;
	net_run(n, 120000000);
	note("the others are at round %d", (int)n->w[0].t_s);
	async_weights_set_segments(&n->w[3], FLOATS);
	async_weights_enter_job(&n->w[3], n->toy.round[0] + 1, n->now_ns);
	done = net_run(n, (uint64_t)60 * 1000000000);
	ok(done && memcmp(n->w[3].w, n->w[0].w, sizeof(w)) == 0,
	    "a worker that joins late has the same weights in the end");
	net_close(n);
	net_open(n, 5, 2);
	n->toy.keep = 16;
	n->toy.round[0] = 100;
	async_weights_enter_job(&n->w[2], 100, n->now_ns);
	help(n);
	ok(n->gone == 1, "a worker that joins too late learns that its rounds "
	    "are gone");
	net_close(n);
	free(n);
}

/* Apply the next round to segment i of two workers that get the same sums. */
static void
apply_next(struct async_weights *a, uint32_t i, int64_t round)
{
	uint8_t vec[4 * FLOATS];
	struct seg g = { .iteration = (uint32_t)round, .index = i,
	    .contributions = 2, .vec = vec,
	    .n = (uint16_t)seg_floats_at(ELEMENTS, FLOATS, i) };

	for (uint32_t k = 0; k < g.n; k++)
		vec_set(vec, k, (float)(round + 1) * (float)(i + k + 1));
	async_weights_receive_result(a, &g, 0);
}

/*
 * A restarted rack loses a part of a push, so the first segments of the job are
 * a round ahead of the others from then on.  A worker can nevertheless send its
 * weights to another worker.
 */
static void
copies_uneven_weights(void)
{
	const uint8_t zeros[4 * ELEMENTS] = { 0 };
	struct async_weights a, b;
	uint8_t *copy = NULL;
	int64_t round = -1;
	bool uniform = false;

	async_weights_init(&a, ELEMENTS, zeros, 0.01f, 0);
	async_weights_init(&b, ELEMENTS, zeros, 0.01f, 0);
	async_weights_set_segments(&a, FLOATS);
	async_weights_set_segments(&b, FLOATS);
	apply_next(&a, 0, 0);
	for (int64_t t = 0; t < 5 && copy == NULL; t++) {
		for (uint32_t k = 0; k < SEGS && copy == NULL; k++) {
			apply_next(&a, k, k == 0 ? t + 1 : t);
			uniform |= async_weights_is_uniform(&a);
			copy = async_weights_take_copy(&a, &round);
		}
	}
	for (int64_t t = 0; t < round; t++) {
		for (uint32_t k = 0; k < SEGS; k++)
			apply_next(&b, k, t);
	}
	ok(copy != NULL && !uniform && round == a.t_s && round == a.most - 1,
	    "a worker whose segments always differ in their rounds makes a "
	    "copy");
	ok(copy != NULL && memcmp(copy, b.w, 4 * ELEMENTS) == 0,
	    "the copy has the weights of one round, bit for bit");
	free(copy);
	copy = async_weights_take_copy(&b, &round);
	ok(copy != NULL && round == b.t_s &&
	    memcmp(copy, b.w, 4 * ELEMENTS) == 0,
	    "a worker whose segments have the same round makes a copy at once");
	free(copy);
	b.proving = true;
	ok(async_weights_take_copy(&b, &round) == NULL,
	    "a worker that checks its job makes no copy");
	async_weights_take_copy(&a, &round);	/* freed with a */
	async_weights_free(&a);
	async_weights_free(&b);
}

/*
 * Seed 6000095413: a worker that knows that it is behind the job is asked for
 * its weights.  The job would refuse a worker that joins with its old weights.
 */
static void
copies_newest_weights(void)
{
	const uint8_t zeros[4 * ELEMENTS] = { 0 };
	struct async_weights a;
	uint8_t *copy;
	int64_t round = -1;

	async_weights_init(&a, ELEMENTS, zeros, 0.01f, 0);
	async_weights_set_segments(&a, FLOATS);
	for (uint32_t k = 0; k < SEGS; k++)
		apply_next(&a, k, 2);	/* an early result */
	ok(async_weights_is_behind(&a) &&
	    async_weights_take_copy(&a, &round) == NULL,
	    "a worker that is behind makes no copy of its old weights");
	for (int64_t t = 0; t < 2; t++) {
		for (uint32_t k = 0; k < SEGS; k++)
			apply_next(&a, k, t);
	}
	copy = async_weights_take_copy(&a, &round);
	ok(copy != NULL && round == 3 && a.t_s == 3,
	    "it makes the copy when it has the newest round that it knows of");
	free(copy);
	async_weights_note_known(&a, &a.seg[0], 4);
	copy = async_weights_take_copy(&a, &round);
	ok(copy != NULL && round == 3, "a worker that lacks only the newest "
	    "round makes the copy at once, because it may be halted");
	free(copy);
	async_weights_free(&a);
}

int
main(void)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		one_run(seed, 0, 0, 0);
		one_run(seed, 0.01, 0.01, 0.01);
		one_run(seed, 0.2, 0.1, 0.2);
	}
	by_hand();
	wraps();
	rejoins();
	late();
	copies_uneven_weights();
	copies_newest_weights();
	ok(async_weights_staleness(7, 4) == 3 &&
		async_weights_staleness(4, 4) == 0 &&
		async_weights_staleness(4, 5) == 0,
	    "staleness is the number of rounds since then");
	return tap_end();
}
