/*
 * apex-learner.c - a learner that learns from experiences pushed by actors
 * (Ape-X: Horgan et al., 2018; Furukawa and Matsutani's Algorithm 2)
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/apex/sampler-table.h"
#include "cmd/innet-agent/apex/sampler.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/apex/key-names.h"
#include "cmd/innet-agent/report.h"
#include "cmd/innet-agent/policy-file.h"
#include "cmd/innet-agent/apex/params.h"
#include "cmd/innet-agent/checkpoint.h"

enum { LOOK_NS = 50000000, ACTORS_MAX = 4096, LINE_BYTES = 128 };

#define END_NS 5000000000	/* time limit for publishing the end of
				 * training */
#define REWARDS_MOST "65536"	/* maximum number of rewards read at once */

struct apex_learner {
	const struct conf *cf;
	struct link link;	/* connection to the first server */
	struct names names;	/* names of the keys on the first server */
	struct sampler sampler;
	struct learner l;
	struct optimizer optimizer;
	struct tally tally;
	struct report rep;
	struct params params;	/* the parameters that actors pull */
	struct checkpoint kept;
	uint64_t steps[ACTORS_MAX];	/* number of steps that each actor
					 * reported */
	uint64_t looked_ns;	/* time of the last read of rewards */
	struct latency set;
	bool params_due;		/* new parameters must be published */
	char waiting[256];	/* error reply if the server has no room */
	uint64_t full_ns;	/* time at which the server ran out of room; 0:
				 * the server has room */
	uint64_t tried_ns, warned_ns;	/* times of the last attempt and of the
					 * last warning */
};

/* A key and the value to which it is set on the server. */
struct value {
	struct apex_learner *a;
	const char *key;
	const void *bytes;
	size_t len;
	bool taken;	/* the value was set; false: the memory is full (see
			 * a->waiting) */
};

static bool
set_value(struct link *k, void *arg)
{
	struct value *v = arg;
	struct apex_learner *a = v->a;
	struct respcall *c = &k->call;
	const uint64_t begun = timer_mono_ns();
	struct respreply r;

	respcall_begin(c, 3);
	respcall_word(c, "SET");
	respcall_word(c, v->key);
	respcall_arg(c, v->bytes, v->len);
	if (!respcall_send(c, "SET") || !respcall_next(c, &r, "SET"))
		return false;
	v->taken = r.kind == RESPREPLY_STATUS;
	if (v->taken) {
		latency_add(&a->set, timer_mono_ns() - begun);
		return true;
	}
	if (r.kind != RESPREPLY_ERROR || strncmp(r.text, "OOM", 3) != 0)
		return link_refuse(k, "SET", &r);
	snprintf(a->waiting, sizeof(a->waiting), "%s", r.text);
	return true;
}

/*
 * Try to set the value.  If the memory is full, print a warning at most once a
 * second, and fail only if the memory stays full for timeout_ns.
 */
static bool
try_set(struct apex_learner *a, struct value *v)
{
	const uint64_t now = timer_mono_ns(), span_ns = a->link.call.timeout_ns;

	a->tried_ns = now;
	if (!link_do(&a->link, set_value, v))
		return false;
	if (v->taken) {
		a->full_ns = 0;
		return true;
	}
	if (a->full_ns == 0)
		a->full_ns = now;
	if (now - a->full_ns >= span_ns)
		return respcall_fail(&a->link.call, "the server did not accept "
		    "%s within %g s: %s", v->key, (double)span_ns * 1e-9,
		    a->waiting);
	if (a->warned_ns == 0 || now - a->warned_ns >= TIMER_SECOND_NS) {
		report_clear(&a->rep);
		warnx("%s: the server did not accept %s: %s; trying again",
		    a->link.call.name, v->key, a->waiting);
		a->warned_ns = now;
	}
	return true;
}

static bool
set_now(struct apex_learner *a, struct value v)
{
	while (try_set(a, &v)) {
		if (v.taken)
			return true;
		if (!link_sleep(&a->link, LOOK_NS))
			break;	/* a signal came */
	}
	return false;
}

static struct value
params_value(struct apex_learner *a)
{
	params_set(&a->params, &a->l);
	return (struct value){ a, a->names.params, a->params.bytes,
	    a->params.len, false };
}

/*
 * Remove the rewards of an earlier training run.  With --clear, remove all
 * other keys too, except `end`.
 */
static bool
clear_keys(struct link *k, void *arg)
{
	struct respcall *c = &k->call;
	const struct apex_learner *a = arg;
	const bool all = a->cf->remote.clear;
	const bool drops = all && !a->cf->remote.redis;
	struct respreply r;

	/* without --clear, the first NULL ends the list of keys */
	respcall_words(c, (const char *[]){ "DEL", a->names.rewards, all ?
	    a->names.params : NULL, a->names.list, NULL });
	if (drops)
		respcall_words(c, (const char *[]){ "PER.DROP",
		    a->names.table, NULL });
	if (!respcall_send(c, "DEL") ||
	    !respcall_want(c, RESPREPLY_INT, &r, "DEL"))
		return false;
	/* an error reply means that the server has no such table */
	return !drops || (respcall_next(c, &r, "PER.DROP") &&
	    respcall_rest(c, "PER.DROP"));
}

/* Start with the parameters of an earlier training run, if there are any. */
static bool
adopt_params(struct link *k, void *arg)
{
	struct apex_learner *a = arg;
	struct respcall *c = &k->call;
	const char *what = a->names.params;
	struct respreply r;
	bool other;

	respcall_words(c, (const char *[]){ "GET", what, NULL });
	if (!respcall_send(c, what) || !respcall_next(c, &r, what))
		return false;
	if (r.kind == RESPREPLY_NIL)
		return true;
	if (r.kind != RESPREPLY_BULK)
		return link_refuse(k, what, &r);
	if (params_take(&a->params, c, what, (size_t)r.n, &a->l, &other))
		return true;
	if (c->refused && strlen(c->why) + 30 < sizeof(c->why))
		strcat(c->why, "; give --clear to remove them");
	return false;
}

/*
 * Remove the key `end`, so that actors start with the parameters of this
 * learner.
 */
static bool
remove_end(struct link *k, void *arg)
{
	const struct apex_learner *a = arg;
	struct respreply r;

	respcall_words(&k->call, (const char *[]){ "DEL", a->names.end, NULL });
	return respcall_send(&k->call, "DEL") &&
	    respcall_want(&k->call, RESPREPLY_INT, &r, "DEL");
}

/*
 * Process a line from an actor, which contains the number of its steps so far
 * and the reward of an episode.  The reward is counted only if the line is from
 * the actor that explores least.
 */
static void
count_reward(struct apex_learner *a, const char *line)
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
read_rewards(struct link *k, void *arg)
{
	struct apex_learner *a = arg;
	struct respcall *c = &k->call;
	struct respreply r;
	char line[LINE_BYTES];

	/* LPOP removes the rewards that it returns */
	respcall_words(c, (const char *[]){ "LPOP", a->names.rewards,
	    REWARDS_MOST, NULL });
	if (!respcall_send(c, "LPOP") || !respcall_next(c, &r, "LPOP"))
		return false;
	if (r.kind == RESPREPLY_NIL)
		return true;
	if (r.kind != RESPREPLY_ARRAY)
		return link_refuse(k, "LPOP", &r);
	for (int64_t i = 0, n = r.n; i < n; i++) {
		size_t len;

		if (!respcall_want(c, RESPREPLY_BULK, &r, "LPOP"))
			return false;
		len = r.n < LINE_BYTES ? (size_t)r.n : LINE_BYTES - 1;
		if (!respcall_body(c, line, len, "LPOP"))
			return false;
		line[len] = '\0';
		count_reward(a, line);
	}
	return true;
}

static bool
is_finished(const struct apex_learner *a)
{
	return tally_over(&a->tally) || (a->cf->remote.gradients != 0 &&
	    a->tally.gradients >= a->cf->remote.gradients);
}

/*
 * After a gradient, take a checkpoint, publish the parameters and read the
 * rewards, if these are due.  Return false if the connection failed.  While the
 * server has no room for parameters, learning continues.  If the experiences
 * are in a list, learning removes items and so makes room.
 */
static bool
after_gradient(struct apex_learner *a)
{
	const uint64_t now = timer_mono_ns();

	if (a->kept.path != NULL &&
	    a->tally.gradients % a->kept.every == 0)
		checkpoint_lesson(&a->kept);
	a->params_due |= a->tally.gradients % a->cf->remote.publish == 0;
	if (a->params_due &&
	    (a->full_ns == 0 || now - a->tried_ns >= LOOK_NS)) {
		struct value v = params_value(a);

		if (!try_set(a, &v))
			return false;
		a->params_due = !v.taken;
	}
	if (now - a->looked_ns < LOOK_NS)
		return true;
	a->looked_ns = now;
	return link_do(&a->link, read_rewards, a);
}

/* Learn until training is over.  Return NULL, or the connection that failed. */
static const struct link *
learn_until_end(struct apex_learner *a)
{
	struct tally *t = &a->tally;
	const struct link *bad = NULL;

	while (bad == NULL && !is_finished(a) && report_progress(&a->rep)) {
		const uint64_t begun = timer_mono_ns();
		const enum optimizer_status rc = a->l.algo->learn(&a->l);

		t->lesson_ns += timer_mono_ns() - begun;
		if (rc != OPTIMIZER_CONTINUE)
			bad = a->sampler.lost;
		else if (!after_gradient(a))
			bad = &a->link;
	}
	return *t->stop == 0 ? bad : NULL;
}

/* Name the other parts of a checkpoint: the steps that actors have reported. */
static void
name_parts(void *arg, struct snapshot *s)
{
	struct apex_learner *a = arg;

	snapshot_part(s, a->steps, sizeof(a->steps));
}

static void
open_apex(struct apex_learner *a)
{
	const struct conf *cf = a->cf;

	learner_open(&a->l, cf->env, cf->algo, &cf->hyper, cf->seed,
	    cf->init ? &cf->init_seed : NULL, &a->tally);
	a->optimizer =
	    optimizer_open(cf->rule, a->l.kern, cf->hyper.rate, a->l.params);
	a->l.sink = optimizer_sink(&a->optimizer);
	a->l.own_optimizer = &a->optimizer;
	params_open(&a->params, &a->l, cf->elements);
	a->kept = (struct checkpoint){
		.path = cf->save_every != 0 ? cf->save : NULL,
		.every = cf->save_every, .l = &a->l, .optimizer = &a->optimizer,
		.more = name_parts, .arg = a,
	};
	link_to(&a->link, cf, 0, a->params.len, a->tally.stop);
	a->names = names_on(0, cf->remote.servers);
	a->sampler.cf = cf;
	a->sampler.stop = a->tally.stop;
	/* the server keeps old parameters while new parameters arrive */
	a->sampler.reserve = 3 * a->params.len;
	sampler_open(&a->sampler);
}

static int
print_more(int fd, void *arg)
{
	struct apex_learner *a = arg;
	struct sampler *sm = &a->sampler;
	const struct remote *rm = &a->cf->remote;
	uint64_t again = a->link.again;
	int n;

	for (size_t k = 0; k < sm->shards; k++)
		again += sm->shard[k].link.again;
	n = dprintf(fd, ",\"role\":\"learner\",\"memory\":\"%s\""
	    ",\"shards\":%zu"
	    ",\"replay\":\"%s\",\"prefetch\":%s,\"limits\":%" PRIu64
	    ",\"left_out\":%" PRIu64 ",\"reconnected\":%" PRIu64
	    ",\"experience_bytes\":%zu,\"params_bytes\":%zu",
	    rm->redis ? "list" : "table", sm->shards,
	    a->cf->hyper.by_priority ? "per" : "uniform",
	    rm->prefetch ? "true" : "false", sm->limits, sm->bad,
	    again, sm->bytes, a->params.len);

	n = n < 0 ? n : latency_print(fd, "set", &a->set);
	n = n < 0 ? n : latency_print(fd, "sample", &sm->exchange);
	return n < 0 || !rm->redis ? n : latency_print(fd, "fetch", &sm->fetch);
}

/* Publish the last parameters and the key `end`. */
static bool
publish_end(struct apex_learner *a)
{
	const struct value over = { a, a->names.end, "1", 1, false };
	bool good;

	/*
	 * do this even after a signal, because actors must end when their
	 * learner ends
	 */
	a->link.call.stop = NULL;
	if (a->link.call.timeout_ns > END_NS)
		a->link.call.timeout_ns = END_NS;
	a->full_ns = 0;
	good = set_now(a, params_value(a));
	/* the value of `end` is short, so there may be room for it */
	return (good || a->full_ns != 0) && set_now(a, over) && good;
}

/*
 * Prepare the servers so that actors can begin.  Return NULL, or the connection
 * that failed.
 */
static const struct link *
prepare_servers(struct apex_learner *a)
{
	const struct conf *cf = a->cf;

	/* do not change a table before all tables have been checked */
	if (!cf->remote.clear && !cf->remote.redis &&
	    !sampler_table_check(&a->sampler))
		return a->sampler.lost;
	if ((cf->load == NULL || cf->remote.clear) &&
	    !link_do(&a->link, clear_keys, a))
		return &a->link;
	if (cf->remote.clear && !sampler_table_clear(&a->sampler))
		return a->sampler.lost;
	if (cf->load == NULL && !cf->remote.clear &&
	    !link_do(&a->link, adopt_params, a))
		return &a->link;
	return set_now(a, params_value(a)) && link_do(&a->link, remove_end, a)
		   ? NULL
		   : &a->link;
}

/*
 * Train the learner, which must be open.  Return 0, or 1 after printing a
 * message.
 */
static int
run_training(struct apex_learner *a)
{
	const struct memory m = sampler_memory(&a->sampler);
	const struct link *bad = prepare_servers(a);

	if (bad != NULL) {
		if (*a->tally.stop != 0)
			return 0;
		warnx("%s", bad->call.why);
		return 1;
	}
	sampler_start(&a->sampler);
	offp_use(&a->l, &m);
	bad = learn_until_end(a);
	sampler_stop(&a->sampler);
	report_clear(&a->rep);
	if (bad != &a->link && !publish_end(a) && bad == NULL)
		bad = &a->link;
	if (a->sampler.bad > 0)
		warnx("%s: left out %" PRIu64 " invalid experiences; the last "
		    "one had %s",
		    a->link.call.name,
		    a->sampler.bad, a->sampler.why_bad);
	a->tally.update_ns = a->optimizer.ns;
	if (bad != NULL) {
		warnx("%s", bad->call.why);
		a->rep.quiet = true;	/* the error must be the last line, so
					 * print no summary */
	}
	report_end(&a->rep);
	if (a->cf->report != NULL && report_write(&a->rep, a->cf->report,
	    &a->l) == -1)
		a->rep.bad = true;
	return bad != NULL || a->rep.bad;
}

/*
 * Restore the checkpoint, if one was given.  Return 0, or -1 after printing a
 * message.
 */
static int
resume_training(struct apex_learner *a)
{
	const struct conf *cf = a->cf;
	const struct tally *t = &a->tally;

	if (cf->load == NULL)
		return 0;
	if (checkpoint_load(&a->kept, cf->load) == -1)
		return -1;
	if (cf->verbose)
		warnx("%s: %" PRIu64 " steps, %" PRIu64 " gradients", cf->load,
		    t->steps, t->gradients);
	/* each gradient used one draw; do not repeat these draws */
	a->sampler.draws = t->gradients;
	a->sampler.rng = rng_seed(cf->seed + t->gradients);
	return 0;
}

/*
 * Save the policy or the checkpoint at the end.  Return 0, or -1 after printing
 * a message.
 */
static int
save_at_end(struct apex_learner *a)
{
	if (a->cf->save == NULL)
		return 0;
	if (a->kept.path == NULL)
		return policy_file_write(a->cf->save, &a->l);
	checkpoint_take(&a->kept);
	return checkpoint_end(&a->kept);
}

int
apex_learner_run(const struct conf *cf, const volatile sig_atomic_t *got)
{
	struct apex_learner *a = allocate(1, sizeof(*a));
	int rc;

	if ((cf->save != NULL && policy_file_check(cf->save) == -1) ||
	    (cf->report != NULL && policy_file_check(cf->report) == -1))
		return 1;
	a->cf = cf;
	a->tally = (struct tally){ .steps_end = cf->steps,
	    .episodes_end = cf->episodes, .solve = cf->solve,
	    .solved = cf->env->solved, .stop = got };
	a->rep = (struct report){ .tally = &a->tally, .quiet = cf->quiet,
	    .json = cf->json, .more = print_more, .more_arg = a };
	open_apex(a);
	rc = resume_training(a) == -1;
	if (rc == 0) {
		tally_open(&a->tally, cf->log);
		rc = run_training(a);
		if (tally_close(&a->tally) == -1 || save_at_end(a) == -1)
			rc = 1;
	}
	if (cf->solve && *got == 0 && rc == 0 && !tally_is_solved(&a->tally)) {
		warnx("not solved: the mean reward of the last %d episodes is "
		    "%.1f, but %g is needed", TALLY_LAST, tally_mean(&a->tally,
		    TALLY_LAST), cf->env->solved);
		rc = 1;
	}
	sampler_close(&a->sampler);
	respcall_close(&a->link.call);
	optimizer_close(&a->optimizer);
	checkpoint_free(&a->kept);
	params_close(&a->params);
	learner_close(&a->l);
	free(a);
	return rc;
}
