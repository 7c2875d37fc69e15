/*
 * script.c - write the commands for gnuplot
 *
 * Labels are quoted.  If there are few curves, each curve has its name at its
 * end, in the colour of the curve.  Many curves, bars, and pictures that are
 * drawn with characters have a legend.
 */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/innet-plot/plot.h"

enum {
	LEGEND_MAX = 24,	/* largest legend; a longer legend would hide
				 * the curves */
	DIRECT_MAX = 10,	/* largest number of names at the ends of
				 * curves; there is no room for more */
	DIRECT_WIDE = 40,	/* longest name at the end of a curve, in
				 * characters */
	BANDS_MAX = 2,		/* largest number of bands of ages; more bands
				 * would be unclear */
	TICKS_MAX = 12		/* largest number of labels; more labels would
				 * hide each other */
};

size_t
text_character(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	const size_t n = s[0] < ' ' || s[0] == 0x7f ? 0 : s[0] < 0x80 ? 1 :
	    s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
	    s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/*
 * Write s in gnuplot's single quotes, without characters that could end the
 * line.  Double the characters in `twice`, for example % in a format.
 */
static void
put_twice(FILE *f, const char *s, const char *twice)
{
	fputc('\'', f);
	while (*s != '\0') {
		const size_t n = text_character(s);

		if (strchr(twice, *s) != NULL)
			fputc(*s, f);
		if (n == 0)
			fputc('?', f);
		else
			fwrite(s, 1, n, f);
		s += n == 0 ? 1 : n;
	}
	fputc('\'', f);
}

static void
put_quoted(FILE *f, const char *s)
{
	put_twice(f, s, "'");
}

static void
put_terminal(FILE *f, enum terminal as)
{
	struct winsize w = { 0 };

	switch (as) {
	case SVG:
		fputs("set terminal svg size 960,540 noenhanced "
		    "font 'sans-serif,14' background rgb 'white'\n", f);
		break;
	case INLINE:
		fputs("set terminal svg size 720,420 noenhanced "
		    "font 'sans-serif,14'\n", f);
		break;
	case PNG:
		fputs("set terminal pngcairo size 960,540 noenhanced "
		    "font 'sans-serif,11'\n", f);
		break;
	default:
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == -1 ||
		    w.ws_col < 20 || w.ws_row < 10)
			w = (struct winsize){ .ws_col = 79, .ws_row = 25 };
		fprintf(f, "set terminal dumb %u %u noenhanced\n",
		    w.ws_col, w.ws_row - 1u);
	}
}

/*
 * Write the points of all curves as blocks $d0, $d1 and so on.  A curve with a
 * band has two more columns, and bars with errors have one more column.
 */
static void
put_data(FILE *f, const struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		if (c->n == 0)
			continue;
		fprintf(f, "$d%zu << EOD\n", i);
		for (size_t k = 0; k < c->n; k++) {
			fprintf(f, "%.12g %.12g", c->at[k][0], c->at[k][1]);
			if (c->band != NULL && fig->what == BARS)
				fprintf(f, " %.12g", c->band[k][0]);
			else if (c->band != NULL)
				fprintf(f, " %.12g %.12g", c->band[k][0],
				    c->band[k][1]);
			fputc('\n', f);
		}
		fputs("EOD\n", f);
	}
}

/* Write the labels of the x axis. */
static void
put_ticks(FILE *f, const struct figure *fig)
{
	fputs("set xtics (", f);
	for (size_t i = 0; i < fig->ticks; i++) {
		fputs(i == 0 ? "" : ", ", f);
		put_twice(f, fig->tick[i], "'%");
		fprintf(f, " %.12g", fig->tick_at != NULL ? fig->tick_at[i] :
		    (double)i);
	}
	fputs(")\n", f);
}

/* Does any bar have an error? */
static bool
has_errors(const struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++)
		for (size_t k = 0; k < fig->curve[i].n; k++)
			if (fig->curve[i].band[k][0] > 0)
				return true;
	return false;
}

/*
 * Write the range of y, from 0 (or the lowest bar if it is below 0) to the
 * highest bar.
 */
static void
put_heights(FILE *f, const struct figure *fig)
{
	double lo = 0, hi = 0;

	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		for (size_t k = 0; k < c->n; k++) {
			lo = fmin(lo, c->at[k][1] - c->band[k][0]);
			hi = fmax(hi, c->at[k][1] + c->band[k][0]);
		}
	}
	fprintf(f, "set yrange [%.12g:%.12g]\n", lo, lo < hi ? hi : 1);
}

/* Write the settings of bars, with error bars and the labels of groups. */
static void
put_bars(FILE *f, const struct figure *fig)
{
	fprintf(f, "set style histogram %s gap 1.5\n",
	    has_errors(fig) ? "errorbars" : "clustered");
	fputs("set errorbars linecolor rgb '#333333'\n"
	    "set style fill solid 0.85 noborder\nset boxwidth 0.9\n"
	    "set xtics scale 0\n", f);
	put_ticks(f, fig);
	put_heights(f, fig);
}

/* Return the columns of a curve and the style that joins its points. */
static const char *
join_style(const struct figure *fig, const struct curve *c)
{
	if (fig->what == BARS)
		return has_errors(fig) ? "using 2:3 with histograms" :
		    "using 2 with histograms";
	if (fig->what == LINES)
		return c->band != NULL ? "using 1:2:3:4 with yerrorlines" :
		    "using 1:2 with linespoints";
	return fig->axes.steps ? "using 1:2 with steps" :
	    "using 1:2 with lines";
}

static bool
in_panel(const struct curve *c, int panel)
{
	return c->panel == panel && c->n > 0;
}

/* Are bands drawn around the curves? */
static bool
has_bands(const struct figure *fig)
{
	size_t n = 0, bands = 0;

	for (size_t i = 0; i < fig->n; i++) {
		n += fig->curve[i].n > 0;
		bands += fig->curve[i].n > 0 && fig->curve[i].band != NULL;
	}
	return bands > 0 && (fig->what == REWARDS || (fig->what == AGE &&
	    n <= BANDS_MAX));
}

/*
 * Write the plot command.  Bands are drawn below all curves, and each band has
 * the colour of its curve.
 */
static void
put_plot(FILE *f, const struct figure *fig, enum terminal as, int panel)
{
	const char *sep = "plot ";
	const bool bands = as != DUMB && has_bands(fig);

	for (size_t i = 0; i < fig->n && bands; i++) {
		const struct curve *c = &fig->curve[i];

		if (!in_panel(c, panel) || c->band == NULL)
			continue;
		fprintf(f, "%s$d%zu using 1:3:4 with filledcurves "
		    "fillstyle transparent solid 0.2 noborder "
		    "linecolor rgb '%s' notitle", sep, i, c->colour);
		sep = ", ";
	}
	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		if (!in_panel(c, panel))
			continue;
		fprintf(f, "%s$d%zu %s ", sep, i, join_style(fig, c));
		if (fig->what == LINES)
			fputs("pointtype 7 pointsize 0.6 ", f);
		if (as != DUMB)
			fprintf(f, "linewidth %s dashtype %u linecolor rgb "
			    "'%s' ", fig->what == BARS ? "1" : "2", fig->what ==
			    BARS ? 1 : c->dash, c->colour);
		if (fig->what == BARS && as != DUMB)
			fprintf(f, "fillstyle solid %.2f ", c->dash == 1 ? 0.9 :
			    1.0 / c->dash);
		fputs("title ", f);
		put_quoted(f, c->label);
		sep = ", ";
	}
	fputc('\n', f);
}

/* The range of the points and bands of a panel. */
struct extent {
	double x[2], y[2];
};

static void
widen_span(double span[2], double v)
{
	if (isnan(v))
		return;
	span[0] = fmin(span[0], v);
	span[1] = fmax(span[1], v);
}

/* Find the range of a panel.  The y of ages and of lines begins at 0. */
static struct extent
find_extent(const struct figure *fig, int panel)
{
	const bool zero = fig->what == AGE || fig->what == LINES;
	const bool bands = has_bands(fig) || fig->what == LINES;
	struct extent e = { { INFINITY, -INFINITY }, { zero ? 0 : INFINITY,
	    zero ? 0 : -INFINITY } };

	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];

		for (size_t k = 0; k < c->n && c->panel == panel; k++) {
			widen_span(e.x, c->at[k][0]);
			widen_span(e.y, c->at[k][1]);
			if (c->band == NULL || !bands)
				continue;
			widen_span(e.y, c->band[k][0]);
			widen_span(e.y, c->band[k][1]);
		}
	}
	if (fig->what == CDF)
		e.y[0] = 0;
	if (fig->what == CDF || fig->what == AGE)
		e.x[0] = fmin(e.x[0], 0);
	return e;
}

static const char *
curve_name(const struct curve *c)
{
	return c->name != NULL ? c->name : c->label;
}

/*
 * Return the length of the longest name in bytes, or 0 if there is no room for
 * the names of all curves at their ends.
 */
static size_t
direct_width(const struct figure *fig, enum terminal as)
{
	size_t widest = 0, n[PANELS] = { 0 };

	if (as == DUMB || fig->what == BARS)
		return 0;
	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];
		const size_t wide = strlen(curve_name(c));

		if (c->n == 0)
			continue;
		if (++n[c->panel] > DIRECT_MAX || wide > DIRECT_WIDE)
			return 0;
		widest = wide > widest ? wide : widest;
	}
	return widest;
}

static void
put_name(FILE *f, const struct curve *c, double x, double y)
{
	fputs("set label ", f);
	put_quoted(f, curve_name(c));
	fprintf(f, " at first %.12g, first %.12g left offset character 0.6, 0 "
	    "textcolor rgb '%s' front\n", x, y, c->colour);
}

/* Return the x at which a distribution reaches a given share. */
static double
share_reached(const struct curve *c, double share)
{
	size_t k = 0;

	while (k + 1 < c->n && c->at[k][1] < share)
		k++;
	return c->at[k][0];
}

/* Write the name of a distribution with steps beside its highest step. */
static void
name_step(FILE *f, const struct curve *c)
{
	size_t k = c->n > 1;

	for (size_t i = 1; i < c->n; i++)
		if (c->at[i][1] - c->at[i - 1][1] >
		    c->at[k][1] - c->at[k - 1][1])
			k = i;
	put_name(f, c, c->at[k][0], k == 0 ? 1 : (c->at[k - 1][1] +
	    c->at[k][1]) / 2);
}

/*
 * Write the name of a distribution at the place where the next curve is
 * farthest away.
 */
static void
name_beside(FILE *f, const struct figure *fig, const struct curve *c)
{
	double best = -1, at = 0.5;

	for (int i = 3; i <= 9; i++) {
		const double x = share_reached(c, i / 10.0);
		double gap = INFINITY;

		for (size_t k = 0; k < fig->n; k++) {
			const struct curve *o = &fig->curve[k];
			const double by = o->n == 0 || o == c ? INFINITY :
			    share_reached(o, i / 10.0) - x;

			if (by >= 0)
				gap = fmin(gap, by);
		}
		if (gap > best || (isinf(gap) && i <= 6)) {
			best = gap;
			at = i / 10.0;
		}
	}
	put_name(f, c, share_reached(c, at), at);
}

/* A curve, and the position of its name, which is at the end of the curve. */
struct end {
	const struct curve *c;
	double x, y;
};

/* Write the names at the ends of a panel's curves, so that none overlap. */
static void
put_ends(FILE *f, const struct figure *fig, int panel, struct extent e)
{
	const double least = (e.y[1] - e.y[0]) * 0.05;
	struct end end[DIRECT_MAX];
	size_t n = 0, k;

	for (size_t i = 0; i < fig->n; i++) {
		const struct curve *c = &fig->curve[i];
		double y;

		if (!in_panel(c, panel))
			continue;
		y = c->at[c->n - 1][1];
		for (k = n++; k > 0 && end[k - 1].y > y; k--)
			end[k] = end[k - 1];
		end[k] = (struct end){ c, c->at[c->n - 1][0], y };
		if (end[k].x > e.x[0] + 0.8 * (e.x[1] - e.x[0]))
			end[k].x = e.x[1];
	}
	for (k = 1; k < n; k++)
		end[k].y = fmax(end[k].y, end[k - 1].y + least);
	for (k = n; k-- > 0;) {
		end[k].y = fmin(end[k].y, k + 1 == n ? e.y[1] :
		    end[k + 1].y - least);
		put_name(f, end[k].c, end[k].x, end[k].y);
	}
}

/* Write a panel.  Its axes end where the data end. */
static void
put_panel(FILE *f, const struct figure *fig, enum terminal as, int panel)
{
	const struct extent e = find_extent(fig, panel);
	const bool direct = direct_width(fig, as) > 0;

	if (fig->what != BARS && as != DUMB) {
		if (e.x[0] < e.x[1])
			fprintf(f, "set xrange [%.12g:%.12g]\n", e.x[0],
			    e.x[1]);
		if (e.y[0] < e.y[1])
			fprintf(f, "set yrange [%.12g:%.12g]\n", e.y[0],
			    e.y[1]);
	} else if (fig->what == AGE || fig->what == CDF) {
		fputs("set yrange [0:*]\n", f);
	}
	for (size_t i = 0; i < fig->n && direct && fig->what == CDF; i++) {
		if (fig->curve[i].n > 0 && fig->axes.steps)
			name_step(f, &fig->curve[i]);
		else if (fig->curve[i].n > 0)
			name_beside(f, fig, &fig->curve[i]);
	}
	if (direct && fig->what != CDF)
		put_ends(f, fig, panel, e);
	put_plot(f, fig, as, panel);
}

/*
 * Write the panels side by side, or one below the other if they are drawn with
 * characters.
 */
static void
put_panels(FILE *f, const struct figure *fig, enum terminal as)
{
	const bool beside = fig->panels > 1 && as != DUMB;

	if (beside)
		fprintf(f, "set multiplot layout 1,%d\n", fig->panels);
	for (int p = 0; p < fig->panels; p++) {
		fputs(as == DUMB ? "set title " : "set ylabel ", f);
		put_quoted(f, fig->panel[p]);
		fputc('\n', f);
		put_panel(f, fig, as, p);
		fputs("unset label\n", f);
	}
	if (beside)
		fputs("unset multiplot\n", f);
}

/* Write a link.  The busier the link is, the thicker and redder its line is. */
static void
put_wire(FILE *f, const struct figure *fig, const struct wire *w)
{
	const struct node *a = &fig->node[w->from], *b = &fig->node[w->to];
	const double busy = isnan(w->busy) ? 0 : fmin(w->busy, 100) / 100;
	char text[128];

	fprintf(f, "set arrow from %g,%g to %g,%g nohead lw %.2g "
	    "lc rgb '#%02x5050'\n", a->x, a->y, b->x, b->y, 1 + 5 * busy,
	    (unsigned)(80 + 160 * busy));
	if (w->label[0] == '\0' && isnan(w->busy))
		return;
	if (isnan(w->busy))
		snprintf(text, sizeof(text), "%s", w->label);
	else
		snprintf(text, sizeof(text), "%s %.3g %%", w->label, w->busy);
	fputs("set label ", f);
	put_quoted(f, text);
	fprintf(f, " at %g,%g center front boxed bs 2\n", (a->x + b->x) / 2,
	    (a->y + b->y) / 2);
}

static void
put_topology(FILE *f, const struct figure *fig, enum terminal as)
{
	put_terminal(f, as);
	fputs("unset border\nunset tics\nunset key\n"
	    "set style textbox 1 opaque fillcolor 'white' border\n"
	    "set style textbox 2 opaque fillcolor 'white' noborder\n", f);
	for (size_t i = 0; i < fig->wires; i++)
		put_wire(f, fig, &fig->wire[i]);
	for (size_t i = 0; i < fig->nodes; i++) {
		fputs("set label ", f);
		put_quoted(f, fig->node[i].label);
		fprintf(f, " at %g,%g center front boxed bs 1\n",
		    fig->node[i].x, fig->node[i].y);
	}
	fprintf(f, "plot [-0.6:%g] [%g:0.5] NaN notitle\n", fig->wide - 0.4,
	    0.5 - fig->deep);
}

/* Return the line below the title, which explains lines and bands. */
static const char *
explain_lines(const struct figure *fig)
{
	if (fig->what == BARS)
		return has_errors(fig) ? "lines: standard deviation" : "";
	if (fig->n == 0 || fig->curve[fig->n - 1].band == NULL)
		return "";
	if (fig->what == AGE)
		return has_bands(fig) ? "line: mean; band: 5th to 95th "
		    "percentile" : "line: mean";
	if (fig->what == REWARDS)
		return fig->spread == SPREAD_SD ? "line: mean of the runs; "
		    "band: standard deviation" : "line: mean of the runs; "
		    "band: lowest to highest";
	return "bars: uncertainty of each point";
}

/* Write the title, the frame and the margins for names. */
static void
put_frame(FILE *f, const struct figure *fig, enum terminal as)
{
	const size_t wide = direct_width(fig, as);

	fputs("set border 3 linecolor rgb '#888888'\nset tics nomirror\n"
	    "set grid ytics linecolor rgb '#dddddd' linewidth 1\n",
	    f);
	fprintf(f, "set tmargin %d\nset label ", fig->what == BARS &&
	    fig->n > 4 ? 6 : 4);
	put_quoted(f, fig->title != NULL ? fig->title : fig->axes.y);
	fprintf(f, " at screen 0.015, screen 0.955 left font ',%d'\n"
	    "set label '%s' at screen %s textcolor rgb '#555555'\n",
	    as == PNG ? 13 : as == INLINE ? 15 : 17, explain_lines(fig),
	    fig->what == BARS ? "0.985, screen 0.9 right" :
	    "0.015, screen 0.9 left");
	if (wide > 0)
		fprintf(f, "unset key\nset rmargin %zu\n", wide + 3);
	else if (fig->what == BARS)
		fputs("set key at screen 0.015, screen 0.925 left top "
		    "horizontal Left reverse samplen 1\n", f);
	else
		fputs("set key outside right top\n", f);
}

void
put_script(FILE *f, const struct figure *fig, enum terminal as)
{
	if (fig->what == TOPOLOGY) {
		put_topology(f, fig, as);
		return;
	}
	put_terminal(f, as);
	put_data(f, fig);
	fputs("set xlabel ", f);
	put_quoted(f, fig->axes.x);
	fputs(as == DUMB ? "\nset title " : "\nset ylabel ", f);
	put_quoted(f, fig->axes.y);
	fputc('\n', f);
	if (as == DUMB)
		fprintf(f, "set grid\nset key outside %s top\n",
		    fig->what == LINES ? "center" : "right");
	else
		put_frame(f, fig, as);
	if (fig->what == BARS)
		put_bars(f, fig);
	if (fig->what == LINES && fig->ticks <= TICKS_MAX)
		put_ticks(f, fig);
	if (fig->n > LEGEND_MAX)
		fputs("unset key\n", f);
	if (fig->what == LINES)
		put_panels(f, fig, as);
	else
		put_panel(f, fig, as, 0);
}
