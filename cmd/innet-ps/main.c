/* innet-ps - a parameter server */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/file-link.h"
#include "common/base/file-lock.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/service.h"
#include "common/net/timer.h"
#include "cmd/innet-ps/olaf-server.h"

#include "cmd/innet-ps/servers.h"
#include "cmd/innet-ps/store.h"

enum { SAVE = OPT_LONG, SAVE_EVERY, LOAD };

static struct opt table[OPT_MAX] = {
	{ 'p', "program", "NAME",
	    "program to run: olaf (default), iswitch or dlp" },
	{ SAVE, "save", "FILE",
	    "olaf: write the weights to this file regularly and at the end" },
	{ SAVE_EVERY, "save-every", "TIME",
	    "olaf: time between two saves of the weights (default 10s)" },
	{ LOAD, "load", "FILE",
	    "olaf: start from the weights in a file that --save wrote" },
	PLANE_OPTIONS_PORTS,
	{ 'w', "write-out", "FILE",
	    "write outgoing packets to a capture" },
	PLANE_OPTIONS_LIVE,
	PLANE_OPTIONS_ALL,
	{ 'v', "verbose", NULL,
	    "print which kernel interfaces send and receive packets" },
	{ 'q', "quiet", NULL, "do not print the summary" },
};

static const struct opt_tool tool = {
	"innet-ps", PACKAGE_VERSION, "[-p PROGRAM] [--listen ADDR] [OPTION...]",
	"Keep the weights of each cluster, apply the updates that arrive,\n"
	"and answer each with the model; or serve sums (iswitch) or a DLP\n"
	"session.  An option whose text begins with a program, such as\n"
	"'olaf:', applies only to that program.", table
};

struct conf {
	struct plane_options o;
	const char *save, *load;
	char saved_at[PATH_MAX];	/* path of --save with symbolic links
					 * resolved */
	int lock;	/* descriptor of the lock on that file, or -1 */
	uint64_t save_every_ns;
};

/* The state of --save. */
struct saving {
	const struct conf *cf;
	const struct plane *pl;
	uint64_t saved_ns;
	uint64_t changed;	/* number of updates applied before saved_ns */
};

static volatile sig_atomic_t stop_signal;	/* signal to stop, or 0 */
/* set by SIGUSR1, which requests that the counters are printed */
static volatile sig_atomic_t report_requested;
static volatile sig_atomic_t reopen_requested; /* set by SIGHUP, which requests
					        * that the files are reopened */

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		report_requested = 1;
	else if (sig == SIGHUP)
		reopen_requested = 1;
	else if (sig != SIGCHLD)
		stop_signal = sig;
}

static void
parse(struct conf *cf, int argc, char *argv[])
{
	struct plane_options *o = &cf->o;
	bool every = false;
	int ch;

	*cf = (struct conf){ .lock = -1, .save_every_ns = 10 *
	    (uint64_t)TIMER_SECOND_NS };
	plane_options_init(o, servers(), table);
	o->memory_bytes = 1000000000;
	o->listen = "127.0.0.1";
	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		switch (ch) {
		case 'p': plane_options_set_program(o, optarg); break;
		case SAVE: cf->save = optarg; break;
		case LOAD: cf->load = optarg; break;
		case SAVE_EVERY:
			opt_check("time", optarg, num_time(optarg,
			    TIMER_SECOND_NS, INT64_MAX, &cf->save_every_ns));
			every = true;
			break;
		default: plane_options_parse(o, ch, optarg); break;
		}
	}
	opt_done(&tool, argc, argv);
	if (strcmp(o->plane.program->name, "olaf") != 0 && (cf->save != NULL ||
	    cf->load != NULL || every))
		errx(2, "--%s cannot be used with --program %s", cf->save !=
		    NULL ? "save" : cf->load != NULL ? "load" : "save-every",
		    o->plane.program->name);
	if (every && cf->save == NULL)
		errx(2, "--save-every needs --save");
	files_out(&o->files, "--save", cf->save);
	if (cf->save == NULL || cf->load == NULL || strcmp(cf->save,
	    cf->load) != 0)
		files_in(&o->files, "--load", cf->load);
	plane_options_check(o, true);
}

/*
 * Check that the file of --save can be written.  The server writes the file
 * repeatedly, and the file must be readable later.  Therefore it cannot be a
 * pipe.
 */
static void
check_save(const char *path)
{
	if (file_open_is_fifo(path))
		errx(1, "%s: not a regular file", path);
	if (atomic_file_try(path) == -1)
		err(1, "%s", path);
}

/* Lock the file of --save, so that only one server writes it at a time. */
static void
lock_save(struct conf *cf)
{
	struct stat st;

	if (stat(cf->save, &st) == 0 && !S_ISREG(st.st_mode))
		return;	/* a device such as /dev/null needs no lock */
	if (!file_link_end(cf->save, cf->saved_at))
		err(1, "%s", cf->save);
	cf->lock = file_lock_acquire(cf->saved_at);
	if (cf->lock == -1 && errno == EWOULDBLOCK)
		errx(1, "%s: another innet-ps saves to this file and has "
		    "locked %s.lock; give each its own --save", cf->save,
		    cf->saved_at);
	if (cf->lock == -1)
		err(1, "%s.lock", cf->saved_at);
}

/*
 * Return true if there is at least one model.  Without a model, an empty file
 * would be written and could replace a file with weights.
 */
static bool
has_model(const struct server *s)
{
	for (unsigned c = 0; c < SERVER_CLUSTERS; c++) {
		if (server_rule_is_ready(&s->cluster[c]))
			return true;
	}
	return false;
}

/*
 * Save the weights at the end.  Before the end, save them if they have changed
 * and the last save is at least --save-every ago.
 */
static int
save_weights(void *ctx, uint64_t now_ns, bool last)
{
	struct saving *v = ctx;
	const struct server *s = v->pl->state;
	const uint64_t applied = s->n[SERVER_APPLIED];

	if (last)
		return has_model(s) ? store_save(v->cf->save, s->cluster) : 0;
	if (v->saved_ns == 0)
		v->saved_ns = now_ns;
	if (applied == v->changed || now_ns - v->saved_ns <
	    v->cf->save_every_ns)
		return 0;
	v->saved_ns = now_ns;
	v->changed = applied;
	return store_save(v->cf->save, s->cluster);
}

/* Load the weights with which the server starts. */
static void
load_weights(struct conf *cf)
{
	struct server_conf *settings = cf->o.settings;

	settings->loaded = calloc(SERVER_CLUSTERS,
	    sizeof(*settings->loaded));
	if (settings->loaded == NULL)
		err(1, "%s", cf->load);
	store_load_or_exit(cf->load, settings->loaded);
}

int
main(int argc, char *argv[])
{
	static struct service v;
	static struct conf cf;
	struct saving saving = { .cf = &cf, .pl = &v.plane };
	struct serve_conf sc = {.tool = "innet-ps",
	    .stop = &stop_signal,
	    .show_flag = &report_requested,
	    .reopen_flag = &reopen_requested,
	    .one_link = true};
	sigset_t wait_mask;
	int rc;

	parse(&cf, argc, argv);
	plane_check_memory(&cf.o);
	if (cf.load != NULL)
		load_weights(&cf);
	if (cf.save != NULL) {
		check_save(cf.save);
		lock_save(&cf);
		sc.save = cf.save;
		sc.tick = save_weights;
		sc.tick_ctx = &saving;
	}
	timer_block_signals(on_signal, &wait_mask);
	sc.wait_mask = &wait_mask;
	rc = service_run(&v, &cf.o, &sc);
	if (cf.lock != -1)
		file_lock_release(cf.lock, cf.saved_at);
	plane_options_free(&cf.o);
	return rc;
}
