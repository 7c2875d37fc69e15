/* main.c - draw the measurements of the other tools */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/page-read.h"
#include "cmd/innet-plot/page.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/capture/clusters.h"

enum {
	O_BY = OPT_LONG, O_CLUSTER, O_GROUP, O_LABEL, O_SMOOTH, O_SPREAD, O_X,
	O_SCRIPT, O_FORMAT, O_TABLE, O_COLUMNS
};

static const struct opt opts[] = {
	{ 'w', "write", "FILE",
	    "write to FILE, which ends with .svg, .png or .html (default: "
	    "standard output)" },
	{ O_BY, "by", "WHAT",
	    "age, cdf: draw one curve for each cluster or for each run: "
	    "cluster or run" },
	{ O_CLUSTER, "cluster", "N", "use only the ages of this cluster" },
	{ O_GROUP, "group", "NAME",
	    "rewards, page: assign the files that follow to the arm NAME" },
	{ O_LABEL, "label", "TEXT", "label of the vertical axis" },
	{ O_SMOOTH, "smooth", "N",
	    "rewards: draw the mean of the last N episodes (default 100)" },
	{ O_SPREAD, "spread", "HOW",
	    "band around the mean of a group: sd (default) or range" },
	{ O_X, "x", "WHAT",
	    "horizontal axis: step (default), episode or seconds; with lines, "
	    "the name of a column" },
	{ O_COLUMNS, "columns", "LIST",
	    "lines: columns to draw, at most two" },
	{ O_FORMAT, "format", "NAME",
	    "format of the packets in captures: innet (default) or bare" },
	{ O_TABLE, "cluster-table", "FILE",
	    "CSV file (prefix,cluster) with the clusters of bare packets" },
	{ O_SCRIPT, "script", NULL,
	    "print the commands for gnuplot instead of drawing" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-plot", PACKAGE_VERSION,
	"[-w FILE] [OPTION]... WHAT FILE...",
	"Draw WHAT with gnuplot: age, cdf (the distribution of ages),\n"
	"rewards, bars, lines, topology, or page (one page with all that\n"
	"the files have).  Each FILE is a capture, or a CSV file or report\n"
	"of one of innet's tools.",
	opts
};

struct conf {
	struct figure fig;
	enum terminal as;
	const char *out, *label, *table;
	struct clusters clusters;
	bool bare;
	char **files;
	struct group **of;	/* the group of each file, or NULL */
	struct group *group, *now;
	struct page page;
	int n, groups;
};

/* Return the gnuplot terminal that the suffix of the file name selects. */
static enum terminal
terminal_of(const char *path, enum what what)
{
	const char *dot = strrchr(path, '.');

	if (what == PAGE && (strcmp(path, "-") == 0 || (dot != NULL &&
	    strcmp(dot, ".html") == 0)))
		return HTML;
	if (what == PAGE)
		errx(2, "-w: '%s' must end with .html, or be - for standard "
		    "output", path);
	if (strcmp(path, "-") == 0)
		return DUMB;
	if (dot != NULL && strcmp(dot, ".svg") == 0)
		return SVG;
	if (dot != NULL && strcmp(dot, ".png") == 0)
		return PNG;
	errx(2, "-w: '%s' must end with .svg or .png, or be - for standard "
	    "output", path);
}

/* Return the group with this name, or a new group. */
static struct group *
group_named(struct conf *cf, const char *name)
{
	int i = 0;

	while (i < cf->groups && strcmp(cf->group[i].name, name) != 0)
		i++;
	if (i == cf->groups)
		cf->group[cf->groups++].name = name;
	return &cf->group[i];
}

/* Store one option in cf.  *run stays -1 until --by is given. */
static void
parse_option(struct conf *cf, int ch, int *run)
{
	static const char *const spread[] = { "sd", "range", NULL };
	static const char *const by[] = { "cluster", "run", NULL };
	static const char *const format[] = { "innet", "bare", NULL };
	uint64_t v = 0;

	switch (ch) {
	case 'w': cf->out = optarg; break;
	case O_BY: *run = opt_word("curve", optarg, by); break;
	case O_CLUSTER:
		opt_check("cluster", optarg, num_u64(optarg, 0, UINT16_MAX,
		    &v));
		cf->fig.cluster = (int64_t)v;
		break;
	case O_GROUP: cf->now = group_named(cf, optarg); break;
	case O_LABEL: cf->label = optarg; break;
	case O_SPREAD:
		cf->fig.spread = opt_word("spread", optarg, spread);
		break;
	case O_SMOOTH:
		opt_check("count", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &cf->fig.smooth));
		break;
	case O_X: cf->fig.over = optarg; break;
	case O_COLUMNS: cf->fig.columns = optarg; break;
	case O_SCRIPT: cf->as = SCRIPT; break;
	case O_FORMAT:
		cf->bare = opt_word("format", optarg, format) == 1;
		break;
	case O_TABLE: cf->table = optarg; break;
	}
}

/* Exit with status 2 if the options and files cannot be combined. */
static void
check_words(const struct conf *cf, int run)
{
	int k;

	if (cf->bare != (cf->table != NULL))
		errx(2, "--format bare and --cluster-table must be "
		    "given together");
	if (cf->bare && cf->fig.what != AGE && cf->fig.what != CDF &&
	    cf->fig.what != PAGE)
		errx(2, "--format bare applies only to age, cdf and page");
	if (cf->fig.columns != NULL && cf->fig.what != LINES)
		errx(2, "--columns applies only to lines");
	if (cf->fig.what == LINES && cf->fig.over == NULL)
		errx(2, "lines needs --x COLUMN for the horizontal axis");
	if (cf->groups > 0 && cf->fig.what != REWARDS &&
	    cf->fig.what != PAGE)
		errx(2, "--group applies only to rewards and page");
	if (cf->fig.what == PAGE && (cf->as == SCRIPT || cf->label != NULL ||
	    run != -1))
		errx(2, "%s does not apply to page",
		    cf->as == SCRIPT ? "--script" :
		    cf->label != NULL ? "--label" : "--by");
	if (cf->fig.what == BARS && cf->n > 1)
		errx(2, "%s: bars can draw only one file", cf->files[1]);
	if (cf->fig.what == TOPOLOGY && cf->n > 2)
		errx(2, "%s: too many files; topology takes at most two, a "
		    "scenario and the output of innet-sim --by switch --csv",
		    cf->files[2]);
	for (int i = 0; i < cf->groups; i++) {
		for (k = 0; k < cf->n && cf->of[k] != &cf->group[i]; k++)
			;
		if (k == cf->n)
			errx(2, "--group %s: no files follow it",
			    cf->group[i].name);
	}
}

/* Check that the output does not overwrite an input file. */
static void
check_files(const struct conf *cf)
{
	struct files f = { 0 };

	files_out(&f, "-w", cf->as == SCRIPT ? "-" : cf->out);
	files_in(&f, "--cluster-table", cf->table);
	for (int i = 0; i < cf->n; i++)
		files_in(&f, NULL, cf->files[i]);
	files_done(&f);
}

/*
 * Parse the command line.  Options can be before, between and after the other
 * arguments.
 */
static struct conf
parse_words(int argc, char *argv[])
{
	static const char *const x[] = { "step", "episode", "seconds", NULL };
	static const char *const what[] = { "age", "cdf", "rewards", "bars",
	    "lines", "topology", "page", NULL };
	struct conf cf = { .out = "-", .fig =
	    { .cluster = -1, .smooth = 100 } };
	int run = -1, ch;
	bool rest = false;

	cf.files = calloc((size_t)argc + 1, sizeof(*cf.files));
	cf.of = calloc((size_t)argc + 1, sizeof(struct group *));
	cf.group = calloc((size_t)argc + 1, sizeof(*cf.group));
	if (cf.files == NULL || cf.of == NULL || cf.group == NULL)
		err(1, "no memory for arguments");
	while (optind < argc) {
		while (!rest && (ch = opt_next(&tool, argc, argv)) != -1)
			parse_option(&cf, ch, &run);
		rest |= strcmp(argv[optind - 1], "--") == 0;
		if (optind == argc)
			break;
		cf.of[cf.n] = cf.now;
		cf.files[cf.n++] = argv[optind++];
	}
	if (cf.n == 0)
		errx(2, "no plot was named; give one of age, cdf, rewards, "
		    "bars, lines, topology, page");
	cf.fig.what = opt_word("plot", *cf.files++, what);
	cf.of++;
	if (--cf.n == 0)
		errx(2, "no file to draw was given");
	check_words(&cf, run);
	if (cf.fig.what != LINES && cf.fig.over != NULL)
		cf.fig.axis = opt_word("axis", cf.fig.over, x);
	cf.fig.by_run = run == -1 ? cf.n > 1 : run == 1;
	if (cf.as != SCRIPT)
		cf.as = terminal_of(cf.out, cf.fig.what);
	check_files(&cf);
	return cf;
}

/* Return the name of a file for the legend, without directory and suffix. */
static char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const bool in = strcmp(path, "-") == 0;
	char *name = strdup(in ? "standard input" : slash != NULL &&
	    slash[1] != '\0' ? slash + 1 : path), *dot;

	if (name == NULL)
		err(1, "%s", path);
	dot = strrchr(name, '.');
	if (dot != NULL && dot != name)
		*dot = '\0';
	return name;
}

static bool
ends_with(const char *s, const char *with)
{
	const size_t n = strlen(s), k = strlen(with);

	return n >= k && strcmp(s + n - k, with) == 0;
}

/* Add the curves of one file.  The suffix of its name selects its format. */
static void
add_file(struct figure *fig, const char *path, bool first, bool several)
{
	const bool json = fig->what == CDF && ends_with(path, ".json");
	char *name = name_of(path);

	if (!first && json != fig->aggregations)
		errx(2, "%s: reports and ages cannot be in one plot", path);
	fig->aggregations = json;
	if (fig->what == BARS)
		add_bars(fig, path);
	else if (fig->what == TOPOLOGY && first)
		add_topology(fig, path);
	else if (fig->what == TOPOLOGY)
		add_busy(fig, path);
	else if (fig->what == AGE && ends_with(path, ".json"))
		add_verified(fig, path, name);
	else if (fig->what == LINES)
		add_lines(fig, path, several ? name : NULL);
	else if (fig->what == REWARDS)
		add_rewards(fig, path, name);
	else if (json)
		add_report(fig, path, name);
	else if (ends_with(path, ".csv"))
		add_series(fig, path, name);
	else
		add_capture(fig, path, name);
	free(name);
}

static struct axes
choose_axes(const struct figure *fig)
{
	static const char *const over[] = { "step", "episode",
	    "time in seconds" };

	if (fig->what == REWARDS)
		return (struct axes){ over[fig->axis], "mean reward", false };
	if (fig->what == LINES)
		return (struct axes){ fig->over, "", false };
	if (fig->what == BARS)
		return (struct axes){ fig->rows, "", false };
	if (fig->what == AGE)
		return (struct axes){ fig->time_unit, fig->age_unit, false };
	if (fig->aggregations)
		return (struct axes){ "aggregations in a packet",
		    "share of packets", true };
	return (struct axes){ fig->age_unit, "share of time", false };
}

static bool
has_points(const struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++)
		if (fig->curve[i].n > 0)
			return true;
	return fig->nodes > 0;
}

/* Write a page with the data of all files; return the exit status. */
static int
write_page_of_files(struct conf *cf)
{
	struct page *p = &cf->page;
	int rc;

	p->age = p->cdf = p->rewards = cf->fig;
	p->age.what = AGE;
	p->cdf.what = CDF;
	p->age.by_run = p->cdf.by_run = true;
	p->rewards.what = REWARDS;
	p->merged = (struct figure){ .what = CDF, .aggregations = true };
	p->path = cf->files;
	p->paths = (size_t)cf->n;
	cf->fig.page = p;
	cf->fig.take_ages = page_ages;
	for (int i = 0; i < cf->n; i++) {
		char *name = name_of(cf->files[i]);

		page_read(p, &cf->fig, cf->files[i], cf->of[i] != NULL ?
		    cf->of[i]->name : name);
		free(name);
	}
	if (p->arms == 0)
		errx(1, "%s: contains nothing to draw", cf->files[0]);
	rc = page_write(p, cf->out) | cf->fig.rc;
	page_free(p);
	return rc;
}

/* Draw one picture; return the exit status. */
static int
draw_picture(struct conf *cf)
{
	for (int i = 0; i < cf->n; i++) {
		if (cf->of[i] != NULL)
			group_add(&cf->fig, cf->of[i], cf->files[i]);
		else
			add_file(&cf->fig, cf->files[i], i == 0, cf->n > 1);
	}
	for (int i = 0; i < cf->groups; i++)
		group_draw(&cf->fig, &cf->group[i]);
	figure_colours(&cf->fig);
	figure_title(&cf->fig);
	figure_scale(&cf->fig);
	cf->fig.axes = choose_axes(&cf->fig);
	if (cf->label != NULL)
		cf->fig.axes.y = cf->label;
	if (!has_points(&cf->fig))
		errx(1, "%s: contains nothing to draw", cf->files[0]);
	return figure_draw(&cf->fig, cf->as, cf->out) | cf->fig.rc;
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse_words(argc, argv);
	int rc;

	if (cf.bare) {
		cf.clusters = clusters_load_or_exit(cf.table);
		cf.fig.bare = &cf.clusters;
	}
	rc = cf.fig.what == PAGE ? write_page_of_files(&cf) : draw_picture(&cf);
	figure_free(&cf.fig);
	clusters_free(&cf.clusters);
	free(cf.fig.rows);
	free(cf.files - 1);
	free(cf.of - 1);
	free(cf.group);
	return rc;
}
