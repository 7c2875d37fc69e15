/* live.c - the switch on a UDP socket, around the same queue as the filter */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/outlet.h"
#include "common/pace.h"
#include "common/routes.h"
#include "common/timer.h"

#include "cmd/innet-switch/live.h"
#include "cmd/innet-switch/report.h"

enum {
	BATCHES = 16,		/* received between looks at all else */
	CLOCK_EVERY = 64	/* packets after which departures are due */
};

struct live {
	const struct live_conf *cf;
	struct egress *e;
	struct filter_passed *passed;
	struct udpio u;
	struct routes routes;
	struct outlet out;
	uint64_t last_ns;		/* of the last decision */
	uint64_t late_max_ns;		/* a departure after its time */
	uint64_t warned_ns, unreachable;	/* of the dead upstream */
	uint64_t told_ns;		/* last progress or flush, monotonic */
	bool warned_drops;
	unsigned taken;			/* packets since the clock was read */
	struct iovec leaving[UDPIO_RUN_MAX];	/* departed, not yet sent */
	int leavings;
};

static void
send_to(struct live *l, const union addr *to, const void *p, size_t len,
    uint64_t now_ns)
{
	outlet_send(&l->out, to, UPDATE_TOS, p, len, now_ns);
}

/*
 * Send what has departed at when_ns: runs of one length, the last of which may
 * be shorter, as runs.  What finds no room is lost, as on a full link.
 */
static void
send_leaving(struct live *l, uint64_t when_ns)
{
	const struct iovec *v = l->leaving, *end = v + l->leavings;

	while (v < end) {
		int n = 1, sent = 0;

		while (v + n < end && v[n - 1].iov_len == v[0].iov_len &&
		    v[n].iov_len <= v[0].iov_len)
			n++;
		if (n > 1)
			sent = outlet_send_gather(&l->out, &l->cf->upstream,
			    UPDATE_TOS, v, 1, n, v[0].iov_len, when_ns);
		v += sent;
		if (sent < n) {
			send_to(l, &l->cf->upstream, v->iov_base, v->iov_len,
			    when_ns);
			v++;
		}
	}
	l->leavings = 0;
}

/*
 * What is due by now_ns leaves, stamped with the time it really is: arrivals
 * that are looked at later count as later.  Slots that are popped hold their
 * bytes until the next arrival.
 */
static void
depart(struct live *l, uint64_t now_ns)
{
	uint64_t when;

	if (egress_due(l->e) > now_ns)
		return;
	when = timer_wall_ns();
	if (when < l->last_ns)
		when = l->last_ns;
	l->last_ns = when;
	while (egress_due(l->e) <= now_ns) {
		struct slot *s = egress_head(l->e);

		if (when > egress_due(l->e) + l->late_max_ns)
			l->late_max_ns = when - egress_due(l->e);
		if (s->changed)
			update_put(s->bytes, &s->up);
		l->leaving[l->leavings++] = (struct iovec){ s->bytes,
		    s->have };
		if (l->leavings == UDPIO_RUN_MAX)
			send_leaving(l, when);
		egress_pop(l->e);
	}
	send_leaving(l, when);
}

static void
ignore(struct live *l, unsigned why)
{
	l->e->tally.ignored[why]++;
}

/* A model comes back: note the queue's status on it and hand it out. */
static void
pass_model(struct live *l, struct udpio_packet *p, struct update *u,
    uint64_t now_ns)
{
	struct update_status own = egress_status(l->e, now_ns);
	const union addr *to;
	uint32_t next = 0;

	l->passed->models++;
	if (txctl_stamp(&u->status, &own))
		update_put_status(p->data + UPDATE_HEADER_BYTES, &u->status);
	if (u->worker != UPDATE_ALL_WORKERS) {
		to = routes_worker(&l->routes, u->cluster, u->worker, now_ns);
		if (to == NULL)
			l->passed->no_route++;
		else
			send_to(l, to, p->data, p->len, now_ns);
		return;
	}
	while ((to = routes_each(&l->routes, u->cluster, now_ns, &next)) !=
	    NULL)
		send_to(l, to, p->data, p->len, now_ns);
	if (next == 0)
		l->passed->no_route++;
}

/* An update or weights from a worker, or from a switch below. */
static void
take_upward(struct live *l, const struct udpio_packet *p,
    const struct update *u, uint64_t now_ns)
{
	const struct arrival a = { .bytes = p->data,
	    .have = (uint32_t)p->len, .is_update = true, .up = *u,
	    .wire_bytes = (uint32_t)(p->len + udpio_head_bytes(p->from)) };

	routes_see(&l->routes, u->cluster, u->worker, p->from, now_ns);
	if (u->kind == UPDATE_UPDATE) {
		egress_offer(l->e, &a, now_ns);
	} else {
		l->passed->weights++;
		send_to(l, &l->cf->upstream, p->data, p->len, now_ns);
	}
}

/* One packet: its time is the kernel's, but not before the last decision. */
static void
take(struct live *l, struct udpio_packet *p)
{
	bool down = addr_same(p->from, &l->cf->upstream);
	struct update u;
	enum update_bad bad;
	uint64_t now_ns;

	depart(l, p->stamp_ns);
	now_ns = p->stamp_ns > l->last_ns ? p->stamp_ns : l->last_ns;
	l->last_ns = now_ns;
	l->passed->packets++;
	if (l->cf->ingress != NULL)
		udpio_capture(l->cf->ingress, p->from, &l->u.local, p->tos,
		    p->data, p->len, now_ns);
	if ((p->tos & 0xfc) != UPDATE_TOS) {
		ignore(l, JUDGE_FOREIGN);
		return;
	}
	bad = update_parse(p->data, p->len, &u);
	if (bad != UPDATE_OK)
		ignore(l, bad);
	else if (down != (u.kind == UPDATE_MODEL))
		ignore(l, JUDGE_FOREIGN);
	else if (down)
		pass_model(l, p, &u, now_ns);
	else
		take_upward(l, p, &u, now_ns);
}

/* What has come, in the order it came; a flood leaves time for the rest. */
static void
receive(struct live *l)
{
	struct udpio_packet p;
	int n;

	for (int k = 0; k < BATCHES && (k == 0 || l->u.more); k++) {
		n = udpio_recv(&l->u);
		for (int i = 0; i < n; i++) {
			for (size_t at = 0; udpio_next(&l->u.got[i], &at, &p);)
				take(l, &p);
			l->taken += (unsigned)udpio_count(&l->u.got[i]);
			if (l->taken < CLOCK_EVERY)
				continue;
			l->taken = 0;
			depart(l, timer_wall_ns());
		}
	}
}

/* A dead upstream, at most once a second; drops of the kernel, once. */
static void
warn_troubles(struct live *l, uint64_t mono_ns)
{
	char name[ADDR_NAME_BYTES];

	udpio_warn_drops(&l->u, &l->warned_drops);
	if (l->u.unreachable == l->unreachable)
		return;
	if (!addr_same(&l->u.refused, &l->cf->upstream)) {
		l->unreachable = l->u.unreachable;	/* a worker left */
		return;
	}
	if (l->warned_ns != 0 && mono_ns - l->warned_ns < TIMER_SECOND_NS)
		return;
	warnx("%s: unreachable, %" PRIu64 " packets so far",
	    addr_print(&l->u.refused, name), l->u.unreachable);
	l->unreachable = l->u.unreachable;
	l->warned_ns = mono_ns;
}

/* Once a second: captures to the disk, progress to a terminal. */
static void
tick(struct live *l, uint64_t mono_ns)
{
	const struct tally_count *c = l->e->tally.all.of;

	if (mono_ns - l->told_ns < TIMER_SECOND_NS)
		return;
	l->told_ns = mono_ns;
	if (l->cf->ingress != NULL)
		pcapio_flush(l->cf->ingress);
	if (l->cf->egress != NULL)
		pcapio_flush(l->cf->egress);
	if (l->cf->progress)
		fprintf(stderr, "\r%" PRIu64 " in, %" PRIu64 " out, %" PRIu64
		    " merged, %u queued\033[K", c[TALLY_ARRIVED].packets,
		    c[TALLY_DELIVERED].packets, c[TALLY_AGGREGATED].packets,
		    l->e->slots.count);
}

static bool
captures_failed(const struct live_conf *cf)
{
	return (cf->ingress != NULL && cf->ingress->failed != 0) ||
	    (cf->egress != NULL && cf->egress->failed != 0);
}

/* Sleep until a packet, a departure, a signal, or the end. */
static void
nap(struct live *l, uint64_t mono_ns, uint64_t end_ns)
{
	struct pollfd pfd = { .fd = l->u.fd, .events = POLLIN };
	uint64_t due = egress_due(l->e), ns;
	struct timespec ts;

	due = timer_first(due, outlet_due(&l->out));
	ns = timer_first(pace_sleep_ns(timer_wall_ns(), due),
	    TIMER_SECOND_NS);
	ts = timer_spec(timer_first(ns, end_ns - mono_ns));
	if (ppoll(&pfd, 1, &ts, l->cf->wait_mask) == 1 &&
	    (pfd.revents & POLLERR) != 0)
		udpio_errors(&l->u);
	timer_let_signals(l->cf->wait_mask);
}

/* Bring the account up to date with what socket and impairment counted. */
static void
account(struct live *l)
{
	struct filter_passed *p = l->passed;

	p->kernel = l->u.kernel_drops;
	p->unreachable = l->u.unreachable;
	p->send_failed = l->u.send_failed;
	p->impaired_lost = l->out.impair.lost;
	p->impaired_dup = l->out.impair.duplicated;
	p->impaired_reordered = l->out.impair.reordered;
}

static void
summary(struct live *l)
{
	const struct filter_passed *p = l->passed;

	account(l);
	report_summary(l->e, p, l->cf->json);
	if (l->cf->json)
		return;
	warnx("%" PRIu64 " unreachable, %" PRIu64 " models without a route, %"
	    PRIu64 " sends failed, %" PRIu64 " dropped by the kernel; latest "
	    "departure %.3f ms behind its time", p->unreachable, p->no_route,
	    p->send_failed, p->kernel, (double)l->late_max_ns / 1e6);
	if (impair_any(&l->cf->impair))
		warnx("impaired: %" PRIu64 " lost, %" PRIu64 " duplicated, %"
		    PRIu64 " reordered", p->impaired_lost, p->impaired_dup,
		    p->impaired_reordered);
}

static void
loop(struct live *l)
{
	uint64_t now = timer_mono_ns();
	const uint64_t end = timer_after(now, l->cf->duration_ns);

	l->told_ns = now;
	while (!*l->cf->stop && now < end && !captures_failed(l->cf)) {
		nap(l, now, end);
		receive(l);
		depart(l, timer_wall_ns());
		outlet_flush(&l->out, timer_wall_ns());
		now = timer_mono_ns();
		warn_troubles(l, now);
		tick(l, now);
		if (*l->cf->tell != 0) {
			*l->cf->tell = 0;
			summary(l);
		}
	}
	receive(l);		/* what has come counts, though the end has too */
	if (l->cf->progress)
		fputs("\r\033[K", stderr);
}

int
live_run(const struct live_conf *cf, struct egress *e,
    struct filter_passed *passed)
{
	struct live l = { .cf = cf, .e = e, .passed = passed };

	*passed = (struct filter_passed){ 0 };
	if (!routes_init(&l.routes))
		err(1, "routes");
	udpio_listen_or_exit(&l.u, &cf->listen, UPDATE_TOS, !cf->no_offload,
	    cf->port_file);
	udpio_tell(&l.u, cf->verbose);
	l.out = outlet_over(&l.u, &cf->impair, cf->egress);
	loop(&l);
	outlet_flush(&l.out, OUTLET_NEVER);
	egress_count_queued(e);
	account(&l);
	if (!cf->quiet)
		summary(&l);
	outlet_free(&l.out);
	udpio_close(&l.u);
	routes_free(&l.routes);
	return 0;
}
