/*
 * olaf-worker.h - decide when a worker of an Olaf cluster sends a packet
 *
 * The worker requests the model by sending its weights.  It repeats the request
 * until it has a model of all ranges (olaf-worker-model.h).  If no model
 * arrives for some time, it requests the model again, because an update can be
 * lost and a server can restart.  The worker sends a gradient as an update if
 * it has a model and transmission control (queue/txctl.h) permits it.
 *
 * The functions are pure: the caller passes time (ns, monotonic) and random
 * numbers, and owns the socket.  The caller first sets the length of vectors
 * (olaf_worker_size), writes the initial weights to model.w and calls
 * olaf_worker_begin().  Then the caller passes received packets to
 * olaf_worker_take() and gradients to olaf_worker_offer().  To send a vector,
 * the caller makes one packet after another with olaf_worker_packet() and sets
 * the timestamps of the packets.  The struct owns its memory; free it with
 * olaf_worker_free().
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
	OLAF_WORKER_REPEAT_NS = 200000000, /* send the weights again if no
					    * answer has arrived for this
					    * time */
	OLAF_WORKER_SILENCE_NS = 1000000000, /* send the weights if no model has
					      * arrived for this time */
	OLAF_WORKER_WHY_BYTES = 160
};

struct olaf_worker_conf {
	uint16_t cluster;
	uint32_t number;
	enum txctl_kind control;
	uint64_t threshold_ns;		/* threshold of transmission control */
	uint64_t give_up_ns;		/* longest time without a model */
};

enum olaf_worker_count {
	OLAF_WORKER_GENERATED, OLAF_WORKER_SENT, OLAF_WORKER_SUPPRESSED,
	OLAF_WORKER_WAITING, /* number of gradients that the child sent before
			      * the first model arrived */
	OLAF_WORKER_WEIGHTS, OLAF_WORKER_MODELS, OLAF_WORKER_STALE,
	OLAF_WORKER_IGNORED, OLAF_WORKER_COUNTS
};

/*
 * A vector to send.  If it contains weights, only some of its ranges may be
 * sent.
 */
struct olaf_worker_out {
	struct update head;		/* header of all packets of the
					 * vector */
	bool all; /* all ranges are sent; false: only ranges without a model are
		   * sent */
};

struct olaf_worker {
	struct olaf_worker_conf cf;
	struct txctl control;
	struct worker_model model;
	bool begun;			/* model.w has the initial weights */
	bool paused;			/* nothing may be sent now */
	bool stuck;	/* the worker ends because no usable model arrived */
	uint32_t other_elements;	/* length of a model that did not fit;
					 * 0: none */
	uint32_t other_n;		/* packet length of a model that did not
					 * fit; 0: none */
	uint16_t short_of;		/* number of slots of a queue on the
					 * path that has fewer slots than a
					 * vector has ranges; 0: there is no
					 * such queue */
	uint64_t given;	/* value of model.taken when the child got its last
			 * result */
	uint64_t heard_ns;		/* time when the last model arrived */
	uint64_t ask_ns;		/* time when weights are sent next */
	uint64_t asked;			/* number of times that weights were
					 * sent since heard_ns */
	uint64_t n[OLAF_WORKER_COUNTS];
};

/* Initialize w with the settings cf. */
static inline void olaf_worker_init(struct olaf_worker *w,
    const struct olaf_worker_conf *cf);

/* Free the model. */
static inline void olaf_worker_free(struct olaf_worker *w);

/*
 * Set the length of vectors and the number of floats in each packet.  Returns
 * false if out of memory.
 */
static inline bool olaf_worker_size(struct olaf_worker *w, uint32_t elements,
    uint32_t floats);

/* Begin with the weights that the caller has written to model.w. */
static inline void olaf_worker_begin(struct olaf_worker *w, uint64_t now_ns);

/*
 * Must the worker send weights now, to request the model?  Sets w->stuck if no
 * usable model has arrived for too long.
 */
static inline bool olaf_worker_next(struct olaf_worker *w, uint64_t now_ns,
    struct olaf_worker_out *o);

/* Return the next time at which olaf_worker_next() has work to do. */
static inline uint64_t olaf_worker_due(const struct olaf_worker *w);

/* Should this gradient be sent as an update?  `draw` is uniform in [0, 1). */
static inline bool olaf_worker_offer(struct olaf_worker *w, float reward,
    uint64_t now_ns, double draw, struct olaf_worker_out *o);

/*
 * Make the header of the packet for range r, including the fields `first` and
 * `n`.  Returns false if this range is not sent.
 */
static inline bool olaf_worker_packet(const struct olaf_worker *w,
    const struct olaf_worker_out *o, uint32_t r, struct update *u);

/*
 * Process a received packet.  Returns true if the packet is a model for this
 * worker.
 */
static inline bool olaf_worker_take(struct olaf_worker *w,
    const struct update *u, uint64_t now_ns);

/*
 * Return the header of the answer to the gradient of an iteration.  If the
 * answer has a new model, the vector is model.w.
 */
static inline struct stream_head olaf_worker_result(struct olaf_worker *w,
    uint64_t iteration);

/*
 * Write to `text` why the worker is stuck, and return `text`.  The caller
 * prints the text after the name of the switch.
 */
static inline const char *olaf_worker_why(const struct olaf_worker *w,
    char text[OLAF_WORKER_WHY_BYTES]);

/* implementation */

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

static inline bool
olaf_worker_size(struct olaf_worker *w, uint32_t elements, uint32_t floats)
{
	return worker_model_init(&w->model, elements, floats);
}

static inline void
olaf_worker_begin(struct olaf_worker *w, uint64_t now_ns)
{
	w->begun = true;
	w->heard_ns = w->ask_ns = now_ns;
}

/* Return the header of a vector of the given kind. */
static inline struct update
olaf_worker_head(const struct olaf_worker *w, enum update_kind kind)
{
	return (struct update){ .kind = (uint8_t)kind, .merged = 1,
	    .cluster = w->cf.cluster, .worker = w->cf.number,
	    .elements = w->model.elements };
}

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

/*
 * Does a model have the length and the packet length of this worker's vectors?
 */
static inline bool
olaf_worker_fits(const struct olaf_worker *w, const struct update *u)
{
	uint32_t first;

	return u->elements == w->model.elements && (u->first != 0 ||
	    u->n == worker_model_range(&w->model, 0, &first));
}

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
			w->ask_ns = now_ns;	/* send weights now */
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

static inline const char *
olaf_worker_why(const struct olaf_worker *w, char text[OLAF_WORKER_WHY_BYTES])
{
	if (w->other_elements != w->model.elements && w->other_elements > 0)
		snprintf(text, OLAF_WORKER_WHY_BYTES, "cluster %u has vectors "
		    "of %" PRIu32 " elements, and this worker has %" PRIu32 "; "
		    "give each vector length its own --cluster", w->cf.cluster,
		    w->other_elements, w->model.elements);
	else if (w->other_elements > 0)
		snprintf(text, OLAF_WORKER_WHY_BYTES, "cluster %u has packets "
		    "of %" PRIu32 " elements; give all its workers the same "
		    "--mtu", w->cf.cluster, w->other_n);
	else
		snprintf(text, OLAF_WORKER_WHY_BYTES, "no model of cluster %u "
		    "arrived after %" PRIu64 " tries in %.1f s", w->cf.cluster,
		    w->asked, (double)w->cf.give_up_ns / 1e9);
	return text;
}

#endif
