/* train-keys.c - the key and the secrets of a training job; see train-keys.h */
#include "config.h"

#include "cmd/innet-sim/training/train-keys.h"

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
