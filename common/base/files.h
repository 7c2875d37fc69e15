/*
 * files.h - no file that a tool writes destroys another of its files
 *
 * A tool names every file that it was given, before it opens any, with the
 * option that named it.  The first that cannot be together with one before it
 * ends the tool with status 2 and a line:
 *
 *	innet-switch: -w and --report both write x.json
 *	innet-switch: -w x.pcap would destroy what -r reads
 *	innet-aom: -r and --sent both read standard input
 *
 * "-" is a standard stream, and as any path whatever file that leads to, by
 * way of folders and links; what is not there yet is known by its folder and
 * name.  Two outputs may be one device, as /dev/null, but not one file or
 * pipe; an output may be an input only where that is no regular file.
 *
 * What --json prints is data: it goes to standard output, unless that has
 * other data, as a capture.
 *
 * A file that is read first and written later on purpose is named once, as an
 * output.  Options and paths are borrowed; files_done() gives back the rest.
 * Nothing is opened here, and what others do to the folders meanwhile is not
 * seen.
 */
#ifndef INNET_BASE_FILES_H
#define INNET_BASE_FILES_H

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file-link.h"

struct files_one {
	const char *option;	/* NULL: an argument that is no option's */
	const char *path;	/* "-": a standard stream */
	bool out;		/* it is written */
	bool known;		/* what follows is */
	struct stat st;		/* of the file, or of its folder to be */
	char name[NAME_MAX + 1];	/* in that folder; "": it is there */
};

/* Of a tool; all zeros at first. */
struct files {
	struct files_one *one;
	size_t n;
};

/* Find what f->path is, or would be. */
static inline void
files_find(struct files_one *f)
{
	char path[PATH_MAX], *slash, *last;

	if (strcmp(f->path, "-") == 0) {
		f->known = fstat(f->out ? STDOUT_FILENO : STDIN_FILENO,
		    &f->st) == 0;
		return;
	}
	f->known = stat(f->path, &f->st) == 0;
	if (f->known || (!file_link_end(f->path, path) && errno != ELOOP))
		return;
	slash = strrchr(path, '/');
	last = slash == NULL ? path : slash + 1;
	if (*last == '\0' || strlen(last) >= sizeof(f->name))
		return;		/* nothing can be made there */
	memcpy(f->name, last, strlen(last) + 1);
	*last = '\0';
	f->known = stat(slash == NULL ? "." : path, &f->st) == 0;
}

static inline bool
files_same(const struct files_one *a, const struct files_one *b)
{
	return a->known && b->known && a->st.st_dev == b->st.st_dev &&
	    a->st.st_ino == b->st.st_ino && strcmp(a->name, b->name) == 0;
}

static inline bool
files_is_stream(const struct files_one *f)
{
	return strcmp(f->path, "-") == 0;
}

/* Can a and b not be together? */
static inline bool
files_clash(const struct files_one *a, const struct files_one *b)
{
	const bool both_streams = files_is_stream(a) && files_is_stream(b);
	const mode_t mode = a->st.st_mode;

	if (a->out != b->out)
		return files_same(a, b) && a->name[0] == '\0' && S_ISREG(mode);
	if (a->out)
		return both_streams || (files_same(a, b) && !S_ISCHR(mode));
	return both_streams || (files_same(a, b) && S_ISFIFO(mode));
}

/* Of two that are one, how to call it. */
static inline const char *
files_name(const struct files_one *a, const struct files_one *b)
{
	if (!files_is_stream(a))
		return a->path;
	if (!files_is_stream(b))
		return b->path;
	return a->out ? "standard output" : "standard input";
}

/* What is wrong with a and b, which clash, in a line, and the end. */
static inline void
files_refuse(const struct files_one *a, const struct files_one *b)
{
	const bool second = b->out && !a->out;
	const struct files_one *out = second ? b : a, *other = second ? a : b;
	const char *name = files_name(out, other);

	if (a->out && b->out)
		errx(2, "%s and %s both write %s", a->option, b->option, name);
	if (out->out && other->option == NULL)
		errx(2, "%s %s would destroy its own input", out->option,
		    name);
	if (out->out)
		errx(2, "%s %s would destroy what %s reads", out->option,
		    name, other->option);
	if (a->option == NULL || b->option == NULL)
		errx(2, "%s would be read twice", name);
	errx(2, "%s and %s both read %s", a->option, b->option, name);
}

static inline void
files_add(struct files *s, const char *option, const char *path, bool out)
{
	struct files_one *f;

	if (path == NULL)
		return;
	s->one = reallocarray(s->one, s->n + 1, sizeof(*s->one));
	if (s->one == NULL)
		err(1, "%s", path);
	f = &s->one[s->n];
	*f = (struct files_one){ .option = option, .path = path, .out = out };
	files_find(f);
	for (size_t i = 0; i < s->n; i++) {
		if (files_clash(&s->one[i], f))
			files_refuse(&s->one[i], f);
	}
	s->n++;
}

/*
 * A file that is read.  option is NULL for an argument of the tool itself;
 * path is NULL where the option was not given.
 */
static inline void
files_in(struct files *s, const char *option, const char *path)
{
	files_add(s, option, path, false);
}

/* A file that is written; NULL where the option was not given. */
static inline void
files_out(struct files *s, const char *option, const char *path)
{
	files_add(s, option, path, true);
}

/*
 * Where goes what --json prints, one more output: to standard output or, where
 * that is an output already, to standard error.  After files_out() of all.
 */
static inline FILE *
files_json(struct files *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->one[i].out && files_is_stream(&s->one[i]))
			return stderr;
	}
	files_out(s, "--json", "-");
	return stdout;
}

/* For tools: has all that was printed there gone?  0, or a line and 1. */
static inline int
files_flush(FILE *json)
{
	if (fflush(json) != EOF && !ferror(json))
		return 0;
	warn("standard %s", json == stderr ? "error" : "output");
	return 1;
}

static inline void
files_done(struct files *s)
{
	free(s->one);
	*s = (struct files){ 0 };
}

#endif
