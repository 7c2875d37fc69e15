/*
 * olaf-worker.h - a worker of an Olaf cluster: what it sends, and when
 *
 * It asks for the model by sending its weights, until it has one of all ranges
 * (model.h), and again after a silence, for an update may be lost and a server
 * restarted.  A gradient leaves as an update if there is a model and
 * transmission control (txctl.h) lets it.  Pure: time (ns, monotonic) and the
 * random draws are arguments, no socket is touched.
 *
 * The caller says how long vectors are (olaf_worker_size), puts the weights to
 * begin with at model.w and says so (olaf_worker_begin), gives what comes
 * (olaf_worker_take), and offers gradients (olaf_worker_offer).  What is to be
 * sent goes packet by packet (olaf_worker_packet).  Stamps on packets are its
 * own.  Owns its memory: olaf_worker_free().
 */
#ifndef INNET_WORKER_OLAF_WORKER_H
#define INNET_WORKER_OLAF_WORKER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/queue/txctl.h"
#include "cmd/innet-worker/olaf-worker-model.h"
#include "common/wire/stream.h"
#include "common/wire/update.h"

#define OLAF_WORKER_NEVER UINT64_MAX

enum {
	OLAF_WORKER_REPEAT_NS = 200000000,	/* weights unanswered */
	OLAF_WORKER_SILENCE_NS = 1000000000,	/* no model, having one */
	OLAF_WORKER_WHY_BYTES = 120
};

struct olaf_worker_conf {
	uint16_t cluster;
	uint32_t number;
	enum txctl_kind control;
	uint64_t threshold_ns;		/* of control */
	uint64_t give_up_ns;		/* without a model */
};

enum olaf_worker_count {
	OLAF_WORKER_GENERATED, OLAF_WORKER_SENT, OLAF_WORKER_SUPPRESSED,
	OLAF_WORKER_WAITING,		/* for the first model */
	OLAF_WORKER_WEIGHTS, OLAF_WORKER_MODELS, OLAF_WORKER_STALE,
	OLAF_WORKER_IGNORED, OLAF_WORKER_COUNTS
};

/* A vector to be sent: of weights, perhaps not all of its ranges. */
struct olaf_worker_out {
	struct update head;		/* of all packets */
	bool all;			/* ranges, or those without a model */
};

struct olaf_worker {
	struct olaf_worker_conf cf;
	struct txctl control;
	struct worker_model model;
	bool begun;
	bool paused;			/* nothing may be sent yet */
	bool stuck;			/* no model came in time: the end */
	uint32_t other_elements;	/* or one of another length, */
	uint32_t other_n;		/* or cut otherwise; 0: none */
	uint16_t short_of;		/* a queue on the way has so many
					   slots, fewer than ranges; or 0 */
	uint64_t given;			/* model.taken at the last result */
	uint64_t heard_ns;		/* last model */
	uint64_t ask_ns;		/* when to send weights */
	uint64_t asked;			/* how often, since heard_ns */
	uint64_t n[OLAF_WORKER_COUNTS];
};

static inline void
olaf_worker_init(struct olaf_worker *w, const struct olaf_worker_conf *cf)
{
	*w = (struct olaf_worker){ .cf = *cf, .control = {
	    .kind = cf->control, .threshold_ns = cf->threshold_ns } };
}

static inline void
olaf_worker_free(struct olaf_worker *w)
{
	worker_model_free(&w->model);
}

/* Vectors have so many elements, packets so many floats.  False: no memory. */
static inline bool
olaf_worker_size(struct olaf_worker *w, uint32_t elements, uint32_t floats)
{
	return worker_model_init(&w->model, elements, floats);
}

/* The weights to begin with are at model.w. */
static inline void
olaf_worker_begin(struct olaf_worker *w, uint64_t now_ns)
{
	w->begun = true;
	w->heard_ns = w->ask_ns = now_ns;
}

/* A vector of that kind. */
static inline struct update
olaf_worker_head(const struct olaf_worker *w, enum update_kind kind)
{
	return (struct update){ .kind = (uint8_t)kind, .merged = 1,
	    .cluster = w->cf.cluster, .worker = w->cf.number,
	    .elements = w->model.elements };
}

/*
 * Are weights to be sent now, to ask for the model?  If no model has come for
 * too long, it is stuck.
 */
static inline bool
olaf_worker_next(struct olaf_worker *w, uint64_t now_ns,
    struct olaf_worker_out *o)
{
	const bool whole = worker_model_whole(&w->model);

	if (!w->begun || w->stuck)
		return false;
	w->stuck = now_ns - w->heard_ns >= w->cf.give_up_ns ||
	    w->other_elements > 0;
	if (w->stuck || w->paused || now_ns < w->ask_ns)
		return false;
	w->n[OLAF_WORKER_WEIGHTS]++;
	w->asked++;
	w->ask_ns = now_ns + (whole ? OLAF_WORKER_SILENCE_NS :
	    OLAF_WORKER_REPEAT_NS);
	o->head = olaf_worker_head(w, UPDATE_WEIGHTS);
	o->head.sequence = (uint32_t)w->n[OLAF_WORKER_GENERATED];
	o->all = whole;
	return true;
}

/* When that is due. */
static inline uint64_t
olaf_worker_due(const struct olaf_worker *w)
{
	const uint64_t give_up = w->cf.give_up_ns;
	const uint64_t end = give_up > OLAF_WORKER_NEVER - w->heard_ns ?
	    OLAF_WORKER_NEVER : w->heard_ns + give_up;

	if (!w->begun || w->stuck)
		return OLAF_WORKER_NEVER;
	return !w->paused && w->ask_ns < end ? w->ask_ns : end;
}

/* A gradient is ready: is it to be sent?  draw is uniform in [0, 1). */
static inline bool
olaf_worker_offer(struct olaf_worker *w, float reward, uint64_t now_ns,
    double draw, struct olaf_worker_out *o)
{
	const uint64_t k = ++w->n[OLAF_WORKER_GENERATED];

	if (!worker_model_whole(&w->model)) {
		w->n[OLAF_WORKER_WAITING]++;
		return false;
	}
	if (!txctl_should_send(&w->control, now_ns, draw)) {
		w->n[OLAF_WORKER_SUPPRESSED]++;
		return false;
	}
	w->n[OLAF_WORKER_SENT]++;
	o->head = olaf_worker_head(w, UPDATE_UPDATE);
	o->head.sequence = (uint32_t)k;
	o->head.reward = reward;
	o->all = true;
	return true;
}

/* The packet of range r: its header, with first and n; false: it needs none. */
static inline bool
olaf_worker_packet(const struct olaf_worker *w,
    const struct olaf_worker_out *o, uint32_t r, struct update *u)
{
	if (!o->all && w->model.range[r].have)
		return false;
	*u = o->head;
	u->n = worker_model_range(&w->model, r, &u->first);
	u->following = (uint16_t)(w->model.ranges - 1 - r);
	return true;
}

/* Is the model of range 0 of a vector as long as ours, and cut like it? */
static inline bool
olaf_worker_fits(const struct olaf_worker *w, const struct update *u)
{
	uint32_t first;

	return u->elements == w->model.elements && (u->first != 0 ||
	    u->n == worker_model_range(&w->model, 0, &first));
}

/* A packet that came: is it a model for us?  A new range of it is kept. */
static inline bool
olaf_worker_take(struct olaf_worker *w, const struct update *u,
    uint64_t now_ns)
{
	if (u->kind != UPDATE_MODEL || u->cluster != w->cf.cluster ||
	    (u->worker != w->cf.number && u->worker != UPDATE_ALL_WORKERS) ||
	    !olaf_worker_fits(w, u)) {
		if (u->kind == UPDATE_MODEL && u->cluster == w->cf.cluster &&
		    w->begun && !worker_model_whole(&w->model)) {
			w->other_elements = u->elements;
			w->other_n = u->n;
			w->ask_ns = now_ns;	/* see to it now */
		}
		w->n[OLAF_WORKER_IGNORED]++;
		return false;
	}
	w->n[OLAF_WORKER_MODELS]++;
	w->heard_ns = now_ns;
	w->asked = 0;
	txctl_set_status(&w->control, &u->status, now_ns);
	if (u->status.filled && u->status.capacity < w->model.ranges)
		w->short_of = u->status.capacity;
	if (!worker_model_take(&w->model, u, now_ns))
		w->n[OLAF_WORKER_STALE]++;
	if (worker_model_whole(&w->model))
		w->ask_ns = now_ns + OLAF_WORKER_SILENCE_NS;
	return true;
}

/*
 * What answers a gradient, which was of that iteration: the model at model.w,
 * if it is news.
 */
static inline struct stream_head
olaf_worker_result(struct olaf_worker *w, uint64_t iteration)
{
	const bool news = worker_model_whole(&w->model) &&
	    w->model.taken != w->given;
	const uint64_t version = worker_model_version(&w->model);

	w->given = w->model.taken;
	return (struct stream_head){ .kind = STREAM_RESULT,
	    .flags = STREAM_MODEL, .contributions = 1, .iteration = version,
	    .elements = news ? w->model.elements : 0,
	    .staleness = version > iteration ?
	    (uint32_t)(version - iteration) : 0 };
}

/* What it is stuck on, in words to follow the switch's name. */
static inline const char *
olaf_worker_why(const struct olaf_worker *w, char text[OLAF_WORKER_WHY_BYTES])
{
	if (w->other_elements != w->model.elements && w->other_elements > 0)
		snprintf(text, OLAF_WORKER_WHY_BYTES, "cluster %u has vectors "
		    "of %" PRIu32 " elements, not %" PRIu32 "; give each "
		    "length its own --cluster", w->cf.cluster,
		    w->other_elements, w->model.elements);
	else if (w->other_elements > 0)
		snprintf(text, OLAF_WORKER_WHY_BYTES, "cluster %u has packets "
		    "of %" PRIu32 " elements; give all its workers the same "
		    "--mtu", w->cf.cluster, w->other_n);
	else
		snprintf(text, OLAF_WORKER_WHY_BYTES, "no model of cluster %u "
		    "after %" PRIu64 " tries in %.1f s", w->cf.cluster,
		    w->asked, (double)w->cf.give_up_ns / 1e9);
	return text;
}

#endif
