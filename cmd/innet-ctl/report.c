/* report.c - members and counters, once or again and again */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "common/timer.h"

#include "cmd/innet-ctl/ctl.h"
#include "cmd/innet-ctl/paged.h"
#include "cmd/innet-ctl/show.h"

/* One look at all there is; free_look(). */
struct look {
	struct paged stats, members;
	uint64_t at_ns;			/* monotonic, of the counters */
};

/* Get it, and be sure that it can be shown. */
static bool
get(struct paged *p, struct ask *a, uint8_t action)
{
	const char *why;

	if (!paged_get(p, a, action))
		return false;
	why = show_lacks(action, p->root);
	if (why == NULL)
		return true;
	ask_warn(a, action, "the answer has %s", why);
	paged_free(p);
	return false;
}

int
report_run(const struct ctl_conf *cf, struct ask *a)
{
	struct paged p;

	if (!get(&p, a, cf->action))
		return 1;
	if (cf->json)
		puts(p.text);
	else if (cf->prometheus)
		show_prometheus(stdout, p.root);
	else if (cf->action == CONTROL_MEMBERS)
		show_members(stdout, p.root);
	else
		show_stats(stdout, p.root, NULL, 0);
	paged_free(&p);
	return 0;
}

static void
free_look(struct look *l)
{
	paged_free(&l->stats);
	paged_free(&l->members);
}

static bool
get_look(struct look *l, struct ask *a)
{
	*l = (struct look){ 0 };
	if (get(&l->stats, a, CONTROL_STATS)) {
		l->at_ns = timer_mono_ns();
		if (get(&l->members, a, CONTROL_MEMBERS))
			return true;
	}
	free_look(l);
	return false;
}

/* Print a look, and what changed since the one before, if there was one. */
static void
show_look(const struct ctl_conf *cf, const struct look *l,
    const struct look *before, bool terminal)
{
	const double seconds = (double)(l->at_ns - before->at_ns) / 1e9;

	if (cf->json) {
		printf("{\"time_ns\":%" PRIu64 ",\"stats\":%s,\"members\":%s}"
		    "\n", timer_wall_ns(), l->stats.text, l->members.text);
		return;
	}
	if (terminal)
		fputs("\033[H\033[2J", stdout);	/* home; clear */
	else if (before->stats.root != NULL)
		putchar('\n');
	show_members(stdout, l->members.root);
	putchar('\n');
	show_stats(stdout, l->stats.root, before->stats.root, seconds);
}

/* Sleep until then, or until a signal that says stop. */
static void
sleep_until(const struct ask_conf *cf, uint64_t until_ns)
{
	uint64_t now;

	while (!*cf->stop && (now = timer_mono_ns()) < until_ns) {
		const struct timespec left = timer_spec(until_ns - now);

		if (ppoll(NULL, 0, &left, cf->wait_mask) == -1 &&
		    errno != EINTR)
			err(1, "ppoll");
	}
}

int
watch_run(const struct ctl_conf *cf, struct ask *a)
{
	const bool terminal = isatty(STDOUT_FILENO) == 1;
	struct look before = { 0 }, now;
	uint64_t next = timer_mono_ns();
	bool failed = false;

	for (uint64_t i = 0; cf->count == 0 || i < cf->count; i++) {
		sleep_until(&cf->ask, next);
		next = timer_after(timer_mono_ns(), cf->interval_ns);
		if (*cf->ask.stop)
			break;
		failed = !get_look(&now, a);
		if (failed)
			break;
		show_look(cf, &now, &before, terminal);
		free_look(&before);
		before = now;
		if (fflush(stdout) == EOF)
			break;
	}
	free_look(&before);
	return failed && !*cf->ask.stop;
}
