/*
 * apex - a learner of what actors elsewhere have played (Ape-X: Horgan et al.,
 * 2018; Furukawa and Matsutani's Algorithm 2)
 */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/feed.h"
#include "cmd/innet-agent/optim.h"
#include "cmd/innet-agent/remote.h"
#include "cmd/innet-agent/report.h"
#include "cmd/innet-agent/saved.h"

enum { LOOK_NS = 50000000, ACTORS_MAX = 4096, LINE_BYTES = 128 };

#define END_NS 5000000000	/* longest for the last words */

struct apex {
	const struct conf *cf;
	struct link link;
	struct feed feed;
	struct learner l;
	struct optim optim;
	struct tally tally;
	struct report rep;
	uint8_t *policy;	/* what actors pull: the policy as saved */
	size_t head_bytes, policy_bytes;
	uint64_t steps[ACTORS_MAX];	/* of each actor, as it last said */
	uint64_t looked_ns;	/* when rewards were last asked for */
	struct latency set;
};

static bool
set_params(struct link *k, void *arg)
{
	struct apex *a = arg;
	struct respcall *c = &k->call;
	const uint64_t begun = timer_mono_ns();
	struct respreply r;

	respcall_begin(c, 3);
	respcall_word(c, "SET");
	respcall_word(c, REMOTE_PARAMS);
	respcall_arg(c, a->policy, a->policy_bytes);
	if (!respcall_send(c, "SET") ||
	    !respcall_want(c, RESPREPLY_STATUS, &r, "SET"))
		return false;
	latency_add(&a->set, timer_mono_ns() - begun);
	return true;
}

static bool
publish(struct apex *a)
{
	memcpy(a->policy + a->head_bytes, a->l.w,
	    a->l.params * sizeof(*a->l.w));
	return link_do(&a->link, set_params, a);
}

/* What an earlier training left goes. */
static bool
clear(struct link *k, void *arg)
{
	struct respcall *c = &k->call;
	const struct apex *a = arg;
	struct respreply r;

	respcall_words(c, (const char *[]){ "DEL", REMOTE_REWARDS,
	    REMOTE_LIST, REMOTE_END, NULL });
	if (!a->cf->remote.redis)
		respcall_words(c, (const char *[]){ "PER.DROP", REMOTE_TABLE,
		    NULL });
	if (!respcall_send(c, "DEL") ||
	    !respcall_want(c, RESPREPLY_INT, &r, "DEL"))
		return false;
	/* an error says that it was not there */
	return a->cf->remote.redis || (respcall_next(c, &r, "PER.DROP") &&
	    respcall_rest(c, "PER.DROP"));
}

static bool
say_end(struct link *k, void *arg)
{
	struct respreply r;

	(void)arg;
	respcall_words(&k->call, (const char *[]){ "SET", REMOTE_END, "1",
	    NULL });
	return respcall_send(&k->call, "SET") &&
	    respcall_want(&k->call, RESPREPLY_STATUS, &r, "SET");
}

/*
 * An actor's line: its steps so far, and the reward of an episode, which
 * counts if the actor is the one that tries least.
 */
static void
reward(struct apex *a, const char *line)
{
	uint64_t index, actors, steps;
	double r;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %lf", &index,
	    &actors, &steps, &r) != 4 || index >= actors ||
	    actors > ACTORS_MAX || !isfinite(r))
		return;
	a->tally.steps += steps > a->steps[index] ? steps - a->steps[index] :
	    0;
	a->steps[index] = steps;
	if (index == actors - 1)
		tally_episode(&a->tally, r);
}

static bool
rewards(struct link *k, void *arg)
{
	struct apex *a = arg;
	struct respcall *c = &k->call;
	struct respreply r;
	char line[LINE_BYTES];

	respcall_words(c, (const char *[]){ "MULTI", NULL });
	respcall_words(c, (const char *[]){ "LRANGE", REMOTE_REWARDS, "0",
	    "-1", NULL });
	respcall_words(c, (const char *[]){ "DEL", REMOTE_REWARDS, NULL });
	respcall_words(c, (const char *[]){ "EXEC", NULL });
	if (!respcall_send(c, "rewards") ||
	    !respcall_want(c, RESPREPLY_STATUS, &r, "MULTI") ||
	    !respcall_want(c, RESPREPLY_STATUS, &r, "LRANGE") ||
	    !respcall_want(c, RESPREPLY_STATUS, &r, "DEL") ||
	    !respcall_want(c, RESPREPLY_ARRAY, &r, "EXEC") ||
	    !respcall_want(c, RESPREPLY_ARRAY, &r, "LRANGE"))
		return false;
	for (int64_t i = 0, n = r.n; i < n; i++) {
		size_t len;

		if (!respcall_want(c, RESPREPLY_BULK, &r, "LRANGE"))
			return false;
		len = r.n < LINE_BYTES ? (size_t)r.n : LINE_BYTES - 1;
		if (!respcall_body(c, line, len, "LRANGE"))
			return false;
		line[len] = '\0';
		reward(a, line);
	}
	return respcall_rest(c, "DEL");
}

static bool
enough(const struct apex *a)
{
	return tally_over(&a->tally) || (a->cf->remote.gradients != 0 &&
	    a->tally.gradients >= a->cf->remote.gradients);
}

/* What follows a gradient; false if the connection failed. */
static bool
follow(struct apex *a)
{
	const uint64_t now = timer_mono_ns();

	if (a->tally.gradients % a->cf->remote.publish == 0 && !publish(a))
		return false;
	if (now - a->looked_ns < LOOK_NS)
		return true;
	a->looked_ns = now;
	return link_do(&a->link, rewards, a);
}

/* Until it is over: NULL, or the connection that failed. */
static const struct link *
learn(struct apex *a)
{
	struct tally *t = &a->tally;
	const struct link *bad = NULL;

	while (bad == NULL && !enough(a) && report_progress(&a->rep)) {
		const uint64_t begun = timer_mono_ns();
		const enum ascent_result rc = a->l.algo->learn(&a->l);

		t->lesson_ns += timer_mono_ns() - begun;
		if (rc != ASCENT_ON)
			bad = &a->feed.link;
		else if (!follow(a))
			bad = &a->link;
	}
	return *t->stop == 0 ? bad : NULL;
}

static void
open_(struct apex *a)
{
	const struct conf *cf = a->cf;
	uint8_t head[SAVED_HEAD_MAX];
	size_t elements = (cf->vector_bytes + 3) / 4;

	learner_open(&a->l, cf->env, cf->algo, &cf->set, cf->seed,
	    cf->init ? &cf->init_seed : NULL, &a->tally);
	a->optim = optim_open(cf->rule, a->l.kern, cf->set.rate, a->l.params);
	a->l.up = optim_ascent(&a->optim);
	a->l.own = &a->optim;
	elements = elements < a->l.params ? a->l.params : elements;
	a->head_bytes = saved_head(head, &a->l, elements);
	a->policy_bytes = a->head_bytes + elements * sizeof(float);
	a->policy = learner_room(1, a->policy_bytes);
	memcpy(a->policy, head, a->head_bytes);
	link_to(&a->link, cf, 0, a->tally.stop);
	a->feed.cf = cf;
	a->feed.got = a->tally.stop;
}

static int
more(int fd, void *arg)
{
	struct apex *a = arg;
	struct feed *f = &a->feed;
	const struct remote *rm = &a->cf->remote;
	int n = dprintf(fd, ",\"role\":\"learner\",\"memory\":\"%s\""
	    ",\"replay\":\"%s\",\"prefetch\":%s,\"limits\":%" PRIu64
	    ",\"left_out\":%" PRIu64 ",\"reconnected\":%" PRIu64
	    ",\"experience_bytes\":%zu,\"params_bytes\":%zu",
	    rm->redis ? "list" : "table",
	    a->cf->set.by_priority ? "per" : "uniform",
	    rm->prefetch ? "true" : "false", f->limits, f->bad,
	    a->link.again + f->link.again, f->bytes, a->policy_bytes);

	n = n < 0 ? n : latency_print(fd, "set", &a->set);
	n = n < 0 ? n : latency_print(fd, "sample", &f->exchange);
	return n < 0 || !rm->redis ? n : latency_print(fd, "fetch", &f->fetch);
}

/* From an open learner to one that is done: 0, or 1 with a message. */
static int
train(struct apex *a)
{
	const struct memory m = feed_memory(&a->feed);
	const struct link *bad;

	if (!publish(a) || !link_do(&a->link, clear, a)) {
		warnx("%s", a->link.call.why);
		return 1;
	}
	feed_open(&a->feed);
	offp_use(&a->l, &m);
	bad = learn(a);
	feed_end(&a->feed);
	report_clear(&a->rep);
	if (bad != NULL)
		warnx("%s", bad->call.why);
	/* also where a signal came: actors are to end with their learner */
	a->link.call.stop = NULL;
	if (a->link.call.timeout_ns > END_NS)
		a->link.call.timeout_ns = END_NS;
	if (bad != &a->link && (!publish(a) ||
	    !link_do(&a->link, say_end, a)) && bad == NULL) {
		bad = &a->link;
		warnx("%s", bad->call.why);
	}
	if (a->feed.bad > 0)
		warnx("%s: %" PRIu64 " left out: %s", a->cf->remote.at,
		    a->feed.bad, a->feed.why_bad);
	a->tally.update_ns = a->optim.ns;
	report_end(&a->rep);
	if (a->cf->report != NULL && report_write(&a->rep, a->cf->report,
	    &a->l) == -1)
		a->rep.bad = true;
	feed_close(&a->feed);
	return bad != NULL || a->rep.bad;
}

int
apex_run(const struct conf *cf, const volatile sig_atomic_t *got)
{
	struct apex *a = learner_room(1, sizeof(*a));
	int rc;

	if ((cf->save != NULL && saved_check(cf->save) == -1) ||
	    (cf->report != NULL && saved_check(cf->report) == -1))
		return 1;
	a->cf = cf;
	a->tally = (struct tally){ .steps_end = cf->steps,
	    .episodes_end = cf->episodes, .solve = cf->solve,
	    .solved = cf->env->solved, .stop = got };
	a->rep = (struct report){ .tally = &a->tally, .quiet = cf->quiet,
	    .json = cf->json, .more = more, .more_arg = a };
	tally_open(&a->tally, cf->log);
	open_(a);
	rc = train(a);
	if (cf->solve && *got == 0 && rc == 0 && !tally_is_solved(&a->tally)) {
		warnx("not solved: mean reward of the last %d episodes %.1f, "
		    "%g wanted", TALLY_LAST, tally_mean(&a->tally,
		    TALLY_LAST), cf->env->solved);
		rc = 1;
	}
	if (tally_close(&a->tally) == -1 ||
	    (cf->save != NULL && saved_write(cf->save, &a->l) == -1))
		rc = 1;
	respcall_close(&a->link.call);
	optim_close(&a->optim);
	learner_close(&a->l);
	free(a->policy);
	free(a);
	return rc;
}
