/* innet-switch - aggregate, queue and forward model updates: the data plane */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/message.h"
#include "common/capture/clusters.h"
#include "cmd/innet-switch/inpath/inpath.h"
#include "common/net/service.h"
#include "common/net/timer.h"
#include "common/switch/programs.h"

#include "cmd/innet-switch/conf.h"
#include "cmd/innet-switch/offline.h"

static volatile sig_atomic_t stop_signal; /* signal that ended the run, or 0 */
static volatile sig_atomic_t show_flag;	/* SIGUSR1: print the counters */
static volatile sig_atomic_t reopen_flag;	/* SIGHUP: reopen the files */

static volatile sig_atomic_t is_live;	/* if false, SIGHUP ends the run */

/*
 * Handle a signal.  The alarm interrupts a read that starts after the signal.
 */
static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		show_flag = 1;
	else if (sig == SIGHUP && is_live)
		reopen_flag = 1;
	else if (sig != SIGCHLD && sig != SIGALRM)
		stop_signal = sig;
	if (stop_signal)
		alarm(1);
}

/* Run the switch on sockets, or in the path. */
static int
run_live(struct conf *cf, const sigset_t *wait_mask)
{
	static struct service v;
	static struct inpath path;
	const struct serve_conf sc = { .tool = "innet-switch",
	    .stop = &stop_signal, .show_flag = &show_flag,
	    .reopen_flag = &reopen_flag, .wait_mask = wait_mask };

	is_live = 1;
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
	} else {		/* let a signal interrupt a read */
		sigprocmask(SIG_SETMASK, &wait_mask, NULL);
		cf.trace.feed.stop = &stop_signal;
		rc = offline_run(&cf);
	}
	plane_options_free(&cf.o);
	if (stop_signal && !cf.live) {	/* the output is complete now, so end by
					 * the signal */
		signal(stop_signal, SIG_DFL);
		raise(stop_signal);
	}
	return rc;
}
