/* ledger.c - gradients whose sums can be checked; see ledger.h */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-sim/training/ledger.h"
#include "cmd/innet-sim/engine/sim.h"

struct ledger *
ledger_new(uint64_t seed, const struct ledger_options *cf)
{
	struct ledger *l = sim_alloc(1, sizeof(*l), "sums");

	*l = (struct ledger){ .seed = seed, .workers = cf->workers,
	    .segs = cf->segs, .async = cf->async,
	    .server = cf->async && cf->server,
	    .first = cf->first, .rounds = cf->async ? cf->rounds : 0,
	    .digit = !cf->async ? 2 : cf->racks || cf->server ?
	    LEDGER_DIGIT_MANY : cf->workers + 1 };
	l->entry = sim_alloc((size_t)l->rounds * cf->segs *
	    (l->server ? cf->workers : 1), sizeof(*l->entry), "sums");
	return l;
}

void
ledger_free(struct ledger *l)
{
	if (l != NULL)
		free(l->entry);
	free(l);
}

/* Return the 16-bit number that marks a segment of a worker. */
static uint32_t
make_number(const struct ledger *l, uint32_t worker, uint32_t iteration,
    uint32_t index)
{
	uint64_t x = l->seed ^ ((uint64_t)worker << 56 |
	    (uint64_t)iteration << 24 | index);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;	/* splitmix64 */
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(x >> 48);
}

/* Return the number that a gradient of this worker adds to the first float. */
static uint32_t
get_digit(const struct ledger *l, uint32_t worker)
{
	uint32_t d = 1;

	while (worker-- > 0)
		d *= l->digit;
	return d;
}

void
ledger_put(const struct ledger *l, uint32_t worker, uint32_t iteration,
    uint32_t index, uint8_t *vec)
{
	vec_set(vec, 0, (float)get_digit(l, worker));
	vec_set(vec, 1, (float)make_number(l, worker, iteration, index));
}

static bool
is_equal(float a, uint64_t b)
{
	return !(a < (float)b) && !(a > (float)b);
}

/*
 * Check a synchronous result, which must be the sum of the gradients of all
 * workers.
 */
static const char *
check_sync(const struct ledger *l, const struct seg *g)
{
	uint64_t what = 0;

	if (g->contributions != l->workers)
		return "a sum does not have one contribution for each worker";
	if (!is_equal(vec_get(g->vec, 0), get_digit(l, l->workers) - 1))
		return "a sum does not contain each worker once";
	for (uint32_t w = 0; w < l->workers; w++)
		what += make_number(l, w, g->iteration, g->index);
	return is_equal(vec_get(g->vec, 1), what) ? NULL :
	    "a sum contains gradients of another iteration";
}

/*
 * Return the entry of a round and segment.  With a server, each worker has its
 * own entries.
 */
static struct ledger_entry *
get_entry(const struct ledger *l, uint32_t worker, uint32_t round,
    uint32_t index)
{
	const size_t at = (l->server ? (size_t)worker * l->rounds : 0) + round;

	return &l->entry[at * l->segs + index];
}

/* Check an asynchronous result, which must be the same for all workers. */
static const char *
check_async(struct ledger *l, uint32_t worker, const struct seg *g)
{
	const uint32_t round = (g->iteration - l->first) &
	    (SEG_ITERATIONS - 1);
	struct ledger_entry *e;

	if (round >= l->rounds || l->restarted)
		return NULL;	/* only the first rounds are checked */
	e = get_entry(l, worker, round, g->index);
	if (e->contributions == 0)
		*e = (struct ledger_entry){ g->contributions,
		    vec_get(g->vec, 0), vec_get(g->vec, 1) };
	return e->contributions == g->contributions &&
	    !(e->who < vec_get(g->vec, 0)) && !(e->who > vec_get(g->vec, 0)) &&
	    !(e->what < vec_get(g->vec, 1)) &&
	    !(e->what > vec_get(g->vec, 1)) ? NULL :
	    "a round has different results";
}

const char *
ledger_check(struct ledger *l, uint32_t worker, const struct seg *g)
{
	l->results++;
	if (g->index >= l->segs || g->n != LEDGER_FLOATS ||
	    g->contributions == 0)
		return "a result has a segment that the vector does not have";
	return l->async ? check_async(l, worker, g) : check_sync(l, g);
}

/*
 * Check one round of a segment, whose sum must consist of the next pushes of
 * each worker.
 */
static const char *
check_entry(const struct ledger *l, const struct ledger_entry *e,
    uint32_t index, const uint32_t *pushes, uint32_t *next)
{
	uint32_t who = (uint32_t)e->who, given = 0;
	uint64_t what = 0;

	for (uint32_t w = 0; w < l->workers; w++) {
		for (uint32_t k = who % l->digit; k > 0; k--) {
			if (next[w] == pushes[w])
				return "a round has more pushes of a worker "
				    "than it sent";
			what += make_number(l, w, next[w]++, index);
			given++;
		}
		who /= l->digit;
	}
	if (given != e->contributions || who != 0)
		return "the number of contributions of a round is wrong";
	return is_equal(e->what, what) ? NULL :
	    "a round does not contain the next pushes";
}

/* Check all rounds of a segment that a switch has summed. */
static const char *
check_switch(const struct ledger *l, uint32_t index, const uint32_t *pushes)
{
	uint32_t next[LEDGER_WORKERS_ASYNC] = { 0 };
	const char *why = NULL;

	for (uint32_t r = 0; r < l->rounds && why == NULL; r++) {
		const struct ledger_entry *e = get_entry(l, 0, r, index);

		/* no worker has this result, or the result cannot be checked */
		if (e->contributions == 0 || (l->digit == LEDGER_DIGIT_MANY &&
		    e->contributions >= LEDGER_DIGIT_MANY))
			break;
		why = check_entry(l, e, index, pushes, next);
	}
	return why;
}

/* Check the sums of the first `answers` answers to a worker. */
static const char *
check_answer(const struct ledger *l, uint32_t worker, uint32_t answers,
    uint32_t index, const uint32_t *pushes, double who_sum, double what_sum)
{
	uint32_t who = (uint32_t)who_sum;
	uint64_t what = 0;

	for (uint32_t v = 0; v < l->workers; v++) {
		const uint32_t n = who % l->digit;

		if (n > pushes[v])
			return "an answer has more pushes of a worker than it "
			    "sent";
		if (v == worker && n != answers)
			return "an answer does not contain the worker's own "
			    "push";
		for (uint32_t k = 0; k < n; k++)
			what += make_number(l, v, k, index);
		who /= l->digit;
	}
	return what_sum < (double)what || what_sum > (double)what ?
	    "the answers do not contain the first pushes" : NULL;
}

/* Check all answers to a worker about a segment. */
static const char *
check_server(const struct ledger *l, uint32_t worker, uint32_t index,
    const uint32_t *pushes)
{
	const char *why = NULL;
	double who = 0, what = 0;

	for (uint32_t r = 0; r < l->rounds && why == NULL; r++) {
		const struct ledger_entry *e = get_entry(l, worker, r, index);

		if (e->contributions == 0)
			break;
		who += (double)e->who;
		what += (double)e->what;
		why = check_answer(l, worker, r + 1, index, pushes, who,
		    what);
	}
	return why;
}

const char *
ledger_check_rounds(const struct ledger *l, const uint32_t *pushes,
    uint32_t *segment)
{
	const char *why = NULL;

	for (uint32_t w = 0; l->server && w < l->workers; w++) {
		if (pushes[w] >= l->digit)
			return NULL;	/* the sum has more pushes than one
					 * digit can count */
	}
	for (uint32_t i = 0; i < l->segs && why == NULL; i++) {
		*segment = i;
		if (!l->server)
			why = check_switch(l, i, pushes);
		for (uint32_t w = 0; l->server && w < l->workers &&
		    why == NULL; w++)
			why = check_server(l, w, i, pushes);
	}
	return why;
}
