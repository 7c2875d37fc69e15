/* loop.c - the event loop that serves all clients */
#include <linux/sockios.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/counters.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/net/password.h"
#include "common/net/sandbox.h"
#include "common/net/spin.h"
#include "common/net/timer.h"

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/client-io.h"
#include "cmd/innet-memory/server/listen.h"
#include "cmd/innet-memory/server/loop.h"
#include "cmd/innet-memory/server/stranger.h"

enum {
	EVENTS = 128,
	TOP_BYTES = 64 << 20	/* smallest number of bytes by which the heap
				 * grows */
};

/* AddressSanitizer finds errors only if freed memory is not reused. */
#ifdef INNET_SANITIZERS
enum { SPARE_BYTES = 0 };
#else
enum { SPARE_BYTES = 256 << 10 };
#endif

/*
 * Use one heap that grows in large steps and never shrinks.  Touch its first
 * part now, so that no page faults occur later.  Freed memory is merged
 * immediately, except for the spare pieces of the account: merging a million
 * small blocks before a large allocation takes 40 ms.
 */
static void
touch_memory(struct server *srv)
{
	size_t n = srv->conf.touch_bytes;
	volatile char *p;

	if (n > srv->conf.memory_bytes)
		n = srv->conf.memory_bytes;
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_TOP_PAD, TOP_BYTES);
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MXFAST, 0);
	srv->heap_end = sbrk(0);
	p = malloc(n);
	if (p == NULL)
		errx(1, "cannot allocate the %zu bytes of --touch; lower "
		    "--touch",
		    n);
	server_advise_heap(srv);
	for (size_t i = 0; i < n; i += 4096)
		p[i] = 0;
	free((void *)p);
}

/*
 * Free removed keys until `bytes` bytes are left in the account; return false
 * if that is impossible.
 */
static bool
reclaim_memory(void *arg, size_t bytes)
{
	struct server *srv = arg;

	return lazy_free_make_room(&srv->lazy_free, &srv->account, bytes);
}

/*
 * Read the password.  Exit if it is longer than an unauthenticated client may
 * send.
 */
static char *
read_password(const char *path)
{
	char *password = password_read(path);

	if (strlen(password) >= RESP_BULK)
		errx(1, "%s: the password has %zu bytes; use at most %d", path,
		    strlen(password), RESP_BULK - 1);
	return password;
}

bool
server_open(struct server *srv, const struct conf *cf,
    const struct part *const *parts)
{
	uint64_t random[2] = { 0 };

	*srv = (struct server){ .conf = *cf, .parts = parts, .epoll = -1,
	    .account.limit = cf->memory_bytes, .account.keep = SPARE_BYTES };
	for (int i = 0; i < SERVER_LISTENERS; i++)
		srv->listener[i].fd = -1;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		err(1, "random numbers");
	srv->keys.account = &srv->account;
	srv->keys.lazy_free = &srv->lazy_free;
	srv->account.reclaim = reclaim_memory;
	srv->account.arg = srv;
	srv->keys.seed = random[0];
	srv->rng = rng_seed(cf->seeded ? cf->seed : random[1]);
	/*
	 * start with the current time, so that versions also grow from one run
	 * to the next
	 */
	srv->version = timer_wall_ns() / 1000;
	srv->now_ns = srv->start_ns = timer_mono_ns();
	if (cf->password_file != NULL)
		srv->password = read_password(cf->password_file);
	srv->input = malloc(SERVER_IN_BYTES);
	if (srv->input == NULL ||
	    !command_table_open(&srv->command_table, parts))
		return false;
	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		if (srv->parts[i]->open != NULL &&
		    !srv->parts[i]->open(srv))
			exit(1);
	}
	return true;
}

void
server_close(struct server *srv)
{
	for (size_t i = 0; i < srv->clients; i++)
		client_free(srv->client[i]);
	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		if (srv->parts[i]->close != NULL)
			srv->parts[i]->close(srv);
	}
	lazy_free_step(&srv->lazy_free, &srv->account, SIZE_MAX);
	account_free_spare(&srv->account);
	command_table_close(&srv->command_table);
	free(srv->client);
	free(srv->input);
	free(srv->password);
}

static struct counters
make_counters(const struct server *srv)
{
	const bool json = srv->conf.json != NULL;
	struct counters c = counters_begin(json ? COUNTERS_JSON :
	    COUNTERS_LINE, "innet-memory");

	counters_put(&c, "clients", srv->accepted);
	counters_put(&c, "commands", srv->commands);
	counters_put(&c, json ? "in_bytes" : "bytes in", srv->in_bytes);
	counters_put(&c, json ? "out_bytes" : "bytes out", srv->out_bytes);
	counters_put(&c, "keys", srv->keys.n);
	counters_put(&c, json ? "used_bytes" : "bytes used", srv->account.used);
	counters_put(&c, json ? "most_bytes" : "at most", srv->account.most);
	counters_put(&c, "errors", srv->errors);
	counters_put(&c, json ? "refused" : "clients refused", srv->refused);
	counters_in(&c, "left");
	for (int i = DISCONNECT_NONE + 1; i < DISCONNECT_REASONS; i++) {
		if (json || srv->disconnects[i] > 0)
			counters_put(&c, disconnect_names[i],
			    srv->disconnects[i]);
	}
	counters_out(&c);
	return c;
}

/* Print the summary; return 0, or 1 on an error. */
static int
print_counters(const struct server *srv)
{
	FILE *f = srv->conf.json != NULL ? srv->conf.json : stderr;
	struct counters c = make_counters(srv);
	const char *text = counters_text(&c);

	if (text == NULL)
		warn("counters");
	else
		fputs(text, f);
	counters_free(&c);
	return files_flush(f) | (text == NULL);
}

static void
on_signals(struct server *srv, struct event_source *w)
{
	struct signalfd_siginfo si;

	while (read(w->fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR1)
			print_counters(srv);
		else
			srv->stop = srv->stop_save = true;
	}
}

/* Receive signals as events, so that none is lost. */
static void
open_loop(struct server *srv)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	srv->epoll = epoll_create1(EPOLL_CLOEXEC);
	srv->signal.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	srv->signal.ready = on_signals;
	if (srv->epoll == -1 || srv->signal.fd == -1 || !server_add_source(srv,
	    &srv->signal))
		err(1, "epoll");
}

/* Free the clients that were closed in this pass of the event loop. */
static void
remove_closed_clients(struct server *srv)
{
	for (size_t i = 0; i < srv->clients; ) {
		struct client *c = srv->client[i];

		if (!c->dead) {
			i++;
			continue;
		}
		srv->disconnects[c->disconnect]++;
		if (srv->conf.verbose || c->disconnect == DISCONNECT_OUTPUT ||
		    c->disconnect == DISCONNECT_STUCK || c->disconnect ==
		    DISCONNECT_MEMORY)
			warnx("client %llu at %s was disconnected: %s (%zu "
			    "bytes not read)", (unsigned long long)c->id,
			    c->addr,
			    disconnect_names[c->disconnect], c->out.pending);
		srv->client[i] = srv->client[--srv->clients];
		srv->client[i]->at = i;
		client_free(c);
	}
	srv->dead = 0;
}

/* Return true if this client's buffers use more memory than is left. */
static bool
holds_too_much(const struct server *srv, const struct client *c)
{
	return !account_has_left(&srv->account, c->charged < c->out.pending ?
	    c->out.pending : c->charged);
}

/*
 * Return true if the client must read replies, but has read nothing for the
 * time of --stuck-timeout.
 */
static bool
reads_too_slowly(struct server *srv, struct client *c)
{
	int queued = 0;

	if (c->out.pending == 0 || (c->disconnect == DISCONNECT_NONE &&
	    !client_has_backlog(c) && !holds_too_much(srv, c)))
		return false;
	/*
	 * the number of bytes in the kernel changes as soon as the client reads
	 */
	(void)ioctl(c->fd, SIOCOUTQ, &queued);
	if (queued != c->queued)
		c->progress_ns = srv->now_ns;
	c->queued = queued;
	return srv->now_ns >= timer_after(c->progress_ns, srv->conf.stuck_ns);
}

/*
 * Close the client if it does not read, does not finish a request, is idle or
 * has not given the password in time.
 */
static void
check_client(struct server *srv, struct client *c)
{
	const uint64_t now = srv->now_ns;
	const struct conf *cf = &srv->conf;
	const bool busy = c->out.pending > 0 || c->retry != NULL;

	if (reads_too_slowly(srv, c))
		client_close_now(c, c->disconnect != DISCONNECT_NONE ?
		    c->disconnect : DISCONNECT_OUTPUT);
	else if (!busy && resp_holds_partial(&c->in) &&
	    now >= timer_after(c->received_ns, cf->stuck_ns))
		client_close_now(c, DISCONNECT_STUCK);
	else if (!busy && now >= timer_after(c->received_ns, cf->idle_ns))
		client_close_now(c, DISCONNECT_IDLE);
	else if (stranger_is_late(c))
		client_close_now(c, DISCONNECT_AUTH);
}

/* Run the timers that are due, and return the time of the next one. */
static uint64_t
run_timers(struct server *srv)
{
	const uint64_t idle = srv->conf.idle_ns, stuck = srv->conf.stuck_ns;
	const uint64_t first = timer_earlier(timer_earlier(idle, stuck),
	    srv->conf.auth_ns);
	uint64_t next, step = timer_earlier(first / 4, TIMER_SECOND_NS);

	listen_again(srv);
	for (size_t i = 0; i < srv->clients; i++)
		check_client(srv, srv->client[i]);
	next = srv->now_ns + (step < 1000000 ? 1000000 : step);
	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		if (srv->parts[i]->tick != NULL)
			next = timer_earlier(next, srv->parts[i]->tick(srv,
			    srv->now_ns));
	}
	return next;
}

/*
 * Retry parked clients, starting with the one that has waited longest, so that
 * no client waits forever while others send requests again and again.  Return
 * the time of the next retry.
 */
static uint64_t
retry_parked(struct server *srv)
{
	const uint64_t changes = srv->changes;
	uint64_t first = TIMER_NEVER;
	struct client *c, *behind;

	for (c = srv->parked_first; c != NULL; c = behind) {
		const bool late = srv->now_ns >= c->deadline_ns;

		/*
		 * retry may park c again, which moves c to the end of the list
		 */
		behind = c->parked_next;
		if (c->retry != NULL && (late || c->parked_seen !=
		    srv->changes))
			client_retry_parked(c, late);
	}
	for (c = srv->parked_first; c != NULL; c = c->parked_next)
		first = timer_earlier(first, c->deadline_ns);
	/* if a request changed something, retry the parked clients again */
	return srv->changes != changes ? srv->now_ns : first;
}

static void
handle_event(struct server *srv, const struct epoll_event *ev)
{
	struct client *c = ev->data.ptr;

	if ((ev->data.u64 & 1) != 0) {
		struct event_source *w =
		    (struct event_source *)(uintptr_t)(ev->data.u64 - 1);

		if (w->fd != -1) /* the source was not removed in this pass of
				  * the event loop */
			w->ready(srv, w);
		return;
	}
	if (c->dead)
		return;
	if ((ev->events & EPOLLERR) != 0 || ((ev->events & (EPOLLHUP |
	    EPOLLRDHUP)) != 0 && (ev->events & EPOLLIN) == 0))
		client_close_now(c, DISCONNECT_GONE);
	else if ((ev->events & EPOLLIN) != 0)
		client_readable(c);
	else
		client_writable(c);
}

/*
 * Give one more turn to each client that still has requests, unless the client
 * already had a turn in this pass of the event loop.  As a result, a small
 * request waits for one turn of each such client, not for two or three.
 */
static void
give_turns(struct server *srv)
{
	srv->turns_wanted = false;
	for (size_t i = 0; i < srv->clients; i++)
		client_take_turn(srv->client[i]);
}

/*
 * Free some removed keys in each pass of the event loop, and more keys if no
 * client waits.
 */
static void
free_removed(struct server *srv)
{
	if (lazy_free_is_pending(&srv->lazy_free))
		lazy_free_step(&srv->lazy_free, &srv->account,
		    srv->events > 0 || srv->turns_wanted ?
		    LAZY_FREE_BUSY : LAZY_FREE_IDLE);
}

static int
epoll_timeout(uint64_t now, uint64_t until)
{
	const uint64_t ms = until <= now ? 0 : (until - now + 999999) /
	    1000000;

	return ms > 60000 ? 60000 : (int)ms;
}

static void
run_loop(struct server *srv)
{
	const uint64_t end = timer_after(srv->start_ns,
	    srv->conf.duration_ns);
	struct epoll_event ev[EVENTS];
	struct spin spin = spin_for(srv->conf.spin_ns);
	uint64_t parked = TIMER_NEVER;
	int n;

	while (!srv->stop && srv->now_ns < end) {
		n = epoll_wait(srv->epoll, ev, EVENTS, srv->turns_wanted ||
		    lazy_free_is_pending(&srv->lazy_free) ||
		    spin_is_on(&spin, srv->now_ns) ? 0 :
		    epoll_timeout(srv->now_ns, timer_earlier(timer_earlier(end,
		    srv->next_tick_ns), parked)));
		srv->now_ns = timer_mono_ns();
		srv->events = n;
		if (n > 0)
			spin_note(&spin, srv->now_ns);
		for (int i = 0; i < n; i++)
			handle_event(srv, &ev[i]);
		if (srv->turns_wanted)
			give_turns(srv);
		if (srv->parked > 0)
			parked = retry_parked(srv);
		else
			parked = TIMER_NEVER;
		if (srv->now_ns >= srv->next_tick_ns)
			srv->next_tick_ns = run_timers(srv);
		free_removed(srv);
		remove_closed_clients(srv);
	}
	srv->stop_save |= !srv->stop;	/* the end of --duration was reached */
}

/* Drop all privileges that are not needed after everything is open. */
static void
drop_privileges(struct server *srv)
{
	struct sandbox s = { .user = srv->conf.user };

	srv->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	sandbox_add_file(&s, srv->conf.save);
	sandbox_add_file(&s, srv->conf.unix_path);
	sandbox_add_file(&s, "/dev/null"); /* this file is opened later, in
					    * listen.c */
	sandbox_enter(&s);
}

int
server_run(const struct conf *cf, const struct part *const *parts)
{
	static struct server srv;
	int rc = 0;

	if (!server_open(&srv, cf, parts))
		errx(1, "not enough memory to start; lower --memory, --touch "
		    "or --capacity");
	touch_memory(&srv);
	server_raise_file_limit(&srv);
	open_loop(&srv);
	listen_open(&srv);
	drop_privileges(&srv);
	run_loop(&srv);
	listen_close(&srv);
	if (srv.stop_save)
		rc = server_save(&srv);
	for (size_t i = 0; i < srv.clients; i++)
		srv.disconnects[DISCONNECT_SHUTDOWN]++;
	/*
	 * On a failure, the error must be the last line, so print no summary.
	 */
	if (cf->json != NULL || (!cf->quiet && rc == 0))
		rc |= print_counters(&srv);
	server_remove_source(&srv, &srv.signal);
	close(srv.epoll);
	if (srv.statm != -1)
		close(srv.statm);
	server_close(&srv);
	return rc;
}
