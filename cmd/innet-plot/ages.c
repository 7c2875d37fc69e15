/*
 * ages.c - turn ages into curves
 *
 * The age over time is a sawtooth.  A sawtooth with few teeth is drawn
 * unchanged.  If there are many teeth, they would hide each other.  Time is
 * then divided into stretches, and the curve is the mean of each stretch, with
 * a band from the 5th to the 95th percentile.  The mean and the band combine
 * all clusters; each cluster counts while it exists.  Times are in nanoseconds.
 */
#include <stdlib.h>

#include "cmd/innet-plot/plot.h"
#include "common/base/message.h"
#include "common/olaf/aom.h"

enum {
	SAW_TEETH = 250,	/* limit on the teeth that are drawn, because
				 * more cannot be distinguished */
	STRETCHES_MIN = 20, STRETCHES_MAX = 100,
	STRETCH_TEETH = 16	/* number of teeth in a stretch that is enough
				 * for a smooth mean */
};

/* Add a curve with the label "name" or "name: cluster 1". */
static struct curve *
add_named(struct figure *fig, const char *name, const char *cluster)
{
	struct curve *c;
	char *label;

	if (cluster == NULL)
		return figure_add(fig, name);
	if (asprintf(&label, "%s: cluster %s", name, cluster) == -1)
		err(1, "no memory for a label");
	c = figure_add(fig, label);
	free(label);
	return c;
}

static void
draw_saw(struct curve *c, const struct aom *a, uint64_t begin)
{
	uint64_t t = a->from_ns;

	for (size_t i = 0; i < a->teeth; i++) {
		const struct aom_tooth *x = &a->tooth[i];

		curve_point(c, (double)(t - begin), (double)x->lo_ns);
		t += x->hi_ns - x->lo_ns;
		curve_point(c, (double)(t - begin), (double)x->hi_ns);
	}
}

/*
 * A position in an age: the next tooth to read, and the time at which this
 * tooth begins.
 */
struct reader {
	size_t tooth;
	uint64_t at_ns;
};

static void
append_tooth(struct aom *to, uint64_t lo_ns, uint64_t hi_ns)
{
	if (to->teeth == to->room) {
		to->room = to->room * 2 + 64;
		to->tooth = realloc(to->tooth, to->room * sizeof(*to->tooth));
		if (to->tooth == NULL)
			err(1, "no memory for %zu ages", to->room);
	}
	to->tooth[to->teeth++] = (struct aom_tooth){ lo_ns, hi_ns };
	to->started = true;
	to->end_ns += hi_ns - lo_ns;
	to->area2 += (aom_u128)(hi_ns - lo_ns) * ((aom_u128)lo_ns + hi_ns);
	if (hi_ns > to->max_ns)
		to->max_ns = hi_ns;
}

/*
 * Copy the ages of `a` between the times `from` and `end` to the end of `to`.
 * r is the current position in `a`.
 */
static void
cut_stretch(struct aom *to, const struct aom *a, struct reader *r,
    uint64_t from, uint64_t end)
{
	while (r->tooth < a->teeth && r->at_ns < end) {
		const struct aom_tooth *x = &a->tooth[r->tooth];
		const uint64_t stop = r->at_ns + (x->hi_ns - x->lo_ns);
		const uint64_t lo = r->at_ns > from ? r->at_ns : from;
		const uint64_t hi = stop < end ? stop : end;

		if (lo < hi)
			append_tooth(to, x->lo_ns + (lo - r->at_ns),
			    x->lo_ns + (hi - r->at_ns));
		if (stop > end)
			break;
		r->at_ns = stop;
		r->tooth++;
	}
}

/* Add a point to c at x, from the ages of one stretch of time. */
static void
put_stretch(struct curve *c, double x, const struct aom *cut)
{
	static const unsigned percent[] = { 5, 95 };
	uint64_t found[2];
	struct aom_figures f;

	if (cut->teeth == 0)
		return;
	if (aom_percentiles(&cut, 1, percent, 2, found) == -1)
		err(1, "no memory for percentiles");
	aom_sums(&cut, 1, &f);
	c->band[c->n][0] = (double)found[0];
	c->band[c->n][1] = (double)found[1];
	curve_point(c, x, (double)f.mean_ns);
}

static void
draw_means(struct curve *c, const struct aom *const set[], size_t n,
    uint64_t begin, uint64_t end, size_t teeth)
{
	const size_t few = teeth / STRETCH_TEETH;
	const unsigned parts = few < STRETCHES_MIN ? STRETCHES_MIN : few >
	    STRETCHES_MAX ? STRETCHES_MAX : (unsigned)few;
	const aom_u128 span = end - begin;
	struct reader *r = calloc(n, sizeof(*r));
	struct aom cut = { 0 };

	c->band = calloc(parts, sizeof(*c->band));
	if (r == NULL || c->band == NULL)
		err(1, "no memory for %zu clusters", n);
	for (size_t i = 0; i < n; i++)
		r[i].at_ns = set[i]->from_ns;
	for (unsigned p = 0; p < parts; p++) {
		const uint64_t from = (uint64_t)(span * p / parts),
		    to = (uint64_t)(span * (p + 1) / parts);

		cut.teeth = 0;
		cut.area2 = 0;
		cut.end_ns = cut.max_ns = 0;
		for (size_t i = 0; i < n; i++)
			cut_stretch(&cut, set[i], &r[i], begin + from, begin +
			    to);
		put_stretch(c, ((double)from + (double)to) / 2, &cut);
	}
	aom_free(&cut);
	free(r);
}

static size_t
count_teeth(const struct aom *const set[], size_t n)
{
	size_t teeth = 0;

	for (size_t i = 0; i < n; i++)
		teeth += set[i]->teeth;
	return teeth;
}

static void
draw_age(struct curve *c, const struct aom *const set[], size_t n,
    uint64_t begin)
{
	const size_t teeth = count_teeth(set, n);
	uint64_t end = begin;

	for (size_t i = 0; i < n; i++)
		if (set[i]->end_ns > end)
			end = set[i]->end_ns;
	if (teeth > 0)
		draw_means(c, set, n, begin, end, teeth);
}

static void
draw_cdf(struct curve *c, const struct aom *const set[], size_t n)
{
	struct aom_point p[AOM_CDF_POINTS];
	const int points = aom_cdf(set, n, p);

	if (points == -1)
		err(1, "no memory for a distribution");
	for (int i = 0; i < points; i++)
		curve_point(c, (double)p[i].age_ns, p[i].share);
}

static void
draw_one(struct figure *fig, struct curve *c, const struct aom *const set[],
    size_t n, uint64_t begin, bool saw)
{
	struct aom_figures f = { 0 };

	aom_sums(set, n, &f);
	c->mean = (double)f.mean_ns;
	c->has_mean = f.known;
	if (fig->what == CDF)
		draw_cdf(c, set, n);
	else if (saw)
		draw_saw(c, set[0], begin);
	else
		draw_age(c, set, n, begin);
}

void
add_ages(struct figure *fig, const char *name,
    const struct aom *const set[], char *const label[], size_t n)
{
	const bool few = count_teeth(set, n) <= SAW_TEETH;
	uint64_t begin = UINT64_MAX;

	if (fig->page != NULL) {
		fig->take_ages(fig->page, name, set, label, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (set[i]->from_ns < begin)
			begin = set[i]->from_ns;
	if (fig->by_run) {
		if (n > 0)
			draw_one(fig, add_named(fig, name, NULL), set, n,
			    begin, n == 1 && few);
		return;
	}
	for (size_t i = 0; i < n; i++)
		draw_one(fig, add_named(fig, name, label[i]), set + i, 1,
		    begin, few);
}
