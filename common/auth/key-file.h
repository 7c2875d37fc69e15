/*
 * key-file.h - read a key from a file that no other user can read
 *
 * A key file may be a pipe.  Otherwise only its owner and its group may have
 * access; systemd gives credentials the mode 0440.
 */
#ifndef INNET_AUTH_KEY_FILE_H
#define INNET_AUTH_KEY_FILE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/auth/key.h"
#include "common/base/file-open.h"
#include "common/base/message.h"

enum { KEY_WHY = PATH_MAX + 128 };	/* size, in bytes, of a text that may
					 * contain the name of a file */

/*
 * Return whether users other than the owner and the group may open the file of
 * fd.  Other users cannot open a pipe, or a file that has no name in any
 * folder.
 */
static inline bool
key_is_exposed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink > 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

/* Are all len bytes at p zero?  Such a key is easy to guess. */
static inline bool
key_is_zero(const uint8_t *p, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++)
		any |= p[i];
	return any == 0;
}

/*
 * Store in `why` an error message about the `have` bytes of a key file, or ""
 * if the bytes are good.
 */
static inline void
key_check(const uint8_t *buf, size_t have, size_t least, char why[KEY_WHY])
{
	if (have == 0)
		snprintf(why, KEY_WHY, "the file is empty, but it must have at "
		    "least %zu bytes", least);
	else if (have < least)
		snprintf(why, KEY_WHY, "the file has %zu byte%s, but it must "
		    "have at least %zu", have, have == 1 ? "" : "s", least);
	else if (have > KEY_MOST_BYTES)
		snprintf(why, KEY_WHY, "the file has more than %d bytes, which "
		    "is too long", KEY_MOST_BYTES);
	else if (key_is_zero(buf, have))
		snprintf(why, KEY_WHY, "all bytes of the file are zero; make a "
		    "key with head -c 32 /dev/urandom");
	else
		why[0] = '\0';
}

/*
 * Do the work of key_read() for a file that the caller has opened, and close
 * fd.  If fd is -1, errno is the reason why the file could not be opened.
 */
static inline size_t
key_read_fd(int fd, const char *path, size_t least,
    uint8_t buf[KEY_MOST_BYTES + 1], char why[KEY_WHY])
{
	size_t have = 0;
	ssize_t n = 1;

	if (fd == -1) {
		snprintf(why, KEY_WHY, "%s", strerror(errno));
		return 0;
	}
	if (key_is_exposed(fd)) {
		snprintf(why, KEY_WHY, "other users can read or write this "
		    "file; run chmod 600 %s", path);
		close(fd);
		return 0;
	}
	while (n != 0 && have < KEY_MOST_BYTES + 1) {
		n = read(fd, buf + have, KEY_MOST_BYTES + 1 - have);
		if (n == -1 && errno != EINTR) {
			snprintf(why, KEY_WHY, "%s", strerror(errno));
			close(fd);
			return 0;
		}
		have += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	key_check(buf, have, least, why);
	return why[0] == '\0' ? have : 0;
}

/*
 * Read a key file of `least` to KEY_MOST_BYTES bytes into buf and return its
 * length.  A newline at the end is part of the key.  If the length is wrong, or
 * if other users may read the file, store an error message in `why` and return
 * 0.
 */
static inline size_t
key_read(const char *path, size_t least, uint8_t buf[KEY_MOST_BYTES + 1],
    char why[KEY_WHY])
{
	return key_read_fd(file_open_read(path), path, least, buf, why);
}

/* Like key_read(), but print the error and exit with status 1. */
static inline size_t
key_read_or_exit(const char *path, size_t least,
    uint8_t buf[KEY_MOST_BYTES + 1])
{
	char why[KEY_WHY];
	const size_t n = key_read(path, least, buf, why);

	if (n == 0)
		errx(1, "%s: %s", path, why);
	return n;
}

/* Set k from a key file.  Exits on failure like key_read_or_exit(). */
static inline void
key_load_or_exit(struct key *k, const char *path, size_t least)
{
	uint8_t buf[KEY_MOST_BYTES + 1];

	key_set(k, buf, key_read_or_exit(path, least, buf));
	explicit_bzero(buf, sizeof(buf));
}

#endif
