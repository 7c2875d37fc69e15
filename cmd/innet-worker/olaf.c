/*
 * olaf.c - one worker of an Olaf cluster
 *
 * olaf-worker.h makes the decisions; this file owns the clock, the socket and
 * the child.  The worker answers each gradient of the child at once with the
 * newest model.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/auth/nonce.h"
#include "common/net/timer.h"
#include "common/auth/handshake-client.h"
#include "cmd/innet-worker/olaf-worker.h"

#include "cmd/innet-worker/carrier.h"
#include "cmd/innet-worker/peer-check.h"

#define WAIT_NS 1000000000u	/* a run that is shorter than this may get no
				 * model */

enum count { PACKETS, SEND_FAILED, BAD_PROOF, REPLAYED, COUNTS };

enum { ALL = (int)OLAF_WORKER_COUNTS + (int)COUNTS };

/* Names of the counters of olaf-worker.h, then of the counters in this file. */
static const char *const count_name[ALL] = {
	"generated", "sent", "suppressed", "without_model", "weights_sent",
	"models", "models_stale", "ignored", "packets_sent", "send_failed",
	"bad_proof", "replayed_data"
};

struct olaf {
	const struct worker_conf *cf;
	struct carrier c;
	struct olaf_worker m;
	struct peer_channel peer;		/* channel for requests */
	struct handshake_client handshake;
	struct peer_check peer_check;
	bool warned_short;
	uint32_t floats; /* number of floats in a packet that fits the path */
	uint8_t *negated;		/* the gradient that is sent, if the
					 * child's gradients point down */
	uint8_t *tagged;		/* buffer for tagged packets */
	uint64_t n[COUNTS];
	/* headers of prepared packets */
	uint8_t head[UDPIO_RUN_MAX][UPDATE_MODEL_BYTES];
	struct iovec piece[2 * UDPIO_RUN_MAX]; /* alternately the header and the
					        * floats of each packet */
};

/* Send the first n prepared packets. */
static void
send_ready(struct olaf *w, int n)
{
	const struct iovec *v = w->piece;
	const int sent = udp_transmit_send_gather(&w->c.out, &w->cf->to,
	    handshake_client_tos(&w->handshake), v, 2, n,
	    v[0].iov_len + v[1].iov_len, timer_wall_ns());

	w->n[PACKETS] += (uint64_t)sent;
	w->n[SEND_FAILED] += (uint64_t)(n - sent);
}

/*
 * Copy the header and floats of prepared packet k to `tagged`, and add the tag
 * of the packet.
 */
static void
add_tag(struct olaf *w, int k, struct iovec v[2], uint64_t now_ns)
{
	uint8_t *p = w->tagged + (size_t)k * (UPDATE_HEADER_BYTES + 4 *
	    (size_t)w->m.model.n + UPDATE_TAIL_BYTES);
	const size_t head = v[0].iov_len, floats = v[1].iov_len;

	memcpy(p, v[0].iov_base, head);
	memcpy(p + head, v[1].iov_base, floats);
	v[0].iov_base = p;
	v[1] = (struct iovec){p + head, handshake_client_tag(&w->handshake, p,
					    (uint32_t)(head + floats), now_ns) -
					    head};
}

/*
 * Send the vector *o in packets.  All packets except the last have equal
 * lengths.
 */
static void
send_vector(struct olaf *w, struct olaf_worker_out *o, const uint8_t *vec)
{
	const uint64_t now_ns = timer_mono_ns();
	struct update u;
	int n = 0;

	o->head.generated_ns = timer_wall_ns();
	for (uint32_t r = 0; r < w->m.model.ranges; r++) {
		struct iovec *v = &w->piece[2 * n];
		uint8_t *head = w->head[n];

		if (!olaf_worker_packet(&w->m, o, r, &u))
			continue;
		v[0] = (struct iovec){ head, (size_t)(update_put(head, &u) -
		    head) };
		v[1] = (struct iovec){ (uint8_t *)(uintptr_t)vec +
		    4 * (size_t)u.first, 4 * (size_t)u.n };
		if (w->tagged != NULL)
			add_tag(w, n, v, now_ns);
		if (++n == UDPIO_RUN_MAX) {
			send_ready(w, n);
			n = 0;
		}
	}
	if (n > 0)
		send_ready(w, n);
}

/*
 * Allocate the model, once the length of vectors is known.  The model is split
 * into packets that fit the path.
 */
static void
make_model(struct olaf *w, uint32_t elements)
{
	const uint32_t n = w->floats;

	if (update_packets(elements, n) > UINT16_MAX)
		errx(1, "a vector of %" PRIu32 " elements needs more than %d "
		    "packets of %" PRIu32 " elements", elements, UINT16_MAX, n);
	if (!olaf_worker_size(&w->m, elements, n))
		err(1, "no memory for a model of %" PRIu32 " elements",
		    elements);
	if (!w->handshake.on)
		return;
	w->tagged = malloc(UDPIO_RUN_MAX * (UPDATE_HEADER_BYTES + 4 *
	    (size_t)w->m.model.n + UPDATE_TAIL_BYTES));
	if (w->tagged == NULL)
		err(1, "no memory for packets of %" PRIu32 " elements",
		    w->m.model.n);
}

/*
 * Determine the direction of the child's gradients.  Updates must point up,
 * because a server adds them to its weights.  Returns false if the child and
 * the user contradict each other.
 */
static bool
find_direction(struct olaf *w)
{
	enum stream_direction to;

	if (!carrier_direction(&w->c, STREAM_UP, &to))
		return false;
	if (to == STREAM_UP)
		return true;
	w->negated = malloc(4 * (size_t)w->c.elements);
	if (w->negated == NULL)
		err(1, "no memory for a gradient of %" PRIu32 " elements",
		    w->c.elements);
	return true;
}

/* Return the gradient, negated if the child's gradients point down. */
static const uint8_t *
negate_gradient(struct olaf *w, const uint8_t *body)
{
	if (w->negated == NULL)
		return body;
	for (uint32_t i = 0; i < w->c.elements; i++)
		vec_set(w->negated, i, -vec_get(body, i));
	return w->negated;
}

/* Send a gradient or suppress it, and answer it at once. */
static void
take_gradient(struct olaf *w, const struct stream_head *h,
    const uint8_t *body, uint64_t now_ns)
{
	struct olaf_worker_out o;
	struct stream_head result;

	if (olaf_worker_offer(&w->m, h->reward, now_ns,
	    rng_double(&w->c.rng), &o))
		send_vector(w, &o, negate_gradient(w, body));
	if (w->cf->synthetic > 0)
		return;
	result = olaf_worker_result(&w->m, h->iteration);
	child_send(&w->c.child, &result, w->m.model.w);
}

/* Read the child's messages, or synthetic gradients. */
static void
read_carrier(void *ctx, uint64_t now_ns)
{
	struct olaf *w = ctx;
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	while ((e = carrier_next(&w->c, now_ns, &h, &body)) !=
	    CARRIER_NOTHING) {
		switch (e) {
		case CARRIER_HELLO:
			if (!find_direction(w))
				return;
			make_model(w, w->c.elements);
			carrier_send_hello(&w->c, 1);
			/*
			 * with synthetic gradients, all initial weights are
			 * zero
			 */
			if (w->cf->synthetic > 0)
				olaf_worker_begin(&w->m, now_ns);
			break;
		case CARRIER_WEIGHTS:
			memcpy(w->m.model.w, body, stream_body_bytes(&h));
			olaf_worker_begin(&w->m, now_ns);
			break;
		default: take_gradient(w, &h, body, now_ns);
		}
	}
	w->c.done |= w->c.last;
}

/*
 * Handle a control message.  Returns false if the message is not for this
 * worker.
 */
static bool
take_control(struct olaf *w, const struct udpio_packet *p, uint64_t now_ns)
{
	enum channel_client_news news;
	struct control c;

	if (!control_parse(p->data, p->len, &c))
		return false;
	news = channel_client_receive(&w->peer.channel, p->data, p->len, &c);
	if (handshake_client_receive(&w->handshake, news, &c, now_ns)) {
		w->m.paused = !handshake_client_is_ready(&w->handshake);
		return true;
	}
	return peer_check_receive(&w->peer_check, news, &c) ||
	    news == CHANNEL_CLIENT_CHALLENGED;
}

/* Check the tag of a data packet, and count the packet if the tag is wrong. */
static bool
accepts_data(struct olaf *w, const struct udpio_packet *p)
{
	switch (
	    handshake_client_check(&w->handshake, p->tos, p->data, p->len)) {
	case UPDATE_OK: return true;
	case SOUNDNESS_REPLAYED: w->n[REPLAYED]++; break;
	default: w->n[BAD_PROOF]++; break;
	}
	return false;
}

/*
 * Warn once if a queue on the path has fewer slots than a vector has packets.
 */
static void
warn_short_queue(struct olaf *w)
{
	if (w->m.short_of == 0 || w->warned_short)
		return;
	w->warned_short = true;
	warnx("%s: a queue on the path has %u slots, but a vector has "
	    "%" PRIu32 " packets, so part of each vector is lost; give that "
	    "switch more --slots", w->cf->to_name, w->m.short_of,
	    w->m.model.ranges);
}

/* Handle a packet from the network. */
static void
take_packet(void *ctx, const struct udpio_packet *p, uint64_t now_ns)
{
	const uint8_t tos = p->tos & 0xfc;
	struct olaf *w = ctx;
	struct update u;

	if (!addr_same(p->from, &w->cf->to) || (tos == CONTROL_TOS ?
	    !take_control(w, p, now_ns) : !update_is(tos) ||
	    update_parse_as(tos, p->data, p->len, &u) != UPDATE_OK))
		w->m.n[OLAF_WORKER_IGNORED]++;
	else if (tos != CONTROL_TOS && accepts_data(w, p))
		olaf_worker_take(&w->m, &u, now_ns);
	warn_short_queue(w);
}

/* Send an Open message if one is due. */
static void
send_open(struct olaf *w, uint64_t now_ns)
{
	uint8_t msg[HANDSHAKE_CLIENT_BYTES];
	uint32_t n;

	if (now_ns < handshake_client_deadline_ns(&w->handshake))
		return;
	n = handshake_client_next(&w->handshake, ++w->peer.xid, now_ns, msg);
	udp_transmit_send(&w->c.out, &w->cf->to, CONTROL_TOS, msg, n,
	    timer_wall_ns());
}

/*
 * Send weights if a model must be requested, and report waits that are too
 * long.
 */
static void
check_waits(struct olaf *w, uint64_t now_ns)
{
	char why[OLAF_WORKER_WHY_BYTES], words[PEER_CHECK_TEXT_BYTES];
	struct olaf_worker_out o;

	if (carrier_awaits_child(&w->c, now_ns))
		return;
	if (olaf_worker_next(&w->m, now_ns, &o))
		send_vector(w, &o, (const uint8_t *)w->m.model.w);
	if (w->m.stuck) {
		warnx("%s: %s%s", w->cf->to_name, olaf_worker_why(&w->m, why),
		    w->m.other_elements > 0
			? ""
			: peer_check_explain(&w->peer_check, words));
		carrier_fail(&w->c);
	} else if (w->m.begun && !peer_check_run(&w->peer_check, &w->c,
	    w->m.heard_ns, now_ns)) {
		carrier_fail(&w->c);
	}
}

static void
print_summary(const struct olaf *w)
{
	uint64_t n[ALL];

	memcpy(n, w->m.n, sizeof(w->m.n));
	memcpy(n + OLAF_WORKER_COUNTS, w->n, sizeof(w->n));
	carrier_summary(&w->c, count_name, n, ALL);
}

static void
check_second(struct olaf *w, uint64_t now_ns)
{
	if (carrier_summary_requested(&w->c))
		print_summary(w);
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		progress_say("%" PRIu64 " gradients, %" PRIu64 " sent, %"
		    PRIu64 " models", w->m.n[OLAF_WORKER_GENERATED],
		    w->m.n[OLAF_WORKER_SENT], w->m.n[OLAF_WORKER_MODELS]);
}

/* Do all work that is due. */
static void
do_due_work(void *ctx, uint64_t now_ns)
{
	struct olaf *w = ctx;

	send_open(w, now_ns);
	if (!w->c.done)
		check_waits(w, now_ns);
	check_second(w, now_ns);
}

static uint64_t
next_deadline(const void *ctx)
{
	const struct olaf *w = ctx;

	return timer_earlier(olaf_worker_due(&w->m),
	    handshake_client_deadline_ns(&w->handshake));
}

static const struct carrier_callbacks callbacks = {.deadline_ns = next_deadline,
    .receive = take_packet,
    .read_child = read_carrier,
    .act = do_due_work};

/* Open the channel to the switch or server, and start the handshake. */
static void
open_channel(struct olaf *w)
{
	const struct worker_conf *cf = w->cf;
	const struct key *key = cf->key->set ? cf->key : NULL;

	w->peer.xid = control_first_xid(timer_wall_ns());
	nonce_open_channel(&w->peer.channel, key, &cf->to);
	w->peer.channel.needs_cookie |=
	    worker_tags_data(cf); /* tokens need a cookie */
	handshake_client_init(
	    &w->handshake, worker_tags_data(cf), &w->peer.channel, key);
	handshake_client_start(&w->handshake, timer_mono_ns());
	w->peer_check.peer = &w->peer;
	w->peer_check.handshake = &w->handshake;
	w->m.paused = !handshake_client_is_ready(&w->handshake);
}

int
olaf_run(const struct worker_conf *cf)
{
	const struct olaf_worker_conf m = { .cluster = cf->cluster,
	    .number = cf->worker, .control = cf->control,
	    .threshold_ns = cf->threshold_ns, .give_up_ns = cf->give_up_ns };
	struct olaf *w = calloc(1, sizeof(*w));
	uint64_t mtu;
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	olaf_worker_init(&w->m, &m);
	carrier_open(&w->c, cf, worker_tags_data(cf) ? UPDATE_TAGGED_TOS :
	    UPDATE_TOS, &mtu);
	open_channel(w);
	w->floats = update_floats(mtu, cf->to.sa.sa_family == AF_INET6);
	if (w->handshake.on && w->floats > UPDATE_TAIL_FLOATS)
		w->floats -= UPDATE_TAIL_FLOATS;
	carrier_run(&w->c, &callbacks, w);
	rc = carrier_close(&w->c);
	if (w->m.n[OLAF_WORKER_GENERATED] == w->m.n[OLAF_WORKER_WAITING] &&
	    w->m.n[OLAF_WORKER_MODELS] == 0 && (w->c.u.unreachable > 0 ||
	    !w->m.begun || timer_mono_ns() - w->m.heard_ns >= WAIT_NS))
		rc = carrier_sent_nothing(&w->c, "no model has arrived");
	if (carrier_wants_summary(cf, rc))
		print_summary(w);
	olaf_worker_free(&w->m);
	free(w->negated);
	free(w->tagged);
	free(w);
	return rc;
}
