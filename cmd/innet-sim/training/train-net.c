/* What all nodes of a training share: packets, waking, costs: train.h. */
#include "config.h"

#include <assert.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train.h"
#include "common/wire/frame.h"

void
train_wake(struct sim *s, const struct sim_node *n, uint64_t *wake_ns,
    uint64_t at_ns)
{
	if (at_ns >= *wake_ns)
		return;		/* it will look then, and sleep on */
	*wake_ns = at_ns > s->now_ns ? at_ns : s->now_ns;
	sim_wake(s, n, *wake_ns);
}

/* Keep a message that no packet has room for; its number at to. */
static void
keep_long(struct training *t, uint8_t *to, const uint8_t *p, uint32_t len)
{
	struct train_long *m;

	if (t->longs == NULL)
		t->longs = calloc(TRAIN_LONGS, sizeof(*t->longs));
	if (t->longs == NULL)
		err(1, "messages of a training");
	m = &t->longs[++t->long_number % TRAIN_LONGS];
	m->number = t->long_number;
	memcpy(m->p, p, len);
	memcpy(to, &m->number, sizeof(m->number));
}

const uint8_t *
train_bytes(const struct sim *s, const struct sim_datagram *d)
{
	const struct training *t = train_of(s, d->from);
	const struct train_long *m;
	uint32_t number;

	if (d->len <= sizeof(d->p))
		return d->p;
	memcpy(&number, d->p, sizeof(number));
	m = &t->longs[number % TRAIN_LONGS];
	if (m->number != number)
		errx(1, "%s: more than %d long messages are under way",
		    d->from->name, TRAIN_LONGS);
	return m->p;
}

struct sim_packet
train_packet(struct training *t, uint8_t tos, const uint8_t *p, uint32_t len)
{
	struct sim_packet q = { .wire_bytes = FRAME_V4_BYTES + len,
	    .dg = { .tos = tos, .len = (uint16_t)len } };

	assert(len <= TRAIN_MESSAGE_BYTES);
	if (len <= sizeof(q.dg.p))
		memcpy(q.dg.p, p, len);
	else
		keep_long(t, q.dg.p, p, len);
	if (seg_is(tos))
		q.wire_bytes = FRAME_V4_BYTES + seg_head_bytes(tos) + 4 *
		    seg_floats_at(t->elements, t->floats, seg_split(
		    bytes_get(p, 8)).index);
	return q;
}

void
train_put(struct sim *s, struct training *t, struct sim_pipe *pipe,
    const struct sim_packet *p, uint64_t ready_ns)
{
	t->n[TRAIN_PUT]++;
	sim_send(s, pipe, p, ready_ns);
}

struct training *
train_of(const struct sim *s, const struct sim_node *n)
{
	uint32_t k = 0;

	while (k + 1 < s->trainings && n >= s->training[k + 1].sw)
		k++;
	return &s->training[k];
}

void
train_lose(struct sim *s, const struct sim_packet *p, enum sim_loss why)
{
	train_of(s, p->dg.from)->lost[why]++;
}

/* A worker, or its link. */
static void
fail_worker(struct sim *s, struct train_worker *w,
    const struct scenario_fault *f, bool down)
{
	switch ((enum scenario_fate)f->worker) {
	case SCENARIO_LIVES: sim_fail_link(s, w->up, down); break;
	case SCENARIO_PAUSED:
		w->paused_ns = down ? s->now_ns + f->to_ns - f->from_ns : 0;
		train_worker_kind.wake(s, w->node);
		break;
	case SCENARIO_KILLED:
		if (down)
			train_life_end(w);
		else
			train_life_begin(s, w);
		break;
	}
}

/* The links, workers or switches of training t that the fault names. */
static void
fail_of(struct sim *s, struct training *t, const struct scenario_fault *f,
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
		sim_at(s, SIM_FAULT, id, s->now_ns + f->from_ns);
		sim_at(s, SIM_FAULT, id + 1, s->now_ns + f->to_ns);
	}
}

/*
 * Of a training that was drawn: a switch or worker may be killed while all
 * workers will still be there to give its sums once more.
 */
static bool
may_strike(const struct training *t, const struct scenario_fault *f)
{
	for (uint32_t i = 0; i < t->cf->workers && f->link[0] == '\0' &&
	    f->worker != SCENARIO_PAUSED; i++) {
		if (t->w[i].iterations + 1 >= t->cf->iterations)
			return false;
	}
	return !train_over(t);
}

void
train_fail(struct sim *s, uint32_t id)
{
	struct training *t = &s->training[id / 2 % s->trainings];
	const uint32_t i = id / 2 / s->trainings;
	const struct scenario_fault *f = &scenario_faults(s->sc)[i];
	const bool down = id % 2 == 0;

	if (s->sc->chaos != NULL) {
		if (down && may_strike(t, f))
			t->struck |= 1u << i;
		if ((t->struck >> i & 1) == 0)
			return;
	}
	fail_of(s, t, f, down);
}

uint64_t
train_cost_ns(const struct training *t, uint64_t bytes)
{
	struct link copy = { .rate_bps = t->cf->copy_bps };

	return t->cf->messages * t->cf->message_ns +
	    link_time_ns(&copy, (uint32_t)bytes);
}
