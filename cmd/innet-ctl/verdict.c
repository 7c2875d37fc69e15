/* verdict.c - how a job stands, and whom it waits for, in a line */
#include <math.h>
#include <stdbool.h>

#include "cmd/innet-ctl/show.h"
#include "cmd/innet-ctl/values.h"

enum { SILENT_MS = 1000 };	/* one who is silent for less may be at work */

static double
number(const cJSON *o, const char *key)
{
	const cJSON *v = values_get(o, key);

	return cJSON_IsNumber(v) && isfinite(v->valuedouble) ?
	    v->valuedouble : 0;
}

/* "worker 2 (127.0.0.1:4000)" */
static void
say_who(FILE *f, const cJSON *m)
{
	char text[VALUES_NUMBER_BYTES];

	show_word(f, values_string(values_get(m, "type")));
	fprintf(f, " %s (", values_number(values_get(m, "worker"), text));
	show_word(f, values_string(values_get(m, "address")));
	fprintf(f, ":%s)", values_number(values_get(m, "port"), text));
}

/* The one of a list of whom `key` says most, if that is more than floor. */
static const cJSON *
most_of(const cJSON *list, const char *key, double floor)
{
	const cJSON *m, *most = NULL;

	cJSON_ArrayForEach(m, list) {
		if (number(m, key) > floor) {
			floor = number(m, key);
			most = m;
		}
	}
	return most;
}

/* Of those who owe something the one that is silent longest; or NULL. */
static const cJSON *
debtor(const cJSON *members)
{
	const cJSON *m, *worst = NULL;

	cJSON_ArrayForEach(m, members) {
		if (number(m, "missing") > 0 && (worst == NULL || number(m,
		    "last_heard_ms") > number(worst, "last_heard_ms")))
			worst = m;
	}
	return worst;
}

/* Fewer than it needs: who went last? */
static void
say_left(FILE *f, const cJSON *gone, int h, int have)
{
	const cJSON *m, *last = NULL;

	fprintf(f, "stands still: %d needed, %d left", h, have);
	cJSON_ArrayForEach(m, gone) {
		if (last == NULL || number(m, "gone_ms") < number(last,
		    "gone_ms"))
			last = m;
	}
	if (last == NULL)
		return;
	fputs("; ", f);
	say_who(f, last);
	fprintf(f, " %s %.1f s ago", cJSON_IsTrue(values_get(last,
	    "evicted")) ? "was put out" : "left", number(last, "gone_ms") /
	    1000);
}

static void
say_members(FILE *f, const cJSON *members, int have)
{
	const cJSON *silent = most_of(members, "last_heard_ms", SILENT_MS);
	const cJSON *owes = debtor(members);

	if (owes != NULL && number(owes, "last_heard_ms") > SILENT_MS) {
		fputs("waits for ", f);
		say_who(f, owes);
		fprintf(f, ", last heard %.1f s ago", number(owes,
		    "last_heard_ms") / 1000);
		return;
	}
	fprintf(f, "%d member%s, ", have, have == 1 ? "" : "s");
	if (silent == NULL) {
		fprintf(f, "heard within %d s", SILENT_MS / 1000);
		return;
	}
	say_who(f, silent);
	fprintf(f, " last heard %.1f s ago", number(silent, "last_heard_ms") /
	    1000);
}

void
show_verdict(FILE *f, const cJSON *j)
{
	const cJSON *members = values_get(j, "members");
	const cJSON *gone = values_get(j, "gone");
	const int have = cJSON_GetArraySize(members);
	const double needed = number(j, "h");
	const int h = needed > 0 && needed <= UINT16_MAX ? (int)needed : 0;

	if (cJSON_IsTrue(values_get(j, "halted")))
		fputs("halted, until innet-ctl resume", f);
	else if (cJSON_IsFalse(values_get(j, "open")))
		fprintf(f, "waits for members: %d of %d have joined", have, h);
	else if (have < h)
		say_left(f, gone, h, have);
	else if (have == 0)
		fputs("no members", f);
	else
		say_members(f, members, have);
	putc('\n', f);
}
