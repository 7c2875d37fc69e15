/*
 * file-open.h - open a file that the user named and that may be a named pipe
 *
 * If the path is a named pipe (FIFO), the functions wait until another process
 * opens its other end.  If this takes longer than one second, they print one
 * message.  SIGINT and SIGTERM end the wait with EINTR, even if they are
 * blocked.  All other files are opened as usual.
 */
#ifndef INNET_BASE_FILE_OPEN_H
#define INNET_BASE_FILE_OPEN_H

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/message.h"

enum { FILE_OPEN_POLL_MS = 20, FILE_OPEN_WARN_MS = 1000 };

/*
 * Is path a named pipe?  The result is false for a pipe that the shell created,
 * because the other end of such a pipe is already open.
 */
static inline bool
file_open_is_fifo(const char *path)
{
	struct statfs fs;
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode) &&
	    statfs(path, &fs) == 0 && fs.f_type != PIPEFS_MAGIC;
}

/* Is SIGINT or SIGTERM pending, and would it end the process? */
static inline bool
file_open_stopped(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && (sigismember(&set, SIGINT) == 1 ||
	    sigismember(&set, SIGTERM) == 1);
}

/* Close fd unless it is -1.  Returns -1 and keeps errno. */
static inline int
file_open_fail(int fd)
{
	const int why = errno;

	if (fd != -1)
		close(fd);
	errno = why;
	return -1;
}

/*
 * Wait for input on fd for at most FILE_OPEN_POLL_MS.  If fd is -1, only wait.
 * `ms` is the time that the caller has already waited.  If `ms` is
 * FILE_OPEN_WARN_MS, print `why` as the reason for the wait.  Returns true if
 * there is input.  Otherwise returns false with errno, which is 0 if the caller
 * should try again.
 */
static inline bool
file_open_poll(const char *path, const char *why, int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	if (ms == FILE_OPEN_WARN_MS)
		warnx("%s: %s", path, why);
	n = poll(&p, 1, FILE_OPEN_POLL_MS);
	if (n == 0)
		errno = file_open_stopped() ? EINTR : 0;
	return n > 0;
}

/*
 * Open the file at path for reading.  Returns a descriptor, or -1 with errno.
 */
static inline int
file_open_read(const char *path)
{
	const bool fifo = file_open_is_fifo(path);
	const int fd = open(path, O_RDONLY | O_CLOEXEC |
	    (fifo ? O_NONBLOCK : 0));

	for (int ms = 0; fifo && fd != -1 && !file_open_poll(path,
	    "waiting for data from this pipe", fd, ms);
	    ms += ms <= FILE_OPEN_WARN_MS ? FILE_OPEN_POLL_MS : 0) {
		if (errno != 0)
			return file_open_fail(fd);
	}
	if (fifo && fd != -1 && fcntl(fd, F_SETFL, 0) == -1)
		return file_open_fail(fd);
	return fd;
}

/*
 * Open the file at path so that its content can be read twice and has a known
 * length.  The content of a pipe or of standard input ("-") is copied to memory
 * first.  Returns a descriptor, or -1 with errno.
 */
static inline int
file_open_again(const char *path)
{
	const bool std = strcmp(path, "-") == 0;
	const int in = std ? STDIN_FILENO : file_open_read(path);
	char buf[65536];
	struct stat st;
	ssize_t n;
	int fd;

	if (in == -1)
		return -1;
	if (fstat(in, &st) == -1)
		return std ? -1 : file_open_fail(in);
	if (S_ISREG(st.st_mode) && !std)
		return in;
	fd = memfd_create("innet", MFD_CLOEXEC);
	while (fd != -1 && (n = read(in, buf, sizeof(buf))) != 0) {
		if (n == -1 || write(fd, buf, (size_t)n) != n)
			fd = file_open_fail(fd);
	}
	if (fd != -1 && lseek(fd, 0, SEEK_SET) == -1)
		fd = file_open_fail(fd);
	if (!std)
		file_open_fail(in);
	return fd;
}

/*
 * Open the file at path for writing; `flags` are additional flags of open(2).
 * A new file gets the mode 0666 without the bits of the umask.  If path is a
 * pipe without a reader and `waits` is true, wait for a reader.  If `waits` is
 * false, fail with ENXIO.  Returns a descriptor, or -1 with errno.
 */
static inline int
file_open_write(const char *path, int flags, bool waits)
{
	const bool fifo = file_open_is_fifo(path);
	int fd;

	flags |= O_WRONLY | O_CLOEXEC | (fifo ? O_NONBLOCK : 0);
	fd = open(path, flags, 0666);
	for (int ms = 0; fd == -1 && fifo && waits && errno == ENXIO;
	    ms += ms <= FILE_OPEN_WARN_MS ? FILE_OPEN_POLL_MS : 0) {
		file_open_poll(path, "waiting for a reader of this pipe", -1,
		    ms);
		if (errno != 0)
			return -1;
		fd = open(path, flags, 0666);
	}
	if (fifo && fd != -1 && fcntl(fd, F_SETFL, 0) == -1)
		return file_open_fail(fd);
	return fd;
}

/*
 * Open the file at path as a stream for reading.  If `out` is true, truncate
 * the file and open it for writing instead.  Returns NULL and sets errno on
 * failure.
 */
static inline FILE *
file_open_stream(const char *path, bool out)
{
	const int fd = out ? file_open_write(path, O_CREAT | O_TRUNC, true) :
	    file_open_read(path);
	FILE *f = fd == -1 ? NULL : fdopen(fd, out ? "w" : "r");

	if (f == NULL)
		file_open_fail(fd);
	return f;
}

#endif
