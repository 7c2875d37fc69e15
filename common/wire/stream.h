/*
 * stream.h - the gradient stream between innet-worker and its child process
 *
 * innet-stream(5) describes the format, which is the same in both directions.
 * A message consists of a 32-byte little-endian header and a body.  The body
 * has `elements` float32 numbers or, in a hello and a state, `elements` bytes.
 *
 * A struct stream_in collects bytes that arrive in pieces of any size, and
 * returns whole messages.  The body of a message is borrowed until the next
 * call.  A struct stream_in owns its buffer, which stream_in_free() frees.
 * Only stream_in_fill() and stream_write_all() use a file descriptor.
 */
#ifndef INNET_WIRE_STREAM_H
#define INNET_WIRE_STREAM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	STREAM_HEADER_BYTES = 32,
	STREAM_HELLO_MAX_BYTES = 65536,
	STREAM_PIPE_BYTES = 1 << 20	/* size of the pipes, which is the
					 * default limit for F_SETPIPE_SZ */
};

/* The longest vector: 1 GiB of float32. */
#define STREAM_ELEMENTS_MAX ((uint32_t)1 << 28)
#define STREAM_STATE_MAX ((uint32_t)1 << 30)	/* bytes */

enum stream_kind {
	STREAM_HELLO = 1, STREAM_GRADIENT, STREAM_RESULT, STREAM_WEIGHTS,
	STREAM_BYE, STREAM_STATE
};

enum stream_flag {
	STREAM_MODEL = 1,	/* in a result: it is a model and not a sum; in
				 * a state: it must be loaded */
	STREAM_PARTIAL = 2,	/* the result has fewer than H contributions */
	STREAM_MORE = 4		/* more results follow immediately */
};

struct stream_head {
	uint16_t kind;		/* a value of enum stream_kind */
	uint16_t flags;		/* values of enum stream_flag, combined */
	uint32_t elements;	/* number of float32 numbers in the body; in a
				 * hello and a state: number of bytes */
	float reward;
	uint64_t iteration;
	uint32_t contributions;
	uint32_t staleness;	/* staleness of the result, in iterations */
};

struct stream_in {
	uint8_t *buf;
	size_t have, used, cap;	/* number of bytes in `buf` that were read;
				 * number of bytes that were returned; number of
				 * bytes that are allocated */
	uint64_t offset;	/* total number of bytes that were returned so
				 * far, used in error messages */
};

/*
 * Read once from fd, after making room for at least `missing` bytes.  Returns
 * the number of bytes read, 0 at the end of the file, or -1 with errno, which
 * can be EAGAIN, EINTR or ENOMEM.
 */
static inline ssize_t stream_in_fill(struct stream_in *in, int fd,
    size_t missing);

/*
 * Get the next whole message.  Store its header in *h, and set *body to its
 * body, which is borrowed and aligned for float.  Returns 1 on success, and 0
 * if at least *missing more bytes are needed.  Returns -1 if the bytes are not
 * a message.  In this case *why is the reason and in->offset is the position.
 */
static inline int stream_in_next(struct stream_in *in, struct stream_head *h,
    const uint8_t **body, size_t *missing, const char **why);

/*
 * Make room in the buffer for n more bytes.  Returns a pointer to this room, or
 * NULL if there is no memory.  The bytes in the buffer may move, so a body that
 * was borrowed is no longer valid.
 */
static inline uint8_t *stream_in_room(struct stream_in *in, size_t n);

/* Free the buffer. */
static inline void stream_in_free(struct stream_in *in);

/*
 * Write a header and its body to a blocking fd.  Returns -1 with errno on
 * failure.
 */
static inline int stream_write_all(int fd, const struct stream_head *h,
    const void *body);

/* Return the number of bytes in the body that follows header h. */
static inline size_t stream_body_bytes(const struct stream_head *h);

/* Write header h as 32 bytes to p. */
static inline void stream_put(uint8_t p[STREAM_HEADER_BYTES],
    const struct stream_head *h);

/* Read the 32 bytes at p into header h.  Returns NULL or an error message. */
static inline const char *stream_get(const uint8_t p[STREAM_HEADER_BYTES],
    struct stream_head *h);

/*
 * Write the n least significant bytes of v to p, the least significant byte
 * first.
 */
static inline void stream_put_le(uint8_t *p, uint64_t v, size_t n);

/*
 * Return the n bytes at p as one number; the first byte is the least
 * significant.
 */
static inline uint64_t stream_get_le(const uint8_t *p, size_t n);

/* implementation */

static inline void
stream_put_le(uint8_t *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t
stream_get_le(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static inline void
stream_put(uint8_t p[STREAM_HEADER_BYTES], const struct stream_head *h)
{
	uint32_t reward;

	memcpy(&reward, &h->reward, sizeof(reward));
	memcpy(p, "INET", 4);
	stream_put_le(p + 4, h->kind, 2);
	stream_put_le(p + 6, h->flags, 2);
	stream_put_le(p + 8, h->elements, 4);
	stream_put_le(p + 12, reward, 4);
	stream_put_le(p + 16, h->iteration, 8);
	stream_put_le(p + 24, h->contributions, 4);
	stream_put_le(p + 28, h->staleness, 4);
}

static inline const char *
stream_get(const uint8_t p[STREAM_HEADER_BYTES], struct stream_head *h)
{
	uint32_t reward = (uint32_t)stream_get_le(p + 12, 4);

	if (memcmp(p, "INET", 4) != 0)
		return "does not begin with INET";
	*h = (struct stream_head){
		.kind = (uint16_t)stream_get_le(p + 4, 2),
		.flags = (uint16_t)stream_get_le(p + 6, 2),
		.elements = (uint32_t)stream_get_le(p + 8, 4),
		.iteration = stream_get_le(p + 16, 8),
		.contributions = (uint32_t)stream_get_le(p + 24, 4),
		.staleness = (uint32_t)stream_get_le(p + 28, 4),
	};
	memcpy(&h->reward, &reward, sizeof(reward));
	if (h->kind < STREAM_HELLO || h->kind > STREAM_STATE)
		return "unknown kind of message";
	if (h->kind == STREAM_HELLO && h->elements > STREAM_HELLO_MAX_BYTES)
		return "a hello longer than 64 KiB";
	if (h->kind == STREAM_STATE && h->elements > STREAM_STATE_MAX)
		return "a state longer than 1 GiB";
	if (h->kind != STREAM_STATE && h->elements > STREAM_ELEMENTS_MAX)
		return "a vector longer than 268435456 elements";
	return NULL;
}

static inline size_t
stream_body_bytes(const struct stream_head *h)
{
	if (h->kind == STREAM_HELLO || h->kind == STREAM_STATE)
		return h->elements;
	return (size_t)h->elements * sizeof(float);
}

static inline void
stream_in_free(struct stream_in *in)
{
	free(in->buf);
	*in = (struct stream_in){ 0 };
}

static inline uint8_t *
stream_in_room(struct stream_in *in, size_t n)
{
	uint8_t *p;

	if (in->used > 0) {
		memmove(in->buf, in->buf + in->used, in->have - in->used);
		in->have -= in->used;
		in->used = 0;
	}
	if (in->cap - in->have < n) {
		size_t cap = in->have + n;

		cap = cap < 65536 ? 65536 : cap + cap / 2;
		p = realloc(in->buf, cap);
		if (p == NULL)
			return NULL;
		in->buf = p;
		in->cap = cap;
	}
	return in->buf + in->have;
}

static inline int
stream_in_next(struct stream_in *in, struct stream_head *h,
    const uint8_t **body, size_t *missing, const char **why)
{
	size_t left = in->have - in->used, need = STREAM_HEADER_BYTES;

	if (left >= need) {
		*why = stream_get(in->buf + in->used, h);
		if (*why != NULL)
			return -1;
		need += stream_body_bytes(h);
	}
	if (left < need) {
		*missing = need - left;
		return 0;
	}
	*body = in->buf + in->used + STREAM_HEADER_BYTES;
	if ((uintptr_t)*body % sizeof(float) != 0) {
		/*
		 * The bytes must be moved only after a hello whose length is
		 * not a multiple of 4, which happens at most once in a session.
		 */
		memmove(in->buf, in->buf + in->used, left);
		in->have = left;
		in->used = 0;
		*body = in->buf + STREAM_HEADER_BYTES;
	}
	in->used += need;
	in->offset += need;
	return 1;
}

static inline ssize_t
stream_in_fill(struct stream_in *in, int fd, size_t missing)
{
	uint8_t *p = stream_in_room(in, missing < 65536 ? 65536 : missing);
	ssize_t n;

	if (p == NULL) {
		errno = ENOMEM;
		return -1;
	}
	n = read(fd, p, in->cap - in->have);
	if (n > 0)
		in->have += (size_t)n;
	return n;
}

static inline int
stream_write_all(int fd, const struct stream_head *h, const void *body)
{
	uint8_t head[STREAM_HEADER_BYTES];
	size_t len = stream_body_bytes(h), done = 0;
	const uint8_t *p = body;

	stream_put(head, h);
	while (done < sizeof(head) + len) {
		size_t off = done < sizeof(head) ? 0 : done - sizeof(head);
		struct iovec v[2] = {
			{ head + done, sizeof(head) - done },
			{ (void *)(uintptr_t)(p == NULL ? p : p + off),
			    len - off },
		};
		bool body_only = done >= sizeof(head);
		ssize_t n = body_only ? writev(fd, v + 1, 1) : writev(fd, v, 2);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

#endif
