/*
 * Unit tests of replay-buffer.h and replay-dump.h, compared with a plain twin.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "cmd/innet-memory/store/replay-dump.h"
#include "cmd/innet-memory/store/replay-buffer.h"

#include "tests/unit/innet-memory/replaytwin.h"
#include "tests/unit/tap.h"

enum { IDS = 1 << 15, BATCH = 1000 };

/* A buffer, its twin, and all ids and items that were ever in them. */
struct pair {
	struct replay_buffer b;
	struct twin *t;
	struct rng rng;
	uint64_t *id;		/* all ids so far */
	size_t ids;
	uintptr_t *log;		/* items that left, as in the twin */
	size_t logged;
	uintptr_t items;
	size_t draws, unlike;	/* samples predicted, and not, at a rescale */
	const char *wrong;	/* the first error, or NULL */
};

static void
note_error(struct pair *a, bool is, const char *what)
{
	if (is && a->wrong == NULL)
		a->wrong = what;
}

static void
log_dropped(void *arg, void *item)
{
	struct pair *a = arg;

	a->log[a->logged++] = (uintptr_t)item;
}

static float
priority(struct pair *a)
{
	switch (rng_below(&a->rng, 8)) {
	case 0: return 0;
	case 1: return (float)ldexp(1, (int)rng_below(&a->rng, 40) - 20);
	default: return (float)rng_double(&a->rng);
	}
}

/* Return an id, mostly a recent one, sometimes one that never existed. */
static uint64_t
random_id(struct pair *a)
{
	const size_t late = 3 * a->b.settings.capacity;

	if (a->ids == 0 || rng_below(&a->rng, 20) == 0)
		return rng_u64(&a->rng) >> rng_below(&a->rng, 64);
	return a->id[a->ids - 1 - rng_below(&a->rng, a->ids < late ||
	    rng_below(&a->rng, 10) == 0 ? a->ids : late)];
}

/* Predict the items that n inserts will evict. */
static size_t
predict_evicted(const struct pair *a, size_t n, uintptr_t *want)
{
	size_t m = 0;

	for (size_t i = 0; i < n && i < a->b.settings.capacity; i++) {
		want[m] = (uintptr_t)replay_buffer_next_evicted(&a->b, i);
		m += want[m] != 0;
	}
	return m;
}

static bool
came_true(const struct pair *a, size_t n, size_t had, const uintptr_t *want,
    size_t m)
{
	const size_t all = a->b.settings.capacity, own = n > all ? n - all : 0;

	return a->logged - had == m + own &&
	    memcmp(a->log + had, want, m * sizeof(*want)) == 0;
}

static void
op_add(struct pair *a)
{
	const size_t n = rng_below(&a->rng, rng_below(&a->rng, 4) == 0 ?
	    2 * a->b.settings.capacity + 2 : 4);
	float p[BATCH] = { 0 };
	void *item[BATCH] = { NULL };
	uint64_t id[BATCH];
	uintptr_t evicted[BATCH + 1];
	const size_t m = predict_evicted(a, n, evicted), had = a->logged;

	for (size_t i = 0; i < n; i++) {
		item[i] = (void *)++a->items;
		p[i] = rng_below(&a->rng, 4) == 0 ? -1 : priority(a);
	}
	replay_buffer_add_batch(&a->b, p, item, n, id);
	note_error(a, !came_true(a, n, had, evicted, m), "what inserts evict");
	for (size_t i = 0; i < n; i++) {
		note_error(a,
		    a->b.settings.selector != REPLAY_BUFFER_LIFO &&
			id[i] % ((uint64_t)1 << 32) !=
			    a->t->inserted % a->b.settings.capacity,
		    "the slot of a new item");
		twin_add(a->t, p[i], item[i], id[i]);
		a->id[a->ids++] = id[i];
	}
}

static void
op_update(struct pair *a)
{
	const size_t n = rng_below(&a->rng, 300);
	uint64_t id[300];
	float p[300];
	size_t want = 0;

	for (size_t i = 0; i < n; i++) {
		id[i] = random_id(a);
		p[i] = priority(a);
		want += twin_update(a->t, id[i], p[i]);
	}
	note_error(a, replay_buffer_update_priorities(&a->b, id, p, n) != want,
	    "the number of an update");
}

static void
op_remove(struct pair *a)
{
	const uint64_t id = random_id(a);

	note_error(a, replay_buffer_remove(&a->b, id) != twin_remove(a->t, id),
	    "a removal");
	note_error(a, replay_buffer_get_item(&a->b, id) != NULL,
	    "the removed is there");
}

/* Check the weights against the probabilities; the greatest is 1. */
static void
check_weights(struct pair *a, const struct replay_buffer_draw *d, size_t n,
    double beta)
{
	const bool per = a->b.settings.selector == REPLAY_BUFFER_PER;
	double least = 1, want;

	for (size_t i = 0; i < n; i++)
		least = d[i].prob < least ? d[i].prob : least;
	for (size_t i = 0; i < n; i++) {
		want = per ? pow(d[i].prob / least, -beta) : 1;
		note_error(a, fabs((double)d[i].weight - want) > 1e-6 * want,
		    "a weight");
	}
}

/* Copy the weights by slot and return their sum. */
static uint64_t
copy_leaves(const struct replay_buffer *b, uint32_t *leaf)
{
	const struct sumtree *t = b->settings.selector == REPLAY_BUFFER_PER ?
	    &b->per.tree : &b->ones;
	uint64_t sum = 0;

	for (size_t i = 0; i < b->settings.capacity; i++)
		sum += leaf[i] = sumtree_weight(t, i);
	return sum;
}

static void
op_sample(struct pair *a)
{
	const size_t n = rng_below(&a->rng, rng_below(&a->rng, 8) == 0 ?
	    BATCH : 10);
	const double beta = (double)rng_below(&a->rng, 5) / 4;
	struct replay_buffer_draw d[BATCH];
	uint32_t leaf[TWIN_CELLS], then[TWIN_CELLS];
	const uint64_t total = copy_leaves(&a->b, leaf);
	const int shift = a->b.per.shift;
	const size_t logged = a->logged;
	struct rng rng = a->rng;
	uint64_t id[BATCH];
	double chance[BATCH];
	struct cell *c;
	size_t got;

	memcpy(then, leaf, sizeof(then));
	got = replay_buffer_sample(&a->b, &a->rng, n, beta, false, d);
	check_weights(a, d, got, beta);
	for (size_t i = 0; i < got; i++) {
		c = twin_find(a->t, d[i].id);
		note_error(a, c == NULL || c->item != d[i].item,
		    "a drawn item");
		note_error(a,
		    a->b.settings.times == 0 &&
			a->b.settings.selector <= REPLAY_BUFFER_UNIFORM &&
			d[i].prob !=
			    (double)then[replay_buffer_id_slot(d[i].id)] /
				(double)total,
		    "a chance");
	}
	note_error(a, a->logged != logged, "dropped before retire");
	replay_buffer_drop_worn(&a->b);
	if (a->b.per.shift != shift) {
		a->unlike++;	/* during a rebuild: predict nothing */
		a->wrong = a->wrong == NULL ? "" : a->wrong;
		return;
	}
	note_error(a, twin_sample(a->t, rng, leaf, n, id, chance) != got,
	    "the number of draws");
	for (size_t i = 0; i < got; i++)
		note_error(a, d[i].id != id[i], "a draw");
	for (size_t i = 0; i < got; i++)
		note_error(a, fabs(d[i].prob - chance[i]) > 1e-12 * chance[i],
		    "a chance");
	a->draws += got > 0;
}

/* Dump, restore into another buffer, and continue with that one. */
static void
op_restore(struct pair *a)
{
	const struct replaydump_state s = replaydump_get_state(&a->b);
	struct replaydump_entry e[TWIN_CELLS];
	struct replay_buffer b;
	size_t n = 0, at = 0;

	while (replaydump_next(&a->b, &at, &e[n]))
		n++;
	if (!replay_buffer_open(&b, &a->b.settings, log_dropped, a) ||
	    !replaydump_resume(&b, &s) ||
	    replaydump_restore(&b, e, n) != n) {
		note_error(a, true, "a restore");
		return;
	}
	replaydump_finish(&b);
	a->b.drop = NULL;
	replay_buffer_close(&a->b);
	a->b = b;
}

/* Check items, their order, and the leaves of the tree. */
static void
check_items(struct pair *a)
{
	struct twin *t = a->t;
	struct replaydump_entry e = { 0 };
	uint32_t leaf[TWIN_CELLS];
	const uint64_t total = copy_leaves(&a->b, leaf);
	size_t at = 0, from;
	uint64_t sum = 0;

	for (size_t i = 0; i < t->cells; i++) {
		const struct cell *c = &t->cell[i];
		double want = 1, l;

		if (!c->live)
			continue;
		from = replaydump_seek(&a->b, c->id);
		note_error(a,
		    !replaydump_next(&a->b, &from, &e) || e.id != c->id,
		    "where an id is");
		note_error(a,
		    !replaydump_next(&a->b, &at, &e) || e.id != c->id ||
			e.priority != c->p || e.times != c->times ||
			e.item != c->item ||
			replay_buffer_get_item(&a->b, e.id) != c->item,
		    "an entry");
		l = leaf[replay_buffer_id_slot(c->id)];
		sum += leaf[replay_buffer_id_slot(c->id)];
		if (a->b.settings.selector == REPLAY_BUFFER_PER) {
			want = ldexp(pow((double)c->p, a->b.settings.alpha),
			    a->b.per.shift);
			want = c->p > 0 ? fmax(want, 1) : 0;
		}
		note_error(a, fabs(l - want) > 0.5000001, "a leaf");
	}
	note_error(a, replaydump_next(&a->b, &at, &e), "an entry too many");
	note_error(a, sum != total, "a leaf of a hole");
}

static void
check_state(struct pair *a)
{
	const struct replay_buffer *b = &a->b;
	const struct twin *t = a->t;

	note_error(a, !replay_buffer_counters_add_up(b), "what is conserved");
	note_error(a, b->have != twin_have(t) || b->inserted != t->inserted ||
	    b->sampled != t->sampled || b->updated != t->updated ||
	    b->stale != t->stale || b->evicted != t->evicted ||
	    b->removed != t->removed || b->worn != t->worn, "a counter");
	note_error(a, b->highest != t->highest, "the highest priority");
	note_error(a, a->logged != t->logged || memcmp(a->log, t->log,
	    a->logged * sizeof(*a->log)) != 0, "what was dropped when");
	check_items(a);
}

static int
by_number(const void *p, const void *q)
{
	const uint64_t x = *(const uint64_t *)p, y = *(const uint64_t *)q;

	return (x > y) - (x < y);
}

/* At the end all items are dropped, and no id was given twice. */
static void
check_end(struct pair *a)
{
	replay_buffer_close(&a->b);
	note_error(a, a->logged != a->items, "items not dropped in the end");
	qsort(a->id, a->ids, sizeof(*a->id), by_number);
	for (size_t i = 1; i < a->ids; i++)
		note_error(a, a->id[i] == a->id[i - 1], "an id given twice");
}

/* Run a random session; return the error, or NULL. */
static const char *
run_session(const struct replay_buffer_settings *settings, uint64_t seed,
    size_t *foretold)
{
	static struct pair a;
	static uint64_t id[IDS];
	static uintptr_t logged[TWIN_LOG];
	static struct twin t;
	const unsigned mix = (unsigned)(seed % 4);

	t = (struct twin){ .settings = *settings };
	a = (struct pair){ .t = &t, .rng = rng_seed(seed), .id = id,
	    .log = logged };
	if (!replay_buffer_open(&a.b, settings, log_dropped, &a))
		return "no memory";
	for (int i = 0; i < 400 && a.wrong == NULL &&
	    a.ids < IDS - BATCH; i++) {
		switch (rng_below(&a.rng, 10 + 4 * mix)) {
		case 0: case 1: case 2: op_add(&a); break;
		case 3: case 4: op_sample(&a); break;
		case 5: op_update(&a); break;
		case 6:
			if (rng_below(&a.rng, 8) == 0)
				op_restore(&a);
			break;
		case 7: case 8: case 9: op_remove(&a); break;
		default:
			if (mix == 1)
				op_remove(&a);
			else if (mix == 2)
				op_sample(&a);
			else
				op_add(&a);
		}
		if (a.wrong == NULL)
			check_state(&a);
	}
	check_end(&a);
	*foretold += a.draws;
	return a.wrong == NULL || *a.wrong == '\0' ? NULL : a.wrong;
}

/* Run sessions of many capacities and limits of samples. */
static void
run_sessions(enum replay_buffer_selector selector, const char *name)
{
	static const size_t capacity[] = { 1, 2, 3, 7, 16, 17, 64, 100, 300 };
	static const double alpha[] = { 1, 0.6, 0.5, 0 };
	const char *why = NULL;
	size_t foretold = 0;

	for (unsigned i = 0; i < 9 * 4 * 4 && why == NULL; i++) {
		const struct replay_buffer_settings settings = {
			.capacity = capacity[i / 16], .selector = selector,
			.alpha = alpha[i * 7 % 4], .times = i / 4 % 4,
		};

		why = run_session(&settings, i, &foretold);
		if (why != NULL)
			note("seed %u, capacity %zu, times %u: %s", i,
			    settings.capacity, settings.times, why);
	}
	ok(why == NULL, "%s agrees with its twin in random sessions", name);
	ok(foretold > 3000, "%s: %zu samples were predicted", name, foretold);
}

/*
 * With each item drawn once, the orders have the probabilities of draws without
 * replacement (Plackett and Luce).
 */
static bool
test_orders(void)
{
	const struct replay_buffer_settings settings = {
	    .capacity = 3, .alpha = 1, .times = 1};
	const float p[3] = { 1, 2, 5 };
	struct rng rng = rng_seed(5);
	struct replay_buffer_draw d[3];
	double seen[9] = { 0 }, chi = 0, want;
	const int n = 60000;
	struct replay_buffer b;

	if (!replay_buffer_open(&b, &settings, NULL, NULL))
		return false;
	for (int i = 0; i < n; i++) {
		replay_buffer_add_batch(&b, p, NULL, 3, NULL);
		if (replay_buffer_sample(&b, &rng, 3, 0.5, false, d) != 3)
			return false;
		seen[3 * replay_buffer_id_slot(d[0].id) +
		    replay_buffer_id_slot(d[1].id)]++;
	}
	replay_buffer_close(&b);
	for (int i = 0; i < 9; i++) {
		if (i / 3 == i % 3)
			continue;
		want = n * (double)p[i / 3] / 8 * (double)p[i % 3] /
		    (8 - (double)p[i / 3]);
		chi += (seen[i] - want) * (seen[i] - want) / want;
	}
	note("chi-squared %.2f of 5 degrees", chi);
	return chi < 20.5;	/* 1 in 1000 */
}

/* With strata each part of the ring gives its share of draws. */
static bool
test_strata(enum replay_buffer_selector selector, uint32_t times)
{
	const struct replay_buffer_settings settings = {
	    .capacity = 64, .alpha = 1, .selector = selector, .times = times};
	struct replay_buffer_draw d[32];
	struct rng rng = rng_seed(6);
	struct replay_buffer b;
	bool good = true;

	if (!replay_buffer_open(&b, &settings, NULL, NULL))
		return false;
	for (int i = 0; i < 64; i++)
		replay_buffer_add(&b, 1, NULL);
	good = replay_buffer_sample(&b, &rng, 32, 1, true, d) == 32;
	for (unsigned i = 0; i < 32; i++)
		good = good && replay_buffer_id_slot(d[i].id) / 2 == i;
	replay_buffer_close(&b);
	return good;
}

/* A caller can keep rows of its own by slot, without items. */
static bool
test_rows(void)
{
	const struct replay_buffer_settings settings = { .capacity = 10,
	    .selector = REPLAY_BUFFER_UNIFORM };
	struct replay_buffer_draw d[100];
	struct rng rng = rng_seed(7);
	struct replay_buffer b;
	uint64_t row[10], id;
	bool good = true;

	if (!replay_buffer_open(&b, &settings, NULL, NULL))
		return false;
	for (int i = 0; i < 1000; i++) {
		id = replay_buffer_add(&b, -1, NULL);
		row[replay_buffer_id_slot(id)] = id;
		good = good && replay_buffer_sample(&b, &rng, 100, 1, false,
		    d) == 100;
		for (int j = 0; j < 100; j++)
			good = good &&
			    row[replay_buffer_id_slot(d[j].id)] == d[j].id;
	}
	replay_buffer_close(&b);
	return good;
}

/* A slot is filled more than 2^31 times: generations wrap around. */
static void
test_generations(void)
{
	const struct replay_buffer_settings settings = { .capacity = 2 };
	const struct replaydump_state s = { .newest = (1u << 31) - 2,
	    .inserted = 7, .evicted = 7 };
	struct replay_buffer b;
	uint64_t id[6];
	bool good = true;

	if (!replay_buffer_open(&b, &settings, NULL, NULL))
		return;
	ok(replaydump_resume(&b, &s), "an empty table is restored");
	for (int i = 0; i < 6; i++)
		id[i] = replay_buffer_add(&b, 1, NULL);
	for (int i = 0; i < 6; i++)
		good = good && id[i] >> 63 == 0 &&
		    (replay_buffer_find_slot(&b, id[i]) != NULL) == (i >= 4);
	ok(replay_buffer_find_slot(&b, id[5] | (uint64_t)1 << 63) == NULL,
	    "no id has more than 63 bits");
	ok(good && id[0] >> 32 == (1u << 31) - 1 && id[2] >> 32 == 0 &&
	    b.newest == 1, "generations wrap within 31 bits");
	replay_buffer_close(&b);
}

/* Ids of a buffer that is no stack increase, also after it was restored. */
static void
test_id_order(void)
{
	const struct replay_buffer_settings settings = { .capacity = 8 };
	struct replaydump_state s;
	struct replaydump_entry e;
	struct replay_buffer b, c;
	uint64_t last = 0, id = 0;
	bool good = true;
	size_t at = 0;

	if (!replay_buffer_open(&b, &settings, NULL, NULL) ||
	    !replay_buffer_open(&c, &settings, NULL, NULL))
		return;
	for (int i = 0; i < 11; i++)
		last = replay_buffer_add(&b, 1, NULL);
	replay_buffer_remove(&b, last - 1);
	replay_buffer_remove(&b, (uint64_t)1 << 32 | 5);
	s = replaydump_get_state(&b);
	good = replaydump_resume(&c, &s);
	while (replaydump_next(&b, &at, &e))
		good = good && replaydump_restore(&c, &e, 1) == 1;
	replaydump_finish(&c);
	for (int i = 0; i < 30; i++, last = id) {
		id = replay_buffer_add(&c, 1, NULL);
		good =
		    good && id > last && id == replay_buffer_add(&b, 1, NULL);
	}
	ok(good && replay_buffer_counters_add_up(&c),
	    "ids increase after the table was restored");
	replay_buffer_close(&b);
	replay_buffer_close(&c);
}

/* An entry that no buffer can have had is not restored. */
static void
test_unsound(void)
{
	const struct replay_buffer_settings settings = {
	    .capacity = 4, .times = 3};
	struct replaydump_state s = { .newest = 5, .inserted = 9,
	    .evicted = 7, .highest = 2 };
	const struct replaydump_entry good = { .id = 5ull << 32 | 1,
	    .priority = 2, .times = 2 };
	struct replaydump_entry e[] = { good, good, good, good, good, good };
	struct replay_buffer b;

	if (!replay_buffer_open(&b, &settings, NULL, NULL))
		return;
	s.head = 4;
	ok(!replaydump_resume(&b, &s), "a head beyond the ring is refused");
	s.head = 2;
	ok(replaydump_resume(&b, &s), "a valid state is accepted");
	e[0].id++;
	e[2].id = 5ull << 32 | 4;
	e[3].times = 3;
	e[4].priority = NAN;
	e[5].priority = 2.5f;
	ok(replaydump_restore(&b, e, 2) == 2, "two valid entries are accepted");
	ok(replaydump_restore(&b, e + 1, 1) == 0,
	    "the same entry is not accepted twice");
	for (int i = 2; i < 6; i++) {
		if (i > 2)
			e[i].id = 5ull << 32 | 3;
		ok(replaydump_restore(&b, e + i, 1) == 0, "not a %s",
		    i == 2 ? "slot beyond the ring" : i == 3 ?
		    "worn-out item" : i == 4 ? "priority that is none" :
		    "priority above the highest");
	}
	ok(replay_buffer_counters_add_up(&b) && b.have == 2,
	    "all valid entries are there");
	replay_buffer_close(&b);
}

int
main(void)
{
	run_sessions(REPLAY_BUFFER_PER, "per");
	run_sessions(REPLAY_BUFFER_UNIFORM, "uniform");
	run_sessions(REPLAY_BUFFER_FIFO, "fifo");
	run_sessions(REPLAY_BUFFER_LIFO, "lifo");
	ok(test_orders(), "items that wear out are drawn without replacement");
	ok(test_strata(REPLAY_BUFFER_PER, 0) &&
		test_strata(REPLAY_BUFFER_UNIFORM, 0),
	    "per and uniform draw from strata");
	ok(test_strata(REPLAY_BUFFER_PER, 1) &&
		test_strata(REPLAY_BUFFER_UNIFORM, 1),
	    "per and uniform draw from strata also if items wear out");
	ok(test_rows(), "callers can keep their own rows");
	test_generations();
	test_id_order();
	test_unsound();
	return tap_end();
}
