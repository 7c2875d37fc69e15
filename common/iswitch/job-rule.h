/*
 * job-rule.h - the rule by which a job combines the contributions to a segment
 *
 * A switch has a rule for its jobs, from --reduce, --fixed-bits and
 * --straggler.  The first member of a synchronous job can name another rule in
 * its Join.  Then each later member must name the same rule, or none.
 */
#ifndef INNET_ISWITCH_JOB_RULE_H
#define INNET_ISWITCH_JOB_RULE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/iswitch/reduce.h"
#include "common/wire/control.h"

enum { JOB_RULE_TEXT_BYTES = 64 };

struct job_rule {
	struct reduce reduce;
	uint64_t straggler_ns;		/* longest time that a slot waits for
					 * members; 0: no limit */
};

/*
 * Write to *r the rule that `named` describes.  The fields of `named` that are
 * 0 do not change `own`, the rule of the switch.  Returns false if a value is
 * invalid.
 */
static inline bool job_rule_named(const struct control_rule *named,
    const struct job_rule *own, struct job_rule *r);

/*
 * Set the reduction of `named` to `how`, an argument of --reduce.  Returns
 * NULL, or an error message if `how` is not valid or needs more than `members`
 * members.
 */
static inline const char *job_rule_parse(const char *how, uint32_t members,
    struct control_rule *named);

/* Return rule r as a Join and its Ack contain it. */
static inline struct control_rule job_rule_on_wire(const struct job_rule *r);

/*
 * Does rule r say what `named` says?  A field of `named` that is 0 says
 * nothing.
 */
static inline bool job_rule_fits(const struct job_rule *r,
    const struct control_rule *named);

/*
 * Write the options that have the effect of rule r to `text`, for example
 * "--reduce trimmed:2 --straggler 20ms".  Returns text.
 */
static inline const char *job_rule_print(const struct job_rule *r,
    char text[JOB_RULE_TEXT_BYTES]);

/* implementation */

static inline bool
job_rule_named(const struct control_rule *named, const struct job_rule *own,
    struct job_rule *r)
{
	*r = *own;
	if (named->straggler_us != 0)
		r->straggler_ns = named->straggler_us * (uint64_t)1000;
	if (named->reduce == 0)
		return true;
	if (named->reduce > 1 + REDUCE_TRIMMED)
		return false;
	r->reduce = (struct reduce){
		.kind = (enum reduce_kind)(named->reduce - 1),
		.fixed_bits = 24 };
	if (r->reduce.kind == REDUCE_FIXED && named->detail != 0)
		r->reduce.fixed_bits = named->detail;
	if (r->reduce.kind == REDUCE_TRIMMED)
		r->reduce.trim = named->detail;
	return r->reduce.fixed_bits <= REDUCE_BITS_MAX;
}

static inline struct control_rule
job_rule_on_wire(const struct job_rule *r)
{
	const uint64_t us = (r->straggler_ns + 999) / 1000;

	return (struct control_rule){
		.reduce = (uint8_t)(1 + r->reduce.kind),
		.detail = (uint16_t)(r->reduce.kind == REDUCE_FIXED ?
		    r->reduce.fixed_bits : r->reduce.kind == REDUCE_TRIMMED ?
		    r->reduce.trim : 0),
		.straggler_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us };
}

static inline const char *
job_rule_parse(const char *how, uint32_t members, struct control_rule *named)
{
	struct job_rule rule = { 0 };
	struct control_rule parsed;
	const char *why = reduce_parse(how, &rule.reduce);

	if (why != NULL)
		return why;
	if (rule.reduce.kind == REDUCE_TRIMMED &&
	    members < reduce_needs(&rule.reduce, members))
		return "trimmed:N needs at least 2 N + 1 members";
	parsed = job_rule_on_wire(&rule);
	named->reduce = parsed.reduce;
	named->detail = parsed.detail;
	return NULL;
}

static inline bool
job_rule_fits(const struct job_rule *r, const struct control_rule *named)
{
	const struct control_rule own = job_rule_on_wire(r);

	return (named->reduce == 0 || (named->reduce == own.reduce &&
	    (named->detail == own.detail ||
	    (r->reduce.kind == REDUCE_FIXED && named->detail == 0 &&
	    own.detail == 24)))) &&
	    (named->straggler_us == 0 ||
	    named->straggler_us == own.straggler_us);
}

static inline const char *
job_rule_print(const struct job_rule *r, char text[JOB_RULE_TEXT_BYTES])
{
	char detail[24] = "", straggler[32] = "";

	if (r->reduce.kind == REDUCE_TRIMMED)
		snprintf(detail, sizeof(detail), ":%" PRIu32, r->reduce.trim);
	else if (r->reduce.kind == REDUCE_FIXED && r->reduce.fixed_bits != 24)
		snprintf(detail, sizeof(detail), " --fixed-bits %" PRIu32,
		    r->reduce.fixed_bits);
	if (r->straggler_ns > 0)
		snprintf(straggler, sizeof(straggler), " --straggler %gms",
		    (double)r->straggler_ns / 1e6);
	snprintf(text, JOB_RULE_TEXT_BYTES, "--reduce %s%s%s",
	    reduce_name(r->reduce.kind), detail, straggler);
	return text;
}

#endif
