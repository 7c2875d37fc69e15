/*
 * gnuplot.c - have gnuplot draw a figure
 *
 * Commands and data go to gnuplot through a pipe; what it draws comes back on
 * its standard output, which is the file, so no name but of the fonts is ever
 * seen by gnuplot.  Labels are quoted.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/innet-plot/plot.h"
#include "common/base/atomic-file.h"

enum {
	LEGEND_MAX = 24,	/* more would hide the curves */
	TICKS_MAX = 12		/* more would hide each other */
};

/* s in gnuplot's single quotes, without what could end the line. */
static void
put_quoted(FILE *f, const char *s)
{
	fputc('\'', f);
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			fputc('\'', f);
		fputc((unsigned char)*s < ' ' || *s == '\177' ? '?' : *s, f);
	}
	fputc('\'', f);
}

static void
put_terminal(FILE *f, enum terminal as)
{
	struct winsize w = { 0 };

	switch (as) {
	case SVG:
		fputs("set terminal svg size 960,540 noenhanced "
		    "background rgb 'white'\n", f);
		break;
	case PNG:
		fputs("set terminal pngcairo size 960,540 noenhanced\n", f);
		break;
	default:
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == -1 ||
		    w.ws_col < 20 || w.ws_row < 10)
			w = (struct winsize){ .ws_col = 79, .ws_row = 25 };
		fprintf(f, "set terminal dumb %u %u noenhanced\n",
		    w.ws_col, w.ws_row - 1u);
	}
}

/* Labels of groups are long. */
static bool
has_bands(const struct figure *fig)
{
	return fig->n > 0 && fig->what == REWARDS &&
	    fig->curve[fig->n - 1].band != NULL;
}

/* The points of all curves as blocks, $d0 and on; bands have two words more. */
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

/* Words on the axis of x. */
static void
put_ticks(FILE *f, const struct figure *fig)
{
	fputs("set xtics (", f);
	for (size_t i = 0; i < fig->ticks; i++) {
		fputs(i == 0 ? "" : ", ", f);
		put_quoted(f, fig->tick[i]);
		fprintf(f, " %.12g", fig->tick_at != NULL ? fig->tick_at[i] :
		    (double)i);
	}
	fputs(")\n", f);
}

/* What only bars need: the labels of their groups, errors in the middle. */
static void
put_bars(FILE *f, const struct figure *fig)
{
	fputs("set style histogram errorbars gap 1.5 lw 1\n"
	    "set style fill solid 0.6 border -1\n", f);
	put_ticks(f, fig);
	fputs("set yrange [*<0:0<*]\n", f);
}

/* How the points of a curve are joined. */
static const char *
joined(const struct figure *fig, const struct curve *c)
{
	if (fig->what == BARS)
		return "using 2:3 with histograms";
	if (fig->what == LINES)
		return c->band != NULL ? "using 1:2:3:4 with yerrorlines" :
		    "using 1:2 with linespoints";
	return fig->axes.steps ? "using 1:2 with steps lw 1.5" :
	    "using 1:2 with lines lw 1.5";
}

/* The bands lie below all curves, each in its curve's colour. */
static void
put_plot(FILE *f, const struct figure *fig, enum terminal as, int panel)
{
	const char *sep = "plot ";
	size_t colour = 0;

	for (size_t i = 0; i < fig->n && fig->what == REWARDS; i++) {
		if (fig->curve[i].n == 0 || fig->curve[i].band == NULL ||
		    as == DUMB)
			continue;
		fprintf(f, "%s$d%zu using 1:3:4 with filledcurves "
		    "fillstyle transparent solid 0.2 noborder "
		    "linetype %zu notitle", sep, i, i + 1);
		sep = ", ";
	}
	for (size_t i = 0; i < fig->n; i++) {
		if (fig->curve[i].panel != panel)
			continue;
		colour++;
		if (fig->curve[i].n == 0)
			continue;
		fprintf(f, "%s$d%zu %s linetype %zu title ", sep, i,
		    joined(fig, &fig->curve[i]), colour);
		put_quoted(f, fig->curve[i].label);
		sep = ", ";
	}
	fputc('\n', f);
}

/* Side by side; in letters one below the other. */
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
		put_plot(f, fig, as, p);
	}
	if (beside)
		fputs("unset multiplot\n", f);
}

/* A link is as thick, and as red, as it is busy. */
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

static void
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
	fputs("\nset grid\n", f);
	fputs(has_bands(fig) ?
	    "set key outside center top\nset autoscale xfix\n" :
	    "set key outside right top\n", f);
	fputs(fig->what == CDF ? "set yrange [0:1]\n"
	    "set offsets graph 0.02, graph 0.02, 0, 0\n" :
	    fig->what == AGE ? "set yrange [0:*]\n" : "", f);
	if (fig->what == BARS)
		put_bars(f, fig);
	if (fig->what == LINES)
		fputs("set key outside center top\n"
		    "set offsets graph 0.02, graph 0.02, 0, 0\n", f);
	if (fig->what == LINES && fig->ticks <= TICKS_MAX)
		put_ticks(f, fig);
	if (fig->n > LEGEND_MAX)
		fputs("unset key\n", f);
	if (fig->what == LINES)
		put_panels(f, fig, as);
	else
		put_plot(f, fig, as, 0);
}

/* Start gnuplot, drawing to the descriptor out: its pid, *to its ear. */
static pid_t
start(int out, FILE **to)
{
	char *argv[] = { "gnuplot", "-d", "-", NULL };
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	sigset_t def;
	int ear[2], rc;
	pid_t pid;

	if (pipe2(ear, O_CLOEXEC) == -1)
		err(1, "pipe");
	sigemptyset(&def);
	sigaddset(&def, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &def);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, ear[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&act, out, STDOUT_FILENO);
	rc = posix_spawnp(&pid, argv[0], &act, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	posix_spawnattr_destroy(&attr);
	close(ear[0]);
	if (rc == 0 && (*to = fdopen(ear[1], "w")) != NULL)
		return pid;
	close(ear[1]);
	if (rc == ENOENT)
		warnx("gnuplot was not found in PATH; on Debian: "
		    "apt-get install gnuplot-nox");
	else
		warnx("gnuplot: %s", strerror(rc != 0 ? rc : errno));
	return -1;
}

/* Draw to the descriptor out: 0, or 1 and a line. */
static int
draw(const struct figure *fig, enum terminal as, int out)
{
	FILE *to = NULL;
	pid_t pid = start(out, &to);
	int status;

	if (pid == -1)
		return 1;
	put_script(to, fig, as);
	fclose(to);		/* if it died early, its status says so */
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(1, "gnuplot");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		warnx("gnuplot: exit status %d", WEXITSTATUS(status));
	else
		warnx("gnuplot: killed by signal %d", WTERMSIG(status));
	return 1;
}

/* Draw into path, whole or not at all. */
static int
draw_file(const struct figure *fig, enum terminal as, const char *path)
{
	struct atomic_file w;
	struct stat st;
	int rc;

	if (atomic_file_open(&w, path) == -1) {
		warn("%s", path);
		return 1;
	}
	rc = draw(fig, as, w.fd);
	if (rc == 0 && w.beside != NULL && fstat(w.fd, &st) == 0 &&
	    st.st_size == 0) {
		warnx("%s: gnuplot drew nothing", path);
		rc = 1;
	}
	if (atomic_file_close(&w, rc == 0) == -1 && rc == 0) {
		warn("%s", path);
		rc = 1;
	}
	return rc;
}

int
figure_draw(const struct figure *fig, enum terminal as, const char *path)
{
	signal(SIGPIPE, SIG_IGN);
	if (as == SCRIPT) {
		put_script(stdout, fig, SVG);
		if (fflush(stdout) == EOF) {
			warn("standard output");
			return 1;
		}
		return 0;
	}
	return draw_file(fig, as, path);
}
