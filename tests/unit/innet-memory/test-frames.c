/* Unit tests of frames.h: frames are stored once, experiences stay complete. */
#include <string.h>

#include "cmd/innet-memory/store/frames.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { BYTES = 5, STACK = 3, PER = 2 * STACK, TAIL = 4 };

static struct account account = { .limit = SIZE_MAX };

static struct frames
open_frames(void)
{
	account = (struct account){ .limit = SIZE_MAX };
	return (struct frames){ .account = &account, .bytes = BYTES,
		.stack = STACK };
}

/* Make step t of an episode: frame i has bytes i, and the tail contains t. */
static size_t
make_step(uint8_t *p, unsigned t)
{
	for (unsigned i = 0; i < PER; i++)
		memset(p + i * BYTES, (int)(t + i % STACK + i / STACK), BYTES);
	memset(p + PER * BYTES, (int)t, TAIL);
	return PER * BYTES + TAIL;
}

/* Does x, by value, equal these bytes? */
static bool
experience_equals(const struct frames *f, const struct experience *x,
    const uint8_t *p, size_t len)
{
	bool good = frames_len(f, x) == len;

	for (unsigned i = 0; i < PER && good; i++)
		good = memcmp(frame_blob(x->frame[i])->bytes, p + i * BYTES,
		    BYTES) == 0;
	return good && (frames_tail_len(x) == 0 || memcmp(frames_tail(x),
	    p + PER * BYTES, frames_tail_len(x)) == 0);
}

static void
test_episode(void)
{
	enum { STEPS = 40 };
	struct frames f = open_frames();
	struct experience *x[STEPS], *last = NULL;
	uint8_t p[PER * BYTES + TAIL];
	bool whole = true;

	for (unsigned t = 0; t < STEPS; t++) {
		size_t len = make_step(p, t);

		x[t] = last = frames_split(&f, last, p, len);
	}
	ok(f.count == STEPS + STACK, "%zu frames are stored of %d steps: "
	    "%zu", f.count,
	    STEPS, (size_t)STEPS + STACK);
	ok(f.tail_bytes == STEPS * TAIL, "the bytes of their tails are "
	    "counted");
	for (unsigned t = 0; t < STEPS; t++)
		whole = whole && experience_equals(&f, x[t], p,
		    make_step(p, t));
	ok(whole, "every experience can be read unchanged");
	for (unsigned t = 0; t < STEPS; t += 2)
		frames_drop(&f, x[t]);
	whole = true;
	for (unsigned t = 1; t < STEPS; t += 2)
		whole = whole && experience_equals(&f, x[t], p,
		    make_step(p, t));
	ok(whole, "every experience can be read after every second one was "
	    "removed");
	for (unsigned t = 1; t < STEPS; t += 2)
		frames_drop(&f, x[t]);
	ok(f.count == 0 && account.used == 0 && f.tail_bytes == 0,
	    "the account is 0 after all experiences were removed");
}

/* Compare random frames of few kinds with a count of different neighbours. */
static void
test_random(void)
{
	struct frames f = open_frames();
	struct rng rng = rng_seed(5);
	struct experience *prev = NULL, *x;
	uint8_t p[2][PER * BYTES];
	bool whole = true, once = true;

	for (unsigned t = 0; t < 300; t++) {
		size_t before = f.count, fresh = 0;
		uint8_t *now = p[t % 2];

		for (unsigned i = 0; i < PER; i++) {
			bool had = false;

			memset(now + i * BYTES, 0, BYTES);
			now[i * BYTES + BYTES - 1] = rng_u64(&rng) % 7;
			for (unsigned k = 0; k < i; k++)
				had |= memcmp(now + k * BYTES, now + i * BYTES,
				    BYTES) == 0;
			for (unsigned k = 0; k < PER && t > 0; k++)
				had |= memcmp(p[1 - t % 2] + k * BYTES,
				    now + i * BYTES, BYTES) == 0;
			fresh += !had;
		}
		x = frames_split(&f, prev, now, PER * BYTES);
		once = once && f.count == before + fresh;
		whole = whole && x->len == 0 &&
		    experience_equals(&f, x, now, PER * BYTES);
		if (prev != NULL)
			frames_drop(&f, prev);
		prev = x;
	}
	frames_drop(&f, prev);
	ok(once, "a frame is stored once if a neighbour has the same, and "
	    "every other is stored");
	ok(whole, "an experience may have no tail");
	ok(account.used == 0, "the account is 0 in the end");
}

/* At every limit of memory all is stored or nothing has changed. */
static void
test_limit(void)
{
	struct frames f = open_frames();
	uint8_t p[PER * BYTES + TAIL];
	struct experience *x, *first = frames_split(&f, NULL, p,
	    make_step(p, 0));
	size_t used = account.used, tried = 0;
	bool kept = true;

	for (account.limit = used;; account.limit++, tried++) {
		x = frames_split(&f, first, p, make_step(p, 2));
		if (x != NULL)
			break;
		kept = kept && account.used == used && f.count == STACK + 1;
	}
	ok(tried > 0 && kept, "without enough memory nothing changes");
	ok(account.used == account.limit && f.count == STACK + 3,
	    "with just enough memory all is stored");
	frames_drop(&f, x);
	frames_drop(&f, first);
	ok(account.used == 0, "the account is 0 in the end");
}

static void
test_refer(void)
{
	struct frames f = open_frames();
	struct blob *b = blob_new_behind(&account, sizeof(struct frame),
	    BYTES), *tail;
	struct frame *one, *all[PER];
	struct experience *x;
	bool fresh;
	uint32_t n = 0;

	memset(b->bytes, 9, BYTES);
	one = frames_new_from_blob(&f, b);
	for (unsigned i = 0; i < PER; i++)
		all[i] = one;
	tail = blob_new(&account, 12);
	memcpy(tail->bytes, "headbodybody", 12);
	x = frames_reference(&f, all, tail, 4);
	blob_drop(&account, tail);
	ok(frame_blob(one) == b && one->uses == PER && b->refs == 2,
	    "a blob is shared, not copied");
	ok(frames_tail_len(x) == 8 && memcmp(frames_tail(x), "bodybody", 8) ==
	    0, "the tail begins after the skipped bytes");
	ok(frames_find(&f, x, b->bytes) == one &&
	    frames_find(&f, NULL, b->bytes) == NULL,
	    "an equal frame is found in the last experience");
	frames_begin_listing(&f);
	ok(frames_list_index(&f, one, &n, &fresh) == 0 && fresh && n == 1 &&
	    frames_list_index(&f, one, &n, &fresh) == 0 && !fresh && n == 1,
	    "a list has each frame once");
	frames_set_last(&f, 7, x);
	ok(frames_get_last(&f, 7) == x && frames_get_last(&f, 8) == NULL,
	    "the last experience of a stream is found by the stream");
	frames_drop(&f, x);
	ok(frames_get_last(&f, 7) == NULL,
	    "a removed experience is no longer the last of its stream");
	ok(b->refs == 1 && f.count == 0, "the frames of a removed experience "
	    "are freed");
	one = frames_new_from_blob(&f, b);
	frames_drop_unused(&f, one);
	blob_drop(&account, b);
	frames_forget(&f);
	ok(account.used == 0, "an unused frame leaves nothing on the account");
}

/* A long tail is shared with its blob, from its first byte on. */
static void
test_tail(void)
{
	struct frames f = { .account = &account };
	struct blob *b = blob_new(&account, FRAMES_TAIL_HELD + 7);
	struct experience *held, *own, *copy;

	memset(b->bytes, 1, 7);
	memset(b->bytes + 7, 2, FRAMES_TAIL_HELD);
	held = frames_reference(&f, NULL, b, 7);
	ok(held->tail == b && b->refs == 2 && held->len == FRAMES_TAIL_HELD &&
	    frames_tail(held) == b->bytes + 7, "a long tail is shared, not "
	    "copied");
	own = frames_reference(&f, NULL, b, 8);
	ok(own->tail == NULL && b->refs == 2 && own->len ==
	    FRAMES_TAIL_HELD - 1 && memcmp(frames_tail(own), b->bytes + 8,
	    FRAMES_TAIL_HELD - 1) == 0, "a shorter tail is copied");
	copy = frames_reference_copy(&f, NULL, b->bytes, FRAMES_TAIL_HELD + 7);
	ok(copy->tail != NULL && copy->tail->refs == 1 &&
	    memcmp(frames_tail(copy), b->bytes, FRAMES_TAIL_HELD + 7) == 0,
	    "a long tail without a blob gets one");
	frames_drop(&f, held);
	frames_drop(&f, own);
	frames_drop(&f, copy);
	ok(b->refs == 1 && f.tail_bytes == 0, "a tail is freed with its "
	    "experience");
	blob_drop(&account, b);
	ok(account.used == 0, "the account is 0 in the end");
}

int
main(void)
{
	test_tail();
	test_episode();
	test_random();
	test_limit();
	test_refer();
	return tap_end();
}
