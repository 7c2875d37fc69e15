/* innet-switch - aggregate, queue and forward model updates: the data plane */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/timer.h"

#include "cmd/innet-switch/conf.h"
#include "cmd/innet-switch/report.h"

static volatile sig_atomic_t got;	/* the signal that asked us to stop */
static volatile sig_atomic_t tell;	/* SIGUSR1 asked for counters */

/* A read that begins just after the signal is woken a second later. */
static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		tell = 1;
	else if (sig != SIGCHLD && sig != SIGALRM)
		got = sig;
	if (got)
		alarm(1);
}

/*
 * Say, or refuse, what the switch may come to hold: full slots of the largest
 * frame, and the tables of clusters.
 */
static void
check_memory(const struct conf *cf)
{
	uint64_t slot = sizeof(struct slot) + UDPIO_PACKET_BYTES;
	uint64_t tables = 65536 * (sizeof(struct tally_cluster) +
	    sizeof(struct egress_shape) + sizeof(uint64_t));
	uint64_t need = cf->egress.slots * slot + tables;

	if (cf->dry_run) {
		printf("%" PRIu64 " bytes: %" PRIu32 " slots of %" PRIu64
		    ", tables of %" PRIu64 "\n", need, cf->egress.slots, slot,
		    tables);
		if (fflush(stdout) == EOF)
			err(1, "standard output");
		exit(0);
	}
	if (cf->memory_bytes > 0 && need > cf->memory_bytes)
		errx(1, "--slots %" PRIu32 " needs %.1f MB, %.1f MB allowed; "
		    "lower it or raise --memory", cf->egress.slots,
		    (double)need / 1e6, (double)cf->memory_bytes / 1e6);
}

/* Refuse to write over a capture that is still to be read. */
static void
check_not_same(const struct pcapio_in *in, const char *out)
{
	struct stat a, b;

	if (out != NULL && strcmp(out, "-") != 0 && stat(out, &b) == 0 &&
	    S_ISREG(b.st_mode) && fstat(in->fd, &a) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		errx(2, "-w %s would destroy what -r reads", out);
}

static int
run_filter(const struct conf *cf, struct egress *e,
    struct filter_passed *passed)
{
	struct filter_conf fc = cf->filter;
	struct pcapio_in in[CONF_READ_MAX], departures;
	struct clusters table = { 0 };
	struct pcapio_out out;
	size_t n = cf->ins == 0 ? 1 : cf->ins;
	int rc;

	fc.stop = &got;
	if (cf->bare) {
		table = clusters_load_or_exit(cf->table);
		fc.clusters = &table;
	}
	for (size_t i = 0; i < n; i++) {
		pcapio_open_or_exit(&in[i], cf->ins == 0 ? "-" : cf->in[i]);
		check_not_same(&in[i], cf->out);
	}
	if (cf->departures != NULL) {
		pcapio_open_or_exit(&departures, cf->departures);
		check_not_same(&departures, cf->out);
		fc.departures = &departures;
	}
	pcapio_create_or_exit(&out, cf->out == NULL ? "-" : cf->out);
	rc = filter_run(&fc, e, passed, in, n, &out);
	rc |= pcapio_close_or_warn(&out);
	for (size_t i = 0; i < n; i++)
		pcapio_close_in(&in[i]);
	if (fc.departures != NULL)
		pcapio_close_in(&departures);
	clusters_free(&table);
	if (!cf->quiet)
		report_summary(e, passed, cf->json);
	return rc;
}

static int
run_live(const struct conf *cf, struct egress *e,
    struct filter_passed *passed, const sigset_t *wait_mask)
{
	struct live_conf lc = cf->live;
	struct pcapio_out in, out;
	int rc;

	lc.stop = &got;
	lc.tell = &tell;
	lc.wait_mask = wait_mask;
	lc.quiet = cf->quiet;
	lc.json = cf->json;
	lc.progress = !cf->quiet && isatty(STDERR_FILENO) == 1;
	if (cf->out != NULL) {
		pcapio_create_or_exit(&in, cf->out);
		lc.ingress = &in;
	}
	if (cf->write_out != NULL) {
		pcapio_create_or_exit(&out, cf->write_out);
		lc.egress = &out;
	}
	rc = live_run(&lc, e, passed);
	if (lc.ingress != NULL)
		rc |= pcapio_close_or_warn(lc.ingress);
	if (lc.egress != NULL)
		rc |= pcapio_close_or_warn(lc.egress);
	return rc;
}

static int
run(const struct conf *cf, const sigset_t *wait_mask)
{
	struct filter_passed passed;
	struct egress e;
	int rc;

	check_memory(cf);
	if (!egress_init(&e, &cf->egress))
		err(1, "--slots %" PRIu32, cf->egress.slots);
	if (cf->listens)
		rc = run_live(cf, &e, &passed, wait_mask);
	else
		rc = run_filter(cf, &e, &passed);
	if (cf->report != NULL)
		rc |= report_write(cf->report, &e, &passed);
	egress_free(&e);
	return rc;
}

int
main(int argc, char *argv[])
{
	const struct conf cf = conf_parse(argc, argv);
	sigset_t wait_mask;
	int rc;

	timer_signals(on_signal, &wait_mask);
	if (!cf.listens)	/* a blocked read must be woken */
		sigprocmask(SIG_SETMASK, &wait_mask, NULL);
	rc = run(&cf, &wait_mask);
	if (got && !cf.listens) {	/* output is whole; die as told */
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
