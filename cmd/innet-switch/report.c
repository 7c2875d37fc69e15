/* report.c - the account of a switch as JSON and as a line */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/whole.h"

#include "cmd/innet-switch/json.h"
#include "cmd/innet-switch/report.h"

static void
put_counts(cJSON *o, const struct tally_cluster *c)
{
	for (int w = 0; w < TALLY_WHATS; w++) {
		cJSON *k = cJSON_AddObjectToObject(o,
		    tally_name((enum tally_what)w));

		json_u64(k, "packets", c->of[w].packets);
		json_u64(k, "constituents", c->of[w].constituents);
	}
}

char *
report_json(const struct egress *e, const struct filter_passed *p,
    bool pretty)
{
	const struct tally *t = &e->tally;
	cJSON *root = cJSON_CreateObject(), *o;
	char key[8];

	put_counts(cJSON_AddObjectToObject(root, "totals"), &t->all);
	o = cJSON_AddObjectToObject(root, "clusters");
	for (unsigned c = 0; c < 65536; c++) {
		if (t->cluster[c].of[TALLY_ARRIVED].packets == 0)
			continue;
		snprintf(key, sizeof(key), "%u", c);
		put_counts(cJSON_AddObjectToObject(o, key), &t->cluster[c]);
	}
	o = cJSON_AddObjectToObject(root, "merged_histogram");
	for (unsigned m = 1; m < 65536; m++) {
		if (t->merged[m] == 0)
			continue;
		snprintf(key, sizeof(key), "%u", m);
		json_u64(o, key, t->merged[m]);
	}
	o = cJSON_AddObjectToObject(root, "ignored");
	for (unsigned w = UPDATE_SHORT; w < JUDGE_VERDICTS; w++) {
		if (t->ignored[w] > 0)
			json_u64(o, judge_name(w), t->ignored[w]);
	}
	json_u64(root, "packets", p->packets);
	json_u64(root, "regular", p->regular + e->regular);
	json_u64(root, "regular_dropped", e->regular_dropped);
	json_u64(root, "models", p->models);
	json_u64(root, "weights", p->weights);
	json_u64(root, "time_backwards", p->time_backwards);
	json_u64(root, "departures_differ", p->departures_differ);
	json_u64(root, "kernel", p->kernel);
	json_u64(root, "unreachable", p->unreachable);
	json_u64(root, "no_route", p->no_route);
	json_u64(root, "send_failed", p->send_failed);
	json_u64(root, "impaired_lost", p->impaired_lost);
	json_u64(root, "impaired_dup", p->impaired_dup);
	json_u64(root, "impaired_reordered", p->impaired_reordered);
	return json_text(root, pretty);
}

int
report_text(const char *path, const char *text)
{
	const size_t len = strlen(text);
	struct whole w;
	bool good;

	if (whole_open(&w, path) == -1) {
		warn("%s", path);
		return 1;
	}
	good = whole_write(&w, text, len) && (text[len - 1] == '\n' ||
	    whole_write(&w, "\n", 1));
	if (whole_close(&w, good) == 0)
		return 0;
	warn("%s: report not written", strcmp(path, "-") == 0 ?
	    "standard output" : path);
	return 1;
}

int
report_write(const char *path, const struct egress *e,
    const struct filter_passed *p)
{
	char *text = report_json(e, p, true);
	int rc;

	if (text == NULL)
		err(1, "%s", path);
	rc = report_text(path, text);
	free(text);
	return rc;
}

static uint64_t
ignored(const struct tally *t)
{
	uint64_t sum = 0;

	for (unsigned w = UPDATE_SHORT; w < JUDGE_VERDICTS; w++)
		sum += t->ignored[w];
	return sum;
}

void
report_summary(const struct egress *e, const struct filter_passed *p,
    bool json)
{
	const struct tally_count *c = e->tally.all.of;
	uint64_t dropped = c[TALLY_DROPPED_FULL].constituents +
	    c[TALLY_DROPPED_REWARD].constituents +
	    c[TALLY_DROPPED_LIMIT].constituents;
	uint64_t in = c[TALLY_ARRIVED].constituents;
	char *text;

	if (json) {
		text = report_json(e, p, false);
		if (text != NULL)
			fprintf(stderr, "%s\n", text);
		free(text);
		return;
	}
	fprintf(stderr, "innet-switch: %" PRIu64 " updates in, %" PRIu64
	    " packets out, %" PRIu64 " aggregated, %" PRIu64 " superseded, %"
	    PRIu64 " dropped (%.1f %%), %" PRIu64 " queued; %" PRIu64
	    " regular, %" PRIu64 " models, %" PRIu64 " weights, %" PRIu64
	    " ignored\n", in, c[TALLY_DELIVERED].packets,
	    c[TALLY_AGGREGATED].constituents,
	    c[TALLY_SUPERSEDED].constituents, dropped,
	    in == 0 ? 0 : 100 * (double)dropped / (double)in,
	    c[TALLY_QUEUED].constituents, p->regular + e->regular, p->models,
	    p->weights, ignored(&e->tally));
}
