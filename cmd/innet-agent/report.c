/* report.c - show progress and write the report */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/innet-agent/report.h"
#include "common/base/atomic-file.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/progress.h"

/*
 * Return the share of the work of this run that is done, if `done` is the
 * current count, `begun` the count at the start and `end` the count at the end.
 * Return 0 if there is no end.
 */
static double
fraction_done(uint64_t done, uint64_t begun, uint64_t end)
{
	return end <= begun ? 0 : (double)(done - begun) /
	    (double)(end - begun);
}

/* Return the share of this run that is done, or 0 if no end is known. */
static double
part_done(const struct tally *t)
{
	const double steps =
	    fraction_done(t->steps, t->begun.steps, t->steps_end);
	const double episodes = fraction_done(t->episodes, t->begun.episodes,
	    t->episodes_end);

	return steps > episodes ? steps : episodes;
}

static void
draw_progress(const struct tally *t)
{
	const double s = tally_seconds(t), part = part_done(t);

	fprintf(stderr, "\r%" PRIu64 " steps (%.0f/s), %" PRIu64
	    " episodes, %" PRIu64 " gradients, reward %.1f", t->steps,
	    (double)(t->steps - t->begun.steps) / s, t->episodes, t->gradients,
	    tally_mean(t, TALLY_LAST));
	if (part > 0)
		fprintf(stderr, ", %.0f s left", s * (1 - part) / part);
	progress_end();
}

static void
print_object(struct report *r)
{
	const struct tally *t = r->tally;

	fprintf(r->json, "{\"steps\":%" PRIu64 ",\"episodes\":%" PRIu64
	    ",\"gradients\":%" PRIu64 ",\"mean100_reward\":%.9g"
	    ",\"elapsed_s\":%.3f}\n", t->steps, t->episodes, t->gradients,
	    tally_mean(t, TALLY_LAST), tally_seconds(t));
	r->bad |= !r->bad && files_flush(r->json) != 0;
}

bool
report_progress(void *arg)
{
	struct report *r = arg;
	const uint64_t now = tally_now_ns();

	if (r->json != NULL)
		print_object(r);
	if (r->quiet || !isatty(STDERR_FILENO) ||
	    now < r->shown_ns + 250000000)
		return !r->bad;
	r->shown_ns = now;
	draw_progress(r->tally);
	return !r->bad;
}

void
report_clear(const struct report *r)
{
	if (r->shown_ns != 0)
		progress_clear();
}

void
report_end(struct report *r)
{
	const struct tally *t = r->tally;
	const struct child *c = r->child;

	report_clear(r);
	if (r->quiet)
		return;
	if (c == NULL)
		warnx("%" PRIu64 " episodes, %" PRIu64 " steps, %" PRIu64
		    " gradients, mean reward %.1f", t->episodes, t->steps,
		    t->gradients, tally_mean(t, TALLY_LAST));
	else
		warnx("%" PRIu64 " episodes, %" PRIu64 " steps, %" PRIu64 " "
		    "gradients, %" PRIu64 " results, %" PRIu64 " models and "
		    "%" PRIu64 " sums received, mean reward %.1f",
		    t->episodes, t->steps, c->sent, c->results, c->models,
		    c->sums, tally_mean(t, TALLY_LAST));
}

int
report_write(const struct report *r, const char *path,
    const struct learner *l)
{
	const struct tally *t = r->tally;
	const struct child *c = r->child;
	const double update = (double)t->update_ns * 1e-9;
	const double waited = (double)t->sink_ns * 1e-9;
	const bool inside = c != NULL && l->local_optimizer == NULL;
	struct atomic_file to;
	int n = -1;

	if (atomic_file_open(&to, path) == 0) {
		n = dprintf(to.fd, "{\"env\":\"%s\",\"algo\":\"%s\""
		    ",\"params\":%zu,\"vector_bytes\":%zu,\"steps\":%" PRIu64
		    ",\"episodes\":%" PRIu64 ",\"gradients\":%" PRIu64
		    ",\"sent\":%" PRIu64 ",\"results\":%" PRIu64
		    ",\"mean100_reward\":%.9g,\"solved\":%s"
		    ",\"elapsed_s\":%.6f,\"play_s\":%.6f,\"learn_s\":%.6f"
		    ",\"exchange_s\":%.6f,\"update_s\":%.6f"
		    ",\"replay_s\":%.6f,\"gradients_per_s\":%.9g",
		    l->kind->name, l->algo->name, l->params,
		    4 * (c == NULL ? l->params : c->elements), t->steps,
		    t->episodes, t->gradients, c == NULL ? 0 : c->sent,
		    c == NULL ? 0 : c->results, tally_mean(t, TALLY_LAST),
		    tally_is_solved(t) ? "true" : "false", tally_seconds(t),
		    (double)t->play_ns * 1e-9,
		    (double)(t->lesson_ns - t->replay_ns) * 1e-9 - waited -
		    (l->local_optimizer != NULL ? update : 0),
		    c == NULL ? 0 : inside ? waited - update : waited, update,
		    (double)t->replay_ns * 1e-9, tally_rate(t));
		if (n >= 0 && r->more != NULL)
			n = r->more(to.fd, r->more_arg);
		if (n >= 0)
			n = dprintf(to.fd, "}\n");
		if (atomic_file_close(&to, n >= 0) == 0 && n >= 0)
			return 0;
	}
	warn("%s", path);
	return -1;
}
