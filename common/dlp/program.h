/*
 * program.h - program dlp: the aggregator of a session of the Distributed
 * Learning Protocol
 *
 * aggregator.h makes the decisions; this file connects it to the data plane.
 * In a trace, packets of DLP are recognised by their UDP port, whatever their
 * addresses are.  Packets to this port are input, and packets from this port
 * are answers of another aggregator.  An answer is sent from the address to
 * which the packet was sent.
 */
#ifndef INNET_DLP_PROGRAM_H
#define INNET_DLP_PROGRAM_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/dlp/aggregator.h"
#include "common/switch/program.h"

struct dlp_settings {
	struct dlp_aggregator_conf job;
	uint16_t port;			/* 0: the default port */
};

struct dlp_switch {
	struct dlp_aggregator job;
	const struct dlp_settings *cf;
	const struct program_env *env;
	uint64_t heard_ns;		/* time when the last packet arrived */
	uint64_t report_ns;		/* earliest time of the next report */
	uint64_t partial;		/* number of partial steps that were
					 * reported */
	uint64_t stalled_ns;		/* time when a step that waits was last
					 * reported */
	union addr configurer;		/* address of the host that last
					 * configured the session */
	struct dlp_repeats {
		uint32_t step, n;
		uint64_t at_ns;		/* time of the last answer that was sent
					 * after the first DLP_REPEATS
					 * answers */
	} repeats[DLP_NODES_MAX], configures;	/* by worker, and for CONFIGURE:
						 * number of answers to requests
						 * that changed nothing */
	uint64_t dropped;	/* number of packets that were dropped because
				 * they are not requests or not from a
				 * participant */
};

enum {
	DLP_STALLED_NS = 2000000000,	/* if a step lasts this long, it is
					 * reported */
	DLP_REPORT_NS = 1000000000,	/* shortest time between reports */
	DLP_REPEATS = 16,		/* number of repeated answers that each
					 * participant gets without delay */
	DLP_REPEAT_NS = 50000000	/* shortest time between further
					 * repeated answers */
};

enum dlp_option {
	DLP_REDUCE = 1, DLP_ANSWER_EARLY, DLP_STRAGGLER, DLP_BEHAVE_LIKE,
	DLP_PORT, DLP_SESSION
};

static const struct opt dlp_opts[] = {
	{ DLP_REDUCE, "reduce", "HOW",
	    "dlp: rule for combining the gradients of a step: mean (default) "
	    "or median" },
	{ DLP_ANSWER_EARLY, "answer-early", NULL,
	    "dlp: answer a gradient at once, with the aggregate of the "
	    "previous step" },
	{ DLP_ANSWER_EARLY, "late", NULL, NULL },
	{ DLP_STRAGGLER, "straggler", "TIME",
	    "iswitch, dlp: after TIME, complete a result with the "
	    "contributions that have arrived" },
	{ DLP_BEHAVE_LIKE, "behave-like", "WHAT",
	    "dlp: device of the DLP thesis to behave like: switch (default) or "
	    "server" },
	{ DLP_BEHAVE_LIKE, "as", "WHAT", NULL },
	{ DLP_PORT, "udp-port", "N",
	    "dlp: UDP port of the session (default 1234; for a server 12344)" },
	{ DLP_SESSION, "session", "LIST",
	    "dlp: settings of the session, for example "
	    "nodes=3,iterations=100" },
	{ 0 }
};

/* The program that the data plane calls. */
static const struct program dlp_program;

/* Set the default settings. */
static inline void dlp_defaults(void *conf);

/* implementation */

static inline void
dlp_defaults(void *conf)
{
	*(struct dlp_settings *)conf = (struct dlp_settings){ 0 };
}

static inline const char *
dlp_set(void *conf, int option, const char *arg)
{
	struct dlp_settings *cf = conf;
	uint64_t port = 0;
	const char *why;

	switch (option) {
	case DLP_REDUCE:
		cf->job.median = strcmp(arg, "median") == 0;
		return cf->job.median || strcmp(arg, "mean") == 0 ? NULL :
		    "not one of mean, median";
	case DLP_ANSWER_EARLY: cf->job.late = true; return NULL;
	case DLP_STRAGGLER:
		return num_time(arg, 1, INT64_MAX / 2, &cf->job.straggler_ns);
	case DLP_BEHAVE_LIKE:
		cf->job.as = strcmp(arg, "server") == 0 ?
		    DLP_AGGREGATOR_SERVER :
		    DLP_AGGREGATOR_SWITCH;
		return cf->job.as == DLP_AGGREGATOR_SERVER ||
		    strcmp(arg, "switch") ==
		    0 ? NULL : "not one of switch, server";
	case DLP_PORT:
		why = num_u64(arg, 1, 65535, &port);
		cf->port = (uint16_t)port;
		return why;
	default: return dlp_session_parse(arg, &cf->job.session);
	}
}

static inline uint16_t
dlp_port(const void *conf)
{
	const struct dlp_settings *cf = conf;

	return cf->port != 0 ? cf->port : cf->job.as == DLP_AGGREGATOR_SERVER ?
	    DLP_SERVER_PORT : DLP_SWITCH_PORT;
}

static inline const char *
dlp_settle(void *conf, struct program_place *place)
{
	(void)conf;
	(void)place;
	return NULL;
}

static inline bool
dlp_init(void *state, const void *conf, const struct program_env *env)
{
	struct dlp_switch *d = state;

	d->cf = conf;
	d->env = env;
	dlp_aggregator_init(&d->job, &d->cf->job);
	return true;
}

static inline void
dlp_free(void *state)
{
	(void)state;
}

static inline enum packet_class
dlp_classify(void *state, struct packet *p)
{
	const struct dlp_switch *d = state;
	const uint16_t port = dlp_port(d->cf);

	if (p->frame == NULL)
		return PACKET_FOR_PROGRAM;
	if (p->is == FRAME_OTHER || p->is == FRAME_FRAGMENT)
		return PACKET_REGULAR;
	if (addr_port(p->to) == port)
		return PACKET_FOR_PROGRAM;
	return addr_port(p->from) == port ? PACKET_FROM_PROGRAM
					  : PACKET_REGULAR;
}

/* Send the answers of the aggregator. */
static inline void
dlp_post(struct dlp_switch *d, const struct dlp_aggregator_out *o)
{
	uint8_t bytes[DLP_BYTES_MAX];
	const uint32_t len = dlp_put(bytes, &o->d);

	for (unsigned i = 0; i < o->n; i++)
		outbox_copy_from(d->env->out, &o->to[i]->to, &o->to[i]->at, 0,
		    bytes, len);
}

/*
 * Return the index of the participant with this address, or DLP_NODES_MAX.  If
 * `port` is set, the UDP port must be the same too.
 */
static inline unsigned
dlp_find_participant(
    const struct dlp_aggregator *j, const union addr *at, bool port)
{
	for (unsigned i = 0; i < j->now.n; i++) {
		if (port ? addr_same(&j->now.member[i].peer.at, at) :
		    addr_same_host(&j->now.member[i].peer.at, at))
			return i;
	}
	return DLP_NODES_MAX;
}

/*
 * Tell whether packet q may be processed.  Answers of aggregators may not,
 * because two aggregators would answer each other for ever.  While a session is
 * in state LEARNING, only a participant, or the host that configured the
 * session, may end or change the session.
 */
static inline bool
dlp_is_request(struct dlp_switch *d, const struct dlp *q,
    const struct packet *p)
{
	static const int32_t none[DLP_PARAMS];
	const struct dlp_aggregator *j = &d->job;

	if (addr_same(p->from, p->to))
		return false;
	switch (q->state) {
	case DLP_SETUP:
		return q->more == 0 && memcmp(q->param, none, sizeof(none)) ==
		    0;
	case DLP_LEARNING:
		return j->state == DLP_LEARNING ||
		       dlp_find_participant(j, p->from, true) < DLP_NODES_MAX ||
		       dlp_aggregator_find(&d->job.before, p->from) != NULL;
	case DLP_RESET:
	case DLP_CONFIGURE:
		return j->state != DLP_LEARNING ||
		       dlp_find_participant(j, p->from, false) <
			   DLP_NODES_MAX ||
		       addr_same_host(&d->configurer, p->from);
	default:
		return q->state == DLP_POLL;
	}
}

/*
 * Return the counter of answers to packet q, or NULL if such answers are not
 * counted.
 */
static inline struct dlp_repeats *
dlp_find_repeats(struct dlp_switch *d, const struct dlp *q,
    const union addr *from)
{
	const unsigned i = q->state == DLP_LEARNING
			       ? dlp_find_participant(&d->job, from, true)
			       : DLP_NODES_MAX;

	if (q->state == DLP_CONFIGURE)
		return &d->configures;
	return i == DLP_NODES_MAX ? NULL : &d->repeats[i];
}

/*
 * Tell whether a repeated answer must not be sent.  The same answer is sent at
 * most DLP_REPEATS times to a participant or to the host that configured the
 * session.  After that, it is sent once every DLP_REPEAT_NS, because all
 * earlier answers may have been lost.
 */
static inline bool
dlp_limit_repeats(struct dlp_switch *d, const struct dlp *q,
    const union addr *from, uint64_t now_ns)
{
	struct dlp_repeats *r = dlp_find_repeats(d, q, from);

	if (r == NULL)
		return false;
	if (r->step != q->step)
		*r = (struct dlp_repeats){ .step = q->step };
	if (r->n < DLP_REPEATS) {
		r->n++;
		return false;
	}
	if (now_ns - r->at_ns < DLP_REPEAT_NS)
		return true;
	r->at_ns = now_ns;
	return false;
}

static inline void
dlp_receive(void *state, struct packet *p, uint64_t now_ns)
{
	struct dlp_switch *d = state;
	const struct dlp_aggregator_peer peer = { *p->from, *p->to };
	struct dlp_aggregator_out o;
	struct dlp q = { 0 };
	const bool sound = dlp_parse(p->payload, p->bytes, &q) == DLP_OK;
	const struct dlp_session was = d->job.session;
	const uint8_t before = d->job.state;

	if (sound && !dlp_is_request(d, &q, p)) {
		d->dropped++;
		return;
	}
	d->heard_ns = now_ns;
	if (sound && q.state == DLP_CONFIGURE)
		d->configurer = *p->from;
	if (sound && q.state != DLP_LEARNING && q.state != DLP_POLL)
		memset(d->repeats, 0, sizeof(d->repeats));
	dlp_aggregator_receive(
	    &d->job, p->payload, p->bytes, &peer, &o, now_ns);
	if (before != DLP_SETUP || memcmp(&was, &d->job.session, sizeof(was)) !=
	    0)
		d->configures.n = 0;	/* the request has changed the
					 * session */
	if (sound && o.n == 1 && dlp_limit_repeats(d, &q, p->from, now_ns))
		d->dropped++;
	else
		dlp_post(d, &o);
}

static inline uint64_t
dlp_deadline_ns(const void *state)
{
	return dlp_aggregator_deadline_ns(
	    &((const struct dlp_switch *)state)->job);
}

static inline void
dlp_run_timer(void *state, uint64_t now_ns)
{
	struct dlp_switch *d = state;
	struct dlp_aggregator_out o;

	dlp_aggregator_run_timer(&d->job, now_ns, &o);
	dlp_post(d, &o);
}

/*
 * Write "step", the number of the step and `what`, then the workers in `bits`
 * and their addresses.
 */
static inline const char *
dlp_describe_step(const struct dlp_aggregator *j, uint32_t step,
    const char *what, uint32_t bits, char *text, size_t room)
{
	char name[ADDR_NAME_BYTES];
	size_t at = (size_t)snprintf(text, room, "step %" PRIu32 " %s", step,
	    what);

	for (unsigned i = 0; i < j->now.n && at < room; i++) {
		if ((bits >> i & 1) != 0)
			at += (size_t)snprintf(text + at, room - at,
			    " worker %u (%s)", i,
			    addr_print(&j->now.member[i].peer.at, name));
	}
	return text;
}

/*
 * Report the workers that are missing in a completed step or in the current
 * step.  If workers no longer ask for the current step, the step is reported
 * only once.
 */
static inline const char *
dlp_report_problem(void *state, char *text, size_t room, uint64_t now_ns)
{
	struct dlp_switch *d = state;
	const struct dlp_aggregator *j = &d->job;
	const uint64_t partial = j->n[DLP_AGGREGATOR_PARTIAL];

	if (now_ns < d->report_ns)
		return NULL;
	if (partial > d->partial && j->left_out != 0) {
		d->partial = partial;
		d->report_ns = now_ns + DLP_REPORT_NS;
		return dlp_describe_step(j, j->done_step, "completed without",
		    j->left_out, text, room);
	}
	if (j->counted == 0 || now_ns - j->began_ns < DLP_STALLED_NS ||
	    d->heard_ns < d->stalled_ns)
		return NULL;
	d->stalled_ns = now_ns;
	d->report_ns = now_ns + DLP_STALLED_NS;
	return dlp_describe_step(j, j->step, "waits for",
	    dlp_aggregator_missing_workers(j), text, room);
}

/*
 * Add the session to the report.  There is at most one session, and its number
 * is 1.
 */
static inline void
dlp_list_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;

	(void)now_ns;
	counters_in(c, NULL);
	counters_put(c, "job", 1);
	counters_word(c, "kind", "session");
	counters_word(c, "state", dlp_state_name(j->state));
	counters_put(c, "step", j->step);
	counters_put(c, "nodes", j->session.nodes);
	counters_put(c, "members", j->now.n);
	counters_out(c);
}

static inline bool
dlp_list_members(const void *state, uint16_t job, struct counters *c,
    uint64_t now_ns)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;
	char name[ADDR_NAME_BYTES];

	(void)now_ns;
	if (job != 1)
		return false;
	counters_put(c, "job", job);
	counters_word(c, "state", dlp_state_name(j->state));
	counters_put(c, "step", j->step);
	counters_list(c, "members");
	for (unsigned i = 0; i < j->now.n; i++) {
		const struct dlp_aggregator_peer *p = &j->now.member[i].peer;

		counters_in(c, NULL);
		counters_put(c, "id", i);
		counters_put(c, "worker", i);
		addr_print(&p->at, name);
		*strrchr(name, ':') = '\0';
		counters_word(c, "address", name);
		counters_put(c, "port", addr_port(&p->at));
		counters_word(c, "type", "worker");
		counters_word(c, "parent", addr_print(&p->to, name));
		counters_put(c, "missing", j->state == DLP_LEARNING &&
		    j->now.member[i].order == 0);
		counters_put(c, "missed", j->now.member[i].missed);
		counters_out(c);
	}
	counters_list_end(c);
	return true;
}

static inline bool
dlp_put_stats(const void *state, int32_t job, bool gauges, struct counters *c,
    uint64_t now_ns)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;

	(void)now_ns;
	if (job >= 0 && job != 1)
		return false;
	if (gauges) {
		counters_put(c, "state", j->state);
		counters_put(c, "step", j->step);
		counters_put(c, "members", j->now.n);
		return true;
	}
	for (int i = 0; i < DLP_AGGREGATOR_COUNTS && job >= 0; i++)
		counters_put(c, dlp_aggregator_count_name[i], j->n[i]);
	return true;
}

static inline void
dlp_put_counters(const void *state, struct counters *c)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;

	dlp_put_stats(state, 1, false, c, 0);
	counters_put(c, "no_request", ((const struct dlp_switch *)
	    state)->dropped);
	counters_word(c, "state", dlp_state_name(j->state));
	counters_put(c, "step", j->step);
}

/* Write the counters that are not 0. */
static inline void
dlp_put_summary(const void *state, struct counters *c)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;

	for (int i = 0; i < DLP_AGGREGATOR_COUNTS; i++) {
		if (j->n[i] > 0 || i == DLP_AGGREGATOR_STEPS)
			counters_put(c, dlp_aggregator_count_name[i], j->n[i]);
	}
	counters_word(c, "state", dlp_state_name(j->state));
	counters_put(c, "step", j->step);
}

static inline void
dlp_put_progress(const void *state, struct counters *c)
{
	const struct dlp_aggregator *j =
	    &((const struct dlp_switch *)state)->job;

	counters_word(c, dlp_state_name(j->state), "session");
	counters_put(c, "step", j->step);
	counters_put(c, "workers", j->now.n);
}

static const struct program dlp_program = {
    .name = "dlp",
    .about = "aggregate a session of DLP",
    .default_port = dlp_port,
    .datagram_bytes = dlp_bytes,
    .ignores_key = true,
    .conf_bytes = sizeof(struct dlp_settings),
    .options = dlp_opts,
    .set_defaults = dlp_defaults,
    .set_option = dlp_set,
    .check_settings = dlp_settle,
    .state_bytes = sizeof(struct dlp_switch),
    .init_state = dlp_init,
    .free_state = dlp_free,
    .classify = dlp_classify,
    .receive = dlp_receive,
    .deadline_ns = dlp_deadline_ns,
    .on_deadline = dlp_run_timer,
    .list_jobs = dlp_list_jobs,
    .list_members = dlp_list_members,
    .put_counters = dlp_put_stats,
    .put_report = dlp_put_counters,
    .put_summary = dlp_put_summary,
    .put_progress = dlp_put_progress,
    .describe_problem = dlp_report_problem,
};

#endif
