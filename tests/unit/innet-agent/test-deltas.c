/*
 * Test the weights of an agent that sends deltas, after its worker has received
 * results (stream-child.c).
 */
#include <unistd.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/stream-child.h"
#include "tests/unit/tap.h"

enum { N = 2 };

struct answer {
	uint16_t flags;
	uint32_t elements, contributions;
	float v[N];
};

static const volatile sig_atomic_t never;

/*
 * The agent has weights 10 and 20 after a round of training that began with 9
 * and 18.  It gets these answers, and must continue with these weights.
 */
static void
test_answers(const struct answer *a, size_t n, float w0, float w1,
    const char *name)
{
	float base[N] = { 9, 18 }, w[N] = { 10, 20 }, delta[N] = { 1, 2 };
	struct learner l = { .kind = env_kinds[0], .algo = algo_all[0],
	    .params = N, .w = w };
	struct child c = { .timeout_ns = 5000000000, .stop = &never,
	    .params = N, .base = base };
	int to[2], from[2];

	if (pipe(to) == -1 || pipe(from) == -1)
		exit(1);
	c.in = to[0];
	c.out = from[1];
	for (size_t i = 0; i < n; i++)
		stream_write_all(to[1], &(struct stream_head){
		    .kind = STREAM_RESULT, .elements = a[i].elements,
		    .contributions = a[i].contributions, .flags = (uint16_t)
		    (a[i].flags | (i + 1 < n ? STREAM_MORE : 0)) }, a[i].v);
	ok(child_open(&c, &l) == OPTIMIZER_CONTINUE &&
		child_sink(&c).apply(&c, w, delta, 0) == OPTIMIZER_CONTINUE,
	    "%s: taken", name);
	ok(w[0] == w0 && w[1] == w1, "%s: %g and %g", name, (double)w[0],
	    (double)w[1]);
	child_close(&c, false);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(from[i]);
	}
}

int
main(void)
{
	const struct answer none = { 0 }, sum = { 0, N, 2, { 6, 8 } };
	const struct answer model = { STREAM_MODEL, N, 0, { 100, 200 } };

	test_answers((struct answer[]){ none }, 1, 10, 20, "nothing new");
	test_answers((struct answer[]){ sum }, 1, 12, 22, "a sum");
	test_answers((struct answer[]){ model }, 1, 100, 200, "a model");
	test_answers((struct answer[]){sum, none}, 2, 12, 22, "a sum, nothing");
	test_answers((struct answer[]){ sum, sum }, 2, 15, 26, "two sums");
	test_answers((struct answer[]){model, sum}, 2, 103, 204,
	    "a model, a sum");
	test_answers((struct answer[]){sum, model}, 2, 100, 200,
	    "a sum, a model");
	return tap_end();
}
