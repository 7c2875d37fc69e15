/*
 * link-faults.c - links that lose, duplicate and reorder packets; see
 * link-faults.h
 */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-sim/training/link-faults.h"
#include "cmd/innet-sim/training/train-net.h"

/* A packet that is delayed by a fault. */
struct late {
	struct sim_pipe *by;
	struct sim_packet p;
};

void
link_faults_free(struct sim *s)
{
	struct link_faults *t = s->link_faults;
	void *item;

	if (t == NULL)
		return;
	while ((item = timed_queue_pop(&t->late)) != NULL)
		free(item);
	timed_queue_free(&t->late);
	free(t->of);
	free(t);
	s->link_faults = NULL;
	s->pipe_hook = NULL;
}

static bool
draw_event(struct link_faults *t, double share)
{
	return share > 0 && rng_double(&t->chance) < share;
}

/* Deliver the packet after a random additional delay. */
static void
delay_packet(struct sim *s, struct sim_pipe *by, const struct sim_packet *p)
{
	struct link_faults *t = s->link_faults;
	struct late *l = malloc(sizeof(*l));
	const uint64_t at = s->now_ns + 1 + rng_below(&t->chance,
	    t->rates.late_ns + 1);

	if (l == NULL || !timed_queue_push(&t->late, at, l))
		err(1, "no memory for the late packets");
	*l = (struct late){ by, *p };
	sim_schedule(s, SIM_LATE, 0, at);
}

static bool
arrives_now(struct sim *s, struct sim_pipe *pipe,
    const struct sim_packet *p)
{
	struct link_faults *t = s->link_faults;
	const struct link_fault_rates *w = &t->rates;
	uint8_t *of = &t->of[pipe->index];

	if ((*of & LINK_FAULTS_HAS) == 0)
		return true;
	if (draw_event(t, (*of & LINK_FAULTS_BAD) != 0 ? w->calm : w->burst)) {
		*of ^= LINK_FAULTS_BAD;
		t->n[LINK_FAULTS_BURST] += (*of & LINK_FAULTS_BAD) != 0;
	}
	if (draw_event(t,
	    (*of & LINK_FAULTS_BAD) != 0 ? w->burst_loss : w->loss)) {
		t->n[LINK_FAULTS_LOST]++;
		sim_count_loss(s, p, SIM_LOST_LINK);
		return false;
	}
	if (draw_event(t, w->twice)) {
		t->n[LINK_FAULTS_TWICE]++;
		train_get(s, p->dg.from)->n[TRAIN_PUT]++;
		delay_packet(s, pipe, p);
	}
	if (!draw_event(t, w->late))
		return true;
	t->n[LINK_FAULTS_LATE]++;
	delay_packet(s, pipe, p);
	return false;
}

static void
deliver_late(struct sim *s)
{
	struct late *l = timed_queue_pop(&s->link_faults->late);

	if (l == NULL)
		return;
	if (l->by->down > 0)
		sim_count_loss(s, &l->p, SIM_LOST_DOWN);
	else
		sim_receive(s, l->by->to, l->by, &l->p);
	free(l);
}

static const struct sim_pipe_hook hook = { arrives_now, deliver_late };

void
link_faults_open(struct sim *s, const struct link_fault_rates *w, double share)
{
	struct link_faults *t = sim_alloc(1, sizeof(*t), "links");

	t->rates = *w;
	t->of = sim_alloc(s->pipes, 1, "links");
	t->chance = rng_seed(s->seed ^ 0x74726f75626c65);
	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].from != s->pipe[i].to &&
		    rng_double(&t->chance) < share)
			t->of[i] = LINK_FAULTS_HAS;
	}
	s->link_faults = t;
	s->pipe_hook = &hook;
}
