/* innet-switch - aggregate, queue and forward model updates: the data plane */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/dlpserve.h"
#include "common/timer.h"

#include "cmd/innet-switch/conf.h"
#include "cmd/innet-switch/iswitch-live.h"
#include "cmd/innet-switch/iswitch-report.h"
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

/* The captures to read and the one to write; how many are read. */
static size_t
open_captures(const struct conf *cf, struct pcapio_in in[CONF_READ_MAX],
    struct pcapio_out *out)
{
	const size_t n = cf->ins == 0 ? 1 : cf->ins;

	for (size_t i = 0; i < n; i++) {
		pcapio_open_or_exit(&in[i], cf->ins == 0 ? "-" : cf->in[i]);
		check_not_same(&in[i], cf->out);
	}
	pcapio_create_or_exit(out, cf->out == NULL ? "-" : cf->out);
	return n;
}

static int
run_filter(const struct conf *cf, struct egress *e,
    struct filter_passed *passed)
{
	struct filter_conf fc = cf->filter;
	struct pcapio_in in[CONF_READ_MAX], departures;
	struct clusters table = { 0 };
	struct pcapio_out out;
	size_t n;
	int rc;

	fc.feed.stop = &got;
	if (cf->bare) {
		table = clusters_load_or_exit(cf->table);
		fc.clusters = &table;
	}
	if (cf->departures != NULL) {
		pcapio_open_or_exit(&departures, cf->departures);
		check_not_same(&departures, cf->out);
		fc.departures = &departures;
	}
	n = open_captures(cf, in, &out);
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

/* The captures of a live switch. */
struct taps {
	struct pcapio_out in, out;
	struct pcapio_out *ingress, *egress;	/* NULL: none */
};

static void
taps_open(struct taps *t, const struct conf *cf)
{
	t->ingress = t->egress = NULL;
	if (cf->out != NULL) {
		pcapio_create_or_exit(&t->in, cf->out);
		t->ingress = &t->in;
	}
	if (cf->write_out != NULL) {
		pcapio_create_or_exit(&t->out, cf->write_out);
		t->egress = &t->out;
	}
}

static int
taps_close(struct taps *t)
{
	int rc = 0;

	if (t->ingress != NULL)
		rc |= pcapio_close_or_warn(t->ingress);
	if (t->egress != NULL)
		rc |= pcapio_close_or_warn(t->egress);
	return rc;
}

static int
run_live(const struct conf *cf, struct egress *e,
    struct filter_passed *passed, const sigset_t *wait_mask)
{
	struct live_conf lc = cf->live;
	struct taps t;
	int rc;

	lc.stop = &got;
	lc.tell = &tell;
	lc.wait_mask = wait_mask;
	lc.quiet = cf->quiet;
	lc.verbose = cf->verbose;
	lc.json = cf->json;
	lc.progress = !cf->quiet && isatty(STDERR_FILENO) == 1;
	taps_open(&t, cf);
	lc.ingress = t.ingress;
	lc.egress = t.egress;
	rc = live_run(&lc, e, passed);
	rc |= taps_close(&t);
	return rc;
}

/* Half of the machine's memory: what Joins may ask for, unless it is said. */
static uint64_t
half_memory(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page =
	    sysconf(_SC_PAGESIZE);

	return pages <= 0 || page <= 0 ? 0 : (uint64_t)pages / 2 *
	    (uint64_t)page;
}

/* The aggregation switch, live. */
static int
run_iswitch_live(const struct conf *cf, const sigset_t *wait_mask)
{
	struct aggport_conf ac = { .iswitch = cf->aggr.iswitch,
	    .listen = cf->live.listen, .parent = cf->aggr.parent,
	    .duration_ns = cf->live.duration_ns, .impair = cf->live.impair,
	    .port_file = cf->live.port_file, .stop = &got, .tell = &tell,
	    .wait_mask = wait_mask, .no_offload = cf->live.no_offload,
	    .quiet = cf->quiet, .verbose = cf->verbose,
	    .progress = !cf->quiet && isatty(STDERR_FILENO) == 1 };
	struct taps t;
	int rc;

	ac.iswitch.memory_bytes = cf->memory_bytes != 0 ? cf->memory_bytes :
	    half_memory();
	ac.iswitch.key = cf->aggr.key.set ? &cf->aggr.key : NULL;
	taps_open(&t, cf);
	ac.ingress = t.ingress;
	ac.egress = t.egress;
	rc = iswitch_live_run(&ac, cf->report, cf->json);
	rc |= taps_close(&t);
	return rc;
}

static int
run_dlp_filter(const struct conf *cf)
{
	struct feed_conf feed = cf->filter.feed;
	struct pcapio_in in[CONF_READ_MAX];
	struct dlp_passed passed;
	struct pcapio_out out;
	struct account a;
	size_t n;
	int rc;

	feed.stop = &got;
	n = open_captures(cf, in, &out);
	rc = dlp_filter(&cf->dlp, &feed, &passed, in, n, &out);
	rc |= pcapio_close_or_warn(&out);
	for (size_t i = 0; i < n; i++)
		pcapio_close_in(&in[i]);
	account_begin(&a, cf->json, "innet-switch");
	dlp_account(&passed, &a);
	account_end(&a);
	if (!cf->quiet)
		fputs(a.text, stderr);
	if (cf->report != NULL) {
		account_begin(&a, true, "");
		dlp_account(&passed, &a);
		account_end(&a);
		rc |= report_text(cf->report, a.text);
	}
	return rc;
}

static int
run_dlp_live(const struct conf *cf, const sigset_t *wait_mask)
{
	static struct dlpserve s;
	const struct live_conf *lc = &cf->live;
	struct taps t;
	struct dlpserve_conf sc = { .tool = "innet-switch",
	    .job = cf->dlp.job, .listen = lc->listen, .impair = lc->impair,
	    .duration_ns = lc->duration_ns, .port_file = lc->port_file,
	    .stop = &got, .tell = &tell, .wait_mask = wait_mask,
	    .no_offload = lc->no_offload, .quiet = cf->quiet,
	    .verbose = cf->verbose, .json = cf->json,
	    .progress = !cf->quiet && isatty(STDERR_FILENO) == 1 };
	struct account a;
	int rc;

	taps_open(&t, cf);
	sc.ingress = t.ingress;
	sc.egress = t.egress;
	rc = dlpserve_run(&s, &sc);
	rc |= taps_close(&t);
	if (cf->report != NULL) {
		account_begin(&a, true, "");
		dlpserve_account(&s, &a);
		account_end(&a);
		rc |= report_text(cf->report, a.text);
	}
	return rc;
}

/* The aggregation switch in a trace. */
static int
run_iswitch_filter(const struct conf *cf)
{
	static struct iswitch s;
	struct iswitch_filter_conf fc = { .iswitch = cf->aggr.iswitch,
	    .listen = cf->live.listen, .parent = cf->aggr.parent,
	    .rate_bps = cf->egress.rate_bps,
	    .extra_bytes = cf->egress.extra_bytes,
	    .propagation_ns = cf->filter.propagation_ns,
	    .feed = cf->filter.feed };
	struct pcapio_in in[CONF_READ_MAX];
	struct iswitch_passed passed;
	struct pcapio_out out;
	size_t n;
	int rc;

	fc.iswitch.memory_bytes = cf->memory_bytes;
	fc.iswitch.key = &cf->aggr.key;
	fc.feed.stop = &got;
	n = open_captures(cf, in, &out);
	rc = iswitch_filter_run(&fc, &s, &passed, in, n, &out);
	rc |= pcapio_close_or_warn(&out);
	for (size_t i = 0; i < n; i++)
		pcapio_close_in(&in[i]);
	if (!cf->quiet)
		iswitch_report_summary(&s, &passed, false, cf->json);
	if (cf->report != NULL)
		rc |= iswitch_report_write(cf->report, &s, &passed);
	iswitch_free(&s);
	return rc;
}

/* Say what memory a job takes, and exit. */
static void
say_memory(const struct conf *cf)
{
	aggr_say_memory(&cf->aggr);
	if (fflush(stdout) == EOF)
		err(1, "standard output");
	exit(0);
}

static int
run(const struct conf *cf, const sigset_t *wait_mask)
{
	struct filter_passed passed;
	struct egress e;
	int rc;

	if (cf->program == PROGRAM_ISWITCH && cf->dry_run)
		say_memory(cf);
	if (cf->program == PROGRAM_ISWITCH)
		return cf->serves ? run_iswitch_live(cf, wait_mask) :
		    run_iswitch_filter(cf);
	if (cf->program == PROGRAM_DLP)
		return cf->serves ? run_dlp_live(cf, wait_mask) :
		    run_dlp_filter(cf);
	check_memory(cf);
	if (!egress_init(&e, &cf->egress))
		err(1, "--slots %" PRIu32, cf->egress.slots);
	if (cf->serves)
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
	if (!cf.serves)		/* a blocked read must be woken */
		sigprocmask(SIG_SETMASK, &wait_mask, NULL);
	rc = run(&cf, &wait_mask);
	if (got && !cf.serves) {	/* output is whole; die as told */
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
