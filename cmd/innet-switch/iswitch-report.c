/* iswitch-report.c - the account of an aggregation switch */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-switch/iswitch-report.h"
#include "cmd/innet-switch/json.h"
#include "cmd/innet-switch/report.h"

static void
put_job(cJSON *jobs, const struct job *j)
{
	char key[8];
	cJSON *o, *c;

	snprintf(key, sizeof(key), "%u", j->id);
	o = cJSON_AddObjectToObject(jobs, key);
	c = cJSON_AddObjectToObject(o, "counters");
	for (unsigned k = 0; k < JOB_COUNTS; k++)
		json_u64(c, job_count_name(k), j->n[k]);
	json_u64(c, "saturated", j->a.count.saturated);
	json_u64(o, "unfinished", job_unfinished(j));
	json_u64(o, "members", j->members.present);
}

char *
iswitch_report_json(const struct iswitch *s, const struct iswitch_passed *p,
    bool pretty)
{
	cJSON *root = cJSON_CreateObject(), *o;

	json_u64(root, "packets", p->packets);
	o = cJSON_AddObjectToObject(root, "jobs");
	for (uint32_t k = 0; k < s->jobs; k++)
		put_job(o, &s->job[k]->j);
	o = cJSON_AddObjectToObject(root, "switch");
	for (unsigned k = 0; k < ISWITCH_COUNTS; k++)
		json_u64(o, iswitch_count_name(k), s->n[k]);
	json_u64(root, "taken", p->taken);
	json_u64(root, "own", p->own);
	json_u64(root, "regular", p->regular);
	json_u64(root, "passed", p->passed);
	o = cJSON_AddObjectToObject(root, "ignored");
	for (unsigned w = UPDATE_SHORT; w < JUDGE_VERDICTS; w++) {
		if (p->ignored[w] > 0)
			json_u64(o, judge_name(w), p->ignored[w]);
	}
	json_u64(root, "out", p->out);
	json_u64(root, "queued", p->queued);
	json_u64(root, "too_long", p->too_long);
	json_u64(root, "time_backwards", p->time_backwards);
	json_u64(root, "kernel", p->port.kernel);
	json_u64(root, "unreachable", p->port.unreachable);
	json_u64(root, "send_failed", p->port.send_failed);
	json_u64(root, "impaired_lost", p->port.lost);
	json_u64(root, "impaired_dup", p->port.duplicated);
	json_u64(root, "impaired_reordered", p->port.reordered);
	json_u64(root, "impaired_in_lost", p->port.in_lost);
	json_u64(root, "impaired_in_dup", p->port.in_duplicated);
	return json_text(root, pretty);
}

int
iswitch_report_write(const char *path, const struct iswitch *s,
    const struct iswitch_passed *p)
{
	char *text = iswitch_report_json(s, p, true);
	int rc;

	if (text == NULL)
		err(1, "%s", path);
	rc = report_text(path, text);
	free(text);
	return rc;
}

/* A count, over all jobs. */
static uint64_t
all(const struct iswitch *s, enum job_count what)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		n += s->job[k]->j.n[what];
	return n;
}

void
iswitch_report_summary(const struct iswitch *s,
    const struct iswitch_passed *p, bool live, bool json)
{
	uint64_t ignored = 0, unfinished = 0;
	char *text;

	if (json) {
		text = iswitch_report_json(s, p, false);
		if (text != NULL)
			fprintf(stderr, "%s\n", text);
		free(text);
		return;
	}
	for (unsigned w = UPDATE_SHORT; w < JUDGE_VERDICTS; w++)
		ignored += p->ignored[w];
	for (uint32_t k = 0; k < s->jobs; k++)
		unfinished += job_unfinished(&s->job[k]->j);
	fprintf(stderr, "innet-switch: %" PRIu64 " segments in, %" PRIu64
	    " added, %" PRIu64 " results (%" PRIu64 " partial), %" PRIu64
	    " unfinished; %" PRIu64 " requests, %" PRIu64 " refused; %" PRIu64
	    " foreign; ", all(s, JOB_SEGMENTS), all(s, JOB_ADDED),
	    all(s, JOB_RESULTS), all(s, JOB_PARTIAL), unfinished,
	    s->n[ISWITCH_CONTROL], s->n[ISWITCH_REFUSED],
	    s->n[ISWITCH_FOREIGN]);
	if (live)
		fprintf(stderr, "%" PRIu64 " resent, %" PRIu64 " timed out; %"
		    PRIu64 " unreachable, %" PRIu64 " sends failed, %" PRIu64
		    " dropped by the kernel\n", all(s, JOB_RESENT) +
		    all(s, JOB_HELP_RESENT), all(s, JOB_EVICTED),
		    p->port.unreachable, p->port.send_failed, p->port.kernel);
	else
		fprintf(stderr, "%" PRIu64 " frames out; %" PRIu64 " own, %"
		    PRIu64 " regular, %" PRIu64 " passed, %" PRIu64
		    " ignored\n", p->out, p->own, p->regular, p->passed,
		    ignored);
}
