/*
 * group.c - draw several runs as one curve: their mean and a band
 *
 * The points of different runs have different x values.  Therefore, all runs
 * are interpolated at the same x values: linearly between two points of a run,
 * with the first value of the run before all its points, and with the last
 * value after them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"

enum { GRID = 200 };	/* number of steps from the lowest x to the highest */

void
group_add(const struct figure *fig, struct group *g, const char *path)
{
	g->run = realloc(g->run, (g->n + 1) * sizeof(*g->run));
	if (g->run == NULL)
		err(1, "no memory for %zu runs", g->n + 1);
	g->run[g->n] = (struct curve){ 0 };
	read_rewards(fig, path, &g->run[g->n], true);
	if (g->run[g->n].n == 0) {
		warnx("%s: contains no episodes", path);
		curve_free(&g->run[g->n]);
		return;
	}
	g->n++;
}

/*
 * Return the y of run c at x.  The search begins at point *k, which moves
 * forward to x.
 */
static double
interpolate(const struct curve *c, double x, size_t *k)
{
	const double (*at)[2] = (const double (*)[2])c->at;

	while (*k + 1 < c->n && at[*k + 1][0] <= x)
		++*k;
	if (x <= at[*k][0] || *k + 1 == c->n)
		return at[*k][1];
	return at[*k][1] + (at[*k + 1][1] - at[*k][1]) *
	    (x - at[*k][0]) / (at[*k + 1][0] - at[*k][0]);
}

/* Add a point to c at x, from the values of n runs at x. */
static void
put_point(struct curve *c, enum spread spread, double x, const double *y,
    size_t n)
{
	double mean = 0, lo = y[0], hi = y[0], square = 0, sd;

	for (size_t i = 0; i < n; i++) {
		mean += y[i] / (double)n;
		lo = fmin(lo, y[i]);
		hi = fmax(hi, y[i]);
	}
	for (size_t i = 0; i < n; i++)
		square += (y[i] - mean) * (y[i] - mean);
	sd = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
	c->band[c->n][0] = spread == SPREAD_SD ? mean - sd : lo;
	c->band[c->n][1] = spread == SPREAD_SD ? mean + sd : hi;
	curve_point(c, x, mean);
}

/* Add a curve with a label such as "olaf: mean of 5, standard deviation". */
static struct curve *
add_group(struct figure *fig, const struct group *g)
{
	const char *shade = fig->spread == SPREAD_SD ? "standard deviation" :
	    "lowest to highest";
	struct curve *c;
	char *label;

	if ((g->n == 1 ? asprintf(&label, "%s: one run", g->name) :
	    asprintf(&label, "%s: mean of %zu, %s", g->name, g->n, shade)) ==
	    -1)
		err(1, "no memory for a label");
	c = figure_add(fig, label);
	free(label);
	c->name = strdup(g->name);
	c->band = calloc(GRID + 1, sizeof(*c->band));
	if (c->band == NULL || c->name == NULL)
		err(1, "no memory for %d points", GRID + 1);
	return c;
}

void
group_draw(struct figure *fig, struct group *g)
{
	struct curve *c = add_group(fig, g);
	size_t *k = calloc(g->n + 1, sizeof(*k));
	double *y = calloc(g->n + 1, sizeof(*y));
	double from = INFINITY, to = -INFINITY, x;

	if (k == NULL || y == NULL)
		err(1, "no memory for %zu runs", g->n);
	for (size_t i = 0; i < g->n; i++) {
		from = fmin(from, g->run[i].at[0][0]);
		to = fmax(to, g->run[i].at[g->run[i].n - 1][0]);
	}
	for (int p = 0; p <= GRID && g->n > 0; p++) {
		x = p == GRID ? to : from + (to - from) * p / GRID;
		for (size_t i = 0; i < g->n; i++)
			y[i] = interpolate(&g->run[i], x, &k[i]);
		put_point(c, fig->spread, x, y, g->n);
		if (from == to)
			break;
	}
	for (size_t i = 0; i < g->n; i++)
		curve_free(&g->run[i]);
	free(g->run);
	free(k);
	free(y);
}
