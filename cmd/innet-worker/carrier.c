/* carrier.c - the parts of innet-worker that all modes share */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/timer.h"

#include "cmd/innet-worker/carrier.h"
#include "cmd/innet-worker/udp-multicast.h"

#define PATIENCE_NS 5000000000u	/* longest time that a child may take to end */
#define LINK_NS 1000000u	/* time to wait until a full link has room
				 * again */
#define NAP_NS 50000000u	/* longest wait */

void
carrier_open(struct carrier *c, const struct worker_conf *cf, uint8_t tos,
    uint64_t *mtu)
{
	const uint64_t now = timer_mono_ns();

	*c = (struct carrier){ .cf = cf, .rng = cf->rng, .worker = cf->worker,
	    .start_ns = now, .ticked_ns = now, .child_heard_ns = now,
	    .spin = spin_for(cf->spin_ns),
	    .end_ns = timer_after(now, cf->duration_ns) };
	*mtu = 1500;
	if (udpio_open_towards(&c->u, &cf->to, tos, !cf->no_offload,
	    mtu) == -1)
		err(1, "%s", cf->to_name);
	c->watch = c->u.fd;
	c->in.u = &c->u;
	udpio_print_description(&c->u, cf->verbose);
	c->out = udp_transmit_over(&c->u, &cf->impair, cf->capture);
	if (cf->mtu != 0)
		*mtu = cf->mtu;
	c->order = (struct stream_order){ .most =
	    worker_elements_max(cf->mode),
	    .carrier = cf->mode->options };
	if (cf->stdio) {
		child_use_stdio(&c->child);
		return;
	}
	if (cf->synthetic == 0) {
		child_start(&c->child, cf->argv, cf->wait_mask);
		return;
	}
	c->vec = calloc(cf->synthetic, sizeof(*c->vec));
	if (c->vec == NULL)
		err(1, "no memory for a gradient of %" PRIu32 " elements",
		    cf->synthetic);
	if (cf->interval_ns > 0)
		c->next_ns = now + rng_below(&c->rng, cf->interval_ns);
}

/*
 * Wait for the end of a child that has sent its last message, bye, because the
 * child may still save its state.  The limit is the same as for any message of
 * the child.
 */
static void
wait_for_last(struct carrier *c)
{
	const uint64_t deadline = timer_earlier(c->end_ns,
	    timer_after(timer_mono_ns(), c->cf->silence_ns));

	while (c->bye && !c->cf->stdio && !*c->cf->stop &&
	    timer_mono_ns() < deadline &&
	    !child_wait_until(&c->child, timer_mono_ns() + 100000000))
		timer_deliver_signals(c->cf->wait_mask);
}

int
carrier_close(struct carrier *c)
{
	if (c->cf->progress)
		progress_clear();
	udp_transmit_flush(&c->out, UDP_TRANSMIT_NEVER);
	udp_transmit_free(&c->out);
	if (c->cf->synthetic == 0) {
		wait_for_last(c);
		c->rc |= child_stop(&c->child, PATIENCE_NS, !c->child_ended);
	}
	udpio_close(&c->u);
	free(c->vec);
	return c->rc;
}

void
carrier_fail(struct carrier *c)
{
	c->rc = 1;
	c->done = true;
}

int
carrier_sent_nothing(const struct carrier *c, const char *why)
{
	if (c->rc != 0 || *c->cf->stop || (c->gradients == 0 && c->elements >
	    0))
		return c->rc;
	if (c->gradients > 0)
		warnx("%s: nothing was sent, because %s", c->cf->to_name, why);
	else
		warnx("%s: nothing was sent, because there was no gradient",
		    c->cf->synthetic > 0 ? c->cf->to_name : c->child.name);
	return 1;
}

bool
carrier_is_over(const struct carrier *c, uint64_t now_ns)
{
	return c->done || *c->cf->stop || now_ns >= c->end_ns ||
	    (c->cf->capture != NULL && !c->socket_in_thread &&
	    c->cf->capture->failed == EPIPE);
}

static bool
is_paused_stdio(const struct carrier *c)
{
	return c->cf->stdio && c->watch_paused && c->child_paused &&
	    !c->done && !c->last;
}

/*
 * With --stdio, only the pipes show that the other program has ended.  While
 * the worker does not read its input, check both pipes with poll().  If only
 * one pipe is closed, the program may still run: it can close its output and
 * wait for results, or close its input and send gradients.
 */
static void
watch_paused_stdio(const struct carrier *c, struct pollfd *from,
    struct pollfd *to)
{
	if (!is_paused_stdio(c))
		return;
	if (c->child.to == -1)
		*from = (struct pollfd){ .fd = c->child.from };
	else if (to->fd == -1)
		*to = (struct pollfd){ .fd = c->child.to };
}

/* Handle the events of watch_paused_stdio(). */
static void
check_paused_stdio(struct carrier *c, short from, short to)
{
	if (!is_paused_stdio(c))
		return;
	if (c->child.to != -1 && (to & (POLLERR | POLLHUP)) != 0) {
		close(c->child.to);
		c->child.to = -1;
		c->child.out_at = c->child.out_have = 0;
	}
	if (c->child.to == -1 && (from & (POLLERR | POLLHUP)) != 0) {
		warnx("%s: the program at the other end has ended, and its "
		    "gradients were not sent", c->child.name);
		c->child_ended = true;
		carrier_fail(c);
	}
}

void
carrier_wait(struct carrier *c, uint64_t now_ns, uint64_t span_ns)
{
	const bool made_up = c->cf->synthetic > 0;
	struct pollfd p[4] = {
	    {.fd = c->watch,
		.events =
		    (short)(POLLIN |
			    (c->blocked && !c->u.link_full ? POLLOUT : 0))},
	    {.fd = made_up || c->child_paused || child_is_too_slow(&c->child)
		       ? -1
		       : c->child.from,
		.events = POLLIN},
	    {.fd = made_up || c->child.out_have == 0 ? -1 : c->child.to,
		.events = POLLOUT},
	    {.fd = c->u.in_multicast_group && !c->socket_in_thread
		       ? c->u.group_fd
		       : -1,
		.events = POLLIN},
	};
	uint64_t ns = now_ns < c->end_ns ?
	    timer_earlier(c->end_ns - now_ns, span_ns) : 0;
	int n;

	watch_paused_stdio(c, &p[1], &p[2]);
	c->taken = 0;
	udp_receiver_waited(&c->in);
	if (c->blocked && c->u.link_full)
		ns = timer_earlier(ns, LINK_NS);
	c->blocked = false;
	if (made_up && !c->child_paused && !c->last)
		ns = c->elements > 0 ? timer_earlier(ns, pace_sleep_ns(now_ns,
		    c->next_ns)) : 0;
	if (!c->socket_in_thread &&
	    udp_transmit_deadline_ns(&c->out) != UDP_TRANSMIT_NEVER)
		ns = timer_earlier(ns, pace_sleep_ns(timer_wall_ns(),
		    udp_transmit_deadline_ns(&c->out)));
	n = spin_poll(&c->spin, p, 4, ns, c->cf->wait_mask, now_ns);
	if (!c->socket_in_thread)
		udp_multicast_set_ready(&c->u, n, p[0].revents, p[3].revents);
	if (n > 0) {
		if ((p[0].revents & POLLERR) != 0 && !c->socket_in_thread)
			udpio_read_errors(&c->u);
		if ((p[2].revents & (POLLOUT | POLLERR)) != 0)
			child_write(&c->child);
		check_paused_stdio(c, p[1].revents, p[2].revents);
	}
	timer_deliver_signals_now_and_then(c->cf->wait_mask, now_ns,
	    &c->signals_ns);
	if (!c->socket_in_thread &&
	    udp_transmit_deadline_ns(&c->out) != UDP_TRANSMIT_NEVER)
		udp_transmit_flush(&c->out, timer_wall_ns());
}

bool
carrier_packet(struct carrier *c, struct udpio_packet *p)
{
	if (!udp_receiver_next(&c->in, p))
		return false;
	if (c->cf->capture != NULL)
		udpio_capture(c->cf->capture, p->from, p->to, p->tos,
		    p->data, p->len, p->stamp_ns);
	return true;
}

uint64_t
carrier_run_once(struct carrier *c, const struct carrier_callbacks *m,
    void *ctx, uint64_t now_ns)
{
	const uint64_t due = m->deadline_ns(ctx);
	struct udpio_packet p;

	carrier_wait(c, now_ns, timer_earlier(due > now_ns ? due - now_ns : 0,
	    NAP_NS));
	now_ns = timer_mono_ns();
	while (carrier_packet(c, &p))
		m->receive(ctx, &p, now_ns);
	return now_ns;
}

void
carrier_run(struct carrier *c, const struct carrier_callbacks *m, void *ctx)
{
	uint64_t now = timer_mono_ns();

	while (!carrier_is_over(c, now)) {
		now = carrier_run_once(c, m, ctx, now);
		m->read_child(ctx, now);
		now = timer_mono_ns();
		m->act(ctx, now);
	}
}

bool
carrier_direction(struct carrier *c, enum stream_direction unsaid,
    enum stream_direction *to)
{
	const enum stream_direction told = c->cf->direction,
	    said = c->order.direction;

	*to = told != STREAM_UNSAID ? told : said != STREAM_UNSAID ? said :
	    unsaid;
	if (said == STREAM_UNSAID || *to == said)
		return true;
	warnx("%s: the hello of this command says that gradients point %s; "
	    "leave out --%s",
	    c->child.name, said == STREAM_UP ? "up" : "down",
	    told == STREAM_UP ? "maximize" : "minimize");
	carrier_fail(c);
	return false;
}

void
carrier_send_hello_with(struct carrier *c, unsigned members, const char *more)
{
	char cluster[24] = "", text[512];
	int len;

	if (c->cf->synthetic > 0)
		return;
	if (!c->cf->mode->no_cluster)
		snprintf(cluster, sizeof(cluster), ",\"cluster\":%u",
		    c->cf->cluster);
	len = snprintf(text, sizeof(text), "{\"version\":1,\"worker\":%" PRIu32
	    "%s,\"members\":%u,\"mode\":\"%s\"%.256s}", c->worker, cluster,
	    members, c->cf->mode->name, more);
	child_send(&c->child, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len }, text);
}

void
carrier_send_hello(struct carrier *c, unsigned members)
{
	carrier_send_hello_with(c, members, "");
}

/* Check that the child may send this message now. */
static bool
take_message(struct carrier *c, const struct stream_head *h,
    const uint8_t *body)
{
	const char *why = stream_order_check(&c->order, h, body);

	if (why != NULL)
		child_report_message(&c->child, h, why);
	if (h->kind == STREAM_BYE)
		c->bye = c->child_ended = c->done = true;
	c->elements = c->order.elements;
	return why == NULL;
}

/* Read the next message of the child. */
static enum carrier_event
read_child(struct carrier *c, struct stream_head *h, const uint8_t **body)
{
	int got = child_is_too_slow(&c->child) ? 0 :
	    child_next_message(&c->child, h, body);

	if (got == 0) {
		/*
		 * all messages of the child are read, even if its pipe is still
		 * open
		 */
		c->child_ended = c->done = c->child_has_exited;
		c->rc |=
		    c->child_has_exited && child_report_truncation(&c->child);
		return CARRIER_NOTHING;
	}
	c->child_heard_ns = timer_mono_ns();
	if (got < 0 || !take_message(c, h, *body)) {
		c->child_ended = got == -1;
		c->rc |= got != -1 || c->child.cut;
		c->done = true;
	}
	if (c->done)
		return CARRIER_NOTHING;
	return h->kind == STREAM_HELLO ? CARRIER_HELLO :
	    h->kind == STREAM_WEIGHTS ? CARRIER_WEIGHTS :
	    h->kind == STREAM_STATE ? CARRIER_STATE : CARRIER_GRADIENT;
}

void
carrier_ask_state(struct carrier *c)
{
	if (c->order.asked)
		return;
	c->order.asked = true;
	child_send(&c->child, &(struct stream_head){ .kind = STREAM_STATE },
	    NULL);
}

bool
carrier_has_state(struct carrier *c)
{
	const int kind = c->order.asked ? child_peek_kind(&c->child) : 0;

	c->order.asked &= kind != -1;	/* the child will not send its state */
	return kind == STREAM_STATE;
}

void
carrier_give_state(struct carrier *c, const uint8_t *state, uint32_t bytes,
    uint64_t iteration)
{
	child_send(&c->child, &(struct stream_head){ .kind = STREAM_STATE,
	    .flags = STREAM_MODEL, .elements = bytes,
	    .iteration = iteration }, state);
}

/*
 * Make a synthetic gradient when one is due.  The first event reports the
 * length of vectors.
 */
static enum carrier_event
make_gradient(struct carrier *c, uint64_t now_ns, struct stream_head *h,
    const uint8_t **body)
{
	if (c->elements == 0) {
		c->elements = c->cf->synthetic;
		return CARRIER_HELLO;
	}
	if (now_ns < c->next_ns)
		return CARRIER_NOTHING;
	for (uint32_t i = 0; i < c->elements && !c->mode_makes_vectors; i++)
		c->vec[i] = (float)rng_uniform(&c->rng, -1e-3, 1e-3);
	c->next_ns += c->cf->interval_ns;
	if (c->cf->jitter_ns > 0)
		c->next_ns += rng_below(&c->rng, c->cf->jitter_ns);
	*h = (struct stream_head){ .kind = STREAM_GRADIENT,
	    .elements = c->elements };
	*body = (const uint8_t *)c->vec;
	return CARRIER_GRADIENT;
}

enum carrier_event
carrier_next(struct carrier *c, uint64_t now_ns, struct stream_head *h,
    const uint8_t **body)
{
	enum carrier_event e;

	if (c->done || c->last || c->taken == CARRIER_AT_ONCE)
		return CARRIER_NOTHING;
	c->taken++;
	e = c->cf->synthetic > 0 ? make_gradient(c, now_ns, h, body) :
	    read_child(c, h, body);
	if (e == CARRIER_GRADIENT)
		c->last = ++c->gradients == c->cf->count;
	return e;
}

bool
carrier_awaits_child(struct carrier *c, uint64_t now_ns)
{
	const char *what = c->cf->synthetic > 0 ? NULL :
	    stream_order_missing(&c->order);

	if (what == NULL)
		return false;
	if (now_ns - c->start_ns >= c->cf->give_up_ns) {
		warnx("%s: sent no %s in %.1f s", c->child.name, what,
		    (double)c->cf->give_up_ns / 1e9);
		carrier_fail(c);
	}
	return true;
}

/* Stop if the child has ended or has been silent for too long. */
static void
check_child(struct carrier *c, uint64_t now_ns)
{
	if (c->cf->synthetic > 0 || c->done)
		return;
	if (now_ns >= c->child_heard_ns + c->cf->silence_ns) {
		warnx("%s: sent no gradient for %.1f s; raise --silence if a "
		    "gradient takes longer", c->child.name,
		    (double)c->cf->silence_ns / 1e9);
		carrier_fail(c);
	} else {
		c->child_has_exited = child_has_exited(&c->child);
	}
}

/* Warn about unreachable addresses, at most once a second. */
static void
warn_unreachable(struct carrier *c, uint64_t now_ns)
{
	if (c->u.unreachable == c->unreachable ||
	    (c->warned_ns != 0 && now_ns - c->warned_ns < TIMER_SECOND_NS))
		return;
	warnx("%s: unreachable; %" PRIu64 " packets could not be delivered so "
	    "far", c->cf->to_name,
	    c->u.unreachable);
	c->unreachable = c->u.unreachable;
	c->warned_ns = now_ns;
}

bool
carrier_tick(struct carrier *c, uint64_t now_ns)
{
	check_child(c, now_ns);
	if (!c->socket_in_thread)
		warn_unreachable(c, now_ns);
	if (now_ns - c->ticked_ns < TIMER_SECOND_NS)
		return false;
	c->ticked_ns = now_ns;
	if (!c->socket_in_thread)
		worker_tick_files(c->cf);
	return true;
}

bool
carrier_summary_requested(struct carrier *c)
{
	bool asked = *c->cf->summarize != 0;

	if (asked)
		*c->cf->summarize = 0;
	return asked;
}

bool
carrier_wants_summary(const struct worker_conf *cf, int rc)
{
	return !cf->quiet && (cf->json != NULL || rc == 0);
}

/* Print the effects of --impair, if it was given. */
static void
print_impairments(const struct carrier *c)
{
	const struct impair *im = &c->out.impair;

	if (impair_any(im) && c->cf->json == NULL)
		warnx("--impair: %" PRIu64 " packets lost, %" PRIu64
		    " duplicated, %" PRIu64 " reordered", im->lost,
		    im->duplicated, im->reordered);
}

void
carrier_summary(const struct carrier *c, const char *const *name,
    const uint64_t *n, size_t counts)
{
	const bool json = c->cf->json != NULL;
	FILE *f = json ? c->cf->json : stderr;

	fputs(json ? "{" : "innet-worker: ", f);
	if (!c->cf->mode->no_cluster)
		fprintf(f, json ? "\"cluster\":%u," : "cluster %u ",
		    c->cf->cluster);
	fprintf(f, json ? "\"worker\":%" PRIu32 : "worker %" PRIu32 ":",
	    c->worker);
	for (size_t i = 0; i < counts; i++) {
		if (json)
			fprintf(f, ",\"%s\":%" PRIu64, name[i], n[i]);
		else
			fprintf(f, "%s %" PRIu64 " %s", i == 0 ? "" : ",",
			    n[i], name[i]);
	}
	if (json)
		fprintf(f, ",\"kernel\":%" PRIu64
		    ",\"unreachable\":%" PRIu64 ",\"impaired_lost\":%" PRIu64
		    ",\"impaired_dup\":%" PRIu64
		    ",\"impaired_reordered\":%" PRIu64 "}\n",
		    c->u.kernel_drops, c->u.unreachable, c->out.impair.lost,
		    c->out.impair.duplicated, c->out.impair.reordered);
	else
		fprintf(f, "; %" PRIu64 " dropped by the kernel, %" PRIu64
		    " unreachable\n", c->u.kernel_drops, c->u.unreachable);
	fflush(f);	/* another program may read this line during the run */
	print_impairments(c);
}
