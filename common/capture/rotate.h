/*
 * rotate.h - rotate the capture of a long-running program: start a new file
 *   when the old file has been moved away or is full
 *
 * No packet that was written is lost.  If another file already has the name of
 * the capture and is not empty, it is not overwritten.  Instead, the tool
 * prints a warning and the capture continues in the old file.  The same happens
 * if the new file cannot be created.
 */
#ifndef INNET_CAPTURE_ROTATE_H
#define INNET_CAPTURE_ROTATE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/message.h"
#include "common/base/num.h"
#include "common/capture/pcapio.h"

enum { ROTATE_KEEP_MAX = 1000, ROTATE_NAME_BYTES = 4096 };

struct rotate {
	uint64_t bytes;		/* when the file reaches this size, a new file
				 * is started; 0: never */
	uint64_t keep;		/* number of old files to keep, from FILE.1 (the
				 * newest) to FILE.N */
};

/* Read an argument such as "100MB,5".  Returns NULL or an error message. */
static inline const char *
rotate_parse(const char *arg, struct rotate *r)
{
	const char *comma = strchr(arg, ','), *why;
	char size[32];

	if (comma == NULL)
		return "without a comma and the number of files to keep, as in "
		    "100MB,5";
	if ((size_t)(comma - arg) >= sizeof(size))
		return "too long";
	memcpy(size, arg, (size_t)(comma - arg));
	size[comma - arg] = '\0';
	why = num_bytes(size, 1000, INT64_MAX, &r->bytes);
	return why != NULL ? why : num_u64(comma + 1, 1, ROTATE_KEEP_MAX,
	    &r->keep);
}

/*
 * Can the capture be rotated?  Only a regular file can be rotated; a pipe or a
 * file in /dev cannot.
 */
static inline bool
rotate_is_possible(const struct pcapio_out *out)
{
	struct stat was;

	return strcmp(out->path, "-") != 0 && fstat(out->fd, &was) == 0 &&
	    S_ISREG(was.st_mode);
}

/* Has the file of the capture been moved away or deleted? */
static inline bool
rotate_was_moved(const struct pcapio_out *out)
{
	struct stat was, is;

	return rotate_is_possible(out) && fstat(out->fd, &was) == 0 &&
	    (stat(out->path, &is) == -1 || is.st_dev != was.st_dev ||
	    is.st_ino != was.st_ino);
}

/*
 * If the file of the capture no longer has its name, continue the capture in a
 * new file with this name.
 */
static inline void
rotate_reopen(struct pcapio_out *out)
{
	struct stat was, is;
	int fd;

	if (!rotate_is_possible(out))
		return;
	pcapio_flush(out);
	fd = open(out->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd == -1 || fstat(fd, &is) == -1 || fstat(out->fd, &was) == -1) {
		warn("%s: cannot be opened again; the capture continues in the "
		    "old file", out->path);
	} else if (is.st_dev == was.st_dev && is.st_ino == was.st_ino) {
		;			/* the file has not been moved away */
	} else if (is.st_size > 0) {
		warnx("%s: another file with %jd bytes now has this name; the "
		    "capture continues in the old file",
		    out->path, (intmax_t)is.st_size);
	} else {
		if (close(out->fd) == -1 && out->failed == 0)
			out->failed = errno;
		out->fd = fd;
		pcapio_put_header(out);
		return;
	}
	if (fd != -1)
		close(fd);
}

/*
 * If the file is full, rename FILE.1 to FILE.2 and so on, rename FILE to
 * FILE.1, and start a new file.
 */
static inline void
rotate_if_full(struct pcapio_out *out, const struct rotate *r)
{
	char from[ROTATE_NAME_BYTES], to[ROTATE_NAME_BYTES];

	if (r->bytes == 0 || out->bytes + out->have < r->bytes)
		return;
	if (!rotate_is_possible(out)) {
		out->bytes = 0;
		return;
	}
	for (uint64_t i = r->keep; i > 0; i--) {
		snprintf(from, sizeof(from), i > 1 ? "%s.%" PRIu64 : "%s",
		    out->path, i - 1);
		if ((size_t)snprintf(to, sizeof(to), "%s.%" PRIu64, out->path,
		    i) >= sizeof(to))
			errno = ENAMETOOLONG;
		else if (rename(from, to) == 0 || (errno == ENOENT && i > 1))
			continue;
		warn("%s: cannot be renamed to %s", from, to);
		out->bytes = 0;		/* do not try again at each packet */
		return;
	}
	rotate_reopen(out);
}

#endif
