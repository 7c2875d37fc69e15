/* runner.c - do many runs on all cores; see runner.h */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "cmd/innet-sim/run/captures.h"
#include "cmd/innet-sim/run/network.h"
#include "cmd/innet-sim/run/runner.h"
#include "cmd/innet-sim/scenario/scenario-read.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/timer.h"

/* Memory that all processes share. */
struct shared {
	_Atomic uint64_t next, done, events;
	_Atomic double apart;	/* largest difference that the other value of
				 * ages_to makes in a run, as a share of the
				 * mean age */
	_Atomic int failed;
};

void *
runner_alloc_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "no memory for %zu bytes of results", bytes);
	return p;
}

/* Perform run number `at`.  Returns false if the run failed. */
static bool
run_one(const struct runner *r, struct shared *sh, uint64_t at)
{
	struct point *p = &r->point[at / r->runs];
	const uint64_t run = at % r->runs;
	struct sim *s = network_new(&p->sc, r->seed + run);
	bool whole = true;

	s->stopped = r->stopped;
	if (r->dir != NULL)
		captures_open(s, r->dir, r->scenario);
	sim_run(s);
	if (r->stopped == NULL || *r->stopped == 0)
		whole = result_make_rows(s, r->by, p->row + run * p->rows);
	if (s->other_end > 0 && fabs(s->other_end - 1) > fabs(sh->apart))
		sh->apart = s->other_end - 1;
	if (r->dir != NULL)
		whole = captures_close(s) && whole;
	sh->events += s->handled;
	network_free(s);
	return whole;
}

uint64_t
runner_count_runs(const struct runner *r)
{
	const uint64_t all = r->points * r->runs;

	return r->shard.at < all ? (all - r->shard.at - 1) / r->shard.of + 1 :
	    0;
}

/* Take and perform runs until no run is left. */
static void
do_runs(const struct runner *r, struct shared *sh)
{
	const uint64_t mine = runner_count_runs(r);
	uint64_t at;

	while (*r->stopped == 0 && sh->failed == 0 &&
	    (at = sh->next++) < mine) {
		if (!run_one(r, sh, r->shard.at + at * r->shard.of))
			sh->failed = 1;
		sh->done++;
	}
}

static double
get_seconds(void)
{
	return 1e-9 * (double)timer_mono_ns();
}

static void
show_progress(const struct runner *r, const struct shared *sh, double began)
{
	const uint64_t all = runner_count_runs(r), done = sh->done;
	const double s = get_seconds() - began;

	fprintf(stderr, "\r%" PRIu64 "/%" PRIu64 " runs", done, all);
	if (done > 0)
		fprintf(stderr, ", %.0f s left", s / (double)done *
		    (double)(all - done));
	progress_end();
}

/* Wait for n children, and show their progress. */
static void
wait_children(const struct runner *r, struct shared *sh, size_t n)
{
	const struct timespec nap = { 0, 200000000 };
	const double began = get_seconds();
	int status;
	pid_t pid;

	while (n > 0) {
		pid = waitpid(-1, &status, r->progress ? WNOHANG : 0);
		if (pid > 0) {
			n--;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
				sh->failed = 1;
		} else if (pid == 0) {
			show_progress(r, sh, began);
			nanosleep(&nap, NULL);
		} else if (errno != EINTR) {
			err(1, "waiting");
		}
	}
	if (r->progress)
		progress_clear();
}

static void
start_children(const struct runner *r, struct shared *sh)
{
	size_t n = 0;

	fflush(stdout);
	for (; n < r->jobs; n++) {
		pid_t pid = fork();

		if (pid == -1)
			err(1, "fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			do_runs(r, sh);
			_exit(0);
		}
	}
	wait_children(r, sh, n);
}

void
runner_rows(struct runner *r)
{
	size_t rows = 0;

	for (size_t i = 0; i < r->points; i++) {
		r->point[i].rows = result_rows(&r->point[i].sc, r->by);
		rows += r->runs * r->point[i].rows;
	}
	r->row_bytes = rows * sizeof(*r->row);
	r->row = runner_alloc_shared(r->row_bytes);
	rows = 0;
	for (size_t i = 0; i < r->points; i++) {
		r->point[i].row = r->row + rows;
		rows += r->runs * r->point[i].rows;
	}
}

int
runner_run(struct runner *r)
{
	const uint64_t mine = runner_count_runs(r);
	struct shared *sh = runner_alloc_shared(sizeof(*sh));
	int failed;

	runner_rows(r);
	if (r->jobs > mine)
		r->jobs = mine;
	if (r->jobs <= 1)
		do_runs(r, sh);
	else
		start_children(r, sh);
	failed = sh->failed;
	r->events = sh->events;
	r->apart = sh->apart;
	munmap(sh, sizeof(*sh));
	return failed != 0;
}

void
runner_free(struct runner *r)
{
	for (size_t i = 0; i < r->points; i++) {
		cJSON_Delete(r->point[i].values);
		scenario_free(&r->point[i].sc);
	}
	if (r->row != NULL)
		munmap(r->row, r->row_bytes);
	free(r->point);
}
