/*
 * service.h - the work of a live tool before and after the serve loop
 *
 * This file opens and closes captures; it creates, runs and frees the plane;
 * and it writes the report and the summary.  The summary is printed at the end
 * and whenever a signal requests the summary.
 */
#ifndef INNET_NET_SERVICE_H
#define INNET_NET_SERVICE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/auth/key-change.h"
#include "common/base/atomic-file.h"
#include "common/base/message.h"
#include "common/net/sandbox.h"
#include "common/net/serve-group.h"
#include "common/net/serve.h"
#include "common/switch/memory.h"

struct service {
	const char *tool;
	struct plane_options *o;
	struct serve_conf conf;
	struct serve *serve;		/* points to `sockets`, or to the
					 * sockets of another driver */
	struct serve sockets;
	struct plane plane;
	struct pcapio_out in, out;
	struct key_change key, commands; /* keys of --key and --command-key */
	/*
	 * A function that adds the counters of the driver to a report, or NULL.
	 */
	void (*put_extra)(const void *ctx, struct counters *c);
	const void *extra_ctx;
};

/*
 * Serve on UDP sockets until the end, with the options o and the settings conf.
 * Returns the exit status.
 */
static inline int service_run(struct service *v, struct plane_options *o,
    const struct serve_conf *conf);

/*
 * Initialise v with the settings `conf` and with the addresses, files and
 * durations in the options o.  After this the caller opens the driver and
 * creates the plane.
 */
static inline void service_init(struct service *v, struct plane_options *o,
    const struct serve_conf *conf);

/*
 * Finish the work after the serve loop: print the summary, close the captures,
 * write the report and free the plane.  Returns the exit status.
 */
static inline int service_finish(struct service *v, int rc);

/*
 * Write `text` to the file at path.  On failure the file does not change.  The
 * path "-" means standard output.  If path is a pipe and `last` is true, the
 * function may wait for a reader.  Returns the exit status.
 */
static inline int service_write_file(const char *path, const char *text,
    bool last);

/* implementation */

static inline int
service_write_file(const char *path, const char *text, bool last)
{
	struct atomic_file w;

	if (text == NULL || (last ? atomic_file_open(&w, path) :
	    atomic_file_open_now(&w, path)) == -1) {
		warn("%s", path);
		return 1;
	}
	if (atomic_file_close(&w, atomic_file_write(&w, text,
	    strlen(text))) == 0)
		return 0;
	warn("%s: cannot write the report", strcmp(path, "-") == 0 ?
	    "standard output" : path);
	return 1;
}

/* Return a text with all counters in the given form. */
static inline struct counters
service_make_report(const struct service *v, enum counters_form form)
{
	struct counters c = counters_begin(form, v->tool);

	if (form == COUNTERS_LINE) {
		plane_put_summary(&v->plane, &c);
		counters_part(&c);
		serve_put_summary(v->serve, &c);
	} else {
		plane_put_report(&v->plane, &c);
		serve_put_report(v->serve, &c);
		if (v->put_extra != NULL)
			v->put_extra(v->extra_ctx, &c);
	}
	return c;
}

/*
 * Print the summary.  If --json was given, print JSON to the stream for --json;
 * otherwise print a line for people to standard error.
 */
static inline void
service_show_summary(void *ctx)
{
	struct service *v = ctx;
	FILE *f = v->o->json ? v->o->json_to : stderr;
	struct counters c = service_make_report(v, v->o->json ? COUNTERS_JSON :
	    COUNTERS_LINE);

	if (counters_text(&c) != NULL)
		fputs(c.text, f);
	fflush(f);
	counters_free(&c);
}

/* Write the report if the user asked for one.  Returns the exit status. */
static inline int
service_write_report(const struct service *v, bool last)
{
	struct counters c;
	int rc;

	if (v->o->report == NULL)
		return 0;
	c = service_make_report(v, COUNTERS_PAGE);
	rc = service_write_file(v->o->report, counters_text(&c), last);
	counters_free(&c);
	return rc;
}

/*
 * Handle SIGHUP: read the keys again, open the captures again (their files may
 * have been moved), and write the report.
 */
static inline void
service_reopen_files(void *ctx, uint64_t now_ns)
{
	struct service *v = ctx;

	key_change_reload(&v->key, now_ns);
	key_change_reload(&v->commands, now_ns);
	if (v->conf.ingress != NULL)
		rotate_reopen(v->conf.ingress);
	if (v->conf.egress != NULL)
		rotate_reopen(v->conf.egress);
	service_write_report(v, false);
}

/*
 * Start to use new keys and forget old keys when it is time to do so.  Call
 * this function once a second.
 */
static inline void
service_tick_keys(void *ctx, uint64_t now_ns)
{
	struct service *v = ctx;

	key_change_tick(&v->key, now_ns);
	key_change_tick(&v->commands, now_ns);
}

/*
 * Return a random multiplier for hash maps, so that untrusted hosts cannot find
 * keys that collide.
 */
static inline struct hashmap_multiplier
service_random_seed(void)
{
	struct hashmap_multiplier by;

	if (getrandom(&by, sizeof(by), 0) != sizeof(by))
		err(1, "cannot get random numbers");
	by.low |= 1;
	return by;
}

/* Create the captures that the user asked for.  Exits on failure. */
static inline void
service_open_captures(struct service *v)
{
	const struct plane_options *o = v->o;

	if (o->write_in != NULL) {
		pcapio_create_or_exit(&v->in, o->write_in);
		v->conf.ingress = &v->in;
	}
	if (o->out != NULL) {
		pcapio_create_or_exit(&v->out, o->out);
		v->conf.egress = &v->out;
	}
}

/* Close the captures.  Returns the exit status. */
static inline int
service_close_captures(struct service *v)
{
	int rc = 0;

	if (v->conf.ingress != NULL)
		rc |= pcapio_close_or_warn(&v->in);
	if (v->conf.egress != NULL)
		rc |= pcapio_close_or_warn(&v->out);
	return rc;
}

static inline void
service_init(struct service *v, struct plane_options *o,
    const struct serve_conf *conf)
{
	*v = (struct service){ .tool = conf->tool, .o = o, .conf = *conf };
	v->conf.listen = o->listen_at;
	v->conf.duration_ns = o->duration_ns;
	v->conf.propagation_ns = o->propagation_ns;
	v->conf.impair = o->impair;
	v->conf.port_file = o->port_file;
	v->conf.no_offload = o->no_offload;
	v->conf.spin_ns = o->spin_ns;
	v->conf.verbose = o->verbose;
	v->conf.progress = !o->quiet && isatty(STDERR_FILENO) == 1;
	v->conf.rotate = o->rotate;
	v->conf.show = service_show_summary;
	v->conf.reopen = service_reopen_files;
	v->conf.second = service_tick_keys;
	v->conf.show_ctx = v;
	key_change_init(&v->key, &o->key, o->key_path);
	key_change_init(&v->commands, &o->commands, o->commands_path);
	service_open_captures(v);
	o->plane.place.hash_seed = service_random_seed();
	o->plane.place.quotas = o->plane.place.key == NULL;
	if (!o->plane.place.secret_known || o->plane.place.key == NULL)
		o->plane.place.xid = control_first_xid(timer_wall_ns());
}

static inline int
service_finish(struct service *v, int rc)
{
	/*
	 * After a failure, the reason must be the last line, so do not print a
	 * summary.
	 */
	if (v->o->json || (!v->o->quiet && rc == 0))
		service_show_summary(v);
	rc |= service_close_captures(v);
	if (v->o->json)
		rc |= files_flush(v->o->json_to);
	rc |= service_write_report(v, true);
	plane_free(&v->plane);
	return rc;
}

/*
 * Give up the privileges that are no longer needed, because all files and
 * sockets are open.  `s` contains the paths that only the driver needs.
 */
static inline void
service_enter_sandbox(const struct service *v, struct sandbox s)
{
	s.user = v->o->user;
	sandbox_add_file(&s, v->o->report);
	sandbox_add_file(&s, v->o->write_in);
	sandbox_add_file(&s, v->o->out);
	sandbox_add_file(&s, v->conf.save);
	sandbox_add_input(&s, v->key.path);
	sandbox_add_input(&s, v->commands.path);
	sandbox_enter(&s);
}

/* Is `a` an address of this machine? */
static inline bool
service_is_local(const union addr *a)
{
	const int fd = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union addr host = *a;
	bool is;

	if (a->sa.sa_family == AF_INET6)
		host.in6.sin6_port = 0;
	else
		host.in.sin_port = 0;
	is = fd != -1 && bind(fd, &host.sa, addr_len(&host)) == 0;
	if (fd != -1)
		close(fd);
	return is;
}

/*
 * Exit with status 1 if the parent of the switch is the switch itself.  The
 * address in `place` must be the one to which the socket is bound.
 */
static inline void
service_check_parent(const struct program_place *place)
{
	const union addr *own = &place->address, *above = &place->parent;
	static const union addr any4 = { .in.sin_family = AF_INET },
	    any6 = { .in6.sin6_family = AF_INET6 };
	char name[ADDR_NAME_BYTES];

	if (above->sa.sa_family == 0 || addr_port(above) != addr_port(own))
		return;
	if (addr_same_host(above, own) || ((addr_same_host(own, &any4) ||
	    addr_same_host(own, &any6)) && service_is_local(above)))
		errx(1, "%s is this switch's own address; --parent or "
		    "--upstream must name another switch or server",
		    addr_print(above, name));
}

static inline int
service_run(struct service *v, struct plane_options *o,
    const struct serve_conf *conf)
{
	int rc;

	service_init(v, o, conf);
	v->serve = &v->sockets;
	serve_open(v->serve, &v->conf, o->plane.program,
	    &o->plane.place.address);
	service_check_parent(&o->plane.place);
	serve_open_group(v->serve, &o->plane.place.group);
	o->plane.place.sockets = serve_raise_socket_limit(v->serve);
	if (!plane_init(&v->plane, &o->plane, &serve_driver, v->serve))
		err(1, "%s", o->plane.program->name);
	service_enter_sandbox(v, (struct sandbox){ 0 });
	rc = service_finish(v, serve_run(v->serve, &v->plane));
	serve_close(v->serve);
	return rc;
}

#endif
