/*
 * Test a worker of an Olaf cluster: when it asks, what it sends and what it
 * returns.
 */
#include <assert.h>
#include <string.h>

#include "cmd/innet-worker/olaf-worker.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)
#define SECOND ((uint64_t)1000000000)

enum { ELEMENTS = 25, FLOATS = 10, RANGES = 3 };

static struct olaf_worker w;
static struct olaf_worker_out o;
static uint64_t now;

static void
start_worker(enum txctl_kind control)
{
	const struct olaf_worker_conf cf = { .cluster = 2, .number = 5,
	    .control = control, .threshold_ns = 400 * MS,
	    .give_up_ns = 3 * SECOND };

	olaf_worker_free(&w);
	olaf_worker_init(&w, &cf);
	assert(olaf_worker_size(&w, ELEMENTS, FLOATS));
	now = SECOND;
}

/* Receive a packet with range r of the model for that worker of cluster 2. */
static bool
model_comes(uint32_t r, uint32_t version, uint32_t worker)
{
	static const uint8_t vec[4 * FLOATS];
	struct update u = { .kind = UPDATE_MODEL, .cluster = 2, .merged = 1,
	    .worker = worker, .sequence = version, .elements = ELEMENTS,
	    .vec = vec, .status = { .filled = true, .active = 16,
	    .capacity = 4 } };

	u.n = worker_model_range(&w.model, r, &u.first);
	return olaf_worker_take(&w, &u, now);
}

/*
 * Return the ranges of the request that is sent now, as bits, or 0 if there is
 * none.
 */
static unsigned
ranges_sent(void)
{
	unsigned ranges = 0;
	struct update u;

	if (!olaf_worker_next(&w, now, &o) ||
	    o.head.kind != UPDATE_WEIGHTS)
		return 0;
	for (uint32_t r = 0; r < RANGES; r++)
		ranges |= olaf_worker_packet(&w, &o, r, &u) ? 1u << r : 0;
	return ranges;
}

static void
test_asks(void)
{
	start_worker(TXCTL_NONE);
	ok(ranges_sent() == 0 && olaf_worker_due(&w) == OLAF_WORKER_NEVER,
	    "a worker without weights does not request a model");
	olaf_worker_begin(&w, now);
	ok(ranges_sent() == 7 && ranges_sent() == 0 &&
		olaf_worker_due(&w) == now + 200 * MS,
	    "a worker with weights requests all ranges of a model");
	now += 200 * MS;
	model_comes(1, 1, 5);
	ok(ranges_sent() == 5, "after 200 ms it requests the ranges that are "
	    "missing");
	model_comes(0, 1, UPDATE_ALL_WORKERS);
	model_comes(2, 1, 5);
	now += 200 * MS;
	ok(ranges_sent() == 0 && olaf_worker_due(&w) == now + 800 * MS,
	    "with all ranges it requests nothing");
	now += 800 * MS - 1;
	model_comes(2, 1, 5);
	ok(olaf_worker_due(&w) == now + SECOND &&
	    w.n[OLAF_WORKER_STALE] == 1, "it requests nothing while models "
	    "arrive, even old ones");
	now += SECOND;
	ok(ranges_sent() == 7 && olaf_worker_due(&w) == now + SECOND,
	    "after a second without a model it requests all ranges");
}

static void
test_gives_up(void)
{
	char why[OLAF_WORKER_WHY_BYTES];

	start_worker(TXCTL_NONE);
	olaf_worker_begin(&w, now);
	while (!w.stuck && now < 10 * SECOND) {
		ranges_sent();
		now = w.stuck ? now : olaf_worker_due(&w);
	}
	ok(w.stuck && now == 4 * SECOND && ranges_sent() == 0 &&
	    olaf_worker_due(&w) == OLAF_WORKER_NEVER && strcmp(
	    olaf_worker_why(&w, why), "no model of cluster 2 arrived after 15 "
	    "tries in"
	    " 3.0 s") == 0, "%s", why);
}

/* Is a gradient with this sequence number sent? */
static bool
offer_gradient(uint32_t sequence, double draw)
{
	struct update u;

	return olaf_worker_offer(&w, 7, now, draw, &o) && o.all &&
	    o.head.kind == UPDATE_UPDATE && o.head.sequence == sequence &&
	    o.head.reward > 6 && o.head.cluster == 2 && o.head.worker == 5 &&
	    olaf_worker_packet(&w, &o, RANGES - 1, &u) && u.first == 20 &&
	    u.n == 5 && u.following == 0 && u.sequence == sequence;
}

static void
test_offers(void)
{
	start_worker(TXCTL_URGENT);
	olaf_worker_begin(&w, now);
	ok(!offer_gradient(1, 0) && w.n[OLAF_WORKER_WAITING] == 1,
	    "before the first model it sends no gradient");
	for (uint32_t r = 0; r < RANGES; r++)
		model_comes(r, 1, 5);
	ok(offer_gradient(2, 0.2) && !offer_gradient(3, 0.3) &&
	    w.n[OLAF_WORKER_SENT] == 1 && w.n[OLAF_WORKER_SUPPRESSED] == 1,
	    "then it sends by chance: 4 slots for 16 clusters give 1 of 4");
	now += 600 * MS;
	ok(offer_gradient(4, 0.74) && !offer_gradient(5, 0.76),
	    "200 ms past the threshold of 400 ms it sends 1 of 2 more");
}

static void
test_takes(void)
{
	struct update u = { .kind = UPDATE_MODEL, .cluster = 2, .worker = 5,
	    .elements = ELEMENTS };
	uint64_t ignored = 0;

	start_worker(TXCTL_NONE);
	olaf_worker_begin(&w, now);
	ignored += !model_comes(0, 1, 6);
	u.cluster = 3;
	ignored += !olaf_worker_take(&w, &u, now);
	u.cluster = 2;
	u.kind = UPDATE_UPDATE;
	ignored += !olaf_worker_take(&w, &u, now);
	u.kind = UPDATE_MODEL;
	u.elements++;
	ignored += !olaf_worker_take(&w, &u, now);
	ok(ignored == 4 && w.n[OLAF_WORKER_IGNORED] == 4 &&
	    w.n[OLAF_WORKER_MODELS] == 0, "packets for other workers and "
	    "clusters and of other kinds and lengths are ignored");
}

static void
test_results(void)
{
	struct stream_head h;

	start_worker(TXCTL_NONE);
	h = olaf_worker_result(&w, 0);
	ok(h.kind == STREAM_RESULT && h.flags == STREAM_MODEL &&
	    h.elements == 0 && h.contributions == 1,
	    "before the first model, the answer to a gradient is empty");
	for (uint32_t r = 0; r < RANGES; r++)
		model_comes(r, 4 + r, 5);
	h = olaf_worker_result(&w, 1);
	ok(h.elements == ELEMENTS && h.iteration == 4 && h.staleness == 3,
	    "then the answer is the model, with the iteration of its oldest "
	    "range");
	h = olaf_worker_result(&w, 4);
	ok(h.elements == 0 && h.iteration == 4 && h.staleness == 0,
	    "the model is returned once");
}

int
main(void)
{
	test_asks();
	test_gives_up();
	test_offers();
	test_takes();
	test_results();
	olaf_worker_free(&w);
	return tap_end();
}
