/* feed - a learner's batches, from a memory elsewhere */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/sampler.h"
#include "cmd/innet-agent/learner.h"
#include "common/net/timer.h"

enum {
	PAUSE_NS = 5000000, LOOK_NS = 20000000,
	ASK_BYTES = 32 << 10	/* a batch that waits in a socket */
};

const char *
feed_row(struct feed *f, size_t at, size_t len, struct rows *rows, size_t i)
{
	return codec_get(f->cf->env, f->blob + at, len < at ? 0 : len - at,
	    f->bytes, rows, i);
}

/* The thread's own: it is to end. */
static _Thread_local volatile sig_atomic_t woken;

static bool
stopped(const struct feed *f)
{
	return *f->shard->link.call.stop != 0;
}

/*
 * Fill the batch, and before that say what priorities it has, if judged.
 * False when it is over or has failed: the reason is in f->lost->call.why.
 */
static bool
fill(struct feed *f, struct batch *b, bool judged)
{
	const uint64_t span_ns = f->cf->timeout_ns;
	const uint64_t deadline_ns = timer_after(timer_mono_ns(), span_ns);
	enum feed_result rc;

	while (!stopped(f)) {
		rc = f->cf->remote.redis ? feed_list(f, b, judged) :
		    feed_table(f, b, judged);
		judged = false;
		if (rc == FEED_LOST)
			return false;
		if (rc == FEED_DRAWN) {
			f->draws += f->cf->remote.batches;
			return true;
		}
		if (timer_mono_ns() >= deadline_ns) {
			f->lost = f->idle;
			return respcall_fail(&f->idle->call, "nothing to learn "
			    "from for %g s: %s", (double)span_ns * 1e-9,
			    f->waiting);
		}
		link_sleep(&f->shard->link, PAUSE_NS);
	}
	return false;
}

/* Wait a moment for the other one to move; the lock is held. */
static void
look(struct feed *f)
{
	struct timespec ts = timer_spec(timer_mono_ns() + LOOK_NS);

	pthread_cond_timedwait(&f->moved, &f->lock, &ts);
}

static void
moved(struct feed *f, enum feed_state *state, enum feed_state to)
{
	pthread_mutex_lock(&f->lock);
	*state = to;
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
}

static void *
run(void *arg)
{
	struct feed *f = arg;
	bool good = true;

	for (size_t k = 0; k < f->shards; k++)
		f->shard[k].link.call.stop = &woken;
	for (size_t i = 0; good && !stopped(f); i = 1 - i) {
		enum feed_state was;

		pthread_mutex_lock(&f->lock);
		while (!stopped(f) && (f->state[i] == FEED_READY ||
		    f->state[i] == FEED_TAKEN))
			look(f);
		was = f->state[i];
		pthread_mutex_unlock(&f->lock);
		good = fill(f, &f->batch[i], was == FEED_JUDGED);
		if (good)
			moved(f, &f->state[i], FEED_READY);
	}
	pthread_mutex_lock(&f->lock);
	f->failed = !good;
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* The learner's: wait for the batch whose turn it is. */
static bool
await(struct feed *f)
{
	bool good;

	pthread_mutex_lock(&f->lock);
	while (f->state[f->turn] != FEED_READY && !f->failed && *f->got == 0)
		look(f);
	good = f->state[f->turn] == FEED_READY;
	if (good)
		f->state[f->turn] = FEED_TAKEN;
	pthread_mutex_unlock(&f->lock);
	return good;
}

/* The batch of b whose turn it is. */
static struct batch *
deal(struct feed *f, const struct batch *b)
{
	const size_t at = f->part * f->cf->set.batch;
	const struct rows *r = &b->rows;

	f->dealt = (struct batch){
		.rows = { r->obs + at * f->cf->env->obs,
		    r->next + at * f->cf->env->obs, r->action + at,
		    r->reward + at, r->go + at },
		.weight = b->weight + at,
		.priority = b->priority + at,
		.id = b->id + at,
	};
	return &f->dealt;
}

static struct batch *
draw(void *self)
{
	struct feed *f = self;
	bool good = true;

	if (f->part > 0) {
		good = *f->got == 0;
	} else if (f->how == FEED_THREAD) {
		good = await(f);
	} else {
		good = fill(f, &f->batch[f->turn],
		    f->state[f->turn] == FEED_JUDGED);
		f->failed = !good;
	}
	return good ? deal(f, &f->batch[f->turn]) : NULL;
}

static void
judge(void *self, struct batch *b)
{
	struct feed *f = self;

	(void)b;	/* whose priorities stand in what it was dealt from */
	f->part = (f->part + 1) % f->cf->remote.batches;
	if (f->part > 0)
		return;
	moved(f, &f->state[f->turn], FEED_JUDGED);
	if (f->how == FEED_ASK)
		feed_ask(f, &f->batch[f->turn]);
	if (f->how != FEED_WAIT)
		f->turn = 1 - f->turn;
}

struct memory
feed_memory(struct feed *f)
{
	return (struct memory){ .draw = draw, .judge = judge, .self = f };
}

static void
wake(int sig)
{
	(void)sig;
	woken = 1;
}

/* The thread leaves signals to the learner, but for the one that wakes it. */
static void
launch(struct feed *f)
{
	const struct sigaction sa = { .sa_handler = wake };
	sigset_t all, before;

	sigaction(SIGUSR1, &sa, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno != 0)
		err(1, "a thread to draw with");
}

/* Servers and what stands in rounds, for so long a batch. */
static void
open_shards(struct feed *f)
{
	const struct remote *rm = &f->cf->remote;
	const size_t n = f->many;

	f->shards = rm->servers;
	f->shard = learner_room(f->shards, sizeof(*f->shard));
	f->idle = &f->shard->link;
	for (size_t k = 0; k < f->shards; k++) {
		/* a thread has another `stop` */
		link_to(&f->shard[k].link, f->cf, k, f->bytes * (rm->redis ?
		    FEED_FETCH_MOST : n), f->got);
		f->shard[k].names = names_on(k, f->shards);
	}
	f->ids = learner_room(n, sizeof(*f->ids));
	f->numbers = learner_room(n, sizeof(*f->numbers));
	f->chance = learner_room(n, sizeof(*f->chance));
	f->told_ids = learner_room(n, sizeof(*f->told_ids));
	f->told_numbers = learner_room(n, sizeof(*f->told_numbers));
}

void
feed_open(struct feed *f)
{
	const struct settings *set = &f->cf->set;
	const size_t wide = f->cf->env->obs;
	pthread_condattr_t attr;

	f->bytes = codec_bytes(f->cf->env, f->cf->remote.experience_bytes);
	f->many = set->batch * f->cf->remote.batches;
	f->blob = learner_room(1, f->bytes + sizeof(float));
	for (int i = 0; i < 2; i++)
		f->batch[i] = batch_open(f->many, wide);
	f->rng = rng_seed(f->cf->seed);
	if (f->cf->remote.redis) {
		f->one = rows_open(1, wide);
		f->replay = replay_open(set->buffer, wide, set->batch,
		    set->by_priority ? set->alpha : -1);
	}
	open_shards(f);
	f->how = !f->cf->remote.prefetch ? FEED_WAIT :
	    f->cf->remote.redis || f->cf->remote.batches > 1 ||
	    f->many * f->bytes > ASK_BYTES ?
	    FEED_THREAD : FEED_ASK;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->moved, &attr);
	pthread_condattr_destroy(&attr);
}

void
feed_begin(struct feed *f)
{
	if (f->how == FEED_THREAD)
		launch(f);
}

void
feed_end(struct feed *f)
{
	struct timespec ts;

	if (f->how != FEED_THREAD)
		return;
	do {	/* a signal that comes just before a wait does not end it */
		pthread_kill(f->thread, SIGUSR1);
		ts = timer_spec(timer_wall_ns() + 10000000);
	} while (pthread_timedjoin_np(f->thread, NULL, &ts) == ETIMEDOUT);
}

void
feed_close(struct feed *f)
{
	for (size_t k = 0; k < f->shards; k++)
		respcall_close(&f->shard[k].link.call);
	free(f->shard);
	for (int i = 0; i < 2; i++)
		batch_close(&f->batch[i]);
	if (f->cf->remote.redis) {
		rows_close(&f->one);
		replay_close(&f->replay);
	}
	free(f->blob);
	free(f->ids);
	free(f->numbers);
	free(f->chance);
	free(f->told_ids);
	free(f->told_numbers);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->moved);
}
