/*
 * password.h - read a password from the first line of a file
 *
 * On a command line other users could see it.  An empty password, or a file
 * that cannot be read, ends the tool with a message and status 1.
 */
#ifndef INNET_NET_PASSWORD_H
#define INNET_NET_PASSWORD_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "common/base/file-open.h"
#include "common/base/message.h"

/*
 * Return the first line of the file, without its line end; the caller must
 * free it.
 */
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
		errx(1, "%s: the first line, which is the password, is empty",
		    path);
	return line;
}

#endif
