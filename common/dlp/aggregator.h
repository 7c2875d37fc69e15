/*
 * aggregator.h - the aggregator of a DLP session, which turns packets into
 * answers
 *
 * This is the state machine of the switch and of the parameter server of the
 * DLP thesis.  It behaves exactly as the published workers of the thesis expect
 * (innet-dlp(7)).  It has one session at a time, with up to 32 workers, which
 * are identified by their source addresses.  The first gradient determines the
 * number of elements in the vectors of the session.
 *
 * To compute a mean, the aggregator sends a sum, which the workers divide.  To
 * compute a median, which tolerates Byzantine workers, the aggregator sends
 * twice the median.  So both results are integers.  Sums are computed exactly
 * in 64 bits and saturated to 32 bits; saturations are counted.
 *
 * This is a separate file because it allocates no memory and reads no clock.
 * The decisions of the aggregator depend only on the order of the packets and,
 * if straggler_ns is set, on the times at which packets arrive.  A step that
 * has lasted for straggler_ns is completed with the gradients that have
 * arrived.
 */
#ifndef INNET_DLP_AGGREGATOR_H
#define INNET_DLP_AGGREGATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/addr.h"
#include "common/wire/dlp.h"

#define DLP_AGGREGATOR_NEVER UINT64_MAX

enum {
	DLP_AGGREGATOR_KEPT = 256,	/* number of aggregates kept for late
					 * workers */
	DLP_AGGREGATOR_LEAST = 3	/* minimum number of gradients for a
					 * median */
};

enum dlp_aggregator_as { DLP_AGGREGATOR_SWITCH, DLP_AGGREGATOR_SERVER };

struct dlp_aggregator_conf {
	enum dlp_aggregator_as as;	/* the aggregator of the thesis to
					 * behave like */
	bool median;		/* compute the median; if not set, compute the
				 * mean */
	bool late;		/* answer each gradient at once, with the result
				 * of the previous step */
	uint64_t straggler_ns;	/* longest duration of a step from its first
				   gradient on; 0: no limit */
	struct dlp_session session;	/* settings of the session; 0: use the
					 * default */
};

/*
 * The counters of an aggregator: first packets by kind, then effects of
 * packets.
 */
enum dlp_aggregator_count {
	DLP_AGGREGATOR_RESET, DLP_AGGREGATOR_CONFIGURED, DLP_AGGREGATOR_REFUSED,
	    DLP_AGGREGATOR_SETUP,
	DLP_AGGREGATOR_SETUP_AGAIN, DLP_AGGREGATOR_GRADIENTS,
	    DLP_AGGREGATOR_REPEATED,
	DLP_AGGREGATOR_FINISHED, DLP_AGGREGATOR_WRONG_STEP,
	    DLP_AGGREGATOR_POLLED, DLP_AGGREGATOR_FOREIGN,
	DLP_AGGREGATOR_NOT_OPEN, DLP_AGGREGATOR_MISMATCHED,
	DLP_AGGREGATOR_SHORT, DLP_AGGREGATOR_LONG,
	DLP_AGGREGATOR_ANSWERS, DLP_AGGREGATOR_STEPS, DLP_AGGREGATOR_SESSIONS,
	    DLP_AGGREGATOR_SATURATED,
	DLP_AGGREGATOR_PARTIAL,		/* steps completed without all
					 * workers */
	DLP_AGGREGATOR_TOO_FEW,		/* steps that were not completed because
					 * they had too few gradients */
	DLP_AGGREGATOR_COUNTS
};

static const char *const dlp_aggregator_count_name[DLP_AGGREGATOR_COUNTS] = {
	"reset", "configured", "refused", "setup", "setup_again", "gradients",
	"repeated", "finished", "wrong_step", "polled", "foreign", "not_open",
	"mismatched", "short", "long", "answers", "steps", "sessions",
	"saturated", "partial", "too_few"
};

/*
 * Source and destination of a packet.  The answer is sent from this destination
 * to this source.
 */
struct dlp_aggregator_peer {
	union addr at, to;
};

struct dlp_aggregator_member {
	struct dlp_aggregator_peer peer;
	uint8_t order;		/* position of the member's gradient in the
				 * order of arrival in this step, from 1; 0: no
				 * gradient yet */
	uint8_t done_order;	/* position of the member's gradient in the last
				 * finished step */
	uint64_t missed;	/* number of steps completed without this
				 * member */
};

/* The aggregate of a step. */
struct dlp_aggregator_kept {
	int32_t value[DLP_ELEMENTS_MAX];
	uint8_t n;		/* number of gradients in the aggregate */
};

struct dlp_aggregator_table {
	unsigned n;
	struct dlp_aggregator_member member[DLP_NODES_MAX];
};

struct dlp_aggregator {
	struct dlp_aggregator_conf cf;
	struct dlp_session session;	/* the current settings */
	uint8_t state;			/* WAITING, SETUP or LEARNING */
	uint32_t step;
	uint32_t elements;		/* number of elements in a vector; 0:
					 * not known, because no vector has
					 * arrived */
	struct dlp_aggregator_table now;	/* workers of this session, by
						 * index */
	struct dlp_aggregator_table before;	/* in state SETUP: workers of
						 * the last session */
	unsigned counted;		/* number of members whose gradient has
					 * arrived in this step */
	uint64_t began_ns;		/* time of the first gradient of this
					 * step, if one has arrived */
	uint8_t arrived[DLP_NODES_MAX];	/* indices of the members whose
					 * gradients have arrived, in order of
					 * arrival */
	/* The gradients that have arrived in this step, in order of arrival. */
	int32_t value[DLP_ELEMENTS_MAX][DLP_NODES_MAX];
	bool done;			/* a step has been finished; done_step
					 * is the last finished step */
	uint32_t done_step;
	/* aggregates by step */
	struct dlp_aggregator_kept kept[DLP_AGGREGATOR_KEPT];
	uint32_t left_out;		/* bit set of the workers whose
					 * gradients are not in the aggregate of
					 * done_step */
	uint64_t n[DLP_AGGREGATOR_COUNTS];
};

/*
 * One packet, and the n workers to which it must be sent.  The peers are
 * borrowed until the next packet.
 */
struct dlp_aggregator_out {
	struct dlp d;
	unsigned n;
	const struct dlp_aggregator_peer *to[DLP_NODES_MAX];
};

/* Initialise j for the first session. */
static inline void dlp_aggregator_init(struct dlp_aggregator *j,
    const struct dlp_aggregator_conf *cf);

/*
 * Process a payload of len bytes at p from a worker.  Write the answer and its
 * destinations to *out.  Returns the number of destinations, which is often 0.
 */
static inline unsigned dlp_aggregator_receive(struct dlp_aggregator *j,
    const uint8_t *p, size_t len, const struct dlp_aggregator_peer *from,
    struct dlp_aggregator_out *out, uint64_t now_ns);

/*
 * Return the time at which the current step will have lasted too long, or
 * NEVER.
 */
static inline uint64_t dlp_aggregator_deadline_ns(
    const struct dlp_aggregator *j);

/*
 * If the step has lasted too long, complete it with the gradients that have
 * arrived.  If there are too few gradients for a median, wait for the same time
 * again.  Returns the number of answers, like dlp_aggregator_receive().
 */
static inline unsigned dlp_aggregator_run_timer(struct dlp_aggregator *j,
    uint64_t now_ns, struct dlp_aggregator_out *out);

/*
 * Return the bit set of the workers whose SETUP (in state SETUP) or gradient
 * has not arrived.
 */
static inline uint32_t dlp_aggregator_missing_workers(
    const struct dlp_aggregator *j);

/* Return the member in table t that has this address, or NULL. */
static inline struct dlp_aggregator_member *dlp_aggregator_find(
    struct dlp_aggregator_table *t,
    const union addr *at);

/* implementation */

/* Return twice the median of the n values at v.  This function sorts v. */
static inline int64_t
dlp_reduce_median2(int32_t *v, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		const int32_t x = v[i];
		unsigned k = i;

		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
	return (int64_t)v[(n - 1) / 2] + v[n / 2];
}

/*
 * Estimate the sum of `all` values from the n > 0 values at v that have
 * arrived.  The function assumes that the missing values have the same mean as
 * these.  Returns the rounded sum.
 */
static inline int64_t
dlp_reduce_sum(const int32_t *v, unsigned n, unsigned all)
{
	int64_t sum = 0, parts = n;

	for (unsigned i = 0; i < n; i++)
		sum += v[i];
	sum *= all;
	return (sum + (sum < 0 ? -parts : parts) / 2) / parts;
}

/* Replace every setting that is 0 with its default. */
static inline void
dlp_aggregator_defaults(struct dlp_session *s,
    const struct dlp_aggregator_conf *cf)
{
	static const int32_t usual[DLP_PARAMS] = { 100, 1000, 200, 1, 1,
	    1000 };

	if (s->nodes == 0)
		s->nodes = cf->session.nodes > 0 ? cf->session.nodes : 5;
	for (int i = 0; i < DLP_PARAMS; i++) {
		if (s->param[i] == 0)
			s->param[i] = cf->session.param[i];
		if (s->param[i] == 0)
			s->param[i] = i == DLP_ETA_SCALE &&
			    cf->as == DLP_AGGREGATOR_SERVER ? 1 : usual[i];
	}
}

/*
 * Forget all workers.  Workers can still request the aggregate of a finished
 * step.
 */
static inline void
dlp_aggregator_forget_workers(struct dlp_aggregator *j, uint8_t state)
{
	if (j->done && j->state != DLP_SETUP)
		j->before = j->now;
	j->now.n = j->counted = 0;
	j->step = 0;
	j->state = state;
}

static inline void
dlp_aggregator_init(struct dlp_aggregator *j,
    const struct dlp_aggregator_conf *cf)
{
	memset(j, 0, sizeof(*j));
	j->cf = *cf;
	dlp_aggregator_defaults(&j->session, cf);
	dlp_aggregator_forget_workers(
	    j, cf->as == DLP_AGGREGATOR_SERVER ? DLP_SETUP : DLP_WAITING);
}

static inline struct dlp_aggregator_member *
dlp_aggregator_find(struct dlp_aggregator_table *t, const union addr *at)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (addr_same(&t->member[i].peer.at, at))
			return &t->member[i];
	}
	return NULL;
}

static inline void
dlp_aggregator_answer(struct dlp_aggregator *j, struct dlp_aggregator_out *out,
    const struct dlp *d,
    const struct dlp_aggregator_peer *to)
{
	out->d = *d;
	out->to[out->n++] = to;
	j->n[DLP_AGGREGATOR_ANSWERS]++;
}

/* Send packet d back, with six parameters, the current state and the step. */
static inline void
dlp_aggregator_echo(struct dlp_aggregator *j, struct dlp_aggregator_out *out,
    const struct dlp *d,
    uint8_t state, const struct dlp_aggregator_peer *to)
{
	struct dlp a = *d;

	a.state = state;
	a.step = j->step;
	a.more = 0;
	if (j->cf.as == DLP_AGGREGATOR_SERVER)
		a.node_count = (uint8_t)(j->state == DLP_SETUP ? j->now.n :
		    j->counted);
	dlp_aggregator_answer(j, out, &a, to);
}

static inline uint32_t
dlp_aggregator_missing_workers(const struct dlp_aggregator *j)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < j->session.nodes; i++) {
		if (i >= j->now.n || (j->state == DLP_LEARNING &&
		    j->now.member[i].order == 0))
			bits |= (uint32_t)1 << i;
	}
	return j->state == DLP_WAITING ? 0 : bits;
}

/*
 * Answer a poll with the state.  A worker of innet also receives the list of
 * missing workers or, if it has no place in the session, the state WAITING.
 */
static inline void
dlp_aggregator_answer_poll(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp *d,
    const struct dlp_aggregator_peer *from)
{
	struct dlp a = *d;
	uint8_t state = j->state;

	j->n[DLP_AGGREGATOR_POLLED]++;
	if (d->state == DLP_POLL && dlp_is_poll(d)) {
		if (dlp_aggregator_find(&j->now, &from->at) == NULL)
			state = DLP_WAITING;
		else
			a.param[DLP_PARAMS - 1] =
			    (int32_t)dlp_aggregator_missing_workers(j);
	}
	dlp_aggregator_echo(j, out, &a, state, from);
}

/* Return the kept aggregate of a step. */
static inline const struct dlp_aggregator_kept *
dlp_aggregator_find_step(const struct dlp_aggregator *j, uint32_t step)
{
	return &j->kept[step % DLP_AGGREGATOR_KEPT];
}

/*
 * Send the result of a step to a worker whose gradient was number `order` in
 * this step.
 */
static inline void
dlp_aggregator_send_result(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, uint32_t step, unsigned order,
    const struct dlp_aggregator_peer *to)
{
	struct dlp a = { .state = DLP_LEARNING, .step = step,
	    .node_count = j->session.nodes,
	    .more = (uint16_t)(j->elements - DLP_PARAMS) };
	const struct dlp_aggregator_kept *k = NULL;

	if (!j->cf.late) {
		k = dlp_aggregator_find_step(j, step);
		a.node_count = k->n;
	} else {
		if (step > 0)
			k = dlp_aggregator_find_step(j, step - 1);
		if (j->cf.as == DLP_AGGREGATOR_SERVER && order > 0)
			a.node_count = (uint8_t)order;
	}
	if (k != NULL)
		memcpy(a.param, k->value, j->elements * sizeof(*a.param));
	dlp_aggregator_answer(j, out, &a, to);
}

static inline void
dlp_aggregator_receive_reset(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp *d,
    const struct dlp_aggregator_peer *from)
{
	j->n[DLP_AGGREGATOR_RESET]++;
	j->session = (struct dlp_session){ 0 };
	dlp_aggregator_defaults(&j->session, &j->cf);
	j->done = false;
	dlp_aggregator_forget_workers(
	    j, j->cf.as == DLP_AGGREGATOR_SERVER ? DLP_SETUP : DLP_WAITING);
	dlp_aggregator_echo(j, out, d, j->state, from);
}

/*
 * Send the current settings.  `step` is the value of the packet's step field:
 * the number of workers, or the index of this worker.
 */
static inline void
dlp_aggregator_send_settings(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, uint8_t state, uint32_t step,
    const struct dlp_aggregator_peer *to)
{
	struct dlp a = { .state = state, .node_count = j->session.nodes,
	    .step = step };

	memcpy(a.param, j->session.param, sizeof(j->session.param));
	dlp_aggregator_answer(j, out, &a, to);
}

/*
 * Open a session with these settings.  A repeated request with the same
 * settings changes nothing before the session starts.
 */
static inline void
dlp_aggregator_receive_configure(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out,
    const struct dlp *d, const struct dlp_aggregator_peer *from)
{
	struct dlp_session s = { .nodes = d->node_count };
	bool bad = d->node_count > DLP_NODES_MAX;

	for (int i = 0; i < DLP_PARAMS; i++) {
		s.param[i] = d->param[i];
		bad |= d->param[i] < 0;
	}
	if (bad) {
		j->n[DLP_AGGREGATOR_REFUSED]++;
		dlp_aggregator_echo(j, out, d, DLP_ERROR, from);
		return;
	}
	j->n[DLP_AGGREGATOR_CONFIGURED]++;
	dlp_aggregator_defaults(&s, &j->cf);
	if (j->state != DLP_SETUP || s.nodes != j->session.nodes ||
	    memcmp(s.param, j->session.param, sizeof(s.param)) != 0) {
		j->session = s;
		dlp_aggregator_forget_workers(j, DLP_SETUP);
	}
	dlp_aggregator_send_settings(j, out, DLP_CONFIGURE, j->now.n, from);
}

/*
 * Assign an index to a worker and send it the index and the settings.  When the
 * last worker has its index, start step 0.
 */
static inline void
dlp_aggregator_receive_setup(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp_aggregator_peer *from)
{
	struct dlp_aggregator_member *m =
	    dlp_aggregator_find(&j->now, &from->at);

	j->n[m == NULL ? DLP_AGGREGATOR_SETUP : DLP_AGGREGATOR_SETUP_AGAIN]++;
	if (m == NULL) {
		m = &j->now.member[j->now.n++];
		*m = (struct dlp_aggregator_member){ .peer = *from };
	}
	dlp_aggregator_send_settings(j, out, DLP_SETUP,
	    (uint32_t)(m - j->now.member), from);
	if (j->state == DLP_SETUP && j->now.n == j->session.nodes) {
		j->state = DLP_LEARNING;
		j->done = false;
		j->elements = 0;
	}
}

/* Compute the aggregate of the gradients that have arrived. */
static inline void
dlp_aggregator_reduce_step(struct dlp_aggregator *j)
{
	struct dlp_aggregator_kept *k =
	    &j->kept[j->step % DLP_AGGREGATOR_KEPT];

	k->n = (uint8_t)j->counted;
	for (uint32_t i = 0; i < j->elements; i++)
		k->value[i] = dlp_saturate(j->cf.median ?
		    dlp_reduce_median2(j->value[i], j->counted) :
		    dlp_reduce_sum(j->value[i], j->counted, j->session.nodes),
		    &j->n[DLP_AGGREGATOR_SATURATED]);
}

/*
 * Store in left_out the bit set of the workers whose gradients are missing from
 * the step.
 */
static inline void
dlp_aggregator_leave_out(struct dlp_aggregator *j)
{
	j->left_out = dlp_aggregator_missing_workers(j);
	if (j->left_out == 0)
		return;
	j->n[DLP_AGGREGATOR_PARTIAL]++;
	for (unsigned i = 0; i < j->now.n; i++) {
		if (j->now.member[i].order > 0)
			continue;
		j->now.member[i].missed++;
		j->now.member[i].done_order = 0;
	}
}

/* Complete the step and send its aggregate to the workers that wait for it. */
static inline void
dlp_aggregator_complete(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out)
{
	dlp_aggregator_reduce_step(j);
	dlp_aggregator_leave_out(j);
	for (unsigned i = 0; i < j->counted; i++) {
		struct dlp_aggregator_member *m = &j->now.member[j->arrived[i]];

		if (!j->cf.late)
			dlp_aggregator_send_result(j, out, j->step, m->order,
			    &m->peer);
		m->done_order = m->order;
		m->order = 0;
	}
	j->n[DLP_AGGREGATOR_STEPS]++;
	j->counted = 0;
	j->done = true;
	j->done_step = j->step++;
	if (j->step == (uint32_t)j->session.param[DLP_ITERATIONS]) {
		j->n[DLP_AGGREGATOR_SESSIONS]++;
		j->state = DLP_WAITING;
		j->step = 0;
	}
}

static inline void
dlp_aggregator_send_wrong_step(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out,
    const struct dlp *d, const struct dlp_aggregator_peer *from)
{
	const struct dlp a = { .state = DLP_WRONG_STEP };

	j->n[DLP_AGGREGATOR_WRONG_STEP]++;
	if (j->cf.as == DLP_AGGREGATOR_SERVER)
		dlp_aggregator_answer(j, out, &a, from);
	else
		dlp_aggregator_echo(j, out, d, DLP_WRONG_STEP, from);
}

/*
 * Answer with ERROR, because a vector does not have the length of the session's
 * vectors.  The answer contains that length.
 */
static inline void
dlp_aggregator_send_mismatch(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp_aggregator_peer *from)
{
	const struct dlp a = { .state = DLP_ERROR, .step = j->step,
	    .node_count = j->session.nodes,
	    .param = { (int32_t)j->elements } };

	j->n[DLP_AGGREGATOR_MISMATCHED]++;
	dlp_aggregator_answer(j, out, &a, from);
}

/* Add a gradient to the step. */
static inline void
dlp_aggregator_add_gradient(struct dlp_aggregator *j, const struct dlp *d,
    struct dlp_aggregator_member *m, uint64_t now_ns)
{
	j->n[DLP_AGGREGATOR_GRADIENTS]++;
	j->began_ns = j->counted == 0 ? now_ns : j->began_ns;
	for (uint32_t i = 0; i < j->elements; i++)
		j->value[i][j->counted] = d->param[i];
	j->arrived[j->counted++] = (uint8_t)(m - j->now.member);
	m->order = (uint8_t)j->counted;
}

static inline void
dlp_aggregator_receive_gradient(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp *d,
    const struct dlp_aggregator_peer *from, uint64_t now_ns)
{
	struct dlp_aggregator_member *m =
	    dlp_aggregator_find(&j->now, &from->at);

	if (m == NULL) {
		j->n[DLP_AGGREGATOR_FOREIGN]++;
		return;
	}
	if (d->step != j->step) {
		dlp_aggregator_send_wrong_step(j, out, d, from);
		return;
	}
	if (j->elements == 0)
		j->elements = dlp_elements(d);
	if (dlp_elements(d) != j->elements) {
		dlp_aggregator_send_mismatch(j, out, from);
		return;
	}
	m->peer = *from;
	if (m->order == 0)
		dlp_aggregator_add_gradient(j, d, m, now_ns);
	else
		j->n[DLP_AGGREGATOR_REPEATED]++;
	if (j->cf.late)
		dlp_aggregator_send_result(j, out, j->step, m->order, &m->peer);
	if (j->counted == j->session.nodes)
		dlp_aggregator_complete(j, out);
}

/* Tell whether this step is finished and its aggregate is kept. */
static inline bool
dlp_aggregator_keeps_step(const struct dlp_aggregator *j, uint32_t step)
{
	return j->done && step <= j->done_step && j->done_step - step <
	    (j->cf.straggler_ns > 0 ? DLP_AGGREGATOR_KEPT - 1 : 1);
}

/*
 * Send the aggregate of a finished step again, because the first answer was
 * lost or because the step was completed without this worker.
 */
static inline bool
dlp_aggregator_repeat_answer(struct dlp_aggregator *j,
    struct dlp_aggregator_out *out, const struct dlp *d,
    const struct dlp_aggregator_peer *from)
{
	const struct dlp_aggregator_member *m;

	if (d->state != DLP_LEARNING || !dlp_aggregator_keeps_step(j, d->step))
		return false;
	m = dlp_aggregator_find(j->state == DLP_SETUP ? &j->before : &j->now,
	    &from->at);
	if (m == NULL)
		return false;
	j->n[DLP_AGGREGATOR_FINISHED]++;
	dlp_aggregator_send_result(j, out, d->step, d->step == j->done_step ?
	    m->done_order : 0, from);
	return true;
}

/*
 * Tell whether this packet repeats a SETUP whose answer was lost, although the
 * last worker has already sent its SETUP.
 */
static inline bool
dlp_aggregator_is_setup_repeat(struct dlp_aggregator *j,
    const struct dlp_aggregator_peer *from)
{
	const struct dlp_aggregator_member *m;

	if (j->state != DLP_LEARNING || j->step != 0)
		return false;
	m = dlp_aggregator_find(&j->now, &from->at);
	return m != NULL && m->order == 0;
}

static inline unsigned
dlp_aggregator_receive(struct dlp_aggregator *j, const uint8_t *p, size_t len,
    const struct dlp_aggregator_peer *from, struct dlp_aggregator_out *out,
    uint64_t now_ns)
{
	struct dlp d;
	const enum dlp_bad bad = dlp_parse(p, len, &d);

	out->n = 0;
	out->d = (struct dlp){ 0 };
	if (bad != DLP_OK) {
		j->n[bad == DLP_SHORT ? DLP_AGGREGATOR_SHORT :
		    DLP_AGGREGATOR_LONG]++;
		return 0;
	}
	if (dlp_aggregator_repeat_answer(j, out, &d, from))
		return out->n;
	if (d.state == DLP_RESET) {
		dlp_aggregator_receive_reset(j, out, &d, from);
	} else if (d.state == DLP_CONFIGURE && j->state != DLP_LEARNING) {
		dlp_aggregator_receive_configure(j, out, &d, from);
	} else if (d.state == DLP_SETUP && (j->state == DLP_SETUP ||
	    dlp_aggregator_is_setup_repeat(j, from))) {
		dlp_aggregator_receive_setup(j, out, from);
	} else if (d.state == DLP_SETUP && j->state == DLP_WAITING &&
	    j->cf.as == DLP_AGGREGATOR_SERVER) {
		/*
		 * In this state the published server does not answer a SETUP.
		 */
		j->n[DLP_AGGREGATOR_NOT_OPEN]++;
	} else if (d.state == DLP_LEARNING && j->state == DLP_LEARNING) {
		dlp_aggregator_receive_gradient(j, out, &d, from, now_ns);
	} else {
		dlp_aggregator_answer_poll(j, out, &d, from);
	}
	return out->n;
}

static inline uint64_t
dlp_aggregator_deadline_ns(const struct dlp_aggregator *j)
{
	return j->cf.straggler_ns == 0 || j->counted == 0 ?
	    DLP_AGGREGATOR_NEVER : j->began_ns + j->cf.straggler_ns;
}

static inline unsigned
dlp_aggregator_run_timer(struct dlp_aggregator *j, uint64_t now_ns,
    struct dlp_aggregator_out *out)
{
	out->n = 0;
	out->d = (struct dlp){ 0 };
	if (dlp_aggregator_deadline_ns(j) > now_ns)
		return 0;
	if (j->cf.median && j->counted < DLP_AGGREGATOR_LEAST) {
		j->n[DLP_AGGREGATOR_TOO_FEW]++;
		j->began_ns = now_ns;
	} else {
		dlp_aggregator_complete(j, out);
	}
	return out->n;
}

#endif
