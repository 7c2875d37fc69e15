/*
 * files.h - detect conflicts between the files of a tool
 *
 * Before a tool opens any file, it adds every file that the user named,
 * together with the option that named it.  If a file conflicts with a file that
 * was added earlier, the tool prints a line such as these and exits with status
 * 2:
 *
 * 	innet-switch: -w and --report both write x.json
 * 	innet-switch: -w x.pcap would overwrite the file that -r reads
 * 	innet-aom: -r and --sent both read standard input
 *
 * Two paths name the same file if they lead to the same inode.  A file that
 * does not exist yet is identified by its folder and name.  "-" is a standard
 * stream.  Two outputs may be the same device, such as /dev/null, but not the
 * same file or pipe.  The same path may be both an input and an output only if
 * it is not a regular file.
 *
 * The output of --json is written to standard output, unless a capture or other
 * data is written there.
 *
 * If a tool reads a file and later overwrites it on purpose, the tool must add
 * the file only once, as an output.  The strings `option` and `path` are
 * borrowed; files_done() frees everything else.  These functions do not open
 * files.  They do not notice if another process changes the folders later.
 */
#ifndef INNET_BASE_FILES_H
#define INNET_BASE_FILES_H

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
#include "common/base/message.h"

struct files_one {
	const char *option;	/* option that named the file; NULL if the file
				 * is an argument without an option */
	const char *path;	/* borrowed; "-" for a standard stream */
	bool out;		/* the tool writes the file; if not set, it
				 * reads the file */
	bool known;		/* st and name are valid */
	struct stat st;		/* status of the file or, if it does not exist,
				 * of its folder */
	char name[NAME_MAX + 1];	/* if the file does not exist: its name
					 * in the folder; otherwise "" */
};

/*
 * The files of a tool.  The caller must zero the struct before the first use.
 */
struct files {
	struct files_one *one;
	size_t n;
};

/*
 * Add a file that is read.  `option` is NULL if the file is an argument without
 * an option.  Does nothing if path is NULL.
 */
static inline void files_in(struct files *s, const char *option,
    const char *path);

/* Add a file that is written.  Does nothing if path is NULL. */
static inline void files_out(struct files *s, const char *option,
    const char *path);

/*
 * Return the stream for the output of --json, and add this stream as one more
 * output.  The stream is standard output or, if another output already uses
 * standard output, standard error.  Call files_json() after files_out() has
 * been called for all other files.
 */
static inline FILE *files_json(struct files *s);

/* Flush the stream of --json.  Returns 0, or prints an error and returns 1. */
static inline int files_flush(FILE *json);

/* Free the list. */
static inline void files_done(struct files *s);

/* implementation */

/* Identify the file at f->path, or the file that would be created there. */
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
		return;		/* no file can be created at this path */
	memcpy(f->name, last, strlen(last) + 1);
	*last = '\0';
	f->known = stat(slash == NULL ? "." : path, &f->st) == 0;
}

/* Are a and b the same file? */
static inline bool
files_same(const struct files_one *a, const struct files_one *b)
{
	return a->known && b->known && a->st.st_dev == b->st.st_dev &&
	    a->st.st_ino == b->st.st_ino && strcmp(a->name, b->name) == 0;
}

/* Is f a standard stream? */
static inline bool
files_is_stream(const struct files_one *f)
{
	return strcmp(f->path, "-") == 0;
}

/*
 * Do a and b conflict, because one would overwrite the other or both would read
 * from one stream?
 */
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

/* Return the name for messages about a and b, which are the same file. */
static inline const char *
files_name(const struct files_one *a, const struct files_one *b)
{
	if (!files_is_stream(a))
		return a->path;
	if (!files_is_stream(b))
		return b->path;
	return a->out ? "standard output" : "standard input";
}

/* Print why a and b conflict, and exit with status 2. */
static inline void
files_refuse(const struct files_one *a, const struct files_one *b)
{
	const bool second = b->out && !a->out;
	const struct files_one *out = second ? b : a, *other = second ? a : b;
	const char *name = files_name(out, other);

	if (a->out && b->out)
		errx(2, "%s and %s both write %s", a->option, b->option, name);
	if (out->out && other->option == NULL)
		errx(2, "%s %s would overwrite its own input", out->option,
		    name);
	if (out->out)
		errx(2, "%s %s would overwrite the file that %s reads",
		    out->option,
		    name, other->option);
	if (a->option == NULL || b->option == NULL)
		errx(2, "%s cannot be read twice", name);
	errx(2, "%s and %s both read %s", a->option, b->option, name);
}

/* Add a file to the list.  If it conflicts with another, exit with status 2. */
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

static inline void
files_in(struct files *s, const char *option, const char *path)
{
	files_add(s, option, path, false);
}

static inline void
files_out(struct files *s, const char *option, const char *path)
{
	files_add(s, option, path, true);
}

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
