/*
 * apex-actor.c - play with the learner's parameters and push experiences
 * (Ape-X: Horgan et al., 2018; Furukawa and Matsutani's Algorithm 1)
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/redis-link.h"
#include "cmd/innet-agent/algo/off-policy.h"
#include "cmd/innet-agent/apex/key-names.h"
#include "cmd/innet-agent/report.h"
#include "cmd/innet-agent/apex/params.h"
#include "cmd/innet-agent/apex/realtime.h"
#include "common/base/latency.h"
#include "common/base/message.h"
#include "common/base/vec.h"

enum { PAUSE_NS = 5000000, REWARDS = 64, REWARD_TEXT = 80 };

struct actor {
	const struct conf *cf;
	struct link *link;	/* one link per server; the first server has the
				 * parameters */
	struct names *names;	/* the names of the keys on each server */
	size_t servers, to;	/* number of servers; index of the server for
				 * the next push */
	bool plain;		/* the first server does not support GETV */
	struct learner l;
	struct tally tally;
	struct rows rows;	/* the n experiences to push */
	size_t n;
	float *priority;
	size_t bytes;		/* number of bytes in an experience */
	size_t stride;		/* number of bytes in a priority and an
				 * experience */
	uint8_t *blob;		/* experiences, each preceded by its priority */
	size_t frame;		/* number of bytes in a frame; 0: frames are not
				 * used */
	struct codec_film film;	/* the frames of the experiences */
	/*
	 * Experiences by reference: each consists of two frame indices and a
	 * tail.
	 */
	uint8_t *ref_blob;
	size_t ref_bytes;
	char reward[REWARDS][REWARD_TEXT];	/* lines about episodes that
						 * ended since the last push */
	size_t rewards;
	struct params params;	/* work space for parameters */
	uint64_t version;	/* version of the current parameters */
	bool have;		/* parameters have been received */
	uint64_t fresh_ns;	/* time when the parameters last changed */
	const struct link *failed;	/* the link that was used last */
	bool ended;		/* the learner has ended */
	bool limited;		/* the memory did not accept the last push */
	char waiting[256];	/* error text with the reason */
	uint64_t pushed, pulled, limits;
	struct latency push, pull;
};

static bool
always_ready(void *self)
{
	(void)self;
	return true;
}

static void
keep_experience(void *self, const struct experience *e)
{
	struct actor *a = self;

	rows_put(&a->rows, a->n++, a->cf->env->obs, e);
}

/*
 * Return the probability of a random action, which is chosen as in Ape-X: from
 * 0.4 for the first actor to 0.4^8 for the last.  If actions are continuous,
 * return the size of the noise instead.
 */
static double
exploration_of(const struct conf *cf)
{
	const struct remote *rm = &cf->remote;
	const double place = rm->actors == 1 ? 0.5 :
	    (double)rm->index / (double)(rm->actors - 1);

	if (cf->env->actions != 0)
		return pow(0.4, 1 + 7 * place);
	return cf->hyper.explore * pow(2, 1 - 3 * place);
}

static bool
refuse_reply(struct actor *a, const char *why)
{
	a->link->call.refused = true;
	return respcall_fail(&a->link->call, "%s: %s", a->names->params, why);
}

/* Read the parameters from the body of n bytes that follows. */
static bool
take_params(struct actor *a, size_t n)
{
	bool other;

	if (!params_take(&a->params, &a->link->call, a->names->params, n,
	    &a->l, &other))
		return false;
	other |= !a->have;
	if (other)
		a->fresh_ns = timer_mono_ns();
	a->have = true;
	a->pulled += other;
	return true;
}

static bool
pull_params(struct link *k, void *arg)
{
	struct actor *a = arg;
	struct respcall *c = &k->call;
	const bool plain = a->cf->remote.redis || a->plain;
	const char *what = a->names->params;
	const uint64_t begun = timer_mono_ns();
	uint64_t version = a->version;
	struct respreply r;

	respcall_begin(c, plain ? 2 : 3);
	respcall_word(c, plain ? "GET" : "GETV");
	respcall_word(c, what);
	if (!plain)
		respcall_count(c, a->version);
	respcall_words(c, (const char *[]){ "EXISTS", a->names->end, NULL });
	if (!respcall_send(c, what) || !respcall_next(c, &r, what))
		return false;
	if (r.kind == RESPREPLY_ARRAY && r.n == 2) {
		if (!respcall_want(c, RESPREPLY_INT, &r, what))
			return false;
		version = (uint64_t)r.n;
		if (!respcall_next(c, &r, what))
			return false;
	}
	if (r.kind == RESPREPLY_ERROR && !plain &&
	    strncmp(r.text, "ERR unknown command", 19) == 0) {
		a->plain = true;	/* Redis with the module */
		r.kind = RESPREPLY_NIL;
	}
	if (r.kind == RESPREPLY_ERROR)
		return refuse_reply(a, r.text);
	if (r.kind != RESPREPLY_BULK && r.kind != RESPREPLY_NIL)
		return refuse_reply(a, "an unexpected kind of answer");
	if (r.kind == RESPREPLY_BULK && !take_params(a, (size_t)r.n))
		return false;
	a->version = version;	/* version of complete parameters */
	if (!respcall_want(c, RESPREPLY_INT, &r, a->names->end))
		return false;
	a->ended = r.n != 0;
	latency_add(&a->pull, timer_mono_ns() - begun);
	return true;
}

/* Pull the parameters from the first server. */
static bool
pull_from(struct actor *a)
{
	a->failed = a->link;
	return link_do(a->link, pull_params, a);
}

/*
 * Pull the parameters.  After a reconnection, pull the parameters even if their
 * version is not newer, because the server may have restarted.  Fail if the
 * parameters have not changed for timeout_ns, because then the learner is gone.
 */
static bool
pull_now(struct actor *a)
{
	const uint64_t again = a->link->again, span_ns = a->cf->timeout_ns;
	bool good = pull_from(a);

	if (good && a->link->again != again) {
		a->version = 0;
		good = pull_from(a);
	}
	if (good && a->have && timer_mono_ns() - a->fresh_ns > span_ns)
		return respcall_fail(&a->link->call, "no new parameters for %g "
		    "s; the learner has ended or is not reachable",
		    (double)span_ns * 1e-9);
	return good;
}

/* Wait until a running learner has published its parameters. */
static bool
await_learner(struct actor *a)
{
	const uint64_t span_ns = a->cf->timeout_ns;
	const uint64_t deadline_ns = timer_after(timer_mono_ns(), span_ns);

	for (;;) {
		if (!pull_from(a))
			return false;
		if (a->have && !a->ended) {
			a->fresh_ns = timer_mono_ns();
			return true;
		}
		if (timer_mono_ns() >= deadline_ns)
			return respcall_fail(&a->link->call, "no learner has "
			    "started within %g s; start innet-agent --role "
			    "learner with the same servers",
			    (double)span_ns * 1e-9);
		if (!link_sleep(a->link, PAUSE_NS))
			return false;
	}
}

/* Encode experience i, whose bytes are at p, by reference to frames. */
static void
refer_to_frames(struct actor *a, size_t i, const uint8_t *p)
{
	uint8_t *to = a->ref_blob + i * a->ref_bytes;
	const size_t refs = sizeof(a->film.ref[i]);

	/* this observation can equal the `next` of a recent experience */
	codec_film_add(&a->film, i, p, a->frame, 2 * a->cf->hyper.nstep + 2);
	memcpy(to, a->film.ref[i], refs);
	memcpy(to + refs, p + 2 * a->frame, a->ref_bytes - refs);
}

/*
 * Compute the priorities with the current parameters, and encode all
 * experiences.
 */
static void
encode_batch(struct actor *a)
{
	const size_t most = a->cf->hyper.batch, wide = a->cf->env->obs;
	size_t m;

	for (size_t i = 0; i < a->n; i += m) {
		const struct rows part = {
			a->rows.obs + i * wide, a->rows.next + i * wide,
			a->rows.action + i, a->rows.reward + i, a->rows.go + i,
		};

		m = a->n - i < most ? a->n - i : most;
		a->l.algo->prioritize(&a->l, &part, m, a->priority + i);
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct experience e = rows_get(&a->rows, i, wide);
		uint8_t *to = a->blob + i * a->stride;

		vec_set(to, 0, a->priority[i]);
		codec_put(a->cf->env, &e, to + sizeof(float), a->bytes);
		if (a->frame > 0)
			refer_to_frames(a, i, to + sizeof(float));
	}
}

/*
 * Return whether the push includes rewards, which are sent only to the first
 * server.
 */
static bool
has_rewards(const struct actor *a)
{
	return a->to == 0 && a->rewards > 0;
}

/*
 * Append a PER.ADD request with all experiences.  Large observations are sent
 * as frames.
 */
static void
append_add(struct actor *a, struct respcall *c)
{
	const size_t frames = a->frame > 0 ? a->film.frames : 0;

	respcall_begin(c, 4 + (frames > 0 ? 2 + frames : 0) + 2 * a->n);
	respcall_word(c, "PER.ADD");
	respcall_word(c, a->names[a->to].table);
	respcall_word(c, "timeout");
	respcall_count(c, REMOTE_PATIENCE_MS);
	if (frames > 0) {
		respcall_word(c, "frames");
		respcall_count(c, frames);
	}
	for (size_t i = 0; i < frames; i++)
		respcall_arg(c, a->film.list[i], a->frame);
	for (size_t i = 0; i < a->n; i++) {
		respcall_float(c, a->priority[i]);
		if (frames > 0)
			respcall_arg(c, a->ref_blob + i * a->ref_bytes,
			    a->ref_bytes);
		else
			respcall_arg(c, a->blob + i * a->stride +
			    sizeof(float), a->bytes);
	}
}

static void
append_push(struct actor *a)
{
	const bool redis = a->cf->remote.redis;
	struct respcall *c = &a->link[a->to].call;
	const struct names *names = &a->names[a->to];

	if (redis) {
		respcall_begin(c, 2 + a->n);
		respcall_word(c, "RPUSH");
		respcall_word(c, names->list);
		for (size_t i = 0; i < a->n; i++)
			respcall_arg(c, a->blob + i * a->stride, a->stride);
	} else {
		append_add(a, c);
	}
	if (!has_rewards(a))
		return;
	respcall_begin(c, 2 + a->rewards);
	respcall_word(c, "RPUSH");
	respcall_word(c, names->rewards);
	for (size_t i = 0; i < a->rewards; i++)
		respcall_word(c, a->reward[i]);
}

/* Return whether the error asks for a later push.  Any other error is final. */
static bool
says_wait(const char *text)
{
	static const char *const wait[] = { "LIMIT", "OOM", "ERR no table",
	    "ERR frames: the table has none" /* for now */, NULL };

	for (size_t i = 0; wait[i] != NULL; i++) {
		if (strncmp(text, wait[i], strlen(wait[i])) == 0)
			return true;
	}
	return false;
}

/*
 * Try a push once.  Set a->limited if the memory does not accept the push now.
 */
static bool
push_batch(struct link *k, void *arg)
{
	struct actor *a = arg;
	struct respcall *c = &k->call;
	const uint64_t begun = timer_mono_ns();
	struct respreply r;

	append_push(a);
	if (!respcall_send(c, "a push") || !respcall_next(c, &r, "a push"))
		return false;
	a->limited = r.kind == RESPREPLY_ERROR;
	if (a->limited) {
		snprintf(a->waiting, sizeof(a->waiting), "%s", r.text);
	} else if (r.kind == RESPREPLY_INT &&
	    (uint64_t)r.n > a->cf->hyper.buffer) {	/* accepted, but full */
		snprintf(a->waiting, sizeof(a->waiting), "%" PRId64 " "
		    "experiences are waiting in the list %s", r.n,
		    a->names->list);
		a->limits++;
		link_sleep(k, PAUSE_NS);
	}
	if (a->limited && !says_wait(a->waiting)) {
		c->refused = true;
		return respcall_fail(c, "a push: %s", a->waiting);
	}
	if (!respcall_rest(c, "a push"))
		return false;
	if (!a->limited)
		latency_add(&a->push, timer_mono_ns() - begun);
	if (!has_rewards(a))
		return true;
	if (!respcall_next(c, &r, a->names->rewards))
		return false;
	if (r.kind == RESPREPLY_ERROR && says_wait(r.text))
		return true;	/* send the rewards with the next push */
	a->rewards = 0;
	return r.kind == RESPREPLY_INT || link_refuse(k, a->names->rewards, &r);
}

/*
 * Push all experiences to one server; the servers take turns.  If the memory is
 * full, wait up to timeout_ns.
 */
static bool
push_now(struct actor *a)
{
	const uint64_t span_ns = a->cf->timeout_ns;
	const uint64_t deadline_ns = timer_after(timer_mono_ns(), span_ns);

	if (a->n == 0)
		return true;
	encode_batch(a);
	while (!a->ended) {
		a->failed = &a->link[a->to];
		if (!link_do(&a->link[a->to], push_batch, a))
			return false;
		if (!a->limited) {
			a->pushed += a->n;
			a->n = 0;
			a->to = (a->to + 1) % a->servers;
			return true;
		}
		a->limits++;
		if (timer_mono_ns() >= deadline_ns)
			return respcall_fail(&a->link[a->to].call, "the memory "
			    "did not accept a push within %g s: %s",
			    (double)span_ns * 1e-9,
			    a->waiting);
		if (!link_sleep(a->link, PAUSE_NS) || !pull_now(a))
			return false;
	}
	return true;
}

/* Record the reward of the finished episode for the learner. */
static void
note_reward(struct actor *a)
{
	const struct remote *rm = &a->cf->remote;

	if (a->rewards == REWARDS)
		return;
	snprintf(a->reward[a->rewards++], REWARD_TEXT, "%" PRIu64 " %" PRIu64
	    " %" PRIu64 " %.9g", rm->index, rm->actors, a->tally.steps,
	    tally_mean(&a->tally, 1));
}

/* Play until training is over.  Return false if something failed. */
static bool
run_actor(struct actor *a, struct report *rep)
{
	const struct remote *rm = &a->cf->remote;
	uint64_t episodes = 0, due = rm->pull;

	if (!await_learner(a))
		return false;
	while (!a->ended && !rep->bad && a->l.algo->play(&a->l)) {
		if (a->tally.episodes != episodes) {
			episodes = a->tally.episodes;
			note_reward(a);
			report_progress(rep);
		}
		if (a->n >= rm->push && !push_now(a))
			return false;
		if (a->tally.steps >= due) {
			due += rm->pull;
			if (!pull_now(a))
				return false;
		}
	}
	return *a->tally.stop != 0 || push_now(a);
}

static int
print_more(int fd, void *arg)
{
	struct actor *a = arg;
	uint64_t again = 0;
	int n;

	for (size_t k = 0; k < a->servers; k++)
		again += a->link[k].again;
	n = dprintf(fd, ",\"role\":\"actor\",\"actor\":%" PRIu64
	    ",\"actors\":%" PRIu64 ",\"explore\":%.9g,\"pushed\":%" PRIu64
	    ",\"pulled\":%" PRIu64 ",\"limits\":%" PRIu64 ",\"reconnected\":%"
	    PRIu64 ",\"experience_bytes\":%zu,\"params_bytes\":%zu",
	    a->cf->remote.index, a->cf->remote.actors, a->l.hyper.explore,
	    a->pushed, a->pulled, a->limits, again, a->bytes,
	    a->params.len);

	n = n < 0 ? n : latency_print(fd, "push", &a->push);
	return n < 0 ? n : latency_print(fd, "pull", &a->pull);
}

static void
open_actor(struct actor *a)
{
	const struct conf *cf = a->cf;
	struct hyperparameters hyper = cf->hyper;
	const size_t room = cf->remote.push + hyper.nstep + 1;

	if (cf->remote.realtime)
		realtime_check();
	hyper.explore = exploration_of(cf);
	hyper.explore_steps = 0;
	hyper.horizon = 1;
	learner_open(&a->l, cf->env, cf->algo, &hyper,
	    cf->seed * 65537 + cf->remote.index, NULL, &a->tally);
	offp_use(&a->l,
	    &(struct memory){
		.ready = always_ready, .keep = keep_experience, .self = a});
	a->rows = rows_open(room, cf->env->obs);
	a->priority = allocate(room, sizeof(*a->priority));
	a->bytes = codec_bytes(cf->env, cf->remote.experience_bytes);
	a->stride = sizeof(float) + a->bytes;
	a->blob = allocate(room, a->stride);
	a->frame = cf->remote.redis ? 0 : codec_frame(cf->env);
	if (a->frame > 0) {
		if (room > CODEC_FILM_MOST)
			errx(1, "--push %" PRIu64 " is too large: with %s the "
			    "limit is %d",
			    cf->remote.push, cf->env->name, CODEC_FILM_MOST -
			    (int)hyper.nstep - 1);
		a->film = codec_film_open(room);
		a->ref_bytes = sizeof(*a->film.ref) + a->bytes -
		    2 * a->frame;
		a->ref_blob = allocate(room, a->ref_bytes);
	}
	params_open(&a->params, &a->l, cf->elements);
	a->servers = cf->remote.servers;
	a->to = cf->remote.index % a->servers;
	a->link = allocate(a->servers, sizeof(*a->link));
	a->names = allocate(a->servers, sizeof(*a->names));
	for (size_t k = 0; k < a->servers; k++) {
		link_to(&a->link[k], cf, k, a->params.len, a->tally.stop);
		a->names[k] = names_on(k, a->servers);
	}
}

static void
close_actor(struct actor *a)
{
	for (size_t k = 0; k < a->servers; k++)
		respcall_close(&a->link[k].call);
	free(a->link);
	free(a->names);
	rows_close(&a->rows);
	learner_close(&a->l);
	free(a->priority);
	free(a->blob);
	codec_film_close(&a->film);
	free(a->ref_blob);
	params_close(&a->params);
	free(a);
}

int
apex_actor_run(const struct conf *cf, const volatile sig_atomic_t *got)
{
	struct actor *a = allocate(1, sizeof(*a));
	struct report rep = {
		.tally = &a->tally, .json = cf->json, .quiet = cf->quiet,
		.more = print_more, .more_arg = a,
	};
	int rc = 0;

	a->cf = cf;
	a->tally = (struct tally){ .steps_end = cf->steps,
	    .episodes_end = cf->episodes, .solved = cf->env->solved,
	    .stop = got };
	tally_open(&a->tally, cf->log);
	open_actor(a);
	if (!run_actor(a, &rep) && *got == 0) {
		report_clear(&rep);
		warnx("%s", a->failed->call.why);
		rep.quiet = true;	/* the error must be the last line, so
					 * print no summary */
		rc = 1;
	}
	a->tally.play_ns = (uint64_t)(1e9 * tally_seconds(&a->tally)) -
	    a->push.sum_ns - a->pull.sum_ns;
	report_end(&rep);
	if (rep.bad || tally_close(&a->tally) == -1 || (cf->report != NULL &&
	    report_write(&rep, cf->report, &a->l) == -1))
		rc = 1;
	close_actor(a);
	return rc;
}
