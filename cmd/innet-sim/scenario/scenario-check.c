/* scenario-check.c - check a scenario; see scenario-check.h */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/innet-sim/scenario/scenario-check.h"
#include "common/base/nearest.h"
#include "common/traffic/arrivals.h"
#include "common/wire/update.h"

/*
 * If a switch has a name that is near to `name`, write the nearest name to
 * `hint`.  If `servers` is true, consider servers too.
 */
static const char *
hint_node(const struct scenario *s, const char *name, bool servers,
    char hint[NEAREST_TEXT])
{
	struct nearest near = { 0 };

	for (size_t i = 0; i < s->switches.n; i++)
		nearest_offer(&near, name, scenario_switches(s)[i].name);
	for (size_t i = 0; servers && i < s->servers.n; i++)
		nearest_offer(&near, name, scenario_servers(s)[i].name);
	return nearest_hint(&near, name, "", hint);
}

/* Fail because a key of the item names a switch that does not exist. */
static bool
fail_switch(const struct scenario *s, struct json_reader *r, const char *list,
    size_t i, const char *key, const char *name)
{
	char hint[NEAREST_TEXT];

	return json_reader_fail_at(r, list, i, key, "no switch is called "
	    "'%s'%s", name, hint_node(s, name, false, hint));
}

static bool
check_nodes(const struct scenario *s, struct json_reader *r)
{
	uint64_t nodes = s->servers.n;

	if (s->servers.n == 0 || s->switches.n == 0 || s->workers.n == 0)
		return json_reader_fail(r,
		    "a scenario needs at least one switch, one server and one "
		    "group of workers");
	for (size_t i = 0; i < s->switches.n; i++) {
		const struct scenario_switch *w = &scenario_switches(s)[i];

		if (scenario_switch(s, w->name) != (int64_t)i ||
		    scenario_server(s, w->name) != -1)
			return json_reader_fail_at(r, "switches", i, "name",
			    "the name '%s' is used twice", w->name);
		if (scenario_uplink(s, w->name) == NULL)
			return json_reader_fail_at(r, "switches", i, NULL,
			    "there is no link from '%s'", w->name);
		nodes += w->count;
	}
	for (size_t i = 0; i < s->servers.n; i++) {
		if (scenario_server(s, scenario_servers(s)[i].name) !=
		    (int64_t)i)
			return json_reader_fail_at(r, "servers", i, "name",
			    "the name '%s' is used twice",
			    scenario_servers(s)[i].name);
	}
	if (nodes > SCENARIO_NODES_MAX)
		return json_reader_fail(r, "there are more than %d switches "
		    "and servers",
		    SCENARIO_NODES_MAX);
	return true;
}

/* Does the path that begins with link i end at a server? */
static bool
leads_to_server(const struct scenario *s, size_t i)
{
	const struct scenario_link *l = &scenario_links(s)[i];

	for (size_t steps = 0; steps <= s->links.n; steps++) {
		if (scenario_server(s, l->to) != -1)
			return true;
		l = scenario_uplink(s, l->to);
		if (l == NULL)
			return false;
	}
	return false;
}

static bool
check_link(const struct scenario *s, size_t i, struct json_reader *r)
{
	const struct scenario_link *l = &scenario_links(s)[i];
	int64_t from = scenario_switch(s, l->from);
	int64_t to = scenario_switch(s, l->to);
	char hint[NEAREST_TEXT];
	uint64_t n, m;

	if (from == -1)
		return fail_switch(s, r, "links", i, "from", l->from);
	if (to == -1 && scenario_server(s, l->to) == -1)
		return json_reader_fail_at(r, "links", i, "to",
		    "no switch or server is called '%s'%s", l->to,
		    hint_node(s, l->to, true, hint));
	if (scenario_uplink(s, l->from) != l)
		return json_reader_fail_at(r, "links", i, "from",
		    "there is a second link from '%s'; each switch has one",
		    l->from);
	n = scenario_switches(s)[from].count;
	m = to == -1 ? 1 : scenario_switches(s)[to].count;
	if (n % m != 0)
		return json_reader_fail_at(r, "links", i, NULL, "%" PRIu64
		    " of '%s' cannot share %" PRIu64 " of '%s' evenly", n,
		    l->from, m, l->to);
	if (!leads_to_server(s, i))
		return json_reader_fail_at(r, "links", i, "to",
		    "the links form a loop and do not lead to a server");
	return true;
}

static bool
share_cluster(const struct scenario_workers *a,
    const struct scenario_workers *b)
{
	return a->clusters.from <= b->clusters.to &&
	    b->clusters.from <= a->clusters.to;
}

/* Do two groups contain the same worker, identified by cluster and id? */
static bool
overlaps(const struct scenario_workers *a, const struct scenario_workers *b)
{
	return share_cluster(a, b) && a->first < b->first + b->workers &&
	    b->first < a->first + a->workers;
}

/*
 * Can two groups be in one scenario?  This requires that they have no common
 * cluster or that both send vectors of the same length.
 */
static bool
are_alike(const struct scenario_workers *a, const struct scenario_workers *b)
{
	return !share_cluster(a, b) ||
	    (a->payload_bytes == b->payload_bytes &&
	    a->elements == b->elements && a->frame_bytes == b->frame_bytes);
}

/* Return the server at the end of the path from a switch. */
static int64_t
find_server(const struct scenario *s, const char *name)
{
	while (scenario_server(s, name) == -1)
		name = scenario_uplink(s, name)->to;
	return scenario_server(s, name);
}

static bool
check_sizes(const struct scenario_workers *g, size_t i, struct json_reader *r)
{
	const uint64_t floats = (g->payload_bytes - UPDATE_HEADER_BYTES) / 4;

	if (g->payload_bytes % 4 != 0)
		return json_reader_fail_at(r, "workers", i, "payload",
		    "the payload must be 32 bytes plus a multiple of 4");
	if (g->elements != SCENARIO_WORD1 &&
	    (g->elements - 1) / floats + 1 > UINT16_MAX)
		return json_reader_fail_at(r, "workers", i, "elements",
		    "the vector needs more than %d packets of %" PRIu64 " "
		    "floats", UINT16_MAX,
		    floats);
	if (g->access_capture && g->access_bps == 0 &&
	    g->access_propagation_ns == 0 && !(g->access_loss > 0))
		return json_reader_fail_at(r, "workers", i, "access_capture",
		    "the group has no access links; give access_rate, "
		    "access_propagation or access_loss");
	if (g->wait_ns > 0 && (g->schedule[0] != '\0' ||
	    g->arrivals == ARRIVALS_BURSTS))
		return json_reader_fail_at(r, "workers", i, "wait",
		    "workers with a schedule or with arrivals in bursts cannot "
		    "wait");
	if (g->rate_bps != 0 && g->schedule[0] != '\0')
		return json_reader_fail_at(r, "workers", i, "rate",
		    "a schedule sets its own rate; leave out the rate");
	if ((g->phase == SCENARIO_WINDOW || g->phase == SCENARIO_ORDER) &&
	    g->window_ns == 0)
		return json_reader_fail_at(r, "workers", i, "window",
		    "must be more than 0 with this phase");
	return true;
}

static bool
check_workers(const struct scenario *s, size_t i, uint64_t *workers,
    struct json_reader *r)
{
	const struct scenario_workers *g = &scenario_workers(s)[i];
	const int64_t at = scenario_switch(s, g->at);
	const uint64_t clusters = g->clusters.to - g->clusters.from + 1;

	if (strcmp(g->name, "all") == 0)
		return json_reader_fail_at(r, "workers", i, "name",
		    "'all' is reserved for the row of all groups; use another "
		    "name");
	if (at == -1)
		return fail_switch(s, r, "workers", i, "at", g->at);
	if (clusters % scenario_switches(s)[at].count != 0)
		return json_reader_fail_at(r, "workers", i, "clusters",
		    "%" PRIu64
		    " clusters cannot share %" PRIu64 " of '%s' evenly",
		    clusters, scenario_switches(s)[at].count, g->at);
	for (size_t k = 0; k < i; k++) {
		const struct scenario_workers *o = &scenario_workers(s)[k];

		if (overlaps(g, o))
			return json_reader_fail_at(r, "workers", i, NULL,
			    "workers[%zu] has some of the same workers of the "
			    "same cluster",
			    k);
		if (!are_alike(g, o))
			return json_reader_fail_at(r, "workers", i, NULL,
			    "workers[%zu] has the same cluster with vectors of "
			    "another length", k);
		if (share_cluster(g, o) && find_server(s, g->at) !=
		    find_server(s, o->at))
			return json_reader_fail_at(r, "workers", i, NULL,
			    "workers[%zu] has the same cluster with another "
			    "server", k);
	}
	*workers += clusters * g->workers;
	if (*workers > SCENARIO_WORKERS_MAX)
		return json_reader_fail_at(r, "workers", i, NULL,
		    "there are more than %d workers in all",
		    SCENARIO_WORKERS_MAX);
	if (s->duration_ns == SCENARIO_WORD1 && g->count == SCENARIO_WORD1 &&
	    g->stop_ns == SCENARIO_WORD1 && g->schedule[0] == '\0')
		return json_reader_fail_at(r, "workers", i, "count",
		    "must not be none without a duration, or the run would "
		    "never end");
	return check_sizes(g, i, r);
}

static bool
check_traffic(const struct scenario *s, size_t i, struct json_reader *r)
{
	const struct scenario_traffic *t = &scenario_traffic(s)[i];

	if (strcmp(t->name, "all") == 0)
		return json_reader_fail_at(r, "traffic", i, "name",
		    "'all' is reserved for the row of all traffic; use another "
		    "name");
	if (scenario_switch(s, t->at) == -1)
		return fail_switch(s, r, "traffic", i, "at", t->at);
	if (t->rate_bps == 0)
		return json_reader_fail_at(r, "traffic", i, "rate",
		    "must be more than 0");
	if (s->duration_ns == SCENARIO_WORD1 && t->stop_ns == SCENARIO_WORD1)
		return json_reader_fail_at(r, "traffic", i, "stop",
		    "must not be none without a duration, or the run would "
		    "never end");
	return true;
}

/*
 * Return the number of switches or links with this name.  If there are several
 * training jobs, return the largest number that a training job has.
 */
static uint64_t
count_parts(const struct scenario *s, const struct scenario_fault *f, bool link,
    const char *name)
{
	const int64_t at = scenario_switch(s, name);
	uint64_t n = at == -1 ? 0 : scenario_switches(s)[at].count;

	for (size_t k = 0; k < s->trainings.n; k++) {
		const struct scenario_training *t = &scenario_trainings(s)[k];
		const uint64_t has = training_parts(t, link, name);

		if (scenario_strikes(f, t) && has > n)
			n = has;
	}
	return n;
}

/* A killed worker needs a live peer to copy its state from. */
static bool
check_worker_fault(const struct scenario *s, const struct scenario_fault *f,
    size_t i, struct json_reader *r)
{
	if (s->trainings.n == 0)
		return json_reader_fail_at(r, "faults", i, "worker",
		    "the scenario has no training jobs");
	for (size_t k = 0; k < s->trainings.n; k++) {
		const struct scenario_training *t = &scenario_trainings(s)[k];

		if (f->worker == SCENARIO_KILLED && scenario_strikes(f, t) &&
		    t->program == TRAINING_DLP)
			return json_reader_fail_at(r, "faults", i, "worker",
			    "%s: a worker cannot join a session of dlp again",
			    training_name(t));
		if (f->worker != SCENARIO_KILLED || !scenario_strikes(f, t))
			continue;
		if (t->mode != TRAINING_SYNC || t->approach == TRAINING_RING)
			return json_reader_fail_at(r, "faults", i, "worker",
			    "%s: only workers of a synchronous training job "
			    "with a switch or a server can be replaced",
			    training_name(t));
		if (training_has_ring(t))
			return json_reader_fail_at(r, "faults", i, "worker",
			    "%s: a worker with a ring of segments cannot be "
			    "replaced", training_name(t));
		if (t->barrier)
			return json_reader_fail_at(r, "faults", i, "worker",
			    "%s: a worker cannot be replaced in a training job "
			    "with barrier", training_name(t));
	}
	return true;
}

/*
 * Refuse to fail a switch of a dlp session.  The switch would forget the
 * session, and the workers would wait forever.
 */
static bool
check_down(const struct scenario *s, const struct scenario_fault *f, size_t i,
    struct json_reader *r)
{
	for (size_t k = 0; k < s->trainings.n; k++) {
		const struct scenario_training *t = &scenario_trainings(s)[k];

		if (t->program == TRAINING_DLP && scenario_strikes(f, t))
			return json_reader_fail_at(r, "faults", i, "switch",
			    "%s: a switch that fails would lose the session of "
			    "dlp",
			    training_name(t));
	}
	return true;
}

static bool
check_fault(const struct scenario *s, size_t i, struct json_reader *r)
{
	const struct scenario_fault *f = &scenario_faults(s)[i];
	const bool link = f->link[0] != '\0', worker = f->worker !=
	    SCENARIO_LIVES;
	const char *name = worker ? "worker" : link ? f->link : f->node;
	const uint64_t n = count_parts(s, f, link || worker, name);

	if (link + (f->node[0] != '\0') + worker != 1)
		return json_reader_fail_at(r, "faults", i, NULL,
		    "must have exactly one of link, switch and worker");
	if (worker && !check_worker_fault(s, f, i, r))
		return false;
	if (f->node[0] != '\0' && !check_down(s, f, i, r))
		return false;
	if (n == 0 && s->trainings.n > 0)
		return json_reader_fail_at(r, "faults", i, link ? "link" :
		    "switch", "no training job%s%s has a %s called '%s'",
		    f->training[0] == '\0' ? "" : " called ", f->training,
		    link ? "link" : "switch", name);
	if (n == 0)
		return fail_switch(s, r, "faults", i, link ? "link" : "switch",
		    name);
	if (f->training[0] != '\0' && s->trainings.n == 0)
		return json_reader_fail_at(r, "faults", i, "training",
		    "the scenario has no training jobs");
	if (f->index != SCENARIO_WORD1 && f->index >= n)
		return json_reader_fail_at(r, "faults", i, "index",
		    "there are only %" PRIu64 " of '%s', and their numbers "
		    "begin with 0", n,
		    name);
	if (f->from_ns >= f->to_ns)
		return json_reader_fail_at(r, "faults", i, "to",
		    "must be after from");
	return true;
}

static bool
check_faults(const struct scenario *s, struct json_reader *r)
{
	for (size_t i = 0; i < s->faults.n; i++) {
		if (!check_fault(s, i, r))
			return false;
	}
	return true;
}

/* Check switches of any program; the scenario must not have other parts. */
static bool
check_planes(const struct scenario *s, const cJSON *root, struct json_reader *r)
{
	const cJSON *o;

	cJSON_ArrayForEach(o, root) {
		if (strcmp(o->string, "name") != 0 && strcmp(o->string,
		    "planes") != 0)
			return json_reader_fail(r,
			    "%.64s: this key cannot be used with planes",
			    o->string);
	}
	if (s->planes.n > PLANES_MAX)
		return json_reader_fail(r, "planes: there are more than %d",
		    PLANES_MAX);
	for (size_t i = 0; i < s->planes.n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(scenario_planes(s)[k].name,
			    scenario_planes(s)[i].name) == 0)
				return json_reader_fail_at(r, "planes", i,
				    "name",
				    "the name '%s' is used twice",
				    scenario_planes(s)[i].name);
		}
	}
	return true;
}

/*
 * Check that the scenario has either one network, or training jobs, which have
 * their own networks.
 */
static bool
check_lists(const struct scenario *s, const cJSON *root, struct json_reader *r)
{
	static const char *const list[] = { "switches", "links", "servers",
		"workers", "traffic" };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		const bool given = cJSON_GetObjectItemCaseSensitive(root,
		    list[i]) != NULL;

		if (given && s->trainings.n > 0)
			return json_reader_fail(r,
			    "%s: this list cannot be used with training jobs",
			    list[i]);
		if (!given && s->trainings.n == 0 && i < 4)
			return json_reader_fail(r, "%s: is missing", list[i]);
	}
	return true;
}

static bool
check_trainings(const struct scenario *s, struct json_reader *r)
{
	if (s->trainings.n > TRAININGS_MAX)
		return json_reader_fail(r, "trainings: there are more than %d",
		    TRAININGS_MAX);
	for (size_t i = 0; i < s->trainings.n; i++) {
		const struct scenario_training *t = &scenario_trainings(s)[i];

		if (!training_check(t, i, r))
			return false;
		if (s->duration_ns == SCENARIO_WORD1 && t->iterations ==
		    SCENARIO_WORD1)
			return json_reader_fail_at(r, "trainings", i,
			    "iterations",
			    "must not be none without a duration, or the run "
			    "would never end");
	}
	return check_faults(s, r);
}

bool
scenario_check(const struct scenario *s, const cJSON *root,
    struct json_reader *r)
{
	uint64_t workers = 0;

	if (s->planes.n > 0)
		return check_planes(s, root, r);
	if (!check_lists(s, root, r))
		return false;
	if (s->trainings.n > 0)
		return check_trainings(s, r);
	if (!check_nodes(s, r))
		return false;
	for (size_t i = 0; i < s->links.n; i++) {
		if (!check_link(s, i, r))
			return false;
	}
	for (size_t i = 0; i < s->workers.n; i++) {
		if (!check_workers(s, i, &workers, r))
			return false;
	}
	for (size_t i = 0; i < s->traffic.n; i++) {
		if (!check_traffic(s, i, r))
			return false;
	}
	return check_faults(s, r);
}
