/*
 * sync-worker-control.h - how a synchronous worker processes control messages
 * and sends packets
 *
 * This file and sync-worker.h are the interface of a synchronous worker.  All
 * messages go through the secure channel of the caller (channel-client.h).
 */
#ifndef INNET_ISWITCH_SYNC_WORKER_CONTROL_H
#define INNET_ISWITCH_SYNC_WORKER_CONTROL_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/send-limits.h"
#include "common/iswitch/membership.h"
#include "common/iswitch/sync-worker.h"

enum { SYNC_WORKER_WHY_BYTES = MEMBERSHIP_WHY_BYTES };

/* Process a control message from the switch that the channel has accepted. */
static inline void sync_worker_receive_control(struct sync_worker *l,
    const struct control *c, uint64_t now_ns);

/*
 * Store the next packet or run to send in *o.  Returns false if there is
 * nothing to send now or if the worker has ended.
 */
static inline bool sync_worker_next(struct sync_worker *l, uint64_t now_ns,
    struct sync_worker_out *o);

/*
 * Put the last n segments of run o back into the queue, because the socket had
 * no room for them.
 */
static inline void sync_worker_unsent(struct sync_worker *l,
    const struct sync_worker_out *o, uint32_t n);

/*
 * Leave the job.  After this call, sync_worker_next() writes the Leave
 * messages.
 */
static inline void sync_worker_leave(struct sync_worker *l, uint64_t now_ns);

/*
 * Write to `text` the reason why the worker ended, as a phrase for a message
 * after the name of the switch.  Returns `text`, which may be empty.
 */
static inline const char *sync_worker_why(const struct sync_worker *l,
    char text[SYNC_WORKER_WHY_BYTES]);

/* implementation */

/*
 * Allocate memory for the segments of the job.  If there is no memory, the
 * worker ends.
 */
static inline bool
sync_worker_allocate(struct sync_worker *l)
{
	const uint32_t n = l->in.segs;

	l->given[0] = calloc(n, sizeof(**l->given));
	l->given[1] = calloc(n, sizeof(**l->given));
	l->sent_ns = calloc(n, sizeof(*l->sent_ns));
	if (l->given[0] == NULL || l->given[1] == NULL || l->sent_ns == NULL) {
		l->end = SYNC_WORKER_NO_MEMORY;
		return false;
	}
	l->floats = l->in.floats;
	l->segs = n;
	return true;
}

/*
 * Enter the job, because the switch has accepted our Join.  The switch may have
 * lost our segments of iteration t, so all of them are sent again.
 */
static inline void
sync_worker_enter_job(struct sync_worker *l)
{
	if (l->segs == 0 && !sync_worker_allocate(l))
		return;
	l->repairs = l->in.repairs;
	if (l->cf.ring && (!l->repairs || l->in.whole)) {
		l->end = SYNC_WORKER_NO_RING;
		return;
	}
	if (l->repairs && !retransmit_init(&l->retransmit, l->segs, false)) {
		l->end = SYNC_WORKER_NO_MEMORY;
		return;
	}
	l->retransmit.fills = l->cf.ring;
	l->t = sync_worker_iteration(l);	/* this is the iteration in our
						 * Join */
	l->redo = false;
	sync_worker_clear_iteration(l);
	memset(l->given[~l->t & 1], 0, l->segs * sizeof(**l->given));
	l->got[~l->t & 1] = 0;
	l->from = l->in.job_next & (SEG_ITERATIONS - 1);
}

/* Copy the values of the job from the membership. */
static inline void
sync_worker_update_values(struct sync_worker *l, uint64_t now_ns)
{
	l->h = l->in.h;
	if (seg_before(l->in.job_next, l->from))	/* from now on the
							 * worker may
							 * contribute */
		l->from = l->in.job_next & (SEG_ITERATIONS - 1);
	if (l->cf.ring)
		sync_worker_ready_filled(l, now_ns);
	else if (l->repairs && l->have[l->t & 1] && !sync_worker_fetches(l))
		retransmit_ready_all(&l->retransmit);
}

/* Start to send, after the worker has joined or a halt has ended. */
static inline void
sync_worker_resume(struct sync_worker *l, uint64_t now_ns)
{
	l->window = sync_worker_window_first(l);
	l->slow = sync_worker_window_max(l);
	l->retransmit.unbound = l->in.whole;
	if (l->in.whole)	/* a server answers only whole vectors */
		send_limits_set(&l->retransmit.limit, l->segs, l->segs);
	else
		send_limits_set(&l->retransmit.limit, l->window, l->slow);
	l->retransmit.span = l->in.span;
	if (l->retransmit.rtt.srtt_ns == 0 && l->in.rtt_ns > 0)
		retransmit_sample(&l->retransmit, l->in.rtt_ns);
	sync_worker_note_progress(l, now_ns);
}

/* Append a page that has arrived to the list of members. */
static inline void
sync_worker_receive_page(struct sync_worker *l, const struct control_ack *a)
{
	char *p;

	if (!l->asking || a->page != l->page || a->status != CONTROL_DONE ||
	    l->text_bytes + a->text_bytes >= SYNC_WORKER_TEXT_MAX)
		return;
	p = realloc(l->text, l->text_bytes + a->text_bytes + 1);
	if (p == NULL)
		return;
	l->text = p;
	memcpy(p + l->text_bytes, a->text, a->text_bytes);
	l->text_bytes += a->text_bytes;
	p[l->text_bytes] = '\0';
	l->page++;
	l->ask_ns = l->page < a->pages ? 0 : SYNC_WORKER_NEVER;
}

/*
 * Tell whether the caller still keeps the gradient of iteration t.  While the
 * worker contributes to t again, the caller has replaced the gradient before.
 */
static inline bool
sync_worker_holds(const struct sync_worker *l, uint32_t t)
{
	return (t == l->t || (!l->redo && t == seg_step(l->t, -1))) &&
	    l->have[t & 1];
}

/*
 * Queue one of our segments to be sent again, because the switch lacks the
 * segment, or because another worker lacks its result.
 */
static inline void
sync_worker_receive_help(struct sync_worker *l, const struct seg *s)
{
	const uint64_t word = seg_word(s->iteration, 1, s->index);
	const bool now = s->iteration == l->t;
	bool good = s->index < (now ? l->sent : l->segs) &&
	    sync_worker_holds(l, s->iteration) && !sync_worker_fetches(l);

	for (uint32_t i = l->answered; i < l->answers && good; i++)
		good = l->answer[i % SYNC_WORKER_ANSWERS] != word;
	if (!good || l->answers - l->answered == SYNC_WORKER_ANSWERS) {
		l->n[SYNC_WORKER_HELPS_IGNORED]++;
		return;
	}
	l->answer[l->answers++ % SYNC_WORKER_ANSWERS] = word;
	if (now)
		l->sent_ns[s->index] = 0;
}

/*
 * Handle the message that the switch no longer keeps the result of segment i of
 * t.  If there are fewer slots than segments and all members must contribute,
 * no worker can finish t before we do.  In that case start t again.
 */
static inline void
sync_worker_receive_lost(struct sync_worker *l, uint32_t i, uint64_t now_ns)
{
	const bool bounded = l->in.span != 0;

	if (l->redo && (!bounded || i >= l->segs)) {
		sync_worker_finish_redo(l, now_ns);	/* every worker has the
							 * results of this
							 * iteration */
	} else if (!sync_worker_lacks(l, i)) {
		;		/* this message answers an old request */
	} else if (l->redo) {
		l->given[l->t & 1][i] = 1;	/* every worker has the result
						 * of this segment */
		l->got[l->t & 1]++;
		sync_worker_repair_result(l, i, now_ns);
		if (sync_worker_is_whole(l))
			sync_worker_finish_redo(l, now_ns);
	} else if (bounded && l->in.h >= l->in.members) {
		membership_rejoin(&l->in, now_ns);
		l->timer_ns = SYNC_WORKER_NEVER;
	} else {
		l->end = SYNC_WORKER_LOST;
	}
}

/* Act on a change of the membership. */
static inline void
sync_worker_apply_news(struct sync_worker *l, enum membership_news news,
    uint64_t now_ns)
{
	switch (news) {
	case MEMBERSHIP_IN:
		if (sync_worker_iteration(l) != l->in.first_next) {
			/* a result has arrived since that Join, so the job may
			 * begin with a gradient that we no longer have */
			membership_rejoin(&l->in, now_ns);
			l->timer_ns = SYNC_WORKER_NEVER;
			break;
		}
		sync_worker_enter_job(l);
		if (l->end != SYNC_WORKER_GOING)
			break;
		sync_worker_update_values(l, now_ns);
		sync_worker_start_repair(l, now_ns);
		sync_worker_resume(l, now_ns);
		break;
	case MEMBERSHIP_STAYS:
		sync_worker_update_values(l, now_ns);
		if (l->timer_ns == SYNC_WORKER_NEVER)
			sync_worker_arm_timer(l, now_ns);
		break;
	case MEMBERSHIP_RESUMED:
		sync_worker_update_values(l, now_ns);
		sync_worker_resume(l, now_ns);
		break;
	case MEMBERSHIP_ASKED: sync_worker_receive_help(l, &l->in.seg); break;
	case MEMBERSHIP_LOST:
		if (l->in.seg.iteration == l->t)
			sync_worker_receive_lost(l, l->in.seg.index, now_ns);
		break;
	case MEMBERSHIP_SHORT:
		l->is_short = true;
		sync_worker_leave(l, now_ns);
		break;
	case MEMBERSHIP_OUT:
	case MEMBERSHIP_HALTED:
		l->timer_ns = SYNC_WORKER_NEVER;
		break;
	case MEMBERSHIP_NOTHING:
	case MEMBERSHIP_IGNORED:
	case MEMBERSHIP_ENDED: break;
	}
}

/*
 * STATE c answers a Probe.  Discard each result that had arrived before this
 * Probe was sent if, according to c, the switch lacks the segment of the
 * result.  Such results are late packets of an earlier instance of the job.
 */
static inline void
sync_worker_take_back_results(struct sync_worker *l, const struct control *c)
{
	const uint32_t way = l->t & 1;
	struct repair_state st;

	if (!repair_is_state(c) || !repair_get_state(c, &st) ||
	    st.iteration != l->retransmit.iteration)
		return;
	for (uint32_t i = st.lacks.base;
	    i < l->segs && i < st.lacks.base + 8 * st.lacks.bytes; i++) {
		if (!repair_lacks(&st.lacks, i) ||
		    !retransmit_take_back(&l->retransmit, i, c->xid))
			continue;
		l->given[way][i] = 0;
		l->got[way]--;
		l->oldest = i < l->oldest ? i : l->oldest;
	}
}

/* Process message c if it is a STATE or a NACK. */
static inline bool
sync_worker_receive_repair(struct sync_worker *l, const struct control *c,
    uint64_t now_ns)
{
	bool behind = false;

	if (!l->repairs || c->job != l->in.cf.job ||
	    !retransmit_receive(&l->retransmit, c, c->xid, &behind, now_ns))
		return false;
	if (behind)
		sync_worker_go_back(l, now_ns);
	else
		sync_worker_take_back_results(l, c);
	return true;
}

static inline void
sync_worker_receive_control(struct sync_worker *l, const struct control *c,
    uint64_t now_ns)
{
	struct control_ack a;

	if (l->asking && c->action == CONTROL_ACK && c->job == l->in.cf.job &&
	    c->xid == l->ask_xid && control_get_ack(c, &a) &&
	    a.action == CONTROL_MEMBERS)
		sync_worker_receive_page(l, &a);
	else if (!sync_worker_receive_repair(l, c, now_ns))
		sync_worker_apply_news(l, membership_receive(&l->in, c, now_ns),
		    now_ns);
}

static inline void
sync_worker_leave(struct sync_worker *l, uint64_t now_ns)
{
	if (l->end == SYNC_WORKER_GOING)
		membership_leave(&l->in, now_ns);
}

/* Write a control message whose body is one number. */
static inline bool
sync_worker_put_number(struct sync_worker *l, struct sync_worker_out *o,
    enum control_action action, uint32_t xid, uint64_t number, size_t bytes,
    uint64_t now_ns)
{
	uint8_t *p = control_put(o->message, (uint8_t)action, l->in.cf.job,
	    xid);

	o->count = 0;
	o->len = (size_t)(bytes_put(p, number, bytes) - o->message);
	membership_note_sent(&l->in, now_ns);
	return true;
}

/* Write a Join or a Leave, if one is due. */
static inline bool
sync_worker_put_membership(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	const uint32_t next = sync_worker_iteration(l);
	const bool first = next == (l->cf.next & (SEG_ITERATIONS - 1));
	const struct membership_place at = { .next = next,
	    .crc = first ? l->cf.crc : 0, .again = l->have[(next + 1) & 1] };
	const size_t len = membership_next(&l->in, now_ns, &at, o->message);

	if (len == 0)
		return false;
	o->count = 0;
	o->len = len;
	return true;
}

static inline bool
sync_worker_put_help(struct sync_worker *l, struct sync_worker_out *o,
    uint32_t index,
    uint64_t now_ns)
{
	l->sent_ns[index] = 0;
	l->n[SYNC_WORKER_HELPS_SENT]++;
	return sync_worker_put_number(l, o, CONTROL_HELP,
	    membership_xid(&l->in), seg_word(l->t, 0, index), 8, now_ns);
}

/* Store in *o a run of segments that were requested with Helps. */
static inline bool
sync_worker_answer_help(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	uint64_t word = 0;

	o->count = 0;
	o->again = true;
	o->repaired = false;
	while (l->answered < l->answers && (o->count == 0 ||
	    l->answer[l->answered % SYNC_WORKER_ANSWERS] == word)) {
		word = l->answer[l->answered++ % SYNC_WORKER_ANSWERS];
		if (!sync_worker_holds(l, seg_split(word).iteration))
			continue;	/* the caller no longer keeps the
					 * gradient */
		if (o->count++ == 0) {
			o->iteration = seg_split(word).iteration;
			o->first = seg_split(word).index;
		}
		word++;
	}
	l->n[SYNC_WORKER_HELPS_ANSWERED] += o->count;
	l->n[SYNC_WORKER_RETRANSMITTED] += o->count;
	if (o->count > 0)
		membership_note_sent(&l->in, now_ns);
	return o->count > 0;
}

/*
 * Store in *o the next run of segments of the gradient that the window allows.
 */
static inline bool
sync_worker_next_run(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	const uint16_t *given = l->given[l->t & 1];
	const uint32_t most = l->cf.run_bytes /
	    (uint32_t)sync_worker_segment_bytes(l);

	for (; l->sent < l->segs && given[l->sent] != 0; l->sent++)
		l->skipped++;
	o->iteration = l->t;
	o->first = l->sent;
	o->count = 0;
	o->again = o->repaired = false;
	while (l->sent < l->segs && given[l->sent] == 0 &&
	    (l->in.span == 0 ||
	    l->sent - sync_worker_find_missing(l, 0) < l->in.span) &&
	    (l->in.whole || l->flight < l->window + l->spare) &&
	    (o->count == 0 || o->count < most)) {
		l->sent_ns[l->sent++] = now_ns;
		l->flight++;
		o->count++;
	}
	if (o->count == 0)
		return false;
	if (o->first == l->skipped)
		l->first_ns = now_ns;
	l->n[SYNC_WORKER_SEGMENTS] += o->count;
	membership_note_sent(&l->in, now_ns);
	if (l->timer_ns == SYNC_WORKER_NEVER)
		sync_worker_arm_timer(l, now_ns);
	return true;
}

/* Store in *o a run from the retransmission queue. */
static inline bool
sync_worker_next_repair_run(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	const uint32_t most = l->cf.run_bytes /
	    (uint32_t)sync_worker_segment_bytes(l);
	struct retransmit *m = &l->retransmit;

	o->iteration = l->t;
	o->repaired = true;
	o->count = retransmit_next_run(m, most, &o->first, &o->again, now_ns);
	l->sent = m->upto;
	if (o->count == 0)
		return false;
	if (l->first_ns == 0)
		l->first_ns = now_ns;
	membership_note_sent(&l->in, now_ns);
	return true;
}

/* Write a Probe, if one is due. */
static inline bool
sync_worker_put_probe(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	uint8_t room[REPAIR_BITMAP_BYTES];
	struct repair_help h;
	uint32_t xid;

	if (!retransmit_probe_is_due(&l->retransmit, now_ns))
		return false;
	xid = membership_xid(&l->in);
	retransmit_fill_probe(&l->retransmit, xid, &h, room, now_ns);
	o->count = 0;
	o->len = repair_write_help(o->message, l->in.cf.job, xid, &h);
	membership_note_sent(&l->in, now_ns);
	return true;
}

static inline void
sync_worker_unsent(struct sync_worker *l, const struct sync_worker_out *o,
    uint32_t n)
{
	if (o->repaired) {
		retransmit_unsent(
		    &l->retransmit, o->first, o->count, n, o->again);
		return;
	}
	if (!o->again) {
		l->sent -= n;
		l->flight -= n;
		l->n[SYNC_WORKER_SEGMENTS] -= n;
		return;
	}
	l->n[SYNC_WORKER_HELPS_ANSWERED] -= n;
	l->n[SYNC_WORKER_RETRANSMITTED] -= n;
	for (uint32_t k = 1; k <= n; k++)
		l->answer[--l->answered % SYNC_WORKER_ANSWERS] = seg_word(
		    o->iteration, 1, o->first + o->count - k);
}

/* Write the next Help for an iteration to which we may not contribute. */
static inline bool
sync_worker_fetch_next(struct sync_worker *l, struct sync_worker_out *o,
    uint64_t now_ns)
{
	l->sent = sync_worker_find_missing(l, l->sent);
	if (l->sent >= l->segs || l->flight >= l->window + l->spare)
		return false;
	l->flight++;
	l->sent++;
	sync_worker_put_help(l, o, l->sent - 1, now_ns);
	if (l->timer_ns == SYNC_WORKER_NEVER)
		sync_worker_arm_timer(l, now_ns);
	return true;
}

static inline bool
sync_worker_next(struct sync_worker *l, uint64_t now_ns,
    struct sync_worker_out *o)
{
	sync_worker_run_timers(l, now_ns);
	if (l->end != SYNC_WORKER_GOING)
		return false;
	if (sync_worker_put_membership(l, o, now_ns))
		return true;
	if (!membership_works(&l->in))
		return false;
	if (sync_worker_answer_help(l, o, now_ns))
		return true;
	while (l->asked < l->asks) {
		const uint32_t i = l->ask[l->asked++ % SYNC_WORKER_ASKS];

		if (l->given[l->t & 1][i] == 0)
			return sync_worker_put_help(l, o, i, now_ns);
	}
	if (l->asking && now_ns >= l->ask_ns) {
		l->ask_ns = now_ns + SYNC_WORKER_ASK_NS / 8;
		l->ask_xid = membership_xid(&l->in);
		return sync_worker_put_number(l, o, CONTROL_MEMBERS, l->ask_xid,
		    l->page, 2, now_ns);
	}
	if (l->repairs)
		return sync_worker_next_repair_run(l, o, now_ns) ||
		    sync_worker_put_probe(l, o, now_ns);
	if (sync_worker_fetches(l))
		return sync_worker_fetch_next(l, o, now_ns);
	return l->have[l->t & 1] && sync_worker_next_run(l, o, now_ns);
}

/* Write which member has left. */
static inline void
sync_worker_explain_short(const struct sync_worker *l,
    char text[SYNC_WORKER_WHY_BYTES])
{
	static const char *const type[] = { [CONTROL_WORKER] = "worker",
	    [CONTROL_SWITCH] = "switch", [CONTROL_SERVER] = "server" };
	const struct control_left *left = &l->in.left;
	const union addr at = addr_of_bytes(left->address, left->port);
	char name[ADDR_NAME_BYTES];

	snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: %s %" PRIu32 " (%s) %s "
	    "%.1f s ago, and %u of %u members remain", l->in.cf.job,
	    type[left->type], left->worker, addr_print(&at, name),
	    left->evicted ? "fell silent and was removed" : "left",
	    left->ago_ms / 1e3, left->members, left->h);
}

static inline const char *
sync_worker_why(const struct sync_worker *l, char text[SYNC_WORKER_WHY_BYTES])
{
	const uint16_t job = l->in.cf.job;

	switch (l->end) {
	case SYNC_WORKER_GOING:
		if (l->is_short)
			sync_worker_explain_short(l, text);
		else
			membership_why(&l->in, text);
		break;
	case SYNC_WORKER_STUCK:
		snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: no result for "
		    "segment %" PRIu32 " of iteration %" PRIu32 " in %.1f s",
		    job, l->oldest, l->t, (double)l->in.cf.give_up_ns / 1e9);
		break;
	case SYNC_WORKER_LOST:
		if (l->cf.ring) {
			snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: the "
			    "switch no longer keeps the results of turn %"
			    PRIu32 " of the ring; restart all workers", job,
			    l->t);
			break;
		}
		snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: the switch no "
		    "longer keeps the result of iteration %" PRIu32 "; restore "
		    "the weights of iteration %" PRIu32, job, l->t,
		    seg_before(l->t, l->seen) ? seg_step(l->seen, 1) :
		    seg_step(l->t, 1));
		break;
	case SYNC_WORKER_NO_RING:
		snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: a ring needs a "
		    "switch that answers Probes, and not a server; the switch "
		    "is too old, or --memory is too small", job);
		break;
	case SYNC_WORKER_NO_MEMORY:
		snprintf(text, SYNC_WORKER_WHY_BYTES, "job %u: no memory for %"
		    PRIu32 " elements", job, l->in.cf.elements);
		break;
	}
	return text;
}

#endif
