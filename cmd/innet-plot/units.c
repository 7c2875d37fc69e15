/* units.c - convert times to a suitable unit, which the axis labels name */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"

static const struct unit {
	const char *name;
	double ns;
} unit[] = {
	{ "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }
};

/* Return the largest unit in which the time `ns` is at least 1. */
static const struct unit *
choose_unit(double ns)
{
	const struct unit *u = unit;

	while (u < unit + 3 && ns < u->ns)
		u++;
	return u;
}

void
put_number(char *to, size_t room, double v)
{
	const double size = fabs(v);

	snprintf(to, room, "%.*f", size == 0 || size >= 99.95 ? 0 : size >=
	    9.995 ? 1 : size >= 0.9995 ? 2 : 3, v);
}

void
put_time(char *to, size_t room, double ns)
{
	const struct unit *u = choose_unit(ns);
	char digits[40];

	put_number(digits, sizeof(digits), ns / u->ns);
	snprintf(to, room, "%s %s", digits, u->name);
}

/* Return the largest x (k = 0) or y (k = 1) of a panel's points. */
static double
find_greatest(const struct figure *fig, int panel, int k)
{
	double most = 0;

	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		for (size_t p = 0; p < c->n && c->panel == panel; p++)
			most = fmax(most, c->at[p][k]);
	}
	return most;
}

static void
divide_values(struct figure *fig, int panel, int k, double by)
{
	for (size_t i = 0; i < fig->n; i++) {
		struct curve *c = &fig->curve[i];

		for (size_t p = 0; p < c->n && c->panel == panel; p++) {
			c->at[p][k] /= by;
			if (c->band != NULL && k == 1) {
				c->band[p][0] /= by;
				c->band[p][1] /= by;
			}
		}
	}
}

/* Convert the values of a panel of lines if they are in nanoseconds. */
static void
scale_panel(struct figure *fig, int panel)
{
	char *name = fig->panel[panel], *label;
	const size_t n = strlen(name);
	const struct unit *u = choose_unit(find_greatest(fig, panel, 1));

	if (n <= 3 || strcmp(name + n - 3, "_ns") != 0)
		return;
	divide_values(fig, panel, 1, u->ns);
	if (asprintf(&label, "%.*s, %s", (int)(n - 3), name, u->name) == -1)
		err(1, "no memory for labels");
	free(name);
	fig->panel[panel] = label;
}

void
figure_scale(struct figure *fig)
{
	const int age = fig->what == AGE ? 1 : 0;
	const struct unit *u;

	for (int p = 0; p < fig->panels; p++)
		scale_panel(fig, p);
	if (fig->nanoseconds) {
		u = choose_unit(find_greatest(fig, 0, 1));
		divide_values(fig, 0, 1, u->ns);
		snprintf(fig->age_unit, sizeof(fig->age_unit),
		    "mean age in %s", u->name);
	}
	if (fig->what != AGE && (fig->what != CDF || fig->aggregations))
		return;
	u = choose_unit(find_greatest(fig, 0, age));
	divide_values(fig, 0, age, u->ns);
	snprintf(fig->age_unit, sizeof(fig->age_unit),
	    "Age-of-Model in %s", u->name);
	if (fig->what == CDF)
		return;
	u = choose_unit(find_greatest(fig, 0, 0));
	divide_values(fig, 0, 0, u->ns);
	snprintf(fig->time_unit, sizeof(fig->time_unit), "time in %s",
	    u == unit ? "seconds" : u->name);
}
