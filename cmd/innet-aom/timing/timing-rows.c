/* timing-rows.c - compute the figures of jobs, members and iterations */
#include "common/base/message.h"

#include "cmd/innet-aom/timing/timing-rows.h"

#include <inttypes.h>
#include <stdio.h>

enum figure {
	F_AT, F_JOB, F_MODE, F_MEMBERS, F_EXPECTED, F_SEGS, F_ITERATIONS,
	F_MEASURED, F_MEAN, F_P50, F_P95, F_P99, F_MAX, F_COMPUTE, F_SEND,
	F_WAIT, F_RECEIVE, F_SHARE, F_SLOWEST, F_SLOWEST_SHARE, F_SLOWEST_BY,
	F_STALENESS, F_STALEST, F_RESTARTS, F_WORKER, F_ADDRESS, F_AGGREGATION,
	F_ITERATION, F_START, F_TIME, F_CONTRIBUTORS, F_VECTORS, F_MISSING,
	F_MISSING_WORKERS, F_REPAIRED, F_REPAIR,
	F_COUNT		/* the values of enum job_count follow here */
};

#define N(what) (F_COUNT + (int)what)

#define PHASES \
	{ "compute_ns", "compute", FIGURES_NS, F_COMPUTE }, \
	{ "send_ns", "send", FIGURES_NS, F_SEND }, \
	{ "wait_ns", "wait", FIGURES_NS, F_WAIT }, \
	{ "receive_ns", "receive", FIGURES_NS, F_RECEIVE }

#define COUNTS \
	{ "segments", NULL, FIGURES_COUNT, N(JOB_SEGMENTS) }, \
	{ "retransmitted", "again", FIGURES_COUNT, N(JOB_RETRANSMITTED) }, \
	{ "results", NULL, FIGURES_COUNT, N(JOB_RESULTS) }, \
	{ "resent", NULL, FIGURES_COUNT, N(JOB_RESENT) }, \
	{ "helps", "helps", FIGURES_COUNT, N(JOB_HELPS) }, \
	{ "asked", NULL, FIGURES_COUNT, N(JOB_ASKED) }, \
	{ "probes", NULL, FIGURES_COUNT, N(JOB_PROBES) }, \
	{ "nacks", NULL, FIGURES_COUNT, N(JOB_NACKS) }, \
	{ "states", NULL, FIGURES_COUNT, N(JOB_STATES) }, \
	{ "notices", NULL, FIGURES_COUNT, N(JOB_NOTICES) }

#define MORE_COUNTS \
	{ "handovers", NULL, FIGURES_COUNT, N(JOB_HANDOVERS) }, \
	{ "late", NULL, FIGURES_COUNT, N(JOB_LATE) }, \
	{ "copies", NULL, FIGURES_COUNT, N(JOB_COPIES) }, \
	{ "mismatched", NULL, FIGURES_COUNT, N(JOB_MISMATCHED) }, \
	{ "bytes_up", NULL, FIGURES_COUNT, N(JOB_BYTES_UP) }, \
	{ "bytes_down", NULL, FIGURES_COUNT, N(JOB_BYTES_DOWN) }

static const struct figures_column jobs[] = {
	{ "switch", "switch", FIGURES_TEXT, F_AT },
	{ "job", "job", FIGURES_TEXT, F_JOB },
	{ "mode", NULL, FIGURES_TEXT, F_MODE },
	{ "members", "members", FIGURES_COUNT, F_MEMBERS },
	{ "h", NULL, FIGURES_COUNT, F_EXPECTED },
	{ "segments_each", NULL, FIGURES_COUNT, F_SEGS },
	{ "iterations", "iter.", FIGURES_COUNT, F_ITERATIONS },
	{ "measured", NULL, FIGURES_COUNT, F_MEASURED },
	{ "mean_iteration_ns", "mean", FIGURES_NS, F_MEAN },
	{ "p50_iteration_ns", "p50", FIGURES_NS, F_P50 },
	{ "p95_iteration_ns", "p95", FIGURES_NS, F_P95 },
	{ "p99_iteration_ns", "p99", FIGURES_NS, F_P99 },
	{ "max_iteration_ns", "max", FIGURES_NS, F_MAX },
	PHASES,
	{ "aggregation_ns", NULL, FIGURES_NS, F_AGGREGATION },
	{ "aggregation_percent", "aggr.%", FIGURES_REAL, F_SHARE },
	{ "slowest", "slowest", FIGURES_TEXT, F_SLOWEST },
	{ "slowest_percent", NULL, FIGURES_REAL, F_SLOWEST_SHARE },
	{ "slowest_by_ns", NULL, FIGURES_NS, F_SLOWEST_BY },
	{ "repaired", NULL, FIGURES_COUNT, F_REPAIRED },
	{ "repair_ns", "repair", FIGURES_NS, F_REPAIR },
	{ "mean_staleness", "staleness", FIGURES_REAL, F_STALENESS },
	{ "max_staleness", NULL, FIGURES_COUNT, F_STALEST },
	COUNTS, MORE_COUNTS,
	{ "restarts", NULL, FIGURES_COUNT, F_RESTARTS },
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

static const struct figures_column members[] = {
	{ "switch", NULL, FIGURES_TEXT, F_AT },
	{ "job", "job", FIGURES_TEXT, F_JOB },
	{ "worker", "worker", FIGURES_TEXT, F_WORKER },
	{ "address", "address", FIGURES_TEXT, F_ADDRESS },
	{ "iterations", "iter.", FIGURES_COUNT, F_ITERATIONS },
	{ "slowest", "slowest", FIGURES_COUNT, F_SLOWEST },
	PHASES,
	{ "aggregation_ns", NULL, FIGURES_NS, F_AGGREGATION },
	{ "aggregation_percent", "aggr.%", FIGURES_REAL, F_SHARE },
	{ "mean_staleness", "staleness", FIGURES_REAL, F_STALENESS },
	COUNTS, MORE_COUNTS,
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

static const struct figures_column iterations[] = {
	{ "switch", NULL, FIGURES_TEXT, F_AT },
	{ "job", "job", FIGURES_TEXT, F_JOB },
	{ "iteration", "iteration", FIGURES_COUNT, F_ITERATION },
	{ "start_ns", NULL, FIGURES_COUNT, F_START },
	{ "iteration_ns", "time", FIGURES_NS, F_TIME },
	{ "members", NULL, FIGURES_COUNT, F_MEMBERS },
	{ "contributors", NULL, FIGURES_COUNT, F_CONTRIBUTORS },
	{ "vectors", "vectors", FIGURES_COUNT, F_VECTORS },
	{ "missing", NULL, FIGURES_COUNT, F_MISSING },
	{ "slowest", "slowest", FIGURES_TEXT, F_SLOWEST },
	{ "slowest_by_ns", "by", FIGURES_NS, F_SLOWEST_BY },
	{ "repair_ns", "repair", FIGURES_NS, F_REPAIR },
	PHASES, COUNTS,
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

#define DLP_COUNTS \
	{ "vectors_seen", NULL, FIGURES_COUNT, N(JOB_SEGMENTS) }, \
	{ "timeouts", "timeouts", FIGURES_COUNT, N(JOB_RETRANSMITTED) }, \
	{ "results", NULL, FIGURES_COUNT, N(JOB_RESULTS) }, \
	{ "resent", NULL, FIGURES_COUNT, N(JOB_RESENT) }, \
	{ "late", "late", FIGURES_COUNT, N(JOB_LATE) }, \
	{ "polls", NULL, FIGURES_COUNT, N(JOB_POLLS) }, \
	{ "wrong_step", NULL, FIGURES_COUNT, N(JOB_WRONG_STEP) }, \
	{ "retries", NULL, FIGURES_COUNT, N(JOB_RETRIES) }

#define DLP_BYTES_BOTH \
	{ "copies", NULL, FIGURES_COUNT, N(JOB_COPIES) }, \
	{ "bytes_up", NULL, FIGURES_COUNT, N(JOB_BYTES_UP) }, \
	{ "bytes_down", NULL, FIGURES_COUNT, N(JOB_BYTES_DOWN) }

static const struct figures_column sessions[] = {
	{ "aggregator", "aggregator", FIGURES_TEXT, F_AT },
	{ "workers", "workers", FIGURES_COUNT, F_MEMBERS },
	{ "nodes", NULL, FIGURES_COUNT, F_EXPECTED },
	{ "restarts", NULL, FIGURES_COUNT, F_RESTARTS },
	{ "steps", "steps", FIGURES_COUNT, F_ITERATIONS },
	{ "measured", NULL, FIGURES_COUNT, F_MEASURED },
	{ "mean_step_ns", "mean", FIGURES_NS, F_MEAN },
	{ "p50_step_ns", "p50", FIGURES_NS, F_P50 },
	{ "p95_step_ns", "p95", FIGURES_NS, F_P95 },
	{ "p99_step_ns", "p99", FIGURES_NS, F_P99 },
	{ "max_step_ns", "max", FIGURES_NS, F_MAX },
	{ "compute_ns", "compute", FIGURES_NS, F_COMPUTE },
	{ "wait_ns", "wait", FIGURES_NS, F_WAIT },
	{ "wait_percent", "wait%", FIGURES_REAL, F_SHARE },
	{ "slowest", "slowest", FIGURES_TEXT, F_SLOWEST },
	{ "slowest_percent", NULL, FIGURES_REAL, F_SLOWEST_SHARE },
	{ "slowest_by_ns", NULL, FIGURES_NS, F_SLOWEST_BY },
	{ "repaired", NULL, FIGURES_COUNT, F_REPAIRED },
	{ "repair_ns", "repair", FIGURES_NS, F_REPAIR },
	{ "missing", "missing", FIGURES_COUNT, F_MISSING },
	DLP_COUNTS, DLP_BYTES_BOTH,
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

static const struct figures_column workers[] = {
	{ "aggregator", NULL, FIGURES_TEXT, F_AT },
	{ "worker", "worker", FIGURES_TEXT, F_WORKER },
	{ "address", "address", FIGURES_TEXT, F_ADDRESS },
	{ "steps", "steps", FIGURES_COUNT, F_ITERATIONS },
	{ "slowest", "slowest", FIGURES_COUNT, F_SLOWEST },
	{ "compute_ns", "compute", FIGURES_NS, F_COMPUTE },
	{ "wait_ns", "wait", FIGURES_NS, F_WAIT },
	{ "wait_percent", "wait%", FIGURES_REAL, F_SHARE },
	DLP_COUNTS, DLP_BYTES_BOTH,
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

static const struct figures_column steps[] = {
	{ "aggregator", NULL, FIGURES_TEXT, F_AT },
	{ "step", "step", FIGURES_COUNT, F_ITERATION },
	{ "start_ns", NULL, FIGURES_COUNT, F_START },
	{ "step_ns", "time", FIGURES_NS, F_TIME },
	{ "contributors", NULL, FIGURES_COUNT, F_CONTRIBUTORS },
	{ "vectors", "vectors", FIGURES_COUNT, F_VECTORS },
	{ "missing", "missing", FIGURES_COUNT, F_MISSING },
	{ "missing_workers", NULL, FIGURES_TEXT, F_MISSING_WORKERS },
	{ "slowest", "slowest", FIGURES_TEXT, F_SLOWEST },
	{ "slowest_by_ns", "by", FIGURES_NS, F_SLOWEST_BY },
	{ "repair_ns", "repair", FIGURES_NS, F_REPAIR },
	{ "compute_ns", "compute", FIGURES_NS, F_COMPUTE },
	{ "wait_ns", "wait", FIGURES_NS, F_WAIT },
	DLP_COUNTS,
	{ NULL, NULL, FIGURES_COUNT, 0 }
};

const struct figures_column *
timing_columns(enum timing_program program, enum timing_grouping by)
{
	static const struct figures_column *const all[2][3] = {
		[TIMING_ISWITCH] = { jobs, members, iterations },
		[TIMING_DLP] = { sessions, workers, steps }
	};

	return all[program][by];
}

static const struct figures_cell unknown = { .known = false };

static struct figures_cell
mean_cell(const struct stats_sum *s)
{
	return s->count == 0 ? unknown : figures_count(stats_sum_mean(s));
}

static struct figures_cell
real_cell(const struct stats_sum *s)
{
	return s->count == 0 ? unknown : figures_real((double)s->total /
	    (double)s->count);
}

/*
 * Return the percentage of an iteration that is spent on communication,
 * computed from mean times.
 */
static struct figures_cell
share_cell(const struct stats_sum *compute,
    const struct stats_sum *aggregation)
{
	double c, a;

	if (compute->count == 0 || aggregation->count == 0)
		return unknown;
	c = (double)compute->total / (double)compute->count;
	a = (double)aggregation->total / (double)aggregation->count;
	return c + a > 0 ? figures_real(100 * a / (c + a)) : unknown;
}

static struct figures_cell
number_cell(int64_t n)
{
	char s[24];

	if (n < 0)
		return unknown;
	snprintf(s, sizeof(s), "%" PRId64, n);
	return figures_text(s, false);
}

/*
 * Return the number of member m as text, or its address if the number is
 * unknown.
 */
static struct figures_cell
worker_cell(const struct job *j, int64_t m)
{
	char name[ADDR_NAME_BYTES];

	if (m < 0)
		return unknown;
	if (j->member[m].worker >= 0)
		return number_cell(j->member[m].worker);
	return figures_text(addr_print(&j->member[m].at, name), true);
}

static struct figures_cell
address_cell(const struct job *j)
{
	char name[ADDR_NAME_BYTES];

	if (j->at.sa.sa_family == AF_UNSPEC)
		return figures_text("all", true);
	return figures_text(addr_print(&j->at, name), true);
}

/* Return the member that was the slowest most often. */
static int64_t
find_slowest(const struct job *j)
{
	int64_t best = -1;

	for (uint32_t m = 0; m < j->members && j->member != NULL; m++)
		if (j->member[m].slowest > (best < 0 ? 0 :
		    j->member[best].slowest))
			best = m;
	return best;
}

static struct figures_cell
slowest_share(const struct job *j)
{
	const int64_t m = find_slowest(j);

	return m < 0 ? unknown : figures_real(100 *
	    (double)j->member[m].slowest / (double)j->slowest_by.count);
}

static struct figures_cell
mode_cell(const struct job *j)
{
	return j->mode == JOB_MODE_UNKNOWN ? unknown : figures_text(j->mode ==
	    JOB_ASYNC ? "async" : "sync", true);
}

/* Return percentile p of the job's iteration times, which must be sorted. */
static struct figures_cell
percentile_cell(const struct job *j, unsigned p)
{
	return j->iteration.all.count == 0 ? unknown :
	    figures_count(durations_sorted(&j->iteration, p));
}

static struct figures_cell
count_unless_0(uint64_t v)
{
	return v == 0 ? unknown : figures_count(v);
}

/*
 * Return whether the staleness is known.  With an asynchronous server, the
 * capture must have the pushes of all members.
 */
static bool
knows_staleness(const struct job *j)
{
	return !j->answers || (j->expected > 0 && j->members >= j->expected);
}

static struct figures_cell
job_cell(const struct job *j, int f)
{
	switch (f) {
	case F_AT: return address_cell(j);
	case F_JOB: return number_cell(j->number);
	case F_MODE: return mode_cell(j);
	case F_MEMBERS: return figures_count(j->members);
	case F_EXPECTED: return count_unless_0(j->expected);
	case F_SEGS: return count_unless_0(j->segs);
	case F_ITERATIONS: return figures_count(j->iterations);
	case F_MEASURED: return figures_count(j->iteration.all.count);
	case F_MEAN: return mean_cell(&j->iteration.all);
	case F_P50: return percentile_cell(j, 50);
	case F_P95: return percentile_cell(j, 95);
	case F_P99: return percentile_cell(j, 99);
	case F_MAX:
		return j->iteration.all.count == 0 ? unknown :
		    figures_count(j->iteration.longest_ns);
	case F_COMPUTE: return mean_cell(&j->phase[JOB_COMPUTE]);
	case F_SEND: return mean_cell(&j->phase[JOB_SEND]);
	case F_WAIT: return mean_cell(&j->phase[JOB_WAIT]);
	case F_RECEIVE: return mean_cell(&j->phase[JOB_RECEIVE]);
	case F_AGGREGATION: return mean_cell(&j->aggregation);
	case F_SHARE:
		return share_cell(&j->phase[JOB_COMPUTE], &j->aggregation);
	case F_SLOWEST: return worker_cell(j, find_slowest(j));
	case F_SLOWEST_SHARE: return slowest_share(j);
	case F_SLOWEST_BY: return mean_cell(&j->slowest_by);
	case F_REPAIRED:
		return j->mode == JOB_ASYNC ? unknown :
		    figures_count(j->repair.count);
	case F_REPAIR: return mean_cell(&j->repair);
	case F_STALENESS:
		return knows_staleness(j) ? real_cell(&j->staleness) : unknown;
	case F_STALEST:
		return j->staleness.count == 0 || !knows_staleness(j) ? unknown
		    : figures_count(j->stale_most);
	case F_RESTARTS: return figures_count(j->restarts);
	case F_MISSING: return figures_count(j->missing);
	default: return figures_count(j->n[f - F_COUNT]);
	}
}

static struct figures_cell
member_cell(const struct job *j, uint32_t k, int f)
{
	const struct job_member *m = &j->member[k];
	char name[ADDR_NAME_BYTES];

	switch (f) {
	case F_WORKER: return number_cell(m->worker);
	case F_ADDRESS: return figures_text(addr_print(&m->at, name), true);
	case F_ITERATIONS: return figures_count(m->iterations);
	case F_SLOWEST:
		return j->slowest_by.count == 0 ? unknown :
		    figures_count(m->slowest);
	case F_COMPUTE: return mean_cell(&m->phase[JOB_COMPUTE]);
	case F_SEND: return mean_cell(&m->phase[JOB_SEND]);
	case F_WAIT: return mean_cell(&m->phase[JOB_WAIT]);
	case F_RECEIVE: return mean_cell(&m->phase[JOB_RECEIVE]);
	case F_AGGREGATION: return mean_cell(&m->aggregation);
	case F_SHARE:
		return share_cell(&m->phase[JOB_COMPUTE], &m->aggregation);
	case F_STALENESS:
		return knows_staleness(j) ? real_cell(&m->staleness) : unknown;
	case F_AT:
	case F_JOB: return job_cell(j, f);
	default: return figures_count(m->n[f - F_COUNT]);
	}
}

/*
 * Return the members that have not sent in iteration c, if all members of the
 * job are known.
 */
static struct figures_cell
missing_workers(const struct job *j, const struct job_closed *c)
{
	char list[FIGURES_TEXT_BYTES] = "";
	size_t at = 0;

	if (j->expected == 0 || j->members != j->expected)
		return unknown;
	for (uint32_t m = 0; m < j->members && at < sizeof(list); m++) {
		const struct figures_cell who = worker_cell(j, m);

		if (!job_has_sent(j, m, c->iteration))
			at += (size_t)snprintf(list + at, sizeof(list) - at,
			    "%s%s", at == 0 ? "" : " ", who.text);
	}
	return figures_text(list, true);
}

/* Return whether figure f is known for an asynchronous round. */
static bool
is_of_round(int f)
{
	return f != F_CONTRIBUTORS && f != F_MISSING && (f < F_COUNT ||
	    f == N(JOB_RESULTS));
}

static struct figures_cell
iteration_cell(const struct job *j, const struct job_closed *c, int f)
{
	if (j->mode == JOB_ASYNC && !is_of_round(f))
		return unknown;
	switch (f) {
	case F_AT:
	case F_JOB: return job_cell(j, f);
	case F_ITERATION: return figures_count((uint64_t)c->iteration &
	    j->context->iterations_mask);
	case F_START: return figures_count(c->start_ns);
	case F_TIME: return c->whole ? figures_count(c->iteration_ns) : unknown;
	case F_MEMBERS: return figures_count(c->members);
	case F_CONTRIBUTORS: return figures_count(c->contributors);
	case F_VECTORS: return count_unless_0(c->vectors);
	case F_MISSING:
		return c->vectors == 0 || j->expected == 0 ? unknown :
		    figures_count(job_missing(j, c->vectors));
	case F_MISSING_WORKERS: return missing_workers(j, c);
	case F_SLOWEST: return worker_cell(j, c->slowest);
	case F_SLOWEST_BY:
		return c->slowest < 0 ? unknown :
		    figures_count(c->slowest_by_ns);
	case F_REPAIR:
		return c->repaired ? figures_count(c->repair_ns) : unknown;
	case F_COMPUTE: return mean_cell(&c->phase[JOB_COMPUTE]);
	case F_SEND: return mean_cell(&c->phase[JOB_SEND]);
	case F_WAIT: return mean_cell(&c->phase[JOB_WAIT]);
	case F_RECEIVE: return mean_cell(&c->phase[JOB_RECEIVE]);
	default: return figures_count(c->n[f - F_COUNT]);
	}
}

void
timing_job_row(struct figures *s, struct job *j)
{
	struct figures_cell cell[COLUMNS_MAX];

	durations_sort(&j->iteration);
	for (int i = 0; i < s->n; i++)
		cell[i] = job_cell(j, s->column[i].figure);
	figures_add_row(s, cell);
}

void
timing_member_rows(struct figures *s, const struct job *j)
{
	struct figures_cell cell[COLUMNS_MAX];

	for (uint32_t m = 0; m < j->members; m++) {
		for (int i = 0; i < s->n; i++)
			cell[i] = member_cell(j, m, s->column[i].figure);
		figures_add_row(s, cell);
	}
}

void
timing_iteration_row(struct figures *s, const struct job *j,
    const struct job_closed *c)
{
	struct figures_cell cell[COLUMNS_MAX];

	for (int i = 0; i < s->n; i++)
		cell[i] = iteration_cell(j, c, s->column[i].figure);
	figures_add_row(s, cell);
}

void
timing_add_job(struct job *all, const struct job *j)
{
	all->members += j->members;
	all->iterations += j->iterations;
	all->restarts += j->restarts;
	all->missing += j->missing;
	for (int i = 0; i < JOB_COUNTS; i++)
		all->n[i] += j->n[i];
	for (int i = 0; i < JOB_PHASES; i++)
		stats_sum_merge(&all->phase[i], &j->phase[i]);
	if (!durations_merge(&all->iteration, &j->iteration))
		err(1, "no memory for the durations of %zu iterations",
		    durations_kept(&j->iteration));
	stats_sum_merge(&all->aggregation, &j->aggregation);
	stats_sum_merge(&all->slowest_by, &j->slowest_by);
	stats_sum_merge(&all->repair, &j->repair);
	if (!knows_staleness(j))
		return;
	stats_sum_merge(&all->staleness, &j->staleness);
	if (j->stale_most > all->stale_most)
		all->stale_most = j->stale_most;
}
