/* model.c - all runs of a specification up to a horizon, as formulas for Z3 */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-verify/model.h"
#include "cmd/innet-verify/terms.h"

/* Return the longest time from the opening of a slot to its departure. */
static uint64_t
longest_wait(const struct spec *s)
{
	/*
	 * the queue holds one waiting update per cluster, and the locked update
	 */
	return (s->slots < s->n + 1 ? s->slots : s->n + 1) * s->service_ns;
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t
common_unit(const struct model *m, const struct objective *o)
{
	const struct spec *s = m->spec;
	uint64_t g = gcd(s->service_ns, m->horizon_ns);

	g = gcd(g, s->ack_ns);
	if (!o->relative)
		g = gcd(g, o->bound);
	for (size_t i = 0; i < s->n; i++) {
		const struct spec_cluster *c = &s->cluster[i];

		g = gcd(gcd(g, c->period_ns), c->jitter_ns);
		g = gcd(gcd(g, c->offset_lo_ns), c->offset_hi_ns);
	}
	return g;
}

/*
 * Return a free variable for a time from `lo` to `hi`, or the constant `lo` if
 * both are equal.
 */
static Z3_ast
free_time(struct model *m, const char *name, uint64_t id, int64_t k,
    uint64_t lo, uint64_t hi)
{
	Z3_ast v;

	if (lo == hi)
		return terms_ns(m, lo);
	if (m->whole) {
		v = terms_var(m, Z3_mk_int_sort(m->z3), name, id, k);
		v = terms_times(m, terms_ratio(m, 1, m->unit_ns),
		    Z3_mk_int2real(m->z3, v));
	} else {
		v = terms_var(m, Z3_mk_real_sort(m->z3), name, id, k);
	}
	terms_fact(m, Z3_mk_ge(m->z3, v, terms_ns(m, lo)));
	terms_fact(m, Z3_mk_le(m->z3, v, terms_ns(m, hi)));
	return v;
}

/*
 * Does every update of c open a slot, so that no update of c is merged, held
 * back or dropped?
 */
static bool
always_head(const struct spec *s, const struct spec_cluster *c)
{
	return s->slots > s->n &&
	    c->period_ns - c->jitter_ns >= longest_wait(s) - s->service_ns;
}

/* Add update k of cluster c, with variables for its arrival and its slot. */
static void
add_update(struct model *m, size_t c, uint64_t k)
{
	const struct spec_cluster *sc = &m->spec->cluster[c];
	const Z3_sort real = Z3_mk_real_sort(m->z3);
	struct model_update *x = &m->update[m->n++];

	*x = (struct model_update){ .c = c, .k = k,
	    .lo_ns = spec_arrival(sc, k, sc->offset_lo_ns, 0),
	    .hi_ns = spec_arrival(sc, k, sc->offset_hi_ns, sc->jitter_ns) };
	x->jitter = free_time(m, "jitter", sc->id, (int64_t)k, 0,
	    sc->jitter_ns);
	x->at = x->lo_ns == x->hi_ns ? terms_ns(m, x->lo_ns) :
	    terms_plus(m, terms_plus(m, m->offset[c], x->jitter),
	    terms_ns(m, k * sc->period_ns));
	x->present = x->hi_ns < m->horizon_ns ? m->yes :
	    Z3_mk_lt(m->z3, x->at, terms_ns(m, m->horizon_ns));
	x->head = x->present == m->yes && always_head(m->spec, sc) ? m->yes :
	    terms_var(m, Z3_mk_bool_sort(m->z3), "head", sc->id, (int64_t)k);
	x->begins = terms_var(m, real, "begins", sc->id, (int64_t)k);
	x->leaves = terms_plus(m, x->begins, terms_ns(m,
	    m->spec->service_ns));
}

/* The order of two arrivals: y is never, always or sometimes before x. */
enum order { NEVER, ALWAYS, OPEN };

/* Compare two arrivals; at equal times, the cluster with the lower id wins. */
static enum order
compare_arrivals(const struct model_update *y, const struct model_update *x)
{
	const bool wins = y->c < x->c;

	if (y->c == x->c)
		return y->k < x->k ? ALWAYS : NEVER;
	if (wins ? y->hi_ns <= x->lo_ns : y->hi_ns < x->lo_ns)
		return ALWAYS;
	return (wins ? y->lo_ns <= x->hi_ns : y->lo_ns < x->hi_ns) ? OPEN :
	    NEVER;
}

static Z3_ast
comes_before(const struct model *m, const struct model_update *y,
    const struct model_update *x)
{
	switch (compare_arrivals(y, x)) {
	case ALWAYS: return m->yes;
	case NEVER: return m->no;
	default: return y->c < x->c ? Z3_mk_le(m->z3, y->at, x->at) :
	    Z3_mk_lt(m->z3, y->at, x->at);
	}
}

/* Can y arrive less than `within` ns before x? */
static bool
can_meet(const struct model *m, const struct model_update *y,
    const struct model_update *x, uint64_t within)
{
	const struct spec_cluster *c = &m->spec->cluster[x->c];

	if (y->c == x->c)	/* updates of one cluster have the same
				 * offset */
		return y->k < x->k &&
		    (x->k - y->k) * c->period_ns < within + c->jitter_ns;
	return y->hi_ns + within > x->lo_ns && compare_arrivals(y, x) != NEVER;
}

/*
 * Find the updates of cluster c that can meet x.  Set *from to the index of the
 * first such update, and *to to the index after the last one.
 */
static void
find_candidates(const struct model *m, const struct model_update *x, size_t c,
    uint64_t within, size_t *from, size_t *to)
{
	const size_t end = m->first[c + 1];
	const uint64_t reach = m->update[m->first[c]].hi_ns + within;
	size_t i = m->first[c];

	if (i < end && x->lo_ns > reach) /* skip updates that are too early */
		i += (x->lo_ns - reach) / m->spec->cluster[c].period_ns;
	while (i < end && !can_meet(m, &m->update[i], x, within) &&
	    compare_arrivals(&m->update[i], x) != NEVER)
		i++;
	*from = i;
	while (i < end && can_meet(m, &m->update[i], x, within))
		i++;
	*to = i;
}

/* Return a formula that is true if at least `least` terms of l are true. */
static Z3_ast
hold_at_least(const struct model *m, const struct terms *l, uint64_t least)
{
	Z3_ast *row = calloc(least + 1, sizeof(*row)), all;

	if (row == NULL)
		err(1, "no memory for %llu slots", (unsigned long long)least);
	for (uint64_t i = 0; i <= least; i++)
		row[i] = i == 0 ? m->yes : m->no;
	for (unsigned i = 0; i < l->n; i++) {
		for (uint64_t k = least; k > 0; k--)
			row[k] = terms_or(m, row[k], terms_and(m, l->term[i],
			    row[k - 1]));
	}
	all = row[least];
	free(row);
	return all;
}

/*
 * Add facts about the slots that are occupied when x arrives.  The transmission
 * of x would begin when x has arrived and all these slots have departed.
 * Return a formula that is true if no slot is free.
 */
static Z3_ast
add_queue(struct model *m, struct model_update *x)
{
	struct terms busy = { 0 }, start = { 0 };
	size_t from, to;
	Z3_ast full;

	terms_fact(m, Z3_mk_ge(m->z3, x->begins, x->at));
	terms_add(&start, Z3_mk_eq(m->z3, x->begins, x->at));
	for (size_t c = 0; c < m->spec->n; c++) {
		find_candidates(m, x, c, longest_wait(m->spec), &from, &to);
		for (size_t i = from; i < to; i++) {
			const struct model_update *y = &m->update[i];
			Z3_ast in = terms_and(m, terms_and(m, y->head,
			    comes_before(m, y, x)), Z3_mk_gt(m->z3, y->leaves,
			    x->at));

			terms_fact(m, Z3_mk_implies(m->z3, in,
			    Z3_mk_ge(m->z3, x->begins, y->leaves)));
			terms_add(&start, terms_and(m, in, Z3_mk_eq(m->z3,
			    x->begins, y->leaves)));
			terms_add(&busy, in);
		}
	}
	terms_fact(m, terms_any(m, &start));
	/* at most one update per cluster waits, and one more is being sent */
	full = m->spec->slots > m->spec->n || m->spec->slots > busy.n ?
	    m->no : hold_at_least(m, &busy, m->spec->slots);
	free(busy.term);
	free(start.term);
	return full;
}

/*
 * Return a formula that is true if an unlocked update of x's cluster is waiting
 * when x arrives.
 */
static Z3_ast
has_waiting(const struct model *m, const struct model_update *x)
{
	const uint64_t most = longest_wait(m->spec) - m->spec->service_ns;
	struct terms any = { 0 };
	size_t from, to;
	Z3_ast t;

	find_candidates(m, x, x->c, most, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct model_update *y = &m->update[i];

		terms_add(&any, terms_and(m, y->head, Z3_mk_gt(m->z3,
		    y->begins, x->at)));
	}
	t = terms_any(m, &any);
	free(any.term);
	return t;
}

/*
 * Compute the least age of a status at which an update is sent with probability
 * 1.  At this age, f just compensates for Qmax / N; see txctl.h.  Set *num and
 * *den so that *num / *den is this age in ns.
 */
static void
certain_after(const struct spec *s, const struct txctl *t,
    unsigned __int128 *num, unsigned __int128 *den)
{
	const uint64_t lack = s->n - s->slots, threshold = t->threshold_ns;

	if (t->kind == TXCTL_URGENT) {	/* with urgent control, f is (d - T) /
					 * T */
		*num = (unsigned __int128)threshold * (s->n + lack);
		*den = s->n;
	} else {			/* with fair control, f is T (d - T), in
					 * seconds */
		*num = (unsigned __int128)threshold * threshold * s->n +
		    (unsigned __int128)lack * SPEC_BILLION * SPEC_BILLION;
		*den = (unsigned __int128)threshold * s->n;
	}
}

/*
 * Return a formula that is true if x can be held back.  This requires that its
 * cluster has a status that is not too old.
 */
static Z3_ast
can_be_held(const struct model *m, const struct model_update *x)
{
	const struct spec *s = m->spec;
	const struct txctl *t = &s->cluster[x->c].control;
	unsigned __int128 num, den, reach;
	struct terms any = { 0 };
	size_t from, to;
	Z3_ast since, may;

	if (t->kind == TXCTL_NONE || s->slots >= s->n)
		return m->no;
	certain_after(s, t, &num, &den);
	since = terms_minus(m, x->at, terms_ratio(m, num, den * m->unit_ns));
	reach = num / den + 1 + s->ack_ns + longest_wait(s);
	find_candidates(m, x, x->c, reach < INT64_MAX / 2 ? (uint64_t)reach :
	    INT64_MAX / 2, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct model_update *y = &m->update[i];
		Z3_ast came = terms_plus(m, y->leaves,
		    terms_ns(m, s->ack_ns));

		terms_add(&any, terms_and(m, y->head, terms_and(m,
		    Z3_mk_le(m->z3, came, x->at),
		    Z3_mk_gt(m->z3, came, since))));
	}
	may = terms_any(m, &any);
	free(any.term);
	return may;
}

/*
 * Add variables and facts that describe how the queue handles x.  `last` is the
 * previous update of the same cluster, or NULL.
 */
static void
add_fate(struct model *m, struct model_update *x,
    const struct model_update *last)
{
	const uint64_t id = m->spec->cluster[x->c].id;
	const int64_t k = (int64_t)x->k;
	const Z3_sort is = Z3_mk_bool_sort(m->z3);
	Z3_ast may = can_be_held(m, x), waits, full, accepted;

	x->sent = x->present;
	if (may != m->no)
		x->sent = terms_named(m, is, "sent", id, k, terms_and(m,
		    x->present, terms_or(m, terms_not(m, may),
		    terms_var(m, is, "chosen", id, k))));
	full = add_queue(m, x);
	waits = has_waiting(m, x);
	if (full != m->no)
		full = terms_named(m, is, "full", id, k, full);
	if (waits != m->no)
		waits = terms_named(m, is, "waits", id, k, waits);
	/*
	 * the other facts imply this fact, but with it the solver examines
	 * fewer cases
	 */
	terms_fact(m, Z3_mk_implies(m->z3, x->head, Z3_mk_le(m->z3, x->leaves,
	    terms_plus(m, x->at, terms_ns(m, longest_wait(m->spec))))));
	if (x->head != m->yes)
		terms_fact(m, Z3_mk_iff(m->z3, x->head, terms_and(m, x->sent,
		    terms_and(m, terms_not(m, waits), terms_not(m, full)))));
	x->dropped = terms_and(m, x->sent, terms_and(m, terms_not(m, waits),
	    full));
	accepted = terms_and(m, x->sent, terms_not(m, x->dropped));
	x->some = accepted;
	x->newest = x->at;
	if (accepted != m->yes) {
		x->newest = terms_named(m, Z3_mk_real_sort(m->z3), "newest",
		    id, k, terms_if(m, accepted, x->at, last == NULL ?
		    x->at : last->newest));
		x->some = terms_named(m, is, "some", id, k, terms_or(m,
		    accepted, last == NULL ? m->no : last->some));
	}
}

static void
on_error(Z3_context z3, Z3_error_code code)
{
	errx(1, "Z3: %s", Z3_get_error_msg(z3, code));
}

static void
open_context(struct model *m)
{
	Z3_config cf = Z3_mk_config();

	m->z3 = Z3_mk_context(cf);
	Z3_del_config(cf);
	Z3_set_error_handler(m->z3, on_error);
	m->facts = Z3_mk_ast_vector(m->z3);
	Z3_ast_vector_inc_ref(m->z3, m->facts);
	m->yes = Z3_mk_true(m->z3);
	m->no = Z3_mk_false(m->z3);
}

void
model_open(struct model *m, const struct spec *s, uint64_t horizon_ns,
    const struct objective *o, bool whole)
{
	*m = (struct model){ .spec = s, .horizon_ns = horizon_ns,
	    .whole = whole };
	m->unit_ns = common_unit(m, o);
	m->update = calloc(spec_updates_all(s, horizon_ns) + 1,
	    sizeof(*m->update));
	if (m->update == NULL)
		err(1, "no memory for the updates");
	open_context(m);
	for (size_t c = 0; c < s->n; c++) {
		const struct spec_cluster *sc = &s->cluster[c];
		const uint64_t n = spec_updates(sc, horizon_ns);

		m->first[c] = m->n;
		m->offset[c] = free_time(m, "offset", sc->id, -1,
		    sc->offset_lo_ns, sc->offset_hi_ns);
		for (uint64_t k = 0; k < n; k++)
			add_update(m, c, k);
	}
	m->first[s->n] = m->n;
	for (size_t i = 0; i < m->n; i++)
		add_fate(m, &m->update[i], m->update[i].k == 0 ? NULL :
		    &m->update[i - 1]);
}

void
model_close(struct model *m)
{
	Z3_ast_vector_dec_ref(m->z3, m->facts);
	Z3_del_context(m->z3);
	free(m->update);
}

/*
 * Return an upper bound for the number of updates of d that can arrive within
 * `within` ns before an update of another cluster.
 */
static uint64_t
count_meeting(const struct spec *s, const struct spec_cluster *d,
    unsigned __int128 within)
{
	const uint64_t all = spec_updates(d, s->horizon_ns);
	const unsigned __int128 n = within / d->period_ns + 2;

	return n < all ? (uint64_t)n : all;
}

uint64_t
model_pairs(const struct spec *s)
{
	unsigned __int128 num, den;
	uint64_t pairs = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct spec_cluster *c = &s->cluster[i];
		const uint64_t n = spec_updates(c, s->horizon_ns);

		for (size_t k = 0; k < s->n; k++) {
			const struct spec_cluster *d = &s->cluster[k];

			pairs += n * count_meeting(s, d,
					 longest_wait(s) +
					     (i == k ? 0
						     : c->offset_hi_ns -
							   c->offset_lo_ns +
							   c->jitter_ns +
							   d->offset_hi_ns -
							   d->offset_lo_ns) +
					     d->jitter_ns);
		}
		if (c->control.kind == TXCTL_NONE || s->slots >= s->n)
			continue;
		certain_after(s, &c->control, &num, &den);
		pairs += n * count_meeting(s, c,
				 num / den + s->ack_ns + longest_wait(s) +
				     c->jitter_ns);
	}
	return pairs;
}
