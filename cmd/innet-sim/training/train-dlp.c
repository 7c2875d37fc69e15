/*
 * train-dlp.c - workers of a session of DLP, and their switch; see train-dlp.h
 *
 * Worker i sends a gradient whose elements are all i + 1.  So the mean and the
 * median over all N workers are (N + 1) / 2, and the mean and the median over
 * only some workers are between 1 and N.
 */
#include "config.h"

#include "cmd/innet-sim/training/train-dlp.h"
#include "cmd/innet-sim/training/train-host.h"
#include "cmd/innet-sim/training/train-net.h"

void
train_dlp_open(struct train_worker *w, uint64_t now_ns)
{
	const struct scenario_training *sc = w->t->cf;
	const struct dlp_worker_conf cf = { .leads = w->id == 0,
	    .wish = { .nodes = (uint8_t)sc->workers, .param = {
	    [DLP_ITERATIONS] = (int32_t)sc->iterations } },
	    .median = sc->reduce == TRAINING_MEDIAN,
	    .give_up_ns = w->t->give_up_ns };

	w->dlp = sim_alloc(1, sizeof(*w->dlp), "workers");
	dlp_worker_init(&w->dlp->m, &cf);
	dlp_worker_start(&w->dlp->m, w->t->elements, now_ns);
}

void
train_dlp_set_program(struct train_switch *w)
{
	dlp_defaults(&w->dlp);
	w->dlp.job.median = w->t->cf->reduce == TRAINING_MEDIAN;
	w->dlp.job.straggler_ns = w->t->cf->straggler_ns;
	w->conf.program = &dlp_program;
	w->conf.settings = &w->dlp;
}

void
train_dlp_gradient(struct train_worker *w, uint64_t now_ns)
{
	for (uint32_t i = 0; i < w->t->elements; i++)
		w->dlp->m.vec[i] = (float)(w->id + 1);
	dlp_worker_take_gradient(&w->dlp->m, now_ns);
}

/* Is the result possible with the gradients that the workers sent? */
static bool
is_right_result(const struct train_worker *w)
{
	const float n = (float)w->t->cf->workers, all = n * (n + 1) / 2;
	const bool some = w->t->cf->straggler_ns > 0;

	for (uint32_t i = 0; i < w->t->elements; i++) {
		const float x = vec_get(w->dlp->m.sum, i);

		if (!(x >= (some ? n : all) && x <= (some ? n * n : all)))
			return false;
	}
	return true;
}

void
train_dlp_receive(struct sim *s, struct train_worker *w,
    const struct sim_datagram *d)
{
	const uint64_t now_ns = s->now_ns;
	struct dlp in;

	if (dlp_parse(train_bytes(s, d), d->len, &in) != DLP_OK)
		return;
	switch (dlp_worker_receive(&w->dlp->m, &in, now_ns)) {
	case DLP_ASK_OPEN:
		w->in = true;
		w->t->joined++;
		break;
	case DLP_ASK_RESULT:
		w->dlp->has = true;
		w->t->n[TRAIN_WRONG] += !is_right_result(w);
		break;
	default: break;
	}
}

uint64_t
train_dlp_send_pending(struct sim *s, struct train_worker *w)
{
	struct dlp_worker *m = &w->dlp->m;
	char why[DLP_WORKER_WHY_BYTES];
	uint8_t bytes[DLP_BYTES_MAX];
	uint32_t len;

	while (dlp_worker_next(m, s->now_ns)) {
		w->t->n[TRAIN_PACKETS] += m->ask.out.state == DLP_LEARNING;
		len = dlp_put(bytes, &m->ask.out);
		train_send(s, w, train_peer(w), 0, bytes, len);
	}
	if (m->end != DLP_WORKER_GOING)
		sim_report_wrong(s, "%s: %s", w->node->name, dlp_worker_why(m,
		    why));
	return dlp_worker_deadline_ns(m);
}

static const struct dlp_aggregator *
get_aggregator(const struct training *t)
{
	const struct train_switch *w = t->sw->own;
	const struct dlp_switch *d = w->plane->pl.state;

	return &d->job;
}

uint64_t
train_dlp_partial(const struct training *t)
{
	return train_is_dlp(t) ? get_aggregator(t)->n[DLP_AGGREGATOR_PARTIAL]
			       : 0;
}

uint64_t
train_dlp_left_out(const struct training *t)
{
	uint64_t n = 0;

	for (unsigned i = 0; train_is_dlp(t) && i < get_aggregator(t)->now.n;
	     i++)
		n += get_aggregator(t)->now.member[i].missed;
	return n;
}

uint64_t
train_dlp_repeated(const struct training *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; train_is_dlp(t) && i < t->cf->workers; i++)
		n += t->w[i].dlp->m.ask.repeated;
	return n;
}
