/* show.c - print jobs, members and counters as tables; see show.h */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/wire/control.h"

#include "common/base/columns.h"
#include "cmd/innet-ctl/job-status.h"
#include "cmd/innet-ctl/show.h"
#include "cmd/innet-ctl/values.h"

enum {
	METRICS_MAX = 4096 /* limit on the number of counters, and on the number
			    * of gauges, of a switch or job */
};

/*
 * Return true if o does not have too many entries to print.  If `needed` is
 * false, o may also be missing.
 */
static bool
is_few(const cJSON *o, bool needed)
{
	return o == NULL ? !needed : cJSON_IsObject(o) &&
	    cJSON_GetArraySize(o) <= METRICS_MAX;
}

const char *
show_lacks(uint8_t action, const cJSON *o)
{
	if (action == CONTROL_JOBS)
		return cJSON_IsArray(values_get(o, "jobs")) ? NULL : "no jobs";
	if (action == CONTROL_MEMBERS)
		return cJSON_IsArray(values_get(o, "members")) ? NULL :
		    "no members";
	return is_few(values_get(o, "counters"), true) &&
	    is_few(values_get(o, "gauges"), false) ? NULL :
	    "no counters, or too many";
}

/* Add a value to a table. */
static void
add_value(struct columns *t, const cJSON *v)
{
	char text[VALUES_NUMBER_BYTES];

	if (cJSON_IsBool(v))
		columns_add(t, "%s", cJSON_IsTrue(v) ? "yes" : "no");
	else if (cJSON_IsString(v))
		columns_add(t, "%s", values_string(v));
	else
		columns_add(t, "%s", values_number(v, text));
}

/*
 * All jobs have the same keys, so the keys of the first job are the headings.
 */
void
show_jobs(FILE *f, const cJSON *j)
{
	const cJSON *list = values_get(j, "jobs"), *job, *c;
	struct columns t = { .n = 0 };
	const char *head[COLUMNS_MAX];

	cJSON_ArrayForEach(c, cJSON_GetArrayItem(list, 0)) {
		if (t.n < COLUMNS_MAX)
			head[t.n++] = c->string;
	}
	for (size_t i = 0; i < t.n; i++)
		columns_add(&t, "%s", head[i]);
	cJSON_ArrayForEach(job, list) {
		for (size_t i = 0; i < t.n; i++)
			add_value(&t, values_get(job, head[i]));
	}
	values_print(f, values_string(values_get(j, "program")));
	fprintf(f, ", %d jobs\n", cJSON_GetArraySize(list));
	if (t.n > 0)
		columns_print(&t, f);
	columns_free(&t);
}

/*
 * Print one line with everything that the switch's program reports about the
 * job.
 */
static void
show_job(FILE *f, const cJSON *j)
{
	char text[VALUES_NUMBER_BYTES];
	const cJSON *c;
	bool begun = false;

	cJSON_ArrayForEach(c, j) {
		if (!cJSON_IsNumber(c) && !cJSON_IsString(c) &&
		    !cJSON_IsTrue(c))
			continue;
		fprintf(f, "%s", begun ? ", " : "");
		values_print(f, c->string);
		if (!cJSON_IsBool(c)) {
			putc(' ', f);
			values_print(f, cJSON_IsString(c) ? values_string(c) :
			    values_number(c, text));
		}
		begun = true;
	}
	fputs(begun ? "\n" : "-\n", f);
}

/*
 * Add up to ten marks that show how far a member is behind.  The member that is
 * furthest behind gets ten.
 */
static void
add_lag(struct columns *t, const cJSON *m, double most)
{
	static const char marks[] = "##########";
	const cJSON *missing = values_get(m, "missing");
	const double n = cJSON_IsNumber(missing) && missing->valuedouble > 0 &&
	    most > 0 ? missing->valuedouble / most : 0;

	columns_add(t, "%.*s", (int)ceil((sizeof(marks) - 1) * n), marks);
}

/*
 * Add the columns of a member to its row, up to the column with the number of
 * missing segments.
 */
static void
add_member(struct columns *t, const cJSON *m)
{
	static const char *const keys[] = { "id", "worker" };
	char text[VALUES_NUMBER_BYTES];

	for (size_t i = 0; i < 2; i++)
		columns_add(t, "%s", values_number(values_get(m, keys[i]),
		    text));
	columns_add(t, "%s:%s", values_string(values_get(m, "address")),
	    values_number(values_get(m, "port"), text));
	columns_add(t, "%s", values_string(values_get(m, "type")));
	columns_add(t, "%s", values_string(values_get(m, "parent")));
	columns_add(t, "%s", values_number(values_get(m, "last_heard_ms"),
	    text));
	columns_add(t, "%s", values_number(values_get(m, "late"), text));
	columns_add(t, "%s", values_number(values_get(m, "missing"), text));
}

/* Add a row for a former member, with the time since it left. */
static void
add_gone(struct columns *t, const cJSON *m)
{
	const cJSON *ms = values_get(m, "gone_ms");

	add_member(t, m);
	columns_add(t, "%s %.1f s ago", cJSON_IsTrue(values_get(m,
	    "evicted")) ? "removed" : "left", cJSON_IsNumber(ms) &&
	    isfinite(ms->valuedouble) ? ms->valuedouble / 1000 : 0);
}

void
show_members(FILE *f, const cJSON *j)
{
	static const char *const heads[] = { "id", "worker", "address",
	    "type", "parent", "heard ms", "late", "missing", "lag" };
	struct columns t = { .n = 9, .left = 7 << 2 | 1 << 8 };
	const cJSON *m;
	double most = 0;

	job_status_print(f, j);
	show_job(f, j);
	for (size_t i = 0; i < t.n; i++)
		columns_add(&t, "%s", heads[i]);
	cJSON_ArrayForEach(m, values_get(j, "members")) {
		const cJSON *n = values_get(m, "missing");

		if (cJSON_IsNumber(n) && isfinite(n->valuedouble))
			most = fmax(most, n->valuedouble);
	}
	cJSON_ArrayForEach(m, values_get(j, "members")) {
		add_member(&t, m);
		add_lag(&t, m, most);
	}
	cJSON_ArrayForEach(m, values_get(j, "gone"))
		add_gone(&t, m);
	columns_print(&t, f);
	columns_free(&t);
}

/* Add the growth of a counter per second, or "-" if it was reset. */
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

/* Print the counters.  If `before` is not NULL, also print their rates. */
static void
show_counters(FILE *f, const cJSON *counters, const cJSON *before,
    double seconds, bool zeros)
{
	struct columns t = { .n = before == NULL ? 2 : 3, .left = 1 };
	char text[VALUES_NUMBER_BYTES];
	const cJSON *c;

	columns_add(&t, "counter");
	columns_add(&t, "total");
	if (before != NULL)
		columns_add(&t, "per s");
	cJSON_ArrayForEach(c, counters) {
		if (!zeros && cJSON_IsNumber(c) && c->valuedouble == 0)
			continue;
		columns_add(&t, "%s", c->string);
		columns_add(&t, "%s", values_number(c, text));
		if (before != NULL)
			add_rate(&t, c, values_get(before, c->string), seconds);
	}
	columns_print(&t, f);
	columns_free(&t);
}

void
show_stats(FILE *f, const cJSON *j, const cJSON *before, double seconds,
    bool zeros)
{
	struct columns t = { .n = 2, .left = 1 };
	char text[VALUES_NUMBER_BYTES];
	const cJSON *c;

	show_counters(f, values_get(j, "counters"), before == NULL ? NULL :
	    values_get(before, "counters"), seconds, zeros);
	columns_add(&t, "gauge");
	columns_add(&t, "value");
	cJSON_ArrayForEach(c, values_get(j, "gauges")) {
		columns_add(&t, "%s", c->string);
		columns_add(&t, "%s", values_number(c, text));
	}
	if (t.words > t.n) {
		putc('\n', f);
		columns_print(&t, f);
	}
	columns_free(&t);
}
