/* innet-sim - simulate a whole topology in virtual time */
#include "config.h"

#include <err.h>
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
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/timer.h"

enum { SETS_MAX = 256 };

enum {
	O_SEED = OPT_LONG, O_RUNS, O_JSON, O_CSV, O_BY, O_SET, O_DURATION,
	O_JOBS, O_LIST_KEYS, O_CHAOS, O_TOTAL, O_COLUMNS, O_AUTH,
	O_SHARD, O_PARTS, O_JOIN
};

static const struct opt opts[] = {
	{ 'w', "write", "DIR", "captures of every switch and server in DIR" },
	{ O_SEED, "seed", "N", "seed of all chance in the first run" },
	{ O_RUNS, "runs", "N", "runs with the seeds from there on" },
	{ O_DURATION, "duration", "TIME", "end after TIME of the model" },
	{ O_SET, "set", "PATH=VALUE", "another value in the scenario" },
	{ O_BY, "by", "WHAT", "rows by group (default), cluster, switch, "
	    "traffic" },
	{ O_JOBS, "jobs", "N", "runs at a time (default: all cores)" },
	{ O_SHARD, "shard", "I/N", "a part of the runs: I of N, or auto" },
	{ O_PARTS, "parts", "DIR", "into which a part goes" },
	{ O_JOIN, "join", "DIR", "show the results of all parts in DIR" },
	{ O_CHAOS, "chaos", "SEED", "random trainings under faults, checked" },
	{ O_AUTH, "auth", "WHAT", "of --chaos: prove none, control or all" },
	{ O_JSON, "json", NULL, "results as JSON, an object a row" },
	{ O_CSV, "csv", NULL, "results as CSV" },
	{ O_TOTAL, "total", NULL, "the row of all alone" },
	{ O_COLUMNS, "columns", "LIST", "these, by the names --csv has" },
	{ O_LIST_KEYS, "list-keys", NULL, "what a scenario may say, and exit" },
	{ 'q', "quiet", NULL, "no summary, no progress" },
	{ 'v', "verbose", NULL, "say first what will be simulated" },
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

struct conf {
	const char *path, *dir;
	const char *seed, *runs, *duration;	/* NULL: as the scenario says */
	const char *shard, *parts;	/* NULL: all is simulated here */
	struct runner_shard mine;
	const char *join;		/* the folder of the parts, or NULL */
	const char *chaos;		/* its first seed, or NULL */
	enum tag_auth auth;		/* of its trainings */
	char *set[SETS_MAX];		/* "path=value" */
	size_t sets;
	uint64_t jobs;
	enum result_by by;
	const char *columns;		/* NULL: all */
	struct output_view view;
	bool json, csv, quiet, verbose;
};

static volatile sig_atomic_t got;	/* the signal that asked us to stop */

static void
on_signal(int sig)
{
	got = sig;
}

static void
parse_set(struct conf *cf, char *arg)
{
	if (strchr(arg, '=') == NULL)
		errx(2, "invalid setting '%s': lacks a '='", arg);
	if (cf->sets == SETS_MAX)
		errx(2, "more than %d settings", SETS_MAX);
	cf->set[cf->sets++] = arg;
}

/* Options that are of different ways to use the tool exclude each other. */
static void
check_way(const struct conf *cf)
{
	const bool shows = cf->json || cf->csv || cf->view.total ||
	    cf->columns != NULL;
	const bool sets = cf->path != NULL || cf->dir != NULL ||
	    cf->seed != NULL || cf->duration != NULL || cf->sets > 0 ||
	    cf->by != RESULT_GROUP || cf->shard != NULL || cf->parts != NULL;

	if (cf->chaos != NULL && (sets || cf->csv || cf->view.total ||
	    cf->columns != NULL || cf->join != NULL))
		errx(2, "--chaos draws all of it: it goes with --runs, "
		    "--auth, --jobs, --json, -q and -v alone");
	if (cf->chaos == NULL && cf->auth != TAG_AUTH_NONE)
		errx(2, "--auth goes with --chaos; a scenario's trainings "
		    "have auth");
	if (cf->join != NULL && (sets || cf->runs != NULL))
		errx(2, "--join shows what its parts have: it goes with "
		    "--json, --csv, --total, --columns and -q alone");
	if ((cf->shard == NULL) != (cf->parts == NULL))
		errx(2, "--shard and --parts go together");
	if (cf->shard != NULL && (shows || cf->dir != NULL))
		errx(2, "--shard prints nothing: --json, --csv, --total and "
		    "--columns go with --join, -w with neither");
	if (cf->json && cf->csv)
		errx(2, "--json and --csv exclude each other");
}

static struct conf
parse(int argc, char *argv[])
{
	static const char *const by[] = { "group", "cluster", "switch",
		"traffic", NULL };
	struct conf cf = { .jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
	    .mine = { 0, 1 } };
	uint64_t n;
	int ch;

	while ((ch = opt_next_word(&tool, argc, argv, &cf.path)) != -1) {
		switch (ch) {
		case 'w': cf.dir = optarg; break;
		case O_SEED:
			opt_check("seed", optarg, num_u64(optarg, 0,
			    (uint64_t)1 << 53, &n));
			cf.seed = optarg;
			break;
		case O_RUNS:
			opt_check("number of runs", optarg, num_u64(optarg, 1,
			    1 << 20, &n));
			cf.runs = optarg;
			break;
		case O_DURATION:
			opt_check("duration", optarg, num_time(optarg, 1,
			    INT64_MAX, &n));
			cf.duration = optarg;
			break;
		case O_SET: parse_set(&cf, optarg); break;
		case O_BY:
			cf.by = (enum result_by)opt_word("rows", optarg, by);
			break;
		case O_JOBS:
			opt_check("number of jobs", optarg, num_u64(optarg, 1,
			    1024, &cf.jobs));
			break;
		case O_SHARD:
			opt_check("part", optarg, shard_parse(optarg,
			    &cf.mine));
			cf.shard = optarg;
			break;
		case O_PARTS: cf.parts = optarg; break;
		case O_JOIN: cf.join = optarg; break;
		case O_CHAOS:
			opt_check("seed", optarg, num_u64(optarg, 0,
			    (uint64_t)1 << 53, &n));
			cf.chaos = optarg;
			break;
		case O_AUTH:
			opt_check("word", optarg, tag_auth_parse(optarg,
			    &cf.auth));
			break;
		case O_JSON: cf.json = true; break;
		case O_CSV: cf.csv = true; break;
		case O_TOTAL: cf.view.total = true; break;
		case O_COLUMNS: cf.columns = optarg; break;
		case O_LIST_KEYS:
			json_reader_list_keys(stdout, &scenario_keys, "");
			if (fflush(stdout) == EOF)
				err(1, "standard output");
			exit(0);
		case 'q': cf.quiet = true; break;
		case 'v': cf.verbose = true; break;
		default: break;
		}
	}
	opt_done(&tool, argc, argv);
	check_way(&cf);
	if (cf.path == NULL && cf.chaos == NULL && cf.join == NULL) {
		warnx("no scenario");
		opt_misuse(&tool);
	}
	return cf;
}

static const char *
name_of(const struct conf *cf)
{
	return strcmp(cf->path, "-") == 0 ? "standard input" : cf->path;
}

static cJSON *
read_json(const struct conf *cf)
{
	struct json_reader r;
	cJSON *root = json_reader_load(&r, cf->path);

	if (root == NULL)
		errx(1, "%s", r.why);
	return root;
}

/* One --set: its value is JSON, or else a string. */
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
		errx(2, "invalid path '%s': the sweep of '%s' sets it too",
		    set, swept);
	why = sweep_set(root, set, v);
	if (why != NULL)
		errx(2, "invalid path '%s': %s", set, why);
	value[-1] = '=';
	cJSON_Delete(v);
}

/* What a scenario reads stands beside it, unless its path says otherwise. */
static void
find_file(const struct conf *cf, char file[JSON_READER_FILE_BYTES],
    const char *list, size_t i, const char *key)
{
	const char *slash = strrchr(cf->path, '/');
	char path[JSON_READER_FILE_BYTES];
	int n;

	if (slash == NULL || file[0] == '\0' || file[0] == '/')
		return;
	n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - cf->path),
	    cf->path, file);
	if (n >= (int)sizeof(path))
		errx(1, "%s: %s[%zu].%s: too long", cf->path, list, i, key);
	memcpy(file, path, (size_t)n + 1);
}

static void
find_files(const struct conf *cf, struct scenario *sc)
{
	struct scenario_workers *g = sc->workers.item;
	struct scenario_plane *p = sc->planes.item;

	for (size_t i = 0; i < sc->workers.n; i++)
		find_file(cf, g[i].schedule, "workers", i, "schedule");
	for (size_t i = 0; i < sc->planes.n; i++)
		find_file(cf, p[i].read, "planes", i, "read");
}

/* The points of the scenario, each read and checked, or exit 1. */
static void
read_points(const struct conf *cf, const cJSON *root, struct runner *r)
{
	const char *why = NULL;
	struct json_reader rd;

	if (!cJSON_IsObject(root))
		errx(1, "%s: is not an object: { ... }", name_of(cf));
	r->points = sweep_points(root, &why);
	if (r->points == 0)
		errx(1, "%s: %s", name_of(cf), why);
	r->point = calloc(r->points, sizeof(*r->point));
	if (r->point == NULL)
		err(1, "%zu points", r->points);
	for (size_t i = 0; i < r->points; i++) {
		cJSON *point = sweep_point(root, i, &r->point[i].values,
		    &why);

		if (why != NULL)
			errx(1, "%s: sweep: a path %s", name_of(cf), why);
		if (!scenario_read(&r->point[i].sc, point, &rd))
			errx(1, "%s: %s", name_of(cf), rd.why);
		if (cf->join == NULL)
			find_files(cf, &r->point[i].sc);
		cJSON_Delete(point);
	}
}

/* What will be simulated, of the first point. */
static void
describe(const struct runner *r)
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
	fprintf(stderr, "%s%s%" PRIu64 " workers, %" PRIu64 " switches, %zu "
	    "servers; %zu points of %zu runs, seeds from %" PRIu64 " on, %zu "
	    "at a time\n", sc->name, sc->name[0] == '\0' ? "" : ": ",
	    workers, switches, sc->servers.n, r->points, r->runs, r->seed,
	    r->jobs);
}

static void
summary(const struct runner *r, double s)
{
	const double more = 100 * r->apart;
	const bool run = scenario_ages_to_run(&r->point[0].sc);

	if (r->shard.of > 1)
		fprintf(stderr, "part %" PRIu64 " of %" PRIu64 ": ",
		    r->shard.at + 1, r->shard.of);
	fprintf(stderr, "%" PRIu64 " runs, %" PRIu64 " events in %.2f s "
	    "(%.2f M/s)\n", runner_mine(r), r->events, s, s > 0 ?
	    (double)r->events / s * 1e-6 : 0);
	if (r->shard.of > 1)	/* what is true of a part alone */
		return;
	if (more > 5 || more < -5)
		warnx("ages end with %s; with \"ages_to\": \"%s\" the mean "
		    "of all would be %.3g %% %s%s", run ? "the run" :
		    "the packets of their cluster", run ? "cluster" : "run",
		    more < 0 ? -more : more, more < 0 ? "less" : "more",
		    r->points * r->runs > 1 ? ", in one of the runs" : "");
}

/* What came out of all runs. */
static int
show(const struct conf *cf, const struct runner *r, double seconds)
{
	if (cf->json)
		output_json(stdout, r, &cf->view);
	else if (cf->csv)
		output_csv(stdout, r, &cf->view);
	else
		output_table(stdout, r, &cf->view);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		return 1;
	}
	if (!cf->quiet)
		summary(r, seconds);
	return 0;
}

/* All runs, or those of a shard, of the scenario that text has. */
static int
simulate(const struct conf *cf, struct runner *r, const char *text)
{
	const uint64_t began_ns = timer_mono_ns();
	double seconds;
	int rc;

	if (cf->verbose)
		describe(r);
	rc = runner_run(r);
	if (rc != 0 || got != 0)
		return rc;
	seconds = 1e-9 * (double)(timer_mono_ns() - began_ns);
	if (cf->shard == NULL)
		return show(cf, r, seconds);
	rc = shard_write(r, cf->parts, text, seconds);
	if (rc == 0 && !cf->quiet)
		summary(r, seconds);
	return rc;
}

/* Switches of any program: their accounts. */
static int
run_planes(const struct conf *cf, struct runner *r)
{
	const struct planes_conf pc = { .sc = &r->point[0].sc,
	    .path = cf->path, .dir = cf->dir,
	    .json = cf->json, .stopped = &got };
	int rc;

	if (cf->csv || cf->by != RESULT_GROUP || cf->seed != NULL ||
	    cf->runs != NULL || r->points > 1 || cf->view.total ||
	    cf->columns != NULL || cf->shard != NULL)
		errx(2, "planes have no seed, runs, sweep, parts, rows or CSV");
	rc = planes_run(&pc, stdout);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	runner_free(r);
	return rc;
}

/* Random trainings, from their seeds alone. */
static int
run_chaos(const struct conf *cf)
{
	struct chaos_options c = { .runs = 1, .jobs = cf->jobs,
	    .auth = cf->auth,
	    .json = cf->json, .quiet = cf->quiet, .verbose = cf->verbose,
	    .stopped = &got };

	(void)num_u64(cf->chaos, 0, UINT64_MAX, &c.seed);
	if (cf->runs != NULL)
		(void)num_u64(cf->runs, 1, UINT64_MAX, &c.runs);
	if (c.jobs > c.runs)
		c.jobs = c.runs;
	return chaos_run(&c);
}

/* What rows and figures are shown, now that the points are known. */
static void
choose(struct conf *cf, const struct runner *r)
{
	if (r->by == RESULT_TRAFFIC && r->point[0].sc.traffic.n == 0)
		errx(2, "--by: there is no traffic");
	if (cf->view.total && (r->by == RESULT_SWITCH || r->by ==
	    RESULT_TRAINING))
		errx(2, "--total: %s have no row of all", r->by ==
		    RESULT_SWITCH ? "switches" : "trainings");
	opt_check("columns", cf->columns, output_choose(&cf->view, r,
	    cf->columns));
}

/* The results of all parts. */
static int
join(struct conf *cf)
{
	struct runner r = { .shard = { 0, 1 }, .stopped = &got };
	struct shard_parts parts;
	cJSON *root = shard_open(&parts, cf->join, &r);
	int rc;

	cf->path = parts.path[0];
	read_points(cf, root, &r);
	cJSON_Delete(root);
	if ((r.by == RESULT_TRAINING) != (r.point[0].sc.trainings.n > 0))
		errx(1, "%s:1: no by of its scenario", parts.path[0]);
	choose(cf, &r);
	shard_read(&parts, &r);
	rc = show(cf, &r, parts.seconds);
	runner_free(&r);
	return rc;
}

static int
run(struct conf *cf)
{
	cJSON *root = read_json(cf);
	struct runner r = { .by = cf->by, .jobs = cf->jobs, .dir = cf->dir,
	    .shard = cf->mine, .scenario = cf->path,
	    .progress = !cf->quiet && isatty(STDERR_FILENO),
	    .stopped = &got };
	uint64_t n = 0;
	char *text = NULL;
	int rc;

	for (size_t i = 0; i < cf->sets; i++)
		apply_set(root, cf->set[i]);
	if (cf->duration != NULL && num_time(cf->duration, 1, INT64_MAX, &n) ==
	    NULL) {
		char set[40];

		snprintf(set, sizeof(set), "duration=%" PRIu64 "ns", n);
		apply_set(root, set);
	}
	read_points(cf, root, &r);
	if (cf->shard != NULL && (text = cJSON_PrintUnformatted(root)) == NULL)
		err(1, "%s", name_of(cf));
	cJSON_Delete(root);
	if (r.point[0].sc.planes.n > 0)
		return run_planes(cf, &r);
	if (r.point[0].sc.trainings.n > 0) {
		if (cf->by != RESULT_GROUP)
			errx(2, "--by: a training has one row");
		r.by = RESULT_TRAINING;
	}
	choose(cf, &r);
	r.seed = r.point[0].sc.seed;
	r.runs = r.point[0].sc.runs;
	if (cf->seed != NULL && num_u64(cf->seed, 0, UINT64_MAX, &n) == NULL)
		r.seed = n;
	if (cf->runs != NULL && num_u64(cf->runs, 1, UINT64_MAX, &n) == NULL)
		r.runs = n;
	if (cf->dir != NULL && r.points * r.runs > 1)
		errx(2, "-w needs one run, but these are %zu",
		    r.points * r.runs);
	rc = simulate(cf, &r, text);
	free(text);
	runner_free(&r);
	return rc;
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse(argc, argv);
	struct sigaction sa = { .sa_handler = on_signal };
	int rc;

	/* pages of big tables that nobody touches cost nothing */
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	rc = cf.chaos != NULL ? run_chaos(&cf) : cf.join != NULL ? join(&cf) :
	    run(&cf);
	if (got != 0) {
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
