/* curve.c - curves, and how ages become curves */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/plot.h"
#include "common/olaf/aom.h"

enum { THIN_BINS = 2000 };	/* twice what a screen shows in a row */

struct curve *
figure_add(struct figure *fig, const char *label)
{
	struct curve *c;

	if (fig->n == fig->room) {
		fig->room = fig->room * 2 + 8;
		fig->curve = realloc(fig->curve,
		    fig->room * sizeof(*fig->curve));
		if (fig->curve == NULL)
			err(1, "%zu curves", fig->room);
	}
	c = &fig->curve[fig->n++];
	*c = (struct curve){ .label = strdup(label) };
	if (c->label == NULL)
		err(1, "%zu curves", fig->n);
	return c;
}

void
curve_point(struct curve *c, double x, double y)
{
	if (c->n == c->room) {
		c->room = c->room * 2 + 64;
		c->at = realloc(c->at, c->room * sizeof(*c->at));
		if (c->at == NULL)
			err(1, "%zu points", c->room);
	}
	c->at[c->n][0] = x;
	c->at[c->n++][1] = y;
}

/* Keep of the points in [from, to) the lowest and the highest, in order. */
static size_t
keep_two(struct curve *c, size_t kept, size_t from, size_t to)
{
	size_t lo = from, hi = from, first, last;

	for (size_t i = from; i < to; i++) {
		if (c->at[i][1] < c->at[lo][1])
			lo = i;
		if (c->at[i][1] >= c->at[hi][1])
			hi = i;
	}
	first = lo < hi ? lo : hi;
	last = lo < hi ? hi : lo;
	memmove(c->at[kept++], c->at[first], sizeof(*c->at));
	if (last != first)
		memmove(c->at[kept++], c->at[last], sizeof(*c->at));
	return kept;
}

void
curve_thin(struct curve *c)
{
	size_t kept = 0, from = 0, to;
	double wide;

	if (c->n <= 4 * THIN_BINS)
		return;
	wide = (c->at[c->n - 1][0] - c->at[0][0]) / THIN_BINS;
	for (size_t b = 1; from < c->n; b++, from = to) {
		const double end = c->at[0][0] + (double)b * wide;

		for (to = from; to < c->n && (b >= THIN_BINS ||
		    c->at[to][0] < end); to++)
			;
		if (to > from)
			kept = keep_two(c, kept, from, to);
	}
	c->n = kept;
}

void
curve_free(struct curve *c)
{
	free(c->label);
	free(c->at);
	free(c->band);
}

void
figure_free(struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++)
		curve_free(&fig->curve[i]);
	for (size_t i = 0; i < fig->ticks; i++)
		free(fig->tick[i]);
	free(fig->tick);
	free(fig->tick_at);
	for (size_t i = 0; i < fig->nodes; i++)
		free(fig->node[i].label);
	for (size_t i = 0; i < fig->wires; i++) {
		free(fig->wire[i].label);
		free(fig->wire[i].of);
	}
	free(fig->node);
	free(fig->wire);
	for (int p = 0; p < PANELS; p++)
		free(fig->panel[p]);
	free(fig->curve);
}

/* "name" or "name: cluster 1", for the legend. */
static struct curve *
add_named(struct figure *fig, const char *name, const char *cluster)
{
	struct curve *c;
	char *label;

	if (cluster == NULL)
		return figure_add(fig, name);
	if (asprintf(&label, "%s: cluster %s", name, cluster) == -1)
		err(1, "label");
	c = figure_add(fig, label);
	free(label);
	return c;
}

static void
draw_age(struct curve *c, const struct aom *a, uint64_t begin)
{
	uint64_t t = a->from_ns;

	for (size_t i = 0; i < a->teeth; i++) {
		const struct aom_tooth *x = &a->tooth[i];

		curve_point(c, (double)(t - begin) / 1e9,
		    (double)x->lo_ns / 1e6);
		t += x->hi_ns - x->lo_ns;
		curve_point(c, (double)(t - begin) / 1e9,
		    (double)x->hi_ns / 1e6);
	}
	curve_thin(c);
}

static void
draw_cdf(struct curve *c, const struct aom *const set[], size_t n)
{
	struct aom_point p[AOM_CDF_POINTS];
	const int points = aom_cdf(set, n, p);

	if (points == -1)
		err(1, "distribution");
	for (int i = 0; i < points; i++)
		curve_point(c, (double)p[i].age_ns / 1e6, p[i].share);
}

void
draw_machines(struct figure *fig, const char *name,
    const struct aom *const set[], char *const label[], size_t n)
{
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (set[i]->from_ns < begin)
			begin = set[i]->from_ns;
	if (fig->what == CDF && fig->by_run) {
		draw_cdf(add_named(fig, name, NULL), set, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct curve *c = add_named(fig, name, label[i]);

		if (fig->what == CDF)
			draw_cdf(c, set + i, 1);
		else
			draw_age(c, set[i], begin);
	}
}
