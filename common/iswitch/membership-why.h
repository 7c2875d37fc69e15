/*
 * membership-why.h - why a member's standing has ended, in words
 *
 * What is wrong and what to type, for the user of a worker or a switch.
 */
#ifndef INNET_ISWITCH_MEMBERSHIP_WHY_H
#define INNET_ISWITCH_MEMBERSHIP_WHY_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "common/iswitch/membership.h"

/* The switch sums in the other mode. */
static inline void
membership_why_mode(const struct membership *m, char *p, size_t room)
{
	static const char *const start[][2] = {
		[CONTROL_WORKER] = { "worker without --async",
		    "worker with --async" },
		[CONTROL_SWITCH] = { "switch without --async",
		    "switch with --async" },
		[CONTROL_SERVER] = { "ps without --async", "ps with --async" }
	};

	snprintf(p, room, "the %s sums %ssynchronously; start innet-%s",
	    m->whole ? "server" : "switch", m->job_async ? "a" : "",
	    start[m->cf.type][m->job_async]);
}

/* What the job has that we have not: the end of "refused: ". */
static inline void
membership_why_value(const struct membership *m, char *p, size_t room)
{
	const uint32_t floats = m->segs > 0 ? m->floats :
	    m->cf.floats > 0 ? m->cf.floats : m->cf.floats_max;

	if (m->job_async != m->cf.async)
		membership_why_mode(m, p, room);
	else if (m->job_elements == 0)
		snprintf(p, room, "it takes no vector of %" PRIu32
		    " elements, %" PRIu32 " a segment", m->cf.elements,
		    floats);
	else if (m->job_elements != m->cf.elements)
		snprintf(p, room, "it has %" PRIu32 " elements, %" PRIu32
		    " a segment; this is a vector of %" PRIu32,
		    m->job_elements, m->job_floats, m->cf.elements);
	else if (m->job_floats != floats)
		snprintf(p, room, "it has %" PRIu32 " floats a segment, not "
		    "%" PRIu32, m->job_floats, floats);
	else
		snprintf(p, room, "%s", control_status_text(m->status));
}

/* What ended it, in words to follow the switch's name; why. */
static inline const char *
membership_why(const struct membership *m, char why[MEMBERSHIP_WHY_BYTES])
{
	int n = snprintf(why, MEMBERSHIP_WHY_BYTES, "job %u: %s", m->cf.job,
	    m->end == MEMBERSHIP_REFUSED ? "refused: " : "");
	const size_t room = MEMBERSHIP_WHY_BYTES - (size_t)n;
	char *p = why + n, name[ADDR_NAME_BYTES];

	if (m->end == MEMBERSHIP_RESET)
		snprintf(p, room, "was reset: begin again");
	else if (m->end == MEMBERSHIP_KEYED)
		snprintf(p, room, "%s; give both the same --key", m->doubt ==
		    MEMBERSHIP_UNSEALED ? "its answers are not sealed" :
		    "it has another key");
	else if (m->end == MEMBERSHIP_FORM)
		snprintf(p, room, "it sends data %s proofs; give both the "
		    "same --auth, and --key or none", m->cf.tagged ?
		    "without" : "with");
	else if (m->end == MEMBERSHIP_UNANSWERED && m->orphan)
		snprintf(p, room, "its parent %s has not answered it for %.1f "
		    "s; start that", m->said, (double)m->cf.give_up_ns / 1e9);
	else if (m->end == MEMBERSHIP_UNANSWERED)
		snprintf(p, room, "no answer to a Join after %.1f s; is a "
		    "switch there?", (double)m->cf.give_up_ns / 1e9);
	else if (m->end != MEMBERSHIP_REFUSED)
		why[0] = '\0';
	else if (m->status == CONTROL_BAD_VALUE)
		membership_why_value(m, p, room);
	else if (m->status == CONTROL_BAD_MAC)
		snprintf(p, room, "it takes sealed messages only; give the "
		    "--key that it has");
	else if (m->status == CONTROL_UNKNOWN && m->said[0] != '\0')
		snprintf(p, room, "it runs program %s, and this is iswitch: "
		    "give both the same --program", m->said);
	else if (m->status == CONTROL_REFUSED && m->said[0] != '\0')
		snprintf(p, room, "%s", m->said);
	else if (m->status == CONTROL_REFUSED && m->join_next == 0 &&
	    m->job_next == 0)
		snprintf(p, room, "others began with other weights; give all "
		    "the same seed for these");
	else if (m->status == CONTROL_REFUSED || m->status == CONTROL_GONE)
		snprintf(p, room, "it does not go on from iteration %" PRIu32
		    " with these weights; restore those of iteration %" PRIu32,
		    m->join_next, m->job_next);
	else if (m->status == CONTROL_TAKEN)
		snprintf(p, room, "%s %" PRIu32 " is also that of %s, which "
		    "came later; give each its own", m->cf.type ==
		    CONTROL_WORKER ? "--worker" : "--number", m->cf.number,
		    addr_print(&m->holder, name));
	else
		snprintf(p, room, "%s%s%s", control_status_text(m->status),
		    m->said[0] == '\0' ? "" : ": ", m->said);
	return why;
}

#endif
