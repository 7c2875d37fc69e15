/* A training's key, channels and proofs, as the tools have them: train.h. */
#include "config.h"

#include <string.h>

#include "cmd/innet-sim/training/train.h"

enum { KEY_BYTES = 32 };

const struct key *
train_key(const struct training *t)
{
	static struct key key;
	static uint8_t bytes[KEY_BYTES] = "the key of all that is simulated";

	if (t->cf->auth == TAG_AUTH_NONE)
		return NULL;
	if (!key.set)
		key_set(&key, bytes, sizeof(bytes));
	return &key;
}

void
train_secret(const struct sim *s, const struct training *t, uint32_t who,
    uint32_t lives, uint8_t secret[32])
{
	struct rng r = rng_seed(s->seed ^ 0x736563726574 ^
	    ((uint64_t)who << 40 | (uint64_t)lives << 16 | t->number));

	for (int i = 0; i < 4; i++)
		bytes_put(secret + 8 * i, rng_u64(&r), 8);
}

void
train_open_channel(const struct sim *s, struct train_worker *w)
{
	uint8_t secret[32];

	train_secret(s, w->t, w->id + 1, w->life.lives, secret);
	channel_client_open(
	    &w->channel, train_key(w->t), train_key(w->t) != NULL, secret);
}

void
train_say(struct sim *s, struct train_worker *w, uint8_t *msg, size_t len)
{
	train_send(s, w, train_peer(w), CONTROL_TOS, msg,
	    (uint32_t)channel_client_protect(&w->channel, msg, len));
}

bool
train_hear(struct sim *s, struct train_worker *w, struct membership *in,
    struct state_transfer *h, const struct sim_datagram *d, struct control *c)
{
	const uint64_t given = train_first(s) + w->life.used;

	switch (state_transfer_hear(h, in, &w->channel, given,
	    train_bytes(s, d), d->len, c, s->now_ns)) {
	case STATE_TRANSFER_MESSAGE: return true;
	case STATE_TRANSFER_TAKEN: train_life_answer(s, w); break;
	case STATE_TRANSFER_DOUBTFUL:
	case STATE_TRANSFER_MALFORMED:
	case STATE_TRANSFER_NOTHING: break;
	}
	return false;
}

void
train_prove(const struct train_worker *w, struct segment_tag *p, uint8_t *seg)
{
	if (w->t->cf->auth == TAG_AUTH_ALL)
		segment_tag_put(p, seg, seg + training_head(w->t->cf),
		    4 * w->t->carried);
}

bool
train_believes(const struct train_worker *w, struct segment_tag *p,
    const struct sim_datagram *d)
{
	return w->t->cf->auth != TAG_AUTH_ALL ||
	    segment_tag_check(p, d->tos, d->p, d->len);
}
