/*
 * iswtext.h - the members and counters of a job as JSON text
 *
 * What innet-ctl members and stats show (iswitch.h answers them page by page).
 * The text is malloc'd and the caller's; NULL without memory.
 */
#ifndef INNET_ISWTEXT_H
#define INNET_ISWTEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/iswitch.h"

struct iswtext {
	char *p;
	size_t n, room;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static inline void
iswtext_add(struct iswtext *t, const char *format, ...)
{
	va_list ap;
	int n;

	if (t->room - t->n < 512 && !t->failed) {
		char *p = realloc(t->p, t->room * 2 + 1024);

		t->failed = p == NULL;
		if (p != NULL) {
			t->p = p;
			t->room = t->room * 2 + 1024;
		}
	}
	if (t->failed)
		return;
	va_start(ap, format);
	n = vsnprintf(t->p + t->n, t->room - t->n, format, ap);
	va_end(ap);
	t->n += n > 0 ? (size_t)n : 0;	/* no item is 512 bytes long */
}

static inline char *
iswtext_done(struct iswtext *t)
{
	if (!t->failed)
		return t->p;
	free(t->p);
	return NULL;
}

/* Filling slots that member id is yet to add to. */
static inline uint32_t
iswtext_missing(const struct job *j, uint32_t id)
{
	uint32_t n = 0;

	if (j->cf->async || !job_has_memory(j))
		return 0;
	for (uint32_t at = j->a.oldest; at != AGGR_NONE;
	    at = j->a.slot[at].after)
		n += j->members.m[id].from <= j->a.slot[at].iteration &&
		    !aggr_has(&j->a, at, id);
	return n;
}

static inline void
iswtext_member(struct iswtext *t, const struct job *j, uint32_t id,
    uint64_t now_ns)
{
	static const char *const type[] = { "?", "worker", "switch",
	    "server" };
	const struct member *m = &j->members.m[id];
	char name[ADDR_NAME_BYTES];
	char *colon;

	addr_print(&m->at, name);
	colon = strrchr(name, ':');
	*colon = '\0';
	iswtext_add(t, "{\"id\":%" PRIu32 ",\"worker\":%" PRIu32
	    ",\"cluster\":%u,\"address\":\"%s\",\"port\":%u,"
	    "\"type\":\"%s\",\"parent\":\"\",\"last_heard_ms\":%" PRIu64
	    ",\"added\":%" PRIu64 ",\"missing\":%" PRIu32 "}", id, m->worker,
	    m->cluster, name, addr_port(&m->at), type[m->type],
	    now_ns > m->heard_ns ? (now_ns - m->heard_ns) / 1000000 : 0,
	    m->added, iswtext_missing(j, id));
}

/* {"job":1,"h":4,...,"members":[{...},...]} */
static inline char *
iswtext_members(const struct job *j, uint64_t now_ns)
{
	struct iswtext t = { 0 };
	bool first = true;

	iswtext_add(&t, "{\"job\":%u,\"h\":%" PRIu32 ",\"follows\":%s,"
	    "\"open\":%s,\"halted\":%s,\"elements\":%" PRIu32
	    ",\"floats\":%" PRIu32 ",\"iteration\":%" PRId64
	    ",\"members\":[", j->id, job_h(j, j->newest + 1),
	    j->h == 0 ? "true" : "false", j->open ? "true" : "false",
	    j->halted ? "true" : "false", j->a.s.elements, j->a.s.floats,
	    job_has_memory(j) ? (j->newest < j->start ? j->start :
	    j->newest) - AGGR_EPOCH : 0);
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (!j->members.m[i].present)
			continue;
		if (!first)
			iswtext_add(&t, ",");
		first = false;
		iswtext_member(&t, j, i, now_ns);
	}
	iswtext_add(&t, "]}");
	return iswtext_done(&t);
}

/* {"job":1,"program":"iswitch","counters":{...},"gauges":{...}} */
static inline char *
iswtext_stats(const struct iswitch *s, const struct job *j)
{
	struct iswtext t = { 0 };

	iswtext_add(&t, "{\"job\":%u,\"program\":\"iswitch\",\"counters\":{",
	    j->id);
	for (unsigned k = 0; k < JOB_COUNTS; k++)
		iswtext_add(&t, "\"%s\":%" PRIu64 ",", job_count_name(k),
		    j->n[k]);
	for (unsigned k = 0; k < ISWITCH_COUNTS; k++)
		iswtext_add(&t, "\"switch_%s\":%" PRIu64 ",",
		    iswitch_count_name(k), s->n[k]);
	iswtext_add(&t, "\"saturated\":%" PRIu64 "},\"gauges\":{"
	    "\"members\":%" PRIu32 ",\"h\":%" PRIu32 ",\"open\":%d,"
	    "\"halted\":%d,\"filling\":%" PRIu32 ",\"jobs\":%" PRIu32
	    ",\"memory_bytes\":%" PRIu64 "}}", j->a.count.saturated,
	    j->members.present, job_h(j, j->newest + 1), j->open, j->halted,
	    j->a.filling, s->jobs, s->budget.used_bytes);
	return iswtext_done(&t);
}

#endif
