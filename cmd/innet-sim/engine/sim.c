/* sim.c - the queue of events, and the pipes; see sim.h */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/engine/sim.h"
#include "common/base/message.h"
#include "common/base/pages.h"

void *
sim_alloc(size_t n, size_t bytes, const char *what)
{
	void *p = calloc(n == 0 ? 1 : n, bytes);

	if (p == NULL)
		err(1, "%zu %s", n, what);
	return p;
}

void *
sim_alloc_large(size_t n, size_t bytes, const char *what)
{
	void *p = pages_new(n * bytes);

	if (p == NULL)
		err(1, "%zu %s", n, what);
	return p;
}

struct sim_pipe *
sim_add_link(struct sim *s, struct sim_node *from, struct sim_node *to,
    uint64_t up_bps, uint64_t down_bps, uint64_t propagation_ns, double loss)
{
	struct sim_pipe *p = &s->pipe[s->pipes];
	const uint32_t extra = scenario_extra_bytes(s->sc);

	for (int way = 0; way < 2; way++) {
		p[way] = (struct sim_pipe){ .from = way == 0 ? from : to,
		    .to = way == 0 ? to : from, .index = s->pipes++,
		    .link = { .rate_bps = way == 0 ? up_bps : down_bps,
		    .extra_bytes = extra },
		    .propagation_ns = propagation_ns, .loss = loss,
		    .leave_ns = SIM_NEVER, .deadline_ns = SIM_NEVER,
		    .ring = { &p[way].one, 0, 0, 1 },
		    .port = SIM_NONE, .class = way == 1 ? SIM_ACK :
		    to->kind->serves ? SIM_DELIVERY : SIM_ARRIVAL };
	}
	return p;
}

void
sim_report_wrong(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (s->wrong == NULL)
		verrx(1, fmt, ap);
	if (s->wrong[0] == '\0')	/* only the first error matters */
		vsnprintf(s->wrong, SIM_WRONG_BYTES, fmt, ap);
	va_end(ap);
}

void
sim_schedule(struct sim *s, enum sim_class class, uint32_t id, uint64_t at_ns)
{
	if (!calendar_push(&s->events, heap_make(at_ns, (uint32_t)class <<
	    SIM_ID_BITS | id)))
		err(1, "events");
}

/* Add a packet at the end of the ring, and return a pointer to it. */
static struct sim_flying *
ring_push(struct sim_pipe *pipe)
{
	struct sim_ring *r = &pipe->ring;

	if (r->count == r->room) {
		uint32_t room = 2 * r->room;
		struct sim_flying *p = malloc(room * sizeof(*p));

		if (p == NULL)
			err(1, "no memory for %u packets on a link", room);
		for (uint32_t i = 0; i < r->count; i++)
			p[i] = r->item[(r->head + i) & (r->room - 1)];
		if (r->item != &pipe->one)
			free(r->item);
		*r = (struct sim_ring){ p, 0, r->count, room };
	}
	return &r->item[(r->head + r->count++) & (r->room - 1)];
}

static struct sim_flying *
ring_head(const struct sim_ring *r)
{
	return &r->item[r->head];
}

/* Schedule the arrival of the first packet in the pipe. */
static void
schedule_arrival(struct sim *s, struct sim_pipe *p)
{
	p->deadline_ns = ring_head(&p->ring)->at_ns;
	sim_schedule(s, p->class, p->index, p->deadline_ns);
}

struct sim_packet *
sim_put_in_flight(struct sim *s, struct sim_pipe *pipe, uint64_t left_ns)
{
	struct sim_flying *f = ring_push(pipe);

	f->left_ns = left_ns;
	f->at_ns = left_ns + pipe->propagation_ns;
	if (pipe->ring.count == 1)
		schedule_arrival(s, pipe);
	return &f->p;
}

void
sim_count_loss(struct sim *s, const struct sim_packet *p, enum sim_loss why)
{
	s->network->lose(s, p, why);
}

/*
 * Is the queue of the pipe full at now_ns?  If so, a frame that enters it is
 * lost.
 */
static bool
is_queue_full(struct sim_pipe *pipe, uint64_t now_ns)
{
	const struct sim_ring *r = &pipe->ring;

	if (pipe->queue == 0)
		return false;
	while (pipe->left < r->count && r->item[(r->head + pipe->left) &
	    (r->room - 1)].left_ns <= now_ns)
		pipe->left++;
	return r->count - pipe->left >= pipe->queue;
}

void
sim_send(struct sim *s, struct sim_pipe *pipe, const struct sim_packet *p,
    uint64_t ready_ns)
{
	if (pipe->down)
		sim_count_loss(s, p, SIM_LOST_DOWN);
	else if (is_queue_full(pipe, ready_ns))
		sim_count_loss(s, p, SIM_LOST_QUEUE);
	else
		*sim_put_in_flight(s, pipe,
		    link_start_frame(&pipe->link, ready_ns, p->wire_bytes)) =
		    *p;
}

void
sim_receive(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	if (n->down) {
		sim_count_loss(s, p, SIM_LOST_DOWN);
		return;
	}
	if (n->in != NULL)
		sim_put_frame(s, n->in, p, s->now_ns);
	if (s->tap != NULL && by != NULL && s->tap[by->index].came != NULL)
		sim_put_frame(s, s->tap[by->index].came, p, s->now_ns);
	n->kind->arrive(s, n, by, p);
}

/* If the pipe is captured, write f to its capture with the departure time. */
static void
capture_departure(const struct sim *s, const struct sim_pipe *pipe,
    const struct sim_flying *f)
{
	struct pcapio_out *out = s->tap[pipe->index].left;

	if (out != NULL)
		sim_put_frame(s, out, &f->p, f->left_ns);
}

void
sim_capture_left(const struct sim *s, const struct sim_pipe *pipe,
    uint64_t by_ns)
{
	const struct sim_ring *r = &pipe->ring;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct sim_flying *f = &r->item[(r->head + i) &
		    (r->room - 1)];

		if (f->left_ns <= by_ns)
			capture_departure(s, pipe, f);
	}
}

void
sim_commit_frame(const struct sim *s, struct pcapio_out *out, uint8_t *to,
    uint32_t whole, uint32_t wire_bytes, uint64_t stamp_ns)
{
	if (whole < wire_bytes)
		memset(to + whole, 0, wire_bytes - whole);
	if (whole < wire_bytes)
		whole = wire_bytes;
	pcapio_commit(out, stamp_ns + s->sc->start_ns, whole, whole);
}

/* Deliver the first packet in the pipe. */
static void
deliver_head(struct sim *s, struct sim_pipe *pipe)
{
	struct sim_ring *r = &pipe->ring;
	struct sim_packet p;

	if (r->count == 0 || pipe->deadline_ns != s->now_ns)
		return;		/* the packet was already lost */
	if (s->tap != NULL)
		capture_departure(s, pipe, ring_head(r));
	p = ring_head(r)->p;
	r->head = (r->head + 1) & (r->room - 1);
	r->count--;
	pipe->left -= pipe->left > 0;
	pipe->deadline_ns = SIM_NEVER;
	if (r->count > 0)
		schedule_arrival(s, pipe);
	if (pipe->loss > 0 && rng_double(&s->chance) < pipe->loss) {
		sim_count_loss(s, &p, SIM_LOST_LINK);
		return;
	}
	if (s->pipe_hook == NULL || s->pipe_hook->arrives(s, pipe, &p))
		sim_receive(s, pipe->to, pipe, &p);
}

void
sim_clear_pipe(struct sim *s, struct sim_pipe *pipe, bool all)
{
	struct sim_ring *r = &pipe->ring;

	if (pipe->egress != NULL)
		s->network->clear_port(s, pipe);
	if (s->tap != NULL && all)
		sim_capture_left(s, pipe, s->now_ns);
	for (; r->count > 0; r->count--) {
		const struct sim_flying *tail = &r->item[(r->head + r->count -
		    1) & (r->room - 1)];

		if (!all && tail->left_ns <= s->now_ns)
			break;
		sim_count_loss(s, &tail->p, SIM_LOST_DOWN);
	}
	if (pipe->left > r->count)
		pipe->left = r->count;
	if (r->count == 0)
		pipe->deadline_ns = SIM_NEVER;
	pipe->link.free_ns = s->now_ns;
}

/*
 * Send a model to one worker at the end of route r, or to all its workers if
 * `all` is true.
 */
static void
send_to_group(struct sim *s, const struct sim_route *r, bool all,
    const struct sim_packet *p, uint64_t ready_ns)
{
	const uint32_t base = r->base + (all ? 0 : p->up.worker - r->first);
	const uint32_t n = all ? r->n : 1;

	if (s->worker[base].down == SIM_NONE) {
		r->group->kind->model(s, r->group, base, n, p);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		sim_send(s, &s->pipe[s->worker[base + i].down], p, ready_ns);
}

void
sim_send_model(struct sim *s, struct sim_node *n, const struct sim_packet *p,
    uint64_t ready_ns)
{
	const bool all = p->up.worker == UPDATE_ALL_WORKERS;
	const uint32_t *at = hashmap_get(&n->cluster, p->up.cluster);
	uint32_t next;

	for (uint32_t i = at == NULL ? SIM_NONE : *at; i != SIM_NONE;
	    i = next) {
		const struct sim_route *r = &s->route[i];

		next = r->next;
		if (all ? r->again : p->up.worker - r->first >= r->n)
			continue;
		if (r->down != NULL)
			sim_send(s, r->down, p, ready_ns);
		else
			send_to_group(s, r, all, p, ready_ns);
	}
}

void
sim_fail_node(struct sim *s, struct sim_node *n, bool down)
{
	n->down += down ? 1u : -1u;
	if (n->down == down)	/* the first fault of the node began, or its
				 * last fault ended */
		n->kind->fail(s, n, down);
}

void
sim_fail_link(struct sim *s, struct sim_pipe *up, bool down)
{
	up->down = up[1].down += down ? 1u : -1u;
	if (down) {
		sim_clear_pipe(s, up, true);
		sim_clear_pipe(s, up + 1, true);
	}
}

/* Handle an event. */
static void
handle_event(struct sim *s, struct heap x)
{
	const uint32_t id = sim_id_of(x);

	switch (sim_class_of(x)) {
	case SIM_FAULT:
		s->network->fault(s, id);
		break;
	case SIM_LEAVE:
		s->network->leave(s, &s->pipe[id]);
		break;
	case SIM_DELIVERY:
	case SIM_ACK:
	case SIM_ARRIVAL:
		deliver_head(s, &s->pipe[id]);
		break;
	case SIM_WAKE:
		s->node[id].kind->wake(s, &s->node[id]);
		break;
	case SIM_GENERATE:
		s->network->generate(s, id);
		break;
	case SIM_LATE:
		s->pipe_hook->late(s);
		break;
	}
}

/* Must the run end before its normal end? */
static bool
is_ended(struct sim *s)
{
	if (s->wrong == NULL)
		return false;
	if (s->most > 0 && s->handled >= s->most)
		sim_report_wrong(s, "storm: more than %" PRIu64 " events",
		    s->most);
	return s->wrong[0] != '\0';
}

void
sim_run(struct sim *s)
{
	uint64_t day = UINT64_MAX;
	const uint64_t until = s->sc->drain || s->sc->duration_ns >
	    LINK_END_NS ? LINK_END_NS - 1 : s->sc->duration_ns;
	struct heap x;
	int have = 1;

	while ((s->stopped == NULL || *s->stopped == 0) && !is_ended(s) &&
	    (have = calendar_pop(&s->events, &x)) == 1 &&
	    heap_ns(&x) <= until) {
		s->was_ns = s->now_ns;
		s->now_ns = heap_ns(&x);
		if (day != s->events.now && s->network->new_day != NULL)
			s->network->new_day(s);
		day = s->events.now;
		handle_event(s, x);
		s->handled++;
	}
	if (have == -1)
		err(1, "events");
	s->end_ns = s->sc->duration_ns == SCENARIO_WORD1 || s->now_ns >
	    s->sc->duration_ns ? s->now_ns : s->sc->duration_ns;
	if (s->network->end != NULL)
		s->network->end(s);
}
