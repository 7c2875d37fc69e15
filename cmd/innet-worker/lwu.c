/* lwu.c - the thread that keeps the weights: LWU of Algorithm 1 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/mac.h"
#include "common/timer.h"

#include "cmd/innet-worker/lwu.h"

enum {
	BATCHES = 16,			/* received between looks at all else */
	ROOM_NS = 1000000,		/* for a full link to drain */
	BURST_NS = 1000000		/* of a paced vector in one go */
};

static void
ring(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) == -1 && errno != EAGAIN)
		warn("eventfd");
}

static void
hush(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) == -1 && errno != EAGAIN)
		warn("eventfd");
}

/* It is over, and why has been said. */
static void
fail(struct lwu *l)
{
	l->failed = l->over = true;
}

/* The job is not ours any more, or the round r of segment i is gone. */
static void
fail_lost(struct lwu *l, int64_t r, uint32_t i, const char *why)
{
	warnx("%s: job %u: round %" PRId64 " of segment %" PRIu32 " %s; "
	    "restore weights that all workers share", l->cf->to_name,
	    l->cf->job, r, i, why);
	fail(l);
}

/* We are in; the first time, F is known. */
static void
take_in(struct lwu *l, uint64_t now_ns)
{
	if (l->a.segs == 0 && !asyncw_size(&l->a, l->in.floats)) {
		warnx("%" PRIu32 " segments: no memory", l->in.segs);
		fail(l);
	} else if (!asyncw_joined(&l->a, l->in.job_next, now_ns)) {
		fail_lost(l, l->a.most, 0, "is news to the switch, which has "
		    "been restarted");
	}
	ring(l->back);
}

/* A server lacks a segment of the last push, which is ours still. */
static void
take_asked(struct lwu *l, const struct seg *s, uint64_t now_ns)
{
	if (l->pushes == 0 || s->iteration != ((l->pushes - 1) &
	    (SEG_ITERATIONS - 1)) || s->index >= (l->busy && !l->again ?
	    l->sent : l->a.segs) || l->answers - l->answered == LWU_ANSWERS)
		return;
	l->answer[l->answers++ % LWU_ANSWERS] = s->index;
	l->heard_ns = now_ns;
}

static void
take_news(struct lwu *l, enum membership_news news, uint64_t now_ns)
{
	char why[MEMBERSHIP_WHY_BYTES];

	if (l->over)
		return;
	if (news == MEMBERSHIP_IN) {
		take_in(l, now_ns);
	} else if (news == MEMBERSHIP_RESUMED) {
		l->a.waits = false;
		ring(l->back);
	} else if (news == MEMBERSHIP_ASKED) {
		take_asked(l, &l->in.seg, now_ns);
	} else if (news == MEMBERSHIP_LOST && asyncw_lost(&l->a, &l->in.seg)) {
		fail_lost(l, l->a.seg[l->in.seg.index].next - l->a.proving,
		    l->in.seg.index, "is not kept any more");
	} else if (l->in.end == MEMBERSHIP_LEFT) {
		l->over = true;
	} else if (l->in.end != MEMBERSHIP_GOING) {
		warnx("%s: %s", l->cf->to_name, membership_why(&l->in, why));
		fail(l);
	}
}

static void
take_result(struct lwu *l, const struct seg *s, uint64_t now_ns)
{
	const int64_t had = l->a.t_s;
	const enum asyncw_verdict v = asyncw_result(&l->a, s, now_ns);

	if (l->a.t_s > had && l->committed_ns != 0) {
		spans_add(&l->rounds, now_ns - l->committed_ns);
		l->committed_ns = 0;
	}
	if (v == ASYNCW_OTHER)
		fail_lost(l, l->a.seg[0].next - 1, 0, "is another at the "
		    "switch, which has been restarted");
	else if (v == ASYNCW_PROVEN)
		ring(l->back);
}

/* A datagram from the switch. */
static void
take_packet(struct lwu *l, const struct udpio_packet *p, uint64_t now_ns)
{
	const uint8_t tos = p->tos & 0xfc;
	struct control c;
	struct seg s;

	if (!addr_same(p->from, &l->cf->to) ||
	    (tos != SEG_TOS && tos != CONTROL_TOS)) {
		l->n[LWU_FOREIGN]++;
	} else if (tos == SEG_TOS && seg_parse(p->data, p->len, &s)) {
		take_result(l, &s, now_ns);
	} else if (tos == SEG_TOS || !control_parse(p->data, p->len, &c)) {
		l->n[LWU_MALFORMED]++;
	} else if (l->cf->key->set && !mac_good(l->cf->key, p->data, p->len,
	    &c)) {
		l->n[LWU_BAD_MAC]++;
	} else {
		take_news(l, membership_control(&l->in, &c, now_ns), now_ns);
	}
}

/* What has come; a flood leaves time for the rest. */
static void
receive(struct lwu *l)
{
	struct udpio_packet p;

	l->u->more = true;
	for (int k = 0; k < BATCHES && l->u->more; k++) {
		const int n = udpio_recv(l->u);
		const uint64_t now = timer_mono_ns();

		for (int i = 0; i < n && !l->over; i++) {
			for (size_t at = 0; udpio_next(&l->u->got[i], &at,
			    &p);) {
				if (l->cf->capture != NULL)
					udpio_capture(l->cf->capture, p.from,
					    &l->u->local, p.tos, p.data,
					    p.len, p.stamp_ns);
				take_packet(l, &p, now);
			}
		}
	}
}

/* No round for too long: who was it that did not come? */
static void
check_stuck(struct lwu *l, uint64_t now_ns)
{
	const struct asyncw *a = &l->a;
	uint32_t i = 0;

	if (!membership_works(&l->in) || !a->waits ||
	    now_ns - a->waits_ns < l->cf->give_up_ns)
		return;
	if (a->proving) {
		fail_lost(l, a->seg[0].next - 1, 0, "is not shown by the "
		    "switch, which may have been restarted");
		return;
	}
	while (i + 1 < a->segs && a->seg[i].next > a->t_s)
		i++;
	warnx("%s: job %u: no round %" PRId64 " of segment %" PRIu32
	    " after %.1f s; %u members had joined, %u contributions are "
	    "needed", l->cf->to_name, l->cf->job, a->seg[i].next, i,
	    (double)l->cf->give_up_ns / 1e9, l->in.members, l->in.h);
	fail(l);
}

/* The next control message that is due, at msg; its length, or 0. */
static size_t
compose(struct lwu *l, uint64_t now_ns, uint8_t *msg)
{
	const struct membership_place at = { asyncw_wire(l->a.t_s),
	    membership_joins(&l->in, now_ns) ? asyncw_weights_crc(&l->a) : 0,
	    false };
	size_t len = l->over ? 0 : membership_next(&l->in, now_ns, &at, msg);
	uint64_t word;

	take_news(l, MEMBERSHIP_NOTHING, now_ns);
	if (len == 0 && !l->over && membership_works(&l->in) &&
	    asyncw_help(&l->a, now_ns, &word)) {
		len = (size_t)(wire_put(control_put(msg, CONTROL_HELP,
		    l->cf->job, membership_xid(&l->in)), word, 8) - msg);
		membership_said(&l->in, now_ns);
	}
	check_stuck(l, now_ns);
	return len > 0 ? mac_sign(l->cf->key, msg, len) : 0;
}

/* The segments of a run from `first` on, made ready; how many. */
static int
gather(struct lwu *l, uint32_t first, uint32_t left)
{
	const uint32_t floats = l->a.floats;
	const uint64_t bytes = SEG_HEADER_BYTES + 4 * (uint64_t)floats;
	uint64_t n = UDPIO_RUN_MAX;

	if (l->cf->pace_bps > 0)
		n = l->cf->pace_bps / (8 * bytes) * BURST_NS / TIMER_SECOND_NS;
	n = n == 0 ? 1 : n > UDPIO_RUN_MAX ? UDPIO_RUN_MAX : n;
	n = n < left ? n : left;
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = first + k;
		struct iovec *v = &l->piece[2 * k];

		seg_put(l->head[k], l->pushes - 1, 1, i);
		v[0] = (struct iovec){ l->head[k], SEG_HEADER_BYTES };
		v[1] = (struct iovec){ l->push + 4 * (size_t)i * floats,
		    4 * (size_t)seg_floats_at(l->elements, floats, i) };
	}
	return (int)n;
}

/* When the next run may leave, after one of n segments at now_ns. */
static void
pace(struct lwu *l, int n, uint64_t now_ns)
{
	const double bits = 8.0 * n * (SEG_HEADER_BYTES + 4.0 * l->a.floats);

	if (l->cf->pace_bps == 0)
		return;
	if (l->send_ns < now_ns)
		l->send_ns = now_ns;
	l->send_ns += (uint64_t)(bits / (double)l->cf->pace_bps * 1e9);
}

/* Send so many segments from `first` on, at most; how many are done with. */
static uint32_t
send_some(struct lwu *l, uint32_t first, uint32_t left, uint64_t now_ns)
{
	const int n = gather(l, first, left);
	const int sent = outlet_send_room(l->out, &l->cf->to, SEG_TOS,
	    l->piece, 2, n, l->piece[0].iov_len + l->piece[1].iov_len,
	    timer_wall_ns(), &l->blocked);

	pace(l, sent, now_ns);
	return (uint32_t)(l->blocked ? sent : n);	/* else counted */
}

/* Send again what a server lacks, as many in a run as follow each other. */
static void
send_answers(struct lwu *l, uint64_t now_ns)
{
	while (l->answered != l->answers && !l->blocked &&
	    now_ns >= l->send_ns) {
		const uint32_t first = l->answer[l->answered % LWU_ANSWERS];
		uint32_t n = 1;

		while (l->answered + n != l->answers && l->answer[
		    (l->answered + n) % LWU_ANSWERS] == first + n)
			n++;
		n = send_some(l, first, n, now_ns);
		l->answered += n;
		l->n[LWU_RESENT] += n;
	}
}

/* All of a push has been handed to the kernel. */
static void
sent_all(struct lwu *l, uint64_t now_ns)
{
	l->n[LWU_SENT] += !l->again;
	l->n[l->again ? LWU_RESENT : LWU_SEGMENTS] += l->a.segs;
	membership_said(&l->in, now_ns);
	asyncw_wait(&l->a, now_ns);
	l->heard_ns = now_ns;
	l->busy = l->again = false;
	ring(l->back);
}

/*
 * Send on the vector that was committed, in order of index, after what is
 * wanted again of it: the time to come back for the rest, NEVER if there is
 * none.
 */
static uint64_t
send_push(struct lwu *l, uint64_t now_ns)
{
	l->blocked = false;
	send_answers(l, now_ns);
	while (l->busy && !l->blocked && now_ns >= l->send_ns) {
		l->sent += send_some(l, l->sent, l->a.segs - l->sent, now_ns);
		if (l->sent == l->a.segs)
			sent_all(l, now_ns);
	}
	if (l->blocked)
		return l->u->link_full ? now_ns + ROOM_NS : TIMER_NEVER;
	return l->busy || l->answered != l->answers ? l->send_ns :
	    TIMER_NEVER;
}

/* A server that neither asks nor answers may have nothing of the last push. */
static uint64_t
check_lost(struct lwu *l, uint64_t now_ns)
{
	const uint64_t due = asyncw_again_ns(&l->a, l->heard_ns);

	if (l->busy || l->a.t_s >= l->need)
		return TIMER_NEVER;
	if (now_ns < due)
		return due;
	l->busy = l->again = true;
	l->sent = 0;
	return now_ns;
}

/* Tell LGC when it may commit. */
static uint64_t
look_ready(struct lwu *l, uint64_t now_ns)
{
	const bool ready = lwu_ready(l);

	if (ready && !l->ready)
		ring(l->back);
	l->ready = ready;
	return ready || l->busy || l->a.t_s < l->need ? TIMER_NEVER :
	    now_ns + ROOM_NS;
}

/* Of each so many rounds, and of the last, a line with its CRC. */
static void
tell_rounds(struct lwu *l, bool last)
{
	const int64_t every = (int64_t)l->cf->every, t_s = l->a.t_s;
	uint32_t crc;

	if (l->cf->json == NULL || every == 0)
		return;
	while (l->told < t_s) {
		int64_t r = (l->told + every - 1) / every * every;

		if (r >= t_s && (!last || l->told == t_s))
			break;
		r = r < t_s ? r : t_s - 1;
		if (asyncw_crc(&l->a, r, &crc))
			fprintf(l->cf->json, "{\"round\":%" PRId64
			    ",\"crc\":\"%08" PRIx32 "\"}\n", r, crc);
		l->told = r + 1;
		fflush(l->cf->json);
	}
}

/* What is to be sent now; when to look again. */
static uint64_t
work(struct lwu *l)
{
	const uint64_t now = timer_mono_ns();
	uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
	uint64_t due;
	size_t len;

	while ((len = compose(l, now, msg)) > 0) {
		if (!outlet_send(l->out, &l->cf->to, CONTROL_TOS, msg, len,
		    timer_wall_ns()))
			l->n[LWU_SEND_FAILED]++;
	}
	due = membership_due(&l->in);
	if (!membership_works(&l->in))
		return due;
	due = timer_first(due, asyncw_due(&l->a));
	if (l->a.waits)
		due = timer_first(due, timer_after(l->a.waits_ns,
		    l->cf->give_up_ns));
	if (l->in.closed)
		return due;
	due = timer_first(due, check_lost(l, now));
	due = timer_first(due, send_push(l, now));
	return timer_first(due, look_ready(l, now));
}

static bool
is_over(struct lwu *l)
{
	if (l->leave)
		membership_leave(&l->in, timer_mono_ns());
	if (l->cf->capture != NULL && l->cf->capture->failed != 0)
		fail(l);		/* who closes it says why */
	l->over |= l->in.end == MEMBERSHIP_LEFT;
	return l->over;
}

/* Sleep until a packet comes, LGC rings, or due_ns; without the lock. */
static void
nap(struct lwu *l, uint64_t due_ns)
{
	struct pollfd p[2] = { { .fd = l->u->fd, .events = (short)(POLLIN |
	    (l->blocked && !l->u->link_full ? POLLOUT : 0)) },
	    { .fd = l->wake, .events = POLLIN } };
	const uint64_t now = timer_mono_ns(), held = outlet_due(l->out);
	uint64_t ns = due_ns > now ? due_ns - now : 0, wall;
	struct timespec ts;
	int n;

	if (held != OUTLET_NEVER) {
		wall = timer_wall_ns();
		ns = timer_first(ns, held > wall ? held - wall : 0);
	}
	ts = timer_spec(timer_first(ns, TIMER_SECOND_NS));
	pthread_mutex_unlock(&l->lock);
	while (atomic_load(&l->want) > 0)
		sched_yield();		/* a mutex is not fair */
	n = ppoll(p, 2, &ts, NULL);
	pthread_mutex_lock(&l->lock);
	if (n <= 0)
		return;
	if ((p[0].revents & POLLERR) != 0)
		udpio_errors(l->u);
	if (p[1].revents != 0)
		hush(l->wake);
}

/* Once a second, if need be: what is wrong with the network. */
static void
complain(struct lwu *l, uint64_t *warned_ns, uint64_t *told)
{
	const uint64_t now = timer_mono_ns();

	if (now - *warned_ns < TIMER_SECOND_NS)
		return;
	*warned_ns = now;
	if (l->cf->capture != NULL)
		pcapio_flush(l->cf->capture);
	if (l->u->unreachable != *told)
		warnx("%s: unreachable, %" PRIu64 " packets so far",
		    l->cf->to_name, l->u->unreachable);
	*told = l->u->unreachable;
}

static void *
run(void *arg)
{
	struct lwu *l = arg;
	uint64_t warned_ns = 0, told = 0;

	pthread_mutex_lock(&l->lock);
	while (!is_over(l)) {
		nap(l, work(l));
		receive(l);
		outlet_flush(l->out, timer_wall_ns());
		tell_rounds(l, false);
		complain(l, &warned_ns, &told);
	}
	tell_rounds(l, true);
	pthread_mutex_unlock(&l->lock);
	ring(l->back);
	return NULL;
}

void
lwu_start(struct lwu *l, const struct worker_conf *cf, struct udpio *u,
    struct outlet *out, uint64_t mtu, uint32_t elements, const uint8_t *w,
    uint64_t first)
{
	const bool v6 = cf->to.sa.sa_family == AF_INET6;
	const uint32_t most = v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4;
	struct membership_conf in = { .type = CONTROL_WORKER, .async = true,
	    .job = cf->job, .cluster = cf->cluster,
	    .number = cf->worker, .elements = elements,
	    .floats = (uint16_t)(cf->floats < most ? cf->floats : most),
	    .xid = control_first_xid(timer_wall_ns()),
	    .floats_max = (uint16_t)most, .give_up_ns = cf->give_up_ns };

	if (cf->floats == 0 && mtu < 1500)
		in.floats = (uint16_t)seg_floats(mtu, v6); /* less than usual */
	*l = (struct lwu){ .cf = cf, .u = u, .out = out,
	    .elements = elements, .told = (int64_t)first,
	    .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	    .back = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	    .push = malloc(4 * (size_t)elements) };
	if (l->wake == -1 || l->back == -1)
		err(1, "eventfd");
	if (l->push == NULL || !spans_init(&l->rounds) ||
	    !asyncw_init(&l->a, elements, w, cf->ascend ? -(float)cf->gamma :
	    (float)cf->gamma, (int64_t)first))
		err(1, "a vector of %" PRIu32 " elements", elements);
	membership_init(&l->in, &in, timer_mono_ns());
	pthread_mutex_init(&l->lock, NULL);
	errno = pthread_create(&l->thread, NULL, run, l);
	if (errno != 0)
		err(1, "a thread");
}

bool
lwu_stop(struct lwu *l)
{
	lwu_enter(l);
	l->leave = true;
	lwu_exit(l);
	ring(l->wake);
	pthread_join(l->thread, NULL);
	close(l->wake);
	close(l->back);
	free(l->push);
	return !l->failed;
}

void
lwu_enter(struct lwu *l)
{
	atomic_fetch_add(&l->want, 1);
	pthread_mutex_lock(&l->lock);
	atomic_fetch_sub(&l->want, 1);
}

void
lwu_exit(struct lwu *l)
{
	pthread_mutex_unlock(&l->lock);
}

void
lwu_hush(struct lwu *l)
{
	hush(l->back);
}

bool
lwu_ready(const struct lwu *l)
{
	return !l->busy && membership_works(&l->in) && !l->a.proving &&
	    l->a.t_s >= l->need && !asyncw_amid(&l->a, timer_mono_ns()) &&
	    udpio_unsent(l->u) <= ASYNCW_UNSENT_BYTES;
}

void
lwu_commit(struct lwu *l, const uint8_t *vec)
{
	memcpy(l->push, vec, 4 * (size_t)l->elements);
	l->busy = true;
	if (l->committed_ns == 0)
		l->committed_ns = timer_mono_ns();
	l->pushes++;
	l->sent = l->answers = l->answered = 0;
	l->need = l->in.whole ? l->a.t_s + 1 : 0;
	asyncw_wait(&l->a, timer_mono_ns());
	ring(l->wake);
}

bool
lwu_weights(const struct lwu *l, uint8_t *w, uint64_t *seen)
{
	if (l->a.applied == *seen)
		return false;
	*seen = l->a.applied;
	memcpy(w, l->a.w, 4 * (size_t)l->elements);
	return true;
}
