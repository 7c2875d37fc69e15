/*
 * innet-sim - simulate a network of workers, switches and servers in virtual
 * time
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-sim/chaos/chaos.h"
#include "cmd/innet-sim/run/output.h"
#include "cmd/innet-sim/planes.h"
#include "cmd/innet-sim/run/runner.h"
#include "cmd/innet-sim/run/shard.h"
#include "cmd/innet-sim/scenario/scenario-read.h"
#include "cmd/innet-sim/scenario/sweep.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/timer.h"

enum { SETS_MAX = 256 };

enum {
	O_SEED = OPT_LONG, O_RUNS, O_JSON, O_CSV, O_BY, O_SET, O_DURATION,
	O_JOBS, O_LIST_KEYS, O_CHAOS, O_TOTAL, O_COLUMNS, O_AUTH,
	O_SHARD, O_PARTS, O_JOIN, O_KILL_RACKS, O_RING, O_SEVERE
};

static const struct opt opts[] = {
	{ 'w', "write", "DIR",
	    "write captures of all switches and servers to this folder" },
	{ O_SEED, "seed", "N", "seed of the random numbers of the first run" },
	{ O_RUNS, "runs", "N", "number of runs, each with the next seed" },
	{ O_DURATION, "duration", "TIME", "end after this simulated time" },
	{ O_SET, "set", "PATH=VALUE",
	    "replace a value of the scenario, for example "
	    "links[0].rate=1G" },
	{ O_BY, "by", "WHAT",
	    "rows to print: group (default), cluster, switch or traffic" },
	{ O_JOBS, "jobs", "N",
	    "number of runs at the same time (default: the number of "
	    "processors)" },
	{ O_SHARD, "shard", "I/N",
	    "run only part I of N; auto: take I and N from the launcher" },
	{ O_PARTS, "parts", "DIR",
	    "folder to which the results of the part are written" },
	{ O_JOIN, "join", "DIR",
	    "print the results of all parts in this folder" },
	{ O_CHAOS, "chaos", "SEED",
	    "simulate and check random training jobs with faults, from this "
	    "seed" },
	{ O_AUTH, "auth", "WHAT",
	    "with --chaos: packets to authenticate: none, control or all" },
	{ O_KILL_RACKS, "kill-racks", NULL,
	    "with --chaos: restart racks of asynchronous training jobs" },
	{ O_RING, "ring", NULL,
	    "with --chaos: synchronous training jobs that sum vectors of any "
	    "length" },
	{ O_SEVERE, "severe", NULL,
	    "with --chaos: more packet losses, and several faults at the same "
	    "time" },
	{ O_JSON, "json", NULL, "print a JSON object for each row" },
	{ O_CSV, "csv", NULL, "print comma-separated values" },
	{ O_TOTAL, "total", NULL, "print only the row for all clusters" },
	{ O_COLUMNS, "columns", "LIST",
	    "print only these figures, named as in the output of --csv" },
	{ O_LIST_KEYS, "list-keys", NULL,
	    "print the keys that a scenario can have, and exit" },
	{ 'q', "quiet", NULL, "print no summary and no progress" },
	{ 'v', "verbose", NULL, "describe the simulation before it starts" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	.name = "innet-sim", .version = PACKAGE_VERSION,
	.usage = "[-qv] [-w DIR] [--OPTION=VALUE]... SCENARIO.json\n"
	    "       innet-sim [-q] [--json | --csv] --join=DIR\n"
	    "       innet-sim [-qv] --chaos=SEED [--runs=N]",
	.about = "Simulate workers, switches and servers in virtual time.",
	.opts = opts
};

struct options {
	const char *path, *dir;
	const char *seed, *runs, *duration;	/* argument of the option; NULL:
						 * use the value in the
						 * scenario */
	const char *shard, *parts;	/* arguments of --shard and --parts, or
					 * NULL */
	struct runner_shard mine;
	const char *join;	/* folder of the parts to join, or NULL */
	const char *chaos;		/* first seed of --chaos, or NULL */
	enum tag_auth auth;	/* authentication in the training jobs of
				 * --chaos */
	bool kills_racks, ring, severe;
	char *set[SETS_MAX];		/* settings "PATH=VALUE" */
	size_t sets;
	uint64_t jobs;
	enum result_by by;
	const char *columns;		/* list of columns to show; NULL: all */
	struct output_view view;
	bool json, csv, quiet, verbose;
};

static volatile sig_atomic_t got;	/* signal that requested the end */

static void
on_signal(int sig)
{
	got = sig;
}

static void
parse_set(struct options *options, char *arg)
{
	if (strchr(arg, '=') == NULL)
		errx(2, "invalid setting '%s': give PATH=VALUE, for example "
		    "links[0].rate=1G", arg);
	if (options->sets == SETS_MAX)
		errx(2, "--set: at most %d settings can be given", SETS_MAX);
	options->set[options->sets++] = arg;
}

/* Refuse combinations of options that belong to different uses of innet-sim. */
static void
check_options(const struct options *options)
{
	const bool shows = options->json || options->csv ||
			   options->view.total || options->columns != NULL;
	const bool sets = options->path != NULL || options->dir != NULL ||
			  options->seed != NULL || options->duration != NULL ||
			  options->sets > 0 || options->by != RESULT_GROUP ||
			  options->shard != NULL || options->parts != NULL;

	if (options->chaos != NULL &&
	    (sets || options->csv || options->view.total ||
		options->columns != NULL || options->join != NULL))
		errx(2, "--chaos generates its own scenarios and can be used "
		    "only with --runs, --auth, --kill-racks, --ring, "
		    "--severe, --jobs, --json, -q and -v");
	if (options->chaos == NULL && options->kills_racks)
		errx(2, "--kill-racks needs --chaos");
	if (options->chaos == NULL && options->ring)
		errx(2, "--ring needs --chaos");
	if (options->ring && options->kills_racks)
		errx(2, "--ring and --kill-racks exclude each other, because "
		    "--kill-racks runs asynchronous training jobs");
	if (options->chaos == NULL && options->severe)
		errx(2, "--severe needs --chaos");
	if (options->chaos == NULL && options->auth != TAG_AUTH_NONE)
		errx(2, "--auth needs --chaos; in a scenario, give each "
		    "training job the key 'auth'");
	if (options->join != NULL && (sets || options->runs != NULL))
		errx(2, "--join prints existing results and can be used only "
		    "with --json, --csv, --total, --columns and -q");
	if ((options->shard == NULL) != (options->parts == NULL))
		errx(2, "--shard and --parts must be given together");
	if (options->shard != NULL && (shows || options->dir != NULL))
		errx(2, "--shard prints no results and writes no captures: "
		    "give --json, --csv, --total and --columns with --join, "
		    "and leave out -w");
	if (options->json && options->csv)
		errx(2, "give --json or --csv, not both");
}

static struct options
parse_options(int argc, char *argv[])
{
	static const char *const by[] = { "group", "cluster", "switch",
		"traffic", NULL };
	struct options options = {
	    .jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), .mine = {0, 1}};
	uint64_t n;
	int ch;

	while ((ch = opt_next_word(&tool, argc, argv, &options.path)) != -1) {
		switch (ch) {
		case 'w': options.dir = optarg; break;
		case O_SEED:
			opt_check("seed", optarg, num_u64(optarg, 0,
			    (uint64_t)1 << 53, &n));
			options.seed = optarg;
			break;
		case O_RUNS:
			opt_check("number of runs", optarg, num_u64(optarg, 1,
			    1 << 20, &n));
			options.runs = optarg;
			break;
		case O_DURATION:
			opt_check("duration", optarg, num_time(optarg, 1,
			    INT64_MAX, &n));
			options.duration = optarg;
			break;
		case O_SET: parse_set(&options, optarg); break;
		case O_BY:
			options.by =
			    (enum result_by)opt_word("rows", optarg, by);
			break;
		case O_JOBS:
			opt_check("number of jobs", optarg, num_u64(optarg, 1,
			    1024, &options.jobs));
			break;
		case O_SHARD:
			opt_check("part", optarg, shard_parse(optarg,
			    &options.mine));
			options.shard = optarg;
			break;
		case O_PARTS: options.parts = optarg; break;
		case O_JOIN: options.join = optarg; break;
		case O_CHAOS:
			opt_check("seed", optarg, num_u64(optarg, 0,
			    (uint64_t)1 << 53, &n));
			options.chaos = optarg;
			break;
		case O_AUTH:
			opt_check("word", optarg, tag_auth_parse(optarg,
			    &options.auth));
			break;
		case O_KILL_RACKS: options.kills_racks = true; break;
		case O_RING: options.ring = true; break;
		case O_SEVERE: options.severe = true; break;
		case O_JSON: options.json = true; break;
		case O_CSV: options.csv = true; break;
		case O_TOTAL: options.view.total = true; break;
		case O_COLUMNS: options.columns = optarg; break;
		case O_LIST_KEYS:
			json_reader_list_keys(stdout, &scenario_keys, "");
			if (fflush(stdout) == EOF)
				err(1, "standard output");
			exit(0);
		case 'q': options.quiet = true; break;
		case 'v': options.verbose = true; break;
		default: break;
		}
	}
	opt_done(&tool, argc, argv);
	check_options(&options);
	if (options.path == NULL && options.chaos == NULL &&
	    options.join == NULL) {
		warnx("no scenario was given; name a JSON file");
		opt_misuse(&tool);
	}
	return options;
}

static const char *
get_name(const struct options *options)
{
	return strcmp(options->path, "-") == 0 ? "standard input"
					       : options->path;
}

static cJSON *
read_json(const struct options *options)
{
	struct json_reader r;
	cJSON *root = json_reader_load(&r, options->path);

	if (root == NULL)
		errx(1, "%s", r.why);
	return root;
}

/* Apply one --set; the value is JSON, or a string if it cannot be parsed. */
static void
apply_set(cJSON *root, char *set)
{
	char *value = strchr(set, '=') + 1;
	cJSON *v = cJSON_ParseWithOpts(value, NULL, true);
	const char *swept, *why;

	value[-1] = '\0';
	if (v == NULL)
		v = cJSON_CreateString(value);
	swept = sweep_leave(root, set);
	if (swept != NULL)
		errx(2, "invalid path '%s': the sweep of '%s' sets the same "
		    "value",
		    set, swept);
	why = sweep_set(root, set, v);
	if (why != NULL)
		errx(2, "invalid path '%s': %s", set, why);
	value[-1] = '=';
	cJSON_Delete(v);
}

/* Make the path of a file in the scenario relative to the scenario's folder. */
static void
find_file(const struct options *options, char file[JSON_READER_FILE_BYTES],
    const char *list, size_t i, const char *key)
{
	const char *slash = strrchr(options->path, '/');
	char path[JSON_READER_FILE_BYTES];
	int n;

	if (slash == NULL || file[0] == '\0' || file[0] == '/')
		return;
	n = snprintf(path, sizeof(path), "%.*s/%s",
	    (int)(slash - options->path), options->path, file);
	if (n >= (int)sizeof(path))
		errx(1, "%s: %s[%zu].%s: the path is too long", options->path,
		    list, i,
		    key);
	memcpy(file, path, (size_t)n + 1);
}

static void
find_files(const struct options *options, struct scenario *sc)
{
	struct scenario_workers *g = sc->workers.item;
	struct scenario_plane *p = sc->planes.item;

	for (size_t i = 0; i < sc->workers.n; i++)
		find_file(options, g[i].schedule, "workers", i, "schedule");
	for (size_t i = 0; i < sc->planes.n; i++)
		find_file(options, p[i].read, "planes", i, "read");
}

/* Read and check the scenario at each point of the sweep, or exit 1. */
static void
read_points(const struct options *options, const cJSON *root, struct runner *r)
{
	const char *why = NULL;
	struct json_reader rd;

	if (!cJSON_IsObject(root))
		errx(1, "%s: the scenario must be a JSON object: { ... }",
		    get_name(options));
	r->points = sweep_points(root, &why);
	if (r->points == 0)
		errx(1, "%s: %s", get_name(options), why);
	r->point = calloc(r->points, sizeof(*r->point));
	if (r->point == NULL)
		err(1, "no memory for %zu points", r->points);
	for (size_t i = 0; i < r->points; i++) {
		cJSON *point = sweep_point(root, i, &r->point[i].values,
		    &why);

		if (why != NULL)
			errx(1, "%s: sweep: a path %s", get_name(options), why);
		if (!scenario_read(&r->point[i].sc, point, &rd))
			errx(1, "%s: %s", get_name(options), rd.why);
		if (options->join == NULL)
			find_files(options, &r->point[i].sc);
		cJSON_Delete(point);
	}
}

/* Print a description of the simulation, for the first point. */
static void
print_description(const struct runner *r)
{
	const struct scenario *sc = &r->point[0].sc;
	uint64_t switches = 0, workers = 0;

	for (size_t i = 0; i < sc->switches.n; i++)
		switches += scenario_switches(sc)[i].count;
	for (size_t i = 0; i < sc->workers.n; i++)
		workers += (scenario_workers(sc)[i].clusters.to -
		    scenario_workers(sc)[i].clusters.from + 1) *
		    scenario_workers(sc)[i].workers;
	for (size_t i = 0; i < sc->trainings.n; i++)
		workers += scenario_trainings(sc)[i].workers;
	message_put(stderr, sc->name);
	fprintf(stderr, "%s%" PRIu64 " workers, %" PRIu64 " switches, %zu "
	    "servers; %zu points of %zu runs, seeds from %" PRIu64 " on, %zu "
	    "at a time\n", sc->name[0] == '\0' ? "" : ": ",
	    workers, switches, sc->servers.n, r->points, r->runs, r->seed,
	    r->jobs);
}

static void
print_summary(const struct runner *r, double s)
{
	const double more = 100 * r->apart;
	const bool run = scenario_ages_to_run(&r->point[0].sc);

	if (r->shard.of > 1)
		fprintf(stderr, "part %" PRIu64 " of %" PRIu64 ": ",
		    r->shard.at + 1, r->shard.of);
	fprintf(stderr, "%" PRIu64 " runs, %" PRIu64 " events in %.2f s "
	    "(%.2f M/s)\n", runner_count_runs(r), r->events, s, s > 0 ?
	    (double)r->events / s * 1e-6 : 0);
	if (r->shard.of > 1)	/* the other messages need the results of all
				 * parts */
		return;
	if (more > 5 || more < -5)
		warnx("ages are measured until %s; with \"ages_to\": \"%s\" "
		    "the mean age of all clusters would be %.3g %% %s%s",
		    run ? "the end of the run" :
		    "the last packet of their cluster", run ? "cluster" : "run",
		    more < 0 ? -more : more, more < 0 ? "lower" : "higher",
		    r->points * r->runs > 1 ? ", in one of the runs" : "");
}

/* Print the results of all runs. */
static int
show_results(const struct options *options, const struct runner *r,
    double seconds)
{
	if (options->json)
		output_json(stdout, r, &options->view);
	else if (options->csv)
		output_csv(stdout, r, &options->view);
	else
		output_table(stdout, r, &options->view);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		return 1;
	}
	if (!options->quiet)
		print_summary(r, seconds);
	return 0;
}

/* Perform all runs of the scenario in `text`, or only the runs of a shard. */
static int
simulate(const struct options *options, struct runner *r, const char *text)
{
	const uint64_t began_ns = timer_mono_ns();
	double seconds;
	int rc;

	if (options->verbose)
		print_description(r);
	rc = runner_run(r);
	if (rc != 0 || got != 0)
		return rc;
	seconds = 1e-9 * (double)(timer_mono_ns() - began_ns);
	if (options->shard == NULL)
		return show_results(options, r, seconds);
	rc = shard_write(r, options->parts, text, seconds);
	if (rc == 0 && !options->quiet)
		print_summary(r, seconds);
	return rc;
}

/* Run switches of any program, and print their counters. */
static int
run_planes(const struct options *options, struct runner *r)
{
	const struct planes_options pc = { .sc = &r->point[0].sc,
	    .path = options->path, .dir = options->dir,
	    .json = options->json, .stopped = &got };
	int rc;

	if (options->csv || options->by != RESULT_GROUP ||
	    options->seed != NULL || options->runs != NULL || r->points > 1 ||
	    options->view.total || options->columns != NULL ||
	    options->shard != NULL)
		errx(2, "a scenario with planes cannot be used with --seed, "
		    "--runs, --by, --total, --columns, --csv, --shard or a "
		    "sweep");
	rc = planes_run(&pc, stdout);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	runner_free(r);
	return rc;
}

/* Run random training jobs, which are derived from their seeds alone. */
static int
run_chaos(const struct options *options)
{
	struct chaos_options c = { .runs = 1,
	    .jobs = options->jobs,
	    .auth = options->auth,
	    .kills_racks = options->kills_racks,
	    .ring = options->ring,
	    .severe = options->severe,
	    .json = options->json,
	    .quiet = options->quiet,
	    .verbose = options->verbose,
	    .stopped = &got };

	(void)num_u64(options->chaos, 0, UINT64_MAX, &c.seed);
	if (options->runs != NULL)
		(void)num_u64(options->runs, 1, UINT64_MAX, &c.runs);
	if (c.jobs > c.runs)
		c.jobs = c.runs;
	return chaos_run(&c);
}

/*
 * Choose the rows and figures to show.  The points of the sweep must be known.
 */
static void
choose_output(struct options *options, const struct runner *r)
{
	if (r->by == RESULT_TRAFFIC && r->point[0].sc.traffic.n == 0)
		errx(2, "--by traffic: the scenario has no traffic");
	if (options->view.total && (r->by == RESULT_SWITCH || r->by ==
	    RESULT_TRAINING))
		errx(2, "--total: there is no row that combines all %s",
		    r->by ==
		    RESULT_SWITCH ? "switches" : "training jobs");
	opt_check("columns", options->columns, output_choose(&options->view, r,
	    options->columns));
}

/* Join all parts and print their results. */
static int
join_parts(struct options *options)
{
	struct runner r = { .shard = { 0, 1 }, .stopped = &got };
	struct shard_parts parts;
	cJSON *root = shard_open(&parts, options->join, &r);
	int rc;

	options->path = parts.path[0];
	read_points(options, root, &r);
	cJSON_Delete(root);
	if ((r.by == RESULT_TRAINING) != (r.point[0].sc.trainings.n > 0))
		errx(1, "%s:1: the rows that 'by' names cannot come from this "
		    "scenario", parts.path[0]);
	choose_output(options, &r);
	shard_read(&parts, &r);
	rc = show_results(options, &r, parts.seconds);
	runner_free(&r);
	return rc;
}

static int
run_scenario(struct options *options)
{
	cJSON *root = read_json(options);
	struct runner r = { .by = options->by,
	    .jobs = options->jobs,
	    .dir = options->dir,
	    .shard = options->mine,
	    .scenario = options->path,
	    .progress = !options->quiet && isatty(STDERR_FILENO),
	    .stopped = &got };
	uint64_t n = 0;
	char *text = NULL;
	int rc;

	for (size_t i = 0; i < options->sets; i++)
		apply_set(root, options->set[i]);
	if (options->duration != NULL &&
	    num_time(options->duration, 1, INT64_MAX, &n) == NULL) {
		char set[40];

		snprintf(set, sizeof(set), "duration=%" PRIu64 "ns", n);
		apply_set(root, set);
	}
	read_points(options, root, &r);
	if (options->shard != NULL &&
	    (text = cJSON_PrintUnformatted(root)) == NULL)
		err(1, "%s", get_name(options));
	cJSON_Delete(root);
	if (r.point[0].sc.planes.n > 0)
		return run_planes(options, &r);
	if (r.point[0].sc.trainings.n > 0) {
		if (options->by != RESULT_GROUP)
			errx(2, "--by cannot be used with training jobs, each "
			    "of which has one row");
		r.by = RESULT_TRAINING;
	}
	choose_output(options, &r);
	r.seed = r.point[0].sc.seed;
	r.runs = r.point[0].sc.runs;
	if (options->seed != NULL &&
	    num_u64(options->seed, 0, UINT64_MAX, &n) == NULL)
		r.seed = n;
	if (options->runs != NULL &&
	    num_u64(options->runs, 1, UINT64_MAX, &n) == NULL)
		r.runs = n;
	if (options->dir != NULL && r.points * r.runs > 1)
		errx(2, "-w needs a single run, but the scenario has %zu runs",
		    r.points * r.runs);
	rc = simulate(options, &r, text);
	free(text);
	runner_free(&r);
	return rc;
}

int
main(int argc, char *argv[])
{
	struct options options = parse_options(argc, argv);
	struct sigaction sa = { .sa_handler = on_signal };
	int rc;

	/* use mmap for large tables, so that unused pages take no memory */
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
	/*
	 * keep freed memory for the next run; otherwise the kernel clears its
	 * pages again for each of thousands of short runs
	 */
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	rc = options.chaos != NULL  ? run_chaos(&options)
	     : options.join != NULL ? join_parts(&options)
				    : run_scenario(&options);
	if (got != 0) {
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
