/*
 * persistence.c - save and load: PER.SAVE, PER.LOAD, --save-every, start and
 * end
 *
 * A forked child writes the file, because it has all keys as they were at the
 * fork.  The exit status of the child is an errno value.  The parent notices
 * the end of the child through a pipe that the child holds open.  Only one
 * child writes at a time.  A save that is requested while a child writes begins
 * after this child has ended, because the save must contain everything that was
 * acknowledged before the request.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/atomic-file.h"
#include "common/base/file-lock.h"
#include "common/base/message.h"
#include "common/net/timer.h"

#include "cmd/innet-memory/commands/parts.h"
#include "cmd/innet-memory/server/checkpoint.h"

enum { WHY_BYTES = 160 };

struct save_state {
	/* pipe that reports the end of the child */
	struct event_source end;
	pid_t pid;		/* process id of the child, or 0 */
	uint64_t n;		/* number of saves that have begun */
	bool next;		/* begin another save after the current one */
	bool due[2];	/* save n is requested or running; indexed by n % 2 */
	char why[2][WHY_BYTES];	/* error of save n, or ""; indexed by n % 2 */
	uint64_t every_ns;	/* time of the next save for --save-every */
	uint64_t from_ns, took_ns;
	uint64_t done, failed;
	int lock;		/* descriptor of the lock, or -1 */
	/* descriptor of the last saved file, or -1 */
	int held;
	char *path;		/* path of the file, without symbolic links */
};

static void begin_save(struct server *srv);

/* Lock the file at s->path, if it exists. */
static bool
hold_file(struct save_state *s)
{
	const int fd = file_lock_hold(s->path);

	if (s->held != -1)
		close(s->held);
	s->held = fd;
	return fd != -1 || errno == ENOENT;
}

/* Record that save n has ended; `why` is the error, or "" after a success. */
static void
finish_save(struct server *srv, const char *why)
{
	struct save_state *s = srv->save;
	char *kept = s->why[s->n % 2];

	snprintf(kept, WHY_BYTES, "%s", why);
	s->due[s->n % 2] = false;
	s->took_ns = timer_mono_ns() - s->from_ns;
	s->done += *why == '\0';
	s->failed += *why != '\0';
	if (*why != '\0')
		warnx("%s: not saved: %s", srv->conf.save, why);
	else if (s->lock != -1)
		hold_file(s);
	server_mark_changed(srv);
	if (s->next)
		begin_save(srv);
}

/*
 * Write the reason for the failure of a save to `why`.  EEXIST refers to the
 * temporary file.
 */
static void
print_error(const struct save_state *s, int error, char why[WHY_BYTES])
{
	if (error == EEXIST)
		snprintf(why, WHY_BYTES, "%s.tmp: %s", s->path,
		    strerror(error));
	else
		snprintf(why, WHY_BYTES, "%s", strerror(error));
}

/* Remove a temporary file that is left over from a crash. */
static void
remove_leftover(const struct server *srv)
{
	char *beside;

	if (asprintf(&beside, "%s.tmp", srv->save->path) == -1)
		return;
	unlink(beside);
	free(beside);
}

/* Return true if the file can be written; otherwise set errno. */
static bool
check_writable(const struct server *srv)
{
	struct atomic_file w;

	remove_leftover(srv);
	if (atomic_file_open_here(&w, srv->save->path) == -1)
		return false;
	atomic_file_close(&w, false);
	return true;
}

static void
on_child_end(struct server *srv, struct event_source *w)
{
	struct save_state *s = srv->save;
	char why[WHY_BYTES] = "";
	int status = 0;

	server_remove_source(srv, w);
	while (waitpid(s->pid, &status, 0) == -1 && errno == EINTR)
		;
	s->pid = 0;
	if (WIFSIGNALED(status)) {
		snprintf(why, sizeof(why), "the process that writes the file "
		    "was ended by signal %d", WTERMSIG(status));
		remove_leftover(srv);
	} else if (WEXITSTATUS(status) != 0) {
		print_error(s, WEXITSTATUS(status), why);
	}
	finish_save(srv, why);
}

/*
 * In the child: close all connections, and make the kernel kill the child if
 * the server ends.  Keep the lock, because the child may write until it ends.
 */
static void
detach_child(struct server *srv, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(ECHILD);
	for (size_t i = 0; i < srv->clients; i++)
		close(srv->client[i]->fd);
	for (int i = 0; i < SERVER_LISTENERS; i++)
		close(srv->listener[i].fd);
	close(srv->signal.fd);
	close(srv->epoll);
}

static void
begin_save(struct server *srv)
{
	struct save_state *s = srv->save;
	const pid_t self = getpid();
	int fd[2], why;

	s->n++;
	s->next = false;
	s->due[s->n % 2] = true;
	s->from_ns = timer_mono_ns();
	if (pipe2(fd, O_CLOEXEC) == -1) {
		finish_save(srv, strerror(errno));
		return;
	}
	s->pid = fork();
	if (s->pid == 0) {
		detach_child(srv, self);
		_exit(save_file(srv->save->path, checkpoint_write, srv));
	}
	close(fd[1]);
	s->end = (struct event_source){ .fd = fd[0], .ready = on_child_end };
	if (s->pid == -1) {
		why = errno;
		s->pid = 0;
		close(fd[0]);
		finish_save(srv, strerror(why));
	} else if (!server_add_source(srv, &s->end)) {
		on_child_end(srv, &s->end); /* this waits for the end of the
					     * child */
	}
}

/* Kill the child, if there is one, and ignore its result. */
static void
end_child(struct server *srv)
{
	struct save_state *s = srv->save;

	if (s->pid == 0)
		return;
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) == -1 && errno == EINTR)
		;
	s->pid = 0;
	server_remove_source(srv, &s->end);
	remove_leftover(srv);
}

/*
 * If save n has ended, reply and return true.  `n` is only the last bit of the
 * save's number.
 */
static bool
reply_when_saved(struct client *c, unsigned n)
{
	const struct save_state *s = c->srv->save;

	if (s->due[n])
		return false;
	if (s->why[n][0] == '\0')
		reply_status(c, "OK");
	else
		reply_error(c, "ERR %s: not saved: %s", c->srv->conf.save,
		    s->why[n]);
	return true;
}

static bool
retry_even(struct client *c, const struct resp_args *a, bool late)
{
	(void)a;
	(void)late;	/* ignore `late`, because a save has no deadline */
	return reply_when_saved(c, 0);
}

static bool
retry_odd(struct client *c, const struct resp_args *a, bool late)
{
	(void)a;
	(void)late;
	return reply_when_saved(c, 1);
}

/* Return true if --save was given; otherwise reply with an error. */
static bool
has_file(struct client *c)
{
	if (c->srv->conf.save == NULL)
		reply_error(c, "ERR no file to save to: the server was started "
		    "without --save");
	return c->srv->conf.save != NULL;
}

static void
run_per_save(struct client *c, const struct resp_args *a)
{
	struct save_state *s = c->srv->save;
	uint64_t n;

	(void)a;
	if (!has_file(c))
		return;
	n = s->n + 1;
	if (s->pid == 0) {
		begin_save(c->srv);
	} else {
		s->next = true;
		s->due[n % 2] = true;
	}
	if (!reply_when_saved(c, n % 2))
		client_park(c, TIMER_NEVER, n % 2 == 0 ? retry_even :
		    retry_odd);
}

static void
run_per_load(struct client *c, const struct resp_args *a)
{
	char why[WHY_BYTES];

	(void)a;
	if (!has_file(c))
		return;
	if (!checkpoint_read(c->srv, c->srv->save->path, why, sizeof(why))) {
		reply_error(c, "ERR %s: %s", c->srv->conf.save, why);
		return;
	}
	server_mark_changed(c->srv);
	reply_status(c, "OK");
}

/*
 * Resolve all symbolic links of the path, so that a save does not replace a
 * link.  On an error, print the reason and return false.
 */
static bool
resolve_path(struct server *srv)
{
	const char *path = srv->conf.save;
	char end[PATH_MAX];
	struct stat st;

	/*
	 * the file does not exist, but the path may be a link to a file that
	 * will be created
	 */
	if (stat(path, &st) == -1 && errno == ENOENT)
		srv->save->path = file_link_end(path, end) ? strdup(end) :
		    NULL;
	else if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		srv->save->path = realpath(path, NULL);
	else
		srv->save->path = strdup(path);
	if (srv->save->path == NULL)
		warn("%s", path);
	return srv->save->path != NULL;
}

/*
 * Lock the file for this server.  On an error, print the reason and return
 * false.
 */
static bool
lock_file(struct server *srv)
{
	struct save_state *s = srv->save;
	const char *path = srv->conf.save;

	s->lock = file_lock_acquire(s->path);
	if (s->lock == -1 && errno == EWOULDBLOCK)
		warnx("%s: another innet-memory uses this file and has locked "
		    "%s.lock", path, s->path);
	else if (s->lock == -1 && errno == ENOENT)
		warn("%s", path);	/* the reason is that the directory of
					 * the file does not exist */
	else if (s->lock == -1)
		warn("%s.lock", s->path);
	else if (hold_file(s))
		return true;
	else if (errno == EWOULDBLOCK)
		warnx("%s: another innet-memory uses this file under another "
		    "name", path);
	else
		warn("%s", path);
	return false;
}

/*
 * Load the file if it exists.  On an error, print the reason and return false.
 */
static bool
load_at_start(struct server *srv)
{
	const char *path = srv->conf.save;
	char why[WHY_BYTES];
	struct stat st;
	const bool there = stat(path, &st) == 0;

	if (!resolve_path(srv))
		return false;
	if (there && S_ISCHR(st.st_mode))
		return true;	/* accept a device such as /dev/null or
				 * /dev/full */
	if (there && !S_ISREG(st.st_mode)) {
		warnx("%s: not a regular file", path);
		return false;
	}
	if (!lock_file(srv))
		return false;
	if (!check_writable(srv)) {
		warn("%s%s", errno == EEXIST ? srv->save->path : path,
		    errno == EEXIST ? ".tmp" : "");
		return false;
	}
	if (stat(path, &st) == -1 || checkpoint_read(srv, srv->save->path, why,
	    sizeof(why)))
		return true;
	warnx("%s: %s", path, why);
	return false;
}

static void
unlock_file(struct server *srv)
{
	if (srv->save->lock != -1)
		file_lock_release(srv->save->lock, srv->save->path);
	if (srv->save->held != -1)
		close(srv->save->held);
	srv->save->lock = srv->save->held = -1;
}

static bool
open_saves(struct server *srv)
{
	srv->save = calloc(1, sizeof(*srv->save));
	if (srv->save == NULL)
		return false;
	srv->save->end.fd = srv->save->lock = srv->save->held = -1;
	signal(SIGXFSZ, SIG_IGN); /* ignore SIGXFSZ, so that write() returns
				   * EFBIG */
	srv->save->every_ns = timer_after(srv->start_ns,
	    srv->conf.save_every_ns);
	if (srv->conf.save == NULL || load_at_start(srv))
		return true;
	unlock_file(srv);
	return false;
}

static uint64_t
tick_saves(struct server *srv, uint64_t now_ns)
{
	struct save_state *s = srv->save;

	if (srv->conf.save == NULL)
		return TIMER_NEVER;
	if (now_ns >= s->every_ns) {
		s->every_ns = timer_after(now_ns, srv->conf.save_every_ns);
		if (s->pid == 0)
			begin_save(srv);
	}
	return s->every_ns;
}

/*
 * Save in this process.  This also completes the save that the child had begun.
 */
static int
stop_saves(struct server *srv)
{
	struct save_state *s = srv->save;
	char why[WHY_BYTES] = "";
	int error;

	if (srv->conf.save == NULL)
		return 0;
	end_child(srv);
	s->from_ns = timer_mono_ns();
	error = save_file(srv->save->path, checkpoint_write, srv);
	if (error != 0)
		print_error(s, error, why);
	s->due[(s->n + 1) % 2] = s->next = false;
	snprintf(s->why[(s->n + 1) % 2], WHY_BYTES, "%s", why);
	finish_save(srv, why);
	return error != 0;
}

static void
close_saves(struct server *srv)
{
	end_child(srv);
	unlock_file(srv);
	free(srv->save->path);
	free(srv->save);
}

static void
info_saves(struct server *srv, FILE *f)
{
	const struct save_state *s = srv->save;

	fprintf(f, "save_in_progress:%d\r\nsaves:%" PRIu64 "\r\n"
	    "saves_failed:%" PRIu64 "\r\nlast_save_ms:%" PRIu64 "\r\n"
	    "last_save_error:%s\r\n", s->pid != 0, s->done, s->failed,
	    s->took_ns / 1000000, s->why[(s->n - (s->pid != 0)) % 2]);
}

static const struct command commands[] = {
	{ "per.load", 1, COMMAND_WRITE | COMMAND_NOT_IN_MULTI | COMMAND_ADMIN,
	    run_per_load, "per", "Loads the checkpoint again.", .subs = NULL },
	{ "per.save", 1, COMMAND_READ | COMMAND_NOT_IN_MULTI | COMMAND_ADMIN,
	    run_per_save, "per", "Writes a checkpoint.", .subs = NULL },
	{ 0 }
};

const struct part persistence_part = {
    .name = "persistence",
    .commands = commands,
    .open = open_saves,
    .tick = tick_saves,
    .info = info_saves,
    .stop = stop_saves,
    .close = close_saves,
};
