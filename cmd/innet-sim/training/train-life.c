/*
 * train-life.c - a synchronous worker that is killed and restarted; see
 * train-life.h
 *
 * The weights of a worker are represented by a single number.  The number
 * depends on all results that the worker has used, and on their order.  So two
 * workers have the same number if their weights would be equal.  After a
 * restart, a worker uses either a new port or its old port.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train-host.h"
#include "cmd/innet-sim/training/train-life.h"
#include "cmd/innet-sim/training/train-member.h"
#include "cmd/innet-sim/training/train-net.h"

enum { STATE_MOST = 40000 };		/* largest size of a state, in bytes */

void
train_life_open(struct train_worker *w)
{
	state_transfer_init(&w->life.transfer, w->id);
	for (int i = 0; i < 2; i++)
		w->life.what[i] = sim_alloc(w->t->segs, sizeof(**w->life.what),
		    "results");
}

void
train_life_free(struct train_worker *w)
{
	state_transfer_free(&w->life.transfer);
	free(w->life.what[0]);
	free(w->life.what[1]);
}

void
train_life_add_segment(struct train_worker *w, const struct seg *g)
{
	if (w->t->sends_state)
		w->life.what[g->iteration & 1][g->index] = vec_get(g->vec,
		    g->n - 1);
}

/* Combine two numbers into one that also depends on their order. */
static uint64_t
mix_in_order(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0xbf58476d1ce4e5b9;
	return a ^ a >> 31;
}

void
train_life_use_result(struct train_worker *w)
{
	const float *what = w->life.what[w->l.t & 1];
	struct train_life *life = &w->life;

	for (uint32_t i = 0; w->t->sends_state && i < w->t->segs; i++)
		life->weights = mix_in_order(life->weights, (uint64_t)what[i]);
	life->used++;
}

/*
 * Return the size of a state in bytes, which depends only on the training job.
 */
static uint32_t
get_state_bytes(const struct training *t)
{
	return (uint32_t)(sizeof(uint64_t) + 4 * t->cf->elements % STATE_MOST);
}

/* Return the membership of worker w in its job. */
static struct membership *
get_membership(struct train_worker *w)
{
	return w->t->cf->mode == TRAINING_ASYNC ? &w->a.m.in : &w->l.in;
}

/*
 * Offer a copy of the weights of an asynchronous worker, if the copy is
 * complete.
 */
static void
give_weights(struct sim *s, struct train_worker *w)
{
	struct async_weights *a = &w->a.m.weights;
	int64_t round;
	uint8_t *body = async_weights_take_copy(a, &round);

	if (body != NULL)
		state_transfer_set_snapshot(&w->life.transfer, body,
		    4 * a->elements, (uint64_t)round, s->now_ns);
}

/* Offer the state of worker w to the worker that requested it. */
static void
give_state(struct sim *s, struct train_worker *w)
{
	const uint32_t bytes = get_state_bytes(w->t);
	uint8_t *body = sim_alloc(bytes, 1, "states");

	for (uint32_t i = 0; i < bytes; i++)
		body[i] = (uint8_t)(i * 7 + w->life.used);
	memcpy(body, &w->life.weights, sizeof(w->life.weights));
	state_transfer_set_snapshot(&w->life.transfer, body, bytes,
	    train_first_iteration(s) + w->life.used, s->now_ns);
}

/* Send all messages about states that are due. */
static void
send_messages(struct sim *s, struct train_worker *w)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	size_t len;

	while ((len = state_transfer_next(&w->life.transfer, get_membership(w),
	    s->now_ns, msg)) > 0)
		train_send_control(s, w, msg, len);
}

void
train_life_send_state(struct sim *s, struct train_worker *w)
{
	if (w->life.transfer.sender.wanted &&
	    w->t->cf->mode == TRAINING_ASYNC)
		give_weights(s, w);
	else if (w->life.transfer.sender.wanted)
		give_state(s, w);
	send_messages(s, w);
}

bool
train_receive_control(struct sim *s, struct train_worker *w,
    struct membership *in, struct state_transfer *h,
    const struct sim_datagram *d, struct control *c)
{
	const uint64_t given = w->t->cf->mode == TRAINING_ASYNC ?
	    (uint64_t)w->a.m.weights.t_s :
	    train_first_iteration(s) + w->life.used;

	switch (state_transfer_receive(h, in, &w->channel, given,
	    train_bytes(s, d), d->len, c, s->now_ns)) {
	case STATE_TRANSFER_MESSAGE: return true;
	case STATE_TRANSFER_TAKEN: train_life_send_state(s, w); break;
	case STATE_TRANSFER_DOUBTFUL:
	case STATE_TRANSFER_MALFORMED:
	case STATE_TRANSFER_NOTHING: break;
	}
	return false;
}

/* Load the state that another worker sent, and join again at its iteration. */
static void
continue_from_state(struct sim *s, struct train_worker *w)
{
	struct state_receiver *e = &w->life.transfer.receiver;
	const uint64_t at = e->iteration - train_first_iteration(s);

	if (e->bytes != get_state_bytes(w->t) || at > w->t->cf->iterations)
		sim_report_wrong(s, "state: %s: the state has %u bytes, after %"
		    PRIu64 " iterations", w->node->name, e->bytes, at);
	memcpy(&w->life.weights, e->body, sizeof(w->life.weights));
	w->life.used = w->iterations = at;
	while (w->counted < at)
		train_count_result(s, w);
	sync_worker_free(&w->l);
	train_open_sync_worker(s, w, at, e->xid);
	state_receiver_free(e);
	w->began_ns = SIM_NEVER;
	w->phase = TRAIN_UPDATES;
	w->phase_ns = s->now_ns;
}

void
train_life_report_failure(struct sim *s, const struct train_worker *w)
{
	const struct state_receiver *e = &w->life.transfer.receiver;

	sim_report_wrong(s, "state: %s: %s", w->node->name,
	    e->end == STATE_RECEIVER_UNANSWERED ? "no state arrived" :
	    control_status_text(e->status));
}

/* Handle the end of a fetch: use the state, or report the failure. */
static void
end_transfer(struct sim *s, struct train_worker *w)
{
	struct state_transfer *h = &w->life.transfer;

	h->fetching = false;
	if (h->receiver.end == STATE_RECEIVER_HAS)
		continue_from_state(s, w);
	else
		train_life_report_failure(s, w);
}

bool
train_life_receive_state(struct sim *s, struct train_worker *w, uint64_t *due)
{
	struct state_transfer *h = &w->life.transfer;

	if (!w->t->sends_state)
		return false;
	state_sender_drop_unused(&h->sender, s->now_ns);
	if (w->l.in.joined && !h->fetching)
		h->tries = 0;
	if (!h->fetching && (sync_worker_is_going(&w->l) ||
				!state_transfer_is_useful(h, &w->l.in,
				    w->l.end == SYNC_WORKER_LOST, false)))
		return false;
	if (!h->fetching)
		state_transfer_start_fetch(h, &w->l.in, true, s->now_ns);
	w->phase = TRAIN_UPDATES;
	w->phase_ns = SIM_NEVER;
	send_messages(s, w);
	if (h->receiver.end != STATE_RECEIVER_GOING) {
		end_transfer(s, w);
		*due = s->now_ns;
	} else {
		*due = state_transfer_deadline_ns(h);
	}
	return true;
}

uint32_t
train_life_xid(const struct train_worker *w)
{
	return 1 + (w->life.lives << TRAIN_LIFE);
}

void
train_life_end(struct train_worker *w)
{
	if (w->life.dead++ > 0)
		return;
	w->life.lives++;
	w->phase_ns = SIM_NEVER;
	if (w->t->cf->mode == TRAINING_ASYNC)
		async_worker_free(&w->a.m);
	else
		sync_worker_free(&w->l);
	state_transfer_free(&w->life.transfer);
}

bool
train_life_begin(struct sim *s, struct train_worker *w)
{
	if (w->life.dead == 0 || --w->life.dead > 0)
		return false;
	state_transfer_init(&w->life.transfer, w->id);
	w->life.used = w->life.weights = w->iterations = 0;
	w->tx_ns = w->rx_ns = w->busy_ns = s->now_ns;
	w->wake_ns = SIM_NEVER;
	train_open_channel(s, w);
	w->began_ns = SIM_NEVER;
	if (w->t->cf->mode == TRAINING_SYNC) {
		train_open_sync_worker(s, w, 0, train_life_xid(w));
		w->phase = TRAIN_UPDATES;
		w->phase_ns = s->now_ns;
	}
	train_wake(s, w->node, &w->wake_ns, s->now_ns);
	return true;
}
