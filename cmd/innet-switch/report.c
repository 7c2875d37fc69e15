/* report.c - the account of a switch as JSON and as a line */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/whole.h"

#include "cmd/innet-switch/report.h"

/* cJSON stores doubles: an integer goes in as its own digits. */
static void
put_u64(cJSON *o, const char *key, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	cJSON_AddRawToObject(o, key, digits);
}

static void
put_counts(cJSON *o, const struct tally_cluster *c)
{
	for (int w = 0; w < TALLY_WHATS; w++) {
		cJSON *k = cJSON_AddObjectToObject(o,
		    tally_name((enum tally_what)w));

		put_u64(k, "packets", c->of[w].packets);
		put_u64(k, "constituents", c->of[w].constituents);
	}
}

char *
report_json(const struct egress *e, const struct filter_passed *p,
    bool pretty)
{
	const struct tally *t = &e->tally;
	cJSON *root = cJSON_CreateObject(), *o;
	char key[8], *text;

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
		put_u64(o, key, t->merged[m]);
	}
	o = cJSON_AddObjectToObject(root, "ignored");
	for (unsigned w = UPDATE_SHORT; w < JUDGE_VERDICTS; w++) {
		if (t->ignored[w] > 0)
			put_u64(o, judge_name(w), t->ignored[w]);
	}
	put_u64(root, "packets", p->packets);
	put_u64(root, "regular", p->regular + e->regular);
	put_u64(root, "regular_dropped", e->regular_dropped);
	put_u64(root, "models", p->models);
	put_u64(root, "weights", p->weights);
	put_u64(root, "time_backwards", p->time_backwards);
	put_u64(root, "departures_differ", p->departures_differ);
	put_u64(root, "kernel", p->kernel);
	put_u64(root, "unreachable", p->unreachable);
	put_u64(root, "no_route", p->no_route);
	put_u64(root, "send_failed", p->send_failed);
	put_u64(root, "impaired_lost", p->impaired_lost);
	put_u64(root, "impaired_dup", p->impaired_dup);
	put_u64(root, "impaired_reordered", p->impaired_reordered);
	text = pretty ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}

int
report_write(const char *path, const struct egress *e,
    const struct filter_passed *p)
{
	char *text = report_json(e, p, true);
	struct whole w;
	bool good;

	if (text == NULL)
		err(1, "%s", path);
	if (whole_open(&w, path) == -1) {
		warn("%s", path);
		free(text);
		return 1;
	}
	good = whole_write(&w, text, strlen(text)) && whole_write(&w, "\n", 1);
	free(text);
	if (whole_close(&w, good) == 0)
		return 0;
	warn("%s: report not written", strcmp(path, "-") == 0 ?
	    "standard output" : path);
	return 1;
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
