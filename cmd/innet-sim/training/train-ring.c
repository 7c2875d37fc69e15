/*
 * train-ring.c - ring AllReduce; see train-ring.h
 *
 * An iteration has 2 (N - 1) steps.  In each step, every worker sends one Nth
 * of the vector to the next worker and receives another Nth from the previous
 * one.  Worker i sends part i - k (modulo N) in step k, and continues when it
 * has part i - 1 - k.  The first N - 1 steps add up the parts; the other steps
 * pass the sums around.  The previous worker may be some steps ahead, or in the
 * next iteration.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-ring.h"
#include "common/wire/frame.h"

/* The content of a packet, besides its length. */
struct part {
	uint32_t iteration, step;
};

static uint32_t
count_steps(const struct train_worker *w)
{
	return 2 * ((uint32_t)w->t->cf->workers - 1);
}

/* Return the number of floats in the part that worker i sends in a step. */
static uint32_t
count_part_floats(const struct train_worker *w, uint32_t i, uint32_t step)
{
	const uint32_t n = (uint32_t)w->t->cf->workers;
	const uint32_t part = (i + 2 * n - step % n) % n;

	return w->t->elements / n + (part < w->t->elements % n);
}

void
train_ring_open(struct train_worker *w)
{
	for (int k = 0; k < 2; k++)
		w->ring.got[k] = sim_alloc(count_steps(w), sizeof(uint32_t),
		    "steps of a ring");
}

uint64_t
train_ring_bytes(const struct train_worker *w)
{
	return 4 * (uint64_t)count_part_floats(w, w->id, w->ring.step);
}

void
train_ring_send(struct sim *s, struct train_worker *w)
{
	struct training *t = w->t;
	const struct sim_node *to = t->host + (w->id + 1) % t->cf->workers;
	const struct part part = { (uint32_t)w->iterations, w->ring.step };
	uint32_t left = count_part_floats(w, w->id, w->ring.step);

	for (uint32_t n; left > 0; left -= n) {
		struct sim_packet q = { .dg = { .from = w->node,
		    .to = (struct sim_node *)(uintptr_t)to,
		    .len = sizeof(part) } };

		n = left < t->floats ? left : t->floats;
		q.wire_bytes = FRAME_V4_BYTES + SEG_HEADER_BYTES + 4 * n;
		memcpy(q.dg.p, &part, sizeof(part));
		t->n[TRAIN_PACKETS]++;
		w->tx_ns = (w->tx_ns > s->now_ns ? w->tx_ns : s->now_ns) +
		    t->cf->packet_ns;
		train_send_packet(s, t, w->up, &q, w->tx_ns);
	}
}

void
train_ring_receive(struct train_worker *w, const struct sim_packet *p)
{
	struct part part;

	memcpy(&part, p->dg.p, sizeof(part));
	w->ring.got[part.iteration & 1][part.step]++;
}

bool
train_ring_has(const struct train_worker *w)
{
	const struct training *t = w->t;
	const uint32_t n = (uint32_t)t->cf->workers;

	return w->ring.got[w->iterations & 1][w->ring.step] ==
	    seg_count(count_part_floats(w, (w->id + n - 1) % n, w->ring.step),
	    t->floats);
}

bool
train_ring_next_step(struct train_worker *w)
{
	if (++w->ring.step < count_steps(w))
		return true;
	w->ring.step = 0;
	memset(w->ring.got[w->iterations & 1], 0, count_steps(w) *
	    sizeof(uint32_t));
	return false;
}
