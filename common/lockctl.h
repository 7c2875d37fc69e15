/*
 * lockctl.h - a synchronous worker's control messages, and its sending
 *
 * With lockstep_control(), lockstep_next(), lockstep_leave() and
 * lockstep_why() the whole of lockstep.h for a caller, who signs messages
 * before they leave and judges MACs before they come in (mac.h).
 */
#ifndef INNET_LOCKCTL_H
#define INNET_LOCKCTL_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/lockstep.h"

enum { LOCKSTEP_WHY_BYTES = 200 };

/* Memory for the segments of F = floats.  False, and the end, without. */
static inline bool
lockstep_size(struct lockstep *l, uint32_t floats)
{
	const uint32_t n = seg_count(l->cf.elements, floats);

	l->given[0] = calloc(n, sizeof(**l->given));
	l->given[1] = calloc(n, sizeof(**l->given));
	l->sent_ns = calloc(n, sizeof(*l->sent_ns));
	if (l->given[0] == NULL || l->given[1] == NULL || l->sent_ns == NULL) {
		l->end = LOCKSTEP_NO_MEMORY;
		return false;
	}
	l->floats = floats;
	l->segs = n;
	return true;
}

/* The switch has let us in. */
static inline void
lockstep_enter(struct lockstep *l, const struct control_ack *a,
    uint64_t now_ns)
{
	const bool again = l->segs > 0;

	if (a->elements != l->cf.elements || a->floats == 0 ||
	    a->floats > l->cf.floats_max ||
	    (again && a->floats != l->floats) ||
	    seg_count(l->cf.elements, a->floats) > SEG_INDEX_MAX) {
		l->end = LOCKSTEP_REFUSED;
		l->status = CONTROL_BAD_VALUE;
		return;
	}
	if (!again && !lockstep_size(l, a->floats))
		return;
	l->h = a->h;
	l->whole = a->whole;
	l->members = a->members;
	l->life_ns = a->timeout_s == 0 ? LOCKSTEP_SECOND_NS :
	    (uint64_t)a->timeout_s * LOCKSTEP_SECOND_NS / 3;
	if (l->joined && seg_before(a->next, l->from))
		l->from = a->next & (SEG_ITERATIONS - 1);	/* may do so now */
	if (l->joined && !l->halted)
		return;			/* a sign of life, no more */
	if (!l->joined) {
		/* it may have lost what it had of t: all of it again */
		lockstep_begin(l);
		memset(l->given[~l->t & 1], 0, l->segs * sizeof(**l->given));
		l->got[~l->t & 1] = 0;
		l->from = a->next & (SEG_ITERATIONS - 1);
	}
	l->window = lockstep_window_first(l);
	l->slow = lockstep_window_max(l);
	l->joined = true;
	l->halted = false;
	lockstep_heard(l, now_ns);
}

static inline void
lockstep_halt(struct lockstep *l, uint64_t now_ns)
{
	if (l->halted)
		return;
	l->halted = true;
	l->timer_ns = LOCKSTEP_NEVER;
	if (!l->join_open) {
		l->join_ns = now_ns + LOCKSTEP_SECOND_NS;
		l->join_wait_ns = LOCKSTEP_SECOND_NS;
	}
}

/* The answer to a Join of ours. */
static inline void
lockstep_joined(struct lockstep *l, const struct control_ack *a,
    uint64_t now_ns)
{
	l->join_open = false;
	l->join_ns = LOCKSTEP_NEVER;
	if (a->status == CONTROL_DONE) {
		lockstep_enter(l, a, now_ns);
	} else if (a->status == CONTROL_NOT_READY) {
		lockstep_halt(l, now_ns);
		l->join_ns = now_ns + LOCKSTEP_SECOND_NS;
		l->join_wait_ns = LOCKSTEP_SECOND_NS;
	} else {
		l->end = LOCKSTEP_REFUSED;
		l->status = a->status;
	}
	l->job_next = a->next;
	l->job_elements = a->elements;
	if (l->segs == 0)
		l->floats = a->floats;	/* for lockstep_why() */
}

/* A page of the list of members. */
static inline void
lockstep_page(struct lockstep *l, const struct control_ack *a)
{
	char *p;

	if (!l->asking || a->page != l->page || a->status != CONTROL_DONE ||
	    l->text_bytes + a->text_bytes >= LOCKSTEP_TEXT_MAX)
		return;
	p = realloc(l->text, l->text_bytes + a->text_bytes + 1);
	if (p == NULL)
		return;
	l->text = p;
	memcpy(p + l->text_bytes, a->text, a->text_bytes);
	l->text_bytes += a->text_bytes;
	p[l->text_bytes] = '\0';
	l->page++;
	l->ask_ns = l->page < a->pages ? 0 : LOCKSTEP_NEVER;
}

/* A Help of ours, or a segment, came to nothing. */
static inline void
lockstep_helpless(struct lockstep *l, const struct control_ack *a,
    uint64_t now_ns)
{
	if (a->status == CONTROL_NOT_MEMBER || a->status == CONTROL_NO_JOB) {
		if (l->joined) {
			l->joined = false;
			l->timer_ns = LOCKSTEP_NEVER;
			lockstep_join(l, now_ns);
		}
	} else if (a->status == CONTROL_GONE) {
		if (l->joined && seg_split(a->seg).iteration == l->t)
			l->end = LOCKSTEP_LOST;
	} else if (a->status == CONTROL_NOT_READY) {
		lockstep_halt(l, now_ns);
	}
}

/* Do we have a gradient of iteration t to answer from? */
static inline bool
lockstep_holds(const struct lockstep *l, uint32_t t)
{
	return (t == l->t || t == seg_step(l->t, -1)) && l->have[t & 1];
}

/* The switch, or another through it, lacks a segment of ours. */
static inline void
lockstep_asked(struct lockstep *l, uint64_t word)
{
	const struct seg s = seg_split(word);
	const bool now = s.iteration == l->t;
	bool good = s.index < (now ? l->sent : l->segs) &&
	    lockstep_holds(l, s.iteration) && !lockstep_fetches(l);

	word = seg_word(s.iteration, 1, s.index);
	for (uint32_t i = l->answered; i < l->answers && good; i++)
		good = l->answer[i % LOCKSTEP_ANSWERS] != word;
	if (!good || l->answers - l->answered == LOCKSTEP_ANSWERS) {
		l->n[LOCKSTEP_HELPS_IGNORED]++;
		return;
	}
	l->answer[l->answers++ % LOCKSTEP_ANSWERS] = word;
	if (now)
		l->sent_ns[s.index] = 0;
}

static inline bool
lockstep_ack(struct lockstep *l, const struct control *c, uint64_t now_ns)
{
	struct control_ack a;

	if (!control_get_ack(c, &a))
		return false;
	if (a.action == CONTROL_HELP && c->job == 0 &&
	    a.status == CONTROL_NOT_MEMBER) {
		lockstep_helpless(l, &a, now_ns);
		return true;
	}
	if (c->job != l->cf.job)
		return false;
	if (a.action == CONTROL_JOIN && l->join_open &&
	    c->xid == l->join_xid)
		lockstep_joined(l, &a, now_ns);
	else if (a.action == CONTROL_HELP)
		lockstep_helpless(l, &a, now_ns);
	else if (a.action == CONTROL_LEAVE && l->leaving &&
	    c->xid == l->leave_xid)
		l->end = LOCKSTEP_LEFT;
	else if (a.action == CONTROL_MEMBERS && c->xid == l->ask_xid)
		lockstep_page(l, &a);
	else
		return false;
	return true;
}

/* A control message from the switch, its MAC judged good. */
static inline void
lockstep_control(struct lockstep *l, const struct control *c, uint64_t now_ns)
{
	bool known = c->job == l->cf.job;
	uint64_t word;

	if (c->action == CONTROL_ACK)
		known = lockstep_ack(l, c, now_ns);
	else if (known && c->action == CONTROL_HELP &&
	    control_get_number(c, 8, &word))
		lockstep_asked(l, word);
	else if (known && c->action == CONTROL_HALT)
		lockstep_halt(l, now_ns);
	else if (known && c->action == CONTROL_RESUME && l->halted) {
		l->halted = false;
		if (l->joined && !l->join_open)
			l->join_ns = LOCKSTEP_NEVER;
		lockstep_heard(l, now_ns);
	} else if (known && c->action == CONTROL_RESET)
		l->end = LOCKSTEP_RESET;
	else
		known = false;
	if (!known)
		l->n[LOCKSTEP_CONTROL_IGNORED]++;
}

/* It is over: say so to the switch, and be let go. */
static inline void
lockstep_leave(struct lockstep *l, uint64_t now_ns)
{
	if (l->end != LOCKSTEP_GOING || l->leaving)
		return;
	if (!l->joined)
		l->end = LOCKSTEP_LEFT;
	l->leaving = true;
	l->join_open = false;
	l->join_ns = LOCKSTEP_NEVER;
	l->leave_ns = now_ns;
}

/* A message of one number, or of none; it is the next thing to be sent. */
static inline bool
lockstep_say(struct lockstep *l, struct lockstep_out *o,
    enum control_action action, uint32_t xid, uint64_t number, size_t bytes,
    uint64_t now_ns)
{
	uint8_t *p = control_put(o->message, (uint8_t)action, l->cf.job, xid);

	o->count = 0;
	o->len = (size_t)(wire_put(p, number, bytes) - o->message);
	l->said_ns = now_ns;
	return true;
}

static inline bool
lockstep_say_join(struct lockstep *l, struct lockstep_out *o, uint64_t now_ns)
{
	const struct control_join j = { .type = CONTROL_WORKER,
	    .cluster = l->cf.cluster, .worker = l->cf.worker,
	    .elements = l->cf.elements, .floats = l->segs > 0 ?
	    (uint16_t)l->floats : l->cf.floats, .next = l->t,
	    .crc = l->t == (l->cf.next & (SEG_ITERATIONS - 1)) ?
	    l->cf.crc : 0, .again = l->have[(l->t + 1) & 1] };
	uint8_t *p;

	if (!l->join_open) {
		l->join_open = true;
		l->join_xid = l->xid++;
		l->join_since_ns = now_ns;
	} else if (l->xid != l->join_xid + 1) {
		l->join_xid = l->xid++;	/* another request went between */
	}
	p = control_put(o->message, CONTROL_JOIN, l->cf.job, l->join_xid);
	o->count = 0;
	o->len = (size_t)(control_put_join(p, &j) - o->message);
	l->said_ns = l->joined_ns = now_ns;
	l->join_ns = now_ns + l->join_wait_ns;
	l->join_wait_ns = l->join_wait_ns * 2 > LOCKSTEP_SECOND_NS ?
	    LOCKSTEP_SECOND_NS : l->join_wait_ns * 2;
	l->n[LOCKSTEP_JOINS]++;
	return true;
}

static inline bool
lockstep_say_leave(struct lockstep *l, struct lockstep_out *o,
    uint64_t now_ns)
{
	if (l->end != LOCKSTEP_GOING || now_ns < l->leave_ns)
		return false;
	if (l->leaves++ == 0)
		l->leave_xid = l->xid++;
	if (l->leaves > LOCKSTEP_LEAVES) {
		l->end = LOCKSTEP_LEFT;	/* it will miss us in time */
		return false;
	}
	l->leave_ns = now_ns + ((uint64_t)10000000 << l->leaves);
	return lockstep_say(l, o, CONTROL_LEAVE, l->leave_xid, 0, 0, now_ns);
}

static inline bool
lockstep_say_help(struct lockstep *l, struct lockstep_out *o, uint32_t index,
    uint64_t now_ns)
{
	l->sent_ns[index] = 0;
	l->n[LOCKSTEP_HELPS_SENT]++;
	return lockstep_say(l, o, CONTROL_HELP, l->xid++,
	    seg_word(l->t, 0, index), 8, now_ns);
}

/* Segments that were asked for, as many in a run as follow each other. */
static inline bool
lockstep_answer(struct lockstep *l, struct lockstep_out *o, uint64_t now_ns)
{
	uint64_t word = 0;

	o->count = 0;
	o->again = true;
	while (l->answered < l->answers && (o->count == 0 ||
	    l->answer[l->answered % LOCKSTEP_ANSWERS] == word)) {
		word = l->answer[l->answered++ % LOCKSTEP_ANSWERS];
		if (!lockstep_holds(l, seg_split(word).iteration))
			continue;	/* not any more */
		if (o->count++ == 0) {
			o->iteration = seg_split(word).iteration;
			o->first = seg_split(word).index;
		}
		word++;
	}
	l->n[LOCKSTEP_HELPS_ANSWERED] += o->count;
	l->n[LOCKSTEP_RETRANSMITTED] += o->count;
	if (o->count > 0)
		l->said_ns = now_ns;
	return o->count > 0;
}

/* The next of the vector, as far as the window lets them. */
static inline bool
lockstep_run(struct lockstep *l, struct lockstep_out *o, uint64_t now_ns)
{
	const uint16_t *given = l->given[l->t & 1];
	const uint32_t most = l->cf.run_bytes /
	    (uint32_t)lockstep_segment_bytes(l);

	for (; l->sent < l->segs && given[l->sent] != 0; l->sent++)
		l->skipped++;
	o->iteration = l->t;
	o->first = l->sent;
	o->count = 0;
	o->again = false;
	while (l->sent < l->segs && (l->whole ||
	    l->flight < l->window + l->spare) && given[l->sent] == 0 && (o->count == 0 || o->count < most)) {
		l->sent_ns[l->sent++] = now_ns;
		l->flight++;
		o->count++;
	}
	if (o->count == 0)
		return false;
	if (o->first == l->skipped)
		l->first_ns = now_ns;
	l->n[LOCKSTEP_SEGMENTS] += o->count;
	l->said_ns = now_ns;
	if (l->timer_ns == LOCKSTEP_NEVER)
		lockstep_arm(l, now_ns);
	return true;
}

/* There was no room for the last n of a run: they are to be sent still. */
static inline void
lockstep_unsent(struct lockstep *l, const struct lockstep_out *o, uint32_t n)
{
	if (!o->again) {
		l->sent -= n;
		l->flight -= n;
		l->n[LOCKSTEP_SEGMENTS] -= n;
		return;
	}
	l->n[LOCKSTEP_HELPS_ANSWERED] -= n;
	l->n[LOCKSTEP_RETRANSMITTED] -= n;
	for (uint32_t k = 1; k <= n; k++)
		l->answer[--l->answered % LOCKSTEP_ANSWERS] = seg_word(
		    o->iteration, 1, o->first + o->count - k);
}

/* The next Help for a vector that we may not add to. */
static inline bool
lockstep_fetch(struct lockstep *l, struct lockstep_out *o, uint64_t now_ns)
{
	l->sent = lockstep_missing(l, l->sent);
	if (l->sent >= l->segs || l->flight >= l->window + l->spare)
		return false;
	l->flight++;
	l->sent++;
	lockstep_say_help(l, o, l->sent - 1, now_ns);
	if (l->timer_ns == LOCKSTEP_NEVER)
		lockstep_arm(l, now_ns);
	return true;
}

/* What is to be sent next; false if nothing is for now, or it is the end. */
static inline bool
lockstep_next(struct lockstep *l, uint64_t now_ns, struct lockstep_out *o)
{
	lockstep_fire(l, now_ns);
	if (l->end != LOCKSTEP_GOING)
		return false;
	if (l->leaving)
		return lockstep_say_leave(l, o, now_ns);
	if (now_ns >= l->join_ns)
		return lockstep_say_join(l, o, now_ns);
	if (!l->joined || l->halted)
		return false;
	if (lockstep_answer(l, o, now_ns))
		return true;
	while (l->asked < l->asks) {
		const uint32_t i = l->ask[l->asked++ % LOCKSTEP_ASKS];

		if (l->given[l->t & 1][i] == 0)
			return lockstep_say_help(l, o, i, now_ns);
	}
	if (l->asking && now_ns >= l->ask_ns) {
		l->ask_ns = now_ns + LOCKSTEP_ASK_NS / 8;
		l->ask_xid = l->xid++;
		return lockstep_say(l, o, CONTROL_MEMBERS, l->ask_xid,
		    l->page, 2, now_ns);
	}
	if (lockstep_fetches(l))
		return lockstep_fetch(l, o, now_ns);
	return l->have[l->t & 1] && lockstep_run(l, o, now_ns);
}

/* Why the switch did not let us in. */
static inline void
lockstep_why_refused(const struct lockstep *l,
    char text[LOCKSTEP_WHY_BYTES])
{
	switch (l->status) {
	case CONTROL_REFUSED:
	case CONTROL_GONE:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: refused: it does "
		    "not go on from iteration %" PRIu32 " with these weights;"
		    " restore those of iteration %" PRIu32, l->cf.job, l->t,
		    l->job_next);
		break;
	case CONTROL_BAD_VALUE:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: refused: it has "
		    "%" PRIu32 " elements, %" PRIu32 " a segment; this is a "
		    "vector of %" PRIu32, l->cf.job, l->job_elements,
		    l->floats, l->cf.elements);
		break;
	default:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: refused: %s",
		    l->cf.job, control_status_text(l->status));
	}
}

/* What ended it, in words to follow the switch's name; text, or "". */
static inline const char *
lockstep_why(const struct lockstep *l, char text[LOCKSTEP_WHY_BYTES])
{
	const double patience = (double)l->cf.give_up_ns / 1e9;

	text[0] = '\0';
	switch (l->end) {
	case LOCKSTEP_REFUSED:
		lockstep_why_refused(l, text);
		break;
	case LOCKSTEP_UNANSWERED:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: no answer to Join "
		    "in %.1f s; is a switch there?", l->cf.job, patience);
		break;
	case LOCKSTEP_STUCK:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: no result for "
		    "segment %" PRIu32 " of iteration %" PRIu32 " in %.1f s",
		    l->cf.job, l->oldest, l->t, patience);
		break;
	case LOCKSTEP_LOST:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: the result of "
		    "iteration %" PRIu32 " is kept no more; restore the "
		    "weights of iteration %" PRIu32, l->cf.job, l->t,
		    seg_before(l->t, l->seen) ? seg_step(l->seen, 1) :
		    seg_step(l->t, 1));
		break;
	case LOCKSTEP_RESET:
		snprintf(text, LOCKSTEP_WHY_BYTES, "job %u: was reset",
		    l->cf.job);
		break;
	case LOCKSTEP_NO_MEMORY:
		snprintf(text, LOCKSTEP_WHY_BYTES, "no memory for %" PRIu32
		    " elements", l->cf.elements);
		break;
	default: break;
	}
	return text;
}

#endif
