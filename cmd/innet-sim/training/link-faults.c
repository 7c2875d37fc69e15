/* Links that have trouble: link-faults.h. */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-sim/training/train.h"
#include "cmd/innet-sim/training/link-faults.h"

/* A packet that took longer. */
struct late {
	struct sim_pipe *by;
	struct sim_packet p;
};

void
trouble_open(struct sim *s, const struct trouble_way *w, double share)
{
	struct trouble *t = sim_have(1, sizeof(*t), "links");

	t->way = *w;
	t->of = sim_have(s->pipes, 1, "links");
	t->chance = rng_seed(s->seed ^ 0x74726f75626c65);
	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].from != s->pipe[i].to &&
		    rng_double(&t->chance) < share)
			t->of[i] = TROUBLE_HAS;
	}
	s->trouble = t;
}

void
trouble_free(struct sim *s)
{
	struct trouble *t = s->trouble;
	void *item;

	if (t == NULL)
		return;
	while ((item = timed_queue_pop(&t->late)) != NULL)
		free(item);
	timed_queue_free(&t->late);
	free(t->of);
	free(t);
	s->trouble = NULL;
}

static bool
happens(struct trouble *t, double share)
{
	return share > 0 && rng_double(&t->chance) < share;
}

/* It comes after some more time. */
static void
delay(struct sim *s, struct sim_pipe *by, const struct sim_packet *p)
{
	struct trouble *t = s->trouble;
	struct late *l = malloc(sizeof(*l));
	const uint64_t at = s->now_ns + 1 + rng_below(&t->chance,
	    t->way.late_ns + 1);

	if (l == NULL || !timed_queue_push(&t->late, at, l))
		err(1, "late packets");
	*l = (struct late){ by, *p };
	sim_at(s, SIM_LATE, 0, at);
}

bool
trouble_passes(struct sim *s, struct sim_pipe *pipe,
    const struct sim_packet *p)
{
	struct trouble *t = s->trouble;
	const struct trouble_way *w = &t->way;
	uint8_t *of = &t->of[pipe->index];

	if ((*of & TROUBLE_HAS) == 0)
		return true;
	if (happens(t, (*of & TROUBLE_BAD) != 0 ? w->calm : w->burst)) {
		*of ^= TROUBLE_BAD;
		t->n[TROUBLE_BURST] += (*of & TROUBLE_BAD) != 0;
	}
	if (happens(t, (*of & TROUBLE_BAD) != 0 ? w->burst_loss : w->loss)) {
		t->n[TROUBLE_LOST]++;
		sim_lose(s, p, SIM_LOST_LINK);
		return false;
	}
	if (happens(t, w->twice)) {
		t->n[TROUBLE_TWICE]++;
		train_of(s, p->dg.from)->n[TRAIN_PUT]++;
		delay(s, pipe, p);
	}
	if (!happens(t, w->late))
		return true;
	t->n[TROUBLE_LATE]++;
	delay(s, pipe, p);
	return false;
}

void
trouble_arrives(struct sim *s)
{
	struct late *l = timed_queue_pop(&s->trouble->late);

	if (l == NULL)
		return;
	if (l->by->down > 0)
		sim_lose(s, &l->p, SIM_LOST_DOWN);
	else
		sim_arrive(s, l->by->to, l->by, &l->p);
	free(l);
}
