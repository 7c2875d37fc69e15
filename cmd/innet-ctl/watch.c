/* watch.c - print jobs, members and counters, once or repeatedly; see ctl.h */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/message.h"
#include "common/net/timer.h"

#include "cmd/innet-ctl/ctl.h"
#include "cmd/innet-ctl/paged.h"
#include "cmd/innet-ctl/show.h"

enum { PROMETHEUS_JOBS_MAX = 1024 };

/*
 * One block of the output of `watch`: the counters, and the jobs or the members
 * of a job.
 */
struct look {
	struct paged stats, list;
	uint64_t at_ns;			/* monotonic time at which the counters
					 * were received */
};

/* Get an answer that can be printed.  If this fails, warn and return false. */
static bool
get_printable(struct paged *p, struct ask *a, uint8_t action,
    enum control_scope scope)
{
	const char *why;

	if (!paged_get(p, a, action, scope))
		return false;
	why = show_lacks(action, p->root);
	if (why == NULL)
		return true;
	ask_warn(a, action, "the answer is not usable: it has %s", why);
	paged_free(p);
	return false;
}

/*
 * Return the scope of the counters: the job if --job is given, and otherwise
 * the switch.
 */
static enum control_scope
get_scope(const struct ctl_options *options)
{
	return options->has_job ? CONTROL_SCOPE_JOB : CONTROL_SCOPE_SWITCH;
}

/*
 * Store the numbers of the peer's jobs, at most PROMETHEUS_JOBS_MAX, in job[],
 * and return the number of jobs stored.
 */
static size_t
job_numbers(struct ask *a, const cJSON *jobs, uint16_t *job)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(jobs, "jobs");
	const cJSON *j, *number;
	size_t n = 0;

	cJSON_ArrayForEach(j, list) {
		number = cJSON_GetObjectItemCaseSensitive(j, "job");
		if (!cJSON_IsNumber(number) || number->valuedouble < 0 ||
		    number->valuedouble > UINT16_MAX)
			continue;
		if (n == PROMETHEUS_JOBS_MAX) {
			ask_warn(a, CONTROL_JOBS, "only the first %zu of %d "
			    "jobs are shown", n, cJSON_GetArraySize(list));
			break;
		}
		job[n++] = (uint16_t)number->valuedouble;
	}
	return n;
}

/*
 * Print the counters of the switch and of its jobs, for one Prometheus scrape.
 */
static int
print_scrape(const struct ctl_options *options, struct ask *a)
{
	static uint16_t number[PROMETHEUS_JOBS_MAX];
	static struct paged job[PROMETHEUS_JOBS_MAX];
	static cJSON *root[PROMETHEUS_JOBS_MAX];
	struct paged own = { 0 }, jobs = { 0 };
	size_t n = 0, got = 0;
	bool whole = true;

	if (options->has_job) {
		number[n++] = a->job;
	} else {
		whole =
		    get_printable(&own, a, CONTROL_STATS,
		    CONTROL_SCOPE_SWITCH) &&
		    get_printable(&jobs, a, CONTROL_JOBS, CONTROL_SCOPE_SWITCH);
		n = whole ? job_numbers(a, jobs.root, number) : 0;
	}
	for (; whole && got < n; got += whole) {
		a->job = number[got];
		whole = get_printable(&job[got], a, CONTROL_STATS,
		    CONTROL_SCOPE_JOB);
		root[got] = job[got].root;
	}
	if (whole)
		show_prometheus(stdout, own.root, root, n);
	while (got > 0)
		paged_free(&job[--got]);
	paged_free(&jobs);
	paged_free(&own);
	return !whole;
}

int
report_run(const struct ctl_options *options, struct ask *a)
{
	struct paged p;

	if (options->prometheus)
		return print_scrape(options, a);
	if (!get_printable(&p, a, options->action, get_scope(options)))
		return 1;
	if (options->json)
		puts(p.text);
	else if (options->action == CONTROL_JOBS)
		show_jobs(stdout, p.root);
	else if (options->action == CONTROL_MEMBERS)
		show_members(stdout, p.root);
	else
		show_stats(stdout, p.root, NULL, 0, options->verbose);
	paged_free(&p);
	return 0;
}

static void
free_look(struct look *l)
{
	paged_free(&l->stats);
	paged_free(&l->list);
}

/*
 * Get a block.  With --job, it contains the job and its members; otherwise, it
 * contains the switch and its jobs.
 */
static bool
get_look(struct look *l, const struct ctl_options *options, struct ask *a)
{
	*l = (struct look){ 0 };
	if (get_printable(&l->stats, a, CONTROL_STATS, get_scope(options))) {
		l->at_ns = timer_mono_ns();
		if (get_printable(&l->list, a,
			options->has_job ? CONTROL_MEMBERS : CONTROL_JOBS,
			get_scope(options)))
			return true;
	}
	free_look(l);
	return false;
}

/*
 * Print a block.  If there was a block before, also print the rates since then.
 */
static void
show_look(const struct ctl_options *options, const struct look *l,
    const struct look *before, bool terminal)
{
	const double seconds = (double)(l->at_ns - before->at_ns) / 1e9;

	if (options->json) {
		printf("{\"time_ns\":%" PRIu64 ",\"stats\":%s,\"%s\":%s}\n",
		    timer_wall_ns(), l->stats.text,
		    options->has_job ? "members" : "jobs", l->list.text);
		return;
	}
	if (terminal)
		/* move the cursor to the top left and clear the terminal */
		fputs("\033[H\033[2J", stdout);
	else if (before->stats.root != NULL)
		putchar('\n');
	if (options->has_job)
		show_members(stdout, l->list.root);
	else
		show_jobs(stdout, l->list.root);
	putchar('\n');
	show_stats(stdout, l->stats.root, before->stats.root, seconds,
	    options->verbose);
}

/* Sleep until until_ns, or until a signal asks to stop. */
static void
sleep_until(const struct ask_options *options, uint64_t until_ns)
{
	uint64_t now;

	while (!*options->stop && (now = timer_mono_ns()) < until_ns) {
		const struct timespec left = timer_to_timespec(until_ns - now);

		if (ppoll(NULL, 0, &left, options->wait_mask) == -1 &&
		    errno != EINTR)
			err(1, "ppoll");
	}
}

int
watch_run(const struct ctl_options *options, struct ask *a)
{
	const bool terminal = isatty(STDOUT_FILENO) == 1;
	struct look before = { 0 }, now;
	uint64_t next = timer_mono_ns();
	bool failed = false;

	for (uint64_t i = 0; options->count == 0 || i < options->count; i++) {
		sleep_until(&options->ask, next);
		next = timer_after(timer_mono_ns(), options->interval_ns);
		if (*options->ask.stop)
			break;
		failed = !get_look(&now, options, a);
		if (failed)
			break;
		show_look(options, &now, &before, terminal);
		free_look(&before);
		before = now;
		if (fflush(stdout) == EOF)
			break;
	}
	free_look(&before);
	return failed && !*options->ask.stop;
}
