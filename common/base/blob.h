/*
 * blob.h - bytes with a count of holders, and the account they stand in
 *
 * blob_new() gives a blob with one holder and bytes nobody has written yet;
 * blob_hold() adds a holder, and whoever holds it drops it: the last one frees
 * it.  Nobody writes to a blob that others hold.  An account says how much
 * there may be; what a blob costs is what malloc(3) takes for it.  Other
 * things of size (lists, buffers) stand in the same account by blobs_charge()
 * and blobs_force().  What is still to be freed stands there, too: whoever
 * needs room makes give() free of it.  One thread.
 */
#ifndef INNET_BASE_BLOB_H
#define INNET_BASE_BLOB_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct blob {
	uint32_t refs;
	size_t len;
	uint8_t bytes[];
};

struct blobs {
	size_t used;		/* bytes; past limit only by force */
	size_t limit;		/* bytes */
	size_t most;		/* that used has been, bytes */
	/* free until n bytes are left; false: they are not.  NULL: nothing */
	bool (*give)(void *arg, size_t n);
	void *arg;
};

/* Bytes that malloc(3) takes for n: a word before, and in sixteens. */
static inline size_t
blobs_cost(size_t n)
{
	return (n + sizeof(size_t) + 15) & ~(size_t)15;
}

/* Take n bytes of the account whether they are left or not. */
static inline void
blobs_force(struct blobs *bs, size_t n)
{
	bs->used += n;
	if (bs->used > bs->most)
		bs->most = bs->used;
}

/* Are n bytes left? */
static inline bool
blobs_left(const struct blobs *bs, size_t n)
{
	return bs->used <= bs->limit && n <= bs->limit - bs->used;
}

/* Are they, or can they be? */
static inline bool
blobs_room(const struct blobs *bs, size_t n)
{
	return blobs_left(bs, n) || (bs->give != NULL &&
	    bs->give(bs->arg, n));
}

/* Take n bytes; false, and nothing is taken, if they are not left. */
static inline bool
blobs_charge(struct blobs *bs, size_t n)
{
	if (!blobs_room(bs, n))
		return false;
	blobs_force(bs, n);
	return true;
}

static inline void
blobs_give(struct blobs *bs, size_t n)
{
	assert(bs->used >= n);
	bs->used -= n;
}

/* A blob of len bytes, held once; NULL past the limit or without memory. */
static inline struct blob *
blob_new(struct blobs *bs, size_t len)
{
	const size_t need = sizeof(struct blob) + len;
	struct blob *b;

	if (len > SIZE_MAX / 2 || !blobs_room(bs, blobs_cost(need)))
		return NULL;
	b = malloc(need);
	if (b == NULL)
		return NULL;
	blobs_force(bs, blobs_cost(need));
	b->refs = 1;
	b->len = len;
	return b;
}

/* The same with these bytes in it. */
static inline struct blob *
blob_copy(struct blobs *bs, const void *p, size_t len)
{
	struct blob *b = blob_new(bs, len);

	if (b != NULL && len > 0)
		memcpy(b->bytes, p, len);
	return b;
}

static inline struct blob *
blob_hold(struct blob *b)
{
	assert(b->refs > 0 && b->refs < UINT32_MAX);
	b->refs++;
	return b;
}

/* Let go of b, which may be NULL. */
static inline void
blob_drop(struct blobs *bs, struct blob *b)
{
	if (b == NULL)
		return;
	assert(b->refs > 0);
	if (--b->refs > 0)
		return;
	blobs_give(bs, blobs_cost(sizeof(*b) + b->len));
	free(b);
}

#endif
