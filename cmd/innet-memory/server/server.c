/* server.c - functions that all files of the server use */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/message.h"

#include "cmd/innet-memory/server/server.h"

enum {
	OWN_FILES = 32,	/* number of descriptors that are not for clients */
	PAGE_HUGE = 2 << 20
};

const char *const disconnect_names[DISCONNECT_REASONS] = {
	"", "quit", "killed", "protocol", "output", "stuck", "idle", "memory",
	"http", "auth", "shutdown", "error", "gone"
};

void
server_advise_heap(struct server *srv)
{
	uintptr_t from = (uintptr_t)srv->heap_end, to = (uintptr_t)sbrk(0);

	if (to == from)
		return;
	srv->heap_end = (void *)to;
	from = (from + PAGE_HUGE - 1) & ~(uintptr_t)(PAGE_HUGE - 1);
	to &= ~(uintptr_t)(PAGE_HUGE - 1);
	if (from < to)	/* ignore errors, because this call is optional */
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void
server_raise_file_limit(struct server *srv)
{
	const rlim_t own = OWN_FILES;
	const rlim_t want = srv->conf.clients + own;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1 || r.rlim_cur >= want)
		return;
	r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur >= want)
		return;
	srv->conf.clients = r.rlim_cur > own ? r.rlim_cur - own : 1;
	warnx("--max-clients is lowered to %llu, because only %llu files may "
	    "be open at once; raise ulimit -n",
	    (unsigned long long)srv->conf.clients,
	    (unsigned long long)r.rlim_cur);
}

void
server_flush(struct server *srv)
{
	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		if (srv->parts[i]->flush != NULL)
			srv->parts[i]->flush(srv);
	}
	server_mark_changed(srv);
}

int
server_save(struct server *srv)
{
	int rc = 0;

	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		if (srv->parts[i]->stop != NULL)
			rc |= srv->parts[i]->stop(srv);
	}
	return rc;
}

/* The lowest bit of epoll's data distinguishes sources from clients. */
bool
server_add_source(struct server *srv, struct event_source *w)
{
	struct epoll_event ev = { .events = EPOLLIN,
	    .data.u64 = (uintptr_t)w | 1 };

	return epoll_ctl(srv->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0;
}

void
server_remove_source(struct server *srv, struct event_source *w)
{
	if (w->fd == -1)
		return;
	epoll_ctl(srv->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}
