/*
 * switch-text.h - the members and counters of a job, as innet-ctl shows them
 */
#ifndef INNET_ISWITCH_SWITCH_TEXT_H
#define INNET_ISWITCH_SWITCH_TEXT_H

#include <stdio.h>

#include "common/base/counters.h"
#include "common/iswitch/switch.h"

/* Filling slots that member id is yet to add to. */
static inline uint32_t
switch_text_missing(const struct job *j, uint32_t id)
{
	uint32_t n = 0;

	if (j->cf->async || !job_has_memory(j))
		return 0;
	for (uint32_t at = j->a.oldest; at != SUMS_NONE;
	    at = j->a.slot[at].after)
		n += j->members.m[id].from <= j->a.slot[at].iteration &&
		    !sums_has(&j->a, at, id);
	return n;
}

/* Put an address, and its port apart. */
static inline void
switch_text_address(struct counters *c, const union addr *a)
{
	char name[ADDR_NAME_BYTES];

	addr_print(a, name);
	*strrchr(name, ':') = '\0';
	counters_word(c, "address", name);
	counters_put(c, "port", addr_port(a));
}

/* Who a member is, or was. */
static inline void
switch_text_who(const struct member *m, struct counters *c)
{
	static const char *const type[] = { "?", "worker", "switch",
	    "server" };

	switch_text_address(c, &m->at);
	counters_word(c, "type", type[m->type]);
}

static inline void
switch_text_member(const struct job *j, uint32_t id, const union addr *own,
    struct counters *c, uint64_t now_ns)
{
	const struct member *m = &j->members.m[id];
	char name[ADDR_NAME_BYTES];

	counters_in(c, NULL);
	counters_put(c, "id", id);
	counters_put(c, "worker", m->worker);
	counters_put(c, "cluster", m->cluster);
	switch_text_who(m, c);
	counters_word(c, "parent", addr_print(own, name));
	counters_put(c, "last_heard_ms", member_silent_ns(m, now_ns) / 1000000);
	counters_put(c, "added", m->added);
	counters_put(c, "missing", switch_text_missing(j, id));
	counters_out(c);
}

/* One who was a member. */
static inline void
switch_text_gone(const struct job *j, uint32_t id, struct counters *c,
    uint64_t now_ns)
{
	const struct member *m = &j->members.m[id];

	counters_in(c, NULL);
	counters_put(c, "worker", m->worker);
	switch_text_who(m, c);
	counters_flag(c, "evicted", m->evicted);
	counters_put(c, "gone_ms", (now_ns - m->gone_ns) / 1000000);
	counters_put(c, "last_heard_ms", member_silent_ns(m, now_ns) / 1000000);
	counters_out(c);
}

/* How the job stands. */
static inline void
switch_text_job(const struct job *j, struct counters *c)
{
	counters_put(c, "h", job_h(j, j->newest + 1));
	counters_flag(c, "follows", j->h == 0);
	counters_flag(c, "open", j->open);
	counters_flag(c, "halted", j->halted);
	counters_put(c, "elements", j->a.s.elements);
	counters_put(c, "floats", j->a.s.floats);
	counters_int(c, "iteration", job_has_memory(j) ?
	    (j->newest < j->start ? j->start : j->newest) - SUMS_EPOCH : 0);
}

/* Its members, whose parent is the switch at `own`. */
static inline void
switch_text_members(const struct job *j, const union addr *own,
    struct counters *c, uint64_t now_ns)
{
	counters_list(c, "members");
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present)
			switch_text_member(j, i, own, c, now_ns);
	}
	counters_list_end(c);
	counters_list(c, "gone");
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (!j->members.m[i].present && j->members.m[i].gone_ns > 0)
			switch_text_gone(j, i, c, now_ns);
	}
	counters_list_end(c);
}

/* Its counters, or what it has just now. */
static inline void
switch_text_stats(const struct job *j, bool gauges, struct counters *c)
{
	if (!gauges) {
		for (unsigned k = 0; k < JOB_COUNTS; k++)
			counters_put(c, job_count_name(k), j->n[k]);
		counters_put(c, "saturated", j->a.count.saturated);
		return;
	}
	counters_put(c, "members", j->members.present);
	counters_put(c, "h", job_h(j, j->newest + 1));
	counters_put(c, "open", j->open);
	counters_put(c, "halted", j->halted);
	counters_put(c, "filling", j->a.filling);
	if (j->cf->slots == 0)
		return;
	counters_put(c, "slots", j->slots);
	counters_put(c, "span", j->a.s.span);
}

#endif
