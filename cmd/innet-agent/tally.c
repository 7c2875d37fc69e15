/* tally.c - counts, means and the log of a training run */
#include "config.h"

#include <inttypes.h>

#include "cmd/innet-agent/tally.h"
#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/net/timer.h"

uint64_t
tally_now_ns(void)
{
	return timer_mono_ns();
}

double
tally_seconds(const struct tally *t)
{
	return (double)(tally_now_ns() - t->begun_ns) * 1e-9;
}

/*
 * Flush a row of the log.  At the first failure, print a warning and remember
 * the failure.
 */
static void
log_flush(struct tally *t)
{
	if (fflush(t->log) == EOF && !t->log_bad) {
		warn("%s: cannot write the row of episode %" PRIu64,
		    t->log_path, t->episodes);
		t->log_bad = true;
	}
}

void
tally_open(struct tally *t, const char *path)
{
	t->begun_ns = tally_now_ns();
	if (path == NULL)
		return;
	t->log_path = path;
	t->log = file_open_stream(path, true);
	if (t->log == NULL)
		err(1, "%s", path);
	fputs("step,episode,reward,seconds\n", t->log);
	log_flush(t);
}

int
tally_close(struct tally *t)
{
	if (t->log != NULL && fclose(t->log) == EOF && !t->log_bad) {
		warn("%s", t->log_path);
		t->log_bad = true;
	}
	t->log = NULL;
	return t->log_bad ? -1 : 0;
}

void
tally_episode(struct tally *t, double reward)
{
	t->last[t->episodes++ % TALLY_LAST] = reward;
	if (t->log == NULL || t->log_bad)
		return;
	fprintf(t->log, "%" PRIu64 ",%" PRIu64 ",%.9g,%.3f\n", t->steps,
	    t->episodes, reward, tally_seconds(t));
	log_flush(t);
}

double
tally_mean(const struct tally *t, uint64_t n)
{
	double sum = 0;

	if (n > t->episodes)
		n = t->episodes;
	if (n == 0)
		return 0;
	for (uint64_t i = 1; i <= n; i++)
		sum += t->last[(t->episodes - i) % TALLY_LAST];
	return sum / (double)n;
}

bool
tally_is_solved(const struct tally *t)
{
	return t->episodes >= TALLY_LAST &&
	    tally_mean(t, TALLY_LAST) >= t->solved;
}

double
tally_rate(const struct tally *t)
{
	const uint64_t done = t->gradients - t->begun.gradients;

	if (done < 2)
		return 0;
	return (double)(done - 1) * 1e9 /
	    (double)(tally_now_ns() - t->first_ns);
}

bool
tally_over(const struct tally *t)
{
	return *t->stop != 0 ||
	    (t->steps_end != 0 && t->steps >= t->steps_end) ||
	    (t->episodes_end != 0 && t->episodes >= t->episodes_end) ||
	    (t->solve && tally_is_solved(t));
}
