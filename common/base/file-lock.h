/*
 * file-lock.h - lock a file so that only one server at a time uses it
 *
 * Only the process that holds the lock on FILE.lock may write FILE.  FILE
 * itself is not locked, because a save replaces it with another file.  A server
 * and its child process that saves FILE share this lock.  The kernel releases
 * the lock when both processes have ended, even if they were killed.  A lock
 * file that still exists after that has no meaning.  A server that ends
 * normally removes its lock file.
 */
#ifndef INNET_BASE_FILE_LOCK_H
#define INNET_BASE_FILE_LOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_LOCK_WAIT_MS = 2000,	/* longest wait for a lock: if a server
					 * was killed, its child may still be
					 * writing the file */
	FILE_LOCK_LOOK_MS = 10
};

/*
 * Acquire the lock of the file at path.  Returns a descriptor for
 * file_lock_release(), or -1 with errno.  errno is EWOULDBLOCK if another
 * process still holds the lock after FILE_LOCK_WAIT_MS.
 */
static inline int file_lock_acquire(const char *path);

/* Release the lock of the file at path and remove the lock file. */
static inline void file_lock_release(int fd, const char *path);

/*
 * Lock the file at path itself, so that no server uses it under another name (a
 * hard link).  Returns its descriptor, which the caller must close, or -1 with
 * errno.  errno is ENOENT if the file does not exist, ELOOP if it is a symbolic
 * link, and EWOULDBLOCK if another process holds the lock.
 */
static inline int file_lock_hold(const char *path);

/* implementation */

/*
 * Try once to lock the file `name`.  Create the file if it does not exist.
 * Returns its descriptor, or -1 with errno.  errno is EAGAIN if another process
 * holds the lock, or if the file was removed in the meantime.
 */
static inline int
file_lock_try(const char *name)
{
	const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	struct stat st = { 0 };
	int why = EAGAIN;

	if (fd == -1)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == -1 || fstat(fd, &st) == -1)
		why = errno;
	else if (st.st_nlink > 0)
		return fd;
	close(fd);
	errno = why;
	return -1;
}

static inline int
file_lock_acquire(const char *path)
{
	char *name;
	int fd, why;

	if (asprintf(&name, "%s.lock", path) == -1)
		return -1;
	for (int ms = 0; (fd = file_lock_try(name)) == -1 && errno == EAGAIN &&
	    ms < FILE_LOCK_WAIT_MS; ms += FILE_LOCK_LOOK_MS)
		usleep(FILE_LOCK_LOOK_MS * 1000);
	why = errno;
	free(name);
	errno = why;
	return fd;
}

static inline void
file_lock_release(int fd, const char *path)
{
	char *name;

	if (asprintf(&name, "%s.lock", path) != -1) {
		unlink(name);	/* remove the lock file while we still hold the
				 * lock */
		free(name);
	}
	close(fd);
}

static inline int
file_lock_hold(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    O_NOFOLLOW);
	int why;

	for (int ms = 0; fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1;
	    ms += FILE_LOCK_LOOK_MS) {
		why = errno;
		if (why != EWOULDBLOCK || ms >= FILE_LOCK_WAIT_MS) {
			close(fd);
			errno = why;
			return -1;
		}
		usleep(FILE_LOCK_LOOK_MS * 1000);
	}
	return fd;
}

#endif
