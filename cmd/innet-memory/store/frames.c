/* frames.c - experiences, and the frames they are stacks of, stored once */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/frames.h"

/* Memory on the account, or NULL. */
static void *
take(struct frames *f, size_t bytes)
{
	void *p = blobs_room(f->blobs, blobs_cost(bytes)) ? malloc(bytes) :
	    NULL;

	if (p != NULL)
		blobs_force(f->blobs, blobs_cost(bytes));
	return p;
}

static void
give(struct frames *f, void *p, size_t bytes)
{
	blobs_give(f->blobs, blobs_cost(bytes));
	free(p);
}

static size_t
experience_bytes(const struct frames *f)
{
	return sizeof(struct experience) +
	    frames_per(f) * sizeof(struct frame *);
}

struct frame *
frames_new(struct frames *f, struct blob *b)
{
	struct frame *one = take(f, sizeof(*one));

	if (one == NULL)
		return NULL;
	assert(b->len == f->bytes);
	*one = (struct frame){ .blob = blob_hold(b) };
	f->count++;
	return one;
}

void
frames_unused(struct frames *f, struct frame *one)
{
	if (one->uses > 0)
		return;
	blob_drop(f->blobs, one->blob);
	give(f, one, sizeof(*one));
	f->count--;
}

struct experience *
frames_refer(struct frames *f, struct frame *const *frame, struct blob *tail,
    size_t skip)
{
	struct experience *x = take(f, experience_bytes(f));

	if (x == NULL)
		return NULL;
	x->tail = tail;
	x->skip = skip;
	for (unsigned i = 0; i < frames_per(f); i++) {
		x->frame[i] = frame[i];
		x->frame[i]->uses++;
	}
	f->tail_bytes += frames_tail_len(x);
	return x;
}

struct experience *
frames_plain(struct frames *f, struct blob *tail)
{
	assert(f->stack == 0);
	return frames_refer(f, NULL, tail, 0);
}

void
frames_drop(struct frames *f, struct experience *x)
{
	for (size_t i = 0; f->stack > 0 && i < f->streams; i++) {
		if (f->stream[i].last == x)
			f->stream[i].last = NULL;
	}
	f->tail_bytes -= frames_tail_len(x);
	for (unsigned i = 0; i < frames_per(f); i++) {
		x->frame[i]->uses--;
		frames_unused(f, x->frame[i]);
	}
	blob_drop(f->blobs, x->tail);
	give(f, x, experience_bytes(f));
}

/* The first of n frames with these bytes, or NULL; `try` is asked first. */
static struct frame *
same(const struct frames *f, struct frame *const *frame, unsigned n,
    unsigned try, const uint8_t *p)
{
	if (try < n && memcmp(frame[try]->blob->bytes, p, f->bytes) == 0)
		return frame[try];
	for (unsigned i = 0; i < n; i++) {
		if (memcmp(frame[i]->blob->bytes, p, f->bytes) == 0)
			return frame[i];
	}
	return NULL;
}

struct frame *
frames_same(const struct frames *f, const struct experience *prev,
    const struct blob *b)
{
	return prev == NULL ? NULL :
	    same(f, prev->frame, frames_per(f), 0, b->bytes);
}

/* A frame with a copy of the bytes, or NULL. */
static struct frame *
store(struct frames *f, const uint8_t *p)
{
	struct blob *b = blob_copy(f->blobs, p, f->bytes);
	struct frame *one;

	if (b == NULL)
		return NULL;
	one = frames_new(f, b);
	blob_drop(f->blobs, b);
	return one;
}

/*
 * Where frame i most likely stands already: with steps of one, the next state
 * is this state one frame on, and this state is the last one's next.
 */
static struct frame *
find(const struct frames *f, const struct experience *prev,
    struct frame *const *own, unsigned i, const uint8_t *p)
{
	const unsigned per = frames_per(f), half = f->stack;
	struct frame *have;

	have = same(f, own, i, i < half ? i - 1 : i - half + 1, p);
	if (have != NULL || prev == NULL)
		return have;
	return same(f, prev->frame, per, i < half ? i + half : i + 1, p);
}

struct experience *
frames_split(struct frames *f, const struct experience *prev,
    const uint8_t *p, size_t len)
{
	const unsigned per = frames_per(f);
	const size_t stacked = per * f->bytes;
	struct frame *own[2 * FRAMES_STACK_MAX] = { 0 };
	struct experience *x = NULL;
	struct blob *tail = NULL;
	unsigned n;

	assert(per > 0 && len >= stacked);
	for (n = 0; n < per; n++) {
		own[n] = find(f, prev, own, n, p + n * f->bytes);
		if (own[n] == NULL)
			own[n] = store(f, p + n * f->bytes);
		if (own[n] == NULL)
			goto out;
		own[n]->uses++;		/* ours, until x has its own */
	}
	if (len > stacked) {
		tail = blob_copy(f->blobs, p + stacked, len - stacked);
		if (tail == NULL)
			goto out;
	}
	x = frames_refer(f, own, tail, 0);
out:
	for (unsigned i = 0; i < n; i++) {
		own[i]->uses--;
		if (x == NULL)
			frames_unused(f, own[i]);
	}
	if (x == NULL)
		blob_drop(f->blobs, tail);
	return x;
}

void
frames_round(struct frames *f)
{
	f->round++;
}

uint32_t
frames_list(const struct frames *f, struct frame *one, uint32_t *n, bool *fresh)
{
	*fresh = one->round != f->round;
	if (*fresh) {
		one->round = f->round;
		one->index = (*n)++;
	}
	return one->index;
}

struct experience *
frames_last(const struct frames *f, uint64_t stream)
{
	for (size_t i = 0; i < f->streams; i++) {
		if (f->stream[i].of == stream)
			return f->stream[i].last;
	}
	return NULL;
}

void
frames_added(struct frames *f, uint64_t stream, struct experience *x)
{
	size_t i = 0;

	if (f->stack == 0)
		return;
	if (f->stream == NULL)
		f->stream = take(f, FRAMES_STREAMS * sizeof(*f->stream));
	if (f->stream == NULL)
		return;		/* then frames are stored again */
	while (i < f->streams && f->stream[i].of != stream)
		i++;
	if (i == f->streams && i < FRAMES_STREAMS)
		f->streams++;
	i -= i == FRAMES_STREAMS;	/* the oldest goes */
	memmove(f->stream + 1, f->stream, i * sizeof(*f->stream));
	f->stream[0] = (struct frames_stream){ stream, x };
}

void
frames_forget(struct frames *f)
{
	if (f->stream != NULL)
		give(f, f->stream, FRAMES_STREAMS * sizeof(*f->stream));
	f->stream = NULL;
	f->streams = 0;
}
