/*
 * atomic-file.h - write a file so that it is complete or absent
 *
 * The data is written to a temporary file in the same folder.  At the end the
 * temporary file replaces the file.  A reader sees either the old file or the
 * new one.  After a crash or on a full disk the old file remains.  The path "-"
 * means standard output.  Data for a device or a pipe is written directly
 * (file-open.h).  If the path is a symbolic link, its target is replaced and
 * the link remains.
 *
 * A struct atomic_file owns its descriptor until atomic_file_close().  On
 * failure the functions return -1, NULL or false, and set errno.
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
	char *beside;		/* path of the temporary file; NULL if `path` is
				 * written directly */
	char *end;		/* path of the file that is replaced at the
				 * end */
	int fd;			/* descriptor to write to */
	mode_t mode;		/* mode of the new file; 0 means 0666 without
				 * the bits of the umask */
};

/*
 * How the temporary file is named.  With TMP the name is path + ".tmp", which
 * is safe if there is only one writer at a time.  With CHOSEN a name is chosen
 * that is not in use.  HERE is like TMP, except that if path is a symbolic
 * link, the link itself is replaced.
 */
enum atomic_file_temp { ATOMIC_FILE_TMP, ATOMIC_FILE_CHOSEN, ATOMIC_FILE_HERE };

/*
 * Begin to write the file at path.  Returns 0, or -1 on failure.  After a
 * failure w owns nothing.
 */
static inline int atomic_file_open(struct atomic_file *w, const char *path);

/*
 * Begin to write the file at path in a program that must not wait, because it
 * serves other clients at the same time.  If path is a pipe without a reader,
 * the function fails with ENXIO.
 */
static inline int atomic_file_open_now(struct atomic_file *w, const char *path);

/*
 * Begin to write the file at path if there is only one writer at a time.  The
 * temporary file is path + ".tmp".  If a crash has left a file with this name,
 * that file is removed first.
 */
static inline int atomic_file_open_tmp(struct atomic_file *w, const char *path);

/*
 * Begin to write the file at path.  The caller has already resolved symbolic
 * links.  If path is a link now, the link itself is replaced.
 */
static inline int atomic_file_open_here(struct atomic_file *w,
    const char *path);

/*
 * Check whether the file at path can be written, so that a tool can report a
 * bad path before it does its work.  The file does not change.  A pipe is not
 * opened for this check, because its reader would see the end of the data.
 * Returns 0 if the file can be written, or -1.
 */
static inline int atomic_file_try(const char *path);

/*
 * Return a stream that writes to the descriptor of w.  The caller must close
 * the stream before it closes w.  On failure w is closed, the file does not
 * change, and the result is NULL.
 */
static inline FILE *atomic_file_stream(struct atomic_file *w);

/* Write all of the len bytes at p.  Returns false on failure. */
static inline bool atomic_file_write(const struct atomic_file *w, const void *p,
    size_t len);

/*
 * Close w.  If `good` is true, the new file replaces the old file; otherwise
 * the old file remains.  Returns 0, or -1 if the new file is not in place.  If
 * `good` is false, errno does not change.
 */
static inline int atomic_file_close(struct atomic_file *w, bool good);

/*
 * Make sure that the folder entry of path survives a crash.  Returns 0 or -1.
 */
static inline int atomic_file_sync_folder(const char *path);

/* implementation */

/*
 * Begin to write the file at path through a temporary file.  If path is a pipe
 * and `waits` is true, wait for a reader.  Returns 0 or -1.
 */
static inline int
atomic_file_start(struct atomic_file *w, const char *path,
    enum atomic_file_temp temp, bool waits)
{
	const bool chosen = temp == ATOMIC_FILE_CHOSEN;
	const bool here = temp == ATOMIC_FILE_HERE;
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

static inline int
atomic_file_open(struct atomic_file *w, const char *path)
{
	return atomic_file_start(w, path, ATOMIC_FILE_CHOSEN, true);
}

static inline int
atomic_file_open_now(struct atomic_file *w, const char *path)
{
	return atomic_file_start(w, path, ATOMIC_FILE_CHOSEN, false);
}

static inline int
atomic_file_open_tmp(struct atomic_file *w, const char *path)
{
	return atomic_file_start(w, path, ATOMIC_FILE_TMP, true);
}

static inline int
atomic_file_open_here(struct atomic_file *w, const char *path)
{
	return atomic_file_start(w, path, ATOMIC_FILE_HERE, true);
}

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
