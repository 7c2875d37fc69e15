/* lock.c - lock a file, so that one server at a time uses it */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-memory/store/lock.h"

enum { LOOK_MS = 10 };

/* Try once; errno is EAGAIN also if the file was removed meanwhile. */
static int
try_lock(const char *name)
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

int
lock_acquire(const char *path)
{
	char *name;
	int fd, why;

	if (asprintf(&name, "%s.lock", path) == -1)
		return -1;
	for (int ms = 0; (fd = try_lock(name)) == -1 && errno == EAGAIN &&
	    ms < LOCK_WAIT_MS; ms += LOOK_MS)
		usleep(LOOK_MS * 1000);
	why = errno;
	free(name);
	errno = why;
	return fd;
}

void
lock_release(int fd, const char *path)
{
	char *name;

	if (asprintf(&name, "%s.lock", path) != -1) {
		unlink(name);	/* while no other process can hold it */
		free(name);
	}
	close(fd);
}

int
lock_hold_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    O_NOFOLLOW);
	int why;

	for (int ms = 0; fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1;
	    ms += LOOK_MS) {
		why = errno;
		if (why != EWOULDBLOCK || ms >= LOCK_WAIT_MS) {
			close(fd);
			errno = why;
			return -1;
		}
		usleep(LOOK_MS * 1000);
	}
	return fd;
}
