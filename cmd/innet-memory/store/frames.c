/* frames.c - experiences, and the frames that they consist of */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/frames.h"

/*
 * Return the size of an experience that stores `own` bytes of its tail itself.
 */
static size_t
experience_bytes(const struct frames *f, size_t own)
{
	return sizeof(struct experience) +
	    frames_per(f) * sizeof(struct frame *) + own;
}

/* Initialise the frame in front of b; no experience uses it yet. */
static struct frame *
init_frame(struct frames *f, struct blob *b)
{
	struct frame *one = blob_front(b);

	assert(b->len == f->bytes && frame_blob(one) == b);
	*one = (struct frame){ 0 };
	f->count++;
	return one;
}

struct frame *
frames_new_blank(struct frames *f)
{
	struct blob *b = blob_new_behind(f->account, sizeof(struct frame),
	    f->bytes);

	return b == NULL ? NULL : init_frame(f, b);
}

struct frame *
frames_new_copy(struct frames *f, const uint8_t *p)
{
	struct frame *one = frames_new_blank(f);

	if (one != NULL)
		memcpy(frame_blob(one)->bytes, p, f->bytes);
	return one;
}

struct frame *
frames_new_from_blob(struct frames *f, struct blob *b)
{
	return init_frame(f, blob_hold(b));
}

void
frames_drop_unused(struct frames *f, struct frame *one)
{
	if (one->uses > 0)
		return;
	blob_drop(f->account, frame_blob(one));
	f->count--;
}

/*
 * Create an experience with a tail of len bytes.  The first `own` bytes of the
 * tail are stored in the experience, and the caller fills them in.
 */
static struct experience *
new_experience(struct frames *f, struct frame *const *frame, size_t len,
    size_t own)
{
	struct experience *x = account_alloc(f->account,
	    experience_bytes(f, own));

	if (x == NULL)
		return NULL;
	x->tail = NULL;
	x->at = (uint32_t)experience_bytes(f, 0);
	x->len = len;
	for (unsigned i = 0; i < frames_per(f); i++) {
		x->frame[i] = frame[i];
		x->frame[i]->uses++;
	}
	f->tail_bytes += len;
	return x;
}

struct experience *
frames_reference_copy(struct frames *f, struct frame *const *frame,
    const uint8_t *tail, size_t len)
{
	struct experience *x;
	struct blob *b;

	if (len >= FRAMES_TAIL_HELD) {
		b = blob_copy(f->account, tail, len);
		x = b == NULL ? NULL : frames_reference(f, frame, b, 0);
		blob_drop(f->account, b);
		return x;
	}
	x = new_experience(f, frame, len, len);
	if (x != NULL && len > 0)
		memcpy((uint8_t *)x + x->at, tail, len);
	return x;
}

struct experience *
frames_reference(struct frames *f, struct frame *const *frame,
    struct blob *tail, size_t skip)
{
	const size_t len = tail->len - skip;
	struct experience *x;

	if (len < FRAMES_TAIL_HELD)
		return frames_reference_copy(f, frame, tail->bytes + skip, len);
	x = new_experience(f, frame, len, 0);
	if (x == NULL)
		return NULL;
	x->tail = blob_hold(tail);
	x->at = (uint32_t)skip;
	return x;
}

void
frames_drop(struct frames *f, struct experience *x)
{
	const size_t bytes = experience_bytes(f, x->tail == NULL ? x->len : 0);

	for (size_t i = 0; f->stack > 0 && i < f->streams; i++) {
		if (f->stream[i].last == x)
			f->stream[i].last = NULL;
	}
	f->tail_bytes -= frames_tail_len(x);
	for (unsigned i = 0; i < frames_per(f); i++) {
		x->frame[i]->uses--;
		frames_drop_unused(f, x->frame[i]);
	}
	blob_drop(f->account, x->tail);
	account_free(f->account, x, bytes);
}

/*
 * Return the first of n frames that has these bytes, or NULL.  The frame with
 * index `try` is compared first.
 */
static struct frame *
find_same(const struct frames *f, struct frame *const *frame, unsigned n,
    unsigned try, const uint8_t *p)
{
	if (try < n && memcmp(frame_blob(frame[try])->bytes, p, f->bytes) == 0)
		return frame[try];
	for (unsigned i = 0; i < n; i++) {
		if (memcmp(frame_blob(frame[i])->bytes, p, f->bytes) == 0)
			return frame[i];
	}
	return NULL;
}

struct frame *
frames_find(const struct frames *f, const struct experience *prev,
    const uint8_t *p)
{
	return prev == NULL ? NULL :
	    find_same(f, prev->frame, frames_per(f), 0, p);
}

/*
 * Return a stored frame with the bytes of frame i, or NULL.  First look where
 * the frame is most likely to be found: the next state is the state shifted by
 * one frame, and the state is the next state of the previous experience.
 */
static struct frame *
find_stored(const struct frames *f, const struct experience *prev,
    struct frame *const *own, unsigned i, const uint8_t *p)
{
	const unsigned per = frames_per(f), half = f->stack;
	struct frame *have;

	have = find_same(f, own, i, i < half ? i - 1 : i - half + 1, p);
	if (have != NULL || prev == NULL)
		return have;
	return find_same(f, prev->frame, per, i < half ? i + half : i + 1, p);
}

struct experience *
frames_split(struct frames *f, const struct experience *prev,
    const uint8_t *p, size_t len)
{
	const unsigned per = frames_per(f);
	const size_t stacked = per * f->bytes;
	struct frame *own[2 * FRAMES_STACK_MAX] = { 0 };
	struct experience *x = NULL;
	unsigned n;

	assert(per > 0 && len >= stacked);
	for (n = 0; n < per; n++) {
		own[n] = find_stored(f, prev, own, n, p + n * f->bytes);
		if (own[n] == NULL)
			own[n] = frames_new_copy(f, p + n * f->bytes);
		if (own[n] == NULL)
			goto out;
		own[n]->uses++;	/* count a temporary user of the frame, until x
				 * uses it */
	}
	x = frames_reference_copy(f, own, p + stacked, len - stacked);
out:
	for (unsigned i = 0; i < n; i++) {
		own[i]->uses--;
		if (x == NULL)
			frames_drop_unused(f, own[i]);
	}
	return x;
}

void
frames_begin_listing(struct frames *f)
{
	f->round++;
}

uint32_t
frames_list_index(const struct frames *f, struct frame *one, uint32_t *n,
    bool *fresh)
{
	*fresh = one->round != f->round;
	if (*fresh) {
		one->round = f->round;
		one->index = (*n)++;
	}
	return one->index;
}

struct experience *
frames_get_last(const struct frames *f, uint64_t stream)
{
	for (size_t i = 0; i < f->streams; i++) {
		if (f->stream[i].id == stream)
			return f->stream[i].last;
	}
	return NULL;
}

void
frames_set_last(struct frames *f, uint64_t stream, struct experience *x)
{
	size_t i = 0;

	if (f->stack == 0)
		return;
	if (f->stream == NULL)
		f->stream = account_alloc(f->account,
		    FRAMES_STREAMS * sizeof(*f->stream));
	if (f->stream == NULL)
		return;		/* without the array, some frames may be stored
				 * twice */
	while (i < f->streams && f->stream[i].id != stream)
		i++;
	if (i == f->streams && i < FRAMES_STREAMS)
		f->streams++;
	i -= i == FRAMES_STREAMS;	/* replace the oldest stream */
	memmove(f->stream + 1, f->stream, i * sizeof(*f->stream));
	f->stream[0] = (struct frames_stream){ stream, x };
}

void
frames_forget(struct frames *f)
{
	if (f->stream != NULL)
		account_free(f->account, f->stream,
		    FRAMES_STREAMS * sizeof(*f->stream));
	f->stream = NULL;
	f->streams = 0;
}
