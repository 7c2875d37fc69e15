/*
 * sums.c - the servers of sums: --rule sync and async, iSwitch's baselines
 *
 * An aggregation switch (aggport.h) whose jobs wait for whole vectors, or
 * answer each vector alone (job.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/account.h"

#include "cmd/innet-ps/sums.h"

/* All counters: of the jobs together, of the server, of its socket. */
static void
say(const struct aggport *a, bool json)
{
	const struct aggport_account c = aggport_account(a);
	struct account text;
	uint64_t sum;

	account_begin(&text, json, "innet-ps");
	account_put(&text, "jobs", a->s.jobs);
	for (unsigned w = 0; w < JOB_COUNTS; w++) {
		sum = 0;
		for (uint32_t k = 0; k < a->s.jobs; k++)
			sum += a->s.job[k]->j.n[w];
		if (json || sum > 0)
			account_put(&text, job_count_name(w), sum);
	}
	for (unsigned w = 0; w < ISWITCH_COUNTS; w++) {
		if (json || (a->s.n[w] > 0 && w != ISWITCH_CONTROL))
			account_put(&text, iswitch_count_name(w), a->s.n[w]);
	}
	account_put(&text, "kernel", c.kernel);
	account_put(&text, "unreachable", c.unreachable);
	account_put(&text, "send_failed", c.send_failed);
	account_end(&text);
	fputs(text.text, stderr);
}

static void
tell(struct aggport *a)
{
	say(a, false);
}

static void
tell_json(struct aggport *a)
{
	say(a, true);
}

int
sums_run(const struct aggport_conf *cf, bool json)
{
	struct aggport *a = malloc(sizeof(*a));

	if (a == NULL)
		err(1, "server");
	aggport_open_or_exit(a, cf);
	aggport_serve(a, json ? tell_json : tell);
	if (!cf->quiet)
		say(a, json);
	aggport_close(a);
	free(a);
	return 0;
}
