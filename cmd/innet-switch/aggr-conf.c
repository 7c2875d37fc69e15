/* aggr-conf.c - the options of --program iswitch */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/launcher.h"
#include "common/num.h"
#include "common/timer.h"

#include "cmd/innet-switch/aggr-conf.h"

enum { KEEP_MAX = 65536 };

void
aggr_defaults(struct aggr_conf *cf)
{
	cf->iswitch.job = (struct job_conf){
	    .reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
	    .keep = 16, .keep_bytes = 64000000,
	    .member_timeout_ns = 10 * (uint64_t)TIMER_SECOND_NS };
}

/* The parent with the smallest address is taken (iSwitch section 3.4). */
static void
parse_parent(struct aggr_conf *cf)
{
	union addr a;

	opt_check("address", optarg, addr_parse(optarg, "46638", &a));
	if (addr_port(&a) == 0)
		errx(2, "--parent %s: port 0 is nobody's", optarg);
	if (cf->iswitch.job.child &&
	    a.sa.sa_family != cf->parent.sa.sa_family)
		errx(2, "--parent: all must be IPv4 or IPv6");
	if (!cf->iswitch.job.child || addr_compare(&a, &cf->parent) < 0)
		cf->parent = a;
	cf->iswitch.job.child = true;
}

/* Options of the rules of a job. */
static bool
parse_job(int ch, struct aggr_conf *cf)
{
	struct job_conf *j = &cf->iswitch.job;
	uint64_t v = 0;

	switch (ch) {
	case 'H':
		if (strcmp(optarg, "auto") == 0)
			v = launcher_size("-H", MEMBERS_MAX);
		else
			opt_check("threshold", optarg, num_u64(optarg, 1,
			    MEMBERS_MAX, &v));
		j->h = (uint16_t)v;
		return true;
	case AGGR_ASYNC: j->async = true; return true;
	case AGGR_REDUCE: cf->reduce = optarg; return true;
	case AGGR_BITS:
		opt_check("bits", optarg, num_u64(optarg, 1, 62, &v));
		cf->fixed_bits = (uint32_t)v;
		return true;
	case AGGR_STRAGGLER:
		opt_check("time", optarg, num_time(optarg, 1, INT64_MAX / 2,
		    &j->straggler_ns));
		return true;
	case AGGR_TIMEOUT:
		opt_check("time", optarg, num_time(optarg, TIMER_SECOND_NS,
		    65535 * (uint64_t)TIMER_SECOND_NS,
		    &j->member_timeout_ns));
		return true;
	case AGGR_KEEP: cf->keep = optarg; return true;
	default: return false;
	}
}

bool
aggr_parse(int ch, struct aggr_conf *cf)
{
	uint64_t v = 0;

	switch (ch) {
	case AGGR_PARENT: parse_parent(cf); return true;
	case AGGR_NUMBER:
		opt_check("number", optarg, num_u64(optarg, 0, UINT32_MAX,
		    &v));
		cf->iswitch.number = (uint32_t)v;
		cf->has_number = true;
		return true;
	case AGGR_KEY: mac_load_or_exit(&cf->key, optarg); return true;
	case AGGR_MEMBERS:
		opt_check("members", optarg, num_u64(optarg, 1, MEMBERS_MAX,
		    &v));
		cf->iswitch.implicit = (uint32_t)v;
		return true;
	case AGGR_ELEMENTS:
		opt_check("elements", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &v));
		cf->elements = (uint32_t)v;
		return true;
	case AGGR_FLOATS:
		opt_check("floats", optarg, num_u64(optarg, 1,
		    SEG_FLOATS_MAX_V4, &v));
		cf->floats = (uint32_t)v;
		return true;
	default: return parse_job(ch, cf);
	}
}

/* What --reduce, --fixed-bits and --keep mean together with the others. */
static void
settle(struct aggr_conf *cf)
{
	struct job_conf *j = &cf->iswitch.job;
	uint64_t v = 0;

	if (cf->fixed_bits != 0)
		j->reduce.fixed_bits = cf->fixed_bits;
	if (cf->reduce != NULL)
		opt_check("reduction", cf->reduce, reduce_parse(cf->reduce,
		    &j->reduce));
	if (cf->fixed_bits != 0 && j->reduce.kind != REDUCE_FIXED)
		errx(2, "--fixed-bits goes with --reduce fixed");
	if (cf->keep == NULL)
		return;
	if (j->async) {
		opt_check("size to keep", cf->keep, num_bytes(cf->keep, 1,
		    INT64_MAX, &j->keep_bytes));
	} else {
		opt_check("results to keep", cf->keep, num_u64(cf->keep, 1,
		    KEEP_MAX, &v));
		j->keep = (uint32_t)v;
	}
}

/* The last 32 bits of an address: all of an IPv4 one. */
static uint32_t
number_of(const union addr *a)
{
	return (uint32_t)wire_get(a->sa.sa_family == AF_INET6 ?
	    a->in6.sin6_addr.s6_addr + 12 :
	    (const uint8_t *)&a->in.sin_addr, 4);
}

void
aggr_check(struct aggr_conf *cf, const union addr *listen)
{
	struct iswitch_conf *s = &cf->iswitch;
	const bool v6 = listen->sa.sa_family == AF_INET6;

	settle(cf);
	if (s->job.child && s->job.reduce.kind >= REDUCE_MEDIAN)
		errx(2, "--reduce %s does not go with --parent: a median of "
		    "medians is none", cf->reduce);
	if (s->job.async && s->job.straggler_ns > 0)
		errx(2, "--straggler does not go with --async, where nobody "
		    "waits");
	if (s->job.child && cf->parent.sa.sa_family != listen->sa.sa_family)
		errx(2, "--listen and --parent must both be IPv4 or IPv6");
	if (s->job.child && addr_same(&cf->parent, listen))
		errx(2, "--parent is the switch's own address");
	if (cf->floats > (v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4))
		errx(2, "--floats %" PRIu32 " does not fit a datagram",
		    cf->floats);
	s->floats = v6 ? SEG_FLOATS_V6 : SEG_FLOATS_V4;
	s->floats_max = v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4;
	if (!cf->has_number)
		s->number = number_of(listen);
}

/* The shape of a job of so many members at least, each of whose bits counts. */
static struct aggr_shape
shape_for(const struct aggr_conf *cf)
{
	struct aggr_shape s = job_shape(&cf->iswitch.job, cf->elements,
	    cf->floats != 0 ? cf->floats : cf->iswitch.floats);

	while (s.words > 0 && s.words * 64 < cf->iswitch.job.h)
		s.words *= 2;
	return s;
}

void
aggr_say_memory(const struct aggr_conf *cf)
{
	const struct job_conf *j = &cf->iswitch.job;
	struct aggr_shape s = shape_for(cf);
	const uint64_t vector = (uint64_t)s.segs * (SEG_HEADER_BYTES + 4 *
	    (uint64_t)s.floats);
	const uint64_t vectors = ((uint64_t)s.depth + s.apart) * vector;
	const uint64_t pushed = j->async ? (uint64_t)j->h * s.segs *
	    sizeof(uint32_t) : 0;
	const uint64_t all = aggr_bytes(&j->reduce, &s);

	printf("%" PRIu64 " bytes: %" PRIu32 " vectors of %" PRIu64
	    ", %" PRIu64 " slots with %" PRIu64 " in all, pushes of %u members "
	    "with %" PRIu64 "\n", all + pushed, s.depth + s.apart, vector,
	    (uint64_t)s.ways * s.segs, all - vectors, j->h, pushed);
	if (j->async || s.depth >= 2 + j->keep)
		return;
	s.depth = 2 + j->keep;
	printf("%" PRIu64 " bytes once %" PRIu32 " results of each segment "
	    "are kept: after FBcast, or with H below the members\n",
	    aggr_bytes(&j->reduce, &s), j->keep);
}
