/*
 * servers.c - the programs of innet-ps
 *
 * The servers that compute sums are the baselines of the iSwitch paper.  Each
 * is an aggregation switch whose jobs wait for whole vectors (synchronous) or
 * answer each vector separately (asynchronous).
 */
#include "common/dlp/program.h"
#include "common/iswitch/program.h"
#include "cmd/innet-ps/olaf-server.h"

#include "cmd/innet-ps/servers.h"

static const struct opt sums_opts[] = {
	{ 'H', "threshold", "N",
	    "iswitch: number of workers in a job, or auto: the number of "
	    "processes that the launcher started" },
	{ ISWITCH_ASYNC, "async", NULL,
	    "iswitch: answer each vector separately, as soon as it is "
	    "complete" },
	{ ISWITCH_REDUCE, "reduce", "HOW",
	    "rule for combining vectors: sum (default), ordered, fixed, "
	    "median or trimmed:N; with dlp: mean (default) or median" },
	{ ISWITCH_TIMEOUT, "member-timeout", "TIME",
	    "iswitch: remove a worker that has been silent for TIME (default "
	    "10s)" },
	{ 0 }
};

static const struct opt session_opts[] = {
	{ DLP_REDUCE, "reduce", "HOW",
	    "dlp: rule for combining gradients: mean (default) or median" },
	{ DLP_ANSWER_EARLY, "answer-early", NULL,
	    "dlp: answer each gradient at once with the aggregate of the "
	    "previous step" },
	{ DLP_ANSWER_EARLY, "late", NULL, NULL },
	{ DLP_STRAGGLER, "straggler", "TIME",
	    "dlp: after TIME, complete a step with the gradients that have "
	    "arrived" },
	{ DLP_SESSION, "session", "LIST",
	    "dlp: settings of the session, such as "
	    "nodes=N,iterations=N,scale=N" },
	{ 0 }
};

static void
sums_defaults(void *conf)
{
	struct iswitch_settings *cf = conf;

	iswitch_set_defaults(cf);
	cf->iswitch.job.keep_bytes = 1;
}

static const char *
sums_settle(void *conf, struct program_place *place)
{
	struct iswitch_settings *cf = conf;
	struct job_conf *job = &cf->iswitch.job;
	const char *why;

	if (job->async && cf->reduce != NULL)
		return "--reduce cannot be used with --async, where the server "
		    "answers each vector alone";
	job->whole = !job->async;
	job->server = job->async;
	if (job->whole && job->rule.reduce.kind == REDUCE_SUM) {
		/* add the vectors when all of them have arrived */
		job->rule.reduce.kind = REDUCE_ORDERED;
		job->as_came = true;
	}
	place->dry_run = cf->elements > 0; /* a server needs no memory plan */
	why = iswitch_check_settings(cf, place);
	return why;
}

static void
session_defaults(void *conf)
{
	struct dlp_settings *cf = conf;

	dlp_defaults(cf);
	cf->job.as = DLP_AGGREGATOR_SERVER;
}

const struct program *const *
servers(void)
{
	static struct program sums, session;
	static const struct program *list[4];

	sums = iswitch_program;
	sums.about = "sum whole vectors, or answer each";
	sums.options = sums_opts;
	sums.set_defaults = sums_defaults;
	sums.check_settings = sums_settle;
	sums.plan_memory = NULL;
	session = dlp_program;
	session.options = session_opts;
	session.set_defaults = session_defaults;
	list[0] = &server_program;
	list[1] = &sums;
	list[2] = &session;
	return list;
}
