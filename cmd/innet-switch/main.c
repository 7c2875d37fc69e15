/* innet-switch - aggregate, queue and forward model updates: the data plane */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/capture/clusters.h"
#include "cmd/innet-switch/inpath/inpath.h"
#include "common/net/service.h"
#include "common/net/timer.h"
#include "common/switch/programs.h"

#include "cmd/innet-switch/conf.h"
#include "cmd/innet-switch/offline.h"

static volatile sig_atomic_t got;	/* the signal that asked us to stop */
static volatile sig_atomic_t tell;	/* SIGUSR1 asked for counters */
static volatile sig_atomic_t again;	/* SIGHUP asked for files anew */

static volatile sig_atomic_t serves;	/* live: a filter ends by SIGHUP */

/* A read that begins just after the signal is woken a second later. */
static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		tell = 1;
	else if (sig == SIGHUP && serves)
		again = 1;
	else if (sig != SIGCHLD && sig != SIGALRM)
		got = sig;
	if (got)
		alarm(1);
}

/* The switch on sockets, or in the path. */
static int
run_live(struct conf *cf, const sigset_t *wait_mask)
{
	static struct service v;
	static struct inpath path;
	const struct serve_conf sc = { .tool = "innet-switch", .stop = &got,
	    .show_flag = &tell, .reopen_flag = &again, .wait_mask = wait_mask };

	serves = 1;
	if (cf->inpath.where != NULL)
		return inpath_run(&path, &cf->inpath, &v, &cf->o, &sc);
	return service_run(&v, &cf->o, &sc);
}

int
main(int argc, char *argv[])
{
	static struct conf cf;
	sigset_t wait_mask;
	int rc;

	conf_parse(&cf, argc, argv);
	plane_check_memory(&cf.o);
	timer_block_signals(on_signal, &wait_mask);
	if (cf.live) {
		rc = run_live(&cf, &wait_mask);
	} else {		/* a blocked read must be woken */
		sigprocmask(SIG_SETMASK, &wait_mask, NULL);
		cf.trace.feed.stop = &got;
		rc = offline_run(&cf);
	}
	plane_options_free(&cf.o);
	if (got && !cf.live) {	/* output is whole; die as told */
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
