/*
 * ahead.h - read a file in blocks, a few ahead of whoever looks at them
 *
 * A thread reads while the caller works, so that on two processors a pass
 * over a file takes the longer of both, not their sum.  Each block has room
 * before it, where the caller puts what it had left of the block before, so
 * nothing else is ever copied.
 * One thread makes all calls here; the descriptor belongs to the caller and
 * outlives the reader.  The blocks take 3.8 MiB together; smaller ones cost
 * more in waking each other up than they gain by staying in the cache.
 */
#ifndef INNET_AHEAD_H
#define INNET_AHEAD_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	AHEAD_BLOCKS = 3, AHEAD_BLOCK_BYTES = 1024 * 1024,
	AHEAD_BEFORE_BYTES = 260 * 1024	/* room before each, for a frame */
};

struct ahead {
	int fd;
	pthread_t thread;
	sem_t empty, full;
	size_t next;		/* the block that comes next */
	bool given;		/* the block before it is the caller's */
	ssize_t got[AHEAD_BLOCKS];	/* bytes, 0 at the end, -errno */
	uint8_t *block[AHEAD_BLOCKS];	/* of bytes, behind their room */
	uint8_t *room;
};

static inline void *
ahead_read(void *arg)
{
	struct ahead *a = arg;
	ssize_t n = 1;

	for (size_t i = 0; n > 0; i = (i + 1) % AHEAD_BLOCKS) {
		while (sem_wait(&a->empty) == -1)
			;
		do
			n = read(a->fd, a->block[i], AHEAD_BLOCK_BYTES);
		while (n == -1 && errno == EINTR);
		a->got[i] = n == -1 ? -errno : n;
		sem_post(&a->full);
	}
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
	a->room = aligned_alloc(4096, AHEAD_BLOCKS * each);
	sem_init(&a->empty, 0, AHEAD_BLOCKS);
	sem_init(&a->full, 0, 0);
	for (size_t i = 0; i < AHEAD_BLOCKS && a->room != NULL; i++)
		a->block[i] = a->room + i * each + AHEAD_BEFORE_BYTES;
	sigfillset(&all);	/* signals are for the caller's thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = a->room == NULL ? ENOMEM :
	    pthread_create(&a->thread, NULL, ahead_read, a);
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
	const size_t i = a->next;

	while (sem_wait(&a->full) == -1)
		;
	if (a->got[i] < 0) {
		errno = (int)-a->got[i];
		return -1;
	}
	*at = a->block[i] - left;
	memcpy(*at, rest, left);
	if (a->given)
		sem_post(&a->empty);
	a->given = true;
	a->next = (i + 1) % AHEAD_BLOCKS;
	return (ssize_t)left + a->got[i];
}

/* Stop reading, wherever it stands. */
static inline void
ahead_stop(struct ahead *a)
{
	pthread_cancel(a->thread);
	pthread_join(a->thread, NULL);
	sem_destroy(&a->empty);
	sem_destroy(&a->full);
	free(a->room);
	free(a);
}

#endif
