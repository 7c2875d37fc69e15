/*
 * program-text.h - program olaf: what it tells of itself
 */
#ifndef INNET_OLAF_PROGRAM_TEXT_H
#define INNET_OLAF_PROGRAM_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/counters.h"
#include "common/olaf/program-conf.h"

/* Clusters that have workers. */
static inline void
olaf_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct olaf *o = state;

	for (uint32_t k = 0; k < 65536; k++) {
		const uint32_t n = o->routes.cluster[k].count == 0 ? 0 :
		    routes_workers(&o->routes, (uint16_t)k,
		    now_ns);

		if (n == 0)
			continue;
		counters_in(c, NULL);
		counters_put(c, "job", k);
		counters_word(c, "kind", "cluster");
		counters_put(c, "members", n);
		counters_out(c);
	}
}

static inline bool
olaf_members(const void *state, uint16_t job, struct counters *c,
    uint64_t now_ns)
{
	const struct olaf *o = state;
	const struct route *r;
	uint32_t next = 0, id = 0;

	counters_put(c, "job", job);
	counters_list(c, "members");
	while ((r = routes_next(&o->routes, job, now_ns, &next)) != NULL) {
		const struct groups_name given = { r->cluster, r->worker };
		const struct groups_name own = groups_down(&o->groups, given);

		counters_in(c, NULL);
		counters_put(c, "id", id++);
		counters_put(c, "worker", r->worker);
		counters_put(c, "cluster", own.cluster);
		routes_tell(r, c, o->addressed ? &o->env->place->address :
		    NULL, now_ns);
		counters_out(c);
	}
	counters_list_end(c);
	return id > 0;
}

static inline bool
olaf_stats(const void *state, int32_t job, bool gauges, struct counters *c,
    uint64_t now_ns)
{
	static const char *const name[] = { "models", "weights", "no_route",
	    "no_room_for_route" };
	const struct olaf *o = state;

	if (job >= 0) {
		const uint32_t n = routes_workers(&o->routes, (uint16_t)job,
		    now_ns);

		if (gauges)
			counters_put(c, "members", n);
		else
			o->env->put_cluster(o->env->plane, (uint16_t)job, c);
		return n > 0;
	}
	for (int i = 0; i < OLAF_COUNTS && !gauges; i++)
		counters_put(c, name[i], o->n[i]);
	return true;
}

static inline void
olaf_account(const void *state, struct counters *c)
{
	olaf_stats(state, -1, false, c, 0);
}

static inline void
olaf_summary(const void *state, struct counters *c)
{
	const struct olaf *o = state;

	counters_put(c, "models", o->n[OLAF_MODELS]);
	counters_put(c, "weights", o->n[OLAF_WEIGHTS]);
	if (o->addressed)
		counters_put(c, "models without a route",
		    o->n[OLAF_NO_ROUTE]);
}

#endif
