/*
 * rotate.h - captures of what runs for long: begun anew when they are moved
 * away, or when they are full
 *
 * Nothing that was written is lost: a file that stands where the new one is to
 * begin, and is neither ours nor empty, is left alone, and so is all else when
 * the new file cannot be made; that is said, and the old one goes on.
 */
#ifndef INNET_CAPTURE_ROTATE_H
#define INNET_CAPTURE_ROTATE_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/num.h"
#include "common/capture/pcapio.h"

enum { ROTATE_KEEP_MAX = 1000, ROTATE_NAME_BYTES = 4096 };

struct rotate {
	uint64_t bytes;		/* of a file, and then another; 0: never */
	uint64_t keep;		/* older ones: FILE.1, the newest, to FILE.N */
};

/* "100MB,5"; NULL, or what is wrong with it. */
static inline const char *
rotate_parse(const char *arg, struct rotate *r)
{
	const char *comma = strchr(arg, ','), *why;
	char size[32];

	if (comma == NULL)
		return "lacks a comma and how many to keep";
	if ((size_t)(comma - arg) >= sizeof(size))
		return "too long";
	memcpy(size, arg, (size_t)(comma - arg));
	size[comma - arg] = '\0';
	why = num_bytes(size, 1000, INT64_MAX, &r->bytes);
	return why != NULL ? why : num_u64(comma + 1, 1, ROTATE_KEEP_MAX,
	    &r->keep);
}

/* Only a file can be moved and begun anew: no pipe, and nothing in /dev. */
static inline bool
rotate_is_possible(const struct pcapio_out *out)
{
	struct stat was;

	return strcmp(out->path, "-") != 0 && fstat(out->fd, &was) == 0 &&
	    S_ISREG(was.st_mode);
}

/* Has it been moved away, or deleted? */
static inline bool
rotate_was_moved(const struct pcapio_out *out)
{
	struct stat was, is;

	return rotate_is_possible(out) && fstat(out->fd, &was) == 0 &&
	    (stat(out->path, &is) == -1 || is.st_dev != was.st_dev ||
	    is.st_ino != was.st_ino);
}

/* Go on in a new file of the same name, if the old one has it no more. */
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
		warn("%s: goes on where it was", out->path);
	} else if (is.st_dev == was.st_dev && is.st_ino == was.st_ino) {
		;			/* nobody has moved it */
	} else if (is.st_size > 0) {
		warnx("%s: another file, of %jd bytes; the capture goes on "
		    "where it was", out->path, (intmax_t)is.st_size);
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

/* If it is full: FILE becomes FILE.1, that FILE.2, and a new one begins. */
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
		warn("%s: not moved to %s", from, to);
		out->bytes = 0;		/* not again for each packet */
		return;
	}
	rotate_reopen(out);
}

#endif
