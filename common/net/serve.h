/*
 * serve.h - the loop of a live switch, which connects a data plane to UDP
 * sockets
 *
 * The loop receives packets and passes them to the plane; packets leave through
 * serve-sockets.h.  Once a second it flushes captures and prints warnings and
 * progress.  Time is monotonic (struct clock).  If a packet is processed after
 * another packet has departed, its arrival time in the plane and in the capture
 * is not earlier than the time of that departure.  So captures show the events
 * exactly in the order in which the plane handled them.
 *
 * These functions are for tools only: they print errors, and exit with status 1
 * if the socket cannot be opened.
 */
#ifndef INNET_NET_SERVE_H
#define INNET_NET_SERVE_H

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/counters.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/serve-sockets.h"
#include "common/net/timer.h"
#include "common/switch/receive.h"
#include "common/switch/report.h"

enum {
	SERVE_BATCHES = 16,		/* maximum number of batches that are
					 * received before other work is done */
	SERVE_CLOCK_EVERY = 32,		/* number of packets between two
					 * readings of the clock */
	SERVE_STALL_NS = 100000000	/* if nothing is received for this time,
					 * the time counts as a stall */
};

/*
 * Open the socket of cf->listen, or exit with status 1.  Set *own to the
 * address to which the kernel bound the socket.  Call this function before
 * serve_run() and before plane_init(), which needs the address.
 */
static inline void serve_open(struct serve *s, const struct serve_conf *cf,
    const struct program *pr, union addr *own);

/*
 * Run the loop until the duration in the settings has passed or a signal
 * requests the end.  The plane must have been initialised with serve_driver
 * (serve-group.h) and with s as its context.  Returns the exit status.
 */
static inline int serve_run(struct serve *s, struct plane *pl);

/*
 * Raise the soft limit on descriptors to the hard limit.  Return the number of
 * sockets of the program that can be open at the same time, which is at least
 * 1.  Call this function after serve_open().
 */
static inline uint32_t serve_raise_socket_limit(const struct serve *s);

/* Close all sockets. */
static inline void serve_close(struct serve *s);

/* Add the counters of the sockets to a report. */
static inline void serve_put_report(const struct serve *s, struct counters *c);

/*
 * Add the counters of problems to the summary, which is a line for people.
 * Omit counters that are 0.
 */
static inline void serve_put_summary(const struct serve *s, struct counters *c);

/*
 * Run everything that is due by now_ns, then set the time of the plane to
 * now_ns.
 */
static inline void serve_advance(struct serve *s, uint64_t now_ns);

/*
 * Set the time of the plane to at_ns, the time at which a packet arrived, or to
 * the time of the last event if that time is later.  Read the clock after every
 * SERVE_CLOCK_EVERY packets, so that packets that are due leave while the rest
 * of the batch is processed.
 */
static inline void serve_advance_to_packet(struct serve *s, uint64_t at_ns);

/*
 * Return the time of the clock, and record a stall if no packet was received
 * for a long time.
 */
static inline uint64_t serve_read_clock(struct serve *s);

/* Convert the kernel timestamp of a packet to the time of the plane. */
static inline uint64_t serve_arrival_ns(struct serve *s, uint64_t stamp_ns);

/* implementation */

/* Return the counters of all sockets, including closed ones. */
static inline struct serve_account
serve_sum_sockets(const struct serve *s)
{
	struct serve_account c = s->gone;

	serve_add_socket(&c, &s->own);
	for (uint32_t k = 0; k < s->sockets; k++)
		serve_add_socket(&c, s->socket[k]);
	return c;
}

static inline void
serve_put_summary(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_sum_sockets(s);
	const uint64_t *n = s->pl->n;
	const struct { const char *name; uint64_t n; } also[] = {
		{ "lost by the kernel", a.kernel },
		{ "answered that nobody listens", a.unreachable },
		{ "not sent", a.send_failed },
		{ "lost by --impair", n[PLANE_IN_LOST] + a.lost },
		{ "duplicated", n[PLANE_IN_DUPLICATED] + a.duplicated },
		{ "reordered", a.reordered },
	};

	for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
		if (also[i].n > 0)
			counters_put(c, also[i].name, also[i].n);
	}
}

static inline void
serve_put_report(const struct serve *s, struct counters *c)
{
	const struct serve_account a = serve_sum_sockets(s);

	counters_put(c, "kernel", a.kernel);
	counters_put(c, "unreachable", a.unreachable);
	counters_put(c, "send_failed", a.send_failed);
	if (s->has_group)
		counters_put(c, "shared", s->shared);
	counters_put(c, "impaired_lost", a.lost);
	counters_put(c, "impaired_dup", a.duplicated);
	counters_put(c, "impaired_reordered", a.reordered);
	counters_put(c, "latest_departure_ns", s->pl->late_max_ns);
	counters_put(c, "deaf_ns", s->stall_ns);
}

/*
 * Print one warning about dropped packets.  At most once a second, print a
 * warning if the program needs a host that is unreachable, or if the program
 * reports a problem.
 */
static inline void
serve_warn_problems(struct serve *s, uint64_t now_ns)
{
	const struct program *pr = s->pl->program;
	const struct udpio *u = &s->own.u;
	char text[256], name[ADDR_NAME_BYTES];

	udpio_warn_drops(u, &s->warned_drops);
	if (s->warned_ns != 0 && now_ns - s->warned_ns < TIMER_SECOND_NS)
		return;
	if (u->unreachable != s->unreachable && pr->depends_on != NULL &&
	    pr->depends_on(s->pl->state, &u->refused)) {
		s->warned_ns = now_ns;
		warnx("%s: unreachable; %" PRIu64 " packets could not be "
		    "delivered so far",
		    addr_print(&u->refused, name), u->unreachable);
	} else if (pr->describe_problem != NULL &&
		   pr->describe_problem(
		       s->pl->state, text, sizeof(text), now_ns) != NULL) {
		s->warned_ns = now_ns;
		warnx("%s", text);
	}
	s->unreachable = u->unreachable;
}

/* Show the most important counters on the terminal. */
static inline void
serve_show_progress(const struct serve *s)
{
	struct counters c = counters_begin(COUNTERS_LINE, NULL);
	const struct tally_cluster t = plane_sum_cluster(s->pl, PLANE_ALL);

	if (plane_has_updates(s->pl)) {
		counters_put(&c, "in", t.of[TALLY_ARRIVED].packets);
		counters_put(&c, "out", t.of[TALLY_DELIVERED].packets);
		counters_put(&c, "merged", t.of[TALLY_AGGREGATED].packets);
	}
	if (s->pl->program->put_progress != NULL)
		s->pl->program->put_progress(s->pl->state, &c);
	if (c.text != NULL)
		progress_say("%s", c.text);
	counters_free(&c);
}

/*
 * Set the time of the plane to now_ns and send the packets that leave by then.
 * `read_ns` is the time of the clock if the caller has just read the clock.  If
 * `read_ns` is 0, this function reads the clock at the first departure.  That
 * time is later than now_ns, so more packets may be due, and the function
 * advances the plane a second time.
 */
static inline void
serve_advance_at(struct serve *s, uint64_t now_ns, uint64_t read_ns)
{
	s->advance_ns = read_ns;
	plane_advance(s->pl, now_ns);
	if (s->pl->now_ns > now_ns)
		plane_advance(s->pl, s->pl->now_ns);
	plane_flush_departed(s->pl);
}

static inline void
serve_advance(struct serve *s, uint64_t now_ns)
{
	serve_advance_at(s, now_ns, 0);
}

/*
 * Check the time from from_ns to now_ns, during which no packet was processed.
 * If this time is long, record a stall and tell the program, which must not
 * conclude that its peers have sent nothing.
 */
static inline void
serve_note_stall(struct serve *s, uint64_t from_ns, uint64_t now_ns)
{
	if (from_ns < s->stall_checked_ns)
		from_ns = s->stall_checked_ns;
	if (now_ns < from_ns + SERVE_STALL_NS)
		return;
	s->stall_checked_ns = now_ns;
	s->stall_ns += now_ns - from_ns;
	if (s->pl->program->stalled != NULL)
		s->pl->program->stalled(s->pl->state, now_ns - from_ns, now_ns);
}

static inline uint64_t
serve_read_clock(struct serve *s)
{
	const uint64_t now = clock_now(&s->clock);

	serve_note_stall(s, s->clock.now_ns, now);
	return now;
}

static inline uint64_t
serve_arrival_ns(struct serve *s, uint64_t stamp_ns)
{
	const uint64_t at_ns =
	    clock_arrival_ns(&s->clock, stamp_ns, s->pl->now_ns);

	serve_note_stall(s, at_ns, s->clock.now_ns);
	return at_ns;
}

static inline void
serve_advance_to_packet(struct serve *s, uint64_t at_ns)
{
	uint64_t now;

	if (++s->taken >= SERVE_CLOCK_EVERY) {
		s->taken = 0;
		now = serve_read_clock(s);
		serve_advance_at(s, now, now);
	}
	serve_advance(s, at_ns > s->pl->now_ns ? at_ns : s->pl->now_ns);
}

/* Process a datagram that arrived through socket w at time at_ns. */
static inline void
serve_receive_datagram(struct serve *s, struct serve_socket *w,
    const struct udpio_packet *d, uint64_t at_ns)
{
	struct packet p = { .from = d->from, .to = &w->u.local,
	    .socket = w->number, .tos = d->tos, .payload = d->data,
	    .bytes = (uint32_t)d->len,
	    .wire_bytes = (uint32_t)d->len + flow_head_bytes(d->from) };

	serve_advance_to_packet(s, at_ns);
	for (int n = plane_draw_copies(s->pl); n > 0; n--) {
		if (s->cf->ingress != NULL)
			udpio_capture(s->cf->ingress, d->from, &w->u.local,
			    d->tos, d->data, d->len, s->pl->now_ns);
		plane_receive(s->pl, &p);
	}
}

/* Process the datagrams of one message, which all arrived at the same time. */
static inline void
serve_receive_message(struct serve *s, struct serve_socket *w,
    const struct udpio_message *m)
{
	const uint64_t at_ns = serve_arrival_ns(s, m->stamp_ns);
	struct udpio_packet p;

	for (size_t at = 0; udpio_next_datagram(m, &at, &p);)
		serve_receive_datagram(s, w, &p, at_ns);
}

/*
 * Receive from one socket until it is empty, but at most SERVE_BATCHES batches,
 * so that a flood leaves time for other work.
 */
static inline void
serve_receive(struct serve *s, struct serve_socket *w)
{
	w->u.more = true;
	for (int k = 0; k < SERVE_BATCHES && w->u.more; k++) {
		const int n = udpio_recv(&w->u);

		clock_read(&s->clock);
		s->gave_up = false;
		for (int i = 0; i < n; i++)
			serve_receive_message(s, w, &w->u.got[i]);
		plane_flush(s->pl);
		serve_advance(s, s->clock.now_ns);
		serve_send_departed(s);
	}
}

/*
 * Send the backlog of the program, one run at a time, as long as the socket has
 * room.  This function never waits for room, so other packets are not delayed.
 */
static inline void
serve_send_backlog(struct serve *s)
{
	const struct program *pr = s->pl->program;
	struct pollfd p = { .fd = s->own.u.fd, .events = POLLOUT };

	for (int k = 0; pr->send_backlog != NULL && k < SERVE_BATCHES &&
	    (pr->has_backlog == NULL || pr->has_backlog(s->pl->state)) &&
	    poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0 &&
	    pr->send_backlog(s->pl->state); k++)
		plane_flush(s->pl);
}

/* Can the transmitters hold packets?  All sockets have the same settings. */
static inline bool
serve_holds_packets(const struct serve *s)
{
	return !udp_transmit_is_plain(&s->own.out);
}

/*
 * Return the longest time that the loop may sleep: until the next deadline,
 * until the end, or until the source of packets must be read.
 */
static inline uint64_t
serve_sleep_ns(const struct serve *s, uint64_t now_ns, uint64_t end_ns)
{
	uint64_t due = timer_earlier(plane_program_deadline_ns(s->pl), end_ns),
		 ns;

	due = timer_earlier(due, udp_transmit_deadline_ns(&s->own.out));
	for (uint32_t k = 0; serve_holds_packets(s) && k < s->sockets; k++)
		due = timer_earlier(
		    due, udp_transmit_deadline_ns(&s->socket[k]->out));
	ns = due > now_ns ? due - now_ns : 0;
	ns = timer_earlier(
	    ns, pace_sleep_ns(now_ns, plane_port_deadline_ns(s->pl)));
	return timer_earlier(ns, s->source == NULL ? TIMER_SECOND_NS :
	    s->source->max_sleep_ns);
}

/*
 * Sleep until a packet or a signal arrives, a deadline is reached or the time
 * to serve is over.
 */
static inline void
serve_sleep(struct serve *s, uint64_t end_ns)
{
	const struct program *pr = s->pl->program;
	const bool owes =
	    pr->has_backlog != NULL && pr->has_backlog(s->pl->state);
	const uint64_t now = clock_now(&s->clock);
	const uint64_t ns = serve_sleep_ns(s, now, end_ns);
	uint32_t more = 0;
	int n;

	s->poll[0] = (struct pollfd){ .fd = s->own.u.fd,
	    .events = (short)(POLLIN | (owes ? POLLOUT : 0)) };
	s->poll[1] = (struct pollfd){ .events = POLLIN,
	    .fd = s->sockets == 1 ? s->socket[0]->u.fd : s->epoll_fd };
	if (s->source != NULL)
		more = s->source->add_pollfds(s->source->ctx, s->poll + 2);
	n = spin_poll(&s->spin, s->poll, 2 + more, ns, s->cf->wait_mask,
	    now - s->clock.base_ns);
	timer_deliver_signals_now_and_then(s->cf->wait_mask, now,
	    &s->signals_ns);
	if (n == 0)
		s->poll[0].revents = s->poll[1].revents = 0;
	else if (n == -1)		/* a signal interrupted the wait, so
					 * packets may have arrived */
		s->poll[0].revents = s->poll[1].revents = POLLIN;
	else if ((s->poll[0].revents & POLLERR) != 0)
		udpio_read_errors(&s->own.u);
}

/*
 * Receive from the sockets other than `own` that had packets or errors when
 * serve_sleep() returned.  If there is only one such socket, epoll_wait() is
 * not needed.
 */
static inline void
serve_receive_ready(struct serve *s)
{
	int n = 1;

	if (s->poll[1].fd != s->epoll_fd)
		s->ready[0] = (struct epoll_event){ .data.ptr = s->socket[0],
		    .events = (uint32_t)s->poll[1].revents };
	else
		n = epoll_wait(s->epoll_fd, s->ready, SERVE_SOCKETS_MAX, 0);
	for (int k = 0; k < n; k++) {
		struct serve_socket *w = s->ready[k].data.ptr;

		if ((s->ready[k].events & EPOLLERR) != 0)
			udpio_read_errors(&w->u);
		if ((s->ready[k].events & EPOLLIN) != 0)
			serve_receive(s, w);
	}
}

/* Receive from the sockets that had packets when serve_sleep() returned. */
static inline void
serve_receive_polled(struct serve *s)
{
	if ((s->poll[0].revents & POLLIN) != 0)
		serve_receive(s, &s->own);
	if (s->poll[1].revents != 0)
		serve_receive_ready(s);
}

/*
 * Do what signals have requested, and print warnings.  Once a second, flush
 * captures, show progress and close sockets that are no longer needed.
 */
static inline void
serve_tick(struct serve *s, uint64_t now_ns)
{
	const struct program *pr = s->pl->program;

	if (*s->cf->show_flag != 0) {
		*s->cf->show_flag = 0;
		s->cf->show(s->cf->show_ctx);
	}
	if (*s->cf->reopen_flag != 0) {
		*s->cf->reopen_flag = 0;
		s->cf->reopen(s->cf->show_ctx, now_ns);
	}
	if (s->cf->ingress != NULL)
		rotate_if_full(s->cf->ingress, &s->cf->rotate);
	if (s->cf->egress != NULL)
		rotate_if_full(s->cf->egress, &s->cf->rotate);
	serve_warn_problems(s, now_ns);
	if (now_ns - s->second_ns < TIMER_SECOND_NS)
		return;
	s->second_ns = now_ns;
	if (s->cf->ingress != NULL)
		s->broken |= pcapio_flush_or_warn(s->cf->ingress);
	if (s->cf->egress != NULL)
		s->broken |= pcapio_flush_or_warn(s->cf->egress);
	if (s->cf->progress)
		serve_show_progress(s);
	s->cf->second(s->cf->show_ctx, now_ns);
	if (s->cf->tick != NULL)
		s->rc |= s->cf->tick(s->cf->tick_ctx, now_ns,
		    false);
	for (uint32_t k = s->sockets; k-- > 0;) {
		if (pr->needs_socket != NULL &&
		    !pr->needs_socket(s->pl->state, s->socket[k]->number) &&
		    udp_transmit_deadline_ns(&s->socket[k]->out) ==
			UDP_TRANSMIT_NEVER)
			serve_close_socket(s, k);
	}
}

static inline uint32_t
serve_raise_socket_limit(const struct serve *s)
{
	struct rlimit r;
	const int next = dup(s->own.u.fd);	/* the lowest descriptor that is
						 * free */
	const rlim_t used = (rlim_t)(next == -1 ? 0 : next) + SERVE_SPARE_FDS;

	if (next != -1)
		close(next);
	if (next == -1 || getrlimit(RLIMIT_NOFILE, &r) == -1)
		return 1;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);	/* if this call fails, the limit does
					 * not change */
	if (getrlimit(RLIMIT_NOFILE, &r) == -1 || r.rlim_cur <= used + 1)
		return 1;
	return r.rlim_cur - used > SERVE_SOCKETS_MAX
		   ? SERVE_SOCKETS_MAX
		   : (uint32_t)(r.rlim_cur - used);
}

static inline void
serve_open(struct serve *s, const struct serve_conf *cf,
    const struct program *pr, union addr *own)
{
	*s = (struct serve){ .cf = cf, .clock = clock_start(),
	    .spin = spin_for(cf->spin_ns),
	    .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	s->socket = calloc(SERVE_SOCKETS_MAX, sizeof(struct serve_socket *));
	s->by_number =
	    calloc(SERVE_SOCKET_NUMBERS, sizeof(struct serve_socket *));
	s->ready = calloc(SERVE_SOCKETS_MAX, sizeof(*s->ready));
	s->poll = calloc(2 + SERVE_SOURCE_FDS, sizeof(*s->poll));
	if (s->socket == NULL || s->by_number == NULL || s->ready == NULL ||
	    s->poll == NULL || s->epoll_fd == -1)
		err(1, "sockets");
	udpio_listen_or_exit(&s->own.u, &cf->listen, pr->tos,
	    !cf->no_offload, cf->port_file);
	if (cf->one_link && pr->send_backlog != NULL)
		udpio_limit_send_buffer(&s->own.u);
	udpio_print_description(&s->own.u, cf->verbose);
	s->own.out = udp_transmit_over(&s->own.u, &cf->impair, cf->egress);
	s->own.out.propagation_ns = cf->propagation_ns;
	s->may_gather =
	    cf->egress == NULL && udp_transmit_is_plain(&s->own.out);
	*own = s->own.u.local;
}

/* Should the loop continue? */
static inline bool
serve_should_continue(const struct serve *s, uint64_t now_ns, uint64_t end_ns)
{
	return !*s->cf->stop && now_ns < end_ns && !s->broken;
}

static inline int
serve_run(struct serve *s, struct plane *pl)
{
	uint64_t now = clock_now(&s->clock);
	const uint64_t end = timer_after(now, s->cf->duration_ns);

	s->pl = pl;
	s->second_ns = pl->now_ns = now;
	while (serve_should_continue(s, now, end)) {
		serve_sleep(s, end);
		serve_receive_polled(s);
		if (s->source != NULL)
			s->source->receive(s->source->ctx);
		now = serve_read_clock(s);
		serve_advance_at(s, now, now);
		serve_send_departed(s);
		plane_flush(pl);
		serve_send_backlog(s);
		udp_transmit_flush(&s->own.out, now);
		for (uint32_t k = 0; serve_holds_packets(s) && k < s->sockets;
		    k++)
			udp_transmit_flush(&s->socket[k]->out, now);
		serve_tick(s, now);
	}
	serve_receive(s, &s->own);	/* process the packets that have already
					 * arrived */
	for (uint32_t k = 0; k < s->sockets; k++)
		serve_receive(s, s->socket[k]);
	if (s->source != NULL)
		s->source->stop_receiving(s->source->ctx);
	udp_transmit_flush(&s->own.out, UDP_TRANSMIT_NEVER);
	for (uint32_t k = 0; k < s->sockets; k++)
		udp_transmit_flush(&s->socket[k]->out, UDP_TRANSMIT_NEVER);
	if (s->cf->progress)
		progress_clear();
	plane_count_queued(pl);
	if (s->cf->tick != NULL)
		s->rc |= s->cf->tick(s->cf->tick_ctx, now, true);
	return s->rc;
}

static inline void
serve_close(struct serve *s)
{
	while (s->sockets > 0)
		serve_close_socket(s, 0);
	free(s->socket);
	free(s->by_number);
	free(s->ready);
	free(s->poll);
	close(s->epoll_fd);
	for (int i = 0; i < UDPIO_RUN_MAX; i++)
		free(s->spare[i]);
	udp_transmit_free(&s->own.out);
	udpio_close(&s->own.u);
}

#endif
