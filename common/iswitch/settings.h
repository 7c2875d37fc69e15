/*
 * settings.h - the settings of program iswitch, by the names of its options
 */
#ifndef INNET_ISWITCH_SETTINGS_H
#define INNET_ISWITCH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/num.h"
#include "common/iswitch/switch.h"
#include "common/switch/program.h"

enum {
	ISWITCH_KEEP_MAX = 65536,
	ISWITCH_SLOTS_MIN = 4,		/* two for a job, and two are left */
	ISWITCH_SLOTS_MAX = 1 << 30
};

struct iswitch_settings {
	struct iswitch_conf iswitch;
	union addr parent;		/* if iswitch.job.child */
	bool has_number, trace_only;
	const char *keep, *reduce;	/* as given, or NULL */
	uint32_t fixed_bits;		/* 0: not given */
	uint32_t elements, floats;	/* of a vector, to plan with */
};

enum iswitch_option {
	ISWITCH_ASYNC = 1, ISWITCH_REDUCE, ISWITCH_BITS, ISWITCH_STRAGGLER,
	ISWITCH_TIMEOUT, ISWITCH_KEEP, ISWITCH_PARENT, ISWITCH_NUMBER,
	ISWITCH_MEMBERS, ISWITCH_VECTOR, ISWITCH_FLOATS, ISWITCH_STRICT,
	ISWITCH_SLOTS, ISWITCH_JOB_MEMORY
};

static const struct opt iswitch_opts[] = {
	{ 'H', "threshold", "N", "iswitch: packets that make a sum" },
	{ ISWITCH_ASYNC, "async", NULL, "iswitch: sum any H, Algorithm 1" },
	{ ISWITCH_REDUCE, "reduce", "HOW",
	    "sum, ordered, fixed, median, trimmed:N" },
	{ ISWITCH_BITS, "fixed-bits", "N", "of --reduce fixed (default 24)" },
	{ ISWITCH_STRAGGLER, "straggler", "TIME",
	    "iswitch, dlp: sum what there is after TIME" },
	{ ISWITCH_TIMEOUT, "member-timeout", "TIME",
	    "iswitch: silent for so long is gone (10s)" },
	{ ISWITCH_STRICT, "strict", NULL,
	    "iswitch: wait for who takes over a state" },
	{ ISWITCH_KEEP, "keep", "N",
	    "iswitch: results kept (16); async: bytes (64MB)" },
	{ ISWITCH_SLOTS, "slots-of-sums", "N",
	    "iswitch: segments at a time, over all jobs" },
	{ ISWITCH_JOB_MEMORY, "job-memory", "SIZE",
	    "iswitch: of a job (with a key: a quarter)" },
	{ ISWITCH_PARENT, "parent", "ADDR", "iswitch: the switch above" },
	{ ISWITCH_NUMBER, "number", "N",
	    "iswitch: this switch's, to a parent" },
	{ ISWITCH_MEMBERS, "members", "N",
	    "iswitch trace: first N sources, no Joins" },
	{ ISWITCH_VECTOR, "vector", "VECTOR",
	    "iswitch --dry-run: a size (40kB), N, dqn, ..." },
	{ ISWITCH_FLOATS, "floats", "N",
	    "iswitch --dry-run: of a segment, or max" },
	{ 0 }
};

static inline void
iswitch_defaults(void *conf)
{
	struct iswitch_settings *cf = conf;

	*cf = (struct iswitch_settings){ 0 };
	cf->iswitch.job = (struct job_conf){
	    .reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
	    .keep = 16, .keep_bytes = 64000000,
	    .member_timeout_ns = 10000000000 };
}

/* The parent with the smallest address is taken (iSwitch section 3.4). */
static inline const char *
iswitch_set_parent(struct iswitch_settings *cf, const char *arg)
{
	union addr a;
	const char *why = addr_parse(arg, "46638", &a);

	if (why != NULL)
		return why;
	if (addr_port(&a) == 0)
		return "port 0 is nobody's";
	if (cf->iswitch.job.child &&
	    a.sa.sa_family != cf->parent.sa.sa_family)
		return "all must be IPv4 or IPv6";
	if (!cf->iswitch.job.child || addr_compare(&a, &cf->parent) < 0)
		cf->parent = a;
	cf->iswitch.job.child = true;
	return NULL;
}

/* A number from 1 on, of 32 bits. */
static inline const char *
iswitch_set_number(uint32_t *to, const char *arg, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	const char *why = num_u64(arg, min, max, &v);

	*to = (uint32_t)v;
	return why;
}

static inline const char *
iswitch_set_vector(uint32_t *to, const char *arg)
{
	uint64_t v = 0;
	const char *why = num_vector(arg, 1, UINT32_MAX, &v);

	*to = (uint32_t)v;
	return why;
}

static inline const char *
iswitch_set(void *conf, int option, const char *arg)
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
		return reduce_parse(arg, &j->reduce);
	case ISWITCH_BITS:
		return iswitch_set_number(&cf->fixed_bits, arg, 1, 62);
	case ISWITCH_STRAGGLER:
		return num_time(arg, 1, INT64_MAX / 2, &j->straggler_ns);
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

/* What --fixed-bits and --keep mean together with the others. */
static inline const char *
iswitch_settle_job(struct iswitch_settings *cf)
{
	struct job_conf *j = &cf->iswitch.job;
	const char *why;
	uint64_t v = 0;

	if (cf->fixed_bits != 0 && j->reduce.kind != REDUCE_FIXED)
		return "--fixed-bits goes with --reduce fixed";
	j->reduce.fixed_bits = cf->fixed_bits != 0 ? cf->fixed_bits : 24;
	if (j->h > 0 && j->h < reduce_needs(&j->reduce, j->h))
		return "--reduce trimmed:N goes with -H of 2 N + 1 at least";
	if (j->slots != 0 && j->async)
		return "--slots-of-sums does not go with --async, whose "
		    "rounds are kept";
	if (j->slots != 0 && cf->iswitch.implicit > 0)
		return "--slots-of-sums does not go with --members, where no "
		    "worker is told of them";
	if (j->slots != 0 && (j->straggler_ns > 0 || cf->keep != NULL))
		return "--slots-of-sums keeps no results, as --straggler and "
		    "--keep do";
	if (cf->keep == NULL)
		return NULL;
	if (j->async) {
		why = num_bytes(cf->keep, 1, INT64_MAX, &j->keep_bytes);
		return why == NULL ? NULL :
		    "--keep is a number of bytes with --async";
	}
	why = num_u64(cf->keep, 1, ISWITCH_KEEP_MAX, &v);
	j->keep = (uint32_t)v;
	return why == NULL ? NULL :
	    "--keep is a number of results, 1 to 65536";
}

/* The last 32 bits of an address: all of an IPv4 one. */
static inline uint32_t
iswitch_number_of(const union addr *a)
{
	return (uint32_t)bytes_get(a->sa.sa_family == AF_INET6 ?
	    a->in6.sin6_addr.s6_addr + 12 :
	    (const uint8_t *)&a->in.sin_addr, 4);
}

/* What the address and the parent's mean together with the others. */
static inline const char *
iswitch_settle_place(struct iswitch_settings *cf, struct program_place *place)
{
	const struct job_conf *j = &cf->iswitch.job;
	const union addr *own = &place->address;

	if (place->live && cf->trace_only)
		return "--members goes with a trace; workers join";
	if (!j->child)
		return NULL;
	if (j->reduce.kind >= REDUCE_MEDIAN)
		return "--reduce median and trimmed do not go with --parent: "
		    "a median of medians is none";
	if (cf->parent.sa.sa_family != own->sa.sa_family)
		return "--listen and --parent must both be IPv4 or IPv6";
	if (addr_same(&cf->parent, own))
		return "--parent is the switch's own address";
	if (!place->live && addr_port(own) == UINT16_MAX)
		return "--listen: no port behind it for a job with --parent";
	cf->iswitch.parent = place->parent = cf->parent;
	return NULL;
}

static inline const char *
iswitch_settle(void *conf, struct program_place *place)
{
	struct iswitch_settings *cf = conf;
	struct iswitch_conf *s = &cf->iswitch;
	const bool v6 = place->address.sa.sa_family == AF_INET6;
	const uint32_t less = place->tagged ? SEG_TAG_FLOATS : 0;
	const char *why = iswitch_settle_job(cf);

	if (why == NULL)
		why = iswitch_settle_place(cf, place);
	if (why != NULL)
		return why;
	if (s->job.async && s->job.straggler_ns > 0)
		return "--straggler does not go with --async, where nobody "
		    "waits";
	s->job.tagged = place->tagged;
	s->floats = (v6 ? SEG_FLOATS_V6 : SEG_FLOATS_V4) - less;
	s->floats_max = (v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4) - less;
	if (cf->floats > s->floats_max)
		return "--floats: so many do not fit a datagram";
	if (place->dry_run != (cf->elements > 0))
		return "--dry-run and --vector go together";
	if (cf->floats > 0 && !place->dry_run)
		return "--floats goes with --dry-run";
	if (!cf->has_number)
		s->number = iswitch_number_of(&place->address);
	return NULL;
}

/* The shape of a job of at least so many members, each of whose bits counts. */
static inline struct sums_shape
iswitch_shape_for(const struct iswitch_settings *cf)
{
	struct sums_shape s = job_shape(&cf->iswitch.job, cf->elements,
	    cf->floats != 0 ? cf->floats : cf->iswitch.floats);

	while (s.words > 0 && s.words * 64 < cf->iswitch.job.h)
		s.words *= 2;
	return s;
}

/* What a job takes whose vector is --vector. */
static inline size_t
iswitch_memory(const void *conf, struct memory_part *part)
{
	const struct iswitch_settings *cf = conf;
	const struct job_conf *j = &cf->iswitch.job;
	struct sums_shape s;
	uint64_t vectors, all;
	size_t n = 0;

	if (cf->elements == 0)
		return 0;
	s = iswitch_shape_for(cf);
	job_share(j, 0, &s);
	vectors = sums_packets(&s) *
	    (sums_head_bytes(&s) + 4 * (uint64_t)s.floats);
	all = sums_bytes(&j->reduce, &s);
	part[n++] = (struct memory_part){ .what = "vectors",
	    .number = s.depth + s.apart, .bytes = vectors };
	if (s.span != 0)
		part[0] = (struct memory_part){ .what = "packets of slots",
		    .number = sums_packets(&s), .bytes = vectors };
	part[n++] = (struct memory_part){ .what = "segment slots",
	    .number = sums_slots(&s), .bytes = all - vectors };
	if (j->async) {
		part[n++] = (struct memory_part){ .what = "members' pushes",
		    .number = j->h, .bytes = (uint64_t)j->h * s.segs *
		    sizeof(uint32_t) };
	} else if (j->slots == 0 && s.depth < 2 + j->keep) {
		s.depth = 2 + j->keep;
		part[n++] = (struct memory_part){ .what = "kept results",
		    .number = j->keep, .bytes = sums_bytes(&j->reduce, &s) -
		    all, .grows = true };
	}
	return n;
}

#endif
