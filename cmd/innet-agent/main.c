/* main.c - train an agent, alone or through the gradient stream */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/message.h"

#include "cmd/innet-agent/checkpoint.h"
#include "cmd/innet-agent/stream-child.h"
#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/play.h"
#include "cmd/innet-agent/apex/key-names.h"
#include "cmd/innet-agent/report.h"
#include "cmd/innet-agent/policy-file.h"

static volatile sig_atomic_t got;	/* the signal that ends training */

static void
on_signal(int sig)
{
	got = sig;
}

/*
 * Train until training is over.  Open the gradient stream first, unless the
 * agent trains alone.
 */
static enum optimizer_status
run_training(const struct conf *cf, struct learner *l, struct report *rep,
    struct optimizer *optimizer, struct child *child)
{
	enum optimizer_status rc = OPTIMIZER_CONTINUE;

	l->sink = optimizer_sink(optimizer);
	l->own_optimizer = cf->alone ? optimizer : NULL;
	if (cf->deltas)
		learner_send_deltas(l, optimizer);
	if (!cf->alone) {
		child->base = l->base;
		l->sink = child_sink(child);
		rep->child = child;
		rc = child_open(child, l);
	}
	if (rc == OPTIMIZER_CONTINUE)
		rc = learner_run(l, report_progress, rep);
	l->tally->update_ns = optimizer->ns;
	if (rc == OPTIMIZER_FAILED)	/* the error must be the last line, so
					 * print no summary */
		rep->quiet = true;
	report_end(rep);
	if (cf->report != NULL && report_write(rep, cf->report, l) == -1)
		rep->bad = true;
	if (!cf->alone)
		child_close(child, rc == OPTIMIZER_END && tally_over(l->tally));
	return rc;
}

/* Train from a checkpoint or from the start, and save the result. */
static enum optimizer_status
train_learner(const struct conf *cf, struct learner *l, struct report *rep)
{
	struct optimizer optimizer =
	    optimizer_open(cf->rule, l->kern, cf->hyper.rate, l->params);
	struct child child = {
		.in = STDIN_FILENO, .out = STDOUT_FILENO, .stop = &got,
		.timeout_ns = cf->timeout_ns, .verbose = cf->verbose,
		.optimizer = &optimizer, .params = l->params,
		.elements = cf->elements,
	};
	struct checkpoint kept = {
		.path = cf->save_every != 0 ? cf->save : NULL,
		.every = cf->save_every, .l = l, .optimizer = &optimizer,
		.iteration = cf->alone ? NULL : &child.iteration,
	};
	enum optimizer_status rc = OPTIMIZER_FAILED;

	if (cf->load == NULL || checkpoint_load(&kept, cf->load) == 0) {
		if (cf->load != NULL && cf->verbose)
			warnx("%s: iteration %" PRIu64 ", %" PRIu64 " steps, "
			    "%" PRIu64 " gradients", cf->load, child.iteration,
			    l->tally->steps, l->tally->gradients);
		tally_open(l->tally, cf->log);
		if (kept.path != NULL) {
			l->lesson_done = checkpoint_lesson;
			l->lesson_arg = &kept;
		}
		rc = run_training(cf, l, rep, &optimizer, &child);
		if (cf->save != NULL &&
		    (kept.path != NULL ? checkpoint_end(&kept)
				       : policy_file_write(cf->save, l)) == -1)
			rep->bad = true;
	}
	checkpoint_free(&kept);
	optimizer_close(&optimizer);
	return rc;
}

static int
train_agent(const struct conf *cf)
{
	struct tally tally = {
		.steps_end = cf->steps, .episodes_end = cf->episodes,
		.solve = cf->solve, .solved = cf->env->solved, .stop = &got,
	};
	struct report rep = {
		.tally = &tally, .json = cf->json, .quiet = cf->quiet,
	};
	struct learner l;
	int rc = 0;

	if ((cf->save != NULL && policy_file_check(cf->save) == -1) ||
	    (cf->report != NULL && policy_file_check(cf->report) == -1))
		return 1;
	learner_open(&l, cf->env, cf->algo, &cf->hyper, cf->seed,
	    cf->init ? &cf->init_seed : NULL, &tally);
	l.interval_ns = cf->interval_ns;
	l.compute_ns = cf->compute_ns;
	if (cf->verbose)
		warnx("%s, %s, %zu weights, %s kernels", cf->env->name,
		    cf->algo->name, l.params, l.kern->name);
	if (train_learner(cf, &l, &rep) == OPTIMIZER_FAILED || rep.bad)
		rc = 1;
	if (rc == 0 && cf->solve && cf->alone && !got &&
	    !tally_is_solved(&tally)) {
		warnx("not solved: the mean reward of the last %d episodes is "
		    "%.1f, but %g is needed", TALLY_LAST, tally_mean(&tally,
		    TALLY_LAST),
		    tally.solved);
		rc = 1;
	}
	if (tally_close(&tally) == -1)
		rc = 1;
	learner_close(&l);
	return rc;
}

int
main(int argc, char *argv[])
{
	const struct conf cf = conf_parse(argc, argv);
	const struct sigaction sa = { .sa_handler = on_signal };
	int rc;

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (cf.eval != NULL)
		return play_policy(cf.eval,
		    cf.episodes == 0 ? 100 : cf.episodes, cf.seed, cf.json,
		    &got);
	if (cf.remote.role != ROLE_WORKER) {
		rc = (cf.remote.role == ROLE_ACTOR
			  ? apex_actor_run
			  : apex_learner_run)(&cf, &got);
		free(cf.remote.password);
		return rc;
	}
	if (!cf.alone && isatty(STDOUT_FILENO))
		errx(2, "standard output is a terminal; give --alone, or run "
		    "innet-agent under innet-worker");
	return train_agent(&cf);
}
