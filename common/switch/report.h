/*
 * report.h - the counters of a switch, for reports, summaries and innet-ctl
 *
 * The names and the order of counters are the same for every program: first the
 * counters of the plane, then those of control messages, then those of the
 * program.
 */
#ifndef INNET_SWITCH_REPORT_H
#define INNET_SWITCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/capture/soundness.h"
#include "common/queue/tally.h"
#include "common/switch/plane.h"

/* Add all counters to c, for a report in JSON. */
static inline void plane_put_report(const struct plane *pl, struct counters *c);

/* Add the most important counters to the summary line at the end of a run. */
static inline void plane_put_summary(const struct plane *pl,
    struct counters *c);

/*
 * Add the counters and gauges of a job to c, to answer a request of innet-ctl.
 * If `job` is -1, add those of the switch itself.  Returns false if there is no
 * such job.
 */
static inline bool plane_put_counters(const struct plane *pl, int32_t job,
    struct counters *c, uint64_t now_ns);

/* Has any port received updates, or does the program merge updates? */
static inline bool plane_has_updates(const struct plane *pl);

/* implementation */

static inline const char *
plane_count_name(enum plane_count what)
{
	static const char *const name[PLANE_COUNTS] = { "packets", "taken",
	    "own", "regular", "passed", NULL, "not_allowed", "out",
	    "too_long", "no_port", "impaired_in_lost", "impaired_in_dup" };

	return name[what];
}

static inline const char *
plane_controls_name(unsigned what)
{
	static const char *const name[CONTROLS_COUNTS] = { "control",
	    "bad_control", "bad_mac", "old_xid", "repeated", "acks",
	    "refused", "challenged", "unproved", "replayed", "reflected" };

	return name[what];
}

/*
 * Return the counters of packets of kind `kind`, summed over all ports.
 * Updates are not included.
 */
static inline struct port_count
plane_sum_ports(const struct plane *pl, enum port_kind kind)
{
	struct port_count all = { 0 };

	for (uint32_t i = 0; i < pl->ports.n; i++) {
		const struct port_count *c =
		    &pl->ports.port[i]->n[kind];

		all.sent += c->sent;
		all.dropped += c->dropped;
		all.queued += c->queued;
	}
	return all;
}

static inline bool
plane_has_updates(const struct plane *pl)
{
	bool any = false;

	for (uint32_t i = 0; i < pl->ports.n; i++)
		any |= pl->ports.port[i]->updates != NULL;
	return any || pl->program->merges_updates;
}

static inline void
plane_put_tally(struct counters *c, const struct tally_cluster *t)
{
	for (int w = 0; w < TALLY_EVENTS; w++) {
		counters_in(c, tally_name((enum tally_event)w));
		counters_put(c, "packets", t->of[w].packets);
		counters_put(c, "constituents", t->of[w].constituents);
		counters_out(c);
	}
}

/*
 * Return the number of delivered packets that contained exactly `constituents`
 * updates.
 */
static inline uint64_t
plane_count_merged(const struct plane *pl, uint32_t constituents)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < pl->ports.n; i++) {
		const struct port_updates *u = pl->ports.port[i]->updates;

		if (u != NULL && constituents < u->tally.merged_room)
			n += u->tally.merged[constituents];
	}
	return n;
}

/*
 * Add the counters of updates for each cluster, and a histogram of the number
 * of constituents in delivered packets.
 */
static inline void
plane_put_updates(const struct plane *pl, struct counters *c)
{
	struct tally_cluster t = plane_sum_cluster(pl, PLANE_ALL);
	char key[8];

	counters_in(c, "totals");
	plane_put_tally(c, &t);
	counters_out(c);
	counters_in(c, "clusters");
	for (uint32_t k = 0; k < 65536; k++) {
		t = plane_sum_cluster(pl, k);
		if (t.of[TALLY_ARRIVED].packets == 0)
			continue;
		snprintf(key, sizeof(key), "%u", k);
		counters_in(c, key);
		plane_put_tally(c, &t);
		counters_out(c);
	}
	counters_out(c);
	counters_in(c, "merged_histogram");
	for (uint32_t m = 1; m < 65536; m++) {
		if (plane_count_merged(pl, m) == 0)
			continue;
		snprintf(key, sizeof(key), "%u", m);
		counters_put(c, key, plane_count_merged(pl, m));
	}
	counters_out(c);
}

/*
 * Return the number of datagrams of the program that have left, with or without
 * queueing.
 */
static inline uint64_t
plane_count_sent(const struct plane *pl)
{
	return pl->n[PLANE_OUT] + plane_sum_ports(pl, PORT_PROGRAM).sent +
	    plane_sum_cluster(pl, PLANE_ALL).of[TALLY_DELIVERED].packets;
}

/* Add the counters of the plane. */
static inline void
plane_put_counts(const struct plane *pl, struct counters *c)
{
	const struct port_count own = plane_sum_ports(pl, PORT_PROGRAM);
	const struct port_count others =
	    plane_sum_ports(pl, PORT_REGULAR);

	for (int i = 0; i < PLANE_COUNTS; i++) {
		if (plane_count_name((enum plane_count)i) != NULL)
			counters_put(c, plane_count_name((enum plane_count)i),
			    i == PLANE_OUT ? plane_count_sent(pl) : pl->n[i]);
	}
	counters_put(c, "dropped", own.dropped);
	counters_put(c, "queued", own.queued);
	counters_put(c, "regular_dropped", others.dropped);
	counters_put(c, "regular_queued", others.queued);
}

/* Add the number of ignored packets for each reason. */
static inline void
plane_put_ignored(const struct plane *pl, struct counters *c)
{
	counters_in(c, "ignored");
	for (unsigned w = UPDATE_SHORT; w < SOUNDNESS_VERDICTS; w++) {
		if (pl->ignored[w] > 0)
			counters_put(c, soundness_name(w), pl->ignored[w]);
	}
	counters_out(c);
}

/*
 * Add the number of ignored packets in a form such as "3 ignored (2 length, 1
 * snaplen)".
 */
static inline void
plane_summarize_ignored(const struct plane *pl, struct counters *c)
{
	const char *before = " (";

	counters_put(c, "ignored", pl->n[PLANE_IGNORED]);
	for (unsigned w = UPDATE_SHORT; w < SOUNDNESS_VERDICTS; w++) {
		if (pl->ignored[w] == 0)
			continue;
		counters_add(c, "%s%" PRIu64 " %s", before, pl->ignored[w],
		    soundness_name(w));
		before = ", ";
	}
	if (pl->n[PLANE_IGNORED] > 0)
		counters_add(c, ")");
}

/* Add the plane's counters that are not 0 to the line for people. */
static inline void
plane_summarize_counts(const struct plane *pl, struct counters *c)
{
	const struct port_count own = plane_sum_ports(pl, PORT_PROGRAM);
	const struct port_count others =
	    plane_sum_ports(pl, PORT_REGULAR);
	const struct { const char *name; uint64_t n; } also[] = {
		{ "out", plane_count_sent(pl) },
		{ "dropped", own.dropped },
		{ "waiting", own.queued },
		{ "too long", pl->n[PLANE_TOO_LONG] },
		{ "without a port", pl->n[PLANE_NO_PORT] },
		{ "regular dropped", others.dropped },
		{ "not allowed", pl->n[PLANE_NOT_ALLOWED] },
		{ "own", pl->n[PLANE_OWN] },
		{ "passed", pl->n[PLANE_PASSED] },
		{ "requests", pl->controls[CONTROLS_TAKEN] },
		{ "refused", pl->controls[CONTROLS_REFUSED] },
	};

	counters_put(c, "regular", pl->n[PLANE_REGULAR]);
	plane_summarize_ignored(pl, c);
	for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
		if (also[i].n > 0)
			counters_put(c, also[i].name, also[i].n);
	}
}

static inline void
plane_put_report(const struct plane *pl, struct counters *c)
{
	counters_word(c, "program", pl->program->name);
	plane_put_counts(pl, c);
	plane_put_ignored(pl, c);
	counters_in(c, "switch");
	for (unsigned i = 0; i < CONTROLS_COUNTS; i++)
		counters_put(c, plane_controls_name(i), pl->controls[i]);
	pl->program->put_counters(pl->state, -1, false, c, pl->now_ns);
	counters_out(c);
	if (plane_has_updates(pl))
		plane_put_updates(pl, c);
	if (pl->program->put_report != NULL)
		pl->program->put_report(pl->state, c);
}

static inline void
plane_put_summary(const struct plane *pl, struct counters *c)
{
	const struct tally_cluster t = plane_sum_cluster(pl, PLANE_ALL);
	const uint64_t in = t.of[TALLY_ARRIVED].constituents, dropped =
	    t.of[TALLY_DROPPED_FULL].constituents +
	    t.of[TALLY_DROPPED_REWARD].constituents +
	    t.of[TALLY_DROPPED_LIMIT].constituents;
	char share[32];

	if (plane_has_updates(pl)) {
		snprintf(share, sizeof(share), "dropped (%.1f %%)", in == 0 ?
		    0 : 100 * (double)dropped / (double)in);
		counters_put(c, "updates in", in);
		counters_put(c, "packets out",
		    t.of[TALLY_DELIVERED].packets);
		counters_put(c, "aggregated",
		    t.of[TALLY_AGGREGATED].constituents);
		counters_put(c, "superseded",
		    t.of[TALLY_SUPERSEDED].constituents);
		counters_put(c, share, dropped);
		counters_put(c, "queued", t.of[TALLY_QUEUED].constituents);
		counters_part(c);
	}
	if (pl->program->put_summary != NULL)
		pl->program->put_summary(pl->state, c);
	else
		pl->program->put_counters(pl->state, -1, false, c, pl->now_ns);
	counters_part(c);
	plane_summarize_counts(pl, c);
}

static inline bool
plane_put_counters(const struct plane *pl, int32_t job, struct counters *c,
    uint64_t now_ns)
{
	bool known;

	if (job >= 0)
		counters_put(c, "job", (uint64_t)job);
	counters_word(c, "program", pl->program->name);
	counters_in(c, "counters");
	known = pl->program->put_counters(pl->state, job, false, c, now_ns);
	if (job < 0) {
		plane_put_counts(pl, c);
		for (unsigned i = 0; i < CONTROLS_COUNTS; i++)
			counters_put(c, plane_controls_name(i),
			    pl->controls[i]);
		for (unsigned w = UPDATE_SHORT; w < SOUNDNESS_VERDICTS; w++) {
			if (pl->ignored[w] > 0)
				counters_put(c, soundness_name(w),
				    pl->ignored[w]);
		}
	}
	counters_out(c);
	counters_in(c, "gauges");
	pl->program->put_counters(pl->state, job, true, c, now_ns);
	if (job < 0) {
		counters_put(c, "up", 1);
		counters_put(c, "ports", pl->ports.n);
	}
	counters_out(c);
	return known || job < 0;
}

#endif
