/*
 * file-link.h - resolve a symbolic link, even if its target does not exist yet
 *
 * No file is opened.
 */
#ifndef INNET_BASE_FILE_LINK_H
#define INNET_BASE_FILE_LINK_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { FILE_LINKS_MAX = 40 };

/*
 * If path is a symbolic link, replace `path` with the target of the link, which
 * may itself be a link.  Returns false if path is not a link.
 */
static inline bool
file_link_follow(char path[PATH_MAX])
{
	char to[PATH_MAX], *slash = strrchr(path, '/');
	const ssize_t n = readlink(path, to, sizeof(to) - 1);
	size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;

	if (n <= 0)
		return false;
	to[n] = '\0';
	if (to[0] == '/')
		folder = 0;
	if (folder + (size_t)n >= PATH_MAX)
		return false;
	memcpy(path + folder, to, (size_t)n + 1);
	return true;
}

/*
 * Follow all symbolic links from `path` and store the resulting path in `end`.
 * If `path` is not a link, store `path` itself.  Returns false with errno if
 * the links form a loop or if `path` is too long.
 */
static inline bool
file_link_end(const char *path, char end[PATH_MAX])
{
	int links = 0;

	errno = ENAMETOOLONG;
	if (strlen(path) >= PATH_MAX)
		return false;
	memcpy(end, path, strlen(path) + 1);
	while (links < FILE_LINKS_MAX && file_link_follow(end))
		links++;
	errno = ELOOP;
	return links < FILE_LINKS_MAX;
}

#endif
