/*
 * atomic-file.h - a file that is there whole or not at all
 *
 * What is written goes beside the file and takes its place at the end, so a
 * reader sees the old one or the new one, and a full disk or a crash leaves
 * the old.  "-" is the standard output; a device or a pipe is written itself
 * (file-open.h), and a link stays: what it leads to is written.
 * A struct atomic_file owns its descriptor until atomic_file_close().
 */
#ifndef INNET_BASE_ATOMIC_FILE_H
#define INNET_BASE_ATOMIC_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file-link.h"
#include "common/base/file-open.h"

struct atomic_file {
	const char *path;	/* borrowed */
	char *beside;		/* NULL: path itself is written */
	char *end;		/* it is replaced: path, or where that leads */
	int fd;			/* write here */
	mode_t mode;		/* it gets; 0: what the umask leaves */
};

/*
 * Of the file beside: one writer at a time, or a name that is none yet?  With
 * HERE it is TMP, and a link at path is replaced, not followed.
 */
enum atomic_file_how { ATOMIC_FILE_TMP, ATOMIC_FILE_CHOSEN, ATOMIC_FILE_HERE };

/*
 * Begin to write path, by way of path + tail; waits: for who reads a pipe.  0,
 * or -1 with errno.
 */
static inline int
atomic_file_begin(struct atomic_file *w, const char *path,
    enum atomic_file_how how, bool waits)
{
	const bool chosen = how == ATOMIC_FILE_CHOSEN;
	const bool here = how == ATOMIC_FILE_HERE;
	char end[PATH_MAX];
	struct stat st;

	*w = (struct atomic_file){ .path = path };
	if (strcmp(path, "-") == 0) {
		w->fd = dup(STDOUT_FILENO);
	} else if ((here ? lstat(path, &st) : stat(path, &st)) == 0 &&
	    !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		w->fd = file_open_write(path, 0, waits);
	} else {
		if (!here && !file_link_end(path, end))
			return -1;
		w->end = strdup(here ? path : end);
		if (w->end == NULL || asprintf(&w->beside, "%s%s", w->end,
		    chosen ? ".XXXXXX" : ".tmp") == -1) {
			free(w->end);
			return -1;
		}
		if (!chosen)
			unlink(w->beside);
		w->fd = chosen ? mkostemp(w->beside, O_CLOEXEC) :
		    open(w->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	}
	if (w->fd == -1) {
		free(w->beside);
		free(w->end);
	}
	return w->fd == -1 ? -1 : 0;
}

/* Begin to write path.  0, or -1 with errno, and then nothing is held. */
static inline int
atomic_file_open(struct atomic_file *w, const char *path)
{
	return atomic_file_begin(w, path, ATOMIC_FILE_CHOSEN, true);
}

/* The same while others are served: a pipe that nobody reads is ENXIO. */
static inline int
atomic_file_open_now(struct atomic_file *w, const char *path)
{
	return atomic_file_begin(w, path, ATOMIC_FILE_CHOSEN, false);
}

/*
 * The same for one writer at a time, in path + ".tmp": what a crash left
 * there, or a link, goes.
 */
static inline int
atomic_file_open_tmp(struct atomic_file *w, const char *path)
{
	return atomic_file_begin(w, path, ATOMIC_FILE_TMP, true);
}

/* The same where path was followed before: a link that is there now goes. */
static inline int
atomic_file_open_here(struct atomic_file *w, const char *path)
{
	return atomic_file_begin(w, path, ATOMIC_FILE_HERE, true);
}

/* Make path's entry in its folder last.  0, or -1 with errno. */
static inline int
atomic_file_sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL ? strdup(".") :
	    strndup(path, slash == path ? 1 : (size_t)(slash - path));
	int fd, rc, why;

	if (folder == NULL)
		return -1;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd == -1)
		return -1;
	rc = fsync(fd);
	why = errno;
	close(fd);
	errno = why;
	return rc;
}

/*
 * The end: put it in its place if good, else leave things as they were.  0,
 * or -1 with errno if it is not in its place (good was false: errno is kept).
 */
static inline int
atomic_file_close(struct atomic_file *w, bool good)
{
	const mode_t mask = umask(0);
	int why = good ? 0 : errno;

	umask(mask);
	if (why == 0 && good && w->beside != NULL &&
	    (fchmod(w->fd, w->mode != 0 ? w->mode : 0666 & ~mask) == -1 ||
	    fsync(w->fd) == -1))
		why = errno;
	if (close(w->fd) == -1 && why == 0)
		why = errno;
	if (w->beside != NULL && why == 0 && good &&
	    rename(w->beside, w->end) == -1)
		why = errno;
	if (w->beside != NULL && (why != 0 || !good))
		unlink(w->beside);
	free(w->beside);
	free(w->end);
	errno = why;
	return good && why == 0 ? 0 : -1;
}

/*
 * Could path be written?  A place that cannot be is better known early than at
 * the end.  It stays as it was; a pipe is not tried, whose reader would take
 * that for all.  0, or -1 with errno.
 */
static inline int
atomic_file_try(const char *path)
{
	struct atomic_file w;

	if (file_open_is_fifo(path))
		return 0;
	if (atomic_file_open(&w, path) == -1)
		return -1;
	atomic_file_close(&w, false);
	return 0;
}

/*
 * A stream onto w's descriptor, to be closed before w is.  NULL with errno, and
 * then w is closed and things are as they were.
 */
static inline FILE *
atomic_file_stream(struct atomic_file *w)
{
	const int fd = dup(w->fd);
	FILE *f = fd == -1 ? NULL : fdopen(fd, "w");

	if (f == NULL) {
		file_open_fail(fd);
		atomic_file_close(w, false);
	}
	return f;
}

/* All of len bytes; false with errno if they do not go. */
static inline bool
atomic_file_write(const struct atomic_file *w, const void *p, size_t len)
{
	const char *b = p;
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = write(w->fd, b + done, len - done);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n == -1)
			return false;
	}
	return true;
}

#endif
