/* train-host.c - functions that all kinds of workers use; see train-host.h */
#include "config.h"

#include "cmd/innet-sim/training/train-host.h"

#include "cmd/innet-sim/training/train-net.h"
#include "common/base/draw.h"

uint64_t
train_compute_ns(struct train_worker *w)
{
	const struct scenario_training *cf = w->t->cf;
	double x = 1;

	switch ((enum training_shape)cf->shape) {
	case TRAINING_CONSTANT: break;
	case TRAINING_UNIFORM:
		x = rng_uniform(&w->chance, 1 - cf->spread, 1 + cf->spread);
		break;
	case TRAINING_LOGNORMAL:
		x = draw_lognormal(&w->chance, cf->spread);
		break;
	case TRAINING_EXPONENTIAL: x = draw_exponential(&w->chance); break;
	}
	return arrivals_whole_ns((double)cf->compute_ns * x / w->speed);
}

void
train_send(struct sim *s, struct train_worker *w, const struct sim_node *n,
    uint8_t tos, const uint8_t *p, uint32_t len)
{
	struct training *t = w->t;
	struct sim_packet q = train_packet(t, tos, p, len);

	q.dg.from = w->node;
	q.dg.to = (struct sim_node *)(uintptr_t)n;
	q.dg.sport = train_life_port(w);
	q.dg.dport = train_port(t);
	t->n[TRAIN_PACKETS] += seg_is(tos);
	t->n[TRAIN_HELPS] += tos == CONTROL_TOS && p[0] == CONTROL_HELP;
	w->tx_ns = (w->tx_ns > s->now_ns ? w->tx_ns : s->now_ns) +
	    t->cf->packet_ns;
	train_send_packet(s, t, w->up, &q, w->tx_ns);
}

const struct sim_node *
train_peer(const struct train_worker *w)
{
	return w->t->server != NULL ? w->t->server : w->up->to;
}

void
train_finish(struct sim *s, struct train_worker *w)
{
	if (w->phase == TRAIN_DONE || w->a.finished)
		return;
	w->a.finished = train_continues(w);
	if (!w->a.finished || w->t->busy == 1) {
		w->phase = TRAIN_DONE;
		w->phase_ns = SIM_NEVER;
	}
	w->t->busy--;
	w->t->end_ns = s->now_ns;
}

void
train_count_aggregation(struct training *t, uint64_t ns)
{
	durations_add(&t->aggregation, ns);
	t->most_ns = ns > t->most_ns ? ns : t->most_ns;
}

bool
train_count_result(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	struct train_round *r = &t->round[w->counted++ & 1];

	if (++r->done < t->cf->workers)
		return false;
	durations_add(&t->latency, s->now_ns - r->ready_ns);
	*r = (struct train_round){ 0 };
	return true;
}
