/* stall-report.c - report why a job does not continue; see stall-report.h */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "cmd/innet-worker/stall-report.h"

#define FIRST_NS 1000000000u	/* length of a wait before the first report */
#define AGAIN_NS 10000000000u	/* time between two reports */
#define ANSWER_NS 200000000u	/* time to wait for the answer to Members */

enum { NAME_BYTES = 128 };

/* Convert a number of milliseconds in JSON to seconds. */
static double
read_seconds(const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(o, key);

	return cJSON_IsNumber(n) ? n->valuedouble / 1e3 : 0;
}

/* Append formatted text if all of it fits.  Returns the new length. */
__attribute__((format(printf, 3, 4))) static size_t
append_text(char *text, size_t at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text + at, STALL_REPORT_BYTES - at, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < STALL_REPORT_BYTES - at)
		return at + (size_t)n;
	text[at] = '\0';
	return at;
}

/* Write a member's type, number and address to `name`. */
static const char *
format_member(const cJSON *m, char name[NAME_BYTES])
{
	const cJSON *type = cJSON_GetObjectItem(m, "type");
	const cJSON *worker = cJSON_GetObjectItem(m, "worker");
	const cJSON *address = cJSON_GetObjectItem(m, "address");
	const cJSON *port = cJSON_GetObjectItem(m, "port");

	snprintf(name, NAME_BYTES, "%s %.0f (%s:%.0f)", cJSON_IsString(type) ?
	    type->valuestring : "member", cJSON_IsNumber(worker) ?
	    worker->valuedouble : 0, cJSON_IsString(address) ?
	    address->valuestring : "?", cJSON_IsNumber(port) ?
	    port->valuedouble : 0);
	return name;
}

/* Append a member that lacks segments.  Returns the new length. */
static size_t
append_missing(const cJSON *m, char *text, size_t at)
{
	const cJSON *missing = cJSON_GetObjectItem(m, "missing");
	char name[NAME_BYTES];

	if (!cJSON_IsNumber(missing) || missing->valuedouble < 1)
		return at;
	return append_text(text, at, "%s %s, last heard %.1f s ago",
	    at == 0 ? "; missing:" : ";", format_member(m, name),
	    read_seconds(m, "last_heard_ms"));
}

/* Append a member that left or was removed.  Returns the new length. */
static size_t
append_gone(const cJSON *m, char *text, size_t at)
{
	char name[NAME_BYTES];

	format_member(m, name);
	if (!cJSON_IsTrue(cJSON_GetObjectItem(m, "evicted")))
		return append_text(text, at, "; %s left %.1f s ago", name,
		    read_seconds(m, "gone_ms"));
	return append_text(text, at,
	    "; %s was removed %.1f s ago, last heard %.1f s ago",
	    name, read_seconds(m, "gone_ms"), read_seconds(m, "last_heard_ms"));
}

/*
 * Write which members left the job, if fewer members remain than a sum needs.
 */
static void
append_too_few(const cJSON *json, double h, char *text)
{
	const cJSON *m;
	size_t at = append_text(text, 0, "; %.0f members are needed, %d are "
	    "left", h,
	    cJSON_GetArraySize(cJSON_GetObjectItem(json, "members")));

	cJSON_ArrayForEach(m, cJSON_GetObjectItem(json, "gone"))
		at = append_gone(m, text, at);
}

void
stall_report_members(const struct sync_worker *l, char text[STALL_REPORT_BYTES])
{
	cJSON *json = l->text == NULL || l->text_bytes == 0 ? NULL :
	    cJSON_ParseWithLength(l->text, l->text_bytes);
	const cJSON *list = cJSON_GetObjectItem(json, "members"), *m;
	const cJSON *open = cJSON_GetObjectItem(json, "open");
	const cJSON *h = cJSON_GetObjectItem(json, "h");
	size_t at = 0;

	text[0] = '\0';
	if (json == NULL)
		snprintf(text, STALL_REPORT_BYTES, "; the switch does not say "
		    "which members are missing");
	else if (cJSON_IsFalse(open) && cJSON_IsNumber(h))
		snprintf(text, STALL_REPORT_BYTES,
		    "; the job has not started: %d of %.0f members have joined",
		    cJSON_GetArraySize(list), h->valuedouble);
	else if (cJSON_IsNumber(h) && cJSON_GetArraySize(list) < h->valuedouble)
		append_too_few(json, h->valuedouble, text);
	else
		cJSON_ArrayForEach(m, list)
			at = append_missing(m, text, at);
	cJSON_Delete(json);
}

/*
 * Is a report due about the wait that began at since_ns (0: no wait)?  The
 * first report is due first_ns after the beginning of the wait.
 */
static bool
is_due(struct stall_report *m, uint64_t since_ns, uint64_t first_ns,
    uint64_t now_ns)
{
	if (since_ns == 0)
		*m = (struct stall_report){ 0 };
	else if (since_ns != m->since_ns)
		*m = (struct stall_report){ .since_ns = since_ns,
		    .report_ns = since_ns + first_ns };
	if (since_ns == 0 || now_ns < m->report_ns)
		return false;
	m->report_ns = now_ns + AGAIN_NS;
	m->asked = false;
	return true;
}

bool
stall_report_join(struct stall_report *m, const char *switch_name,
    const struct membership *in, char text[STALL_REPORT_LINE_BYTES],
    uint64_t now_ns)
{
	const bool open = in->join_open && !in->joined;
	const bool waits = in->end == MEMBERSHIP_GOING && !in->leaving &&
	    (open || in->halted || (in->joined && in->closed));
	const unsigned job = in->cf.job;
	double s;

	/* a worker repeats its Join while the job is not open */
	if (!is_due(m, !waits ? 0 : m->since_ns != 0 ? m->since_ns : now_ns,
	    FIRST_NS, now_ns))
		return false;
	s = (double)(now_ns - m->since_ns) / 1e9;
	if (in->halted)
		snprintf(text, STALL_REPORT_LINE_BYTES,
		    "%s: job %u has been halted for %.1f s", switch_name, job,
		    s);
	else if (!open)
		snprintf(text, STALL_REPORT_LINE_BYTES,
		    "%s: job %u has not started for %.1f s: %u of %u members "
		    "have joined", switch_name, job, s, in->members, in->h);
	else if (in->orphan)
		snprintf(text, STALL_REPORT_LINE_BYTES,
		    "%s: job %u: the parent %s of this switch has not answered "
		    "for %.1f s", switch_name, job, in->status_text, s);
	else if (membership_doubt(in) != NULL)
		snprintf(text, STALL_REPORT_LINE_BYTES,
		    "%s: job %u: no valid answer to a Join for %.1f s; %s",
		    switch_name, job, s, membership_doubt(in));
	else
		snprintf(text, STALL_REPORT_LINE_BYTES,
		    "%s: job %u: no answer to a Join for %.1f s; is a switch "
		    "running there?", switch_name, job, s);
	return true;
}

bool
stall_report_result(struct stall_report *m, const char *switch_name,
    struct sync_worker *l, uint64_t usual_ns,
    char text[STALL_REPORT_LINE_BYTES], uint64_t now_ns)
{
	const uint64_t first_ns = usual_ns * 4 < FIRST_NS ? FIRST_NS :
	    usual_ns * 4;
	char members[STALL_REPORT_BYTES];

	if (!sync_worker_is_going(l))
		return false;		/* the reason is printed later */
	if (!l->in.joined || l->in.halted)
		return stall_report_join(m, switch_name, &l->in, text, now_ns);
	if (!is_due(m, sync_worker_is_waiting(l) && !l->in.leaving ?
	    l->progress_ns : 0, first_ns, now_ns)) {
		if (m->since_ns != 0 && !m->asked && now_ns + ANSWER_NS >=
		    m->report_ns) {
			l->asking = false;
			sync_worker_ask_members(l, now_ns);
			m->asked = true;
		}
		return false;
	}
	stall_report_members(l, members);
	l->asking = false;	/* from now on, the members can be requested
				 * again */
	snprintf(text, STALL_REPORT_LINE_BYTES, "%s: job %u: no result of "
	    "iteration %" PRIu32 " for %.1f s%s", switch_name, l->in.cf.job,
	    l->t, (double)(now_ns - m->since_ns) / 1e9, members);
	return true;
}
