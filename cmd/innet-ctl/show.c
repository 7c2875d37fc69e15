/* show.c - members and counters as tables, counters for Prometheus */
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"

#include "cmd/innet-ctl/columns.h"
#include "cmd/innet-ctl/show.h"

enum {
	NUMBER_BYTES = 32,
	METRICS_MAX = 4096,		/* counters, and gauges */
	NAME_BYTES = 128		/* of a metric, after its prefix */
};

/* Get a member of an object, whatever o is. */
static const cJSON *
get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* A finite number with all its digits, in text, which is returned; or "-". */
static const char *
number(const cJSON *n, char text[NUMBER_BYTES])
{
	const double v = cJSON_IsNumber(n) ? n->valuedouble : NAN;

	if (!isfinite(v))
		return "-";
	snprintf(text, NUMBER_BYTES, fabs(v) <= 0x1p53 && v == floor(v) ?
	    "%.0f" : "%.17g", v);
	return text;
}

/* A string, or "-" for none. */
static const char *
string(const cJSON *s)
{
	return cJSON_IsString(s) && *s->valuestring != '\0' ?
	    s->valuestring : "-";
}

/* An object of so few entries that all can be shown; or nothing, if it may. */
static bool
is_few(const cJSON *o, bool needed)
{
	return o == NULL ? !needed : cJSON_IsObject(o) &&
	    cJSON_GetArraySize(o) <= METRICS_MAX;
}

const char *
show_lacks(uint8_t action, const cJSON *o)
{
	if (action == CONTROL_MEMBERS)
		return cJSON_IsArray(get(o, "members")) ? NULL : "no members";
	return is_few(get(o, "counters"), true) &&
	    is_few(get(o, "gauges"), false) ? NULL :
	    "no counters, or too many";
}

/* One line of the job as a whole. */
static void
show_job(FILE *f, const cJSON *j)
{
	char a[NUMBER_BYTES];

	fprintf(f, "job %s", number(get(j, "job"), a));
	fprintf(f, ", h %s%s", number(get(j, "h"), a),
	    cJSON_IsTrue(get(j, "follows")) ? " (follows the members)" : "");
	fprintf(f, ", iteration %s, %s%s\n", number(get(j, "iteration"), a),
	    cJSON_IsTrue(get(j, "open")) ? "open" : "not open yet",
	    cJSON_IsTrue(get(j, "halted")) ? ", halted" : "");
}

void
show_members(FILE *f, const cJSON *j)
{
	static const char *const heads[] = { "id", "worker", "address",
	    "port", "type", "parent", "heard ms", "missing" };
	struct columns t = { .n = 8, .left = 1 << 2 | 1 << 4 | 1 << 5 };
	char text[NUMBER_BYTES];
	const cJSON *m;

	show_job(f, j);
	for (size_t i = 0; i < t.n; i++)
		columns_add(&t, "%s", heads[i]);
	cJSON_ArrayForEach(m, get(j, "members")) {
		columns_add(&t, "%s", number(get(m, "id"), text));
		columns_add(&t, "%s", number(get(m, "worker"), text));
		columns_add(&t, "%s", string(get(m, "address")));
		columns_add(&t, "%s", number(get(m, "port"), text));
		columns_add(&t, "%s", string(get(m, "type")));
		columns_add(&t, "%s", string(get(m, "parent")));
		columns_add(&t, "%s", number(get(m, "last_heard_ms"), text));
		columns_add(&t, "%s", number(get(m, "missing"), text));
	}
	columns_print(&t, f);
	columns_free(&t);
}

/* By how much a counter grew a second; "-" if it did not only grow. */
static void
add_rate(struct columns *t, const cJSON *c, const cJSON *was, double seconds)
{
	double by = cJSON_IsNumber(c) && cJSON_IsNumber(was) ?
	    c->valuedouble - was->valuedouble : NAN;

	if (isfinite(by) && by >= 0 && seconds > 0)
		columns_add(t, "%.1f", by / seconds);
	else
		columns_add(t, "-");
}

/* The counters; with their rates unless before is NULL. */
static void
show_counters(FILE *f, const cJSON *counters, const cJSON *before,
    double seconds)
{
	struct columns t = { .n = before == NULL ? 2 : 3, .left = 1 };
	char text[NUMBER_BYTES];
	const cJSON *c;

	columns_add(&t, "counter");
	columns_add(&t, "total");
	if (before != NULL)
		columns_add(&t, "per s");
	cJSON_ArrayForEach(c, counters) {
		columns_add(&t, "%s", c->string);
		columns_add(&t, "%s", number(c, text));
		if (before != NULL)
			add_rate(&t, c, get(before, c->string), seconds);
	}
	columns_print(&t, f);
	columns_free(&t);
}

void
show_stats(FILE *f, const cJSON *j, const cJSON *before, double seconds)
{
	struct columns t = { .n = 2, .left = 1 };
	char text[NUMBER_BYTES];
	const cJSON *c;

	show_counters(f, get(j, "counters"), before == NULL ? NULL :
	    get(before, "counters"), seconds);
	columns_add(&t, "gauge");
	columns_add(&t, "value");
	cJSON_ArrayForEach(c, get(j, "gauges")) {
		columns_add(&t, "%s", c->string);
		columns_add(&t, "%s", number(c, text));
	}
	if (t.words > t.n) {
		putc('\n', f);
		columns_print(&t, f);
	}
	columns_free(&t);
}

/* A name of o as Prometheus takes it; false if it is too long. */
static bool
metric_name(const cJSON *o, const char *s, char name[NAME_BYTES])
{
	size_t i;

	if (strncmp(s, "switch_", 7) == 0 && get(o, s + 7) == NULL)
		s += 7;		/* that is said already */
	for (i = 0; s[i] != '\0' && i < NAME_BYTES - 1; i++)
		name[i] = strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", s[i]) != NULL ?
		    s[i] : '_';
	name[i] = '\0';
	return s[i] == '\0';
}

/* The value of a label, quoted. */
static void
print_label(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			putc(*s, f);
	}
	putc('"', f);
}

/* All finite numbers of o as metrics of one type; a name only once. */
static void
print_metrics(FILE *f, const cJSON *j, const cJSON *o, const char *type,
    const char *tail)
{
	char (*names)[NAME_BYTES] = calloc(METRICS_MAX + 1, sizeof(*names));
	char value[NUMBER_BYTES], job[NUMBER_BYTES];
	size_t n = 0, i;
	const cJSON *c;

	if (names == NULL)
		err(1, "%d metrics", METRICS_MAX);
	cJSON_ArrayForEach(c, o) {
		if (!metric_name(o, c->string, names[n]) ||
		    strcmp(number(c, value), "-") == 0)
			continue;
		for (i = 0; strcmp(names[i], names[n]) != 0; i++)
			;
		if (i < n)
			continue;
		fprintf(f, "# TYPE innet_switch_%s%s %s\n", names[n], tail,
		    type);
		fprintf(f, "innet_switch_%s%s{job=\"%s\",program=", names[n],
		    tail, number(get(j, "job"), job));
		print_label(f, string(get(j, "program")));
		fprintf(f, "} %s\n", value);
		n++;
	}
	free(names);
}

void
show_prometheus(FILE *f, const cJSON *j)
{
	print_metrics(f, j, get(j, "counters"), "counter", "_total");
	print_metrics(f, j, get(j, "gauges"), "gauge", "");
}
