/*
 * title.c - write a title that summarizes the data of a figure
 *
 * Ages must still be in nanoseconds.  A figure that cannot be summarized gets
 * no title.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"

#define SAME 1.05	/* ratios below this value are not mentioned */

enum { NUMBER = 48, NAMED = 4 };	/* NAMED: if there are more curves, name
					 * only two */

static const char *
curve_name(const struct curve *c)
{
	return c->name != NULL ? c->name : c->label;
}

__attribute__((format(printf, 2, 3)))
static void
set_title(struct figure *fig, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&fig->title, format, ap) == -1)
		err(1, "no memory for a title");
	va_end(ap);
}

/* A function that returns the value by which curves are compared. */
typedef double value_fn(const struct curve *c);

static double
mean_age(const struct curve *c)
{
	return c->has_mean ? c->mean : NAN;
}

static double
last_of(const struct curve *c)
{
	return c->n > 0 ? c->at[c->n - 1][1] : NAN;
}

/* Return the mean of a distribution that is drawn as steps. */
static double
mean_of_steps(const struct curve *c)
{
	double sum = 0;

	for (size_t i = 1; i < c->n; i++)
		sum += c->at[i][0] * (c->at[i][1] - c->at[i - 1][1]);
	return c->n > 0 ? sum : NAN;
}

/*
 * Find the curves with the lowest and the highest value; return the number of
 * curves that have a value.
 */
static size_t
find_ends(const struct figure *fig, value_fn *value, const struct curve **lo,
    const struct curve **hi)
{
	size_t n = 0;

	*lo = *hi = NULL;
	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		if (isnan(value(c)))
			continue;
		n++;
		if (*lo == NULL || value(c) < value(*lo))
			*lo = c;
		if (*hi == NULL || value(c) > value(*hi))
			*hi = c;
	}
	return n;
}

static void
title_ages(struct figure *fig)
{
	const struct curve *lo, *hi;
	const size_t n = find_ends(fig, mean_age, &lo, &hi);
	char least[NUMBER], most[NUMBER], times[NUMBER];

	if (n == 0)
		return;
	put_time(least, sizeof(least), lo->mean);
	put_time(most, sizeof(most), hi->mean);
	snprintf(times, sizeof(times), "%.*f", hi->mean < 10 * lo->mean,
	    hi->mean / lo->mean);
	if (n == 1)
		set_title(fig, "%s: the model is %s old on average",
		    curve_name(lo), least);
	else if (lo->name != NULL && hi->mean > lo->mean)
		set_title(fig, "%s is the freshest, %s old on average, %s the "
		    "stalest, %s", lo->name, least, curve_name(hi), most);
	else if (!(hi->mean >= SAME * lo->mean))
		set_title(fig,
		    "The model is about as old with each: %s to %s on "
		    "average",
		    least, most);
	else
		set_title(fig,
		    "%s keeps the model %s times fresher than %s: %s old "
		    "on average, not %s",
		    curve_name(lo), times, curve_name(hi), least, most);
}

/*
 * Write a list such as "olaf 500, fifo 457", or only the highest and the lowest
 * value of many curves.
 */
static void
list_values(const struct figure *fig, value_fn *value, char *to, size_t room)
{
	const struct curve *lo, *hi;
	const size_t n = find_ends(fig, value, &lo, &hi);
	char v[NUMBER], w[NUMBER];
	size_t at = 0;

	to[0] = '\0';
	if (n > NAMED) {
		put_number(v, sizeof(v), value(hi));
		put_number(w, sizeof(w), value(lo));
		snprintf(to, room, "%s %s, the most, %s %s, the least",
		    curve_name(hi), v, curve_name(lo), w);
		return;
	}
	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		if (isnan(value(c)) || at >= room)
			continue;
		put_number(v, sizeof(v), value(c));
		at += (size_t)snprintf(to + at, room - at, "%s%s %s",
		    at == 0 ? "" : ", ", curve_name(c), v);
	}
}

/*
 * Find the lowest and the highest ratio of b to a over all x values that both
 * curves have.  Return false if there is no such x value, or if a value is not
 * positive.
 */
static bool
find_ratios(const struct curve *a, const struct curve *b, double *lo,
    double *hi)
{
	*lo = INFINITY;
	*hi = 0;
	for (size_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < b->n; k++) {
			const double r = b->at[k][1] / a->at[i][1];

			if (a->at[i][0] != b->at[k][0] || isnan(r))
				continue;
			if (!(a->at[i][1] > 0) || !(b->at[k][1] > 0))
				return false;
			*lo = fmin(*lo, r);
			*hi = fmax(*hi, r);
		}
	}
	return *hi > 0;
}

/* Write a title with the ratio of two series, if there are exactly two. */
static void
title_pair(struct figure *fig)
{
	const struct curve *a = NULL, *b = NULL;
	char low[NUMBER], high[NUMBER];
	double lo, hi;

	for (size_t i = 0; i < fig->n; i++) {
		if (fig->curve[i].panel != 0)
			continue;
		if (b != NULL)
			return;
		*(a == NULL ? &a : &b) = &fig->curve[i];
	}
	if (b == NULL || !find_ratios(a, b, &lo, &hi))
		return;
	if (lo * hi < 1) {
		const struct curve *c = a;

		a = b;
		b = c;
		find_ratios(a, b, &lo, &hi);
	}
	put_number(low, sizeof(low), lo);
	put_number(high, sizeof(high), hi);
	set_title(fig, "%s%s%s is %s%s%s times %s", fig->what == LINES ?
	    fig->panel[0] : "", fig->what == LINES ? ": " : "", curve_name(b),
	    low, strcmp(low, high) == 0 ? "" : " to ", strcmp(low, high) ==
	    0 ? "" : high, curve_name(a));
}

void
figure_title(struct figure *fig)
{
	char list[400];

	if (fig->title != NULL)
		return;
	if (fig->what == BARS || fig->what == LINES) {
		title_pair(fig);
	} else if (fig->what == CDF && fig->aggregations) {
		list_values(fig, mean_of_steps, list, sizeof(list));
		set_title(fig, "Aggregations in a packet, on average: %s",
		    list);
	} else if (fig->what == REWARDS) {
		list_values(fig, last_of, list, sizeof(list));
		set_title(fig, "Mean reward at the end: %s", list);
	} else if (fig->what != TOPOLOGY) {
		title_ages(fig);
	}
}
