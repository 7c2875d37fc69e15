/*
 * server-rule.h - the rule by which a parameter server applies an update (Olaf,
 * section 2.1)
 *
 * For an update with reward r and gradient g (a direction of ascent), the rule
 * is:
 *
 * 	gate		none; or only if r > r_g (ema, last, best)
 * 	average		g_a <- (1 - a) g_a + a g, from 0; or g itself
 * 	optimizer	w <- w + rate g_a (sgd), or Adam's step of g_a
 *
 * Each operation is rounded to binary32.  If a vector needs several packets,
 * each packet contains a range of the vector, and the server stores and answers
 * each range separately.  Each range has its own version, step count and r_g.
 * If an update would make a weight infinite or NaN, the update changes nothing.
 * The functions have no side effects.  server_rule_free() frees the vectors.
 */
#ifndef INNET_OLAF_SERVER_RULE_H
#define INNET_OLAF_SERVER_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/update.h"

enum server_rule_gate { SERVER_RULE_NONE, SERVER_RULE_EMA, SERVER_RULE_LAST,
    SERVER_RULE_BEST };
enum server_rule_optimizer { SERVER_RULE_SGD, SERVER_RULE_ADAM };

/* How an update was handled. */
enum server_rule_verdict {
	SERVER_RULE_APPLIED, SERVER_RULE_GATED, SERVER_RULE_NONFINITE,
	SERVER_RULE_MISMATCHED,		/* the update is not divided into ranges
					 * like the vectors of its cluster */
	SERVER_RULE_NO_MODEL		/* some ranges have no weights yet */
};

struct server_rule_conf {
	enum server_rule_gate gate;
	double gate_ema;	/* weight that the newest reward has in r_g */
	double average_ema;	/* the factor `a` of the average; 1: no
				 * average */
	enum server_rule_optimizer optimizer;
	double rate;		/* learning rate */
};

struct server_rule_range {
	uint32_t version;	/* version of the weights of the range; 0: the
				 * range has no weights yet */
	uint32_t step;		/* step count of Adam */
	double reward;		/* the value r_g */
	bool rewarded;		/* a reward has arrived */
};

/* The weights of one cluster. */
struct server_rule {
	uint32_t elements, n;	/* number of elements in the vector; number of
				 * elements in each packet except the last */
	uint32_t ranges, whole;	/* number of ranges of the vector; number of
				 * ranges that have weights */
	uint32_t initial_worker;	/* worker that sent the initial
					 * weights */
	bool has_initial;
	bool updated;		/* an update for this vector has arrived */
	float *w, *g, *m, *v;	/* weights, average gradient g_a and Adam's two
				 * moments, in one block that w owns */
	float *fresh;		/* buffer for the new weights of one range */
	struct server_rule_range *range;	/* owned */
};

/*
 * Allocate vectors of `elements` elements, of which each packet contains n.
 * Returns false if there is no memory.
 */
static inline bool server_rule_init(struct server_rule *p, uint32_t elements,
    uint32_t n);

/* Free the vectors. */
static inline void server_rule_free(struct server_rule *p);

/* Do all ranges have weights, so that updates can be applied? */
static inline bool server_rule_is_ready(const struct server_rule *p);

/*
 * Return the index of the range that packet u contains, or UINT32_MAX if the
 * packet's vector is not divided like this vector.
 */
static inline uint32_t server_rule_range(const struct server_rule *p,
    const struct update *u);

/*
 * Process a packet of initial weights.  The first packet of a cluster
 * determines how the vector is divided into ranges.  A later packet is used
 * only if it comes from the same worker and if its range has no weights yet.
 * Returns whether the packet was used.
 */
static inline bool server_rule_take_weights(struct server_rule *p,
    const struct update *u);

/* Apply an update, or reject it.  Returns what was done with the update. */
static inline enum server_rule_verdict server_rule_update(
    const struct server_rule_conf *cf, struct server_rule *p,
    const struct update *u);

/*
 * Fill in *model, the header of the model packet that answers u, for worker
 * `to`.  The vector of the model is at p->w + model->first.  The range must
 * have weights.
 */
static inline void server_rule_make_model(const struct server_rule *p,
    const struct update *u, uint32_t to, struct update *model);

/* Does the gate admit reward r? */
static inline bool server_rule_admits(const struct server_rule_conf *cf,
    const struct server_rule_range *at, double r);

/*
 * Change r_g and the version of a range after an update.  `pass` is true if the
 * gate admitted the update.  innet-sim has no vectors, so it needs only this
 * function and server_rule_admits().
 */
static inline enum server_rule_verdict server_rule_finish(
    const struct server_rule_conf *cf, struct server_rule_range *at, double r,
    bool pass);

/*
 * Return the header of a model packet that answers u, for worker `to`.  `at` is
 * the state of the range that u contains.
 */
static inline struct update server_rule_model_header(
    const struct server_rule_range *at, const struct update *u, uint32_t to);

/* implementation */

static inline void
server_rule_free(struct server_rule *p)
{
	free(p->w);
	free(p->fresh);
	free(p->range);
	*p = (struct server_rule){ 0 };
}

static inline bool
server_rule_init(struct server_rule *p, uint32_t elements, uint32_t n)
{
	*p = (struct server_rule){ .elements = elements, .n = n,
	    .ranges = update_packets(elements, n) };
	p->w = calloc((size_t)elements * 4, sizeof(*p->w));
	p->fresh = calloc(n, sizeof(*p->fresh));
	p->range = calloc(p->ranges, sizeof(*p->range));
	if (p->w == NULL || p->fresh == NULL || p->range == NULL) {
		server_rule_free(p);
		return false;
	}
	p->g = p->w + elements;
	p->m = p->g + elements;
	p->v = p->m + elements;
	return true;
}

static inline bool
server_rule_is_ready(const struct server_rule *p)
{
	return p->ranges > 0 && p->whole == p->ranges;
}

static inline uint32_t
server_rule_range(const struct server_rule *p, const struct update *u)
{
	uint32_t r;

	if (p->n == 0 || u->elements != p->elements || u->first % p->n != 0)
		return UINT32_MAX;
	r = u->first / p->n;
	if (u->n != (r + 1 < p->ranges ? p->n : p->elements - u->first))
		return UINT32_MAX;
	return r;
}

static inline bool
server_rule_take_weights(struct server_rule *p, const struct update *u)
{
	uint32_t r;

	if (!p->has_initial) {
		uint32_t n = u->n;

		if (u->following == 0 && u->n < u->elements)
			return false;	/* the last packet of a vector does not
					 * show how long the other packets
					 * are */
		if (p->w == NULL && !server_rule_init(p, u->elements, n))
			return false;
		p->has_initial = true;
		p->initial_worker = u->worker;
	}
	r = server_rule_range(p, u);
	if (r == UINT32_MAX || u->worker != p->initial_worker ||
	    p->range[r].version != 0)
		return false;
	for (uint32_t i = 0; i < u->n; i++)
		p->w[u->first + i] = vec_get(u->vec, i);
	p->range[r].version = 1;
	p->whole++;
	return true;
}

static inline bool
server_rule_admits(const struct server_rule_conf *cf,
    const struct server_rule_range *at,
    double r)
{
	return cf->gate == SERVER_RULE_NONE || !at->rewarded || r > at->reward;
}

/*
 * Change r_g according to the reward r of an update, whether or not the gate
 * admitted the update.
 */
static inline void
server_rule_update_reward(const struct server_rule_conf *cf,
    struct server_rule_range *at, double r)
{
	if (!at->rewarded || cf->gate == SERVER_RULE_LAST)
		at->reward = r;
	else if (cf->gate == SERVER_RULE_BEST)
		at->reward = r > at->reward ? r : at->reward;
	else
		at->reward += cf->gate_ema * (r - at->reward);
	at->rewarded = true;
}

/*
 * Return the new weight at index i for the average gradient `a`, and store its
 * new moments in *m and *v.  `correct` contains Adam's bias corrections.
 */
static inline float
server_rule_step(const struct server_rule_conf *cf, const struct server_rule *p,
    size_t i,
    float a, float *m, float *v, const double correct[2])
{
	const float rate = (float)cf->rate;

	if (cf->optimizer == SERVER_RULE_SGD) {
		*m = p->m[i];
		*v = p->v[i];
		return p->w[i] + rate * a;
	}
	*m = 0.9f * p->m[i] + 0.1f * a;
	*v = 0.999f * p->v[i] + 0.001f * (a * a);
	return p->w[i] + (float)(cf->rate * ((double)*m / correct[0]) /
	    (sqrt((double)*v / correct[1]) + 1e-8));
}

static inline enum server_rule_verdict
server_rule_finish(const struct server_rule_conf *cf,
    struct server_rule_range *at, double r,
    bool pass)
{
	server_rule_update_reward(cf, at, r);
	at->version += pass;
	return pass ? SERVER_RULE_APPLIED : SERVER_RULE_GATED;
}

/*
 * Apply the gradient of u to range r.  If a weight would become infinite or
 * NaN, change nothing and return false.
 */
static inline bool
server_rule_apply(const struct server_rule_conf *cf, struct server_rule *p,
    const struct update *u, uint32_t r)
{
	const float keep = (float)(1 - cf->average_ema);
	const float take = (float)cf->average_ema;
	const double t = p->range[r].step + 1.0;
	const double correct[2] = { 1 - pow(0.9, t), 1 - pow(0.999, t) };
	bool finite = true;
	float a, m, v;

	/*
	 * Compute all new weights before any weight changes, because the update
	 * must change nothing if a new weight is not finite.
	 */
	for (uint32_t i = 0; i < u->n; i++) {
		size_t at = u->first + i;
		float g = vec_get(u->vec, i);

		a = keep * p->g[at] + take * g;
		p->fresh[i] = server_rule_step(cf, p, at, a, &m, &v, correct);
		finite = finite && isfinite(p->fresh[i]) && isfinite(v);
	}
	if (!finite)
		return false;
	for (uint32_t i = 0; i < u->n; i++) {
		size_t at = u->first + i;
		float g = vec_get(u->vec, i);

		a = keep * p->g[at] + take * g;
		server_rule_step(cf, p, at, a, &m, &v, correct);
		p->g[at] = a;
		p->m[at] = m;
		p->v[at] = v;
	}
	memcpy(p->w + u->first, p->fresh, u->n * sizeof(*p->w));
	p->range[r].step++;
	return true;
}

static inline enum server_rule_verdict
server_rule_update(const struct server_rule_conf *cf, struct server_rule *p,
    const struct update *u)
{
	uint32_t r = server_rule_range(p, u);
	bool pass;

	if (!server_rule_is_ready(p))
		return SERVER_RULE_NO_MODEL;
	if (r == UINT32_MAX)
		return SERVER_RULE_MISMATCHED;
	p->updated = true;
	pass = server_rule_admits(cf, &p->range[r], (double)u->reward);
	if (pass && !server_rule_apply(cf, p, u, r))
		return SERVER_RULE_NONFINITE;
	return server_rule_finish(cf, &p->range[r], (double)u->reward, pass);
}

static inline struct update
server_rule_model_header(
    const struct server_rule_range *at, const struct update *u, uint32_t to)
{
	return (struct update){ .kind = UPDATE_MODEL, .cluster = u->cluster,
	    .worker = to, .sequence = at->version, .merged = 1,
	    .following = u->following, .generated_ns = u->generated_ns,
	    .reward = (float)at->reward, .elements = u->elements, .n = u->n,
	    .first = u->first };
}

static inline void
server_rule_make_model(const struct server_rule *p, const struct update *u,
    uint32_t to,
    struct update *model)
{
	*model =
	    server_rule_model_header(&p->range[server_rule_range(p, u)], u, to);
}

#endif
