/* print.c - print a verdict for people, and write the schedule */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-verify/json.h"
#include "cmd/innet-verify/print.h"
#include "common/base/atomic-file.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/progress.h"

enum { TIME_TEXT = 32 };

/* Format a time exactly, as num.h reads it, for example 2s or 1.5ms. */
static const char *
time_text(uint64_t ns, char text[TIME_TEXT])
{
	static const struct { const char *name; uint64_t ns; } unit[] = {
		{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 },
		{ "ns", 1 },
	};
	size_t i = 0;

	if (ns == 0)
		return "0";
	while (ns < unit[i].ns && i < 3)
		i++;
	if (ns % unit[i].ns != 0 && (i == 3 || ns % (unit[i].ns / 1000) != 0))
		i += i < 3;
	if (ns % unit[i].ns == 0)
		snprintf(text, TIME_TEXT, "%" PRIu64 "%s", ns / unit[i].ns,
		    unit[i].name);
	else
		snprintf(text, TIME_TEXT, "%.9g%s", (double)ns /
		    (double)unit[i].ns, unit[i].name);
	return text;
}

/* Convert a measured time from ns to ms. */
static double
to_ms(uint64_t ns)
{
	return (double)ns * 1e-6;
}

static double
mean_ms(const struct played_cluster *c)
{
	return c->peaks == 0 ? 0 : (double)c->peak_sum_ns * 1e-6 /
	    (double)c->peaks;
}

/*
 * Print the clusters that have no average and therefore cannot be compared;
 * return false if there are no such clusters.
 */
static bool
print_without_average(const struct spec *s, const struct played *r)
{
	size_t n = 0;

	for (size_t c = 0; c < s->n; c++) {
		if (r->of[c].peaks == 0)
			fprintf(stderr, "%s%" PRIu64, n++ == 0 ?
			    "no second delivery of cluster " : ", ",
			    s->cluster[c].id);
	}
	if (n > 0)
		fputs(": nothing to compare", stderr);
	return n > 0;
}

/* Print a short description of how the run violates the objective. */
static void
print_run(const struct spec *s, const struct objective *o,
    const struct played *r)
{
	size_t worst = 0, best = s->n;

	for (size_t c = 0; c < s->n; c++) {
		const struct played_cluster *of = &r->of[c];

		if (o->kind == OBJECTIVE_NO_LOSS ?
		    of->dropped > r->of[worst].dropped :
		    o->kind == OBJECTIVE_PEAK ?
		    of->max_age_ns > r->of[worst].max_age_ns :
		    mean_ms(of) > mean_ms(&r->of[worst]))
			worst = c;
		if (of->peaks > 0 && (best == s->n ||
		    mean_ms(of) < mean_ms(&r->of[best])))
			best = c;
	}
	if (o->kind == OBJECTIVE_NO_LOSS)
		fprintf(stderr, "%" PRIu64 " of %" PRIu64 " updates of cluster"
		    " %" PRIu64 " find no slot", r->of[worst].dropped,
		    r->of[worst].sent, s->cluster[worst].id);
	else if (o->kind == OBJECTIVE_PEAK)
		fprintf(stderr, "cluster %" PRIu64 " reaches an age of %.6g "
		    "ms", s->cluster[worst].id, to_ms(r->of[worst].max_age_ns));
	else if (!print_without_average(s, r))
		fprintf(stderr, "average peak ages are %.6g ms of cluster %"
		    PRIu64 " and %.6g ms of cluster %" PRIu64,
		    mean_ms(&r->of[worst]), s->cluster[worst].id,
		    mean_ms(&r->of[best]), s->cluster[best].id);
}

void
print_progress(const struct answer *a)
{
	const struct step *st = &a->step[a->steps - 1];
	char t[TIME_TEXT];

	progress_say("innet-verify: up to %s: %zu updates ...",
	    time_text(st->horizon_ns, t), st->updates);
}

static void
print_verdict(const struct spec *s, const struct objective *o,
    const struct answer *a)
{
	const struct step *last = &a->step[a->steps - 1];
	char t[TIME_TEXT];

	fprintf(stderr, "innet-verify: %s ", o->text);
	switch (a->verdict) {
	case HOLDS:
		fprintf(stderr, "holds up to %s", time_text(a->horizon_ns,
		    t));
		break;
	case FAILS:
		fprintf(stderr, "fails: up to %s ", time_text(a->horizon_ns,
		    t));
		print_run(s, o, &a->run);
		break;
	case UNKNOWN:
		fprintf(stderr, "is unknown: up to %s not decided",
		    time_text(last->horizon_ns, t));
		if (a->steps > 1)
			fprintf(stderr, ", up to %s it %s",
			    time_text(last[-1].horizon_ns, t),
			    last[-1].verdict == HOLDS ? "holds" : "fails");
		if (solve_has_run(a)) {
			fputs(": ", stderr);
			print_run(s, o, &a->run);
		}
		break;
	}
	fprintf(stderr, " (%zu updates, %.2f s)\n", a->updates, a->seconds);
}

static bool
are_alike(const struct spec_cluster *x, const struct spec_cluster *y)
{
	return x->offset_lo_ns == y->offset_lo_ns &&
	    x->offset_hi_ns == y->offset_hi_ns &&
	    x->jitter_ns == y->jitter_ns && x->period_ns == y->period_ns &&
	    x->control.kind == y->control.kind &&
	    x->control.threshold_ns == y->control.threshold_ns;
}

/*
 * Print cluster i, and the clusters after it that have equal settings, as
 * "cluster 3" or "clusters 3 to 7"; return the index after the last of them.
 */
static size_t
print_clusters(const struct spec *s, size_t i)
{
	size_t end = i + 1;

	while (end < s->n && are_alike(&s->cluster[i], &s->cluster[end]) &&
	    s->cluster[end].id == s->cluster[i].id + (end - i))
		end++;
	fprintf(stderr, "cluster%s %" PRIu64, end > i + 1 ? "s" : "",
	    s->cluster[i].id);
	if (end > i + 1)
		fprintf(stderr, " to %" PRIu64, s->cluster[end - 1].id);
	return end;
}

static void
print_free(const struct spec *s)
{
	char a[TIME_TEXT], b[TIME_TEXT];

	fputs("innet-verify: free: ", stderr);
	for (size_t i = 0, end; i < s->n; i = end) {
		const struct spec_cluster *c = &s->cluster[i];
		const bool offset = c->offset_lo_ns < c->offset_hi_ns;
		const bool choice = c->control.kind != TXCTL_NONE &&
		    s->slots < s->n;

		fputs(i > 0 ? "; " : "", stderr);
		end = print_clusters(s, i);
		fputs(":", stderr);
		if (offset)
			fprintf(stderr, " offset %s to %s",
			    time_text(c->offset_lo_ns, a),
			    time_text(c->offset_hi_ns, b));
		if (c->jitter_ns > 0)
			fprintf(stderr, "%s jitter 0 to %s of each update",
			    offset ? "," : "", time_text(c->jitter_ns, a));
		if (choice)
			fprintf(stderr, "%s every choice of transmission "
			    "control", offset || c->jitter_ns > 0 ? "," : "");
		if (!offset && c->jitter_ns == 0 && !choice)
			fputs(" nothing", stderr);
	}
	fputs("\n", stderr);
}

static void
print_fixed(const struct spec *s)
{
	static const char *const v[] = {
		[TXCTL_URGENT] = "urgent", [TXCTL_FAIR] = "fair"
	};
	char a[TIME_TEXT], b[TIME_TEXT];

	fprintf(stderr, "innet-verify: fixed: service time %s, %" PRIu64
	    " slot%s, ACK delay %s", time_text(s->service_ns, a), s->slots,
	    s->slots > 1 ? "s" : "", time_text(s->ack_ns, b));
	for (size_t i = 0, end; i < s->n; i = end) {
		const struct spec_cluster *c = &s->cluster[i];

		fputs("; ", stderr);
		end = print_clusters(s, i);
		fprintf(stderr, ": period %s", time_text(c->period_ns, a));
		if (c->offset_lo_ns == c->offset_hi_ns)
			fprintf(stderr, ", offset %s",
			    time_text(c->offset_lo_ns, a));
		if (c->control.kind != TXCTL_NONE)
			fprintf(stderr, ", control %s, threshold %s",
			    v[c->control.kind],
			    time_text(c->control.threshold_ns, a));
	}
	fputs("\n", stderr);
}

/* Print the command that repeats the schedule with the other tools. */
static void
print_repeat(const struct spec *s)
{
	uint64_t payload, rate;

	if (counterexample_link(s->service_ns, &payload, &rate))
		fprintf(stderr, "innet-verify: again: innet-gen --schedule "
		    "FILE --payload %" PRIu64 " | innet-switch --slots %"
		    PRIu64 " --rate %" PRIu64 " | innet-aom\n", payload,
		    s->slots, rate);
}

/*
 * Print the verdict for each horizon, and each update of the run that was
 * found.
 */
static void
print_details(const struct spec *s, const struct answer *a)
{
	static const char *const word[] = { "holds", "fails", "unknown" };
	char t[TIME_TEXT];

	for (size_t i = 0; i < a->steps; i++)
		fprintf(stderr, "innet-verify: up to %s: %s (%zu updates, "
		    "%.2f s)\n", time_text(a->step[i].horizon_ns, t),
		    word[a->step[i].verdict], a->step[i].updates,
		    a->step[i].seconds);
	if (!solve_has_run(a))
		return;
	fprintf(stderr, "%16s %7s %6s %7s %16s %12s\n", "time_ns", "cluster",
	    "update", "fate", "departs_ns", "peak_ns");
	for (size_t i = 0; i < a->schedule.n; i++) {
		const struct planned_update *x = &a->schedule.row[i];

		fprintf(stderr, "%16" PRIu64 " %7" PRIu64 " %6" PRIu64 " %7s",
		    x->at_ns, s->cluster[x->c].id, x->k, fate_name(x->fate));
		if (x->fate == FATE_OPENED)
			fprintf(stderr, " %16" PRIu64, x->leaves_ns);
		if (x->fate == FATE_OPENED && x->peak_ns > 0)
			fprintf(stderr, " %12" PRIu64, x->peak_ns);
		fputs("\n", stderr);
	}
}

/* Write the sent updates in the format that innet-gen --schedule reads. */
static void
write_schedule(const char *path, const struct spec *s,
    const struct schedule *plan)
{
	struct atomic_file w;
	FILE *f;
	bool good;

	if (atomic_file_open(&w, path) == -1 ||
	    (f = atomic_file_stream(&w)) == NULL)
		err(1, "%s", path);
	fputs("cluster,worker,time_ns,reward\n", f);
	for (size_t i = 0; i < plan->n; i++) {
		if (plan->row[i].sent)
			fprintf(f, "%" PRIu64 ",0,%" PRIu64 ",0\n",
			    s->cluster[plan->row[i].c].id, plan->row[i].at_ns);
	}
	good = !ferror(f);
	good = fclose(f) == 0 && good;
	if (atomic_file_close(&w, good) == -1)
		err(1, "%s", strcmp(path, "-") == 0 ? "standard output" :
		    path);
}

void
print_answer(const struct spec *s, const struct objective *o,
    const struct print_options *options, const struct answer *a)
{
	if (!options->quiet) {
		print_verdict(s, o, a);
		print_free(s);
		print_fixed(s);
		if (solve_has_run(a))
			print_repeat(s);
	}
	if (options->verbose)
		print_details(s, a);
	if (options->json != NULL) {
		json_print(options->json, s, o, a);
		if (files_flush(options->json) != 0)
			exit(1);
	}
	if (solve_has_run(a) &&
	    (options->write != NULL || options->json == NULL))
		write_schedule(options->write == NULL ? "-" : options->write, s,
		    &a->schedule);
}
