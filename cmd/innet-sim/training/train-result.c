/* train-result.c - the figures of training jobs; see train-result.h */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "common/base/message.h"

#include "cmd/innet-sim/training/link-faults.h"
#include "cmd/innet-sim/training/train-dlp.h"
#include "cmd/innet-sim/training/train-result.h"

enum {
	ITERATIONS, GRADIENTS, DISCARDED, ITERATION, COMPUTE, AGGREGATION,
	NETWORK, UPDATE, P50, P99, MOST, LATENCY, DURATION, UPDATES, VECTORS,
	STALENESS, STALE0, STALE_MORE = STALE0 + TRAIN_STALE, PACKETS, LOST,
	HELPS, PARTIAL, LEFT_OUT, REPEATED
};

const struct result_figure train_figures[] = {
	[ITERATIONS] = { "iterations", "iterations", RESULT_COUNT },
	[GRADIENTS] = { "gradients", NULL, RESULT_COUNT },
	[DISCARDED] = { "discarded", NULL, RESULT_COUNT },
	[ITERATION] = { "iteration_ns", "iteration", RESULT_NS },
	[COMPUTE] = { "compute_ns", "compute", RESULT_NS },
	[AGGREGATION] = { "aggregation_ns", "aggreg.", RESULT_NS },
	[NETWORK] = { "network_ns", "network", RESULT_NS },
	[UPDATE] = { "update_ns", NULL, RESULT_NS },
	[P50] = { "p50_aggregation_ns", NULL, RESULT_NS },
	[P99] = { "p99_aggregation_ns", NULL, RESULT_NS },
	[MOST] = { "max_aggregation_ns", NULL, RESULT_NS },
	[LATENCY] = { "latency_ns", "latency", RESULT_NS },
	[DURATION] = { "duration_ns", "duration", RESULT_NS },
	[UPDATES] = { "updates_per_s", "updates/s", RESULT_INDEX },
	[VECTORS] = { "vectors_per_s", NULL, RESULT_INDEX },
	[STALENESS] = { "mean_staleness", "staleness", RESULT_INDEX },
	[STALE0] = { "staleness_0", NULL, RESULT_COUNT },
	{ "staleness_1", NULL, RESULT_COUNT },
	{ "staleness_2", NULL, RESULT_COUNT },
	{ "staleness_3", NULL, RESULT_COUNT },
	{ "staleness_4", NULL, RESULT_COUNT },
	{ "staleness_5", NULL, RESULT_COUNT },
	{ "staleness_6", NULL, RESULT_COUNT },
	{ "staleness_7", NULL, RESULT_COUNT },
	[STALE_MORE] = { "staleness_more", NULL, RESULT_COUNT },
	[PACKETS] = { "packets", NULL, RESULT_COUNT },
	[LOST] = { "lost", NULL, RESULT_COUNT },
	[HELPS] = { "helps", NULL, RESULT_COUNT },
	[PARTIAL] = { "partial_steps", NULL, RESULT_COUNT },
	[LEFT_OUT] = { "left_out", NULL, RESULT_COUNT },
	[REPEATED] = { "repeated", NULL, RESULT_COUNT },
	{ 0 }
};

_Static_assert(sizeof(train_figures) / sizeof(*train_figures) <=
    RESULT_FIGURES + 1, "room for the figures of a row");

static bool
report_bug(struct sim *s, const struct training *t, const char *what)
{
	if (s->wrong != NULL)
		sim_report_wrong(s, "account: %s", what);
	else
		warnx("%s: %s; this is a bug", training_name(t->cf), what);
	return false;
}

static uint64_t
count_losses(const struct training *t)
{
	uint64_t n = 0;

	for (int i = 0; i < SIM_LOSSES; i++)
		n += t->lost[i];
	return n;
}

/*
 * Have all workers ended?  If a worker still waits although no event is left,
 * print the result or step that it waits for, and return false.
 */
static bool
has_ended(const struct sim *s, const struct training *t)
{
	const struct train_worker *w = t->w;

	if (s->sc->duration_ns != SCENARIO_WORD1 || train_is_over(t))
		return true;
	while (w->phase == TRAIN_DONE)
		w++;
	if (t->cf->approach == TRAINING_RING)
		warnx("%s: this worker waits for step %" PRIu32 " of iteration "
		    "%" PRIu64 ", which was lost; a ring does not retransmit",
		    w->node->name, w->ring.step + 1, w->iterations + 1);
	else
		warnx("%s: this worker waits for the result of iteration "
		    "%" PRIu64 ", but no more packets arrive", w->node->name,
		    w->iterations + 1);
	return false;
}

/* Count the packets of the training job that are on their way. */
static uint64_t
count_flying(const struct sim *s, const struct training *t)
{
	const struct sim_node *first = t->sw, *last = t->host +
	    t->cf->workers;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].from >= first && s->pipe[i].from < last)
			n += s->pipe[i].ring.count;
	}
	return n + (s->link_faults != NULL ? s->link_faults->late.count : 0);
}

/*
 * Has every segment that arrived at the state machine been counted exactly
 * once?
 */
static bool
is_accounted_for(struct sim *s, const struct training *t,
    const struct sim_node *n)
{
	const struct train_switch *w = n->own;

	return w->plane == NULL || sim_plane_is_accounted_for(w->plane) ||
	    report_bug(s, t, "segments are not accounted for");
}

static const struct async_weights *
get_weights(const struct training *t, uint32_t i)
{
	return &t->w[i].a.m.weights;
}

/*
 * Do all workers have the same weights after the last round that all of them
 * have?
 */
static bool
have_equal_weights(struct sim *s, const struct training *t)
{
	int64_t round = INT64_MAX;
	uint32_t crc = 0, other;

	for (uint32_t i = 1; i < t->cf->workers && train_is_over(t); i++) {
		if (t->w[i].life.weights != t->w[0].life.weights)
			return report_bug(s, t,
			    "the workers have different weights");
	}
	if (t->cf->mode != TRAINING_ASYNC || t->server != NULL)
		return true;
	for (uint32_t i = 0; i < t->cf->workers; i++)
		round = get_weights(t, i)->t_s < round ? get_weights(t, i)->t_s
						       : round;
	if (round-- == 0 || !async_weights_crc(get_weights(t, 0), round, &crc))
		return true;
	for (uint32_t i = 1; i < t->cf->workers; i++) {
		if (async_weights_crc(get_weights(t, i), round, &other) &&
		    other != crc)
			return report_bug(s, t,
			    "the workers have different weights");
	}
	return true;
}

bool
train_is_sound(struct sim *s, struct training *t)
{
	bool whole = true;

	if (t->n[TRAIN_PUT] !=
	    t->n[TRAIN_CAME] + count_losses(t) + count_flying(s, t))
		whole = report_bug(s, t, "packets are not accounted for");
	if (t->n[TRAIN_WRONG] > 0)
		whole = report_bug(s, t, "sums do not contain the updates that "
		    "they name");
	for (const struct sim_node *n = t->sw; n < t->host; n++)
		whole = is_accounted_for(s, t, n) && whole;
	return have_equal_weights(s, t) && has_ended(s, t) && whole;
}

static double
mean_or_none(const struct durations *s)
{
	return s->all.count == 0 ? (double)NAN : (double)durations_mean(s);
}

static void
set_row(const struct sim *s, const struct training *t,
    struct result_row *row)
{
	const uint64_t end = train_is_over(t) ? t->end_ns : s->end_ns;
	const double span = end > t->began_ns ? (double)(end - t->began_ns) :
	    0;
	const bool any = t->aggregation.all.count > 0;
	double *v = row->v;

	v[ITERATIONS] = (double)t->updates;
	v[GRADIENTS] = (double)t->n[TRAIN_GRADIENTS];
	v[DISCARDED] = (double)t->n[TRAIN_DISCARDED];
	v[ITERATION] = mean_or_none(&t->iteration);
	if (t->cf->mode == TRAINING_ASYNC && t->server != NULL)
		v[ITERATION] /= (double)t->cf->workers;
	v[COMPUTE] = mean_or_none(&t->compute);
	v[AGGREGATION] = mean_or_none(&t->aggregation);
	v[NETWORK] = mean_or_none(&t->network);
	v[UPDATE] = (double)t->cf->update_ns;
	v[P50] = any ? (double)durations_percentile(&t->aggregation, 50) :
	    (double)NAN;
	v[P99] = any ? (double)durations_percentile(&t->aggregation, 99) :
	    (double)NAN;
	v[MOST] = any ? (double)t->most_ns : (double)NAN;
	v[LATENCY] = mean_or_none(&t->latency);
	v[DURATION] = span;
	v[UPDATES] = span > 0 ? (double)t->updates / span * 1e9 : 0;
	v[VECTORS] = span > 0 ? (double)(t->n[TRAIN_GRADIENTS] -
	    t->n[TRAIN_DISCARDED]) / span * 1e9 : 0;
	v[STALENESS] = t->stale_count == 0 ? (double)NAN :
	    (double)t->stale_sum / (double)t->stale_count;
	for (int i = 0; i <= TRAIN_STALE; i++)
		v[STALE0 + i] = (double)t->stale[i];
	v[PACKETS] = (double)t->n[TRAIN_PACKETS];
	v[LOST] = (double)count_losses(t);
	v[HELPS] = (double)t->n[TRAIN_HELPS];
	v[PARTIAL] = (double)train_dlp_partial(t);
	v[LEFT_OUT] = (double)train_dlp_left_out(t);
	v[REPEATED] = (double)train_dlp_repeated(t);
}

bool
train_result(struct sim *s, struct result_row *row)
{
	bool whole = true;

	for (uint32_t k = 0; k < s->trainings; k++) {
		set_row(s, &s->training[k], &row[k]);
		whole = train_is_sound(s, &s->training[k]) && whole;
	}
	return whole;
}
