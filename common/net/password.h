/*
 * password.h - read a password from the first line of a file
 *
 * The password is not an option because other users can see command lines.  If
 * the password is empty or the file cannot be read, the tool prints an error
 * message and exits with status 1.
 */
#ifndef INNET_NET_PASSWORD_H
#define INNET_NET_PASSWORD_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "common/base/file-open.h"
#include "common/base/message.h"

/*
 * Return the first line of the file at path, without its line end.  The caller
 * must free it.
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
