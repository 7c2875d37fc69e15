/* violation.c - formulas that are true if a run violates an objective */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-verify/terms.h"
#include "cmd/innet-verify/violation.h"

/* Return a formula that is true if at least one update finds no slot. */
static Z3_ast
state_loss(const struct model *m)
{
	struct terms any = { 0 };
	Z3_ast t;

	for (size_t i = 0; i < m->n; i++) {
		if (m->update[i].dropped != m->no)
			terms_add(&any, m->update[i].dropped);
	}
	t = terms_any(m, &any);
	free(any.term);
	return t;
}

/*
 * Return a formula that is true if an age exceeds the bound just before a
 * delivery or at the horizon.  A cluster's age begins at the arrival of its
 * first update, as if this update had been delivered at that time.
 */
static Z3_ast
state_peak(const struct model *m, const struct objective *o)
{
	const Z3_ast bound = terms_ns(m, o->bound);
	struct terms any = { 0 };
	Z3_ast t;

	for (size_t i = 0; i < m->n; i++) {
		const struct model_update *x = &m->update[i];

		terms_add(&any, terms_and(m, x->head, Z3_mk_gt(m->z3,
		    terms_minus(m, x->leaves, x->k == 0 ? x->at :
		    x[-1].newest), bound)));
		if (i + 1 == m->first[x->c + 1])
			terms_add(&any, Z3_mk_gt(m->z3, terms_minus(m,
			    terms_ns(m, m->horizon_ns), x->newest), bound));
	}
	t = terms_any(m, &any);
	free(any.term);
	return t;
}

/* The average peak age of a cluster, if it has one. */
struct average {
	Z3_ast some;		/* formula that is true if the average exists */
	Z3_ast ns;		/* value of the average in units of unit_ns */
};

/*
 * For n from 0 to l->n, set say[n] to a formula that is true if exactly n terms
 * are true.
 */
static void
count_terms(const struct model *m, const struct terms *l, Z3_ast *say)
{
	for (unsigned n = 0; n <= l->n; n++)
		say[n] = n == 0 ? m->yes : m->no;
	for (unsigned i = 0; i < l->n; i++) {
		for (unsigned n = i + 1; n > 0; n--)
			say[n] = terms_if(m, l->term[i], say[n - 1], say[n]);
		say[0] = terms_and(m, say[0], terms_not(m, l->term[i]));
	}
}

/* Define an average: the sum divided by the number of peaks that exist. */
static struct average
define_average(struct model *m, uint64_t id, const struct terms *peaks,
    Z3_ast sum)
{
	struct average a = { .ns = terms_var(m, Z3_mk_real_sort(m->z3),
	    "average", id, -1) };
	Z3_ast *say = calloc(peaks->n + 1, sizeof(Z3_ast));

	if (say == NULL)
		err(1, "no memory for %u updates", peaks->n);
	count_terms(m, peaks, say);
	for (unsigned n = 1; n <= peaks->n; n++) {
		Z3_ast same = Z3_mk_eq(m->z3, terms_times(m,
		    terms_ratio(m, n, 1), a.ns), sum);

		if (say[n] == m->yes)
			terms_fact(m, same);
		else if (say[n] != m->no)
			terms_fact(m, Z3_mk_implies(m->z3, say[n], same));
	}
	a.some = terms_not(m, say[0]);
	free(say);
	return a;
}

static struct average
average_of_cluster(struct model *m, size_t c)
{
	const uint64_t id = m->spec->cluster[c].id;
	const Z3_ast zero = terms_ratio(m, 0, 1);
	struct terms peaks = { 0 };
	struct average a;
	Z3_ast sum = zero;

	for (size_t i = m->first[c] + 1; i < m->first[c + 1]; i++) {
		const struct model_update *x = &m->update[i];
		Z3_ast peak = terms_and(m, x->head, x[-1].some);

		if (peak == m->no)
			continue;
		terms_add(&peaks, peak);
		sum = terms_plus(m, sum, terms_if(m, peak, terms_minus(m,
		    x->leaves, x[-1].newest), zero));
	}
	a = define_average(m, id, &peaks, sum);
	free(peaks.term);
	return a;
}

/*
 * Return a formula that is true if the averages of two clusters differ by more
 * than the bound.
 */
static Z3_ast
state_unfair(struct model *m, const struct objective *o)
{
	struct average avg[SPEC_CLUSTERS_MAX];
	struct terms any = { 0 };
	Z3_ast t;

	for (size_t c = 0; c < m->spec->n; c++)
		avg[c] = average_of_cluster(m, c);
	for (size_t u = 0; u < m->spec->n; u++) {
		Z3_ast bound = o->relative ? terms_times(m, terms_ratio(m,
		    o->bound, SPEC_BILLION), avg[u].ns) :
		    terms_ns(m, o->bound);

		for (size_t v = 0; v < m->spec->n; v++) {
			if (v == u)
				continue;
			t = Z3_mk_gt(m->z3, terms_minus(m, avg[u].ns,
			    avg[v].ns), bound);
			terms_add(&any, terms_and(m, t, terms_and(m,
			    avg[u].some, avg[v].some)));
		}
	}
	t = terms_any(m, &any);
	free(any.term);
	return t;
}

Z3_ast
violation_without_average(const struct model *m, const struct objective *o)
{
	struct terms any = { 0 };
	Z3_ast t;

	for (size_t c = 0; c < m->spec->n && o->kind == OBJECTIVE_FAIR; c++) {
		struct terms peaks = { 0 };

		for (size_t i = m->first[c] + 1; i < m->first[c + 1]; i++)
			terms_add(&peaks, terms_and(m, m->update[i].head,
			    m->update[i - 1].some));
		terms_add(&any, terms_not(m, terms_any(m, &peaks)));
		free(peaks.term);
	}
	t = terms_any(m, &any);
	free(any.term);
	return t;
}

Z3_ast
violation(struct model *m, const struct objective *o)
{
	switch (o->kind) {
	case OBJECTIVE_NO_LOSS: return state_loss(m);
	case OBJECTIVE_PEAK: return state_peak(m, o);
	default: return state_unfair(m, o);
	}
}
