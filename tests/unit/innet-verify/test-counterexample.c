/*
 * Test schedules that innet-verify plays: which updates are admitted, and which
 * updates miss each other.
 */
#include "cmd/innet-verify/counterexample.h"
#include "tests/unit/tap.h"

/* Two clusters every 100 ns, the second offset by 0 to 50, service 10. */
static const struct spec two = {
	.service_ns = 10, .slots = 1, .ack_ns = 5, .horizon_ns = 400, .n = 2,
	.cluster = {
		{ .id = 1, .period_ns = 100, .jitter_ns = 3, .control = {
			.kind = TXCTL_URGENT, .threshold_ns = 100 } },
		{ .id = 2, .period_ns = 100, .offset_hi_ns = 50 },
	}
};

/* Is the schedule admitted?  If not, is this the reason? */
static void
test_admission(struct planned_update *row, size_t n, const char *why,
    const char *name)
{
	struct schedule s = { row, n };
	struct played r;
	const bool is = counterexample_play(&two, 400, &s, &r);

	if (!ok(is == (why == NULL) && (is || strcmp(r.why, why) == 0), "%s",
	    name))
		note("%s", r.why == NULL ? "admitted" : r.why);
}

static void
test_admissions(void)
{
	struct planned_update row[] = {
		{ .c = 0, .k = 0, .at_ns = 0, .sent = true },
		{ .c = 1, .k = 0, .at_ns = 50, .sent = true },
		{ .c = 0, .k = 1, .at_ns = 103, .sent = false },
		{ .c = 0, .k = 2, .at_ns = 202, .sent = true },
	};

	test_admission(row, 4, NULL,
	    "a schedule within the offsets, jitters and control is admitted");
	row[3].sent = false;	/* 202 - 15 is past 1.5 thresholds */
	test_admission(row, 4, "an update is held back that must be sent",
	    "held back too long");
	row[3].sent = true;
	row[0].sent = false;
	test_admission(row, 4, "an update is held back that must be sent",
	    "held back without a status");
	row[0].sent = true;
	row[2].at_ns = 104;
	test_admission(row, 4,
	    "no single offset explains the updates of a cluster",
	    "later than the jitter");
	row[2].at_ns = 103;
	row[1].at_ns = 51;
	test_admission(row, 4,
	    "no single offset explains the updates of a cluster",
	    "beyond the offset");
}

/*
 * Both arrive at once, four times: the second is never served and never
 * compared.
 */
static void
test_objectives(void)
{
	static const struct { const char *text; bool missed; } is[] = {
		{ "no-loss", true }, { "peak<=400ns", false },
		{ "peak<=399ns", true }, { "fair<=0", true },
	};
	struct planned_update row[8];
	struct schedule s = { row, 8 };
	struct objective o;
	struct played r;

	for (size_t i = 0; i < 8; i++)
		row[i] = (struct planned_update){ .c = i % 2, .k = i / 2,
		    .at_ns = i / 2 * 100, .sent = true };
	ok(counterexample_play(&two, 400, &s, &r) && r.of[0].delivered == 4 &&
	    r.of[0].peaks == 3 && r.of[0].peak_sum_ns == 330 &&
	    r.of[0].max_age_ns == 110, "the ages of a cluster that is served "
	    "are right");
	ok(r.of[1].dropped == 4 && r.of[1].delivered == 0 &&
	    r.of[1].max_age_ns == 400, "the ages of a cluster that is never "
	    "served are right");
	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		ok(objective_read(is[i].text, &o) == NULL &&
			counterexample_violates(&two, &o, &r) == is[i].missed,
		    "%s is %s", is[i].text, is[i].missed ? "missed" : "met");
}

/* The averages of two clusters are 110 and 100, a difference of 1/11. */
static void
test_fairness(void)
{
	static const struct { const char *text; bool missed; } is[] = {
		{ "fair<=10ns", false }, { "fair<=9ns", true },
		{ "fair<=0.090909091", false }, { "fair<=0.090909090", true },
		{ "fair<=9.0909091%", false }, { "fair<=9%", true },
	};
	struct played r = { .of = { { .peaks = 3, .peak_sum_ns = 330 },
	    { .peaks = 7, .peak_sum_ns = 700 } } };
	struct objective o;

	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		ok(objective_read(is[i].text, &o) == NULL &&
			counterexample_violates(&two, &o, &r) == is[i].missed,
		    "%s is %s", is[i].text, is[i].missed ? "missed" : "met");
}

int
main(void)
{
	uint64_t payload, rate;

	test_admissions();
	test_objectives();
	test_fairness();
	ok(counterexample_link(2000000, &payload, &rate) && payload == 256 &&
	    rate == 1192000, "298 bytes at 1192 kbit/s take 2 ms");
	ok(!counterexample_link(3999999999u, &payload, &rate),
	    "no rate lets a frame take 3.999999999 s");
	return tap_end();
}
