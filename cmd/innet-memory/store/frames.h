/*
 * frames.h - experiences, and the frames they are stacks of, stored once
 *
 * An experience is what a table holds: bytes as they came (the tail), and
 * before them, in a table of frames, 2 * stack frames: those of the state,
 * then those of the next state.  Neighbours share most of theirs, so a frame
 * is held once and counted; it stands before its blob, in the same piece of
 * memory, and so does a short tail behind its experience.  All memory is
 * charged to the account; whatever makes something returns NULL, and has
 * changed nothing, when the account or the machine has no room.
 */
#ifndef INNET_MEMORY_STORE_FRAMES_H
#define INNET_MEMORY_STORE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"
#include "common/base/prefetch.h"

enum { FRAMES_STACK_MAX = 32, FRAMES_STREAMS = 64 };

struct frame {
	uint32_t uses;		/* by experiences of the table */
	uint32_t index;		/* in the listing of this round */
	uint64_t round;
};

static inline struct blob *
frame_blob(struct frame *one)
{
	return (struct blob *)(void *)(one + 1);
}

/* A tail of so many bytes is held as a blob, a shorter one copied. */
enum { FRAMES_TAIL_HELD = 1024 };

struct experience {
	struct blob *tail;	/* NULL: it is in the experience */
	size_t len;		/* bytes of it, */
	uint32_t at;		/* from here on in either */
	struct frame *frame[];	/* 2 * stack */
};

struct frames {
	struct account *account;	/* the account */
	size_t bytes;		/* in a frame */
	unsigned stack;		/* 0: experiences are tails alone */
	size_t count;		/* different frames held */
	size_t tail_bytes;	/* in tails, as they came */
	uint64_t round;		/* of listing: see frames_list_index() */
	/* the last one of each stream, NULL: none, or gone, from the newest */
	struct frames_stream {
		uint64_t id;
		struct experience *last;
	} *stream;
	size_t streams;
};

/*
 * The last experience of a stream, which is who adds experiences of one game
 * after another: what comes next has most frames in common with it.  Of the
 * FRAMES_STREAMS streams that were added to last; NULL: there is none.
 */
struct experience *frames_get_last(const struct frames *f, uint64_t stream);

/* x has been added to that stream. */
void frames_set_last(struct frames *f, uint64_t stream, struct experience *x);

/* Forget the streams, and give back their memory. */
void frames_forget(struct frames *f);

static inline unsigned
frames_per(const struct frames *f)
{
	return 2 * f->stack;
}

static inline size_t
frames_tail_len(const struct experience *x)
{
	return x->len;
}

static inline const uint8_t *
frames_tail(const struct experience *x)
{
	return (x->tail == NULL ? (const uint8_t *)x : x->tail->bytes) + x->at;
}

/* The bytes of x by value: its frames and its tail. */
static inline size_t
frames_len(const struct frames *f, const struct experience *x)
{
	return frames_per(f) * f->bytes + frames_tail_len(x);
}

/*
 * One by value: len bytes, of at least 2 * stack frames, are split.  A frame
 * that prev (or NULL) has, or that came before in this one, is not stored
 * again.
 */
struct experience *frames_split(struct frames *f, const struct experience *prev,
    const uint8_t *p, size_t len);

/* A frame for frames_reference(), not used yet, whose bytes are yet to come. */
struct frame *frames_new_blank(struct frames *f);

/* The same with a copy of these bytes. */
struct frame *frames_new_copy(struct frames *f, const uint8_t *p);

/* The same of a blob behind room for a frame, not yet taken; holds it. */
struct frame *frames_new_from_blob(struct frames *f, struct blob *b);

/* Give back a frame if no experience uses it. */
void frames_drop_unused(struct frames *f, struct frame *one);

/*
 * One by reference: frames (2 * stack) are used once more.  Its tail is what
 * the blob has behind the first skip bytes, held if it is not short.
 */
struct experience *frames_reference(struct frames *f,
    struct frame *const *frame, struct blob *tail, size_t skip);

/* The same with a copy of a tail of len bytes. */
struct experience *frames_reference_copy(struct frames *f,
    struct frame *const *frame, const uint8_t *tail, size_t len);

/* One of prev's frames that has these bytes, or NULL. */
struct frame *frames_find(const struct frames *f,
    const struct experience *prev, const uint8_t *p);

/*
 * Fetch what is read of an experience that will be drawn or given back: x
 * itself and then, which needs that, its frames and tail.
 */
enum frames_step { FRAMES_ITSELF, FRAMES_PARTS, FRAMES_STEPS };

static inline void
frames_prefetch(const struct frames *f, const struct experience *x,
    enum frames_step step)
{
	if (step == FRAMES_ITSELF)
		prefetch_line_to_write(x);
	if (step == FRAMES_PARTS && x->tail != NULL)
		prefetch_line_to_write(x->tail);
	for (unsigned i = 0; step == FRAMES_PARTS && i < frames_per(f); i++)
		prefetch_line_to_write(x->frame[i]);
}

/* Give back an experience and every frame that only it used. */
void frames_drop(struct frames *f, struct experience *x);

/*
 * Number frames as they come: after frames_begin_listing(), frames_list_index()
 * is the index of a frame in this listing, *fresh when it is there for the
 * first time.  *n counts them.
 */
void frames_begin_listing(struct frames *f);
uint32_t frames_list_index(const struct frames *f, struct frame *one,
    uint32_t *n, bool *fresh);

#endif
