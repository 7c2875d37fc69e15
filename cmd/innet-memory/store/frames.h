/*
 * frames.h - experiences, and the frames that they consist of, each stored once
 *
 * An experience is an item of a table.  Its bytes are the tail.  In a table of
 * frames, 2 * stack frames precede the tail: those of the state and those of
 * the next state.  Consecutive experiences share most of their frames, so each
 * frame is stored once with a count of its users.  A frame stands before its
 * blob in one piece of memory, and a short tail behind its experience.  All
 * memory is charged to the account.  Functions that make something return NULL,
 * and have changed nothing, if there is no room or no memory.
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
	uint32_t uses;		/* experiences that contain it */
	uint32_t index;		/* in the listing of that round */
	uint64_t round;
};

static inline struct blob *
frame_blob(struct frame *one)
{
	return (struct blob *)(void *)(one + 1);
}

/* A tail of this many bytes is held as a blob; a shorter one is copied. */
enum { FRAMES_TAIL_HELD = 1024 };

struct experience {
	struct blob *tail;	/* NULL: the tail follows the experience */
	size_t len;		/* bytes of the tail */
	uint32_t at;		/* where it starts in the blob or in here */
	struct frame *frame[];	/* 2 * stack */
};

struct frames {
	struct account *account;	/* charged for all memory */
	size_t bytes;		/* of a frame */
	unsigned stack;		/* frames in a state; 0: only tails */
	size_t count;		/* different frames held */
	size_t tail_bytes;	/* sum of the lengths of all tails */
	uint64_t round;		/* number of the listing */
	/* streams, the newest first, and the last experience of each or NULL */
	struct frames_stream {
		uint64_t id;
		struct experience *last;
	} *stream;
	size_t streams;
};

/*
 * Return the last experience of a stream, or NULL.  A stream is a client that
 * adds the experiences of one game in order, so its next experience has most
 * frames in common with this one.  The FRAMES_STREAMS streams that were used
 * last are kept.
 */
struct experience *frames_get_last(const struct frames *f, uint64_t stream);

/* Note that x was added by that stream. */
void frames_set_last(struct frames *f, uint64_t stream, struct experience *x);

/* Forget all streams and free their memory. */
void frames_forget(struct frames *f);

/* Return the number of frames in an experience. */
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

/* Return the bytes of x by value: its frames and its tail. */
static inline size_t
frames_len(const struct frames *f, const struct experience *x)
{
	return frames_per(f) * f->bytes + frames_tail_len(x);
}

/*
 * Make an experience by value: split len bytes, at least 2 * stack frames.  A
 * frame that prev (or NULL) has, or that came before in the same experience, is
 * not stored again.
 */
struct experience *frames_split(struct frames *f, const struct experience *prev,
    const uint8_t *p, size_t len);

/*
 * Make a frame without users for frames_reference(); the caller fills its
 * bytes.
 */
struct frame *frames_new_blank(struct frames *f);

/* Do the same with a copy of these bytes. */
struct frame *frames_new_copy(struct frames *f, const uint8_t *p);

/*
 * Do the same with a blob that has room for a frame before it; hold the blob.
 */
struct frame *frames_new_from_blob(struct frames *f, struct blob *b);

/* Free a frame if no experience uses it. */
void frames_drop_unused(struct frames *f, struct frame *one);

/*
 * Make an experience of 2 * stack frames, each of which gets one more user.
 * Its tail is the bytes of the blob behind the first skip; the blob is held if
 * the tail is long.
 */
struct experience *frames_reference(struct frames *f,
    struct frame *const *frame, struct blob *tail, size_t skip);

/* Do the same with a copy of a tail of len bytes. */
struct experience *frames_reference_copy(struct frames *f,
    struct frame *const *frame, const uint8_t *tail, size_t len);

/* Return the frame of prev that has these bytes, or NULL. */
struct frame *frames_find(const struct frames *f,
    const struct experience *prev, const uint8_t *p);

/*
 * Prefetch an experience that will be drawn or freed, in two steps: x itself,
 * and then its frames and its tail, whose addresses are in x.
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

/* Free an experience and every frame that no other one uses. */
void frames_drop(struct frames *f, struct experience *x);

/*
 * Number frames in the order in which they come: after frames_begin_listing(),
 * frames_list_index() returns the index of a frame in this listing.  *fresh
 * says whether the frame is new in it, and *n counts the frames.
 */
void frames_begin_listing(struct frames *f);
uint32_t frames_list_index(const struct frames *f, struct frame *one,
    uint32_t *n, bool *fresh);

#endif
