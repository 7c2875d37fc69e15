/* result.c - make the rows of a run; see result.h */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/nodes/node-switch.h"
#include "cmd/innet-sim/nodes/node-traffic.h"
#include "cmd/innet-sim/run/result.h"
#include "cmd/innet-sim/training/train-result.h"
#include "common/base/message.h"
#include "common/base/stats.h"
#include "common/queue/tally.h"

enum {
	GENERATED, SUPPRESSED, SENT, RECEIVED, MERGED, AGGREGATED, REPLACED,
	SUPERSEDED, DROPPED_FULL, DROPPED_REWARD, DROPPED_LIMIT, LOST_LINK,
	LOST_DOWN, LOST_QUEUE, QUEUED, DROPPED, LOSS, MODELS, MEAN, P50, P95,
	P99, MAX, MEAN_PEAK, MAX_PEAK, DELAY, JAIN, GOAL, TIMED_OUT,
	GATED
};

static const struct result_figure figures[] = {
	[GENERATED] = { "generated", NULL, RESULT_COUNT },
	[SUPPRESSED] = { "suppressed", NULL, RESULT_COUNT },
	[SENT] = { "sent", "sent", RESULT_COUNT },
	[RECEIVED] = { "received", "received", RESULT_COUNT },
	[MERGED] = { "merged", "merged", RESULT_COUNT },
	[AGGREGATED] = { "aggregated", NULL, RESULT_COUNT },
	[REPLACED] = { "replaced", NULL, RESULT_COUNT },
	[SUPERSEDED] = { "superseded", "supers.", RESULT_COUNT },
	[DROPPED_FULL] = { "dropped_full", NULL, RESULT_COUNT },
	[DROPPED_REWARD] = { "dropped_reward", NULL, RESULT_COUNT },
	[DROPPED_LIMIT] = { "dropped_limit", NULL, RESULT_COUNT },
	[LOST_LINK] = { "lost_link", NULL, RESULT_COUNT },
	[LOST_DOWN] = { "lost_down", NULL, RESULT_COUNT },
	[LOST_QUEUE] = { "lost_queue", NULL, RESULT_COUNT },
	[QUEUED] = { "queued", NULL, RESULT_COUNT },
	[DROPPED] = { "dropped", "dropped", RESULT_COUNT },
	[LOSS] = { "loss_percent", "loss%", RESULT_PERCENT },
	[MODELS] = { "models", NULL, RESULT_COUNT },
	[MEAN] = { "mean_age_ns", "mean", RESULT_NS },
	[P50] = { "p50_age_ns", NULL, RESULT_NS },
	[P95] = { "p95_age_ns", "p95", RESULT_NS },
	[P99] = { "p99_age_ns", NULL, RESULT_NS },
	[MAX] = { "max_age_ns", "max", RESULT_NS },
	[MEAN_PEAK] = { "mean_peak_age_ns", "mean peak", RESULT_NS },
	[MAX_PEAK] = { "max_peak_age_ns", NULL, RESULT_NS },
	[DELAY] = { "mean_delay_ns", "delay", RESULT_NS },
	[JAIN] = { "jain", "jain", RESULT_INDEX },
	[GOAL] = { "goal_ns", NULL, RESULT_NS },
	[TIMED_OUT] = { "timed_out", NULL, RESULT_COUNT },
	[GATED] = { "gated", NULL, RESULT_COUNT },
	{ 0 }
};

enum {
	S_ARRIVED, S_DELIVERED, S_AGGREGATED, S_REPLACED, S_SUPERSEDED,
	S_FULL, S_REWARD, S_LIMIT, S_QUEUED, S_FRAMES, S_WAIT, S_BUSY
};

static const struct result_figure switch_figures[] = {
	[S_ARRIVED] = { "arrived", "arrived", RESULT_COUNT },
	[S_DELIVERED] = { "delivered", "delivered", RESULT_COUNT },
	[S_AGGREGATED] = { "aggregated", "aggregated", RESULT_COUNT },
	[S_REPLACED] = { "replaced", NULL, RESULT_COUNT },
	[S_SUPERSEDED] = { "superseded", "supers.", RESULT_COUNT },
	[S_FULL] = { "dropped_full", "full", RESULT_COUNT },
	[S_REWARD] = { "dropped_reward", NULL, RESULT_COUNT },
	[S_LIMIT] = { "dropped_limit", NULL, RESULT_COUNT },
	[S_QUEUED] = { "queued", NULL, RESULT_COUNT },
	[S_FRAMES] = { "frames", "frames", RESULT_COUNT },
	[S_WAIT] = { "mean_wait_ns", "wait", RESULT_NS },
	[S_BUSY] = { "busy_percent", "busy%", RESULT_PERCENT },
	{ 0 }
};

_Static_assert(sizeof(figures) / sizeof(*figures) <= RESULT_FIGURES + 1,
    "room for the figures of a row");

/* Sums over one or several clusters. */
struct cluster_sums {
	uint64_t tally[TALLY_EVENTS];	/* number of constituents, summed over
					 * all switches */
	uint64_t count[SIM_COUNTS], lost[SIM_LOSSES], cleared, flying;
	unsigned __int128 delay_ns;
};

const struct result_figure *
result_figures(enum result_by by)
{
	return by == RESULT_TRAINING ? train_figures :
	    by == RESULT_TRAFFIC ? node_traffic_figures :
	    by == RESULT_SWITCH ? switch_figures : figures;
}

bool
result_has_figure(const struct scenario *sc, enum result_by by, int figure)
{
	const bool workers = by == RESULT_GROUP || by == RESULT_CLUSTER;
	bool has = false;

	if (!workers || (figure != TIMED_OUT && figure != GATED))
		return true;
	for (size_t i = 0; i < sc->workers.n; i++)
		has |= figure == TIMED_OUT && scenario_workers(sc)[i].wait_ns;
	for (size_t i = 0; i < sc->servers.n; i++)
		has |= figure == GATED && scenario_servers(sc)[i].gate !=
		    SERVER_RULE_NONE;
	return has;
}

/*
 * Count the clusters, and store their ids in `id` unless it is NULL.  Clusters
 * have the same order as in the engine: the order of their first groups.
 */
static size_t
count_clusters(const struct scenario *sc, uint16_t *id)
{
	bool *seen = calloc(65536, sizeof(*seen));
	size_t n = 0;

	if (seen == NULL)
		err(1, "clusters");
	for (size_t i = 0; i < sc->workers.n; i++) {
		const struct json_reader_range *r = &scenario_workers(sc)[i]
		    .clusters;

		for (uint64_t c = r->from; c <= r->to; c++) {
			if (seen[c])
				continue;
			if (id != NULL)
				id[n] = (uint16_t)c;
			n++;
			seen[c] = true;
		}
	}
	free(seen);
	return n;
}

static size_t
count_switches(const struct scenario *sc)
{
	size_t n = 0;

	for (size_t i = 0; i < sc->switches.n; i++)
		n += scenario_switches(sc)[i].count;
	return n;
}

size_t
result_rows(const struct scenario *sc, enum result_by by)
{
	return by == RESULT_TRAINING ? sc->trainings.n :
	    by == RESULT_SWITCH ? count_switches(sc) :
	    by == RESULT_TRAFFIC ? 1 + sc->traffic.n :
	    1 + (by == RESULT_GROUP ? sc->workers.n : count_clusters(sc, NULL));
}

static void
name_switch(const struct scenario *sc, size_t row, char *to, size_t bytes)
{
	for (size_t i = 0; i < sc->switches.n; i++) {
		const struct scenario_switch *w = &scenario_switches(sc)[i];

		if (row < w->count) {
			if (w->count == 1)
				snprintf(to, bytes, "%s", w->name);
			else
				snprintf(to, bytes, "%s.%zu", w->name, row);
			return;
		}
		row -= w->count;
	}
}

void
result_name(const struct scenario *sc, enum result_by by, size_t row,
    char *to, size_t bytes)
{
	const struct scenario_workers *groups = scenario_workers(sc);
	const struct scenario_workers *g = groups == NULL ? NULL : &groups[row];
	uint16_t *id;

	if (by == RESULT_TRAINING) {
		snprintf(to, bytes, "%s", training_name(
		    &scenario_trainings(sc)[row]));
	} else if (by == RESULT_SWITCH) {
		name_switch(sc, row, to, bytes);
	} else if (row + 1 == result_rows(sc, by)) {
		snprintf(to, bytes, "all");
	} else if (by == RESULT_TRAFFIC) {
		const struct scenario_traffic *t = &scenario_traffic(sc)[row];

		snprintf(to, bytes, "%s", t->name[0] != '\0' ? t->name :
		    t->at);
	} else if (by == RESULT_CLUSTER) {
		id = calloc(65536, sizeof(*id));
		if (id == NULL)
			err(1, "clusters");
		count_clusters(sc, id);
		snprintf(to, bytes, "%u", id[row]);
		free(id);
	} else if (g->name[0] != '\0') {
		snprintf(to, bytes, "%s", g->name);
	} else {
		snprintf(to, bytes, "%" PRIu64 "-%" PRIu64, g->clusters.from,
		    g->clusters.to);
	}
}

static void
add_tally(struct cluster_sums *f, const struct tally *t, uint64_t cluster)
{
	for (int w = 0; w < TALLY_EVENTS; w++)
		f->tally[w] += t->cluster[cluster].of[w].constituents;
}

/* Add the tallies of all switches to the sums of their clusters. */
static void
add_tallies(const struct sim *s, struct cluster_sums *sums)
{
	for (uint32_t i = 0; i < s->nodes; i++) {
		const struct sim_node *n = &s->node[i];
		const struct sim_port *port = n->own;

		for (size_t k = 0; n->kind == &node_switch_kind &&
		    n->cluster.cell != NULL && k <= n->cluster.mask; k++) {
			const struct hashmap_cell *c = &n->cluster.cell[k];

			if (c->used)
				add_tally(&sums[s->cluster_of[c->key]],
				    &port->egress->updates->tally,
				    (uint16_t)(c->key - n->first));
		}
	}
}

/* Add the constituents that are still on links at the end of the run. */
static void
add_flying(const struct sim *s, struct cluster_sums *sums)
{
	for (uint32_t i = 0; i < s->pipes; i++) {
		const struct sim_ring *r = &s->pipe[i].ring;

		for (uint32_t k = 0; k < r->count; k++) {
			const struct update *u = &r->item[(r->head + k) &
			    (r->room - 1)].p.up;

			if (u->kind == UPDATE_UPDATE)
				sums[s->cluster_of[u->cluster]].flying +=
				    u->merged;
		}
	}
}

/*
 * Check that every constituent that was sent arrived, was lost, or is on its
 * way.
 */
static bool
is_conserved(const struct sim *s, const struct cluster_sums *f)
{
	bool all = true;

	for (uint32_t i = 0; i < s->clusters; i++) {
		uint64_t out = f[i].count[SIM_MERGED] + f[i].flying -
		    f[i].cleared + f[i].tally[TALLY_SUPERSEDED] +
		    f[i].tally[TALLY_DROPPED_FULL] +
		    f[i].tally[TALLY_DROPPED_REWARD] +
		    f[i].tally[TALLY_DROPPED_LIMIT] +
		    f[i].tally[TALLY_QUEUED];

		for (int k = 0; k < SIM_LOSSES; k++)
			out += f[i].lost[k];
		if (out == f[i].count[SIM_SENT])
			continue;
		if (all)
			warnx("cluster %u: sent %" PRIu64 " updates, but %"
			    PRIu64 " are accounted for; this is a bug",
			    s->cluster[i].id,
			    f[i].count[SIM_SENT], out);
		all = false;
	}
	return all;
}

static void
add_cluster_sums(struct cluster_sums *to, const struct cluster_sums *f)
{
	for (int i = 0; i < TALLY_EVENTS; i++)
		to->tally[i] += f->tally[i];
	for (int i = 0; i < SIM_COUNTS; i++)
		to->count[i] += f->count[i];
	for (int i = 0; i < SIM_LOSSES; i++)
		to->lost[i] += f->lost[i];
	to->cleared += f->cleared;
	to->flying += f->flying;
	to->delay_ns += f->delay_ns;
}

static void
set_counts(struct result_row *row, const struct cluster_sums *f)
{
	static const struct { int to; enum tally_event what; } tally[] = {
		{ AGGREGATED, TALLY_AGGREGATED },
		{ REPLACED, TALLY_REPLACED },
		{ SUPERSEDED, TALLY_SUPERSEDED },
		{ DROPPED_FULL, TALLY_DROPPED_FULL },
		{ DROPPED_REWARD, TALLY_DROPPED_REWARD },
		{ DROPPED_LIMIT, TALLY_DROPPED_LIMIT },
	};
	static const struct { int to; enum sim_count what; } count[] = {
		{ GENERATED, SIM_GENERATED }, { SUPPRESSED, SIM_SUPPRESSED },
		{ SENT, SIM_SENT }, { RECEIVED, SIM_RECEIVED },
		{ MERGED, SIM_MERGED }, { MODELS, SIM_MODELS },
		{ TIMED_OUT, SIM_TIMED_OUT }, { GATED, SIM_GATED },
	};
	double *v = row->v;

	for (size_t i = 0; i < sizeof(tally) / sizeof(*tally); i++)
		v[tally[i].to] = (double)f->tally[tally[i].what];
	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		v[count[i].to] = (double)f->count[count[i].what];
	v[LOST_LINK] = (double)f->lost[SIM_LOST_LINK];
	v[LOST_DOWN] = (double)f->lost[SIM_LOST_DOWN];
	v[LOST_QUEUE] = (double)f->lost[SIM_LOST_QUEUE];
	v[QUEUED] = (double)(f->flying + f->tally[TALLY_QUEUED] -
	    f->cleared);
	v[DROPPED] = v[DROPPED_FULL] + v[DROPPED_REWARD] + v[DROPPED_LIMIT] +
	    v[LOST_LINK] + v[LOST_DOWN] + v[LOST_QUEUE];
	v[LOSS] = v[SENT] > 0 ? 100 * v[DROPPED] / v[SENT] : 0;
	v[DELAY] = f->count[SIM_RECEIVED] == 0 ? 0 :
	    (double)(uint64_t)(f->delay_ns / f->count[SIM_RECEIVED]);
}

/*
 * Set the figures about ages for the n clusters in `list`, and Jain's index of
 * the mean ages of these clusters.
 */
static void
set_ages(const struct sim *s, struct result_row *row, const uint32_t *list,
    size_t n)
{
	size_t machines = 0, k = 0, known = 0;
	const struct aom **set;
	double *mean = calloc(n + 1, sizeof(*mean));
	struct aom_figures f = { 0 };

	for (size_t i = 0; i < n; i++)
		machines += s->cluster[list[i]].packets;
	set = calloc(machines + 1, sizeof(*set));
	if (set == NULL || mean == NULL)
		err(1, "ages");
	for (size_t i = 0; i < n; i++) {
		const struct sim_cluster *c = &s->cluster[list[i]];
		size_t from = k;

		for (uint32_t p = 0; p < c->packets; p++)
			set[k++] = &c->age[p];
		aom_sums(set + from, k - from, &f);
		if (f.known)
			mean[known++] = (double)f.mean_ns;
	}
	if (aom_figures(set, machines, &f) == -1)
		err(1, "percentiles");
	for (int i = MEAN; !f.known && i <= JAIN; i++)
		row->v[i] = NAN; /* nothing was sent, or nothing arrived */
	if (!f.known)
		goto out;
	row->v[MEAN] = (double)f.mean_ns;
	row->v[P50] = (double)f.p50_ns;
	row->v[P95] = (double)f.p95_ns;
	row->v[P99] = (double)f.p99_ns;
	row->v[MAX] = (double)f.max_ns;
	row->v[MEAN_PEAK] = (double)f.mean_peak_ns;
	row->v[MAX_PEAK] = (double)f.max_peak_ns;
	row->v[JAIN] = stats_jain(mean, known);
out:
	free(set);
	free(mean);
}

static void
set_switch(const struct sim *s, const struct sim_node *n,
    struct result_row *row)
{
	const struct sim_port *port = n->own;
	const struct tally_count *of = port->egress->updates->tally.all.of;
	double *v = row->v;

	v[S_ARRIVED] = (double)of[TALLY_ARRIVED].constituents;
	v[S_DELIVERED] = (double)of[TALLY_DELIVERED].constituents;
	v[S_AGGREGATED] = (double)of[TALLY_AGGREGATED].constituents;
	v[S_REPLACED] = (double)of[TALLY_REPLACED].constituents;
	v[S_SUPERSEDED] = (double)of[TALLY_SUPERSEDED].constituents;
	v[S_FULL] = (double)of[TALLY_DROPPED_FULL].constituents;
	v[S_REWARD] = (double)of[TALLY_DROPPED_REWARD].constituents;
	v[S_LIMIT] = (double)of[TALLY_DROPPED_LIMIT].constituents;
	v[S_QUEUED] = (double)of[TALLY_QUEUED].constituents;
	v[S_FRAMES] = (double)port->served;
	v[S_WAIT] = port->served == 0 ? 0 :
	    (double)(uint64_t)(port->wait_ns / port->served);
	v[S_BUSY] = s->end_ns == 0 ? 0 :
	    100.0 * (double)port->busy_ns / (double)s->end_ns;
}

/*
 * Return the time when the last of the n clusters in `list` reached its goal.
 * Returns NAN if a cluster has not reached its goal, or if none has a goal.
 */
static double
find_goal_ns(const struct sim *s, const uint32_t *list, size_t n)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sim_cluster *c = &s->cluster[list[i]];

		if (c->goal > 0 && c->goal_ns == 0)
			return NAN;
		if (c->goal_ns > last)
			last = c->goal_ns;
	}
	return last > 0 ? (double)last : NAN;
}

/* Make one row for all n clusters in `list` together. */
static void
set_row(const struct sim *s, const struct cluster_sums *sums,
    const uint32_t *list, size_t n, struct result_row *row)
{
	struct cluster_sums sum = { 0 };

	for (size_t i = 0; i < n; i++)
		add_cluster_sums(&sum, &sums[list[i]]);
	set_counts(row, &sum);
	set_ages(s, row, list, n);
	row->v[GOAL] = find_goal_ns(s, list, n);
}

static void
set_rows(const struct sim *s, enum result_by by,
    const struct cluster_sums *sums, struct result_row *row)
{
	uint32_t *list = calloc(s->clusters + 1, sizeof(*list));
	size_t n = 0;

	if (list == NULL)
		err(1, "clusters");
	for (uint32_t g = 0; by == RESULT_GROUP && g < s->sc->workers.n;
	    g++, n = 0) {
		for (uint32_t i = 0; i < s->clusters; i++) {
			if (s->cluster[i].group == g)
				list[n++] = i;
		}
		set_row(s, sums, list, n, row++);
	}
	for (uint32_t i = 0; i < s->clusters; i++)
		list[i] = i;
	for (uint32_t i = 0; by == RESULT_CLUSTER && i < s->clusters; i++)
		set_row(s, sums, &list[i], 1, row++);
	set_row(s, sums, list, s->clusters, row);
	free(list);
}

static uint64_t
get_end_ns(const struct sim *s, const struct sim_cluster *c, bool run)
{
	return run ? s->end_ns : c->last_ns;
}

/*
 * Return the mean of all ages.  They are measured until the end of the run if
 * `run` is true, and otherwise until the last packet of each cluster.  Returns
 * 0 if there are no ages.
 */
static double
mean_age_until(const struct sim *s, bool run)
{
	double area = 0, time = 0;

	for (uint32_t i = 0; i < s->clusters; i++) {
		const struct sim_cluster *c = &s->cluster[i];
		const uint64_t t = get_end_ns(s, c, run);

		for (uint32_t k = 0; k < c->packets; k++) {
			if (!c->age[k].started)
				continue;
			area += (double)aom_area2_until(&c->age[k], t) / 2;
			if (t > c->age[k].from_ns)
				time += (double)(t - c->age[k].from_ns);
		}
	}
	return time > 0 ? area / time : 0;
}

/* End the measurement of all ages, because the run is over. */
static void
end_ages(struct sim *s)
{
	const bool run = scenario_ages_to_run(s->sc);
	const double mean = mean_age_until(s, run);

	s->other_end = mean > 0 ? mean_age_until(s, !run) / mean : 1;
	for (uint32_t i = 0; i < s->clusters; i++) {
		struct sim_cluster *c = &s->cluster[i];

		for (uint32_t k = 0; k < c->packets; k++)
			if (aom_end(&c->age[k], get_end_ns(s, c, run)) == -1)
				err(1, "ages");
	}
}

bool
result_make_rows(struct sim *s, enum result_by by, struct result_row *row)
{
	struct cluster_sums *sums;
	bool whole;

	if (by == RESULT_TRAINING)
		return train_result(s, row);
	sums = calloc(s->clusters + 1, sizeof(*sums));
	if (sums == NULL)
		err(1, "clusters");
	end_ages(s);
	for (uint32_t i = 0; i < s->clusters; i++) {
		const struct sim_cluster *c = &s->cluster[i];

		memcpy(sums[i].count, c->count, sizeof(c->count));
		memcpy(sums[i].lost, c->lost, sizeof(c->lost));
		sums[i].cleared = c->cleared;
		sums[i].delay_ns = c->delay_ns;
	}
	add_tallies(s, sums);
	add_flying(s, sums);
	whole = is_conserved(s, sums);
	whole =
	    node_traffic_result(s, by == RESULT_TRAFFIC ? row : NULL) && whole;
	for (uint32_t i = 0, k = 0; by == RESULT_SWITCH && i < s->nodes; i++) {
		if (s->node[i].kind == &node_switch_kind)
			set_switch(s, &s->node[i], &row[k++]);
	}
	if (by == RESULT_GROUP || by == RESULT_CLUSTER)
		set_rows(s, by, sums, row);
	free(sums);
	return whole;
}
