/* aggr-conf.h - the options of --program iswitch */
#ifndef INNET_SWITCH_AGGR_CONF_H
#define INNET_SWITCH_AGGR_CONF_H

#include "common/iswctl.h"
#include "common/opt.h"

enum aggr_opt {
	AGGR_ASYNC = OPT_LONG + 40, AGGR_REDUCE, AGGR_BITS, AGGR_STRAGGLER,
	AGGR_TIMEOUT, AGGR_KEEP, AGGR_PARENT, AGGR_NUMBER, AGGR_KEY,
	AGGR_MEMBERS, AGGR_ELEMENTS, AGGR_FLOATS
};

#define AGGR_OPTIONS \
	{ 'H', "threshold", "N", "iswitch: packets that make a sum" }, \
	{ AGGR_ASYNC, "async", NULL, "iswitch: sum any H, Algorithm 1" }, \
	{ AGGR_REDUCE, "reduce", "HOW", \
	    "sum, ordered, fixed, median, trimmed:N" }, \
	{ AGGR_BITS, "fixed-bits", "N", "of --reduce fixed (default 24)" }, \
	{ AGGR_STRAGGLER, "straggler", "TIME", \
	    "iswitch: sum what there is after TIME" }, \
	{ AGGR_TIMEOUT, "member-timeout", "TIME", \
	    "iswitch: silent for so long is gone (10s)" }, \
	{ AGGR_KEEP, "keep", "N", \
	    "iswitch: results kept (16); async: bytes (64MB)" }, \
	{ AGGR_PARENT, "parent", "ADDR", "iswitch: the switch above" }, \
	{ AGGR_NUMBER, "number", "N", "iswitch: this switch's, to a parent" }, \
	{ AGGR_KEY, "key", "FILE", "iswitch: control messages need this key" }, \
	{ AGGR_MEMBERS, "members", "N", \
	    "iswitch filter: first N sources, no Joins" }, \
	{ AGGR_ELEMENTS, "elements", "N", "iswitch --dry-run: of a vector" }, \
	{ AGGR_FLOATS, "floats", "N", "iswitch --dry-run: of a segment" }

struct aggr_conf {
	struct iswitch_conf iswitch;
	union addr parent;		/* if iswitch.job.child */
	bool has_number;
	const char *keep, *reduce;	/* as given, or NULL */
	uint32_t fixed_bits;		/* 0: not given */
	struct mac_key key;
	uint32_t elements, floats;	/* for a --dry-run */
};

/* Before any option. */
void aggr_defaults(struct aggr_conf *cf);

/* Is ch one of AGGR_OPTIONS?  Then it is taken in. */
bool aggr_parse(int ch, struct aggr_conf *cf);

/* After the last option: what goes together, or exit 2. */
void aggr_check(struct aggr_conf *cf, const union addr *listen);

/* What memory a job of so many elements takes, as lines on standard output. */
void aggr_say_memory(const struct aggr_conf *cf);

#endif
