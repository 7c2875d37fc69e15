/*
 * gnuplot.c - run gnuplot to draw a figure
 *
 * Commands and data go to gnuplot through a pipe.  gnuplot writes the picture
 * to its standard output, which is an open file.  Therefore, gnuplot gets no
 * file names; the only names in the commands are those of fonts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/innet-plot/plot.h"
#include "common/base/atomic-file.h"
#include "common/base/message.h"

/*
 * Start gnuplot, which draws to the descriptor `out`.  Return its pid, and set
 * *to to a stream for its standard input.
 */
static pid_t
start_gnuplot(int out, FILE **to)
{
	char *argv[] = { "gnuplot", "-d", "-", NULL };
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	sigset_t def;
	int ear[2], rc;
	pid_t pid;

	if (pipe2(ear, O_CLOEXEC) == -1) {
		warn("cannot make a pipe to gnuplot");
		return -1;
	}
	sigemptyset(&def);
	sigaddset(&def, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &def);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, ear[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&act, out, STDOUT_FILENO);
	rc = posix_spawnp(&pid, argv[0], &act, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	posix_spawnattr_destroy(&attr);
	close(ear[0]);
	if (rc == 0 && (*to = fdopen(ear[1], "w")) != NULL)
		return pid;
	close(ear[1]);
	if (rc == ENOENT)
		warnx("gnuplot was not found in PATH; on Debian: "
		    "apt-get install gnuplot-nox");
	else
		warnx("gnuplot: %s", strerror(rc != 0 ? rc : errno));
	errno = rc;
	return -1;
}

/* Draw to the descriptor `out`; return 0, or print a message and return 1. */
static int
run_gnuplot(const struct figure *fig, enum terminal as, int out)
{
	FILE *to = NULL;
	pid_t pid = start_gnuplot(out, &to);
	int status;

	if (pid == -1)
		return 1;
	put_script(to, fig, as);
	fclose(to);		/* gnuplot's exit status shows a failure */
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(1, "cannot wait for gnuplot");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		warnx("gnuplot failed with exit status %d; its messages are "
		    "above", WEXITSTATUS(status));
	else
		warnx("gnuplot was killed by signal %d", WTERMSIG(status));
	return 1;
}

/* Return the contents of f as a string, or NULL. */
static char *
read_all(FILE *f)
{
	char *s = NULL;
	long n;

	if (fseek(f, 0, SEEK_END) == -1 || (n = ftell(f)) == -1)
		return NULL;
	rewind(f);
	s = calloc((size_t)n + 1, 1);
	if (s != NULL && fread(s, 1, (size_t)n, f) != (size_t)n) {
		free(s);
		return NULL;
	}
	return s;
}

char *
figure_svg(const struct figure *fig, bool *missing)
{
	static const char mark[] = "</desc>";
	FILE *f = tmpfile();
	char *s, *inside;

	signal(SIGPIPE, SIG_IGN);
	*missing = false;
	if (f == NULL) {
		warn("cannot make a temporary file for gnuplot");
		return NULL;
	}
	errno = 0;
	s = run_gnuplot(fig, INLINE, fileno(f)) == 0 ? read_all(f) : NULL;
	*missing = s == NULL && errno == ENOENT;
	fclose(f);
	if (s == NULL)
		return NULL;
	inside = strstr(s, mark);
	if (inside == NULL || strstr(inside, "</svg>") == NULL) {
		warnx("gnuplot drew nothing");
		free(s);
		return NULL;
	}
	inside += strlen(mark);
	memmove(s, inside, strlen(inside) + 1);
	return s;
}

/* Copy all of `from` to w; return the number of bytes, or -1 with errno. */
static off_t
copy_to_file(const struct atomic_file *w, int from)
{
	char buf[65536];
	off_t all = 0;
	ssize_t n;

	while ((n = pread(from, buf, sizeof(buf), all)) > 0) {
		if (!atomic_file_write(w, buf, (size_t)n))
			return -1;
		all += n;
	}
	return n == -1 ? -1 : all;
}

/*
 * Draw into the file at path, completely or not at all.  Because gnuplot does
 * not report a full disk, this function first draws into memory.
 */
static int
draw_file(const struct figure *fig, enum terminal as, const char *path)
{
	struct atomic_file w;
	const int drawn = memfd_create("figure", MFD_CLOEXEC);
	off_t n = 0;
	int rc;

	if (drawn == -1 || atomic_file_open(&w, path) == -1) {
		warn("%s", path);
		file_open_fail(drawn);
		return 1;
	}
	rc = run_gnuplot(fig, as, drawn);
	if (rc == 0 && (n = copy_to_file(&w, drawn)) < 1) {
		if (n == -1)
			warn("%s", strcmp(path, "-") == 0 ? "standard output" :
			    path);
		else
			warnx("%s: gnuplot wrote nothing to this file", path);
		rc = 1;
	}
	close(drawn);
	if (atomic_file_close(&w, rc == 0) == -1 && rc == 0) {
		warn("%s", path);
		rc = 1;
	}
	return rc;
}

int
figure_draw(const struct figure *fig, enum terminal as, const char *path)
{
	signal(SIGPIPE, SIG_IGN);
	if (as == SCRIPT) {
		put_script(stdout, fig, SVG);
		if (fflush(stdout) == EOF) {
			warn("standard output");
			return 1;
		}
		return 0;
	}
	return draw_file(fig, as, path);
}
