/*
 * Workers out of step: iSwitch's Algorithm 1, and those of a parameter server
 * (its Figure 3): train.h.
 *
 * LGC computes, and commits what is not too stale; LWU sends it, takes rounds
 * and updates weights beside that, one thing at a time.  With a server, LGC
 * waits for the answer to its last gradient before it computes the next.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/train.h"

void
train_async_open(struct train_worker *w, const struct membership_conf *in)
{
	struct train_async *a = &w->a;
	uint8_t *zeros = sim_have(w->t->segs, 4, "weights");

	*a = (struct train_async){ .send_ns = SIM_NEVER,
	    .learn_ns = SIM_NEVER };
	if (!asyncw_init(&a->a, w->t->segs, zeros, 1, 0) ||
	    !asyncw_size(&a->a, 1))
		err(1, "weights");
	free(zeros);
	membership_init(&a->in, in, 0);
}

/* LGC takes the weights as they are, and computes. */
static void
compute(struct sim *s, struct train_worker *w)
{
	const uint64_t ns = train_compute_ns(w);

	w->a.t_w = w->a.shown;
	spans_add(&w->t->compute, ns);
	w->phase = TRAIN_COMPUTES;
	w->phase_ns = s->now_ns + ns;
}

void
train_async_begin(struct sim *s, struct train_worker *w)
{
	w->a.learnt_ns = s->now_ns;
	compute(s, w);
}

/* When no more waits for the link than may. */
static uint64_t
has_room_ns(const struct train_worker *w)
{
	struct link l = { .rate_bps = w->up->link.rate_bps };
	const uint64_t ns = link_time_ns(&l, ASYNCW_UNSENT_BYTES);

	return w->up->link.free_ns > ns ? w->up->link.free_ns - ns : 0;
}

/* May a gradient be committed?  As lwu_ready() of innet-worker has it. */
static bool
is_ready(const struct sim *s, const struct train_worker *w)
{
	const struct train_async *a = &w->a;

	return !a->sending && membership_works(&a->in) && !a->a.proving &&
	    a->a.t_s >= a->need && !asyncw_amid(&a->a, s->now_ns) &&
	    has_room_ns(w) <= s->now_ns;
}

/* When to ask that again, if nothing comes; SIM_NEVER: then is soon enough. */
static uint64_t
again_ns(const struct sim *s, const struct train_worker *w)
{
	const uint64_t room = has_room_ns(w);

	if (asyncw_amid(&w->a.a, s->now_ns))
		return w->a.a.heard_ns + ASYNCW_QUIET_NS;
	return room > s->now_ns ? room : SIM_NEVER;
}

/* A process that may have something else to end first takes so long. */
static uint64_t
occupy(struct sim *s, struct train_worker *w, uint64_t ns)
{
	w->busy_ns = (w->busy_ns > s->now_ns ? w->busy_ns : s->now_ns) + ns;
	return w->busy_ns;
}

static uint64_t
message_ns(const struct train_worker *w)
{
	return train_cost_ns(w->t, 4 * (uint64_t)w->t->elements);
}

static void
count_stale(struct training *t, uint64_t stale)
{
	t->stale[stale < TRAIN_STALE ? stale : TRAIN_STALE]++;
	t->stale_sum += stale;
	t->stale_count++;
}

/* LGC's gradient is there, and LWU ready for it. */
static void
commit(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	struct training *t = w->t;
	const uint64_t stale = asyncw_stale(a->shown, a->t_w);

	w->phase_ns = SIM_NEVER;
	w->phase = TRAIN_WAITS;
	if (t->server == NULL && stale > t->cf->staleness) {
		t->n[TRAIN_DISCARDED]++;
		compute(s, w);
		return;
	}
	if (t->server == NULL)
		count_stale(t, stale);
	if (a->committed_ns == 0)
		a->committed_ns = w->ready_ns;
	a->sending = true;
	a->send_ns = occupy(s, w, message_ns(w));
	a->need = t->server != NULL ? a->a.t_s + 1 : 0;
	if (t->server == NULL)
		compute(s, w);
}

/* LWU hands the vector to the network. */
static void
push(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;

	a->sending = false;
	a->send_ns = SIM_NEVER;
	w->sent_ns = a->pushed_ns = s->now_ns;
	train_send_run(s, w, a->pushes++ & (SEG_ITERATIONS - 1), 0,
	    w->t->segs);
	membership_said(&a->in, s->now_ns);
	asyncw_wait(&a->a, s->now_ns);
}

/* A server may have nothing of the push: again, and when to look next. */
static uint64_t
push_again(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;

	if (a->sending || a->a.t_s >= a->need)
		return SIM_NEVER;
	if (asyncw_again_ns(&a->a, a->pushed_ns) <= s->now_ns) {
		a->pushed_ns = s->now_ns;
		train_send_run(s, w, (a->pushes - 1) & (SEG_ITERATIONS - 1), 0,
		    w->t->segs);
		membership_said(&a->in, s->now_ns);
	}
	return asyncw_again_ns(&a->a, a->pushed_ns);
}

/* A round is in the weights. */
static void
learn(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	struct training *t = w->t;

	a->shown++;
	a->learning = false;
	a->learn_ns = SIM_NEVER;
	w->iterations++;
	if (a->committed_ns != 0)
		train_aggregated(t, s->now_ns - a->committed_ns);
	a->committed_ns = 0;
	spans_add(&t->iteration, s->now_ns - a->learnt_ns);
	a->learnt_ns = s->now_ns;
	if (t->server != NULL)
		t->updates++;		/* each answer is one */
	else if (w->iterations > t->updates)
		t->updates++;
	if ((t->server != NULL ? t->updates : w->iterations) >=
	    t->cf->iterations)
		train_finish(s, w);
	else if (t->server != NULL)
		compute(s, w);
}

/* Control messages that are due. */
static void
say(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	struct membership_place at;
	uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
	uint64_t word;
	size_t len;

	for (;;) {
		at = (struct membership_place){
		    .next = asyncw_wire(a->a.t_s) };
		len = membership_next(&a->in, s->now_ns, &at, msg);
		if (len == 0 && membership_works(&a->in) && asyncw_help(&a->a,
		    s->now_ns, &word)) {
			len = (size_t)(wire_put(control_put(msg,
			    CONTROL_HELP, 1, membership_xid(&a->in)), word, 8) -
			    msg);
			membership_said(&a->in, s->now_ns);
		}
		if (len == 0)
			return;
		train_send(s, w, w->t->server != NULL ? w->t->server :
		    w->up->to, CONTROL_TOS, msg, (uint32_t)len);
	}
}

static bool
happens(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;

	if (a->send_ns <= s->now_ns) {
		push(s, w);
	} else if (a->learn_ns <= s->now_ns) {
		learn(s, w);
	} else if (!a->learning && a->a.t_s > a->shown) {
		a->learning = true;
		a->learn_ns = occupy(s, w, message_ns(w) +
		    (w->t->server == NULL ? w->t->cf->update_ns : 0));
	} else if (w->phase == TRAIN_COMPUTES && w->phase_ns <= s->now_ns) {
		w->t->n[TRAIN_GRADIENTS]++;
		w->ready_ns = s->now_ns;
		w->phase = TRAIN_SENDS;
		w->phase_ns = SIM_NEVER;
	} else if (w->phase == TRAIN_SENDS && is_ready(s, w)) {
		commit(s, w);
	} else {
		return false;
	}
	return w->phase != TRAIN_DONE;
}

static void
check_end(const struct train_worker *w)
{
	char why[MEMBERSHIP_WHY_BYTES];

	if (w->a.in.end != MEMBERSHIP_GOING)
		errx(1, "%s: %s", w->node->name, membership_why(&w->a.in,
		    why));
}

/* Whoever waits for too long names it and ends, as innet-worker does. */
static uint64_t
check_stuck(const struct sim *s, const struct train_worker *w)
{
	const struct asyncw *a = &w->a.a;
	const uint64_t limit = w->t->give_up_ns;

	if (limit == SIM_NEVER || !membership_works(&w->a.in) || !a->waits)
		return SIM_NEVER;
	if (s->now_ns - a->waits_ns >= limit)
		errx(1, "%s: no round %" PRId64 " after %.1f s",
		    w->node->name, a->t_s, (double)limit / 1e9);
	return a->waits_ns + limit;
}

uint64_t
train_async_step(struct sim *s, struct train_worker *w)
{
	struct train_async *a = &w->a;
	uint64_t due, at;

	if (w->phase != TRAIN_JOINS) {
		while (happens(s, w))
			;
	}
	if (w->phase == TRAIN_DONE)
		return SIM_NEVER;
	say(s, w);
	check_end(w);
	if (!w->in && a->in.joined && !a->in.closed) {
		w->in = true;
		w->t->joined++;
	}
	due = membership_due(&a->in);
	if (membership_works(&a->in)) {
		at = asyncw_due(&a->a);
		due = at < due ? at : due;
		at = check_stuck(s, w);
		due = at < due ? at : due;
		at = push_again(s, w);
		due = at < due ? at : due;
	}
	due = w->phase_ns < due ? w->phase_ns : due;
	due = a->send_ns < due ? a->send_ns : due;
	due = a->learn_ns < due ? a->learn_ns : due;
	at = w->phase == TRAIN_SENDS ? again_ns(s, w) : SIM_NEVER;
	return at < due ? at : due;
}

static void
take_news(struct sim *s, struct train_worker *w, enum membership_news news)
{
	struct train_async *a = &w->a;
	const struct seg *g = &a->in.seg;

	if (news == MEMBERSHIP_IN && !asyncw_joined(&a->a, a->in.job_next,
	    s->now_ns))
		errx(1, "%s: it came back to another job", w->node->name);
	if (news == MEMBERSHIP_ASKED && a->pushes > 0 && g->index <
	    w->t->segs && g->iteration == ((a->pushes - 1) &
	    (SEG_ITERATIONS - 1))) {
		a->pushed_ns = s->now_ns;
		train_send_run(s, w, g->iteration, g->index, 1);
	}
	if (news == MEMBERSHIP_LOST && asyncw_lost(&a->a, g))
		errx(1, "%s: round %u of segment %u is not kept any more",
		    w->node->name, g->iteration, g->index);
	check_end(w);
}

void
train_async_arrive(struct sim *s, struct train_worker *w,
    const struct sim_packet *p)
{
	struct train_async *a = &w->a;
	const struct sim_datagram *d = &p->dg;
	struct training *t = w->t;
	struct control c;
	struct seg g;

	if (w->phase == TRAIN_DONE)
		return;
	if (d->tos == SEG_TOS && seg_parse(d->p, d->len, &g)) {
		if (asyncw_result(&a->a, &g, s->now_ns) != ASYNCW_APPLIED)
			return;
		if (a->a.t_s > a->shown + (a->learning ? 1 : 0) &&
		    w->sent_ns != 0) {
			spans_add(&t->network, s->now_ns - w->sent_ns);
			w->sent_ns = 0;
		}
		if (t->server == NULL)
			t->n[TRAIN_WRONG] += !train_right(&g);
		else if (g.index == 0)	/* what others did meanwhile */
			count_stale(t, (uint64_t)vec_get(g.vec, 0) - 1);
	} else if (control_parse(d->p, d->len, &c)) {
		take_news(s, w, membership_control(&a->in, &c, s->now_ns));
	}
}
