/* dlp-sessions.c - find the sessions of program dlp; a step is an iteration */
#include "cmd/innet-aom/timing/dlp-sessions.h"

#include <stdlib.h>

#include "cmd/innet-aom/timing/iterations.h"
#include "common/base/message.h"
#include "common/wire/dlp.h"

enum { ALIKE_MAX = 8 };		/* maximum number of addresses with one hash */

static bool
is_aggregator(const struct sessions *s, uint16_t port)
{
	return s->port != 0 ? port == s->port : port == DLP_SWITCH_PORT ||
	    port == DLP_SERVER_PORT;
}

bool
sessions_claim(const void *sessions, uint8_t tos, uint16_t sport,
    uint16_t dport)
{
	(void)tos;
	return is_aggregator(sessions, sport) ||
	    is_aggregator(sessions, dport);
}

static struct session *
get_session(struct sessions *s, const union addr *at, uint32_t *number)
{
	uint64_t key = addr_key(at, &hashmap_constant);
	const uint32_t *have;
	struct session *x;
	uint32_t *place;
	int alike = 0;

	while ((have = hashmap_get(&s->at, key)) != NULL) {
		*number = *have;
		if (addr_same(&s->session[*have]->job.at, at))
			return s->session[*have];
		if (++alike == ALIKE_MAX)
			return NULL;
		key += (uint64_t)1 << 48;
	}
	if (s->n == SESSIONS_MAX)
		return NULL;
	if (s->session == NULL)
		s->session = calloc(SESSIONS_MAX, sizeof(*s->session));
	x = calloc(1, sizeof(*x));
	place = hashmap_put(&s->at, key, s->n);
	if (s->session == NULL || x == NULL || place == NULL)
		err(1, "no memory for %u sessions", s->n);
	job_init(&x->job, &s->context, at, -1);
	x->job.mode = JOB_SYNC;
	x->job.segs = 1;
	x->late = s->late;
	*number = s->n;
	s->session[s->n++] = x;
	return x;
}

/*
 * Return the worker at this address.  If there is no such worker and `wanted`
 * is true, create it.  Return NULL if there is no such worker, or if there are
 * too many workers.
 */
static struct session_worker *
get_worker(struct sessions *s, uint32_t number, const union addr *at,
    bool wanted)
{
	struct job *j = &s->session[number]->job;
	uint64_t key = addr_key(at, &hashmap_constant) * 0x9e3779b97f4a7c15 +
	    number;
	const uint32_t *have;
	uint32_t *place;
	int alike = 0;
	int32_t m;

	while ((have = hashmap_get(&s->worker_at, key)) != NULL) {
		struct session_worker *w = &s->worker[*have];

		if (w->session == number &&
		    addr_same(&j->member[w->member].at, at))
			return w;
		alike++;
		key++;
		if (alike == ALIKE_MAX)
			break;
	}
	if (!wanted)
		return NULL;
	m = alike == ALIKE_MAX || s->workers == SESSIONS_WORKERS_MAX ? -1 :
	    job_add_member(j, at);
	s->too_many += m < 0;
	if (m < 0)
		return NULL;
	if (s->workers == s->room) {
		s->room = s->room == 0 ? 16 : 2 * s->room;
		s->worker = realloc(s->worker, s->room * sizeof(*s->worker));
	}
	place = hashmap_put(&s->worker_at, key, s->workers);
	if (s->worker == NULL || place == NULL)
		err(1, "no memory for %u workers", s->workers);
	s->worker[s->workers] = (struct session_worker){ .session = number,
	    .member = (uint32_t)m };
	return &s->worker[s->workers++];
}

/*
 * Return whether an answer assigns a place to a worker.  The echo of a request
 * contains no settings and does not assign a place.
 */
static bool
is_place(const struct dlp *d)
{
	return d->state == DLP_SETUP && d->param[DLP_SCALE] > 0 &&
	    d->step < DLP_NODES_MAX && d->node_count <= DLP_NODES_MAX;
}

static bool
is_zero(const struct dlp *d)
{
	for (uint32_t i = 0; i < dlp_elements(d); i++)
		if (d->param[i] != 0)
			return false;
	return true;
}

/* End the session, because the aggregator's next session begins. */
static void
restart_session(struct sessions *s, struct session *x)
{
	struct job *j = &x->job;

	if (!j->begun)
		return;
	iterations_end(j, &s->context);
	j->begun = x->answered = false;
	j->restarts++;
	for (uint32_t m = 0; m < j->members; m++)
		j->member[m].has_done = false;
}

static void
receive_gradient(struct sessions *s, struct session *x,
    struct session_worker *w, const struct dlp *d, struct job_segment *g)
{
	struct job *j = &x->job;
	const bool again = w->sent && w->step == d->step;

	/* a repeated step 0 means that a new session has begun */
	if (d->step == 0 && j->begun && j->newest > 1)
		restart_session(s, x);
	if (!again)
		*w = (struct session_worker){ .session = w->session,
		    .member = w->member, .sent = true, .step = d->step,
		    .zero = is_zero(d), .file = g->file, .out = !x->late &&
		    x->answered && x->step - d->step < UINT32_MAX / 2 };
	if (again && w->refused && w->file == g->file) {
		job_count_at(j, (int32_t)w->member, d->step, JOB_RETRIES);
		w->refused = false;
	} else if (w->out) {
		job_count_at(j, (int32_t)w->member, d->step, again ?
		    JOB_RETRANSMITTED : JOB_LATE);
	} else {
		iterations_add_segment(j, &s->context, w->member, g);
	}
}

/*
 * Handle a packet in state LEARNING that is sent to a worker: an aggregate, or
 * an echo.
 */
static void
receive_aggregate(struct sessions *s, struct session *x,
    struct session_worker *w, const struct dlp *d, struct job_segment *g)
{
	struct job *j = &x->job;

	if (dlp_is_poll(d) || !w->sent || w->step != d->step)
		return;		/* this packet is probably the echo of a poll */
	if (d->step == 0 && !w->zero && is_zero(d))
		x->late = true;
	if (!x->answered || d->step - x->step < UINT32_MAX / 2)
		x->step = d->step;
	x->answered = true;
	if (w->out) {
		job_count(j, (int32_t)w->member, JOB_RESENT, 1);
		return;
	}
	if (!x->late)
		g->vectors = d->node_count;
	if (!x->late && d->node_count > j->expected)
		j->expected = d->node_count;
	iterations_add_segment(j, &s->context, w->member, g);
}

static void
receive_request(struct sessions *s, struct session *x, struct session_worker *w,
    const struct dlp *d, struct job_segment *g)
{
	switch (d->state) {
	case DLP_LEARNING:
		if (w != NULL)
			receive_gradient(s, x, w, d, g);
		break;
	case DLP_RESET:
	case DLP_CONFIGURE: restart_session(s, x); break;
	case DLP_SETUP: break;
	default:
		job_count_at(&x->job, w == NULL ? -1 : (int32_t)w->member,
		    x->job.newest, JOB_POLLS);
	}
}

static void
receive_answer(struct sessions *s, struct session *x, struct session_worker *w,
    const struct dlp *d, struct job_segment *g)
{
	struct job *j = &x->job;

	switch (d->state) {
	case DLP_LEARNING: receive_aggregate(s, x, w, d, g); break;
	case DLP_SETUP:
		if (is_place(d)) {
			j->member[w->member].worker = d->step;
			j->expected = d->node_count;
		}
		break;
	case DLP_WRONG_STEP:
		job_count_at(j, (int32_t)w->member, w->step, JOB_WRONG_STEP);
		w->refused = true;
		break;
	default: break;
	}
}

void
sessions_receive(struct sessions *s, const struct packet *p)
{
	const bool down = is_aggregator(s, addr_port(&p->from)) &&
	    !is_aggregator(s, addr_port(&p->to));
	struct job_segment g = { .stamp_ns = p->stamp_ns, .file = p->file,
	    .down = down };
	struct session_worker *w;
	struct session *x;
	uint32_t number;
	struct dlp d;

	if (dlp_parse_cut(p->payload, p->have, p->bytes, &d) != DLP_OK) {
		s->bad++;
		return;
	}
	x = get_session(s, down ? &p->from : &p->to, &number);
	if (x == NULL) {
		s->too_many++;
		return;
	}
	w = get_worker(s, number, down ? &p->to : &p->from, down ?
	    is_place(&d) : d.state == DLP_LEARNING);
	job_count(&x->job, w == NULL ? -1 : (int32_t)w->member, down ?
	    JOB_BYTES_DOWN : JOB_BYTES_UP, p->wire_bytes);
	g.iteration = d.step;
	if (!down)
		receive_request(s, x, w, &d, &g);
	else if (w != NULL)
		receive_answer(s, x, w, &d, &g);
}

void
sessions_end(struct sessions *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		iterations_end(&s->session[i]->job, &s->context);
}

void
sessions_free(struct sessions *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		job_free(&s->session[i]->job);
		free(s->session[i]);
	}
	free(s->session);
	free(s->worker);
	hashmap_free(&s->at);
	hashmap_free(&s->worker_at);
}
