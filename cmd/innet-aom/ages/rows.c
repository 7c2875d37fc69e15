/* rows.c - compute figures from flows */
#include "cmd/innet-aom/ages/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/stats.h"

const struct figure_name figure_name[FIGURES] = {
	[RECEIVED] = { "received", "received", COUNT },
	[MERGED] = { "merged", "merged", COUNT },
	[SENT] = { "sent", "sent", COUNT },
	[LOST] = { "lost", "lost", COUNT },
	[LOSS_PERCENT] = { "loss_percent", "loss%", PERCENT },
	[SUPERSEDED] = { "superseded", "supers.", COUNT },
	[DROPPED] = { "dropped", "dropped", COUNT },
	[MEAN] = { "mean_age_ns", "mean", NS },
	[P50] = { "p50_age_ns", "p50", NS },
	[P95] = { "p95_age_ns", "p95", NS },
	[P99] = { "p99_age_ns", "p99", NS },
	[MAX] = { "max_age_ns", "max", NS },
	[MEAN_PEAK] = { "mean_peak_age_ns", "mean peak", NS },
	[MAX_PEAK] = { "max_peak_age_ns", "max peak", NS },
	[REWARD] = { "mean_reward", "reward", INDEX },
	[JAIN] = { "jain", "jain", INDEX },
};

struct view
view_all(void)
{
	struct view v = { .shows.n = 0 };

	for (int k = 0; k < FIGURES; k++)
		if (k != REWARD)
			v.shows.column[v.shows.n++] = k;
	return v;
}

void
view_add_reward(struct view *v)
{
	v->shows.column[v->shows.n++] = REWARD;
}

static const char *
column_key(int k, const void *none)
{
	(void)none;
	return figure_name[k].key;
}

const char *
view_parse(struct view *v, const char *list)
{
	v->chosen = true;
	return columns_choose(&v->shows, list, FIGURES, column_key, NULL);
}

/* The sums from which a row is computed. */
struct sums {
	struct update_count got, sent;
	double reward;
	const struct cluster_losses *losses;	/* counters of the cluster;
						 * NULL: the report does not
						 * have the cluster */
	const struct aom *const *age;
	size_t ages;
};

static struct value
known_count(uint64_t v)
{
	return (struct value){ .known = true, .whole = (int64_t)v };
}

static struct value
known_real(double v)
{
	return (struct value){ .known = true, .real = v };
}

static void
set_ages(struct row *row, const struct sums *s)
{
	struct aom_figures f;

	if (aom_figures(s->age, s->ages, &f) == -1)
		err(1, "percentiles");
	if (!f.known)
		return;
	row->v[MEAN] = known_count(f.mean_ns);
	row->v[P50] = known_count(f.p50_ns);
	row->v[P95] = known_count(f.p95_ns);
	row->v[P99] = known_count(f.p99_ns);
	row->v[MAX] = known_count(f.max_ns);
	if (f.peaks == 0)
		return;
	row->v[MEAN_PEAK] = known_count(f.mean_peak_ns);
	row->v[MAX_PEAK] = known_count(f.max_peak_ns);
}

/*
 * Set the numbers of sent and lost updates, and the causes of loss, as far as
 * they are known.  A merged packet is counted for one worker, although it
 * contains updates of other workers.  So if updates were merged, the loss of a
 * single worker is unknown (`blurred`), but the loss of all workers together is
 * known.
 */
static void
set_loss(struct row *row, const struct run *r, const struct sums *s,
    bool blurred)
{
	uint64_t sent = s->sent.constituents;
	double lost;

	if (r->has_report && s->losses != NULL) {
		row->v[SUPERSEDED] = known_count(s->losses->superseded);
		row->v[DROPPED] = known_count(s->losses->dropped);
		if (!r->has_sent)
			sent = s->losses->arrived;
	}
	if (!r->has_sent && !row->v[DROPPED].known)
		return;
	row->v[SENT] = known_count(sent);
	if (blurred)
		return;
	row->v[LOST] = known_count(sent - s->got.constituents);
	lost = (double)row->v[LOST].whole;
	if (row->v[DROPPED].known)
		lost = (double)row->v[DROPPED].whole;
	row->v[LOSS_PERCENT] =
	    known_real(sent == 0 ? 0 : 100 * lost / (double)sent);
}

static struct row
make_row(const struct run *r, const struct sums *s, bool blurred)
{
	struct row row = { 0 };

	row.v[RECEIVED] = known_count(s->got.packets);
	row.v[MERGED] = known_count(s->got.constituents);
	if (s->got.packets > 0)
		row.v[REWARD] = known_real(s->reward / (double)s->got.packets);
	set_loss(&row, r, s, blurred);
	set_ages(&row, s);
	return row;
}

static void
add_sums(struct sums *to, const struct sums *s)
{
	to->got.packets += s->got.packets;
	to->got.constituents += s->got.constituents;
	to->sent.packets += s->sent.packets;
	to->sent.constituents += s->sent.constituents;
	to->reward += s->reward;
	to->ages += s->ages;
}

/*
 * Return the sums of the next row, and advance the indices *i and *k.  The row
 * consists of the flows that begin at *i, of the losses at *k, or of both.  The
 * flows of a row differ only in their range (the low 16 bits of the key).
 */
static struct sums
next_row(const struct run *r, const struct aom *const *age, size_t *i,
    size_t *k, struct row *name)
{
	static const struct cluster_losses none;
	const struct flow *f = &r->flow[*i];
	const bool clusters = r->rules->grouping == BY_CLUSTER && r->has_report;
	struct sums s = { .losses = clusters ? &none : NULL, .age = age + *i };
	bool has_losses = clusters && *k < r->report.n;
	bool has_flow = *i < r->flows;

	if (has_losses && has_flow)
		has_flow = flow_cluster(f) <= r->report.cluster[*k].cluster;
	if (has_flow && has_losses)
		has_losses = flow_cluster(f) == r->report.cluster[*k].cluster;
	if (has_losses)
		s.losses = &r->report.cluster[(*k)++];
	name->cluster = has_flow ? flow_cluster(f) : s.losses->cluster;
	name->worker = has_flow ? flow_worker(f) : 0;
	for (; has_flow && *i < r->flows &&
	    r->flow[*i].key >> 16 == f->key >> 16; ++*i)
		add_sums(&s, &(struct sums){ r->flow[*i].got, r->flow[*i].sent,
		    .reward = r->flow[*i].reward, .ages = 1 });
	return s;
}

/*
 * Return Jain's index of the mean ages of n rows.  The index is unknown if no
 * row has a mean age.
 */
static struct value
jain_index(const struct row *row, size_t n)
{
	double *x = malloc((n + 1) * sizeof(*x));
	size_t k = 0;
	struct value v = { 0 };

	if (x == NULL)
		err(1, "no memory for %zu rows", n);
	for (size_t i = 0; i < n; i++)
		if (row[i].v[MEAN].known)
			x[k++] = (double)row[i].v[MEAN].whole;
	if (k > 0)
		v = known_real(stats_jain(x, k));
	free(x);
	return v;
}

struct rows
rows_make(const struct run *r, const struct view *v)
{
	struct rows rows = { .view = v, .grouping = r->rules->grouping,
	    .clusters = r->rules->source.clusters,
	    .workers = r->rules->source.workers };
	const struct aom **age = malloc((r->flows + 1) * sizeof(*age));
	struct sums s, all = { .losses = &r->report.total, .age = age };
	struct row name;
	bool blurred = false;
	size_t i, k;

	rows.row = malloc((r->flows + r->report.n + 1) * sizeof(*rows.row));
	if (rows.row == NULL || age == NULL)
		err(1, "no memory for %zu rows", r->flows + r->report.n + 1);
	for (i = 0; i < r->flows; i++) {
		age[i] = &r->flow[i].age;
		blurred |= rows.grouping == BY_WORKER &&
		    r->flow[i].got.packets != r->flow[i].got.constituents;
	}
	for (i = k = 0; i < r->flows || (rows.grouping == BY_CLUSTER &&
	    k < r->report.n); ) {
		s = next_row(r, age, &i, &k, &name);
		add_sums(&all, &s);
		rows.row[rows.n] = make_row(r, &s, blurred);
		rows.row[rows.n].cluster = name.cluster;
		rows.row[rows.n++].worker = name.worker;
	}
	rows.row[rows.n] = make_row(r, &all, false);
	rows.row[rows.n].v[JAIN] = jain_index(rows.row, rows.n);
	rows.n++;
	rows.packets_known = r->has_sent;
	rows.packets_lost = (int64_t)(all.sent.packets - all.got.packets);
	free(age);
	return rows;
}
