/*
 * child.h - the training process that a tool runs as its child
 *
 * The standard input and output of the child are pipes that carry the gradient
 * stream.  No function here blocks: bytes for the child wait in a buffer, and
 * the child's messages are returned one by one.  The child is the leader of its
 * own process group.  When the child ends, the other processes of its group are
 * stopped too.  Instead of a child, the tool's own standard input and output
 * can carry the stream; then the tool stops no process.  These functions are
 * for tools only: they print errors and may exit.
 */
#ifndef INNET_NET_CHILD_H
#define INNET_NET_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/message.h"
#include "common/net/timer.h"
#include "common/wire/stream.h"

enum {
	CHILD_UNREAD_MAX_BYTES = 64 << 20,	/* limit on the size, in bytes,
						 * of the results that the child
						 * has not read */
	CHILD_QUOTE_BYTES = 61		/* size of the buffer for text that the
					 * child wrote and that an error message
					 * quotes */
};

struct child {
	const char *name;		/* argv[0], used in messages */
	pid_t pid;			/* 0: no child is running */
	pid_t group;			/* id of the process group of the
					 * child */
	int to, from;			/* the tool's ends of the two pipes; -1:
					 * closed */
	struct stream_in in;
	uint8_t *out;			/* owned; bytes that must still be
					 * written to the child */
	size_t out_at, out_have, out_room;
	int status;			/* the child's status from wait(2),
					 * valid if pid is 0 */
	bool cut;			/* the output of the child ended in the
					 * middle of a message */
	bool stdio;			/* there is no child: the stream uses
					 * the tool's own standard input and
					 * output */
};

/*
 * Start the command `argv` as the child.  On failure exit with status 1.
 * `wait_mask` becomes the signal mask of the child.
 */
static inline void child_start(struct child *c, char *argv[],
    const sigset_t *wait_mask);

/*
 * Exchange the stream on the tool's own standard input and output, with the
 * process at the other end as the child.  Afterwards both descriptors lead to
 * /dev/null.  On failure exit with status 1 or, if one of them is a terminal,
 * with status 2.
 */
static inline void child_use_stdio(struct child *c);

/*
 * Queue a message for the child, and write as many queued bytes as possible
 * without waiting.
 */
static inline void child_send(struct child *c, const struct stream_head *h,
    const void *body);

/*
 * Write queued bytes while the pipe has room.  If the child has closed its
 * input, close the pipe.
 */
static inline void child_write(struct child *c);

/*
 * Read the next message.  Returns 1, or 0 if no whole message has arrived, or
 * -1 at the end of the output.  If the output is not a gradient stream, print
 * an error message and return -2.
 */
static inline int child_next_message(struct child *c, struct stream_head *h,
    const uint8_t **body);

/*
 * Return the kind of the next message, and leave the message in the buffer.
 * Returns 0 if the message has not arrived, or -1 if no further message will
 * arrive.
 */
static inline int child_peek_kind(struct child *c);

/*
 * Print an error about the last message, with the offset of this message in the
 * stream.
 */
static inline void child_report_message(const struct child *c,
    const struct stream_head *h, const char *why);

/*
 * Handle the end of the child's output.  If the output ended in the middle of a
 * message, print an error once and return true.
 */
static inline bool child_report_truncation(struct child *c);

/*
 * Has the child exited?  Other processes may still have its pipe open.  With
 * standard input and output, only the end of the input ends the stream.
 */
static inline bool child_has_exited(struct child *c);

/* Return the number of bytes of results that the child has not read. */
static inline size_t child_unread_bytes(const struct child *c);

/*
 * Does the child read its results so slowly that the tool must not read further
 * messages from it?
 */
static inline bool child_is_too_slow(const struct child *c);

/*
 * Stop the child.  First close its input and continue to read its output.  If
 * the child is still running after patience_ns, send SIGTERM to its process
 * group, and after another patience_ns send SIGKILL.  Finally stop the other
 * processes of the group.  Returns 0, or prints a message and returns 1 if the
 * child failed.  If `asked` is true, the user requested the end, so any exit
 * status of the child is accepted.
 */
static inline int child_stop(struct child *c, uint64_t patience_ns, bool asked);

/* implementation */

/*
 * Create a pipe as large as the system allows.  Operations on the end fd[ours]
 * do not block.
 */
static inline void
child_make_pipe(int fd[2], int ours)
{
	if (pipe2(fd, O_CLOEXEC) == -1)
		err(1, "pipe");
	(void)fcntl(fd[ours], F_SETPIPE_SZ, STREAM_PIPE_BYTES);
	if (fcntl(fd[ours], F_SETFL, O_NONBLOCK) == -1)
		err(1, "pipe");
}

/*
 * Append the folder of innet_stream to PYTHONPATH, so that a Python child can
 * import it.  The folder is found relative to this program, which may be
 * installed or in the build tree.
 */
static inline void
child_set_python_path(void)
{
	static const char *const beside[] = { "../share/innet/python",
		"../share/python" };
	const char *had = getenv("PYTHONPATH");
	char self[PATH_MAX], dir[PATH_MAX + 32];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *all = NULL;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < 2; i++) {
		snprintf(dir, sizeof(dir), "%.*s/%s", (int)(slash - self),
		    self, beside[i]);
		if (access(dir, X_OK) != 0)
			continue;
		if (asprintf(&all, "%s%s%s", had == NULL ? "" : had,
		    had == NULL || *had == '\0' ? "" : ":", dir) == -1 ||
		    setenv("PYTHONPATH", all, 1) == -1)
			err(1, "PYTHONPATH");
		free(all);
		return;
	}
}

static inline void
child_start(struct child *c, char *argv[], const sigset_t *wait_mask)
{
	int to[2], from[2], report[2], why = 0;

	*c = (struct child){ .name = argv[0] };
	child_set_python_path();
	child_make_pipe(to, 1);
	child_make_pipe(from, 0);
	if (pipe2(report, O_CLOEXEC) == -1)
		err(1, "pipe");
	/*
	 * Become the parent of processes that the child leaves behind, so that
	 * we can wait for these processes.
	 */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	c->pid = fork();
	if (c->pid == -1)
		err(1, "%s", argv[0]);
	if (c->pid == 0) {
		if (setpgid(0, 0) == -1 || dup2(to[0], STDIN_FILENO) == -1 ||
		    dup2(from[1], STDOUT_FILENO) == -1)
			_exit(126);
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_SETMASK, wait_mask, NULL);
		execvp(argv[0], argv);
		why = errno;
		if (write(report[1], &why, sizeof(why)) == -1)
			_exit(126);
		_exit(127);
	}
	c->group = c->pid;
	close(to[0]);
	close(from[1]);
	close(report[1]);
	c->to = to[1];
	c->from = from[0];
	if (read(report[0], &why, sizeof(why)) == sizeof(why)) {
		errno = why;
		err(1, "%s", argv[0]);
	}
	close(report[0]);
}

/*
 * Return a copy of a standard descriptor, on which operations do not block, and
 * replace the descriptor by `null`.
 */
static inline int
child_take_descriptor(int fd, const char *name, int null)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	const int flags = fcntl(fd, F_GETFL);

	if (isatty(fd) == 1)
		errx(2, "--stdio: %s is a terminal; connect it to a program "
		    "that exchanges gradients", name);
	if (copy == -1 || flags == -1 || dup2(null, fd) == -1 ||
	    fcntl(copy, F_SETFL, flags | O_NONBLOCK) == -1)
		err(1, "%s", name);
	(void)fcntl(copy, F_SETPIPE_SZ, STREAM_PIPE_BYTES);
	return copy;
}

static inline void
child_use_stdio(struct child *c)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1)
		err(1, "/dev/null");
	*c = (struct child){ .name = "standard input", .stdio = true };
	c->from = child_take_descriptor(STDIN_FILENO, "standard input", null);
	c->to = child_take_descriptor(STDOUT_FILENO, "standard output", null);
	close(null);
}

static inline void
child_write(struct child *c)
{
	while (c->to != -1 && c->out_at < c->out_have) {
		ssize_t n = write(c->to, c->out + c->out_at,
		    c->out_have - c->out_at);

		if (n >= 0) {
			c->out_at += (size_t)n;
		} else if (errno == EPIPE) {
			close(c->to);	/* the child has closed its input */
			c->to = -1;
		} else if (errno != EINTR) {
			return;		/* the pipe is full */
		}
	}
	c->out_at = c->out_have = 0;
}

static inline void
child_send(struct child *c, const struct stream_head *h, const void *body)
{
	size_t len = stream_body_bytes(h);
	size_t need = STREAM_HEADER_BYTES + len;

	if (c->to == -1)
		return;
	if (c->out_have + need > c->out_room) {
		size_t room = c->out_have + 2 * need;
		uint8_t *p = realloc(c->out, room);

		if (p == NULL)
			err(1, "%s: no memory for a result of %zu bytes",
			    c->name,
			    need);
		c->out = p;
		c->out_room = room;
	}
	stream_put(c->out + c->out_have, h);
	if (len > 0)
		memcpy(c->out + c->out_have + STREAM_HEADER_BYTES, body, len);
	c->out_have += need;
	child_write(c);
}

/*
 * If the child has written text instead of a message, print the text and return
 * true.
 */
static inline bool
child_report_text(const struct child *c)
{
	const size_t n = c->in.have - c->in.used;
	char text[CHILD_QUOTE_BYTES];
	size_t k = 0;

	for (const uint8_t *p = c->in.buf + c->in.used; k < n && k <
	    sizeof(text) - 1 && p[k] >= ' ' && p[k] <= '~'; k++)
		text[k] = (char)p[k];
	text[k] = '\0';
	if (k == 0 || memcmp(text, "INET", k < 4 ? k : 4) == 0)
		return false;
	warnx("%s: offset %" PRIu64 ": \"%s\" is not a message of a gradient "
	    "stream; print such text to standard error", c->name, c->in.offset,
	    text);
	return true;
}

static inline bool
child_report_truncation(struct child *c)
{
	if (c->cut || c->in.have == c->in.used)
		return c->cut;
	c->cut = true;
	if (!child_report_text(c))
		warnx("%s: offset %" PRIu64 ": the stream ends within a "
		    "message",
		    c->name, c->in.offset);
	return c->cut;
}

static inline int
child_next_message(struct child *c, struct stream_head *h, const uint8_t **body)
{
	const char *why;
	size_t missing;
	ssize_t n;

	for (;;) {
		switch (stream_in_next(&c->in, h, body, &missing, &why)) {
		case 1:
			return 1;
		case -1:
			if (!child_report_text(c))
				warnx("%s: offset %" PRIu64 ": %s", c->name,
				    c->in.offset, why);
			return -2;
		}
		if (c->from == -1)
			return -1;
		n = stream_in_fill(&c->in, c->from, missing);
		if (n > 0)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return child_report_text(c) ? -2 : 0;
		if (n == -1)
			err(1, "%s", c->name);
		(void)child_report_truncation(c);
		close(c->from);
		c->from = -1;
	}
}

static inline int
child_peek_kind(struct child *c)
{
	struct stream_in *in = &c->in;
	struct stream_head h;

	if (in->have - in->used < STREAM_HEADER_BYTES && c->from != -1 &&
	    stream_in_fill(in, c->from, STREAM_HEADER_BYTES) == 0)
		return -1;
	if (in->have - in->used < STREAM_HEADER_BYTES)
		return 0;
	return stream_get(in->buf + in->used, &h) != NULL ? -1 : h.kind;
}

static inline void
child_report_message(const struct child *c, const struct stream_head *h,
    const char *why)
{
	warnx("%s: offset %" PRIu64 ": %s", c->name, c->in.offset -
	    STREAM_HEADER_BYTES - stream_body_bytes(h), why);
}

static inline bool
child_has_exited(struct child *c)
{
	if (c->pid != 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return c->pid == 0 && !c->stdio;
}

static inline size_t
child_unread_bytes(const struct child *c)
{
	return c->out_have - c->out_at;
}

static inline bool
child_is_too_slow(const struct child *c)
{
	return child_unread_bytes(c) >= CHILD_UNREAD_MAX_BYTES;
}

/*
 * Wait until the child has exited, but not longer than until the deadline.
 * Returns whether the child has exited.
 */
static inline bool
child_wait_until(struct child *c, uint64_t deadline_ns)
{
	const struct timespec nap = { 0, 2000000 };
	char rest[4096];

	for (;;) {
		/*
		 * Read and discard the output of the child, so that the child
		 * can finish.
		 */
		for (int k = 0; k < 64 && c->from != -1 &&
		    read(c->from, rest, sizeof(rest)) > 0; k++)
			;
		if (child_has_exited(c))
			return true;
		if (timer_mono_ns() >= deadline_ns)
			return false;
		nanosleep(&nap, NULL);
	}
}

/*
 * Has every process of the child's group exited?  This function also reaps
 * zombies.
 */
static inline bool
child_group_has_exited(const struct child *c)
{
	while (waitpid(-c->group, NULL, WNOHANG) > 0)
		;
	return kill(-c->group, 0) == -1;
}

/*
 * If other processes of the child's group are still running, print a warning
 * and stop them with SIGTERM.  After patience_ns stop the remaining processes
 * with SIGKILL.
 */
static inline void
child_stop_group(const struct child *c, uint64_t patience_ns)
{
	const struct timespec nap = { 0, 2000000 };
	uint64_t deadline = timer_mono_ns() + patience_ns;
	int killed = 0;

	if (child_group_has_exited(c))
		return;
	warnx("%s: processes that it had started were still running and were "
	    "ended",
	    c->name);
	kill(-c->group, SIGTERM);
	while (!child_group_has_exited(c) && killed < 2) {
		if (timer_mono_ns() >= deadline) {
			kill(-c->group, SIGKILL);
			killed++;
			deadline += patience_ns;
		}
		nanosleep(&nap, NULL);
	}
}

static inline int
child_stop(struct child *c, uint64_t patience_ns, bool asked)
{
	bool killed = false;

	if (c->to != -1)
		close(c->to);
	c->to = -1;
	if (!c->stdio && !child_wait_until(c, timer_mono_ns() + patience_ns)) {
		killed = true;
		kill(-c->group, SIGTERM);
		if (!child_wait_until(c, timer_mono_ns() + patience_ns)) {
			kill(-c->group, SIGKILL);
			child_wait_until(c, TIMER_NEVER);
		}
	}
	if (!c->stdio)
		child_stop_group(c, patience_ns);
	if (c->from != -1)
		close(c->from);
	stream_in_free(&c->in);
	free(c->out);
	if (killed) {
		warnx("%s: killed, because it was still running %.1f s after "
		    "the end of its input", c->name, (double)patience_ns / 1e9);
		return 1;
	}
	if (asked || c->stdio)
		return 0;
	if (WIFSIGNALED(c->status) && WTERMSIG(c->status) != SIGPIPE) {
		warnx("%s: ended by signal %d (%s)", c->name,
		    WTERMSIG(c->status), strsignal(WTERMSIG(c->status)));
		return 1;
	}
	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) != 0) {
		warnx("%s: exited with status %d", c->name,
		    WEXITSTATUS(c->status));
		return 1;
	}
	return 0;
}

#endif
