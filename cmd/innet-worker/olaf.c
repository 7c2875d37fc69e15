/*
 * olaf.c - one worker of an Olaf cluster
 *
 * Each gradient is answered at once with the newest model, and leaves as an
 * update if transmission control and the state of things let it.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model.h"
#include "common/timer.h"

#include "cmd/innet-worker/carrier.h"

#define REPEAT_NS 200000000u	/* unanswered weights are sent again */
#define SILENCE_NS 1000000000u	/* without a model, ask with weights */

enum count {
	GENERATED, SENT, SUPPRESSED, WAITING, PACKETS, SEND_FAILED, WEIGHTS,
	MODELS, MODELS_STALE, IGNORED, COUNTS
};

static const char *const count_name[COUNTS] = {
	"generated", "sent", "suppressed", "without_model", "packets_sent",
	"send_failed", "weights_sent", "models", "models_stale", "ignored"
};

struct olaf {
	const struct worker_conf *cf;
	struct carrier c;
	struct txctl control;
	struct model model;
	uint32_t floats;		/* of a packet, as the path allows */
	uint64_t given;			/* model.taken at the last result */
	uint64_t heard_ns;		/* last model, monotonic */
	uint64_t asked_ns;		/* weights last sent, monotonic */
	uint64_t asked;			/* how often, since heard_ns */
	uint64_t n[COUNTS];
	uint8_t head[UDPIO_RUN_MAX][UPDATE_MODEL_BYTES];	/* made ready */
	struct iovec piece[2 * UDPIO_RUN_MAX];	/* head, floats, by turns */
};

/* Send the first n of the packets that were made ready. */
static void
send_ready(struct olaf *w, int n)
{
	const struct iovec *v = w->piece;
	const int sent = outlet_send_gather(&w->c.out, &w->cf->to, UPDATE_TOS,
	    v, 2, n, v[0].iov_len + v[1].iov_len, timer_wall_ns());

	w->n[PACKETS] += (uint64_t)sent;
	w->n[SEND_FAILED] += (uint64_t)(n - sent);
}

/*
 * Send a vector, or those ranges of it that lack a model, each under a header
 * like u.  All ranges are of one length but the last, which may be shorter.
 */
static void
send_vector(struct olaf *w, struct update *u, bool all, const uint8_t *vec)
{
	int n = 0;

	for (uint32_t r = 0; r < w->model.ranges; r++) {
		struct iovec *v = &w->piece[2 * n];
		uint8_t *head = w->head[n];

		if (!all && w->model.range[r].have)
			continue;
		u->n = model_range(&w->model, r, &u->first);
		u->following = (uint16_t)(w->model.ranges - 1 - r);
		v[0] = (struct iovec){ head, (size_t)(update_put(head, u) -
		    head) };
		v[1] = (struct iovec){ (uint8_t *)(uintptr_t)vec +
		    4 * (size_t)u->first, 4 * (size_t)u->n };
		if (++n == UDPIO_RUN_MAX) {
			send_ready(w, n);
			n = 0;
		}
	}
	if (n > 0)
		send_ready(w, n);
}

/* Ask for the model by sending our weights, those ranges that lack one. */
static void
send_weights(struct olaf *w, bool all, uint64_t now_ns)
{
	struct update u = { .kind = UPDATE_WEIGHTS, .merged = 1,
	    .cluster = w->cf->cluster, .worker = w->cf->worker,
	    .generated_ns = timer_wall_ns(), .elements = w->model.elements };

	send_vector(w, &u, all, (const uint8_t *)w->model.w);
	w->n[WEIGHTS]++;
	w->asked++;
	w->asked_ns = now_ns;
}

/* A gradient is ready: send it, or not. */
static void
take_gradient(struct olaf *w, const uint8_t *vec, float reward)
{
	struct update u = { .kind = UPDATE_UPDATE, .merged = 1,
	    .cluster = w->cf->cluster, .worker = w->cf->worker,
	    .generated_ns = timer_wall_ns(), .reward = reward,
	    .elements = w->model.elements,
	    .sequence = (uint32_t)++w->n[GENERATED] };

	if (!model_whole(&w->model)) {
		w->n[WAITING]++;
		return;
	}
	if (!txctl_send(&w->control, u.generated_ns,
	    rng_double(&w->c.rng))) {
		w->n[SUPPRESSED]++;
		return;
	}
	send_vector(w, &u, true, vec);
	w->n[SENT]++;
}

/* Answer the child's gradient at once: the model, if it is news. */
static void
give_result(struct olaf *w, const struct stream_head *gradient)
{
	bool news = model_whole(&w->model) && w->model.taken != w->given;
	uint64_t version = model_version(&w->model);
	struct stream_head h = { .kind = STREAM_RESULT, .flags = STREAM_MODEL,
	    .elements = news ? w->model.elements : 0, .contributions = 1,
	    .iteration = version };

	if (version > gradient->iteration)
		h.staleness = (uint32_t)(version - gradient->iteration);
	w->given = w->model.taken;
	child_send(&w->c.child, &h, w->model.w);
}

/* The size of the vector is known: cut it as the path wants it. */
static void
make_model(struct olaf *w, uint32_t elements)
{
	const uint32_t n = w->floats;

	if (update_packets(elements, n) > UINT16_MAX)
		errx(1, "%" PRIu32 " elements need more than %d packets of %"
		    PRIu32, elements, UINT16_MAX, n);
	if (!model_init(&w->model, elements, n))
		err(1, "a model of %" PRIu32 " elements", elements);
}

/* What the child says, or what is made up in its place. */
static void
read_carrier(struct olaf *w, uint64_t now_ns)
{
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	while ((e = carrier_next(&w->c, now_ns, &h, &body)) !=
	    CARRIER_NOTHING) {
		switch (e) {
		case CARRIER_HELLO:
			make_model(w, w->c.elements);
			carrier_greet(&w->c, 1);
			break;
		case CARRIER_WEIGHTS:
			memcpy(w->model.w, body, stream_body_bytes(&h));
			w->heard_ns = now_ns;
			send_weights(w, false, now_ns);
			break;
		default:
			take_gradient(w, body, h.reward);
			if (w->cf->synthetic == 0)
				give_result(w, &h);
		}
	}
	w->c.done |= w->c.last;
}

/* A packet from the network: a model of our cluster, for us. */
static void
take_packet(struct olaf *w, const struct udpio_packet *p, uint64_t mono_ns)
{
	struct update u;

	if (!addr_same(p->from, &w->cf->to) ||
	    (p->tos & 0xfc) != UPDATE_TOS ||
	    update_parse(p->data, p->len, &u) != UPDATE_OK ||
	    u.kind != UPDATE_MODEL || u.cluster != w->cf->cluster ||
	    (u.worker != w->cf->worker && u.worker != UPDATE_ALL_WORKERS) ||
	    u.elements != w->model.elements) {
		w->n[IGNORED]++;
		return;
	}
	w->n[MODELS]++;
	w->heard_ns = mono_ns;
	w->asked = 0;
	txctl_status(&w->control, &u.status, p->stamp_ns);
	if (!model_take(&w->model, &u, p->stamp_ns))
		w->n[MODELS_STALE]++;
}

/* What is waited for too long: name it and fail; ask for a model again. */
static void
check_waits(struct olaf *w, uint64_t now_ns)
{
	const uint64_t limit = w->cf->give_up_ns;
	const bool whole = model_whole(&w->model);
	const uint64_t quiet = w->heard_ns > w->asked_ns ? w->heard_ns :
	    w->asked_ns;

	if (carrier_waits(&w->c, now_ns))
		return;
	if (now_ns - w->heard_ns >= limit) {
		warnx("%s: no model of cluster %u after %" PRIu64 " tries in "
		    "%.1f s; is a switch or server there?", w->cf->to_name,
		    w->cf->cluster, w->asked, (double)limit / 1e9);
		carrier_fail(&w->c);
	} else if (now_ns - w->asked_ns >= REPEAT_NS && !whole) {
		send_weights(w, false, now_ns);
	} else if (whole && now_ns - quiet >= SILENCE_NS) {
		send_weights(w, true, now_ns);
	}
}

static void
tick(struct olaf *w, uint64_t now_ns)
{
	if (carrier_asked(&w->c))
		carrier_summary(&w->c, count_name, w->n, COUNTS);
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		fprintf(stderr, "\r%" PRIu64 " gradients, %" PRIu64 " sent, %"
		    PRIu64 " models\033[K", w->n[GENERATED], w->n[SENT],
		    w->n[MODELS]);
}

static void
loop(struct olaf *w)
{
	uint64_t now = w->heard_ns = timer_mono_ns();
	struct udpio_packet p;

	while (!carrier_over(&w->c, now)) {
		carrier_nap(&w->c, now, REPEAT_NS / 4);
		now = timer_mono_ns();
		while (carrier_packet(&w->c, &p))
			take_packet(w, &p, now);
		read_carrier(w, now);
		now = timer_mono_ns();
		if (!w->c.done)
			check_waits(w, now);
		tick(w, now);
	}
}

int
olaf_run(const struct worker_conf *cf)
{
	struct olaf *w = calloc(1, sizeof(*w));
	uint64_t mtu;
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	w->control = (struct txctl){ .kind = cf->control,
	    .threshold_ns = cf->threshold_ns };
	carrier_open(&w->c, cf, UPDATE_TOS, &mtu);
	w->floats = update_floats(mtu, cf->to.sa.sa_family == AF_INET6);
	loop(w);
	rc = carrier_close(&w->c);
	if (!cf->quiet)
		carrier_summary(&w->c, count_name, w->n, COUNTS);
	model_free(&w->model);
	free(w);
	return rc;
}
