/* worker.c - one worker of an Olaf cluster */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/model.h"
#include "common/pace.h"
#include "common/timer.h"

#include "cmd/innet-worker/child.h"
#include "cmd/innet-worker/worker.h"

#define REPEAT_NS 200000000u	/* unanswered weights are sent again */
#define SILENCE_NS 1000000000u	/* without a model, ask with weights */
#define PATIENCE_NS 5000000000u	/* for a child to end */

enum {
	AT_ONCE = 64,		/* of anything, between looks at all else */
	BEHIND_MAX_BYTES = 64 << 20	/* results a child has not read */
};

enum count {
	GENERATED, SENT, SUPPRESSED, WAITING, PACKETS, SEND_FAILED, WEIGHTS,
	MODELS, MODELS_STALE, IGNORED, COUNTS
};

static const char *const count_name[COUNTS] = {
	"generated", "sent", "suppressed", "without_model", "packets_sent",
	"send_failed", "weights_sent", "models", "models_stale", "ignored"
};

struct worker {
	const struct worker_conf *cf;
	struct udpio u;
	struct child child;
	struct txctl control;
	struct model model;
	struct rng rng;
	uint32_t floats;		/* of a packet, as the path allows */
	float *vec;			/* a made-up gradient */
	bool child_hello, child_weights, child_ended;
	uint64_t given;			/* model.taken at the last result */
	uint64_t heard_ns;		/* last model, monotonic */
	uint64_t asked_ns;		/* weights last sent, monotonic */
	uint64_t asked;			/* how often, since heard_ns */
	uint64_t next_ns;		/* next synthetic gradient, monotonic */
	uint64_t spoke_ns;		/* the child, last */
	uint64_t start_ns, told_ns, warned_ns, unreachable;
	uint64_t n[COUNTS];
	int rc;
	bool done;
	uint8_t packet[UDPIO_PACKET_BYTES];
};

/* Send one range of a vector, under the header u. */
static void
send_range(struct worker *w, struct update *u, uint32_t r, const uint8_t *vec)
{
	size_t len;
	uint8_t *p;

	u->n = model_range(&w->model, r, &u->first);
	u->following = (uint16_t)(w->model.ranges - 1 - r);
	p = update_put(w->packet, u);
	memcpy(p, vec + 4 * (size_t)u->first, 4 * (size_t)u->n);
	len = (size_t)(p - w->packet) + 4 * (size_t)u->n;
	if (w->cf->capture != NULL)
		udpio_capture(w->cf->capture, &w->u.local, &w->cf->to,
		    UPDATE_TOS, w->packet, len, timer_wall_ns());
	if (udpio_send(&w->u, &w->cf->to, w->packet, len))
		w->n[PACKETS]++;
	else
		w->n[SEND_FAILED]++;
}

/* Ask for the model by sending our weights, those ranges that lack one. */
static void
send_weights(struct worker *w, bool all, uint64_t now_ns)
{
	struct update u = { .kind = UPDATE_WEIGHTS, .merged = 1,
	    .cluster = w->cf->cluster, .worker = w->cf->worker,
	    .generated_ns = timer_wall_ns(), .elements = w->model.elements };

	for (uint32_t r = 0; r < w->model.ranges; r++) {
		if (all || !w->model.range[r].have)
			send_range(w, &u, r, (const uint8_t *)w->model.w);
	}
	w->n[WEIGHTS]++;
	w->asked++;
	w->asked_ns = now_ns;
}

/* A gradient is ready: send it, or not. */
static void
take_gradient(struct worker *w, const uint8_t *vec, float reward)
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
	if (!txctl_send(&w->control, u.generated_ns, rng_double(&w->rng))) {
		w->n[SUPPRESSED]++;
		return;
	}
	for (uint32_t r = 0; r < w->model.ranges; r++)
		send_range(w, &u, r, vec);
	w->n[SENT]++;
}

/* Answer the child's gradient at once: the model, if it is news. */
static void
give_result(struct worker *w, const struct stream_head *gradient)
{
	bool news = model_whole(&w->model) && w->model.taken != w->given;
	uint64_t version = model_version(&w->model);
	struct stream_head h = { .kind = STREAM_RESULT, .flags = STREAM_MODEL,
	    .elements = news ? w->model.elements : 0, .contributions = 1,
	    .iteration = version };

	if (version > gradient->iteration)
		h.staleness = (uint32_t)(version - gradient->iteration);
	w->given = w->model.taken;
	child_send(&w->child, &h, w->model.w);
}

/* The size of the vector is known: cut it as the path wants it. */
static void
make_model(struct worker *w, uint32_t elements)
{
	const uint32_t n = w->floats;

	if (update_packets(elements, n) > UINT16_MAX)
		errx(1, "%" PRIu32 " elements need more than %d packets of %"
		    PRIu32, elements, UINT16_MAX, n);
	w->vec = calloc(elements, sizeof(*w->vec));
	if (w->vec == NULL || !model_init(&w->model, elements, n))
		err(1, "a model of %" PRIu32 " elements", elements);
}

/* The child's hello: JSON with the vector's length.  Ours goes back. */
static bool
take_hello(struct worker *w, const struct stream_head *h, const uint8_t *body)
{
	cJSON *json = cJSON_ParseWithLength((const char *)body, h->elements);
	const cJSON *n = cJSON_GetObjectItem(json, "elements");
	const cJSON *v = cJSON_GetObjectItem(json, "version");
	double elements = cJSON_IsNumber(n) ? n->valuedouble : 0;
	bool spoken = !cJSON_IsNumber(v) || v->valuedouble == 1;
	char text[128];
	int len;

	cJSON_Delete(json);
	if (w->child_hello || !spoken || !(elements >= 1) ||
	    elements > STREAM_ELEMENTS_MAX) {
		warnx("%s: %s", w->child.name, w->child_hello ?
		    "says hello twice" : !spoken ?
		    "hello of a version that is not 1" :
		    "hello without a number of elements it can have");
		return false;
	}
	w->child_hello = true;
	make_model(w, (uint32_t)elements);
	len = snprintf(text, sizeof(text), "{\"version\":1,\"worker\":%" PRIu32
	    ",\"cluster\":%u,\"members\":1,\"mode\":\"olaf\"}", w->cf->worker,
	    w->cf->cluster);
	child_send(&w->child, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len }, text);
	return true;
}

/* One message from the child; false if it is not what may come now. */
static bool
take_message(struct worker *w, const struct stream_head *h,
    const uint8_t *body)
{
	const char *why = NULL;

	if (h->kind == STREAM_HELLO)
		return take_hello(w, h, body);
	if (h->kind == STREAM_BYE) {
		w->child_ended = w->done = true;
		return true;
	}
	if (!w->child_hello)
		why = "no hello came first";
	else if (h->kind == STREAM_RESULT)
		why = "a result, from the side that trains";
	else if (h->elements != w->model.elements)
		why = "a vector of another length than its hello said";
	else if (h->kind == STREAM_GRADIENT && !w->child_weights)
		why = "a gradient before its weights";
	else if (h->kind == STREAM_WEIGHTS && w->child_weights)
		why = "weights twice";
	if (why != NULL) {
		warnx("%s: offset %" PRIu64 ": %s", w->child.name,
		    w->child.in.offset - STREAM_HEADER_BYTES -
		    stream_body_bytes(h), why);
		return false;
	}
	if (!vec_finite(body, h->elements)) {
		warnx("%s: offset %" PRIu64 ": a value that is not finite",
		    w->child.name, w->child.in.offset - STREAM_HEADER_BYTES -
		    stream_body_bytes(h));
		return false;
	}
	if (h->kind == STREAM_WEIGHTS) {
		memcpy(w->model.w, body, stream_body_bytes(h));
		w->child_weights = true;
		w->heard_ns = timer_mono_ns();
		send_weights(w, false, w->heard_ns);
		return true;
	}
	take_gradient(w, body, h->reward);
	give_result(w, h);
	return true;
}

/* What the child has said, so much at a time; true if there may be more. */
static bool
read_child(struct worker *w)
{
	struct stream_head h;
	const uint8_t *body;
	int got, k;

	for (k = 0; k < AT_ONCE && !w->done &&
	    child_behind(&w->child) < BEHIND_MAX_BYTES &&
	    (got = child_next(&w->child, &h, &body)) != 0; k++) {
		w->spoke_ns = timer_mono_ns();
		if (got < 0 || !take_message(w, &h, body)) {
			w->child_ended = got == -1;
			w->rc |= got != -1;
			w->done = true;
		}
		if (w->cf->count > 0 && w->n[GENERATED] >= w->cf->count)
			w->done = true;
	}
	return k == AT_ONCE;
}

/* A packet from the network: a model of our cluster, for us. */
static void
take_packet(struct worker *w, const struct udpio_packet *p, uint64_t mono_ns)
{
	struct update u;

	if (w->cf->capture != NULL)
		udpio_capture(w->cf->capture, &p->from, &w->u.local, p->tos,
		    p->data, p->len, p->stamp_ns);
	if (!addr_same(&p->from, &w->cf->to) ||
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

/* A made-up gradient, on time. */
static void
make_gradient(struct worker *w, uint64_t now_ns)
{
	for (int k = 0; k < AT_ONCE && now_ns >= w->next_ns && !w->done; k++) {
		for (uint32_t i = 0; i < w->model.elements; i++)
			w->vec[i] = (float)rng_uniform(&w->rng, -1e-3, 1e-3);
		take_gradient(w, (const uint8_t *)w->vec, 0);
		w->next_ns += w->cf->interval_ns;
		if (w->cf->jitter_ns > 0)
			w->next_ns += rng_below(&w->rng, w->cf->jitter_ns);
		w->done = w->cf->count > 0 &&
		    w->n[GENERATED] >= w->cf->count;
	}
}

/* The child has ended, or says nothing for too long: so does this. */
static void
check_child(struct worker *w, uint64_t now_ns)
{
	if (w->cf->synthetic > 0 || w->done)
		return;
	if (now_ns - w->spoke_ns >= w->cf->silence_ns) {
		warnx("%s: no gradient for %.1f s", w->child.name,
		    (double)w->cf->silence_ns / 1e9);
		w->rc = 1;
		w->done = true;
	} else if (child_gone(&w->child) && !read_child(w)) {
		/* its last words have been read, whoever holds its pipe */
		w->child_ended = w->done = true;
	}
}

/* What is waited for too long: name it and fail. */
static void
check_waits(struct worker *w, uint64_t now_ns)
{
	const uint64_t limit = w->cf->give_up_ns;
	bool asks = w->model.elements > 0 && (w->cf->synthetic > 0 ||
	    w->child_weights);

	if (!asks) {
		if (now_ns - w->start_ns < limit)
			return;
		warnx("%s: no %s after %.1f s", w->child.name,
		    w->child_hello ? "weights" : "hello", (double)limit / 1e9);
	} else if (now_ns - w->heard_ns >= limit) {
		warnx("%s: no model of cluster %u after %" PRIu64 " tries in "
		    "%.1f s; is a switch or server there?", w->cf->to_name,
		    w->cf->cluster, w->asked, (double)limit / 1e9);
	} else {
		bool whole = model_whole(&w->model);
		uint64_t quiet = w->heard_ns > w->asked_ns ? w->heard_ns :
		    w->asked_ns;

		if (now_ns - w->asked_ns >= REPEAT_NS && !whole)
			send_weights(w, false, now_ns);
		else if (whole && now_ns - quiet >= SILENCE_NS)
			send_weights(w, true, now_ns);
		return;
	}
	w->rc = 1;
	w->done = true;
}

/* Who is unreachable, at most once a second. */
static void
warn_unreachable(struct worker *w, uint64_t now_ns)
{
	if (w->u.unreachable == w->unreachable ||
	    (w->warned_ns != 0 && now_ns - w->warned_ns < TIMER_SECOND_NS))
		return;
	warnx("%s: unreachable, %" PRIu64 " packets so far", w->cf->to_name,
	    w->u.unreachable);
	w->unreachable = w->u.unreachable;
	w->warned_ns = now_ns;
}

static void
summary(const struct worker *w)
{
	if (w->cf->json)
		fprintf(stderr, "{\"cluster\":%u,\"worker\":%" PRIu32,
		    w->cf->cluster, w->cf->worker);
	else
		fprintf(stderr, "innet-worker: cluster %u worker %" PRIu32 ":",
		    w->cf->cluster, w->cf->worker);
	for (int i = 0; i < COUNTS; i++) {
		if (w->cf->json)
			fprintf(stderr, ",\"%s\":%" PRIu64, count_name[i],
			    w->n[i]);
		else
			fprintf(stderr, "%s %" PRIu64 " %s", i == 0 ? "" : ",",
			    w->n[i], count_name[i]);
	}
	if (w->cf->json)
		fprintf(stderr, ",\"kernel\":%" PRIu64
		    ",\"unreachable\":%" PRIu64 "}\n", w->u.kernel_drops,
		    w->u.unreachable);
	else
		fprintf(stderr, "; %" PRIu64 " dropped by the kernel, %" PRIu64
		    " unreachable\n", w->u.kernel_drops, w->u.unreachable);
}

static void
tick(struct worker *w, uint64_t now_ns)
{
	if (*w->cf->tell != 0) {
		*w->cf->tell = 0;
		summary(w);
	}
	warn_unreachable(w, now_ns);
	if (now_ns - w->told_ns < TIMER_SECOND_NS)
		return;
	w->told_ns = now_ns;
	if (w->cf->capture != NULL)
		pcapio_flush(w->cf->capture);
	if (w->cf->progress)
		fprintf(stderr, "\r%" PRIu64 " gradients, %" PRIu64 " sent, %"
		    PRIu64 " models\033[K", w->n[GENERATED], w->n[SENT],
		    w->n[MODELS]);
}

/* Sleep until something can be done. */
static void
nap(struct worker *w, uint64_t now_ns, uint64_t end_ns)
{
	struct pollfd p[3] = {
		{ .fd = w->u.fd, .events = POLLIN },
		{ .fd = w->cf->synthetic || child_behind(&w->child) >=
		    BEHIND_MAX_BYTES ? -1 : w->child.from,
		    .events = POLLIN },
		{ .fd = w->cf->synthetic || w->child.out_have == 0 ? -1 :
		    w->child.to, .events = POLLOUT },
	};
	uint64_t ns = timer_first(end_ns - now_ns, REPEAT_NS / 4);
	struct timespec ts;

	if (w->cf->synthetic)
		ns = timer_first(ns, pace_sleep_ns(now_ns, w->next_ns));
	ts = timer_spec(ns);
	if (ppoll(p, 3, &ts, w->cf->wait_mask) <= 0)
		return;
	if ((p[0].revents & POLLERR) != 0)
		udpio_errors(&w->u);
	if ((p[2].revents & (POLLOUT | POLLERR)) != 0)
		child_write(&w->child);
}

static void
loop(struct worker *w)
{
	uint64_t now = timer_mono_ns();
	const uint64_t end = timer_after(now, w->cf->duration_ns);
	int n;

	w->start_ns = w->told_ns = w->heard_ns = w->spoke_ns = now;
	w->next_ns = now + (w->cf->synthetic ? rng_below(&w->rng,
	    w->cf->interval_ns) : 0);
	while (!w->done && !*w->cf->stop && now < end) {
		nap(w, now, end);
		now = timer_mono_ns();
		n = UDPIO_BATCH;
		for (int k = 0; k < AT_ONCE && n == UDPIO_BATCH; k++) {
			n = udpio_recv(&w->u);
			for (int i = 0; i < n; i++)
				take_packet(w, &w->u.got[i], now);
		}
		if (w->cf->synthetic)
			make_gradient(w, now);
		else
			read_child(w);
		now = timer_mono_ns();
		if (!w->done)
			check_waits(w, now);
		check_child(w, now);
		tick(w, now);
		if (w->cf->capture != NULL && w->cf->capture->failed != 0)
			break;
	}
	if (w->cf->progress)
		fputs("\r\033[K", stderr);
}

int
worker_run(const struct worker_conf *cf)
{
	struct worker *w = calloc(1, sizeof(*w));
	uint64_t mtu = 1500;
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	w->rng = cf->rng;
	w->control = (struct txctl){ .kind = cf->control,
	    .threshold_ns = cf->threshold_ns };
	if (udpio_open_towards(&w->u, &cf->to, UPDATE_TOS, &mtu) == -1)
		err(1, "%s", cf->to_name);
	w->floats = update_floats(cf->mtu == 0 ? mtu : cf->mtu,
	    cf->to.sa.sa_family == AF_INET6);
	if (cf->synthetic > 0)
		make_model(w, cf->synthetic);
	else
		child_start(&w->child, cf->argv, cf->wait_mask);
	loop(w);
	if (cf->synthetic == 0)
		w->rc |= child_end(&w->child, PATIENCE_NS, !w->child_ended);
	if (!cf->quiet)
		summary(w);
	model_free(&w->model);
	udpio_close(&w->u);
	rc = w->rc;
	free(w->vec);
	free(w);
	return rc;
}
