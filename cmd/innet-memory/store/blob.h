/*
 * blob.h - bytes with a count of holders, and an account that limits memory
 *
 * blob_new() returns a blob with one holder; its bytes are not yet initialised.
 * blob_new_behind() also reserves room in front of the blob for data of the
 * holder.  This room is freed together with the blob.  blob_hold() adds a
 * holder, and blob_drop() removes one; removing the last holder frees the blob.
 * Do not write to a blob that has other holders.
 *
 * A struct account counts the memory in use and has a limit.  A blob costs as
 * many bytes as malloc(3) uses for it.  account_charge() and account_force()
 * count other large data, such as lists and buffers.  Removed data that
 * lazy-free.h has not freed yet also counts.  If there is not enough room, the
 * account calls reclaim() to free some memory.  All functions must be called
 * from the same thread.
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
	uint32_t front;		/* size of the room in front of the blob */
	size_t len;
	uint8_t bytes[];
};

/*
 * Freed pieces that cost up to this many bytes are kept for reuse.  PER.ADD
 * evicts as many experiences as it adds, and it spent a fifth of its time in
 * malloc(3) and free(3) without this reuse.
 */
enum { ACCOUNT_SPARE_MOST = 2048 };

/* A piece of memory that was freed and is kept for reuse. */
struct account_spare {
	struct account_spare *next;
};

struct account {
	size_t used;	/* number of bytes in use; account_force() can exceed
			 * `limit` */
	size_t limit;		/* limit of `used`, in bytes */
	size_t most;		/* highest value of `used`, in bytes */
	/*
	 * Frees memory until n more bytes can be charged, or returns false.
	 * The pointer may be NULL.
	 */
	bool (*reclaim)(void *arg, size_t n);
	void *arg;
	size_t keep;		/* limit of `spare_bytes` */
	size_t spare_bytes;	/* total size of spare[]; not part of `used` */
	/* lists of pieces, indexed by cost / 16 */
	struct account_spare *spare[ACCOUNT_SPARE_MOST / 16 + 1];
};

/*
 * Return the number of bytes that malloc(3) uses for n bytes: n plus one word,
 * rounded up to a multiple of 16.
 */
static inline size_t account_cost(size_t n);

/* Return true if n more bytes can be charged without exceeding the limit. */
static inline bool account_has_left(const struct account *bs, size_t n);

/*
 * Return true if n more bytes can be charged, if necessary after reclaim() has
 * freed memory.
 */
static inline bool account_has_room(const struct account *bs, size_t n);

/*
 * Charge n bytes to the account; if there is no room, return false and charge
 * nothing.
 */
static inline bool account_charge(struct account *bs, size_t n);

/* Charge n bytes to the account even if this exceeds the limit. */
static inline void account_force(struct account *bs, size_t n);

/* Subtract n bytes from the account. */
static inline void account_uncharge(struct account *bs, size_t n);

/*
 * Allocate and charge n bytes, where n is at least 1.  Return NULL if there is
 * no room or no memory.
 */
static inline void *account_alloc(struct account *bs, size_t n);

/* Free n bytes that account_alloc() has returned, or keep them for reuse. */
static inline void account_free(struct account *bs, void *p, size_t n);

/* Free all spare pieces. */
static inline void account_free_spare(struct account *bs);

/*
 * Return a blob of len bytes with one holder, or NULL if there is no room or no
 * memory.
 */
static inline struct blob *blob_new(struct account *bs, size_t len);

/*
 * Return a blob like blob_new(), but with `front` bytes of room in front of it.
 * `front` must be a multiple of 16; the room is aligned like memory of
 * malloc(3).
 */
static inline struct blob *blob_new_behind(struct account *bs, uint32_t front,
    size_t len);

/* Return a blob with a copy of len bytes at p. */
static inline struct blob *blob_copy(struct account *bs, const void *p,
    size_t len);

/* Return the address of the room in front of b. */
static inline void *blob_front(struct blob *b);

/* Add a holder to b, and return b. */
static inline struct blob *blob_hold(struct blob *b);

/* Remove a holder of b and free b after its last one. b may be NULL. */
static inline void blob_drop(struct account *bs, struct blob *b);

/* implementation */

static inline size_t
account_cost(size_t n)
{
	return (n + sizeof(size_t) + 15) & ~(size_t)15;
}

static inline void
account_force(struct account *bs, size_t n)
{
	bs->used += n;
	if (bs->used > bs->most)
		bs->most = bs->used;
}

static inline bool
account_has_left(const struct account *bs, size_t n)
{
	return bs->used <= bs->limit && n <= bs->limit - bs->used;
}

static inline bool
account_has_room(const struct account *bs, size_t n)
{
	return account_has_left(bs, n) || (bs->reclaim != NULL &&
	    bs->reclaim(bs->arg, n));
}

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
		/*
		 * allocate as many bytes as the piece costs, because it can be
		 * reused
		 */
		p = malloc(cost - sizeof(size_t));
	}
	if (p != NULL)
		account_force(bs, cost);
	return p;
}

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

static inline void *
blob_front(struct blob *b)
{
	return (char *)b - b->front;
}

static inline struct blob *
blob_new(struct account *bs, size_t len)
{
	return blob_new_behind(bs, 0, len);
}

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
