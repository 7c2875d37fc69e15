/* train-faults.c - the faults of a training job; see train-faults.h */
#include "config.h"

#include "cmd/innet-sim/training/train-faults.h"

#include <string.h>

#include "cmd/innet-sim/training/train-async.h"
#include "cmd/innet-sim/training/train-life.h"
#include "cmd/innet-sim/training/train-net.h"

/* Restart a worker that was killed. */
static void
restart_worker(struct sim *s, struct train_worker *w)
{
	if (train_life_begin(s, w) && w->t->cf->mode == TRAINING_ASYNC)
		train_async_restart(s, w, train_life_xid(w));
}

/* Begin or end a fault of a worker or its link. */
static void
fail_worker(struct sim *s, struct train_worker *w,
    const struct scenario_fault *f, bool down)
{
	switch ((enum scenario_worker_fault)f->worker) {
	case SCENARIO_LIVES: sim_fail_link(s, w->up, down); break;
	case SCENARIO_PAUSED:
		w->paused_ns = down ? s->now_ns + f->to_ns - f->from_ns : 0;
		w->node->kind->wake(s, w->node);
		break;
	case SCENARIO_KILLED:
		if (down)
			train_life_end(w);
		else
			restart_worker(s, w);
		break;
	}
}

/*
 * Begin or end fault f in training job t, for the links, workers or switches
 * that f names.
 */
static void
fail_parts(struct sim *s, struct training *t, const struct scenario_fault *f,
    bool down)
{
	const bool link = f->link[0] != '\0';
	const char *what = link ? f->link : f->node;
	const bool worker = f->worker != SCENARIO_LIVES ||
	    strcmp(what, "worker") == 0;
	const uint32_t n = worker ? (uint32_t)t->cf->workers :
	    training_parts(t->cf, link, what);

	for (uint32_t i = 0; i < n; i++) {
		const struct train_switch *w;

		if (f->index != SCENARIO_WORD1 && f->index != i)
			continue;
		if (worker) {
			fail_worker(s, &t->w[i], f, down);
			continue;
		}
		w = strcmp(what, "server") == 0 ? t->server->own :
		    t->sw[strcmp(what, "rack") == 0 ? i + 1 : 0].own;
		if (link)
			sim_fail_link(s, w->up, down);
		else
			sim_fail_node(s, w->node, down);
	}
}

void
train_add_faults(struct sim *s, const struct training *t)
{
	for (uint32_t i = 0; i < s->sc->faults.n; i++) {
		const struct scenario_fault *f = &scenario_faults(s->sc)[i];
		const uint32_t id = 2 * (i * s->trainings + t->number);

		if (!scenario_strikes(f, t->cf))
			continue;
		sim_schedule(s, SIM_FAULT, id, s->now_ns + f->from_ns);
		sim_schedule(s, SIM_FAULT, id + 1, s->now_ns + f->to_ns);
	}
}

/*
 * May this fault of a random training job (--chaos) happen now?  A switch or
 * worker is killed only while all workers can still send their gradients again.
 */
static bool
may_happen(const struct training *t, const struct scenario_fault *f)
{
	for (uint32_t i = 0; i < t->cf->workers && f->link[0] == '\0' &&
	    f->worker != SCENARIO_PAUSED; i++) {
		if (t->w[i].iterations + 1 >= t->cf->iterations)
			return false;
	}
	return !train_is_over(t);
}

void
train_handle_fault(struct sim *s, uint32_t id)
{
	struct training *t = &s->training[id / 2 % s->trainings];
	const uint32_t i = id / 2 / s->trainings;
	const struct scenario_fault *f = &scenario_faults(s->sc)[i];
	const bool down = id % 2 == 0;

	if (s->sc->chaos != NULL) {
		if (down && may_happen(t, f))
			t->struck |= 1u << i;
		if ((t->struck >> i & 1) == 0)
			return;
	}
	fail_parts(s, t, f, down);
}
