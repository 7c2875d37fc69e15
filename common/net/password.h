/*
 * password.h - the password in a file: its first line, without its end
 *
 * On a command line others could see it.  What is no password, and a file that
 * cannot be read, end the tool with a message and status 1.
 */
#ifndef INNET_NET_PASSWORD_H
#define INNET_NET_PASSWORD_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "common/base/file-open.h"

/* The first line of the file, to be freed. */
static inline char *
password_read(const char *path)
{
	FILE *f = file_open_stream(path, false);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (f == NULL)
		err(1, "%s", path);
	n = getline(&line, &room, f);
	if (n == -1 && ferror(f))
		err(1, "%s", path);
	fclose(f);
	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		line[--n] = '\0';
	if (n <= 0)
		errx(1, "%s: its first line, the password, is empty", path);
	return line;
}

#endif
