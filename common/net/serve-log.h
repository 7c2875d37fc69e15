/*
 * serve-log.h - what people are told about a plane that serves
 *
 * The account of its sockets, how it goes, and what goes wrong.
 */
#ifndef INNET_NET_SERVE_LOG_H
#define INNET_NET_SERVE_LOG_H

#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/counters.h"
#include "common/base/progress.h"
#include "common/net/serve-sockets.h"
#include "common/net/timer.h"
#include "common/switch/report.h"

/* What all sockets counted, those that were shut too. */
static inline struct serve_account
serve_account(const struct serve *s)
{
	struct serve_account c = s->gone;

	serve_account_one(&c, &s->own);
	for (uint32_t k = 0; k < s->ways; k++)
		serve_account_one(&c, s->way[k]);
	return c;
}

/* For people: what went wrong, if anything did. */
static inline void
serve_put_summary(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_account(s);
	const uint64_t *n = s->pl->n;
	const struct { const char *name; uint64_t n; } also[] = {
		{ "lost by the kernel", a.kernel },
		{ "answered that nobody listens", a.unreachable },
		{ "not sent", a.send_failed },
		{ "lost by --impair", n[PLANE_IN_LOST] + a.lost },
		{ "duplicated", n[PLANE_IN_DUPLICATED] + a.duplicated },
		{ "reordered", a.reordered },
	};

	for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
		if (also[i].n > 0)
			counters_put(c, also[i].name, also[i].n);
	}
}

/* The same, by name. */
static inline void
serve_put_account(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_account(s);

	counters_put(c, "kernel", a.kernel);
	counters_put(c, "unreachable", a.unreachable);
	counters_put(c, "send_failed", a.send_failed);
	counters_put(c, "impaired_lost", a.lost);
	counters_put(c, "impaired_dup", a.duplicated);
	counters_put(c, "impaired_reordered", a.reordered);
	counters_put(c, "latest_departure_ns", s->pl->late_max_ns);
	counters_put(c, "deaf_ns", s->deaf_ns);
}

/* Somebody is unreachable, or the program is in trouble: now and then. */
static inline void
serve_warn(struct serve *s, uint64_t now_ns)
{
	const struct program *pr = s->pl->program;
	const struct udpio *u = &s->own.u;
	char text[256], name[ADDR_NAME_BYTES];

	udpio_warn_drops(u, &s->warned_drops);
	if (s->warned_ns != 0 && now_ns - s->warned_ns < TIMER_SECOND_NS)
		return;
	if (u->unreachable != s->unreachable && pr->depends_on != NULL &&
	    pr->depends_on(s->pl->state, &u->refused)) {
		s->warned_ns = now_ns;
		warnx("%s: unreachable, %" PRIu64 " packets so far",
		    addr_print(&u->refused, name), u->unreachable);
	} else if (pr->describe_problem != NULL &&
		   pr->describe_problem(
		       s->pl->state, text, sizeof(text), now_ns) != NULL) {
		s->warned_ns = now_ns;
		warnx("%s", text);
	}
	s->unreachable = u->unreachable;
}

/* How it goes, on a terminal. */
static inline void
serve_progress(const struct serve *s)
{
	struct counters c = counters_begin(COUNTERS_LINE, NULL);
	const struct tally_cluster t = plane_cluster(s->pl, PLANE_ALL);

	if (plane_has_updates(s->pl)) {
		counters_put(&c, "in", t.of[TALLY_ARRIVED].packets);
		counters_put(&c, "out", t.of[TALLY_DELIVERED].packets);
		counters_put(&c, "merged", t.of[TALLY_AGGREGATED].packets);
	}
	if (s->pl->program->put_progress != NULL)
		s->pl->program->put_progress(s->pl->state, &c);
	if (c.text != NULL)
		progress_say("%s", c.text);
	counters_free(&c);
}

#endif
