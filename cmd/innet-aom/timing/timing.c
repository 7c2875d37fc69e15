/* timing.c - read captures and print how long iterations took */
#include "cmd/innet-aom/timing/timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-aom/timing/dlp-sessions.h"
#include "cmd/innet-aom/timing/iswitch-jobs.h"
#include "cmd/innet-aom/timing/timing-options.h"
#include "common/base/message.h"
#include "common/wire/dlp.h"

enum { BUDGET_BYTES = 256 << 20 };	/* memory limit for all segment sets
					 * together */

struct timing {
	const struct timing_options *options;
	struct packets in;
	struct figures figures;
	struct jobs jobs;
	struct sessions sessions;
	struct job all;
};

static void
print_iteration(void *arg, const struct job *j, const struct job_closed *c)
{
	struct timing *t = arg;

	timing_iteration_row(&t->figures, j, c);
}

static struct job_context
make_context(struct timing *t)
{
	return (struct job_context){ .budget.most_bytes = BUDGET_BYTES,
	    .iterations_mask =
		t->options->program == TIMING_DLP ? UINT32_MAX : 0xffffff,
	    .arg = t,
	    .report = t->options->grouping == TIMING_BY_ITERATION ?
	    print_iteration : NULL};
}

static void
open_all(struct timing *t)
{
	const struct timing_options *options = t->options;
	struct packets *in = &t->in;

	figures_open(&t->figures,
	    timing_columns(options->program, options->grouping), options->form,
	    options->grouping == TIMING_BY_ITERATION, options->columns);
	in->from_ns = options->from_ns;
	in->until_ns = options->until_ns;
	in->relative_from = options->relative_from;
	in->relative_until = options->relative_until;
	if (options->program == TIMING_DLP) {
		t->sessions.context = make_context(t);
		t->sessions.port = options->port;
		t->sessions.late = options->late;
		in->claim = sessions_claim;
		in->bytes = dlp_bytes;
		in->arg = &t->sessions;
	} else {
		t->jobs.context = make_context(t);
		t->jobs.async = options->async;
		if (options->has_switch)
			jobs_add_switch(&t->jobs, &options->at);
		in->claim = jobs_claim;
	}
	packets_open(in, options->path, options->files);
}

static void
read_all(struct timing *t)
{
	const struct packet *p;

	while ((p = packets_next(&t->in)) != NULL) {
		if (t->options->program == TIMING_DLP)
			sessions_receive(&t->sessions, p);
		else
			jobs_receive(&t->jobs, p);
	}
	packets_close(&t->in);
	jobs_end(&t->jobs);
	sessions_end(&t->sessions);
}

/* Return job i, or NULL if i is beyond the last job. */
static struct job *
job_at(struct timing *t, uint32_t i)
{
	if (t->options->program == TIMING_DLP)
		return i < t->sessions.n ? &t->sessions.session[i]->job :
		    NULL;
	return i < t->jobs.n ? t->jobs.job[i] : NULL;
}

static void
print_rows(struct timing *t)
{
	const struct timing_options *options = t->options;
	struct job *j;

	t->all.number = -1;
	for (uint32_t i = 0; (j = job_at(t, i)) != NULL; i++) {
		timing_add_job(&t->all, j);
		if (options->total || options->grouping == TIMING_BY_ITERATION)
			continue;
		if (options->grouping == TIMING_BY_MEMBER)
			timing_member_rows(&t->figures, j);
		else
			timing_job_row(&t->figures, j);
	}
	if (options->total || (options->grouping == TIMING_BY_JOB &&
				  options->form != FIGURES_TABLE))
		timing_job_row(&t->figures, &t->all);
	figures_close(&t->figures);
}

/* Print how many packets were read and left out, and the reasons. */
static void
log_summary(const struct timing *t)
{
	const struct packets *in = &t->in;
	const struct jobs *js = &t->jobs;
	const struct sessions *ss = &t->sessions;
	const uint64_t bad = js->bad_segment + js->bad_control + ss->bad;
	const uint64_t many = js->too_many + ss->too_many;
	const uint64_t no_room = js->context.no_room + ss->context.no_room;
	char *line = NULL;
	size_t room = 0;
	FILE *f = open_memstream(&line, &room);

	if (f == NULL)
		err(1, "summary");
	fprintf(f, "%" PRIu64 " packets; %" PRIu64 " %s, %" PRIu64
	    " of them measured; regular %" PRIu64 "; ignored %" PRIu64,
	    in->taken, t->all.iterations, t->options->program == TIMING_DLP ?
	    "steps" : "iterations", t->all.iteration.all.count,
	    packets_regular(in), packets_ignored(in) + bad);
	for (unsigned k = 0; k < SOUNDNESS_VERDICTS; k++)
		if (in->ignored[k] > 0)
			fprintf(f, ", %" PRIu64 " %s", in->ignored[k],
			    soundness_name(k));
	if (bad > 0)
		fprintf(f, ", %" PRIu64 " malformed", bad);
	if (js->unplaced > 0)
		fprintf(f, "; unplaced %" PRIu64 " (the capture does not show "
		    "which end is the switch; name it with --switch)",
		    js->unplaced);
	if (many > 0)
		fprintf(f, "; too_many %" PRIu64, many);
	if (no_room > 0)
		fprintf(f, "; no_room %" PRIu64, no_room);
	fclose(f);
	warnx("%s: %s",
	    t->options->files == 1 ? pcapio_name(t->options->path[0], false)
				   : "captures",
	    line);
	free(line);
}

/* Print warnings about jobs, even without the summary. */
static void
log_warnings(struct timing *t)
{
	struct job *j;
	char name[ADDR_NAME_BYTES];

	for (uint32_t i = 0; (j = job_at(t, i)) != NULL; i++)
		if (j->asks_rounds && j->mode == JOB_MODE_UNKNOWN)
			warnx("the capture does not show the start of job %d "
			    "of %s, so the job counts as synchronous; but its "
			    "Probes ask for rounds, so --async may be needed",
			    (int)j->number,
			    addr_print(&j->at, name));
}

/* Print the number of packets in each capture. */
static void
log_captures(const struct packets *in)
{
	for (size_t i = 0; i < in->n; i++) {
		const struct packets_file *f = &in->file[i];

		warnx("%s: %" PRIu64 " packets, %" PRIu64 " regular, %" PRIu64
		    " frames split into %" PRIu64 " datagrams, %" PRIu64
		    " with time going backwards", pcapio_name(f->in.path,
		    false), f->in.packets, f->regular, f->split.frames,
		    f->split.datagrams, f->backwards);
	}
}

int
timing_run(const char *program, int argc, char *argv[])
{
	const struct timing_options options =
	    timing_options_parse(program, argc, argv);
	struct timing *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		err(1, "captures");
	t->options = &options;
	open_all(t);
	read_all(t);
	print_rows(t);
	log_warnings(t);
	if (options.verbose)
		log_captures(&t->in);
	if (!options.quiet)
		log_summary(t);
	rc = t->in.rc;
	if (packets_unrecognised(&t->in, options.program == TIMING_DLP ?
	    "program dlp (its UDP port)" :
	    "program iswitch (DSCP 3 or 7)") && options.strict)
		rc = 1;
	jobs_free(&t->jobs);
	sessions_free(&t->sessions);
	job_free(&t->all);
	free(t);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	return rc;
}
