/* chaos.c - run many random training jobs on all cores; see chaos.h */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/innet-sim/chaos/chaos.h"
#include "cmd/innet-sim/chaos/chaos-draw.h"
#include "cmd/innet-sim/chaos/chaos-run.h"
#include "cmd/innet-sim/run/runner.h"
#include "common/base/message.h"
#include "common/net/timer.h"

enum { PATIENCE_S = 120, FINDINGS_MAX = 100 };

/* Memory that all processes share. */
struct shared {
	_Atomic uint64_t next, done;
	_Atomic uint32_t findings;
	uint64_t seed[FINDINGS_MAX];
};

/* The state of a process: its current seed and its counters. */
struct child {
	pid_t pid;
	uint64_t seed;
	bool busy;
	struct chaos_tally n;
};

/* Report a finding on one line, and store its seed. */
static void
report_finding(struct shared *sh, uint64_t seed, const char *what)
{
	const uint32_t k = sh->findings++;

	warnx("--chaos %" PRIu64 ": %s", seed, what);
	if (k < FINDINGS_MAX)
		sh->seed[k] = seed;
}

static bool
may_continue(const struct chaos_options *cf, const struct shared *sh)
{
	return *cf->stopped == 0 && sh->findings < FINDINGS_MAX;
}

/*
 * End this process with SIGPROF if it uses more processor time than PATIENCE_S
 * from now on.  A limit on the time of day would find faults that do not exist
 * on a busy machine.
 */
static void
limit_run(void)
{
	const struct itimerval limit = { .it_value = { .tv_sec = PATIENCE_S } };

	(void)setitimer(ITIMER_PROF, &limit, NULL);
}

/* Take seeds and run them until no seed is left. */
static void
run_seeds(const struct chaos_options *cf, struct shared *sh, struct child *c)
{
	const struct chaos_draw_kind kind = { .kills_racks = cf->kills_racks,
	    .ring = cf->ring, .severe = cf->severe };
	char wrong[SIM_WRONG_BYTES];
	struct chaos_plan p;
	uint64_t at;

	while (may_continue(cf, sh) && (at = sh->next++) < cf->runs) {
		c->seed = cf->seed + at;
		c->busy = true;
		limit_run();
		chaos_draw(&p, c->seed, &kind);
		p.t.auth = cf->auth;
		p.t.payload_bytes += training_head(&p.t) - SEG_HEADER_BYTES;
		if (cf->verbose) {
			chaos_print(stdout, &p);
			fflush(stdout);
		}
		if (!chaos_run_one(&p, &c->n, wrong))
			report_finding(sh, c->seed, wrong);
		c->busy = false;
		sh->done++;
	}
}

/* Report a process that died during a run. */
static void
report_death(const struct chaos_options *cf, struct shared *sh, struct child *c,
    int status)
{
	char what[100];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (*cf->stopped != 0)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		snprintf(what, sizeof(what), "stuck: the run took more than "
		    "%d s of processor time", PATIENCE_S);
	else if (WIFSIGNALED(status))
		snprintf(what, sizeof(what), "died: %s",
		    strsignal(WTERMSIG(status)));
	else
		snprintf(what, sizeof(what), "died: status %d",
		    WEXITSTATUS(status));
	c->n.runs++;
	c->n.findings++;
	report_finding(sh, c->seed, what);
}

static void
start_child(const struct chaos_options *cf, struct shared *sh, struct child *c)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		run_seeds(cf, sh, c);
		_exit(0);
	}
	c->pid = pid;
}

/* Wait for the processes; if one dies, start another in its place. */
static void
wait_children(const struct chaos_options *cf, struct shared *sh,
    struct child *c)
{
	size_t running = cf->jobs;
	int status;
	pid_t pid;

	while (running > 0) {
		struct child *who = c;

		pid = waitpid(-1, &status, 0);
		if (pid == -1 && errno == EINTR)
			continue;
		if (pid == -1)
			err(1, "waiting");
		while (who < c + cf->jobs && who->pid != pid)
			who++;
		if (who == c + cf->jobs)
			continue;
		report_death(cf, sh, who, status);
		if (may_continue(cf, sh) && sh->next < cf->runs)
			start_child(cf, sh, who);
		else
			running--;
	}
}

static void
add_tally(struct chaos_tally *n, const struct chaos_tally *o)
{
	n->runs += o->runs;
	n->findings += o->findings;
	n->events += o->events;
	n->packets += o->packets;
	n->results += o->results;
	n->refused += o->refused;
	for (int k = 0; k < LINK_FAULTS_COUNTS; k++)
		n->link_faults[k] += o->link_faults[k];
	for (int k = 0; k < CHAOS_KINDS; k++)
		n->fault[k] += o->fault[k];
}

/* Print a counter.  In JSON, print the text `before` in front of it. */
static void
put_count(const struct chaos_options *cf, const char *key, uint64_t n,
    const char *before)
{
	if (cf->json)
		printf("%s\"%s\":%" PRIu64, before, key, n);
	else
		printf("%s%s %" PRIu64, *before == ',' ? ", " : "", key, n);
}

/* Print the summary as JSON or text. */
static void
print_summary(const struct chaos_options *cf, const struct shared *sh,
    const struct chaos_tally *n, double s)
{
	static const char *const trouble[] = { "lost", "bursts", "twice",
		"late" };
	static const char *const fault[] = { "partitions", "flaps", "kills",
		"pauses", "deaths" };

	put_count(cf, "seed", cf->seed, "{");
	put_count(cf, "runs", n->runs, ",");
	put_count(cf, "findings", n->findings, ",");
	printf(cf->json ? ",\"seconds\":%.2f" : ", %.2f s", s);
	put_count(cf, "events", n->events, ",");
	put_count(cf, "packets", n->packets, ",");
	put_count(cf, "results", n->results, ",");
	for (int k = 0; k < LINK_FAULTS_COUNTS; k++)
		put_count(cf, trouble[k], n->link_faults[k], ",");
	for (int k = 0; k < CHAOS_KINDS; k++)
		put_count(cf, fault[k], n->fault[k], ",");
	put_count(cf, "refused", n->refused, ",");
	if (cf->json) {
		printf(",\"seeds\":[");
		for (uint32_t k = 0; k < sh->findings && k < FINDINGS_MAX; k++)
			printf("%s%" PRIu64, k == 0 ? "" : ",", sh->seed[k]);
		printf("]}");
	}
	printf("\n");
}

int
chaos_run(const struct chaos_options *cf)
{
	const uint64_t began_ns = timer_mono_ns();
	struct shared *sh = runner_alloc_shared(sizeof(*sh));
	struct child *c = runner_alloc_shared(cf->jobs * sizeof(*c));
	struct chaos_tally n = { 0 };
	bool any;

	for (size_t i = 0; i < cf->jobs; i++)
		start_child(cf, sh, &c[i]);
	wait_children(cf, sh, c);
	for (size_t i = 0; i < cf->jobs; i++)
		add_tally(&n, &c[i].n);
	if (!cf->quiet || cf->json)
		print_summary(cf, sh, &n, 1e-9 * (double)(timer_mono_ns() -
		    began_ns));
	any = sh->findings > 0;
	munmap(c, cf->jobs * sizeof(*c));
	munmap(sh, sizeof(*sh));
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		return 1;
	}
	return any;
}
