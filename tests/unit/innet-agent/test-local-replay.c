/*
 * Compare n-step sums with sums made by hand and by brute force; test the ring
 * of experiences and its draws.
 */
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/algo/local-replay.h"
#include "tests/unit/tap.h"

enum { STEPS = 2000, N_MAX = 7 };

static const struct env_result
	on = { 0 }, dead = { .terminated = true }, cut = { .truncated = true };

/*
 * Push a step whose observation and action are t; the next observation is t +
 * 1.
 */
static void
push_step(struct nstep *s, int t, double reward)
{
	nstep_push(s, &(float){ (float)t },
	    &(union env_action){ .index = (unsigned)t }, reward);
}

static bool
is_pulled(struct nstep *s, struct env_result end, int after, int from,
    float reward, float go)
{
	const float next = (float)after;
	struct experience e;

	return nstep_pull(s, end, &next, &e) && *e.obs == (float)from &&
	    e.action.index == (unsigned)from && *e.next == next &&
	    e.reward == reward && e.go == go;
}

/* Three rewards with gamma 1/2, so that every sum is exact. */
static void
test_by_hand(void)
{
	struct nstep s = nstep_open(3, 1, 0.5);
	struct experience e;
	const float seen = 0;

	push_step(&s, 0, 1);
	ok(!nstep_pull(&s, on, &seen, &e), "one reward gives no sum of three");
	push_step(&s, 1, 2);
	ok(!nstep_pull(&s, on, &seen, &e), "two rewards give no sum of three");
	push_step(&s, 2, 4);
	ok(is_pulled(&s, on, 3, 0, 3, 0.125f), "three rewards give 1 + 2/2 + "
	    "4/4, with discount 1/8");
	ok(!nstep_pull(&s, on, &seen, &e), "three rewards give only one sum");
	push_step(&s, 3, 8);
	ok(is_pulled(&s, cut, 4, 1, 6, 0.125f) &&
		is_pulled(&s, cut, 4, 2, 8, 0.25f) &&
		is_pulled(&s, cut, 4, 3, 8, 0.5f) &&
		!nstep_pull(&s, cut, &seen, &e),
	    "a time limit shortens sums, but the state after it still counts");
	push_step(&s, 5, 1);
	push_step(&s, 6, 1);
	ok(is_pulled(&s, dead, 7, 5, 1.5f, 0) &&
		is_pulled(&s, dead, 7, 6, 1, 0) &&
		!nstep_pull(&s, dead, &seen, &e),
	    "a sum does not cross the end of an episode");
	nstep_close(&s);
}

/* Sum a history of many episodes again from a record of all rewards. */
static bool
as_brute_force(size_t n, double gamma, uint64_t seed)
{
	struct nstep s = nstep_open(n, 1, gamma);
	struct rng rng = rng_seed(seed);
	static double reward[STEPS];
	static struct env_result end[STEPS];
	int due = 0;		/* the step whose experience comes next */
	bool good = true;

	for (int t = 0; t < STEPS; t++) {
		const uint64_t fate = rng_below(&rng, 12);
		const float next = (float)(t + 1);
		struct experience e;

		reward[t] = rng_uniform(&rng, -1, 1);
		end[t] = fate == 0 ? dead : fate == 1 ? cut : on;
		push_step(&s, t, reward[t]);
		for (; nstep_pull(&s, end[t], &next, &e); due++) {
			double sum = 0, go = 1;
			int k = due;

			for (bool last = false; !last; k++) {
				sum += go * reward[k];
				go *= gamma;
				last = end[k].terminated || end[k].truncated ||
				    k + 1 == due + (int)n;
			}
			if (end[k - 1].terminated)
				go = 0;
			good = good && *e.obs == (float)due &&
			    *e.next == (float)k &&
			    fabs(e.reward - sum) < 1e-6 &&
			    fabs(e.go - go) < 1e-6;
		}
	}
	nstep_close(&s);
	return good && due > STEPS - (int)n - 1;
}

static void
test_brute_force(void)
{
	bool good = true;

	for (size_t n = 1; n <= N_MAX; n++)
		good = good && as_brute_force(n, 0.9, n);
	ok(good, "sums of 1 to %d rewards equal the definition, one for each "
	    "step",
	    N_MAX);
}

/* Add an experience whose observations and action are i. */
static void
add_experience(struct local_replay *r, int i, float priority)
{
	const float f = (float)i;

	local_replay_add(r, &(struct experience){
	    .obs = (float[]){ f, f + 0.5f }, .next = (float[]){ f + 1, -f },
	    .reward = 2 * f, .action.index = (unsigned)i, .go = 3 * f },
	    priority);
}

enum { SIZE = 5, ADDED = 13, DRAWS = 50000 };

/* Count how often each was drawn; return false if one is not intact. */
static bool
count_drawn(const struct batch *b, int drawn[ADDED])
{
	bool whole = true;

	for (int i = 0; i < ADDED; i++)
		drawn[i] = 0;
	for (int i = 0; i < DRAWS; i++) {
		const struct rows *r = &b->rows;
		const float f = r->obs[2 * i];

		drawn[(int)f]++;
		whole = whole && r->obs[2 * i + 1] == f + 0.5f &&
		    r->next[2 * i] == f + 1 && r->next[2 * i + 1] == -f &&
		    r->reward[i] == 2 * f && r->go[i] == 3 * f &&
		    r->action[i].index == (unsigned)f &&
		    b->id[i] == (uint64_t)f;
	}
	return whole;
}

static void
test_ring(void)
{
	struct local_replay r = local_replay_open(SIZE, 2, DRAWS, -1);
	struct batch b = batch_open(DRAWS, 2);
	struct rng rng = rng_seed(1);
	int drawn[ADDED];
	bool fair = true;

	for (int i = 0; i < ADDED; i++)
		add_experience(&r, i, -1);
	local_replay_draw(&r, &rng, DRAWS, 0.5, &b);
	ok(count_drawn(&b, drawn), "the parts of a drawn experience belong "
	    "together");
	for (int i = 0; i < ADDED; i++)
		fair = fair && (i < ADDED - SIZE ? drawn[i] == 0 :
		    abs(drawn[i] - DRAWS / SIZE) < 400);
	ok(fair, "the last %d experiences are drawn equally often", SIZE);
	ok(b.weight[0] == 1 && b.weight[DRAWS - 1] == 1,
	    "uniform draws have equal weights");
	local_replay_close(&r);
	batch_close(&b);
}

/* Is each of the last SIZE drawn in proportion to its share of 15? */
static bool
has_shares(const int drawn[ADDED], const int share[SIZE])
{
	bool good = true;

	for (int i = 0; i < SIZE; i++)
		good = good && abs(drawn[ADDED - SIZE + i] - DRAWS *
		    share[i] / 15) < 400;
	if (!good)
		note("%d %d %d %d %d", drawn[8], drawn[9], drawn[10],
		    drawn[11], drawn[12]);
	return good;
}

static void
test_priorities(void)
{
	struct local_replay r = local_replay_open(SIZE, 2, DRAWS, 1);
	struct batch b = batch_open(DRAWS, 2);
	struct rng rng = rng_seed(2);
	int drawn[ADDED];

	for (int i = 0; i < ADDED; i++)
		add_experience(&r, i, (float)(i - 7 > 0 ? i - 7 : 9));
	local_replay_draw(&r, &rng, DRAWS, 1, &b);
	ok(count_drawn(&b, drawn) && has_shares(drawn, (int[]){1, 2, 3, 4, 5}),
	    "experiences are drawn in proportion to their priorities");
	for (int i = 0; i < DRAWS; i++)
		if (b.rows.obs[2 * i] == 11 && fabsf(b.weight[i] - 0.25f) >
		    1e-3f)
			drawn[11] = -1;
	ok(drawn[11] > 0, "an experience drawn 4 times as often has a quarter "
	    "of the weight");
	b.id[0] = 12;
	b.id[1] = 7;		/* was replaced by 12, so this must not affect
				 * 12 */
	b.id[2] = 8;
	b.priority[0] = 1;
	b.priority[1] = 99;
	b.priority[2] = 5;
	local_replay_set_priorities(&r, &b, 3);
	local_replay_draw(&r, &rng, DRAWS, 1, &b);
	count_drawn(&b, drawn);
	ok(has_shares(drawn, (int[]){ 5, 2, 3, 4, 1 }),
	    "new priorities change the draws, and priorities of replaced "
	    "experiences do nothing");
	local_replay_close(&r);
	r = local_replay_open(SIZE, 2, DRAWS, 1);
	add_experience(&r, 0, -1);
	add_experience(&r, 1, 4);
	add_experience(&r, 2, -1);
	ok(r.per.priority[0] == 1 && r.per.priority[2] == 4,
	    "a new experience has the highest priority so far");
	local_replay_close(&r);
	batch_close(&b);
}

int
main(void)
{
	test_by_hand();
	test_brute_force();
	test_ring();
	test_priorities();
	return tap_end();
}
