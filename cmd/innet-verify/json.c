/* json.c - print a verdict as JSON, with all digits of integers */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "cmd/innet-verify/json.h"

static const char *const verdict_word[] = { "holds", "fails", "unknown" };

static void
print_clusters(FILE *f, const struct spec *s)
{
	static const char *const control[] = {
		[TXCTL_NONE] = "none", [TXCTL_URGENT] = "urgent",
		[TXCTL_FAIR] = "fair"
	};

	fputs(",\"clusters\":[", f);
	for (size_t i = 0; i < s->n; i++) {
		const struct spec_cluster *c = &s->cluster[i];

		fprintf(f, "%s{\"cluster\":%" PRIu64 ",\"free\":{"
		    "\"offset_lo_ns\":%" PRIu64 ",\"offset_hi_ns\":%"
		    PRIu64 ",\"jitter_ns\":%" PRIu64
		    ",\"choices\":%s},\"fixed\":{\"period_ns\":%" PRIu64
		    ",\"control\":\"%s\",\"threshold_ns\":%" PRIu64 "}}",
		    i == 0 ? "" : ",", c->id, c->offset_lo_ns,
		    c->offset_hi_ns, c->jitter_ns, c->control.kind !=
		    TXCTL_NONE && s->slots < s->n ? "true" : "false",
		    c->period_ns, control[c->control.kind],
		    c->control.threshold_ns);
	}
	fputs("]", f);
}

static void
print_steps(FILE *f, const struct answer *a)
{
	fputs(",\"steps\":[", f);
	for (size_t i = 0; i < a->steps; i++)
		fprintf(f, "%s{\"horizon_ns\":%" PRIu64 ",\"updates\":%zu,"
		    "\"verdict\":\"%s\",\"seconds\":%.6f}", i == 0 ? "" : ",",
		    a->step[i].horizon_ns, a->step[i].updates,
		    verdict_word[a->step[i].verdict], a->step[i].seconds);
	fputs("]", f);
}

static void
print_run(FILE *f, const struct spec *s, const struct answer *a)
{
	uint64_t payload, rate;

	if (counterexample_link(s->service_ns, &payload, &rate))
		fprintf(f, ",\"payload_bytes\":%" PRIu64 ",\"rate_bps\":%"
		    PRIu64, payload, rate);
	fputs(",\"run\":[", f);
	for (size_t i = 0; i < s->n; i++) {
		const struct played_cluster *c = &a->run.of[i];

		fprintf(f, "%s{\"cluster\":%" PRIu64 ",\"sent\":%" PRIu64
		    ",\"held\":%" PRIu64 ",\"merged\":%" PRIu64
		    ",\"dropped\":%" PRIu64 ",\"delivered\":%" PRIu64
		    ",\"peaks\":%" PRIu64 ",\"peak_sum_ns\":%" PRIu64
		    ",\"max_age_ns\":%" PRIu64 "}", i == 0 ? "" : ",",
		    s->cluster[i].id, c->sent, c->held, c->merged, c->dropped,
		    c->delivered, c->peaks, c->peak_sum_ns, c->max_age_ns);
	}
	fputs("],\"schedule\":[", f);
	for (size_t i = 0; i < a->schedule.n; i++) {
		const struct planned_update *x = &a->schedule.row[i];

		fprintf(f, "%s{\"cluster\":%" PRIu64 ",\"update\":%" PRIu64
		    ",\"time_ns\":%" PRIu64 ",\"fate\":\"%s\"",
		    i == 0 ? "" : ",", s->cluster[x->c].id, x->k, x->at_ns,
		    fate_name(x->fate));
		if (x->fate == FATE_OPENED)
			fprintf(f, ",\"departs_ns\":%" PRIu64 ",\"peak_ns\":%"
			    PRIu64, x->leaves_ns, x->peak_ns);
		fputs("}", f);
	}
	fputs("]", f);
}

void
json_print(FILE *f, const struct spec *s, const struct objective *o,
    const struct answer *a)
{
	fprintf(f, "{\"objective\":\"%s\",\"verdict\":\"%s\",\"horizon_ns\":%"
	    PRIu64 ",\"updates\":%zu,\"seconds\":%.6f,\"service_ns\":%" PRIu64
	    ",\"slots\":%" PRIu64 ",\"ack_ns\":%" PRIu64, o->text,
	    verdict_word[a->verdict], a->horizon_ns, a->updates, a->seconds,
	    s->service_ns, s->slots, s->ack_ns);
	print_clusters(f, s);
	print_steps(f, a);
	if (solve_has_run(a)) {
		fprintf(f, ",\"fails_up_to_ns\":%" PRIu64, a->failed_ns);
		print_run(f, s, a);
	}
	fputs("}\n", f);
}
