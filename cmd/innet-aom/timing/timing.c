/* timing.c - read captures, print what iterations took: timing.h */
#include "cmd/innet-aom/timing/timing.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-aom/timing/dlp-sessions.h"
#include "cmd/innet-aom/timing/iswitch-jobs.h"
#include "cmd/innet-aom/timing/timing-options.h"
#include "common/wire/dlp.h"

enum { BUDGET_BYTES = 256 << 20 };	/* of all that is open */

struct timing {
	const struct timing_conf *cf;
	struct packets in;
	struct sheet sheet;
	struct jobs jobs;
	struct sessions sessions;
	struct job all;
};

static void
report_row(void *arg, const struct job *j, const struct job_closed *c)
{
	struct timing *t = arg;

	timing_iteration_row(&t->sheet, j, c);
}

static struct job_conf
job_conf_of(struct timing *t)
{
	return (struct job_conf){ .budget.most_bytes = BUDGET_BYTES,
	    .iterations_mask = t->cf->program == TIMING_DLP ? UINT32_MAX :
	    0xffffff, .arg = t,
	    .report = t->cf->by == TIMING_ITERATION ? report_row : NULL };
}

static void
open_all(struct timing *t)
{
	const struct timing_conf *cf = t->cf;
	struct packets *in = &t->in;

	sheet_init(&t->sheet, timing_columns(cf->program, cf->by), cf->print,
	    cf->by == TIMING_ITERATION, cf->columns);
	in->from_ns = cf->from_ns;
	in->until_ns = cf->until_ns;
	in->relative_from = cf->relative_from;
	in->relative_until = cf->relative_until;
	if (cf->program == TIMING_DLP) {
		t->sessions.cf = job_conf_of(t);
		t->sessions.port = cf->port;
		t->sessions.late = cf->late;
		in->claim = sessions_claim;
		in->bytes = dlp_bytes;
		in->arg = &t->sessions;
	} else {
		t->jobs.cf = job_conf_of(t);
		t->jobs.async = cf->async;
		if (cf->has_switch)
			jobs_switch(&t->jobs, &cf->at);
		in->claim = jobs_claim;
	}
	packets_open(in, cf->path, cf->files);
}

static void
read_all(struct timing *t)
{
	const struct packet *p;

	while ((p = packets_next(&t->in)) != NULL) {
		if (t->cf->program == TIMING_DLP)
			sessions_take(&t->sessions, p);
		else
			jobs_take(&t->jobs, p);
	}
	packets_close(&t->in);
	jobs_done(&t->jobs);
	sessions_done(&t->sessions);
}

/* Job i of those there are, or NULL. */
static struct job *
job_at(struct timing *t, uint32_t i)
{
	if (t->cf->program == TIMING_DLP)
		return i < t->sessions.n ? &t->sessions.session[i]->job :
		    NULL;
	return i < t->jobs.n ? t->jobs.job[i] : NULL;
}

static void
print_rows(struct timing *t)
{
	const struct timing_conf *cf = t->cf;
	struct job *j;

	t->all.number = -1;
	for (uint32_t i = 0; (j = job_at(t, i)) != NULL; i++) {
		timing_add(&t->all, j);
		if (cf->total || cf->by == TIMING_ITERATION)
			continue;
		if (cf->by == TIMING_MEMBER)
			timing_member_rows(&t->sheet, j);
		else
			timing_job_row(&t->sheet, j);
	}
	if (cf->total || (cf->by == TIMING_JOB && cf->print != SHEET_TABLE))
		timing_job_row(&t->sheet, &t->all);
	sheet_done(&t->sheet);
}

/* What was read, and what was left out and why. */
static void
summary(const struct timing *t)
{
	const struct packets *in = &t->in;
	const struct jobs *js = &t->jobs;
	const struct sessions *ss = &t->sessions;
	const uint64_t bad = js->bad_segment + js->bad_control + ss->bad;
	const uint64_t many = js->too_many + ss->too_many;
	const uint64_t no_room = js->cf.no_room + ss->cf.no_room;
	char *line = NULL;
	size_t room = 0;
	FILE *f = open_memstream(&line, &room);

	if (f == NULL)
		err(1, "summary");
	fprintf(f, "%" PRIu64 " packets; %" PRIu64 " %s, %" PRIu64
	    " of them measured; regular %" PRIu64 "; ignored %" PRIu64,
	    in->taken, t->all.iterations, t->cf->program == TIMING_DLP ?
	    "steps" : "iterations", t->all.iteration.all.count,
	    packets_regular(in), packets_ignored(in) + bad);
	for (unsigned k = 0; k < SOUNDNESS_VERDICTS; k++)
		if (in->ignored[k] > 0)
			fprintf(f, ", %" PRIu64 " %s", in->ignored[k],
			    soundness_name(k));
	if (bad > 0)
		fprintf(f, ", %" PRIu64 " malformed", bad);
	if (js->unplaced > 0)
		fprintf(f, "; unplaced %" PRIu64 " (which end is the switch "
		    "is not seen: --switch says it)", js->unplaced);
	if (many > 0)
		fprintf(f, "; too_many %" PRIu64, many);
	if (no_room > 0)
		fprintf(f, "; no_room %" PRIu64, no_room);
	fclose(f);
	warnx("%s: %s", t->cf->files == 1 ? pcapio_name(t->cf->path[0],
	    false) : "captures", line);
	free(line);
}

/* What a reader must know of jobs though the summary is left out. */
static void
warnings(struct timing *t)
{
	struct job *j;
	char name[ADDR_NAME_BYTES];

	for (uint32_t i = 0; (j = job_at(t, i)) != NULL; i++)
		if (j->odd && j->mode == JOB_MODE_UNKNOWN)
			warnx("job %d of %s was not seen to begin, and was "
			    "taken to be in step; its Probes ask for rounds, "
			    "as with --async", (int)j->number,
			    addr_print(&j->at, name));
}

/* What each capture held. */
static void
tell_captures(const struct packets *in)
{
	for (size_t i = 0; i < in->n; i++) {
		const struct packets_file *f = &in->file[i];

		warnx("%s: %" PRIu64 " packets, %" PRIu64 " regular, %" PRIu64
		    " frames of %" PRIu64 " packets split, %" PRIu64
		    " with time going backwards", pcapio_name(f->in.path,
		    false), f->in.packets, f->regular, f->split.frames,
		    f->split.datagrams, f->backwards);
	}
}

int
timing_run(const char *program, int argc, char *argv[])
{
	const struct timing_conf cf = timing_parse(program, argc, argv);
	struct timing *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		err(1, "captures");
	t->cf = &cf;
	open_all(t);
	read_all(t);
	print_rows(t);
	warnings(t);
	if (cf.verbose)
		tell_captures(&t->in);
	if (!cf.quiet)
		summary(t);
	rc = t->in.rc;
	if (packets_unrecognised(&t->in, cf.program == TIMING_DLP ?
	    "program dlp (its UDP port)" :
	    "program iswitch (DSCP 3 or 7)") && cf.strict)
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
