/*
 * blob.h - bytes with a count of holders, and the account they stand in
 *
 * blob_new() gives a blob with one holder and bytes nobody has written yet,
 * blob_new_behind() one behind room for something of its holder's, which is
 * there as long as the blob; blob_hold() adds a holder, and whoever holds it
 * drops it: the last one frees it.  Nobody writes to a blob that others hold.
 * An account says how much there may be; what a blob costs is what malloc(3)
 * takes for it.  Other things of size (lists, buffers) stand in the same
 * account by account_charge() and account_force().  What is still to be freed
 * stands there, too: whoever needs room makes give() free of it.  One thread.
 */
#ifndef INNET_MEMORY_STORE_BLOB_H
#define INNET_MEMORY_STORE_BLOB_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct blob {
	uint32_t refs;
	uint32_t front;		/* bytes before it, its holder's */
	size_t len;
	uint8_t bytes[];
};

/*
 * Pieces that cost up to so many bytes are kept when they are given back, for
 * who takes as much next: a push evicts as many experiences as it brings, and
 * malloc(3) and free(3) were a fifth of its time.
 */
enum { ACCOUNT_SPARE_MOST = 2048 };

struct account_spare {
	struct account_spare *next;
};

struct account {
	size_t used;		/* bytes; past limit only by force */
	size_t limit;		/* bytes */
	size_t most;		/* that used has been, bytes */
	/* free until n bytes are left; false: they are not.  NULL: nothing */
	bool (*reclaim)(void *arg, size_t n);
	void *arg;
	size_t keep;		/* bytes of spare pieces there may be; */
	size_t spare_bytes;	/* there are, which are not used */
	struct account_spare *spare[ACCOUNT_SPARE_MOST / 16 + 1]; /* by cost */
};

/* Bytes that malloc(3) takes for n: a word before, and in sixteens. */
static inline size_t
account_cost(size_t n)
{
	return (n + sizeof(size_t) + 15) & ~(size_t)15;
}

/* Take n bytes of the account whether they are left or not. */
static inline void
account_force(struct account *bs, size_t n)
{
	bs->used += n;
	if (bs->used > bs->most)
		bs->most = bs->used;
}

/* Are n bytes left? */
static inline bool
account_has_left(const struct account *bs, size_t n)
{
	return bs->used <= bs->limit && n <= bs->limit - bs->used;
}

/* Are they, or can they be? */
static inline bool
account_has_room(const struct account *bs, size_t n)
{
	return account_has_left(bs, n) || (bs->reclaim != NULL &&
	    bs->reclaim(bs->arg, n));
}

/* Take n bytes; false, and nothing is taken, if they are not left. */
static inline bool
account_charge(struct account *bs, size_t n)
{
	if (!account_has_room(bs, n))
		return false;
	account_force(bs, n);
	return true;
}

static inline void
account_uncharge(struct account *bs, size_t n)
{
	assert(bs->used >= n);
	bs->used -= n;
}

/* n bytes, at least 1, from malloc(3), charged; NULL as above. */
static inline void *
account_alloc(struct account *bs, size_t n)
{
	const size_t cost = account_cost(n);
	struct account_spare *p;

	if (!account_has_room(bs, cost))
		return NULL;
	p = cost > ACCOUNT_SPARE_MOST ? NULL : bs->spare[cost / 16];
	if (p != NULL) {
		bs->spare[cost / 16] = p->next;
		bs->spare_bytes -= cost;
	} else {
		/* for whoever costs as much, as it may be spare once */
		p = malloc(cost - sizeof(size_t));
	}
	if (p != NULL)
		account_force(bs, cost);
	return p;
}

/* Free what is kept. */
static inline void
account_free_spare(struct account *bs)
{
	for (size_t i = 0; i <= ACCOUNT_SPARE_MOST / 16; i++) {
		struct account_spare *s = bs->spare[i];

		while (s != NULL) {
			struct account_spare *next = s->next;

			free(s);
			s = next;
		}
		bs->spare[i] = NULL;
	}
	bs->spare_bytes = 0;
}

/* Give n bytes back.  Where no more are kept others go, or they might stay. */
static inline void
account_free(struct account *bs, void *p, size_t n)
{
	const size_t cost = account_cost(n);
	struct account_spare *s = p;

	account_uncharge(bs, cost);
	if (cost > ACCOUNT_SPARE_MOST || cost > bs->keep) {
		free(p);
		return;
	}
	if (bs->spare_bytes + cost > bs->keep)
		account_free_spare(bs);
	s->next = bs->spare[cost / 16];
	bs->spare[cost / 16] = s;
	bs->spare_bytes += cost;
}

/*
 * A blob of len bytes, held once, behind so many that nobody has written yet;
 * these are as malloc(3) aligns them.  NULL past the limit or without memory.
 */
static inline struct blob *
blob_new_behind(struct account *bs, uint32_t front, size_t len)
{
	const size_t need = front + sizeof(struct blob) + len;
	struct blob *b;
	char *p;

	assert(front % 16 == 0);
	p = len > SIZE_MAX / 2 ? NULL : account_alloc(bs, need);
	if (p == NULL)
		return NULL;
	b = (struct blob *)(void *)(p + front);
	b->refs = 1;
	b->front = front;
	b->len = len;
	return b;
}

/* What stands before b. */
static inline void *
blob_front(struct blob *b)
{
	return (char *)b - b->front;
}

/* The same with nothing before it. */
static inline struct blob *
blob_new(struct account *bs, size_t len)
{
	return blob_new_behind(bs, 0, len);
}

/* And with these bytes in it. */
static inline struct blob *
blob_copy(struct account *bs, const void *p, size_t len)
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
blob_drop(struct account *bs, struct blob *b)
{
	if (b == NULL)
		return;
	assert(b->refs > 0);
	if (--b->refs > 0)
		return;
	account_free(bs, blob_front(b), b->front + sizeof(*b) + b->len);
}

#endif
