/*
 * program.h - program iswitch: sum the gradients of jobs, segment by segment
 *
 * This file connects the aggregation switch (switch.h; iSwitch, section 3) to
 * the data plane.  It contains the options, the classification of packets, the
 * reports for users, and iswitch_program, which the plane calls.
 *
 * The switch has an address.  Segments and control messages that are sent to
 * this address are the input of the switch.  Packets that are sent from this
 * address are the output of another run.  A switch that has a parent uses a
 * separate socket for each job J, number J + 1, to talk to the parent.  In a
 * trace the port of this socket is the switch's own port plus J + 1, or the
 * port to which the parent in the trace sent its answers.
 */
#ifndef INNET_ISWITCH_PROGRAM_H
#define INNET_ISWITCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/num.h"
#include "common/iswitch/switch-control.h"
#include "common/iswitch/switch-data.h"
#include "common/switch/program.h"

enum {
	ISWITCH_KEEP_MAX = 65536,
	ISWITCH_SLOTS_MIN = 4,		/* two slots for each of two jobs */
	ISWITCH_SLOTS_MAX = 1 << 30
};

struct iswitch_settings {
	struct iswitch_conf iswitch;
	union addr parent;		/* used if iswitch.job.child */
	bool has_number, trace_only;
	const char *keep, *reduce;	/* the arguments of these options, or
					 * NULL */
	uint32_t fixed_bits;		/* 0: not given */
	uint32_t elements, floats;	/* values of --vector and --floats */
};

enum iswitch_option {
	ISWITCH_ASYNC = 1, ISWITCH_REDUCE, ISWITCH_BITS, ISWITCH_STRAGGLER,
	ISWITCH_TIMEOUT, ISWITCH_KEEP, ISWITCH_PARENT, ISWITCH_NUMBER,
	ISWITCH_MEMBERS, ISWITCH_VECTOR, ISWITCH_FLOATS, ISWITCH_STRICT,
	ISWITCH_SLOTS, ISWITCH_JOB_MEMORY
};

static const struct opt iswitch_opts[] = {
	{ 'H', "threshold", "N",
	    "iswitch: number of packets that complete a segment, or auto: the "
	    "number of processes that the launcher started" },
	{ ISWITCH_ASYNC, "async", NULL,
	    "iswitch: run asynchronous jobs, in which any -H contributions "
	    "complete a sum" },
	{ ISWITCH_REDUCE, "reduce", "HOW",
	    "rule for combining contributions: sum (default), ordered, fixed, "
	    "median or trimmed:N; with dlp: mean (default) or median" },
	{ ISWITCH_BITS, "fixed-bits", "N",
	    "iswitch, with --reduce fixed: number of bits after the binary "
	    "point (default 24)" },
	{ ISWITCH_STRAGGLER, "straggler", "TIME",
	    "iswitch, dlp: after TIME, complete a result with the "
	    "contributions that have arrived" },
	{ ISWITCH_TIMEOUT, "member-timeout", "TIME",
	    "iswitch: remove a member that has been silent for TIME (default "
	    "10s)" },
	{ ISWITCH_STRICT, "strict", NULL,
	    "iswitch: pause the job while a worker copies another worker's "
	    "state" },
	{ ISWITCH_KEEP, "keep", "N",
	    "iswitch: number of results to keep for each segment (default 16); "
	    "with --async, number of bytes to keep for each job (default "
	    "64MB)" },
	{ ISWITCH_SLOTS, "slots-of-sums", "N",
	    "iswitch: number of segments that all jobs together can sum at a "
	    "time" },
	{ ISWITCH_JOB_MEMORY, "job-memory", "SIZE",
	    "iswitch: limit on the memory of each job (default with --key: a "
	    "quarter of the memory for jobs)" },
	{ ISWITCH_PARENT, "parent", "ADDR",
	    "iswitch: join the jobs of the switch at ADDR as a member" },
	{ ISWITCH_NUMBER, "number", "N",
	    "iswitch: number of this switch among the members of its parent" },
	{ ISWITCH_MEMBERS, "members", "N",
	    "iswitch, captures: treat the first N sources of segments as "
	    "members that have joined" },
	{ ISWITCH_VECTOR, "vector", "VECTOR",
	    "iswitch, with --dry-run: length of the vector: a size (40kB), a "
	    "number of elements, dqn, a2c, ppo or ddpg" },
	{ ISWITCH_FLOATS, "floats", "N",
	    "iswitch, with --dry-run: number of elements in a segment, or "
	    "max" },
	{ 0 }
};

struct iswitch_state {
	struct iswitch s;
	const struct iswitch_settings *cf;
	const struct program_env *env;
	uint16_t *port_of;		/* by job: port of the job's socket in a
					 * trace */
	struct hashmap job_of;		/* map from each port in port_of to its
					 * job */
	uint64_t told_ns; /* how long the Join had waited when this problem was
			   * last reported */
};

/* Set the defaults of all options in conf, a struct iswitch_settings. */
static inline void iswitch_set_defaults(void *conf);

/*
 * Check whether the settings can be combined, and adapt them to `place`.
 * Returns NULL or an error message.
 */
static inline const char *iswitch_check_settings(void *conf,
    struct program_place *place);

/* implementation */

static inline void
iswitch_set_defaults(void *conf)
{
	struct iswitch_settings *cf = conf;

	*cf = (struct iswitch_settings){ 0 };
	cf->iswitch.job = (struct job_conf){
	    .rule.reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
	    .keep = 16, .keep_bytes = 64000000,
	    .member_timeout_ns = 10000000000 };
}

/*
 * Add a parent.  The switch uses the parent with the smallest address (iSwitch,
 * section 3.4).
 */
static inline const char *
iswitch_set_parent(struct iswitch_settings *cf, const char *arg)
{
	union addr a;
	const char *why = addr_parse(arg, "46638", &a);

	if (why != NULL)
		return why;
	if (addr_port(&a) == 0)
		return "port 0 is not the port of a switch";
	if (cf->iswitch.job.child &&
	    a.sa.sa_family != cf->parent.sa.sa_family)
		return "all parents must be IPv4, or all IPv6";
	if (!cf->iswitch.job.child || addr_compare(&a, &cf->parent) < 0)
		cf->parent = a;
	cf->iswitch.job.child = true;
	return NULL;
}

/* Set *to to the number in arg, which must be from min to max. */
static inline const char *
iswitch_set_number(uint32_t *to, const char *arg, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	const char *why = num_u64(arg, min, max, &v);

	*to = (uint32_t)v;
	return why;
}

/* Set *to to the number of elements of a vector. */
static inline const char *
iswitch_set_vector(uint32_t *to, const char *arg)
{
	uint64_t v = 0;
	const char *why = num_vector(arg, 1, UINT32_MAX, &v);

	*to = (uint32_t)v;
	return why;
}

/* Set one option to the value arg.  Returns NULL or an error message. */
static inline const char *
iswitch_set_option(void *conf, int option, const char *arg)
{
	struct iswitch_settings *cf = conf;
	struct job_conf *j = &cf->iswitch.job;
	uint32_t v = 0;
	const char *why;

	switch (option) {
	case 'H':
		why = iswitch_set_number(&v, arg, 1, MEMBERS_MAX);
		j->h = (uint16_t)v;
		return why;
	case ISWITCH_ASYNC: j->async = true; return NULL;
	case ISWITCH_REDUCE:
		cf->reduce = arg;
		return reduce_parse(arg, &j->rule.reduce);
	case ISWITCH_BITS:
		return iswitch_set_number(&cf->fixed_bits, arg, 1,
		    REDUCE_BITS_MAX);
	case ISWITCH_STRAGGLER:
		return num_time(arg, 1, INT64_MAX / 2, &j->rule.straggler_ns);
	case ISWITCH_TIMEOUT:
		return num_time(arg, 1000000000, 65535 *
		    (uint64_t)1000000000, &j->member_timeout_ns);
	case ISWITCH_STRICT: cf->iswitch.strict = true; return NULL;
	case ISWITCH_KEEP: cf->keep = arg; return NULL;
	case ISWITCH_SLOTS:
		return iswitch_set_number(&j->slots, arg, ISWITCH_SLOTS_MIN,
		    ISWITCH_SLOTS_MAX);
	case ISWITCH_JOB_MEMORY:
		return num_bytes(arg, 1, INT64_MAX,
		    &cf->iswitch.job_memory_bytes);
	case ISWITCH_PARENT: return iswitch_set_parent(cf, arg);
	case ISWITCH_NUMBER:
		cf->has_number = true;
		return iswitch_set_number(&cf->iswitch.number, arg, 0,
		    UINT32_MAX);
	case ISWITCH_MEMBERS:
		cf->trace_only = true;
		return iswitch_set_number(&cf->iswitch.implicit, arg, 1,
		    MEMBERS_MAX);
	case ISWITCH_VECTOR:
		return iswitch_set_vector(&cf->elements, arg);
	default:
		if (strcmp(arg, "max") == 0) {
			cf->floats = SEG_FLOATS_MAX_V4;
			return NULL;
		}
		return iswitch_set_number(&cf->floats, arg, 1,
		    SEG_FLOATS_MAX_V4);
	}
}

/*
 * Check whether the settings of jobs can be combined, and set --fixed-bits and
 * --keep to values that suit the other settings.
 */
static inline const char *
iswitch_check_job(struct iswitch_settings *cf)
{
	struct job_conf *j = &cf->iswitch.job;
	const char *why;
	uint64_t v = 0;

	if (cf->fixed_bits != 0 && j->rule.reduce.kind != REDUCE_FIXED)
		return "--fixed-bits needs --reduce fixed";
	j->rule.reduce.fixed_bits = cf->fixed_bits != 0 ? cf->fixed_bits : 24;
	if (j->h > 0 && j->h < reduce_needs(&j->rule.reduce, j->h))
		return "--reduce trimmed:N needs -H of at least 2 N + 1";
	if (j->slots != 0 && j->async)
		return "--slots-of-sums cannot be used with --async";
	if (j->slots != 0 && cf->iswitch.implicit > 0)
		return "--slots-of-sums cannot be used with --members: without "
		    "a Join, workers do not know the number of slots";
	if (j->slots != 0 && (j->rule.straggler_ns > 0 || cf->keep != NULL))
		return "--slots-of-sums cannot be used with --straggler or "
		    "--keep, which need results that are kept";
	if (cf->keep == NULL)
		return NULL;
	if (j->async) {
		why = num_bytes(cf->keep, 1, INT64_MAX, &j->keep_bytes);
		return why == NULL ? NULL :
		    "--keep: with --async give a number of bytes, such as 64MB";
	}
	why = num_u64(cf->keep, 1, ISWITCH_KEEP_MAX, &v);
	j->keep = (uint32_t)v;
	return why == NULL ? NULL :
	    "--keep: give a number of results from 1 to 65536";
}

/*
 * Return the last 32 bits of an address.  An IPv4 address has only these bits.
 */
static inline uint32_t
iswitch_number_of_address(const union addr *a)
{
	return (uint32_t)bytes_get(a->sa.sa_family == AF_INET6 ?
	    a->in6.sin6_addr.s6_addr + 12 :
	    (const uint8_t *)&a->in.sin_addr, 4);
}

/* Check the addresses of the switch and of its parent. */
static inline const char *
iswitch_check_place(struct iswitch_settings *cf, struct program_place *place)
{
	const struct job_conf *j = &cf->iswitch.job;
	const union addr *own = &place->address;

	if (place->live && cf->trace_only)
		return "--members is for captures only; workers join a live "
		    "switch by themselves";
	if (!j->child)
		return NULL;
	if (j->rule.reduce.kind >= REDUCE_MEDIAN)
		return "--reduce median and --reduce trimmed cannot be used "
		    "with --parent: a median of medians is not the median";
	if (cf->parent.sa.sa_family != own->sa.sa_family)
		return "--listen and --parent must both be IPv4 or both IPv6";
	if (addr_same(&cf->parent, own))
		return "--parent: this is the switch's own address";
	if (!place->live && addr_port(own) == UINT16_MAX)
		return "--listen: give a port below 65535: with --parent each "
		    "job has a port of its own";
	cf->iswitch.parent = place->parent = cf->parent;
	return NULL;
}

static inline const char *
iswitch_check_settings(void *conf, struct program_place *place)
{
	struct iswitch_settings *cf = conf;
	struct iswitch_conf *s = &cf->iswitch;
	const bool v6 = place->address.sa.sa_family == AF_INET6;
	const uint32_t less = place->tagged ? SEG_TAG_FLOATS : 0;
	const char *why = iswitch_check_job(cf);

	if (why == NULL)
		why = iswitch_check_place(cf, place);
	if (why != NULL)
		return why;
	if (s->job.async && s->job.rule.straggler_ns > 0)
		return "--straggler cannot be used with --async, where no "
		    "worker waits for another";
	s->job.tagged = place->tagged;
	s->floats = (v6 ? SEG_FLOATS_V6 : SEG_FLOATS_V4) - less;
	s->floats_max = (v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4) - less;
	if (cf->floats > s->floats_max)
		return "--floats: too many for one datagram";
	if (place->dry_run != (cf->elements > 0))
		return "give --dry-run and --vector together";
	if (cf->floats > 0 && !place->dry_run)
		return "--floats needs --dry-run";
	if (!cf->has_number)
		s->number = iswitch_number_of_address(&place->address);
	return NULL;
}

/*
 * Return the shape of the memory of a job with H members and vectors of
 * --vector elements.
 */
static inline struct sums_shape
iswitch_shape_for(const struct iswitch_settings *cf)
{
	struct sums_shape s = job_shape(&cf->iswitch.job,
	    &cf->iswitch.job.rule, cf->elements,
	    cf->floats != 0 ? cf->floats : cf->iswitch.floats);

	while (s.words > 0 && s.words * 64 < cf->iswitch.job.h)
		s.words *= 2;
	return s;
}

/*
 * Print the amounts of memory that a job with vectors of --vector elements
 * needs.
 */
static inline size_t
iswitch_plan_memory(const void *conf, struct memory_part *part)
{
	const struct iswitch_settings *cf = conf;
	const struct job_conf *j = &cf->iswitch.job;
	struct sums_shape s;
	uint64_t vectors, all;
	size_t n = 0;

	if (cf->elements == 0)
		return 0;
	s = iswitch_shape_for(cf);
	job_fit_slots(j, 0, &s);
	vectors = sums_packets(&s) *
	    (sums_head_bytes(&s) + 4 * (uint64_t)s.floats);
	all = sums_bytes(&j->rule.reduce, &s);
	part[n++] = (struct memory_part){ .name = "vectors",
	    .number = s.depth + s.apart, .bytes = vectors };
	if (s.span != 0)
		part[0] = (struct memory_part){ .name = "packets of slots",
		    .number = sums_packets(&s), .bytes = vectors };
	part[n++] = (struct memory_part){ .name = "segment slots",
	    .number = sums_slots(&s), .bytes = all - vectors };
	if (j->child)
		part[n++] = (struct memory_part){ .name = "socket buffers",
		    .number = 2, .bytes = job_charged_socket_bytes(j, &s) };
	if (j->async) {
		part[n++] = (struct memory_part){ .name = "members' pushes",
		    .number = j->h, .bytes = (uint64_t)j->h * s.segs *
		    sizeof(uint32_t) };
	} else if (j->slots == 0 && s.depth < 2 + j->keep) {
		s.depth = 2 + j->keep;
		part[n++] = (struct memory_part){ .name = "kept results",
		    .number = j->keep,
		    .bytes = sums_bytes(&j->rule.reduce, &s) -
		    all, .grows = true };
	}
	return n;
}

/*
 * Count the slots that are filling and to which member `id` has not contributed
 * yet.
 */
static inline uint32_t
iswitch_count_missing(const struct job *j, uint32_t id)
{
	uint32_t n = 0;

	if (j->cf->async || !job_has_memory(j))
		return 0;
	for (uint32_t at = j->sums.oldest; at != SUMS_NONE;
	    at = j->sums.slot[at].after)
		n += j->members.m[id].from <= j->sums.slot[at].iteration &&
		    !sums_has(&j->sums, at, id);
	return n;
}

/* Add an address and its port to the report. */
static inline void
iswitch_put_address(struct counters *c, const union addr *a)
{
	char name[ADDR_NAME_BYTES];

	addr_print(a, name);
	*strrchr(name, ':') = '\0';
	counters_word(c, "address", name);
	counters_put(c, "port", addr_port(a));
}

/* Add the address and the type of a member to the report. */
static inline void
iswitch_put_identity(const struct member *m, struct counters *c)
{
	static const char *const type[] = { "?", "worker", "switch",
	    "server" };

	iswitch_put_address(c, &m->at);
	counters_word(c, "type", type[m->type]);
}

/* Add a member that is present to the report. */
static inline void
iswitch_put_member(const struct job *j, uint32_t id, const union addr *own,
    struct counters *c, uint64_t now_ns)
{
	const struct member *m = &j->members.m[id];
	char name[ADDR_NAME_BYTES];

	counters_in(c, NULL);
	counters_put(c, "id", id);
	counters_put(c, "worker", m->worker);
	counters_put(c, "cluster", m->cluster);
	iswitch_put_identity(m, c);
	counters_word(c, "parent", addr_print(own, name));
	counters_put(c, "last_heard_ms", member_silent_ns(m, now_ns) / 1000000);
	counters_put(c, "added", m->added);
	counters_put(c, "late", m->late);
	counters_put(c, "missing", iswitch_count_missing(j, id));
	counters_out(c);
}

/* Add a member that has left to the report. */
static inline void
iswitch_put_former_member(const struct job *j, uint32_t id, struct counters *c,
    uint64_t now_ns)
{
	const struct member *m = &j->members.m[id];

	counters_in(c, NULL);
	counters_put(c, "worker", m->worker);
	iswitch_put_identity(m, c);
	counters_flag(c, "evicted", m->evicted);
	counters_put(c, "gone_ms", (now_ns - m->gone_ns) / 1000000);
	counters_put(c, "last_heard_ms", member_silent_ns(m, now_ns) / 1000000);
	counters_out(c);
}

/* Add the state of a job to the report. */
static inline void
iswitch_put_job(const struct job *j, struct counters *c)
{
	struct job_rule rule = j->rule;
	char text[JOB_RULE_TEXT_BYTES];

	if (j->cf->as_came)		/* the server's way to compute a sum */
		rule.reduce.kind = REDUCE_SUM;
	counters_put(c, "h", job_threshold(j, j->newest + 1));
	counters_flag(c, "follows", j->h == 0);
	counters_flag(c, "open", j->open);
	counters_flag(c, "halted", j->halted);
	counters_word(c, "rule", job_rule_print(&rule, text));
	counters_put(c, "elements", j->sums.s.elements);
	counters_put(c, "floats", j->sums.s.floats);
	counters_int(c, "iteration", job_has_memory(j) ?
	    (j->newest < j->start ? j->start : j->newest) - SUMS_EPOCH : 0);
}

/*
 * Add the members of a job to the report.  The switch at `own` is the parent of
 * these members.
 */
static inline void
iswitch_put_members(const struct job *j, const union addr *own,
    struct counters *c, uint64_t now_ns)
{
	counters_list(c, "members");
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present)
			iswitch_put_member(j, i, own, c, now_ns);
	}
	counters_list_end(c);
	counters_list(c, "gone");
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (!j->members.m[i].present && j->members.m[i].gone_ns > 0)
			iswitch_put_former_member(j, i, c, now_ns);
	}
	counters_list_end(c);
}

/* Add the counters or the gauges of a job to the report. */
static inline void
iswitch_put_job_counters(const struct job *j, bool gauges, struct counters *c)
{
	if (!gauges) {
		for (unsigned k = 0; k < JOB_COUNTS; k++)
			counters_put(c, job_count_name(k), j->n[k]);
		counters_put(c, "saturated", j->sums.count.saturated);
		return;
	}
	counters_put(c, "members", j->members.present);
	counters_put(c, "h", job_threshold(j, j->newest + 1));
	counters_put(c, "open", j->open);
	counters_put(c, "halted", j->halted);
	counters_put(c, "filling", j->sums.filling);
	if (j->cf->slots == 0)
		return;
	counters_put(c, "slots", j->slots);
	counters_put(c, "span", j->sums.s.span);
}

/* Initialize the state. */
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
	cf.hash_seed = place->hash_seed;
	cf.quotas = place->quotas;
	cf.sockets = cf.job.child ? place->sockets : 0;
	cf.group = place->group;
	cf.any_xid = place->replayed;
	cf.job.accepts_any_tag = place->replayed && !place->secret_known;
	cf.job.key = place->key;
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

/* Free the state. */
static inline void
iswitch_program_free(void *state)
{
	struct iswitch_state *t = state;

	iswitch_free(&t->s);
	free(t->port_of);
	hashmap_free(&t->job_of);
}

/* Return the port that a job's socket to the parent has in a trace. */
static inline uint16_t
iswitch_socket_port(const struct iswitch_state *t, uint16_t job)
{
	return t->port_of[job] != 0 ? t->port_of[job] :
	    (uint16_t)(addr_port(&t->env->place->address) + 1 + job);
}

/* Set *a to the address that a socket to the parent has in a trace. */
static inline void
iswitch_socket_address(const void *state, uint32_t socket, union addr *a)
{
	const struct iswitch_state *t = state;
	const uint16_t port = iswitch_socket_port(t, (uint16_t)(socket - 1));

	*a = t->env->place->address;
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

/*
 * Record which job uses the port to which the parent in the trace sent message
 * p.
 */
static inline void
iswitch_learn_port(struct iswitch_state *t, const struct packet *p)
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

/*
 * Return the index of the job to which a packet belongs that the parent sent to
 * `port` in a trace, or -1.
 */
static inline int32_t
iswitch_job_of_port(const struct iswitch_state *t, uint16_t port)
{
	const uint32_t *at = hashmap_get(&t->job_of, port);
	const int32_t behind = port - addr_port(&t->env->place->address) - 1;

	if (at != NULL)
		return (int32_t)*at;
	return behind >= 0 && t->port_of[behind] == 0 ? behind : -1;
}

/* Are two addresses equal, apart from the port? */
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

/*
 * Classify a packet of a trace that is neither to nor from the switch's
 * address.  The packet may be one between the parent and the socket of a job.
 */
static inline enum packet_class
iswitch_classify_transit(struct iswitch_state *t, struct packet *p)
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
		iswitch_learn_port(t, p);
	job = iswitch_job_of_port(t, addr_port(p->to));
	if (job < 0)
		return PACKET_BETWEEN_OTHERS;
	p->socket = (uint32_t)job + 1;
	return PACKET_FOR_PROGRAM;
}

/*
 * Return the class of packet p, which determines the part of the switch that
 * processes the packet.
 */
static inline enum packet_class
iswitch_classify(void *state, struct packet *p)
{
	struct iswitch_state *t = state;
	const uint8_t tos = p->tos & 0xfc;
	const struct program_place *place = t->env->place;

	if ((p->frame != NULL && p->is == FRAME_OTHER) ||
	    (!seg_is(tos) && tos != CONTROL_TOS))
		return PACKET_REGULAR;
	if (addr_same(p->to, &place->address) ||
	    (place->live && p->frame == NULL))	/* the packet came through a
						 * socket and not from a
						 * trace */
		return PACKET_FOR_PROGRAM;
	if (addr_same(p->from, &place->address))
		return PACKET_FROM_PROGRAM;
	return t->s.cf.job.child ? iswitch_classify_transit(t, p)
				 : PACKET_BETWEEN_OTHERS;
}

/* Process a packet of a member or of the parent. */
static inline void
iswitch_program_receive(void *state, struct packet *p, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	if (p->socket == PACKET_SOCKET_OWN)
		iswitch_receive_segment(&t->s, p->from, p->tos, p->payload,
		    p->bytes, now_ns);
	else if (addr_same(p->from, &t->cf->parent))
		iswitch_receive_parent(&t->s, (uint16_t)(p->socket - 1), p->tos,
		    p->payload, p->bytes, now_ns);
	else
		t->s.n[ISWITCH_FOREIGN]++;
}

/*
 * Return the time at which the plane must call iswitch_program_on_deadline().
 */
static inline uint64_t
iswitch_program_deadline_ns(const void *state)
{
	const struct iswitch_state *t = state;

	return iswitch_deadline_ns(&t->s);
}

/* Do the work that is due by now_ns. */
static inline void
iswitch_program_on_deadline(void *state, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	iswitch_run_deadlines(&t->s, now_ns);
}

/* Return the address of the next member of a group. */
static inline const union addr *
iswitch_each_member(const void *state, uint32_t group, uint32_t *next,
    uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct member *m = members_next(&t->s.job[group]->core.members,
	    next);

	(void)now_ns;
	return m == NULL ? NULL : &m->at;
}

/* Return the multicast group of the member with the address `at`, or NULL. */
static inline const union addr *
iswitch_multicast_group(const void *state, const union addr *at)
{
	const struct iswitch_state *t = state;
	const struct iswitch_ref *ref = iswitch_find_address(&t->s, at);
	const struct iswitch_job *job = ref == NULL ? NULL :
	    t->s.job[ref->job];

	return job != NULL &&
		       job->core.members.m[ref->member].in_multicast_group
		   ? &job->group
		   : NULL;
}

/*
 * Return the address of the parent, and set *socket to the socket of job
 * `group`.
 */
static inline const union addr *
iswitch_parent_address(const void *state, uint32_t group, uint32_t *socket)
{
	const struct iswitch_state *t = state;

	*socket = 1u + t->s.job[group]->core.id;
	return &t->cf->parent;
}

/* Are there queued answers? */
static inline bool
iswitch_program_has_backlog(const void *state)
{
	const struct iswitch_state *t = state;

	return iswitch_has_backlog(&t->s);
}

/* Post some queued answers. */
static inline bool
iswitch_program_send_backlog(void *state)
{
	struct iswitch_state *t = state;

	return iswitch_send_backlog(&t->s);
}

/* Does the job to which a socket belongs still talk to the parent? */
static inline bool
iswitch_needs_socket(const void *state, uint32_t socket)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *job =
	    iswitch_find_job(&t->s, (uint16_t)(socket - 1));

	return job != NULL &&
	       (job->parent.wanted || iswitch_has_receivers(job));
}

/* Return the size of the buffers of a job's socket. */
static inline uint64_t
iswitch_socket_bytes(const void *state, uint32_t socket)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *job =
	    iswitch_find_job(&t->s, (uint16_t)(socket - 1));
	const struct sums_shape none = { 0 };

	return job_socket_bytes(
	    job != NULL && job_has_memory(&job->core) ? &job->core.sums.s
						      : &none);
}

/* Record that a valid message has arrived from the address `from`. */
static inline void
iswitch_peer_alive(void *state, const union addr *from, uint64_t now_ns)
{
	struct iswitch_state *t = state;
	const struct iswitch_ref *ref = iswitch_find_address(&t->s, from);

	if (ref != NULL)
		member_note_packet(
		    &t->s.job[ref->job]->core.members.m[ref->member], now_ns);
}

/*
 * Do not count the time during which the switch was stopped as silence of its
 * members.
 */
static inline void
iswitch_stalled(void *state, uint64_t span_ns, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	for (uint32_t k = 0; k < t->s.jobs; k++) {
		struct members *all = &t->s.job[k]->core.members;

		for (uint32_t i = 0; i < all->count; i++) {
			struct member *m = &all->m[i];
			const uint64_t to = m->last_packet_ns + span_ns;

			if (m->present)
				member_note_packet(m,
				    to < now_ns ? to : now_ns);
		}
	}
}

/* Execute a request of a member or an operator. */
static inline enum program_reply
iswitch_program_request(void *state, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct iswitch_state *t = state;

	if (c->action > CONTROL_RESUME && c->action != CONTROL_FETCH &&
	    c->action != CONTROL_CHUNK && c->action != CONTROL_LEFT)
		return PROGRAM_UNKNOWN;
	return iswitch_handle_request(&t->s, from, c, a, now_ns) ?
	    PROGRAM_ANSWERED : PROGRAM_LATER;
}

/* Add a list of all jobs to the report. */
static inline void
iswitch_list_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct iswitch_state *t = state;

	(void)now_ns;
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct job *j = &t->s.job[k]->core;

		counters_in(c, NULL);
		counters_put(c, "job", j->id);
		counters_word(c, "kind", "job");
		iswitch_put_job(j, c);
		counters_put(c, "present", j->members.present);
		counters_out(c);
	}
}

/* Add a list of the members of a job to the report. */
static inline bool
iswitch_list_members(const void *state, uint16_t id, struct counters *c,
    uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *job = iswitch_find_job(&t->s, id);
	char name[ADDR_NAME_BYTES];

	if (job == NULL)
		return false;
	counters_put(c, "job", id);
	iswitch_put_job(&job->core, c);
	counters_word(c, "parent", t->s.cf.job.child ?
	    addr_print(&t->cf->parent, name) : "");
	iswitch_put_members(&job->core, &t->env->place->address, c, now_ns);
	return true;
}

/* Return the sum of a counter over all jobs. */
static inline uint64_t
iswitch_sum_counter(const struct iswitch *s, enum job_count what)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		n += s->job[k]->core.n[what];
	return n;
}

/* Add the counters or the gauges that belong to no job to the report. */
static inline void
iswitch_put_switch_counters(const struct iswitch *s, bool gauges,
    struct counters *c)
{
	uint64_t members = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		members += s->job[k]->core.members.present;
	if (gauges) {
		counters_put(c, "jobs", s->jobs);
		counters_put(c, "members", members);
		counters_put(c, "memory_bytes", s->budget.used_bytes);
		return;
	}
	for (unsigned k = 0; k < ISWITCH_COUNTS; k++)
		counters_put(c, iswitch_count_name(k), s->n[k]);
}

/*
 * Add the counters or the gauges of job id to the report.  If id is -1, add
 * those of the switch.
 */
static inline bool
iswitch_put_counters(const void *state, int32_t id, bool gauges,
    struct counters *c, uint64_t now_ns)
{
	const struct iswitch_state *t = state;
	const struct iswitch_job *job;

	(void)now_ns;
	if (id < 0) {
		iswitch_put_switch_counters(&t->s, gauges, c);
		return true;
	}
	job = iswitch_find_job(&t->s, (uint16_t)id);
	if (job != NULL)
		iswitch_put_job_counters(&job->core, gauges, c);
	return job != NULL;
}

/* Add all counters to the report. */
static inline void
iswitch_put_report(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	char key[8];

	counters_in(c, "jobs");
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct job *j = &t->s.job[k]->core;

		snprintf(key, sizeof(key), "%u", j->id);
		counters_in(c, key);
		counters_in(c, "counters");
		iswitch_put_job_counters(j, false, c);
		counters_out(c);
		counters_put(c, "unfinished", job_count_unfinished(j));
		counters_put(c, "members", j->members.present);
		counters_out(c);
	}
	counters_out(c);
}

/* Add to the report the values of the summary, which is printed at the end. */
static inline void
iswitch_put_summary(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	const struct iswitch *s = &t->s;
	uint64_t unfinished = 0;

	for (uint32_t k = 0; k < s->jobs; k++)
		unfinished += job_count_unfinished(&s->job[k]->core);
	counters_put(c, "segments in", iswitch_sum_counter(s, JOB_SEGMENTS));
	counters_put(c, "added", iswitch_sum_counter(s, JOB_ADDED));
	counters_put(c, "results", iswitch_sum_counter(s, JOB_RESULTS));
	counters_put(c, "partial", iswitch_sum_counter(s, JOB_PARTIAL));
	counters_put(c, "unfinished", unfinished);
	counters_put(c, "resent", iswitch_sum_counter(s, JOB_RESENT) +
	    iswitch_sum_counter(s, JOB_HELP_RESENT));
	counters_put(c, "timed out", iswitch_sum_counter(s, JOB_EVICTED));
	counters_put(c, "foreign", s->n[ISWITCH_FOREIGN]);
}

/*
 * Add to the report the values of the progress line, which is printed while the
 * switch runs.
 */
static inline void
iswitch_put_progress(const void *state, struct counters *c)
{
	const struct iswitch_state *t = state;
	uint64_t members = 0;

	for (uint32_t k = 0; k < t->s.jobs; k++)
		members += t->s.job[k]->core.members.present;
	counters_put(c, "jobs", t->s.jobs);
	counters_put(c, "members", members);
	counters_put(c, "segments", iswitch_sum_counter(&t->s, JOB_SEGMENTS));
	counters_put(c, "results", iswitch_sum_counter(&t->s, JOB_RESULTS));
}

/* Is every segment counted under exactly one reason? */
static inline bool
iswitch_counters_add_up(const void *state)
{
	const struct iswitch_state *t = state;
	bool good = true;

	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const uint64_t *n = t->s.job[k]->core.n;
		uint64_t sum = 0;

		for (int i = JOB_ADDED; i <= JOB_NO_MEMORY; i++)
			sum += n[i];
		good = good && sum == n[JOB_SEGMENTS];
	}
	return good;
}

/*
 * If the parent has not answered a Join for a long time, write this to `text`
 * and return `text`.  Returns NULL otherwise.
 */
static inline const char *
iswitch_describe_problem(void *state, char *text, size_t room, uint64_t now_ns)
{
	struct iswitch_state *t = state;
	char name[ADDR_NAME_BYTES];

	(void)now_ns;
	for (uint32_t k = 0; k < t->s.jobs; k++) {
		const struct iswitch_parent *up = &t->s.job[k]->parent;
		const uint64_t waited_ns =
		    !up->wanted || up->membership.joined ||
			    !up->membership.join_open
			? 0
			: up->membership.asked_ns -
			      up->membership.join_since_ns;

		if (waited_ns < ISWITCH_NO_ANSWER_NS ||
		    (waited_ns >= t->told_ns &&
		    waited_ns - t->told_ns < ISWITCH_NO_ANSWER_NS))
			continue;
		t->told_ns = waited_ns;
		snprintf(text, room, "%s: no answer to a Join of job %u for "
		    "%.1f s; is the parent running?", addr_print(&t->cf->parent,
		    name),
		    t->s.job[k]->core.id, (double)waited_ns / 1e9);
		return text;
	}
	return NULL;
}

/* Is `at` the address of a member of this job (-1: of any job)? */
static inline bool
iswitch_is_member(const void *state, const union addr *at, int32_t job)
{
	const struct iswitch_state *t = state;
	const struct iswitch_ref *ref = iswitch_find_address(&t->s, at);

	return ref != NULL && (job < 0 || t->s.job[ref->job]->core.id == job);
}

/* Return the number of addresses of members. */
static inline uint32_t
iswitch_member_count(const void *state)
{
	const struct iswitch_state *t = state;

	return t->s.refs;	/* this number is an upper bound */
}

/* Return the UDP port of segments. */
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
    .set_defaults = iswitch_set_defaults,
    .set_option = iswitch_set_option,
    .check_settings = iswitch_check_settings,
    .plan_memory = iswitch_plan_memory,
    .state_bytes = sizeof(struct iswitch_state),
    .init_state = iswitch_program_init,
    .free_state = iswitch_program_free,
    .classify = iswitch_classify,
    .receive = iswitch_program_receive,
    .deadline_ns = iswitch_program_deadline_ns,
    .on_deadline = iswitch_program_on_deadline,
    .each_member = iswitch_each_member,
    .multicast_group = iswitch_multicast_group,
    .parent_address = iswitch_parent_address,
    .socket_address = iswitch_socket_address,
    .has_backlog = iswitch_program_has_backlog,
    .send_backlog = iswitch_program_send_backlog,
    .needs_socket = iswitch_needs_socket,
    .socket_bytes = iswitch_socket_bytes,
    .peer_alive = iswitch_peer_alive,
    .stalled = iswitch_stalled,
    .is_member = iswitch_is_member,
    .member_count = iswitch_member_count,
    .handle_request = iswitch_program_request,
    .list_jobs = iswitch_list_jobs,
    .list_members = iswitch_list_members,
    .put_counters = iswitch_put_counters,
    .put_report = iswitch_put_report,
    .put_summary = iswitch_put_summary,
    .put_progress = iswitch_put_progress,
    .describe_problem = iswitch_describe_problem,
    .counters_add_up = iswitch_counters_add_up,
};

#endif
