/*
 * read-ahead.h - read a file in blocks, a few ahead of whoever looks at them
 *
 * A thread reads while the caller works; and when the caller finds that its
 * block is still being read, it reads the one after itself rather than wait,
 * so on two processors a pass over a file takes half of both, not their sum.
 * Each block has room before it, where the caller puts what it had left of
 * the block before, so nothing else is ever copied.
 * One thread makes all calls here; the descriptor, of a regular file, belongs
 * to the caller, outlives the reader, and keeps its place.  The blocks take
 * 5 MiB together.
 */
#ifndef INNET_CAPTURE_READ_AHEAD_H
#define INNET_CAPTURE_READ_AHEAD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	AHEAD_BLOCKS = 4, AHEAD_BLOCK_BYTES = 1024 * 1024,
	AHEAD_BEFORE_BYTES = 260 * 1024	/* room before each, for a frame */
};

/* Block k of the file is in place k % AHEAD_BLOCKS. */
struct ahead {
	int fd;
	off_t base;		/* where block 0 begins */
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t moved;	/* any of it has changed */
	uint64_t claimed;	/* blocks somebody reads or has read */
	uint64_t next;		/* the block the caller takes next */
	bool given, stop;	/* the one before it is the caller's */
	bool ready[AHEAD_BLOCKS];
	ssize_t got[AHEAD_BLOCKS];	/* bytes, 0 at the end, -errno */
	uint8_t *block[AHEAD_BLOCKS];	/* of bytes, behind their room */
	uint8_t *room;
};

/* Is there a place for one more block?  Under the lock. */
static inline bool
ahead_free(const struct ahead *a)
{
	return a->claimed < a->next - a->given + AHEAD_BLOCKS;
}

/* Claim the next block and read it.  Under the lock, but for the reading. */
static inline ssize_t
ahead_read(struct ahead *a)
{
	const uint64_t k = a->claimed++;
	const size_t i = k % AHEAD_BLOCKS;
	ssize_t n;

	a->ready[i] = false;
	pthread_mutex_unlock(&a->lock);
	do
		n = pread(a->fd, a->block[i], AHEAD_BLOCK_BYTES,
		    a->base + (off_t)k * AHEAD_BLOCK_BYTES);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		n = -errno;
	pthread_mutex_lock(&a->lock);
	a->got[i] = n;
	a->ready[i] = true;
	pthread_cond_broadcast(&a->moved);
	return n;
}

static inline void *
ahead_run(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if (!ahead_free(a))
			pthread_cond_wait(&a->moved, &a->lock);
		else if (ahead_read(a) <= 0)
			break;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Begin to read fd from where it stands; NULL if there is no more thread. */
static inline struct ahead *
ahead_start(int fd)
{
	const size_t each = AHEAD_BEFORE_BYTES + AHEAD_BLOCK_BYTES;
	struct ahead *a = calloc(1, sizeof(*a));
	sigset_t all, before;
	int rc;

	if (a == NULL)
		return NULL;
	a->fd = fd;
	a->base = lseek(fd, 0, SEEK_CUR);
	a->room = aligned_alloc(4096, AHEAD_BLOCKS * each);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->moved, NULL);
	for (size_t i = 0; i < AHEAD_BLOCKS && a->room != NULL; i++)
		a->block[i] = a->room + i * each + AHEAD_BEFORE_BYTES;
	sigfillset(&all);	/* signals are for the caller's thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = a->room == NULL || a->base == -1 ? ENOMEM :
	    pthread_create(&a->thread, NULL, ahead_run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return a;
	free(a->room);
	free(a);
	return NULL;
}

/*
 * The next block, with the left bytes at rest (of the block before, which is
 * given up) put before it: *at where they begin, and how many bytes there are
 * in all; left at the end of the file; or -1 with errno, and left as it was.
 * left is at most AHEAD_BEFORE_BYTES.  Not to be called again after the end.
 */
static inline ssize_t
ahead_next(struct ahead *a, const uint8_t *rest, size_t left, uint8_t **at)
{
	const size_t i = a->next % AHEAD_BLOCKS;
	ssize_t n;

	pthread_mutex_lock(&a->lock);
	while (a->claimed <= a->next || !a->ready[i]) {
		if (ahead_free(a))
			ahead_read(a);
		else
			pthread_cond_wait(&a->moved, &a->lock);
	}
	n = a->got[i];
	if (n < 0) {
		pthread_mutex_unlock(&a->lock);
		errno = (int)-n;
		return -1;
	}
	*at = a->block[i] - left;
	memcpy(*at, rest, left);
	a->given = true;
	a->next++;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	return (ssize_t)left + n;
}

/* Stop reading, wherever it stands. */
static inline void
ahead_stop(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->moved);
	pthread_mutex_destroy(&a->lock);
	free(a->room);
	free(a);
}

#endif
