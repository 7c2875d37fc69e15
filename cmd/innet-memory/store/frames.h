/*
 * frames.h - experiences, and the frames that they consist of, each stored once
 *
 * An experience is an item of a table.  Its bytes are the tail.  In a table
 * with frames, 2 * stack frames precede the tail: the frames of the state and
 * those of the next state.  Consecutive experiences share most of their frames.
 * Therefore each frame is stored once, with a count of its users.  A frame and
 * its blob are one piece of memory, and so are an experience and a short tail.
 * All memory is charged to the account.  If there is no room or no memory,
 * functions that create something return NULL and change nothing.
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
	uint32_t uses;		/* number of experiences with this frame */
	uint32_t index;		/* index of the frame in listing `round` */
	uint64_t round;
};

static inline struct blob *
frame_blob(struct frame *one)
{
	return (struct blob *)(void *)(one + 1);
}

/*
 * A tail of at least this number of bytes is held as a blob.  A shorter tail is
 * copied.
 */
enum { FRAMES_TAIL_HELD = 1024 };

struct experience {
	struct blob *tail;	/* blob with the tail; NULL if the tail follows
				 * this struct */
	size_t len;		/* length of the tail in bytes */
	uint32_t at;	/* offset of the tail in the blob or in this struct */
	struct frame *frame[];	/* 2 * stack frames: state, next state */
};

struct frames {
	struct account *account; /* account to which all memory is charged */
	size_t bytes;		/* size of a frame in bytes */
	unsigned stack;		/* number of frames in a state; 0: only tails */
	size_t count;		/* number of different frames that are stored */
	size_t tail_bytes;	/* sum of the lengths of all tails */
	uint64_t round;		/* number of the current listing */
	/*
	 * streams, newest first; `last` is the last experience of a stream, or
	 * NULL
	 */
	struct frames_stream {
		uint64_t id;
		struct experience *last;
	} *stream;
	size_t streams;
};

/*
 * Return the last experience of a stream, or NULL.  A stream is a client that
 * adds the experiences of one game in order, so most frames of its next
 * experience are also in its last experience.  Only the FRAMES_STREAMS most
 * recently used streams are kept.
 */
struct experience *frames_get_last(const struct frames *f, uint64_t stream);

/* Record x as the last experience that the stream has added. */
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

/*
 * Return the size of x in bytes, if it is sent by value: its frames and its
 * tail.
 */
static inline size_t
frames_len(const struct frames *f, const struct experience *x)
{
	return frames_per(f) * f->bytes + frames_tail_len(x);
}

/*
 * Create an experience from its value, the len bytes at p, which begin with 2 *
 * stack frames.  A frame is not stored again if it is already in this
 * experience or in `prev`, which may be NULL.
 */
struct experience *frames_split(struct frames *f, const struct experience *prev,
    const uint8_t *p, size_t len);

/*
 * Create a frame without users for frames_reference().  The caller must fill in
 * its bytes.
 */
struct frame *frames_new_blank(struct frames *f);

/* Create a frame without users, with a copy of the bytes at p. */
struct frame *frames_new_copy(struct frames *f, const uint8_t *p);

/*
 * Create a frame without users from a blob that has room for a struct frame in
 * front of it, and hold the blob.
 */
struct frame *frames_new_from_blob(struct frames *f, struct blob *b);

/* Free a frame if no experience uses it. */
void frames_drop_unused(struct frames *f, struct frame *one);

/*
 * Create an experience with 2 * stack frames, and add one user to each of them.
 * Its tail is the content of the blob without the first `skip` bytes.  If the
 * tail is long, hold the blob.
 */
struct experience *frames_reference(struct frames *f,
    struct frame *const *frame, struct blob *tail, size_t skip);

/*
 * Create an experience like frames_reference(), but with a copy of len bytes as
 * its tail.
 */
struct experience *frames_reference_copy(struct frames *f,
    struct frame *const *frame, const uint8_t *tail, size_t len);

/* Return the frame of prev with the bytes at p, or NULL. */
struct frame *frames_find(const struct frames *f,
    const struct experience *prev, const uint8_t *p);

/*
 * Prefetch an experience that will be drawn or freed, in two steps.  The first
 * step prefetches x.  The second step prefetches its frames and its tail,
 * because their addresses are in x.
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

/* Free an experience, and every frame that no other experience uses. */
void frames_drop(struct frames *f, struct experience *x);

/*
 * Number frames in the order of their first use.  frames_begin_listing() starts
 * a new listing.  frames_list_index() returns the index of a frame in this
 * listing.  It sets *fresh if the frame is new in the listing, and *n counts
 * the frames of the listing.
 */
void frames_begin_listing(struct frames *f);
uint32_t frames_list_index(const struct frames *f, struct frame *one,
    uint32_t *n, bool *fresh);

#endif
