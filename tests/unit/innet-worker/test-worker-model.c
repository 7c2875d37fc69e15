/*
 * Test a worker's copy of the model: ranges, versions, and models that it
 * refuses.
 */
#include "cmd/innet-worker/olaf-worker-model.h"
#include "tests/unit/tap.h"

enum { MOST = 12 };

/* Make range r of a model with the ranges of *m, all elements `value`. */
static struct update
make_packet(const struct worker_model *m, uint32_t r, uint32_t version,
    float value, uint8_t bytes[4 * MOST])
{
	struct update u = { .kind = UPDATE_MODEL, .sequence = version,
	    .merged = 1, .elements = m->elements, .vec = bytes,
	    .following = (uint16_t)(m->ranges - 1 - r) };

	u.n = worker_model_range(m, r, &u.first);
	for (uint32_t i = 0; i < u.n; i++)
		vec_set(bytes, i, value + (float)i);
	return u;
}

/*
 * Test all lengths of ranges of vectors up to MOST elements: ranges have no
 * gaps.
 */
static bool
test_cover(void)
{
	bool all = true;

	for (uint32_t e = 1; e <= MOST; e++) {
		for (uint32_t n = 1; n <= MOST + 1; n++) {
			uint32_t at = 0, first;
			struct worker_model m;

			all = all && worker_model_init(&m, e, n) &&
			    m.ranges == (e + m.n - 1) / m.n;
			for (uint32_t r = 0; r < m.ranges; r++) {
				uint32_t len =
				    worker_model_range(&m, r, &first);

				all = all && first == at && len > 0 &&
				    len <= n;
				at += len;
			}
			all = all && at == e;
			worker_model_free(&m);
		}
	}
	return all;
}

static void
test_versions(void)
{
	uint8_t b[4 * MOST];
	struct update u;
	struct worker_model m;

	worker_model_init(&m, 7, 3);
	ok(!worker_model_whole(&m) && worker_model_version(&m) == 0 &&
	    m.w[6] == 0,
	    "before the first packet a model is zero, has version 0 and is "
	    "incomplete");
	u = make_packet(&m, 2, 5, 50, b);
	ok(worker_model_take(&m, &u, 1000) && m.w[6] == 50 && m.w[5] == 0 &&
	    !worker_model_whole(&m), "the short last range can come first");
	u = make_packet(&m, 0, 4, 10, b);
	ok(worker_model_take(&m, &u, 1000) && m.w[0] == 10 && m.w[2] == 12 &&
	    !worker_model_whole(&m), "then the first range can come");
	u = make_packet(&m, 1, 6, 20, b);
	ok(worker_model_take(&m, &u, 1000) && m.w[3] == 20 && m.w[5] == 22 &&
	    worker_model_whole(&m),
	    "with the last missing range the model is complete");
	ok(worker_model_version(&m) == 4,
	    "the version of a model is the lowest version of its ranges");
	u = make_packet(&m, 0, 4, 99, b);
	ok(!worker_model_take(&m, &u, 1001) && m.w[0] == 10 && m.stale == 1,
	    "a range with the same version is stale");
	u = make_packet(&m, 0, 3, 99, b);
	ok(!worker_model_take(&m, &u, 1001) && m.stale == 2,
	    "a range with an older version is stale");
	u = make_packet(&m, 0, 9, 30, b);
	ok(worker_model_take(&m, &u, 1001) && m.w[0] == 30 &&
	    worker_model_version(&m) == 5,
	    "a range with a newer version is accepted, also after a gap");
	u = make_packet(&m, 0, 1, 40, b);
	ok(!worker_model_take(&m, &u, 1000 + WORKER_MODEL_RESTART_NS) &&
	    m.w[0] == 30,
	    "within a second of silence a lower version is stale");
	ok(worker_model_take(&m, &u, 1001 + WORKER_MODEL_RESTART_NS) &&
	    m.w[0] == 40 &&
	    worker_model_version(&m) == 1,
	    "after a second of silence a lower version means that the server "
	    "restarted");
	ok(m.taken == 5 && m.stale == 3, "both are counted");
	worker_model_free(&m);
	ok(m.w == NULL && !worker_model_whole(&m), "a freed model is empty");
}

static void
test_wrap(void)
{
	uint8_t b[4 * MOST];
	struct update u;
	struct worker_model m;

	worker_model_init(&m, 4, 2);
	u = make_packet(&m, 0, UINT32_MAX, 1, b);
	worker_model_take(&m, &u, 0);
	u = make_packet(&m, 1, 0, 1, b);
	worker_model_take(&m, &u, 0);
	ok(worker_model_version(&m) == UINT32_MAX,
	    "versions are compared as serial numbers");
	u = make_packet(&m, 0, 1, 5, b);
	ok(worker_model_take(&m, &u, 1) && m.w[0] == 5 &&
	    worker_model_version(&m) == 0,
	    "version 1 is newer than 4,294,967,295");
	worker_model_free(&m);
}

static void
test_unfit(void)
{
	uint8_t b[4 * MOST];
	struct update u, good;
	struct worker_model m;

	worker_model_init(&m, 7, 3);
	good = make_packet(&m, 1, 1, 1, b);
	u = good;
	u.elements = 8;
	ok(!worker_model_take(&m, &u, 0),
	    "a model of another length is refused");
	u = good;
	u.n = 2;
	ok(!worker_model_take(&m, &u, 0), "a range of another length is "
	    "refused");
	u = good;
	u.first = 4;
	ok(!worker_model_take(&m, &u, 0), "a range that begins elsewhere is "
	    "refused");
	u = good;
	u.first = 9;
	ok(!worker_model_take(&m, &u, 0), "a range beyond the end is refused");
	u = make_packet(&m, 2, 1, 1, b);
	u.n = 3;
	ok(!worker_model_take(&m, &u, 0), "a last range that is too long is "
	    "refused");
	ok(m.taken == 0 && m.stale == 0 && m.whole == 0 && m.w[3] == 0 &&
	    m.w[6] == 0, "a refused range changes nothing");
	worker_model_free(&m);
}

int
main(void)
{
	ok(test_cover(), "ranges of any length cover the vector without gaps");
	test_versions();
	test_wrap();
	test_unfit();
	return tap_end();
}
