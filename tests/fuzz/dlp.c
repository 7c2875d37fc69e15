/*
 * Fuzz both sides of a DLP session.  Byte 0 has the settings, and byte 1 the
 * numbers of workers and iterations.  Then come packets: a byte for worker and
 * kind, and either a raw payload after its length, or state, node count, step
 * and the first parameter in a short form.  Answers also go to the side of a
 * worker.
 */
#include <stdlib.h>

#include "common/dlp/aggregator.h"
#include "common/dlp/worker.h"
#include "tests/fuzz/fuzz.h"

static uint64_t
sum_of(const struct dlp_aggregator *j, enum dlp_aggregator_count from,
    enum dlp_aggregator_count to)
{
	uint64_t sum = 0;

	for (int i = (int)from; i <= (int)to; i++)
		sum += j->n[i];
	return sum;
}

static void
check_job(const struct dlp_aggregator *j, const struct dlp_aggregator_out *out,
    uint64_t packets)
{
	must(j->state <= DLP_LEARNING, "a state of its own");
	must(j->session.nodes >= 1 && j->session.nodes <= DLP_NODES_MAX,
	    "1 to 32 workers");
	for (int i = 0; i < DLP_PARAMS; i++)
		must(j->session.param[i] > 0, "settings are positive");
	must(j->now.n <= j->session.nodes && j->before.n <= DLP_NODES_MAX,
	    "no more workers than it leads");
	must((j->state == DLP_LEARNING) == (j->now.n == j->session.nodes &&
	    j->state != DLP_WAITING), "LEARNING is when all are there");
	must(j->counted == 0 || (j->state == DLP_LEARNING &&
	    j->counted < j->session.nodes), "a step lacks someone");
	must(j->step == 0 || (j->state == DLP_LEARNING && j->step <
	    (uint32_t)j->session.param[DLP_ITERATIONS]),
	    "steps are below iterations");
	must(out->n <= j->session.nodes, "an answer each at most");
	must((dlp_aggregator_deadline_ns(j) != DLP_AGGREGATOR_NEVER) ==
	    (j->counted > 0 && j->cf.straggler_ns > 0),
	    "a step that has begun ends");
	must(sum_of(j, DLP_AGGREGATOR_RESET, DLP_AGGREGATOR_LONG) == packets,
	    "every packet is counted once");
}

/* Compute the last step again by counting the values below and above. */
static void
check_aggregate(const struct dlp_aggregator *j)
{
	const struct dlp_aggregator_kept *kept =
	    dlp_aggregator_find_step(j, j->done_step);
	const unsigned n = kept->n, all = j->session.nodes;
	uint64_t cut = 0;

	must(n >= 1 && n <= all, "a step has some");
	must(n == all || j->cf.straggler_ns > 0, "or all of them");
	for (uint32_t i = 0; i < j->elements; i++) {
		const int32_t *v = j->value[i], a = kept->value[i];
		unsigned below = 0, above = 0;
		int64_t sum = 0;

		for (unsigned k = 0; k < n; k++) {
			below += 2 * (int64_t)v[k] < a;
			above += 2 * (int64_t)v[k] > a;
			sum += v[k];
		}
		if (j->cf.median)
			must((below <= n / 2 || a == INT32_MIN) &&
			    (above <= n / 2 || a == INT32_MAX),
			    "half is below the median, half above");
		else
			must(n < all ? llabs((int64_t)n * a - all * sum) <= n ||
			    a == INT32_MAX || a == INT32_MIN :
			    a == dlp_saturate(sum, &cut), "the sum");
	}
}

/* Read the next packet of the input into q; return its bytes of input, or 0. */
static size_t
next(const uint8_t *p, size_t len, uint8_t q[DLP_BYTES_MAX], size_t *n,
    uint8_t *worker)
{
	struct dlp d = { 0 };

	if (len < 2)
		return 0;
	*worker = p[0] & 63;
	if ((p[0] & 64) != 0) {
		*n = (p[0] & 128) != 0 ? p[1] : DLP_BYTES;
		if (len < 2 + *n)
			return 0;
		memcpy(q, p + 2, *n);
		return 2 + *n;
	}
	if (len < 8)
		return 0;
	d.state = p[1];
	d.node_count = p[2];
	d.step = p[3];
	d.param[0] = (int32_t)bytes_get(p + 4, 4);
	d.param[5] = (p[0] & 128) != 0 ? ~d.param[0] : 0;
	d.more = d.state == DLP_LEARNING && d.node_count > 100 ?
	    d.node_count - 100 : 0;
	*n = dlp_put(q, &d);
	return 8;
}

/* A worker may receive any packet at any time. */
static void
hear(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	static const int32_t g[DLP_ELEMENTS_MAX] = { 1, -1 };
	uint8_t bytes[DLP_BYTES_MAX];

	dlp_ask_receive(a, d, now_ns);
	if (a->phase == DLP_ASK_OVER)
		dlp_ask_start(a, now_ns);
	else if (a->phase == DLP_ASK_READY)
		dlp_ask_send_gradient(a, g, 1 + (uint32_t)now_ns %
		    DLP_ELEMENTS_MAX, now_ns);
	if (dlp_ask_next(a, now_ns)) {
		dlp_put(bytes, &a->out);
		must(a->deadline_ns > now_ns && (a->deadline_ns - now_ns <=
		    dlp_ask_rtt.ceiling_ns || a->peer == DLP_ASK_OLD_SWITCH),
		    "it will be sent again");
	}
	must(dlp_ask_is_waiting(a), "it waits for something");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct dlp_aggregator_peer peer[64];
	struct dlp_ask ask = { 0 };
	struct dlp_aggregator_conf cf = { 0 };
	struct dlp_aggregator_out out;
	static struct dlp_aggregator j;
	struct dlp d;
	uint8_t q[DLP_BYTES_MAX], again[DLP_BYTES_MAX], *copy, worker = 0;
	uint64_t packets = 0, steps, now = 1;
	size_t n = 0, used;

	if (len < 2)
		return 0;
	cf.as = p[0] & 1 ? DLP_AGGREGATOR_SERVER : DLP_AGGREGATOR_SWITCH;
	cf.median = (p[0] & 2) != 0;
	cf.late = (p[0] & 4) != 0;
	cf.straggler_ns = (p[0] & 32) != 0 ? 50000000 : 0;
	ask.configures = (p[0] & 8) != 0;
	ask.resets = (p[0] & 16) != 0;
	cf.session.nodes = p[1] & 31;
	cf.session.param[DLP_ITERATIONS] = p[1] >> 5;
	dlp_aggregator_init(&j, &cf);
	dlp_ask_start(&ask, now);
	for (p += 2, len -= 2; (used = next(p, len, q, &n, &worker)) > 0;
	    p += used, len -= used) {
		peer[worker].at.in.sin_family = AF_INET;
		peer[worker].at.in.sin_port = worker;
		copy = fuzz_copy(q, n);
		steps = j.n[DLP_AGGREGATOR_STEPS];
		dlp_aggregator_run_timer(&j, now, &out);
		if (j.n[DLP_AGGREGATOR_STEPS] > steps)
			check_aggregate(&j);
		steps = j.n[DLP_AGGREGATOR_STEPS];
		dlp_aggregator_receive(&j, copy, n, &peer[worker], &out, now);
		if (dlp_parse(copy, n, &d) == DLP_OK) {
			must(dlp_put(again, &d) == n &&
			    memcmp(copy, again, n) == 0,
			    "parsed and put: the same bytes");
			hear(&ask, &d, now);
		}
		free(copy);
		check_job(&j, &out, ++packets);
		if (j.n[DLP_AGGREGATOR_STEPS] > steps)
			check_aggregate(&j);
		now += 1 + 999999 * (uint64_t)worker;
		if (out.n > 0)
			hear(&ask, &out.d, now);
	}
	return 0;
}
