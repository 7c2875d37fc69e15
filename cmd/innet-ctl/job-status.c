/* job-status.c - print the state of a job in one line; see job-status.h */
#include "cmd/innet-ctl/job-status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-ctl/values.h"

enum { SILENT_MS = 1000 }; /* a member that is silent for this time may just be
			    * busy */

static double
get_number(const cJSON *o, const char *key)
{
	const cJSON *v = values_get(o, key);

	return cJSON_IsNumber(v) && isfinite(v->valuedouble) ?
	    v->valuedouble : 0;
}

/* Print a member in the form "worker 2 (127.0.0.1:4000)". */
static void
print_member(FILE *f, const cJSON *m)
{
	char text[VALUES_NUMBER_BYTES];

	values_print(f, values_string(values_get(m, "type")));
	fprintf(f, " %s (", values_number(values_get(m, "worker"), text));
	values_print(f, values_string(values_get(m, "address")));
	fprintf(f, ":%s)", values_number(values_get(m, "port"), text));
}

/*
 * Return the member with the largest value of `key`.  Return NULL if no value
 * is above `floor`.
 */
static const cJSON *
find_most(const cJSON *list, const char *key, double floor)
{
	const cJSON *m, *most = NULL;

	cJSON_ArrayForEach(m, list) {
		if (get_number(m, key) > floor) {
			floor = get_number(m, key);
			most = m;
		}
	}
	return most;
}

/*
 * Among the members with missing segments, return the one that has been silent
 * longest, or NULL if there is none.
 */
static const cJSON *
find_debtor(const cJSON *members)
{
	const cJSON *m, *worst = NULL;

	cJSON_ArrayForEach(m, members) {
		if (get_number(m, "missing") > 0 &&
		    (worst == NULL || get_number(m, "last_heard_ms") >
					  get_number(worst, "last_heard_ms")))
			worst = m;
	}
	return worst;
}

/*
 * Print how many members the job needs, how many members it has, and which
 * member left last.
 */
static void
print_departed(FILE *f, const cJSON *gone, int h, int have)
{
	const cJSON *m, *last = NULL;

	fprintf(f, "stalled: %d members needed, %d left", h, have);
	cJSON_ArrayForEach(m, gone) {
		if (last == NULL || get_number(m, "gone_ms") < get_number(last,
		    "gone_ms"))
			last = m;
	}
	if (last == NULL)
		return;
	fputs("; ", f);
	print_member(f, last);
	fprintf(f, " %s %.1f s ago", cJSON_IsTrue(values_get(last,
	    "evicted")) ? "was removed" : "left", get_number(last, "gone_ms") /
	    1000);
}

static void
print_members(FILE *f, const cJSON *members, int have)
{
	const cJSON *silent = find_most(members, "last_heard_ms", SILENT_MS);
	const cJSON *owes = find_debtor(members);

	if (owes != NULL && get_number(owes, "last_heard_ms") > SILENT_MS) {
		fputs("waiting for ", f);
		print_member(f, owes);
		fprintf(f, ", last heard %.1f s ago", get_number(owes,
		    "last_heard_ms") / 1000);
		return;
	}
	fprintf(f, "%d member%s, ", have, have == 1 ? "" : "s");
	if (silent == NULL) {
		fprintf(f, "%sheard within %d s", have == 1 ? "" : "all ",
		    SILENT_MS / 1000);
		return;
	}
	print_member(f, silent);
	fprintf(f, " last heard %.1f s ago",
	    get_number(silent, "last_heard_ms") / 1000);
}

void
job_status_print(FILE *f, const cJSON *j)
{
	const cJSON *members = values_get(j, "members");
	const cJSON *gone = values_get(j, "gone");
	const int have = cJSON_GetArraySize(members);
	const double needed = get_number(j, "h");
	const int h = needed > 0 && needed <= UINT16_MAX ? (int)needed : 0;

	if (cJSON_IsTrue(values_get(j, "halted")))
		fputs("halted; innet-ctl resume continues it", f);
	else if (cJSON_IsFalse(values_get(j, "open")))
		fprintf(f, "waiting for members: %d of %d have joined", have,
		    h);
	else if (have < h)
		print_departed(f, gone, h, have);
	else if (have == 0)
		fputs("no members", f);
	else
		print_members(f, members, have);
	putc('\n', f);
}
