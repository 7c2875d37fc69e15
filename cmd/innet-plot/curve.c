/* curve.c - the curves of a figure, and a way to thin their points */
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"

enum { THIN_BINS = 2000 };	/* twice the number of points across a screen */

struct curve *
figure_add(struct figure *fig, const char *label)
{
	struct curve *c;

	if (fig->n == fig->room) {
		fig->room = fig->room * 2 + 8;
		fig->curve = realloc(fig->curve,
		    fig->room * sizeof(*fig->curve));
		if (fig->curve == NULL)
			err(1, "no memory for %zu curves", fig->room);
	}
	c = &fig->curve[fig->n++];
	*c = (struct curve){ .label = strdup(label) };
	if (c->label == NULL)
		err(1, "no memory for %zu curves", fig->n);
	return c;
}

void
curve_point(struct curve *c, double x, double y)
{
	if (c->n == c->room) {
		c->room = c->room * 2 + 64;
		c->at = realloc(c->at, c->room * sizeof(*c->at));
		if (c->at == NULL)
			err(1, "no memory for %zu points", c->room);
	}
	c->at[c->n][0] = x;
	c->at[c->n++][1] = y;
}

/*
 * Keep only the lowest and the highest point in [from, to), in their order.
 * `kept` is the number of points kept so far; return the new number.
 */
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
	free(c->name);
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
	free(fig->title);
	free(fig->curve);
}
