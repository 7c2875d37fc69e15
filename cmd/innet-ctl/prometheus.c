/*
 * prometheus.c - print counters and gauges in Prometheus' text format; see
 * show.h
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-ctl/show.h"
#include "cmd/innet-ctl/values.h"

enum { NAME_BYTES = 128 };	/* size of a metric's name without prefix */

/* A sample: its name, its owner and its value. */
struct sample {
	char name[NAME_BYTES];
	const cJSON *of, *value;	/* `of` is the stats of a switch or
					 * job */
	size_t at;	/* index of the sample in the order of arrival */
};

struct samples {
	struct sample *v;
	size_t n, room;
};

/* Convert s into a valid name of a metric; return false if it is too long. */
static bool
metric_name(const char *s, char name[NAME_BYTES])
{
	size_t i;

	for (i = 0; s[i] != '\0' && i < NAME_BYTES - 1; i++)
		name[i] = strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", s[i]) != NULL ?
		    s[i] : '_';
	name[i] = '\0';
	return s[i] == '\0';
}

/* Add all finite numbers in a group of the stats `of`. */
static void
add_samples(struct samples *s, const cJSON *of, const char *group)
{
	char text[VALUES_NUMBER_BYTES];
	const cJSON *c;

	cJSON_ArrayForEach(c, values_get(of, group)) {
		struct sample *p;

		if (s->n == s->room) {
			s->room = s->room == 0 ? 64 : s->room * 2;
			p = realloc(s->v, s->room * sizeof(*p));
			if (p == NULL)
				err(1, "%zu metrics", s->room);
			s->v = p;
		}
		p = &s->v[s->n];
		*p = (struct sample){ .of = of, .value = c, .at = s->n };
		if (metric_name(c->string, p->name) &&
		    strcmp(values_number(c, text), "-") != 0)
			s->n++;
	}
}

static int
compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	const int by = strcmp(x->name, y->name);

	return by != 0 ? by : x->at < y->at ? -1 : x->at > y->at;
}

/* Print a label's value in quotes, with control characters replaced. */
static void
print_label(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', f);
		putc(values_printable(*s), f);
	}
	putc('"', f);
}

/*
 * Print the samples, sorted by name.  If an owner has two samples with the same
 * name, print only the first.
 */
static void
print_samples(FILE *f, struct samples *s, const char *prefix,
    const char *type, const char *tail)
{
	char value[VALUES_NUMBER_BYTES], job[VALUES_NUMBER_BYTES];

	if (s->n > 0)
		qsort(s->v, s->n, sizeof(*s->v), compare_samples);
	for (size_t i = 0; i < s->n; i++) {
		const struct sample *p = &s->v[i], *was = p - 1;
		const bool again = i > 0 && strcmp(p->name, was->name) == 0;

		if (again && p->of == was->of)
			continue;
		if (!again)
			fprintf(f, "# TYPE %s%s%s %s\n", prefix, p->name,
			    tail, type);
		fprintf(f, "%s%s%s{", prefix, p->name, tail);
		if (cJSON_IsNumber(values_get(p->of, "job")))
			fprintf(f, "job=\"%s\",",
			    values_number(values_get(p->of, "job"),
			    job));
		fputs("program=", f);
		print_label(f, values_string(values_get(p->of, "program")));
		fprintf(f, "} %s\n", values_number(p->value, value));
	}
	free(s->v);
	*s = (struct samples){ 0 };
}

/*
 * Print a metric that shows that the switch answers, and the number of its
 * jobs.
 */
static void
print_up(FILE *f, const cJSON *own, size_t jobs)
{
	static const char *const name[] = { "up", "jobs" };
	const size_t value[] = { 1, jobs };

	for (int k = 0; k < 2; k++) {
		/*
		 * skip a name if the switch has a gauge with this name, because
		 * there must be only one type line for each name
		 */
		if (values_get(values_get(own, "gauges"), name[k]) != NULL)
			continue;
		fprintf(f, "# TYPE innet_switch_%s gauge\ninnet_switch_%s{"
		    "program=", name[k], name[k]);
		print_label(f, values_string(values_get(own, "program")));
		fprintf(f, "} %zu\n", value[k]);
	}
}

void
show_prometheus(FILE *f, const cJSON *own, cJSON *const *job, size_t n)
{
	static const char *const group[] = { "counters", "gauges" };
	static const char *const type[] = { "counter", "gauge" };
	static const char *const tail[] = { "_total", "" };
	struct samples s = { 0 };

	if (own != NULL)
		print_up(f, own, n);
	for (int k = 0; k < 2; k++) {
		add_samples(&s, own, group[k]);
		print_samples(f, &s, "innet_switch_", type[k], tail[k]);
		for (size_t i = 0; i < n; i++)
			add_samples(&s, job[i], group[k]);
		print_samples(f, &s, "innet_job_", type[k], tail[k]);
	}
}
