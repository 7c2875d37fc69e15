/*
 * async.c - one worker of an asynchronous job: iSwitch, Algorithm 1
 *
 * The worker has two threads.  The thread in this file is the local gradient
 * computing (LGC) of the paper.  It takes gradients from the child and passes
 * those that are not too stale to the weight update thread
 * (weight-update-thread.h).  Then it starts the child again from the newest
 * weights, without waiting for a result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/timer.h"

#include "cmd/innet-worker/carrier.h"
#include "cmd/innet-worker/weight-update-thread.h"

static const char *const worker_name[ASYNC_WORKER_COUNTS] = {
	"sent", "segments_sent", "resent",
	"probes_sent", "states", "nacks"
};

static const char *const thread_count_name[WEIGHT_THREAD_COUNTS] = {
	"send_failed", "foreign", "malformed", "bad_mac", "bad_proof"
};

struct async {
	const struct worker_conf *cf;
	struct carrier c;
	struct weight_thread l;
	uint64_t mtu;
	uint8_t *w;			/* the child's weights; owned */
	uint64_t seen;	/* version of w, in the count of the weight update
			 * thread */
	int64_t t_w;			/* round of w */
	bool begun, greeted;
	bool pending;	/* the gradient in `body` is not committed yet */
	struct stream_head head;
	const uint8_t *body;	/* a gradient, borrowed from the carrier */
	int64_t round;	/* value of t_s when the thread was last checked */
	uint64_t discarded, stale_max;
	/* number of sent gradients, by staleness */
	uint64_t stale[WORKER_STALENESS_MAX + 1];
};

/* Join the job, once the length of vectors and the first weights are known. */
static void
begin_job(struct async *w, const uint8_t *weights, uint64_t first)
{
	const size_t bytes = 4 * (size_t)w->c.elements;
	enum stream_direction to;

	if (!carrier_direction(&w->c, STREAM_DOWN, &to))
		return;
	w->w = calloc(w->c.elements, 4);
	if (w->w == NULL)
		err(1, "no memory for a vector of %" PRIu32 " elements",
		    w->c.elements);
	if (weights != NULL)
		memcpy(w->w, weights, bytes);
	w->t_w = (int64_t)first;
	w->begun = true;
	weight_thread_start(&w->l, w->cf, &w->c.u, &w->c.out, w->mtu,
	    w->c.elements, w->w, first, to == STREAM_UP);
	w->c.watch = w->l.notify_fd;
}

/* Start the child again from the newest weights. */
static void
give_weights(struct async *w, bool news, int64_t t_s)
{
	const struct stream_head h = { .kind = STREAM_RESULT,
	    .flags = STREAM_MODEL, .contributions = 1,
	    .elements = news ? w->c.elements : 0, .iteration = (uint64_t)t_s,
	    .staleness = (uint32_t)(t_s - w->t_w) };

	w->t_w = t_s;
	w->pending = false;
	if (w->cf->synthetic == 0)
		child_send(&w->c.child, &h, w->w);
}

/*
 * If the weight update thread is ready, commit the pending gradient, or discard
 * it if it is too stale.
 */
static void
settle_gradient(struct async *w)
{
	bool ready, fits, news = false;
	uint64_t stale;
	int64_t t_s;

	weight_thread_lock(&w->l);
	ready = weight_thread_is_ready(&w->l);
	t_s = w->l.w.weights.t_s;
	if (w->cf->synthetic == 0)
		w->t_w = (int64_t)w->head.iteration;
	stale = async_weights_staleness(t_s, w->t_w);
	fits = async_worker_is_fresh(&w->l.w, stale);
	if (ready && fits)
		weight_thread_commit(&w->l, w->body);
	if (ready)
		news = weight_thread_copy_weights(&w->l, w->w, &w->seen);
	weight_thread_unlock(&w->l);
	if (!ready)
		return;
	if (fits)
		w->stale[stale]++;
	else
		w->discarded++;
	if (stale > w->stale_max)
		w->stale_max = stale;
	give_weights(w, news, t_s);
}

/* Read the child's messages, or synthetic gradients. */
static void
read_carrier(struct async *w, uint64_t now_ns)
{
	enum carrier_event e;

	if (w->pending)
		settle_gradient(w);
	while (!w->pending && (e = carrier_next(&w->c, now_ns, &w->head,
	    &w->body)) != CARRIER_NOTHING) {
		if (e == CARRIER_GRADIENT) {
			w->pending = true;
			settle_gradient(w);
		} else if (e == CARRIER_WEIGHTS) {
			begin_job(w, w->body, w->head.iteration);
		} else if (w->cf->synthetic > 0) {
			begin_job(w, NULL, 0);
		}
	}
	w->c.child_paused = w->pending;
}

/* Check the state of the weight update thread. */
static void
check_thread(struct async *w)
{
	const struct membership *in = &w->l.w.in;
	bool over, joined, busy;
	unsigned members;

	weight_thread_clear_notice(&w->l);
	weight_thread_lock(&w->l);
	over = w->l.over;
	joined = in->segs > 0;
	busy = w->l.w.busy;
	members = in->h > in->members ? in->h : in->members;
	w->round = w->l.w.weights.t_s;
	weight_thread_unlock(&w->l);
	if (joined && !w->greeted)
		carrier_send_hello(&w->c, members);
	w->greeted |= joined;
	w->c.done |= over || (w->c.last && !w->pending && !busy);
}

/* Print the summary; takes the lock if the other thread exists. */
static void
print_summary(struct async *w)
{
	enum {
		MOST = 16 + (int)ASYNC_WORKER_COUNTS +
		       (int)WEIGHT_THREAD_COUNTS + (int)ASYNC_WEIGHTS_VERDICTS +
		       WORKER_STALENESS_MAX + 1
	};
	static char bin[WORKER_STALENESS_MAX + 1][24];
	const struct async_worker *m = &w->l.w;
	const struct async_weights *a = &m->weights;
	const char *name[MOST];
	uint64_t n[MOST];
	size_t k = 0;

	name[k] = "gradients";
	n[k++] = w->c.gradients;
	name[k] = "discarded";
	n[k++] = w->discarded;
	name[k] = "most_stale";
	n[k++] = w->stale_max;
	name[k] = "rounds";
	n[k++] = (uint64_t)(a->t_s - a->first);
	for (int i = 0; i < ASYNC_WORKER_COUNTS; i++, k++) {
		name[k] = worker_name[i];
		n[k] = async_worker_count(m, (enum async_worker_count)i);
	}
	for (int i = 0; i < WEIGHT_THREAD_COUNTS; i++, k++) {
		name[k] = thread_count_name[i];
		n[k] = w->l.n[i];
	}
	for (unsigned i = 0; i < ASYNC_WEIGHTS_VERDICTS; i++, k++) {
		name[k] = async_weights_verdict_name(i);
		n[k] = a->n[i];
	}
	name[k] = "round_p50_ns";
	n[k++] = w->begun ? durations_percentile(&w->l.rounds, 50) : 0;
	name[k] = "round_mean_ns";
	n[k++] = durations_mean(&w->l.rounds);
	name[k] = "helps_sent";
	n[k++] = a->helps;
	name[k] = "nonfinite";
	n[k++] = a->nonfinite;
	name[k] = "joins";
	n[k++] = m->in.joins;
	name[k] = "control_ignored";
	n[k++] = m->in.ignored;
	for (uint64_t s = 0; s <= w->cf->staleness; s++, k++) {
		snprintf(bin[s], sizeof(bin[s]), "staleness_%" PRIu64, s);
		name[k] = bin[s];
		n[k] = w->stale[s];
	}
	carrier_summary(&w->c, name, n, k);
}

/* Print a summary if one was requested, and print progress once a second. */
static void
check_second(struct async *w, uint64_t now_ns)
{
	if (carrier_summary_requested(&w->c)) {
		if (w->begun)
			weight_thread_lock(&w->l);
		print_summary(w);
		if (w->begun)
			weight_thread_unlock(&w->l);
	}
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		progress_say("%" PRIu64 " gradients, %" PRIu64
		    " discarded, round %" PRId64, w->c.gradients,
		    w->discarded, w->round);
}

/* Run until the worker is done. */
static void
run_loop(struct async *w)
{
	uint64_t now = timer_mono_ns();

	while (!carrier_is_over(&w->c, now)) {
		carrier_wait(&w->c, now, TIMER_SECOND_NS / 20);
		now = timer_mono_ns();
		if (w->begun)
			check_thread(w);
		read_carrier(w, now);
		now = timer_mono_ns();
		if (!w->c.done)
			carrier_awaits_child(&w->c, now);
		check_second(w, now);
	}
}

int
async_run(const struct worker_conf *cf)
{
	struct async *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	carrier_open(&w->c, cf, worker_tos(cf), &w->mtu);
	udpio_limit_send_buffer(&w->c.u);
	w->c.socket_in_thread = true;
	w->c.spin = spin_for(0);	/* the thread polls for packets */
	run_loop(w);
	if (w->begun && !weight_thread_stop(&w->l))
		carrier_fail(&w->c);
	rc = carrier_close(&w->c);
	if (w->c.gradients == 0)
		rc = carrier_sent_nothing(&w->c, "");
	if (carrier_wants_summary(cf, rc))
		print_summary(w);
	if (w->begun) {
		async_worker_free(&w->l.w);
		durations_free(&w->l.rounds);
	}
	free(w->w);
	free(w);
	return rc;
}
