/*
 * write-behind.h - write a file in blocks while the next one is filled
 *
 * A thread writes one block; the caller fills another, gives it, and has the
 * first back.  So on two processors a pass that makes a file takes as long as
 * the slower of making and writing, not their sum.  Blocks are malloc()ed and
 * of one size, the caller's.  One thread makes all calls here; the descriptor
 * belongs to the caller and outlives the writer.  Who dies of SIGPIPE dies of
 * it here, too; all other signals are for the caller's thread.
 */
#ifndef INNET_CAPTURE_WRITE_BEHIND_H
#define INNET_CAPTURE_WRITE_BEHIND_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct behind {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t moved;	/* any of it has changed */
	uint8_t *full;		/* the block being written, or NULL */
	size_t have;		/* in it */
	uint8_t *spare;		/* the other one, or NULL: the caller has it */
	uint64_t bytes;		/* written so far */
	int failed;		/* errno of the write that failed, or 0 */
	bool stop;
};

/* Write len bytes, and add to *bytes what went.  0, or an errno. */
static inline int
behind_write(int fd, const uint8_t *p, size_t len, uint64_t *bytes)
{
	ssize_t n;

	for (size_t done = 0; done < len;) {
		n = write(fd, p + done, len - done);
		if (n == -1 && errno != EINTR)
			return errno;
		if (n > 0) {
			done += (size_t)n;
			*bytes += (uint64_t)n;
		}
	}
	return 0;
}

static inline void *
behind_run(void *arg)
{
	struct behind *b = arg;
	uint64_t bytes;
	int failed;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		while (b->full == NULL && !b->stop)
			pthread_cond_wait(&b->moved, &b->lock);
		if (b->full == NULL)
			break;
		failed = b->failed;
		bytes = b->bytes;
		pthread_mutex_unlock(&b->lock);
		if (failed == 0)
			failed = behind_write(b->fd, b->full, b->have, &bytes);
		pthread_mutex_lock(&b->lock);
		b->failed = failed;
		b->bytes = bytes;
		b->spare = b->full;
		b->full = NULL;
		pthread_cond_signal(&b->moved);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Is there a processor beside the one that fills blocks? */
static inline bool
behind_pays(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 &&
	    CPU_COUNT(&set) > 1;
}

/*
 * Begin to write into fd, of which bytes are written; blocks are of size.  NULL
 * without memory or thread.
 */
static inline struct behind *
behind_start(int fd, uint64_t bytes, size_t size)
{
	struct behind *b = calloc(1, sizeof(*b));
	sigset_t most, before;
	int rc;

	if (b == NULL)
		return NULL;
	b->fd = fd;
	b->bytes = bytes;
	b->spare = malloc(size);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->moved, NULL);
	sigfillset(&most);
	sigdelset(&most, SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &most, &before);
	rc = b->spare == NULL ? ENOMEM :
	    pthread_create(&b->thread, NULL, behind_run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return b;
	free(b->spare);
	free(b);
	return NULL;
}

/* Wait until all that was given is written, or failed. */
static inline void
behind_wait(struct behind *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->full != NULL)
		pthread_cond_wait(&b->moved, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/* Give a block with have bytes in it for another one, which is empty. */
static inline uint8_t *
behind_give(struct behind *b, uint8_t *block, size_t have)
{
	uint8_t *other;

	pthread_mutex_lock(&b->lock);
	while (b->full != NULL)
		pthread_cond_wait(&b->moved, &b->lock);
	other = b->spare;
	b->spare = NULL;
	b->full = block;
	b->have = have;
	pthread_cond_signal(&b->moved);
	pthread_mutex_unlock(&b->lock);
	return other;
}

/* The end, when all is written. */
static inline void
behind_stop(struct behind *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->moved);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->moved);
	pthread_mutex_destroy(&b->lock);
	free(b->spare);
	free(b);
}

#endif
