/* sampler.c - keep two batches from a remote replay memory ready */
#include "config.h"

#include <stdlib.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/sampler-table.h"
#include "cmd/innet-agent/apex/sampler.h"
#include "common/base/message.h"
#include "common/base/vec.h"
#include "common/net/timer.h"

enum {
	SAMPLER_FETCH_MAX = 4096,	/* maximum number of items per fetch of
					 * a list */
	PAUSE_NS = 5000000,	/* time between two attempts to draw */
	LOOK_NS = 20000000,	/* time between two checks of the stop flag */
	FETCH_NS = 5000000,	/* time between two reads of a list */
	PIPELINE_BYTES = 32 << 10	/* number of bytes that fit in a socket
					 * buffer */
};

/* A signal handler sets this in the thread to make the thread end. */
static _Thread_local volatile sig_atomic_t woken;

static bool
is_stopped(const struct sampler *sm)
{
	return *sm->shard->link.call.stop != 0;
}

/*
 * Read the body of a list item, and store the experience in the local replay
 * buffer.
 */
static bool
read_item(struct sampler *sm, const struct respreply *r)
{
	const size_t most = sm->bytes + sizeof(float);
	const size_t len = r->kind == RESPREPLY_BULK ? (size_t)r->n : 0;
	struct experience e;
	const char *why;
	float priority;

	if (len <= most && !respcall_body(&sm->shard->link.call, sm->blob, len,
	    "LPOP"))
		return false;
	why = sampler_decode(sm, sizeof(float), len, &sm->one, 0);
	priority = why == NULL ? vec_get(sm->blob, 0) : 0;
	if (why == NULL && !(priorities_valid(priority) && priority > 0))
		why = "a priority that is not valid";
	if (why != NULL) {
		sm->why_bad = why;
		sm->bad++;
		return true;
	}
	e = rows_get(&sm->one, 0, sm->cf->env->obs);
	local_replay_add(&sm->replay, &e, priority);
	return true;
}

/*
 * Take up to SAMPLER_FETCH_MAX items from the list with one command.  (MULTI is
 * of no use, because a server without free memory does not queue commands, not
 * even those that would free memory.)
 */
static bool
fetch_list(struct link *k, void *arg)
{
	struct sampler *sm = arg;
	struct respcall *c = &k->call;
	struct respreply r;

	respcall_begin(c, 3);
	respcall_word(c, "LPOP");
	respcall_word(c, sm->shard->names.list);
	respcall_count(c, SAMPLER_FETCH_MAX);
	if (!respcall_send(c, "LPOP") || !respcall_next(c, &r, "LPOP"))
		return false;
	if (r.kind == RESPREPLY_NIL)
		return true;
	if (r.kind != RESPREPLY_ARRAY)
		return link_refuse(k, "LPOP", &r);
	for (int64_t i = 0, n = r.n; i < n; i++) {
		if (!respcall_next(c, &r, "LPOP") || !read_item(sm, &r))
			return false;
	}
	return respcall_rest(c, "LPOP");
}

/*
 * Draw from a list on a plain Redis.  The list is a queue, as in the baseline
 * of Furukawa and Matsutani.  From time to time, the learner moves the
 * experiences that actors have appended into its own replay buffer, and draws
 * from this buffer.
 */
static enum sampler_result
draw_from_list(struct sampler *sm, struct batch *b, bool prioritized)
{
	const struct hyperparameters *hyper = &sm->cf->hyper;
	uint64_t begun = timer_mono_ns();

	if (prioritized)
		local_replay_set_priorities(&sm->replay, b, hyper->batch);
	if (begun - sm->fetched_ns >= FETCH_NS) {
		sm->lost = &sm->shard->link;
		if (!link_do(&sm->shard->link, fetch_list, sm))
			return SAMPLER_LOST;
		latency_add(&sm->fetch, timer_mono_ns() - begun);
		sm->fetched_ns = begun = timer_mono_ns();
	}
	if (local_replay_have(&sm->replay) < hyper->warmup) {
		snprintf(sm->waiting, sizeof(sm->waiting), "the memory has %zu "
		    "experiences and needs %" PRIu64,
		    local_replay_have(&sm->replay), hyper->warmup);
		return SAMPLER_NOT_YET;
	}
	local_replay_draw(&sm->replay, &sm->rng, hyper->batch,
	    offp_beta(hyper, sm->draws), b);
	latency_add(&sm->exchange, timer_mono_ns() - begun);
	return SAMPLER_DRAWN;
}

/*
 * Fill the batch b.  If `prioritized` is set, first return the priorities in b
 * to the memory.  Return false if training is over, or on failure.  After a
 * failure, sm->lost->call.why has the reason.
 */
static bool
fill_batch(struct sampler *sm, struct batch *b, bool prioritized)
{
	const uint64_t span_ns = sm->cf->timeout_ns;
	const uint64_t deadline_ns = timer_after(timer_mono_ns(), span_ns);
	enum sampler_result rc;

	while (!is_stopped(sm)) {
		rc = sm->cf->remote.redis ? draw_from_list(sm, b, prioritized) :
		    sampler_table_draw(sm, b, prioritized);
		prioritized = false;
		if (rc == SAMPLER_LOST)
			return false;
		if (rc == SAMPLER_DRAWN) {
			sm->draws += sm->cf->remote.batches;
			return true;
		}
		if (timer_mono_ns() >= deadline_ns) {
			sm->lost = sm->idle;
			return respcall_fail(&sm->idle->call,
			    "no experiences to learn from for %g s: %s",
			    (double)span_ns * 1e-9, sm->waiting);
		}
		link_sleep(&sm->shard->link, PAUSE_NS);
	}
	return false;
}

/*
 * Wait up to LOOK_NS for a change of the shared state.  The caller holds the
 * lock.
 */
static void
wait_briefly(struct sampler *sm)
{
	struct timespec ts = timer_to_timespec(timer_mono_ns() + LOOK_NS);

	pthread_cond_timedwait(&sm->changed, &sm->lock, &ts);
}

static void
set_state(struct sampler *sm, enum sampler_state *state, enum sampler_state to)
{
	pthread_mutex_lock(&sm->lock);
	*state = to;
	pthread_cond_broadcast(&sm->changed);
	pthread_mutex_unlock(&sm->lock);
}

/* Run the thread, which keeps both batches full. */
static void *
run_thread(void *arg)
{
	struct sampler *sm = arg;
	bool good = true;

	for (size_t k = 0; k < sm->shards; k++)
		sm->shard[k].link.call.stop = &woken;
	for (size_t i = 0; good && !is_stopped(sm); i = 1 - i) {
		enum sampler_state was;

		pthread_mutex_lock(&sm->lock);
		while (!is_stopped(sm) && (sm->state[i] == SAMPLER_READY ||
		    sm->state[i] == SAMPLER_TAKEN))
			wait_briefly(sm);
		was = sm->state[i];
		pthread_mutex_unlock(&sm->lock);
		good =
		    fill_batch(sm, &sm->batch[i], was == SAMPLER_PRIORITIZED);
		if (good)
			set_state(sm, &sm->state[i], SAMPLER_READY);
	}
	pthread_mutex_lock(&sm->lock);
	sm->failed = !good;
	pthread_cond_broadcast(&sm->changed);
	pthread_mutex_unlock(&sm->lock);
	return NULL;
}

/* Make the learner wait until the batch sm->turn is ready. */
static bool
await_batch(struct sampler *sm)
{
	bool good;

	pthread_mutex_lock(&sm->lock);
	while (sm->state[sm->turn] != SAMPLER_READY && !sm->failed &&
	       *sm->stop == 0)
		wait_briefly(sm);
	good = sm->state[sm->turn] == SAMPLER_READY;
	if (good)
		sm->state[sm->turn] = SAMPLER_TAKEN;
	pthread_mutex_unlock(&sm->lock);
	return good;
}

/* Return the part of b that the learner uses next. */
static struct batch *
deal_batch(struct sampler *sm, const struct batch *b)
{
	const size_t at = sm->part * sm->cf->hyper.batch;
	const struct rows *r = &b->rows;

	sm->dealt = (struct batch){
		.rows = { r->obs + at * sm->cf->env->obs,
		    r->next + at * sm->cf->env->obs, r->action + at,
		    r->reward + at, r->go + at },
		.weight = b->weight + at,
		.priority = b->priority + at,
		.id = b->id + at,
	};
	return &sm->dealt;
}

static struct batch *
draw_batch(void *self)
{
	struct sampler *sm = self;
	bool good = true;

	if (sm->part > 0) {
		good = *sm->stop == 0;
	} else if (sm->mode == SAMPLER_THREADED) {
		good = await_batch(sm);
	} else {
		good = fill_batch(sm, &sm->batch[sm->turn],
		    sm->state[sm->turn] == SAMPLER_PRIORITIZED);
		sm->failed = !good;
	}
	return good ? deal_batch(sm, &sm->batch[sm->turn]) : NULL;
}

static void
return_priorities(void *self, struct batch *b)
{
	struct sampler *sm = self;

	(void)b;	/* the priorities of b are in sm->batch already */
	sm->part = (sm->part + 1) % sm->cf->remote.batches;
	if (sm->part > 0)
		return;
	set_state(sm, &sm->state[sm->turn], SAMPLER_PRIORITIZED);
	if (sm->mode == SAMPLER_PIPELINED)
		sampler_table_request(sm, &sm->batch[sm->turn]);
	if (sm->mode != SAMPLER_BLOCKING)
		sm->turn = 1 - sm->turn;
}

struct memory
sampler_memory(struct sampler *sm)
{
	return (struct memory){.draw = draw_batch,
	    .set_priorities = return_priorities,
	    .self = sm};
}

static void
wake_thread(int sig)
{
	(void)sig;
	woken = 1;
}

/* Start the thread, with all signals blocked except the one that wakes it. */
static void
start_thread(struct sampler *sm)
{
	const struct sigaction sa = { .sa_handler = wake_thread };
	sigset_t all, before;

	sigaction(SIGUSR1, &sa, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&sm->thread, NULL, run_thread, sm);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno != 0)
		err(1, "cannot start the thread that draws experiences");
}

/* Open the shards and the work space for sm->rows experiences. */
static void
open_shards(struct sampler *sm)
{
	const struct remote *rm = &sm->cf->remote;
	const size_t n = sm->rows;

	sm->shards = rm->servers;
	sm->shard = allocate(sm->shards, sizeof(*sm->shard));
	sm->idle = &sm->shard->link;
	for (size_t k = 0; k < sm->shards; k++) {
		/* run_thread() sets another `stop` */
		link_to(&sm->shard[k].link, sm->cf, k, sm->bytes * (rm->redis ?
		    SAMPLER_FETCH_MAX : n), sm->stop);
		sm->shard[k].names = names_on(k, sm->shards);
	}
	sm->ids = allocate(n, sizeof(*sm->ids));
	sm->values = allocate(n, sizeof(*sm->values));
	sm->chance = allocate(n, sizeof(*sm->chance));
	sm->priority_ids = allocate(n, sizeof(*sm->priority_ids));
	sm->priority_values = allocate(n, sizeof(*sm->priority_values));
}

void
sampler_open(struct sampler *sm)
{
	const struct hyperparameters *hyper = &sm->cf->hyper;
	const size_t wide = sm->cf->env->obs;
	pthread_condattr_t attr;

	sm->bytes = codec_bytes(sm->cf->env, sm->cf->remote.experience_bytes);
	sm->rows = hyper->batch * sm->cf->remote.batches;
	sm->blob = allocate(1, sm->bytes + sizeof(float));
	for (int i = 0; i < 2; i++)
		sm->batch[i] = batch_open(sm->rows, wide);
	sm->rng = rng_seed(sm->cf->seed);
	if (sm->cf->remote.redis) {
		sm->one = rows_open(1, wide);
		sm->replay = local_replay_open(hyper->buffer, wide,
		    hyper->batch, hyper->by_priority ? hyper->alpha : -1);
	}
	open_shards(sm);
	sm->mode = !sm->cf->remote.prefetch ? SAMPLER_BLOCKING :
	    sm->cf->remote.redis || sm->cf->remote.batches > 1 ||
	    sm->rows * sm->bytes > PIPELINE_BYTES ?
	    SAMPLER_THREADED : SAMPLER_PIPELINED;
	pthread_mutex_init(&sm->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sm->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void
sampler_start(struct sampler *sm)
{
	if (sm->mode == SAMPLER_THREADED)
		start_thread(sm);
}

void
sampler_stop(struct sampler *sm)
{
	struct timespec ts;

	if (sm->mode != SAMPLER_THREADED)
		return;
	/*
	 * repeat the signal, because the thread may miss one that arrives just
	 * before a wait
	 */
	do {
		pthread_kill(sm->thread, SIGUSR1);
		ts = timer_to_timespec(timer_wall_ns() + 10000000);
	} while (pthread_timedjoin_np(sm->thread, NULL, &ts) == ETIMEDOUT);
}

void
sampler_close(struct sampler *sm)
{
	for (size_t k = 0; k < sm->shards; k++)
		respcall_close(&sm->shard[k].link.call);
	free(sm->shard);
	for (int i = 0; i < 2; i++)
		batch_close(&sm->batch[i]);
	if (sm->cf->remote.redis) {
		rows_close(&sm->one);
		local_replay_close(&sm->replay);
	}
	free(sm->blob);
	free(sm->ids);
	free(sm->values);
	free(sm->chance);
	free(sm->priority_ids);
	free(sm->priority_values);
	pthread_mutex_destroy(&sm->lock);
	pthread_cond_destroy(&sm->changed);
}
