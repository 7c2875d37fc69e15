/*
 * program.h - program iswitch: sum the gradients of jobs, segment by segment
 * (iSwitch section 3)
 *
 * iswitch.h and its parts decide; this is how they meet the data plane.  The
 * switch has an address: segments and control messages to it are input, those
 * from it another run's.  Towards its parent a child speaks of job J by way
 * J + 1, an address of that job's own.  In a trace that is the port so far
 * behind the switch's own, or the one to which the parent was seen to answer.
 */
#ifndef INNET_ISWITCH_PROGRAM_H
#define INNET_ISWITCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/iswitch/settings.h"
#include "common/iswitch/switch-control.h"
#include "common/switch/program.h"

struct iswitch_state {
	struct iswitch s;
	const struct iswitch_settings *cf;
	const struct program_env *env;
	uint16_t *port_of;		/* job -> the port it has in a trace */
	struct hashmap job_of;		/* that port -> job */
	uint64_t told_ns;		/* how long a Join upward had waited */
};

static inline bool
iswitch_program_init(void *state, const void *conf,
    const struct program_env *env)
{
	struct iswitch_state *t = state;
	const struct program_place *place = env->place;
	struct iswitch_conf cf;

	t->cf = conf;
	t->env = env;
	cf = t->cf->iswitch;
	cf.memory_bytes = place->memory_bytes;
	if (cf.job_memory_bytes == 0 && place->key != NULL)
		cf.job_memory_bytes = place->memory_bytes / 4;
	cf.key = place->key;
	cf.by = place->hash_seed;
	cf.quotas = place->quotas;
	cf.group = place->group;
	cf.any_xid = place->replayed;
	cf.job.accepts_any_tag = place->replayed && !place->secret_known;
	cf.job.key = place->key == NULL ? NULL : &place->key->start;
	memcpy(cf.job.secret, place->secret, sizeof(cf.job.secret));
	if (place->live || place->secret_known)
		key_set(&cf.secret, place->secret, sizeof(place->secret));
	cf.needs_cookie = place->key != NULL || place->tagged ||
			  ((place->needs_cookie || place->secret_known) &&
			      !addr_is_loopback(&t->cf->parent));
	if (cf.job.child && !place->live)
		cf.job_limit = 65535u - addr_port(&place->address);
	iswitch_init(&t->s, &cf, place->xid, env->out, env->rate_limit);
	if (cf.job.child && !place->live)
		t->port_of = calloc(65536, sizeof(*t->port_of));
	return !cf.job.child || place->live || t->port_of != NULL;
}

static inline void
iswitch_program_free(void *state)
{
	struct iswitch_state *t = state;

	iswitch_free(&t->s);
	free(t->port_of);
	hashmap_free(&t->job_of);
}

/* The port of job's way in a trace. */
static inline uint16_t
iswitch_port(const struct iswitch_state *t, uint16_t job)
{
	return t->port_of[job] != 0 ? t->port_of[job] :
	    (uint16_t)(addr_port(&t->env->place->address) + 1 + job);
}

/* The address of a way, where it is not the driver's to choose. */
static inline void
iswitch_address(const void *state, uint32_t way, union addr *a)
{
	const struct iswitch_state *t = state;
	const uint16_t port = iswitch_port(t, (uint16_t)(way - 1));

	*a = t->env->place->address;
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

/* The parent speaks of a job at this port: so it did in the captured run. */
static inline void
iswitch_learn(struct iswitch_state *t, const struct packet *p)
{
	const uint16_t port = addr_port(p->to);
	struct control c;
	uint32_t *at;

	if ((p->tos & 0xfc) != CONTROL_TOS ||
	    !control_parse(p->payload, p->bytes, &c) ||
	    t->port_of[c.job] == port)
		return;
	hashmap_remove(&t->job_of, t->port_of[c.job]);
	at = hashmap_put(&t->job_of, port, c.job);
	if (at == NULL)
		return;
	*at = c.job;
	t->port_of[c.job] = port;
}

/* The job of a packet from the parent to port in a trace, or -1. */
static inline int32_t
iswitch_job_at(const struct iswitch_state *t, uint16_t port)
{
	const uint32_t *at = hashmap_get(&t->job_of, port);
	const int32_t behind = port - addr_port(&t->env->place->address) - 1;

	if (at != NULL)
		return (int32_t)*at;
	return behind >= 0 && t->port_of[behind] == 0 ? behind : -1;
}

/* Have two addresses the same host? */
static inline bool
iswitch_same_host(const union addr *a, const union addr *b)
{
	union addr c = *a;

	if (a->sa.sa_family == AF_INET6)
		c.in6.sin6_port = b->in6.sin6_port;
	else
		c.in.sin_port = b->in.sin_port;
	return addr_same(&c, b);
}

/* In a trace: is it between the parent and a way of ours? */
static inline enum packet_class
iswitch_claim_way(struct iswitch_state *t, struct packet *p)
{
	const union addr *own = &t->env->place->address;
	int32_t job;

	if (addr_same(p->to, &t->cf->parent) &&
	    iswitch_same_host(p->from, own))
		return PACKET_FROM_PROGRAM;
	if (!addr_same(p->from, &t->cf->parent) ||
	    !iswitch_same_host(p->to, own))
		return PACKET_BETWEEN_OTHERS;
	if (p->is == FRAME_UDP)
		iswitch_learn(t, p);
	job = iswitch_job_at(t, addr_port(p->to));
	if (job < 0)
		return PACKET_BETWEEN_OTHERS;
	p->way = (uint32_t)job + 1;
	return PACKET_FOR_PROGRAM;
}

static inline enum packet_class
iswitch_claim(void *state, struct packet *p)
{
	struct iswitch_state *t = state;
	const uint8_t tos = p->tos & 0xfc;
	const struct program_place *place = t->env->place;

	if ((p->frame != NULL && p->is == FRAME_OTHER) ||
	    (!seg_is(tos) && tos != CONTROL_TOS))
		return PACKET_REGULAR;
	if (addr_same(p->to, &place->address) ||
	    (place->live && p->frame == NULL))	/* a socket's, or to it */
		return PACKET_FOR_PROGRAM;
	if (addr_same(p->from, &place->address))
		return PACKET_FROM_PROGRAM;
	return t->s.cf.job.child ? iswitch_claim_way(t, p)
				 : PACKET_BETWEEN_OTHERS;
}

static inline void
iswitch_program_take(void *state, struct packet *p, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	if (p->way == PACKET_WAY_OWN)
		iswitch_take_segment(&t->s, p->from, p->tos, p->payload,
		    p->bytes, now_ns);
	else if (addr_same(p->from, &t->cf->parent))
		iswitch_take_parent(&t->s, (uint16_t)(p->way - 1), p->tos,
		    p->payload, p->bytes, now_ns);
	else
		t->s.n[ISWITCH_FOREIGN]++;
}

static inline uint64_t
iswitch_program_due(const void *state)
{
	const struct iswitch_state *t = state;

	return iswitch_due(&t->s);
}

static inline void
iswitch_program_fire(void *state, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	iswitch_fire(&t->s, now_ns);
}

static inline const union addr *
iswitch_each(const void *state, uint32_t group, uint32_t *next,
    uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct member *m = members_next(&t->s.job[group]->j.members,
	    next);

	(void)now_ns;
	return m == NULL ? NULL : &m->at;
}

static inline const union addr *
iswitch_multicast_group(const void *state, const union addr *at)
{
	const struct iswitch_state *t = state;
	const struct iswitch_ref *who = iswitch_who(&t->s, at);
	const struct iswitch_job *j = who == NULL ? NULL :
	    t->s.job[who->job];

	return j != NULL && j->j.members.m[who->member].in_multicast_group
		   ? &j->group
		   : NULL;
}

static inline const union addr *
iswitch_up(const void *state, uint32_t group, uint32_t *way)
{
	const struct iswitch_state *t = state;

	*way = 1u + t->s.job[group]->j.id;
	return &t->cf->parent;
}

static inline bool
iswitch_program_has_backlog(const void *state)
{
	const struct iswitch_state *t = state;

	return iswitch_owes(&t->s);
}

static inline bool
iswitch_program_send_backlog(void *state)
{
	struct iswitch_state *t = state;

	return iswitch_give(&t->s);
}

static inline bool
iswitch_needs(const void *state, uint32_t way)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *j = iswitch_job(&t->s, (uint16_t)(way - 1));

	return j != NULL && (j->up.wanted || iswitch_asked(j));
}

static inline void
iswitch_heard(void *state, const union addr *from, uint64_t now_ns)
{
	struct iswitch_state *t = state;
	const struct iswitch_ref *who = iswitch_who(&t->s, from);

	if (who != NULL)
		member_heard(&t->s.job[who->job]->j.members.m[who->member],
		    now_ns);
}

static inline void
iswitch_stalled(void *state, uint64_t span_ns, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	for (uint32_t k = 0; k < t->s.jobs; k++) {
		struct members *all = &t->s.job[k]->j.members;

		for (uint32_t i = 0; i < all->count; i++) {
			struct member *m = &all->m[i];
			const uint64_t to = m->heard_ns + span_ns;

			if (m->present)
				member_heard(m, to < now_ns ? to : now_ns);
		}
	}
}

static inline enum program_reply
iswitch_control_of(void *state, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	if (c->action > CONTROL_RESUME && c->action != CONTROL_FETCH &&
	    c->action != CONTROL_CHUNK)
		return PROGRAM_UNKNOWN;
	return iswitch_request(&t->s, from, c, a, now_ns) ?
	    PROGRAM_ANSWERED : PROGRAM_LATER;
}

static inline void
iswitch_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct iswitch_state *t = state;

	(void)now_ns;
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct job *j = &t->s.job[k]->j;

		counters_in(c, NULL);
		counters_put(c, "job", j->id);
		counters_word(c, "kind", "job");
		switch_text_job(j, c);
		counters_put(c, "present", j->members.present);
		counters_out(c);
	}
}

static inline bool
iswitch_members(const void *state, uint16_t job, struct counters *c,
    uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *j = iswitch_job(&t->s, job);
	char name[ADDR_NAME_BYTES];

	if (j == NULL)
		return false;
	counters_put(c, "job", job);
	switch_text_job(&j->j, c);
	counters_word(c, "parent", t->s.cf.job.child ?
	    addr_print(&t->cf->parent, name) : "");
	switch_text_members(&j->j, &t->env->place->address, c, now_ns);
	return true;
}

/* A count, over all jobs. */
static inline uint64_t
iswitch_all(const struct iswitch *s, enum job_count what)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		n += s->job[k]->j.n[what];
	return n;
}

/* What belongs to no job. */
static inline void
iswitch_own_stats(const struct iswitch *s, bool gauges, struct counters *c)
{
	uint64_t members = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		members += s->job[k]->j.members.present;
	if (gauges) {
		counters_put(c, "jobs", s->jobs);
		counters_put(c, "members", members);
		counters_put(c, "memory_bytes", s->budget.used_bytes);
		return;
	}
	for (unsigned k = 0; k < ISWITCH_COUNTS; k++)
		counters_put(c, iswitch_count_name(k), s->n[k]);
}

static inline bool
iswitch_stats(const void *state, int32_t job, bool gauges,
    struct counters *c, uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *j;

	(void)now_ns;
	if (job < 0) {
		iswitch_own_stats(&t->s, gauges, c);
		return true;
	}
	j = iswitch_job(&t->s, (uint16_t)job);
	if (j != NULL)
		switch_text_stats(&j->j, gauges, c);
	return j != NULL;
}

static inline void
iswitch_account(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	char key[8];

	counters_in(c, "jobs");
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct job *j = &t->s.job[k]->j;

		snprintf(key, sizeof(key), "%u", j->id);
		counters_in(c, key);
		counters_in(c, "counters");
		switch_text_stats(j, false, c);
		counters_out(c);
		counters_put(c, "unfinished", job_unfinished(j));
		counters_put(c, "members", j->members.present);
		counters_out(c);
	}
	counters_out(c);
}

static inline void
iswitch_summary(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	const struct iswitch *s = &t->s;
	uint64_t unfinished = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		unfinished += job_unfinished(&s->job[k]->j);
	counters_put(c, "segments in", iswitch_all(s, JOB_SEGMENTS));
	counters_put(c, "added", iswitch_all(s, JOB_ADDED));
	counters_put(c, "results", iswitch_all(s, JOB_RESULTS));
	counters_put(c, "partial", iswitch_all(s, JOB_PARTIAL));
	counters_put(c, "unfinished", unfinished);
	counters_put(c, "resent", iswitch_all(s, JOB_RESENT) +
	    iswitch_all(s, JOB_HELP_RESENT));
	counters_put(c, "timed out", iswitch_all(s, JOB_EVICTED));
	counters_put(c, "foreign", s->n[ISWITCH_FOREIGN]);
}

static inline void
iswitch_progress(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	uint64_t members = 0;

	for (uint32_t k = 0; k < t->s.jobs; k++)
		members += t->s.job[k]->j.members.present;
	counters_put(c, "jobs", t->s.jobs);
	counters_put(c, "members", members);
	counters_put(c, "segments", iswitch_all(&t->s, JOB_SEGMENTS));
	counters_put(c, "results", iswitch_all(&t->s, JOB_RESULTS));
}

/* Is every segment counted under one reason? */
static inline bool
iswitch_adds_up(const void *state)
{
	const struct iswitch_state *t = state;
	bool good = true;

	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const uint64_t *n = t->s.job[k]->j.n;
		uint64_t sum = 0;

		for (int i = JOB_ADDED; i <= JOB_NO_MEMORY; i++)
			sum += n[i];
		good = good && sum == n[JOB_SEGMENTS];
	}
	return good;
}

/* A parent does not answer. */
static inline const char *
iswitch_trouble(void *state, char *text, size_t room, uint64_t now_ns)
{
	struct iswitch_state *t = state;
	char name[ADDR_NAME_BYTES];

	(void)now_ns;
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct iswitch_up *up = &t->s.job[k]->up;
		const uint64_t waited_ns = !up->wanted || up->as.joined ||
		    !up->as.join_open ? 0 :
		    up->as.asked_ns - up->as.join_since_ns;

		if (waited_ns < ISWITCH_TROUBLE_NS ||
		    (waited_ns >= t->told_ns &&
		    waited_ns - t->told_ns < ISWITCH_TROUBLE_NS))
			continue;
		t->told_ns = waited_ns;
		snprintf(text, room, "%s: no answer to a Join of job %u for "
		    "%.1f s", addr_print(&t->cf->parent, name),
		    t->s.job[k]->j.id, (double)waited_ns / 1e9);
		return text;
	}
	return NULL;
}

static inline bool
iswitch_is_member(const void *state, const union addr *at, int32_t job)
{
	const struct iswitch_state *t = state;
	const struct iswitch_ref *who = iswitch_who(&t->s, at);

	return who != NULL && (job < 0 || t->s.job[who->job]->j.id == job);
}

static inline uint32_t
iswitch_member_count(const void *state)
{
	const struct iswitch_state *t = state;

	return t->s.refs;	/* or a few less */
}

static inline uint16_t
iswitch_default_port(const void *conf)
{
	(void)conf;
	return UPDATE_PORT;
}

static const struct program iswitch_program = {
    .name = "iswitch",
    .about = "sum gradients for the workers of jobs",
    .default_port = iswitch_default_port,
    .tos = SEG_TOS,
    .trace_address = "10.255.255.1",
    .supports_tags = true,
    .conf_bytes = sizeof(struct iswitch_settings),
    .options = iswitch_opts,
    .set_defaults = iswitch_defaults,
    .set_option = iswitch_set,
    .check_settings = iswitch_settle,
    .plan_memory = iswitch_memory,
    .state_bytes = sizeof(struct iswitch_state),
    .init_state = iswitch_program_init,
    .free_state = iswitch_program_free,
    .classify = iswitch_claim,
    .receive = iswitch_program_take,
    .deadline_ns = iswitch_program_due,
    .on_deadline = iswitch_program_fire,
    .each_member = iswitch_each,
    .multicast_group = iswitch_multicast_group,
    .parent_address = iswitch_up,
    .socket_address = iswitch_address,
    .has_backlog = iswitch_program_has_backlog,
    .send_backlog = iswitch_program_send_backlog,
    .needs_socket = iswitch_needs,
    .peer_alive = iswitch_heard,
    .stalled = iswitch_stalled,
    .is_member = iswitch_is_member,
    .member_count = iswitch_member_count,
    .handle_request = iswitch_control_of,
    .list_jobs = iswitch_jobs,
    .list_members = iswitch_members,
    .put_counters = iswitch_stats,
    .put_report = iswitch_account,
    .put_summary = iswitch_summary,
    .put_progress = iswitch_progress,
    .describe_problem = iswitch_trouble,
    .counters_add_up = iswitch_adds_up,
};

#endif
