/*
 * serve-sockets.h - the sockets of a data plane that serves on UDP, and how
 * datagrams are sent through these sockets
 *
 * One socket is bound to the switch's own address.  Each further socket of the
 * program (`socket` in struct packet) is opened when a packet must be sent
 * through this socket, and closed when the program no longer needs the socket.
 * The counters of closed sockets are kept.
 *
 * If the kernel has no room for a datagram, the datagram may have to wait.  A
 * datagram that does not pass through the queue of a port waits for up to one
 * second.  A datagram that has left a port according to the schedule of the
 * port's link does not wait.  It is lost, as on a full link.
 *
 * Departed datagrams, which have left the queue of a port, are sent in runs,
 * because one more system call takes more time than one more packet in the same
 * call.  A run waits for more datagrams until it is SERVE_GATHER_NS old, until
 * all packets received together are processed, or until something else must be
 * sent.  If departures are captured or impaired, a run contains only datagrams
 * that left at the same time.
 */
#ifndef INNET_NET_SERVE_SOCKETS_H
#define INNET_NET_SERVE_SOCKETS_H

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/base/message.h"
#include "common/capture/rotate.h"
#include "common/net/spin.h"
#include "common/net/timer.h"
#include "common/net/udp-io.h"
#include "common/net/udp-transmit.h"
#include "common/switch/plane.h"
#include "common/wire/networks.h"

enum {
	SERVE_SOCKETS_MAX = 1024,	/* maximum number of sockets, not
					 * counting the switch's own socket */
	SERVE_SOCKET_NUMBERS = 65537,	/* numbers of sockets are less than this
					 * value */
	SERVE_SOURCE_FDS = 256,		/* maximum number of descriptors of a
					 * serve_source */
	SERVE_SPARE_FDS = 16		/* number of descriptors that are kept
					 * free for captures and reports */
};

/*
 * A source of packets that are not received through sockets of this file, such
 * as the network interfaces of a switch in the path.
 */
struct serve_source {
	void *ctx;
	uint64_t max_sleep_ns;		/* longest time between two calls of
					 * receive() */
	/* Store in p the descriptors to wait for, at most SERVE_SOURCE_FDS of
	 * them.  Returns their number. */
	uint32_t (*add_pollfds)(void *ctx, struct pollfd *p);
	/* Process the packets that have arrived. */
	void (*receive)(void *ctx);
	/* Receive the packets that are already present, then stop receiving. */
	void (*stop_receiving)(void *ctx);
};

struct serve_conf {
	const char *tool;		/* name of the tool, for the summary */
	union addr listen;
	uint64_t duration_ns;		/* how long the tool serves;
					 * TIMER_NEVER: until a signal
					 * arrives */
	uint64_t propagation_ns;	/* propagation delay of every port's
					 * link */
	struct impair impair;		/* impairment of packets that leave */
	const char *port_file;		/* file to which the port number is
					 * written; NULL: none */
	const char *save;		/* path of a file that the tool writes
					 * later, or NULL */
	struct pcapio_out *ingress, *egress;	/* the captures, or NULL */
	struct rotate rotate;		/* rotation of the captures */
	/*
	 * Flags that signal handlers set.  They request, in this order, the end
	 * of the loop, the summary, and that the files are opened again.
	 */
	volatile sig_atomic_t *stop, *show_flag, *reopen_flag;
	const sigset_t *wait_mask;	/* signal mask while the loop waits */
	bool one_link;			/* all hosts share one link, so the
					 * switch must wait for room on this
					 * link */
	bool no_offload;		/* do not use UDP_SEGMENT and UDP_GRO */
	uint64_t spin_ns;		/* how long to poll after a packet */
	bool verbose, progress;
	/*
	 * A function that is called once a second, and at the end with `last`
	 * set; or NULL.
	 */
	int (*tick)(void *ctx, uint64_t now_ns, bool last);
	void *tick_ctx;
	void (*show)(void *ctx);
	void (*reopen)(void *ctx, uint64_t now_ns);	/* called at SIGHUP */
	void (*second)(void *ctx, uint64_t now_ns);	/* called once a
							 * second */
	void *show_ctx;
};

struct serve_socket {
	struct udpio u;
	struct udp_transmit out;	/* transmitter that sends through the
					 * socket u */
	uint32_t number;		/* number of the socket, as in struct
					 * packet */
};

/* Counters of all sockets, of the kernel and of --impair. */
struct serve_account {
	uint64_t kernel, unreachable, send_failed;
	uint64_t lost, duplicated, reordered;
};

struct serve {
	const struct serve_conf *cf;
	struct plane *pl;
	struct clock clock;
	struct serve_socket own;	/* socket of the switch's own address */
	struct serve_socket **socket;	/* owned; the other sockets */
	struct serve_socket **by_number;	/* owned; by number: pointer to
						 * an entry of `socket`, or
						 * NULL */
	uint32_t sockets;
	int epoll_fd;			/* epoll descriptor, which is readable
					 * if a socket of `socket` has packets
					 * or errors */
	struct pollfd *poll;		/* owned; first the entry of `own`, then
					 * that of the only other socket or of
					 * epoll_fd, then those of `source` */
	struct epoll_event *ready;	/* owned; the sockets of `socket` that
					 * were ready after the last wait */
	uint64_t signals_ns;		/* time when signals were last
					 * delivered */
	uint64_t second_ns, warned_ns;	/* time when the work of each second was
					 * last done; time of the last
					 * warning */
	uint64_t unreachable;		/* value of own.u.unreachable at the
					 * last check for warnings */
	uint64_t stall_checked_ns, stall_ns;	/* used by serve_note_stall() */
	struct serve_account gone;	/* counters of closed sockets */
	bool warned_drops, warned_sockets;
	struct spin spin;
	const struct serve_source *source;	/* source of packets, or NULL */
	bool broken;			/* the loop must end; an error was
					 * printed */
	bool gave_up;			/* while this batch is processed, sends
					 * no longer wait for room */
	int taken;			/* number of packets that were received
					 * since the clock was last read */
	int rc;				/* exit status so far */
	/*
	 * The run that waits: datagrams that have left a port but have not been
	 * sent yet.
	 */
	struct iovec departed[UDPIO_RUN_MAX];
	int departed_count;		/* number of entries of `departed` in
					 * use */
	size_t departed_bytes;
	struct slot_to departed_to;
	uint64_t departed_ns;		/* departure time of the first datagram
					 * of the run */
	uint64_t advance_ns;		/* departure time of the packets that
					 * leave now; 0: read the clock when the
					 * first of them leaves */
	bool may_gather;		/* a run may wait until it has more
					 * datagrams */
	bool has_group;			/* a result may be sent once for the
					 * whole subnet (serve-group.h) */
	struct networks_one subnet;	/* if has_group is set: subnet of the
					 * switch's own address */
	uint64_t shared;		/* number of results that were sent once
					 * for several hosts */
	/*
	 * Owned.  If the datagram of a slot is added to the run that waits, the
	 * slot gets one of these buffers in exchange for its own buffer.
	 */
	uint8_t *spare[UDPIO_RUN_MAX];
	uint32_t spare_room[UDPIO_RUN_MAX];
};

enum {
	SERVE_WAIT_MS = 1000,		/* longest time that one batch waits for
					 * room */
	SERVE_GATHER_NS = 30000		/* longest time that a run waits for
					 * more datagrams */
};

/*
 * Return the socket with number `socket`.  If it is not open, open it at the
 * address from which the kernel reaches `to`.  Returns NULL on failure.  In
 * that case the caller must count the datagrams for this socket as failed.
 */
static inline struct serve_socket *serve_find_socket(struct serve *s,
    uint32_t socket, const union addr *to);

/* Close the socket at index k. */
static inline void serve_close_socket(struct serve *s, uint32_t k);

/*
 * Implement plane_driver.send_run.  If the kernel has no room for a datagram in
 * time, the datagram is counted as failed.
 */
static inline void serve_send_run(void *ctx, uint32_t socket,
    const union addr *from, const union addr *to, const struct post *p,
    uint64_t now_ns);

/*
 * Send the departed datagrams in runs.  The datagrams of a run have the same
 * length, except that the last one may be shorter.
 */
static inline void serve_send_departed(struct serve *s);

/* Implement plane_driver.flush_departed. */
static inline void serve_flush_departed(void *ctx);

/*
 * Implement plane_driver.clock_ns.  Packets that leave together get the same
 * departure time.
 */
static inline uint64_t serve_clock_ns(void *ctx);

/* Add the counters of socket w to c. */
static inline void serve_add_socket(struct serve_account *c,
    const struct serve_socket *w);

/* implementation */

static inline void
serve_add_socket(struct serve_account *c, const struct serve_socket *w)
{
	c->kernel += w->u.kernel_drops;
	c->unreachable += w->u.unreachable;
	c->send_failed += w->u.send_failed;
	c->lost += w->out.impair.lost;
	c->duplicated += w->out.impair.duplicated;
	c->reordered += w->out.impair.reordered;
}

static inline void
serve_close_socket(struct serve *s, uint32_t k)
{
	struct serve_socket *w = s->socket[k];

	serve_add_socket(&s->gone, w);
	udp_transmit_free(&w->out);
	udpio_close(&w->u);
	s->by_number[w->number] = NULL;
	free(w);
	s->socket[k] = s->socket[--s->sockets];
}

/*
 * Return the size, in bytes, that the buffers of socket `number` should have.
 */
static inline uint64_t
serve_buffer_bytes(const struct serve *s, uint32_t number)
{
	const struct program *pr = s->pl->program;

	return pr->socket_bytes == NULL
		   ? UDPIO_BUFFER_BYTES
		   : pr->socket_bytes(s->pl->state, number);
}

/*
 * Open w, the socket with number `number`, and add it to the sockets whose
 * packets the loop waits for.  Returns false with errno on failure.
 */
static inline bool
serve_open_socket(struct serve *s, struct serve_socket *w, uint32_t number,
    const union addr *to)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = w };
	int saved;

	if (udpio_open_beside(&w->u, &s->own.u, to, s->pl->program->tos,
		!s->cf->no_offload) == -1)
		return false;
	udpio_limit_send_buffer(&w->u);
	udpio_limit_buffers(&w->u, serve_buffer_bytes(s, number));
	w->number = number;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, w->u.fd, &e) == 0)
		return true;
	saved = errno;
	udpio_close(&w->u);
	errno = saved;
	return false;
}

static inline struct serve_socket *
serve_find_socket(struct serve *s, uint32_t socket, const union addr *to)
{
	struct serve_socket *w;
	char name[ADDR_NAME_BYTES];

	if (socket == PACKET_SOCKET_OWN)
		return &s->own;
	assert(socket < SERVE_SOCKET_NUMBERS);
	if (s->by_number[socket] != NULL)
		return s->by_number[socket];
	errno = EMFILE;
	w = s->sockets == SERVE_SOCKETS_MAX ? NULL : calloc(1, sizeof(*w));
	if (w == NULL || !serve_open_socket(s, w, socket, to)) {
		if (!s->warned_sockets)
			warn("%s: cannot open another socket", addr_print(to,
			    name));
		s->warned_sockets = true;
		free(w);
		return NULL;
	}
	w->out = udp_transmit_over(&w->u, &s->cf->impair, s->cf->egress);
	w->out.propagation_ns = s->cf->propagation_ns;
	s->socket[s->sockets++] = s->by_number[socket] = w;
	return w;
}

/*
 * Wait until u has room to send.  Returns false if there is no room in time.
 * `tries` is the number of earlier waits for the same datagram.  If the queue
 * of the link may be full although the buffer of the socket is not, first sleep
 * for a millisecond.  If a batch has waited for SERVE_WAIT_MS without success,
 * it does not wait again, because one blocked socket must not stop all other
 * sockets.
 */
static inline bool
serve_wait_for_room(struct serve *s, const struct udpio *u, int tries)
{
	struct pollfd p = { .fd = u->fd, .events = POLLOUT };
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (s->gave_up)
		return false;
	if (tries > 0 || u->link_full)
		nanosleep(&ms, NULL);
	s->gave_up = tries == SERVE_WAIT_MS || poll(&p, 1, SERVE_WAIT_MS) != 1;
	return !s->gave_up;
}

static inline void
serve_send_run(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct serve *s = ctx;
	struct serve_socket *w = serve_find_socket(s, socket, to);
	uint32_t done = 0;
	int tries = 0, n;

	(void)from;		/* each socket has its own address */
	if (s->departed_count > 0)	/* keep the order of datagrams */
		serve_send_departed(s);
	if (w == NULL)
		s->gone.send_failed += p->count;
	while (w != NULL && done < p->count) {
		n = udp_transmit_send_run(&w->out, to, p->tos,
		    p->p + (size_t)done * p->bytes, p->bytes,
		    (int)(p->count - done), p->last_bytes, now_ns);
		done += n > 0 ? (uint32_t)n : 0;
		if (done == p->count)
			break;
		if (errno != EAGAIN)
			return;		/* the socket has already counted the
					 * failure */
		tries = n > 0 ? 0 : tries;
		if (!serve_wait_for_room(s, &w->u, tries++)) {
			w->u.send_failed += p->count - done;
			return;
		}
	}
}

static inline void
serve_send_departed(struct serve *s)
{
	const struct iovec *v = s->departed, *end = v + s->departed_count;
	const struct slot_to *to = &s->departed_to;
	struct serve_socket *w = s->departed_count == 0 ? NULL :
	    serve_find_socket(s, to->socket, &to->to);

	if (w == NULL)
		s->gone.send_failed += (uint64_t)s->departed_count;
	while (w != NULL && v < end) {
		int n = 1, sent = 0;

		while (v + n < end && v[n - 1].iov_len == v[0].iov_len &&
		    v[n].iov_len <= v[0].iov_len)
			n++;
		if (n > 1)
			sent = udp_transmit_send_gather(&w->out, &to->to,
			    to->tos, v, 1, n, v[0].iov_len, s->departed_ns);
		v += sent;
		if (sent < n) {
			udp_transmit_send(&w->out, &to->to, to->tos,
			    v->iov_base, v->iov_len, s->departed_ns);
			v++;
		}
	}
	s->departed_count = 0;
	s->departed_bytes = 0;
}

/*
 * Keep the bytes of a slot until the slot's datagram, which is number i of the
 * run, is sent.  The slot may be filled again before that, so it gets another
 * buffer.  Returns false if there is no memory.
 */
static inline bool
serve_keep_bytes(struct serve *s, int i, struct slot *slot)
{
	uint8_t *p = s->spare[i];

	if (slot->room == 0)	/* an empty datagram has no bytes */
		return true;
	if (s->spare_room[i] != slot->room) {
		p = realloc(p, slot->room);
		if (p == NULL)
			return false;
		s->spare_room[i] = slot->room;
	}
	s->spare[i] = slot->bytes;
	slot->bytes = p;
	return true;
}

/*
 * Implement plane_driver.send_slot.  The bytes of the slot are kept until the
 * run that contains its datagram is sent.
 */
static inline void
serve_send_slot(
    void *ctx, struct port *port, struct slot *slot, uint64_t when_ns)
{
	struct serve *s = ctx;
	const struct slot_to *to = &slot->to;

	(void)port;
	if (slot->changed)
		port_update_header(slot);
	if (s->departed_count == UDPIO_RUN_MAX || /* one call cannot send more
						   * datagrams than this */
	    s->departed_bytes + slot->have > UDPIO_RUN_BYTES_V6 ||
	    (!s->may_gather && s->departed_ns != when_ns) ||
	    (s->departed_count > 0 &&
		(s->departed_to.socket != to->socket ||
		    s->departed_to.tos != to->tos ||
		    !addr_same(&s->departed_to.to, &to->to))))
		serve_send_departed(s);
	if (s->departed_count == 0)
		s->departed_ns = when_ns;
	s->departed_to = *to;
	s->departed[s->departed_count++] =
	    (struct iovec){slot->bytes, slot->have};
	s->departed_bytes += slot->have;
	if (s->may_gather && !serve_keep_bytes(s, s->departed_count - 1, slot))
		serve_send_departed(s);
}

static inline uint64_t
serve_clock_ns(void *ctx)
{
	struct serve *s = ctx;

	if (s->advance_ns == 0)
		s->advance_ns = clock_now(&s->clock);
	return s->advance_ns;
}

static inline void
serve_flush_departed(void *ctx)
{
	struct serve *s = ctx;

	if (!s->may_gather || s->pl->now_ns - s->departed_ns >= SERVE_GATHER_NS)
		serve_send_departed(s);
}

#endif
