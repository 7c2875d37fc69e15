/*
 * train-member.c - channel, segments and state machine of a worker; see
 * train-member.h
 */
#include "config.h"

#include <inttypes.h>

#include "cmd/innet-sim/training/train-host.h"
#include "cmd/innet-sim/training/train-keys.h"
#include "cmd/innet-sim/training/train-member.h"
#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-pieces.h"

enum { BUFFER_BYTES = 8 << 20, RUN_SEGMENTS = 44 };

void
train_open_channel(const struct sim *s, struct train_worker *w)
{
	uint8_t secret[32];

	train_secret(s, w->t, w->id + 1, w->life.lives, secret);
	channel_client_open(&w->channel, train_key(w->t),
	    train_key(w->t) != NULL, secret);
}

void
train_send_control(struct sim *s, struct train_worker *w, uint8_t *msg,
    size_t len)
{
	train_send(s, w, train_peer(w), CONTROL_TOS, msg,
	    (uint32_t)channel_client_protect(&w->channel, msg, len));
}

void
train_add_tag(const struct train_worker *w, struct segment_tag *p, uint8_t *seg)
{
	if (w->t->cf->auth == TAG_AUTH_ALL)
		segment_tag_put(p, seg, seg + training_head(w->t->cf),
		    4 * w->t->carried);
}

bool
train_check_tag(const struct train_worker *w, struct segment_tag *p,
    const struct sim_datagram *d)
{
	return w->t->cf->auth != TAG_AUTH_ALL ||
	    segment_tag_check(p, d->tos, d->p, d->len);
}

void
train_send_segments(struct sim *s, struct train_worker *w,
    struct segment_tag *tags, uint32_t iteration, uint32_t first,
    uint32_t count)
{
	uint8_t p[SEG_HEADER_BYTES + SEG_TAG_BYTES + 4 * LEDGER_FLOATS];
	uint8_t *vec = p + training_head(w->t->cf);

	for (uint32_t k = 0; k < count; k++) {
		seg_put(p, iteration, 1, first + k);
		if (w->pieces != NULL)
			train_pieces_put(w, iteration, first + k, vec);
		else if (w->t->ledger == NULL)
			vec_set(vec, 0, 1);
		else
			ledger_put(w->t->ledger, w->id, iteration, first + k,
			    vec);
		train_add_tag(w, tags, p);
		train_send(s, w, train_peer(w), training_tos(w->t->cf), p,
		    train_segment_bytes(w->t));
	}
}

void
train_check_result(struct sim *s, struct train_worker *w, const struct seg *g)
{
	/* the sums of pieces are checked when they are complete */
	const char *why = w->t->ledger == NULL || w->pieces != NULL ? NULL :
	    ledger_check(w->t->ledger, w->id, g);

	if (why != NULL)
		sim_report_wrong(s,
		    "sum: %s: %s: iteration %" PRIu32 ", segment %" PRIu32,
		    w->node->name, why, g->iteration, g->index);
}

struct membership_conf
train_membership(const struct train_worker *w, uint32_t xid)
{
	const struct training *t = w->t;

	return (struct membership_conf){ .type = CONTROL_WORKER, .job = 1,
	    .async = t->cf->mode == TRAINING_ASYNC, .cluster = 1,
	    .number = w->id, .elements = t->segs * t->carried,
	    .floats = (uint16_t)t->carried, .floats_max =
	    (uint16_t)t->carried, .give_up_ns = t->give_up_ns,
	    .sends_state = t->sends_state, .xid = xid,
	    .tagged = t->cf->auth == TAG_AUTH_ALL,
	    .key = train_key(t),
	    .channel = &w->channel };
}

void
train_open_sync_worker(const struct sim *s, struct train_worker *w,
    uint64_t iterations, uint32_t xid)
{
	const struct training *t = w->t;
	const uint64_t packet = training_head(t->cf) + 4 *
	    (uint64_t)t->floats;
	const struct membership_conf in = train_membership(w, xid);
	const struct sync_worker_conf cf = {
	    .next = (train_first_iteration(s) + iterations) % SEG_ITERATIONS,
	    .run_bytes = RUN_SEGMENTS * train_segment_bytes(t),
	    .buffer_bytes = BUFFER_BYTES / packet * train_segment_bytes(t),
	    .ring = w->pieces != NULL };

	sync_worker_init(&w->l, &in, &cf, s->now_ns);
}
