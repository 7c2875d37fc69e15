/* innet-plot - draw what the other tools measured */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/plot.h"
#include "common/num.h"
#include "common/opt.h"

enum { O_BY = OPT_LONG, O_CLUSTER, O_SMOOTH, O_X, O_SCRIPT };

static const struct opt opts[] = {
	{ 'o', "output", "FILE", "draw into FILE.svg or FILE.png (default -)" },
	{ O_BY, "by", "WHAT", "cdf: a curve a cluster or a run" },
	{ O_CLUSTER, "cluster", "N", "draw the ages of this cluster alone" },
	{ O_SMOOTH, "smooth", "N", "rewards: mean of N episodes (default 100)" },
	{ O_X, "x", "WHAT", "rewards over step (default), episode, seconds" },
	{ O_SCRIPT, "script", NULL, "print what gnuplot would be given" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-plot", PACKAGE_VERSION,
	"[-o FILE] [OPTION]... age|cdf|rewards FILE...",
	"Draw ages, their distribution, or rewards with gnuplot.\n"
	"FILEs are captures, and the CSV and reports that innet's tools write.",
	opts
};

struct conf {
	struct figure fig;
	enum terminal as;
	const char *out;
	char **files;
	int n;
};

/* What the end of the file's name asks for. */
static enum terminal
terminal_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (strcmp(path, "-") == 0)
		return DUMB;
	if (dot != NULL && strcmp(dot, ".svg") == 0)
		return SVG;
	if (dot != NULL && strcmp(dot, ".png") == 0)
		return PNG;
	errx(2, "invalid output '%s': neither .svg nor .png nor -", path);
}

/* Take one option into cf; *run is -1 until --by. */
static void
take_option(struct conf *cf, int ch, int *run)
{
	static const char *const by[] = { "cluster", "run", NULL };
	static const char *const x[] = { "step", "episode", "seconds", NULL };
	uint64_t v = 0;

	switch (ch) {
	case 'o': cf->out = optarg; break;
	case O_BY: *run = opt_word("curve", optarg, by); break;
	case O_CLUSTER:
		opt_check("cluster", optarg, num_u64(optarg, 0, UINT16_MAX,
		    &v));
		cf->fig.cluster = (int64_t)v;
		break;
	case O_SMOOTH:
		opt_check("count", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &cf->fig.smooth));
		break;
	case O_X: cf->fig.axis = opt_word("axis", optarg, x); break;
	case O_SCRIPT: cf->as = SCRIPT; break;
	}
}

/* Options may stand before, between and behind the words. */
static struct conf
parse(int argc, char *argv[])
{
	static const char *const what[] = { "age", "cdf", "rewards", NULL };
	struct conf cf = { .out = "-", .fig = { .cluster = -1, .smooth = 100 } };
	int run = -1, ch;
	bool rest = false;

	cf.files = calloc((size_t)argc + 1, sizeof(*cf.files));
	if (cf.files == NULL)
		err(1, "arguments");
	while (optind < argc) {
		while (!rest && (ch = opt_next(&tool, argc, argv)) != -1)
			take_option(&cf, ch, &run);
		rest |= strcmp(argv[optind - 1], "--") == 0;
		if (optind < argc)
			cf.files[cf.n++] = argv[optind++];
	}
	if (cf.n == 0)
		errx(2, "nothing to draw: age, cdf or rewards");
	cf.fig.what = opt_word("plot", cf.files[0], what);
	memmove(cf.files, cf.files + 1, (size_t)cf.n-- * sizeof(*cf.files));
	if (cf.n == 0)
		errx(2, "no files to draw");
	cf.fig.by_run = run == -1 ? cf.n > 1 : run == 1;
	if (cf.as != SCRIPT)
		cf.as = terminal_of(cf.out);
	return cf;
}

/* The name of a file for the legend: no directory, no ending. */
static char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash != NULL && slash[1] != '\0' ? slash + 1 :
	    path), *dot;

	if (name == NULL)
		err(1, "%s", path);
	dot = strrchr(name, '.');
	if (dot != NULL && dot != name)
		*dot = '\0';
	return name;
}

static bool
ends(const char *s, const char *with)
{
	const size_t n = strlen(s), k = strlen(with);

	return n >= k && strcmp(s + n - k, with) == 0;
}

/* Add the curves of one file, which its ending says how to read. */
static void
take_file(struct figure *fig, const char *path, bool first)
{
	const bool json = fig->what == CDF && ends(path, ".json");
	char *name = name_of(path);

	if (!first && json != fig->aggregations)
		errx(2, "%s: reports and ages cannot be in one plot", path);
	fig->aggregations = json;
	if (fig->what == REWARDS)
		take_rewards(fig, path, name);
	else if (json)
		take_report(fig, path, name);
	else if (ends(path, ".csv"))
		take_series(fig, path, name);
	else
		take_capture(fig, path, name);
	free(name);
}

static struct axes
axes_of(const struct figure *fig)
{
	static const char *const over[] = { "step", "episode",
	    "time in seconds" };

	if (fig->what == REWARDS)
		return (struct axes){ over[fig->axis], "mean reward", false };
	if (fig->what == AGE)
		return (struct axes){ "time in seconds",
		    "Age-of-Model in ms", false };
	if (fig->aggregations)
		return (struct axes){ "aggregations in a packet",
		    "share of packets", true };
	return (struct axes){ "Age-of-Model in ms", "share of time", false };
}

static bool
has_points(const struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++)
		if (fig->curve[i].n > 0)
			return true;
	return false;
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse(argc, argv);
	int rc;

	for (int i = 0; i < cf.n; i++)
		take_file(&cf.fig, cf.files[i], i == 0);
	cf.fig.axes = axes_of(&cf.fig);
	if (!has_points(&cf.fig))
		errx(1, "nothing to draw in %s", cf.files[0]);
	rc = figure_draw(&cf.fig, cf.as, cf.out) | cf.fig.rc;
	figure_free(&cf.fig);
	free(cf.files);
	return rc;
}
