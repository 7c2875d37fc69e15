/*
 * server-rule.h - what a parameter server does with an update (Olaf section
 * 2.1)
 *
 * For an update with reward r and gradient g, an ascent direction:
 *
 *	gate		none; or only if r > r_g (ema, last, best)
 *	average		g_a <- (1 - a) g_a + a g, from 0; or g itself
 *	optimizer	w <- w + rate g_a (sgd), or Adam's step of g_a
 *
 * each operation rounded to binary32.  Vectors that span packets are kept and
 * answered range by range, each range with its own version, step count and r_g.
 * An update that would make a weight non-finite changes nothing.  Pure; owns
 * its vectors; psrule_free().
 */
#ifndef INNET_OLAF_SERVER_RULE_H
#define INNET_OLAF_SERVER_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/update.h"

enum psrule_gate { PSRULE_NONE, PSRULE_EMA, PSRULE_LAST, PSRULE_BEST };
enum psrule_optimizer { PSRULE_SGD, PSRULE_ADAM };

enum psrule_verdict {
	PSRULE_APPLIED, PSRULE_GATED, PSRULE_NONFINITE, PSRULE_MISMATCHED,
	PSRULE_NO_MODEL
};

struct psrule_conf {
	enum psrule_gate gate;
	double gate_ema;	/* weight of the newest reward in r_g */
	double average_ema;	/* a; 1: no average */
	enum psrule_optimizer optimizer;
	double rate;		/* learning rate */
	bool descend;		/* gradients point down: subtract */
};

struct psrule_range {
	uint32_t version;	/* 0: not set yet */
	uint32_t step;		/* Adam's */
	double reward;		/* r_g */
	bool rewarded;		/* a reward has come */
};

struct psrule {			/* one cluster's */
	uint32_t elements, n;	/* n: elements of each packet but the last */
	uint32_t ranges, whole;	/* packets a vector; how many are set */
	uint32_t founder;	/* whose weights it started from */
	bool founded;
	float *w, *g, *m, *v;	/* weights, g_a, Adam's moments: one block */
	float *fresh;		/* the weights to be, of one range */
	struct psrule_range *range;
};

static inline void
psrule_free(struct psrule *p)
{
	free(p->w);
	free(p->fresh);
	free(p->range);
	*p = (struct psrule){ 0 };
}

/* Vectors for so many elements, n a packet.  False without memory. */
static inline bool
psrule_init(struct psrule *p, uint32_t elements, uint32_t n)
{
	*p = (struct psrule){ .elements = elements, .n = n,
	    .ranges = update_packets(elements, n) };
	p->w = calloc((size_t)elements * 4, sizeof(*p->w));
	p->fresh = calloc(n, sizeof(*p->fresh));
	p->range = calloc(p->ranges, sizeof(*p->range));
	if (p->w == NULL || p->fresh == NULL || p->range == NULL) {
		psrule_free(p);
		return false;
	}
	p->g = p->w + elements;
	p->m = p->g + elements;
	p->v = p->m + elements;
	return true;
}

/* Are all ranges set, so that updates may come? */
static inline bool
psrule_ready(const struct psrule *p)
{
	return p->ranges > 0 && p->whole == p->ranges;
}

/* The range of packet u, or UINT32_MAX if it is not one of this vector's. */
static inline uint32_t
psrule_range(const struct psrule *p, const struct update *u)
{
	uint32_t r;

	if (p->n == 0 || u->elements != p->elements || u->first % p->n != 0)
		return UINT32_MAX;
	r = u->first / p->n;
	if (u->n != (r + 1 < p->ranges ? p->n : p->elements - u->first))
		return UINT32_MAX;
	return r;
}

/*
 * A packet of initial weights from a worker.  True if it was taken: it is the
 * first of its cluster, or of the same founder and of a range not set yet.
 * The vector's cut is the first packet's.
 */
static inline bool
psrule_weights(struct psrule *p, const struct update *u)
{
	uint32_t r;

	if (!p->founded) {
		uint32_t n = u->n;

		if (u->following == 0 && u->n < u->elements)
			return false;	/* the last packet tells no cut */
		if (p->w == NULL && !psrule_init(p, u->elements, n))
			return false;
		p->founded = true;
		p->founder = u->worker;
	}
	r = psrule_range(p, u);
	if (r == UINT32_MAX || u->worker != p->founder ||
	    p->range[r].version != 0)
		return false;
	for (uint32_t i = 0; i < u->n; i++)
		p->w[u->first + i] = vec_get(u->vec, i);
	p->range[r].version = 1;
	p->whole++;
	return true;
}

/* Does the gate let reward r in? */
static inline bool
psrule_pass(const struct psrule_conf *cf, const struct psrule_range *at,
    double r)
{
	return cf->gate == PSRULE_NONE || !at->rewarded || r > at->reward;
}

/* r_g moves on by the reward of an update that was applied or gated. */
static inline void
psrule_reward(const struct psrule_conf *cf, struct psrule_range *at, double r)
{
	if (!at->rewarded || cf->gate == PSRULE_LAST)
		at->reward = r;
	else if (cf->gate == PSRULE_BEST)
		at->reward = r > at->reward ? r : at->reward;
	else
		at->reward += cf->gate_ema * (r - at->reward);
	at->rewarded = true;
}

/* The new weight at i, for gradient average a; moments move with it. */
static inline float
psrule_step(const struct psrule_conf *cf, const struct psrule *p, size_t i,
    float a, float *m, float *v, const double correct[2])
{
	const float rate = (float)cf->rate;

	if (cf->optimizer == PSRULE_SGD) {
		*m = p->m[i];
		*v = p->v[i];
		return p->w[i] + rate * a;
	}
	*m = 0.9f * p->m[i] + 0.1f * a;
	*v = 0.999f * p->v[i] + 0.001f * (a * a);
	return p->w[i] + (float)(cf->rate * ((double)*m / correct[0]) /
	    (sqrt((double)*v / correct[1]) + 1e-8));
}

/*
 * What the gate said of reward r is done but for the vectors: r_g and the
 * version move on.  With psrule_pass() it is all that a clock without vectors,
 * innet-sim, needs of the rule.
 */
static inline enum psrule_verdict
psrule_settle(const struct psrule_conf *cf, struct psrule_range *at, double r,
    bool pass)
{
	psrule_reward(cf, at, r);
	at->version += pass;
	return pass ? PSRULE_APPLIED : PSRULE_GATED;
}

/* Gradient to average to weights, of one range; false if not finite. */
static inline bool
psrule_learn(const struct psrule_conf *cf, struct psrule *p,
    const struct update *u, uint32_t r)
{
	const float keep = (float)(1 - cf->average_ema);
	const float take = (float)cf->average_ema;
	const double t = p->range[r].step + 1.0;
	const double correct[2] = { 1 - pow(0.9, t), 1 - pow(0.999, t) };
	bool finite = true;
	float a, m, v;

	/* first the weights to be, so that a bad one leaves no trace */
	for (uint32_t i = 0; i < u->n; i++) {
		size_t at = u->first + i;
		float g = vec_get(u->vec, i);

		a = keep * p->g[at] + take * (cf->descend ? -g : g);
		p->fresh[i] = psrule_step(cf, p, at, a, &m, &v, correct);
		finite = finite && isfinite(p->fresh[i]) && isfinite(v);
	}
	if (!finite)
		return false;
	for (uint32_t i = 0; i < u->n; i++) {
		size_t at = u->first + i;
		float g = vec_get(u->vec, i);

		a = keep * p->g[at] + take * (cf->descend ? -g : g);
		psrule_step(cf, p, at, a, &m, &v, correct);
		p->g[at] = a;
		p->m[at] = m;
		p->v[at] = v;
	}
	memcpy(p->w + u->first, p->fresh, u->n * sizeof(*p->w));
	p->range[r].step++;
	return true;
}

/* An update arrives; what became of it. */
static inline enum psrule_verdict
psrule_update(const struct psrule_conf *cf, struct psrule *p,
    const struct update *u)
{
	uint32_t r = psrule_range(p, u);
	bool pass;

	if (!psrule_ready(p))
		return PSRULE_NO_MODEL;
	if (r == UINT32_MAX)
		return PSRULE_MISMATCHED;
	pass = psrule_pass(cf, &p->range[r], (double)u->reward);
	if (pass && !psrule_learn(cf, p, u, r))
		return PSRULE_NONFINITE;
	return psrule_settle(cf, &p->range[r], (double)u->reward, pass);
}

/* The header of the model packet that answers u, of a range that is so. */
static inline struct update
psrule_head(const struct psrule_range *at, const struct update *u, uint32_t to)
{
	return (struct update){ .kind = UPDATE_MODEL, .cluster = u->cluster,
	    .worker = to, .sequence = at->version, .merged = 1,
	    .following = u->following, .generated_ns = u->generated_ns,
	    .reward = (float)at->reward, .elements = u->elements, .n = u->n,
	    .first = u->first };
}

/*
 * The model packet that answers u: its header in *model, the vector's bytes
 * are p->w + model->first.  The range must be set.
 */
static inline void
psrule_answer(const struct psrule *p, const struct update *u, uint32_t to,
    struct update *model)
{
	*model = psrule_head(&p->range[psrule_range(p, u)], u, to);
}

#endif
