/*
 * switch-rule.h - what the first member of a job decides with its Join: H, and
 * the rule by which contributions are combined
 *
 * If no Join names H or a rule, the switch's own options apply.
 *
 * This is a separate file because switch-join.h is long.
 */
#ifndef INNET_ISWITCH_SWITCH_RULE_H
#define INNET_ISWITCH_SWITCH_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job-rule.h"
#include "common/iswitch/switch.h"

/*
 * May a Join name this H and this rule?  If not, write the reason into the Ack.
 * A switch with a parent ignores H.
 */
static inline bool iswitch_may_name(struct iswitch *s,
    const struct iswitch_job *job, const struct control_join *join,
    struct control_ack *a);

/* Give a new job the H and the rule that its first Join names. */
static inline void iswitch_take_named(struct iswitch *s,
    struct iswitch_job *job, const struct control_join *join);

/* The job has ended: forget what its first Join named. */
static inline void iswitch_forget_named(struct iswitch *s,
    struct iswitch_job *job);

/*
 * Return the rule that this rack names to its parent.  The parent waits twice
 * as long for stragglers, because the sum of a rack that has waited arrives
 * later.
 */
static inline struct control_rule iswitch_rule_for_parent(
    const struct iswitch_job *job);

/* implementation */

/*
 * Return why this switch cannot use the rule in a Join, or NULL if it can.
 * Sets *rule to the whole rule.
 */
static inline const char *
iswitch_rule_problem(const struct iswitch *s, const struct control_join *join,
    struct job_rule *rule)
{
	const struct job_conf *cf = &s->cf.job;

	if (!job_rule_named(&join->rule, &cf->rule, rule))
		return "it does not know this --reduce";
	if (!control_names_rule(&join->rule))
		return NULL;
	if (cf->async || cf->whole || cf->server)
		return "its own options say how it combines contributions";
	if (cf->slots > 0 && rule->straggler_ns > 0)
		return "its --slots-of-sums cannot be used with --straggler";
	if (sums_keeps_rows(&rule->reduce) &&
	    rule->reduce.kind != REDUCE_ORDERED &&
	    (cf->child || join->type == CONTROL_SWITCH))
		return "no median of medians: this --reduce needs a switch "
		    "without racks";
	return NULL;
}

static inline bool
iswitch_may_name(struct iswitch *s, const struct iswitch_job *job,
    const struct control_join *join, struct control_ack *a)
{
	const struct job *j = &job->core;
	const bool begun = job_has_memory(j);
	const uint32_t has_h = job->named_h != 0 ? job->named_h : j->h;
	char has[JOB_RULE_TEXT_BYTES], expects[JOB_RULE_TEXT_BYTES];
	struct job_rule rule;
	const char *why = iswitch_rule_problem(s, join, &rule);
	uint32_t h = s->cf.job.child ? 0 : join->h, least;

	if (h == 0 && !begun && control_names_rule(&join->rule))
		h = s->cf.job.h;	/* the rule must fit the H of the
					 * switch as well */
	least = reduce_needs(begun ? &j->rule.reduce : &rule.reduce, h);
	if (why != NULL)
		iswitch_put_reason(s, a, "%s", why);
	else if (join->h > MEMBERS_MAX && h != 0)
		iswitch_put_reason(s, a, "a job has at most %d members",
		    MEMBERS_MAX);
	else if (begun && !job_rule_fits(&j->rule, &join->rule))
		iswitch_put_reason(s, a, "it has %s, and this worker expects "
		    "%s", job_rule_print(&j->rule, has),
		    job_rule_print(&rule, expects));
	else if (h != 0 && h < least)
		iswitch_put_reason(s, a, "%s needs at least %u members, and "
		    "the job has %u", job_rule_print(begun ? &j->rule : &rule,
		    has), least, h);
	else if (begun && h != 0 && h != has_h)
		iswitch_put_reason(s, a, "it has %u members, and this worker "
		    "expects %u", has_h != 0 ? has_h : j->members.present, h);
	else
		return true;
	return false;
}

static inline void
iswitch_take_named(struct iswitch *s, struct iswitch_job *job,
    const struct control_join *join)
{
	job->named_rule = join->rule;
	/* iswitch_may_name() has checked the rule */
	(void)job_rule_named(&join->rule, &s->cf.job.rule, &job->core.rule);
	job->named_h = s->cf.job.child ? 0 : join->h;
	if (job->named_h != 0)
		job->core.h = job->named_h;
}

static inline void
iswitch_forget_named(struct iswitch *s, struct iswitch_job *job)
{
	if (job->named_h != 0)
		job->core.h = job->named_h = 0;
	job->named_rule = (struct control_rule){ 0 };
	job->core.rule = s->cf.job.rule;
}

static inline struct control_rule
iswitch_rule_for_parent(const struct iswitch_job *job)
{
	struct control_rule r = job->named_rule;

	r.straggler_us = r.straggler_us > UINT32_MAX / 2 ? UINT32_MAX :
	    2 * r.straggler_us;
	return r;
}

#endif
