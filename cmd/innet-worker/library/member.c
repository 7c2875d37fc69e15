/* member.c - the functions of libinnet.so; innet_worker.h describes them */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cmd/innet-worker/library/handle.h"
#include "common/auth/key-file.h"
#include "common/auth/tag.h"
#include "common/base/message.h"
#include "common/iswitch/job-rule.h"
#include "common/iswitch/members.h"
#include "common/net/timer.h"
#include "common/traffic/impair.h"
#include "common/wire/addr.h"

#define EXPORT __attribute__((visibility("default")))

enum { RING_ELEMENTS = 2048 * 366 };	/* default length of the ring */

/*
 * Write an error to `why`.  Bytes that are not printable, which can come from
 * the network, become question marks.
 */
static void __attribute__((format(printf, 2, 3)))
put_error(char *why, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(why, INNET_WORKER_TEXT_BYTES, fmt, ap);
	va_end(ap);
	for (char *s = why; *s != '\0'; s += n > 0 ? n : 1) {
		n = message_printable(s);
		if (n == 0)
			*s = '?';
	}
}

/*
 * Copy the caller's options to *o.  The caller may use an older or a newer
 * header, whose struct is shorter or longer.
 */
static bool
read_options(const struct innet_worker_options *from,
    struct innet_worker_options *o, char *why)
{
	const size_t size = from->size;

	memset(o, 0, sizeof(*o));
	if (size < offsetof(struct innet_worker_options, key)) {
		put_error(why, "options: the size is %zu; set it to "
		    "sizeof(struct innet_worker_options)", size);
		return false;
	}
	for (size_t i = sizeof(*o); i < size; i++) {
		if (((const char *)from)[i] != 0) {
			put_error(why, "options: this program needs a newer "
			    "libinnet.so than %s", PACKAGE_VERSION);
			return false;
		}
	}
	memcpy(o, from, size < sizeof(*o) ? size : sizeof(*o));
	return true;
}

/* Check one option; `most` is its largest value. */
static bool
check_number(const char *name, uint64_t value, uint64_t least, uint64_t most,
    char *why)
{
	if (value >= least && value <= most)
		return true;
	put_error(why, "%s: %" PRIu64 " is not between %" PRIu64 " and %"
	    PRIu64, name, value, least, most);
	return false;
}

/* Check all options that are numbers. */
static bool
check_numbers(const struct innet_worker_options *o, char *why)
{
	return check_number("job", o->job, 0, UINT16_MAX, why) &&
	    check_number("rank", o->rank, 0, UINT32_MAX - 1, why) &&
	    check_number("ranks", o->ranks, 0, MEMBERS_MAX, why) &&
	    check_number("ring", o->ring, 0, STREAM_ELEMENTS_MAX, why) &&
	    (o->mtu == 0 || check_number("mtu", o->mtu, 128,
	    UPDATE_MTU_LOOPBACK, why)) &&
	    check_number("spin_ns", o->spin_ns, 0, SPIN_MAX_NS, why) &&
	    check_number("straggler_ns", o->straggler_ns, 0,
	    WORKER_STRAGGLER_NS, why) &&
	    check_number("give_up_ns", o->give_up_ns, 0, INT64_MAX, why);
}

/* Find the address of the switch. */
static bool
find_switch(struct innet_worker *w, const char *address, char *why)
{
	const char *problem;

	if (address == NULL) {
		put_error(why, "address: the option is missing; set it to the "
		    "HOST:PORT of the switch");
		return false;
	}
	w->name = strdup(address);
	problem = w->name == NULL ? strerror(errno) :
	    addr_parse(address, "46638", &w->cf.to);
	if (problem == NULL && addr_port(&w->cf.to) == 0)
		problem = "port 0 is not valid";
	if (problem != NULL)
		put_error(why, "address: '%s': %s", address, problem);
	w->cf.to_name = w->name;
	return problem == NULL;
}

/* Read the key and find out which packets to authenticate. */
static bool
read_key(struct innet_worker *w, const struct innet_worker_options *o,
    char *why)
{
	uint8_t buf[KEY_MOST_BYTES + 1];
	char text[KEY_WHY];
	const char *problem = NULL;
	size_t n;

	if (o->key != NULL) {
		n = key_read_fd(open(o->key, O_RDONLY | O_CLOEXEC), o->key,
		    KEY_LEAST_BYTES, buf, text);
		if (n == 0) {
			put_error(why, "key: %s: %.400s", o->key, text);
			return false;
		}
		key_set(&w->key, buf, n);
		explicit_bzero(buf, sizeof(buf));
	}
	w->cf.key = &w->key;
	if (o->auth != NULL)
		problem = tag_auth_parse(o->auth, &w->cf.auth);
	if (problem == NULL)
		problem = tag_auth_resolve(&w->cf.auth, w->key.set);
	if (problem != NULL)
		put_error(why, "auth: '%s': %s", o->auth != NULL ? o->auth : "",
		    problem);
	return problem == NULL;
}

/* Read the faults of sent packets. */
static bool
read_impair(struct innet_worker *w, const char *list, char *why)
{
	const char *problem = list == NULL ? NULL :
	    impair_parse(list, &w->cf.impair);

	if (problem != NULL)
		put_error(why, "impair: '%s': %s", list, problem);
	w->cf.impair.rng = rng_seed(~(uint64_t)w->cf.worker);
	return problem == NULL;
}

/* Read how the switch combines the vectors of the members. */
static bool
read_rule(struct innet_worker *w, const struct innet_worker_options *o,
    char *why)
{
	const char *problem = NULL;

	w->cf.rule.straggler_us = (uint32_t)((o->straggler_ns + 999) / 1000);
	if (o->reduce != NULL)
		problem = job_rule_parse(o->reduce, o->ranks, &w->cf.rule);
	if (problem != NULL)
		put_error(why, "reduce: '%s': %s", o->reduce, problem);
	else if (control_names_rule(&w->cf.rule) && o->ranks == 0)
		put_error(why, "ranks: the option is missing; reduce and "
		    "straggler_ns need it");
	else
		return true;
	return false;
}

/* Set w->cf from the options. */
static bool
set_options(struct innet_worker *w, const struct innet_worker_options *o,
    char *why)
{
	w->cf = (struct worker_conf){ .job = (uint16_t)o->job, .cluster = 1,
	    .worker = o->rank, .members = (uint16_t)o->ranks,
	    .auth = TAG_AUTH_DEFAULT, .mtu = o->mtu,
	    .give_up_ns = o->give_up_ns != 0 ? o->give_up_ns :
	    30 * (uint64_t)TIMER_SECOND_NS };
	w->silence_ns = o->silence_ns != 0 ? o->silence_ns : TIMER_NEVER;
	w->spin = spin_for(o->spin_ns);
	return check_numbers(o, why) && find_switch(w, o->address, why) &&
	    read_key(w, o, why) && read_rule(w, o, why) &&
	    read_impair(w, o->impair, why);
}

/* Open the socket and the ring, and start to join the job. */
static bool
open_member(struct innet_worker *w, const struct innet_worker_options *o,
    char *why)
{
	struct sync_io_join at = { .mtu = 1500,
	    .crc = sync_io_ring_crc(o->session, o->session_bytes),
	    .xid = control_first_xid(timer_wall_ns()) };

	if (udpio_open_towards(&w->u, &w->cf.to, worker_tos(&w->cf), true,
	    &at.mtu) == -1) {
		put_error(why, "%s: %s", w->name, strerror(errno));
		return false;
	}
	w->has_socket = true;
	if (w->cf.mtu != 0)
		at.mtu = w->cf.mtu;
	w->out = udp_transmit_over(&w->u, &w->cf.impair, NULL);
	udpio_limit_send_buffer(&w->u);
	if (!sync_io_open(&w->io, &w->cf, &w->out)) {
		put_error(why, "cannot get random numbers: %s",
		    strerror(errno));
		return false;
	}
	w->in = (struct udp_receiver){ .u = &w->u,
	    .find_place = sync_io_find_place,
	    .matches_place = sync_io_matches_place, .ctx = &w->io };
	w->io.elements = o->ring != 0 ? o->ring : RING_ELEMENTS;
	if (!sync_io_open_ring(&w->io)) {
		put_error(why, "no memory for a ring of %" PRIu32 " elements",
		    w->io.elements);
		return false;
	}
	sync_io_join(&w->io, &at, timer_mono_ns());
	return true;
}

/* Start the thread, which handles no signals. */
static bool
start_thread(struct innet_worker *w, char *why)
{
	sigset_t all, had;
	int problem;

	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake_fd == -1) {
		put_error(why, "eventfd: %s", strerror(errno));
		return false;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &had);
	problem = pthread_create(&w->thread, NULL, innet_worker_thread, w);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
	if (problem != 0)
		put_error(why, "cannot start a thread: %s", strerror(problem));
	w->has_thread = problem == 0;
	return problem == 0;
}

/* End the wait of the thread. */
static void
wake_thread(struct innet_worker *w)
{
	const uint64_t one = 1;

	/* a full counter also ends the wait */
	if (write(w->wake_fd, &one, sizeof(one)) == -1)
		return;
}

/*
 * Return the reason why the thread waits, as a phrase for a message that has
 * named the switch and the job, or "".  The lock is held.
 */
static const char *
find_reason(const struct innet_worker *w)
{
	const size_t name = strlen(w->name);
	const char *s = w->stalled;

	/* the report begins "NAME: job N: " or "NAME: job N has" */
	if (strncmp(s, w->name, name) != 0 || s[name] != ':')
		return s;
	s += name + 2;
	s += strncmp(s, "job ", 4) == 0 ? 4 + strspn(s + 4, "0123456789") : 0;
	return *s == ':' ? s + 2 : s;
}

/*
 * Write to `why` that something did not happen within a time, and the reason
 * for the wait.  The lock is held.
 */
static void __attribute__((format(printf, 3, 4)))
put_timeout(struct innet_worker *w, char *why, const char *fmt, ...)
{
	char what[128];
	const char *reason = find_reason(w);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	put_error(why, "%s: job %u: %s%s%s", w->name, w->cf.job, what,
	    reason[0] == '\0' ? "" : reason[0] == ' ' ? "; the job" : "; ",
	    reason);
}

/*
 * Wait for a change until a deadline.  Returns false after the deadline.  The
 * lock is held.
 */
static bool
await_change(struct innet_worker *w, uint64_t deadline_ns)
{
	const struct timespec until = timer_to_timespec(deadline_ns);
	int late = 0;

	w->waiters++;
	if (deadline_ns == TIMER_NEVER)
		pthread_cond_wait(&w->changed, &w->lock);
	else
		late = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	w->waiters--;
	return late == 0;
}

/* Wait until the switch has accepted or refused this member. */
static bool
await_join(struct innet_worker *w, uint64_t timeout_ns, char *why)
{
	const uint64_t deadline = timeout_ns == 0 ? TIMER_NEVER :
	    timer_after(timer_mono_ns(), timeout_ns);
	bool good, late = false;

	pthread_mutex_lock(&w->lock);
	while (!w->joined && !w->failed && !late)
		late = !await_change(w, deadline);
	good = w->joined;
	if (w->failed)
		put_error(why, "%s", w->failure);
	else if (!good)
		put_timeout(w, why, "the switch has not accepted this member "
		    "in %.1f s", (double)timeout_ns / 1e9);
	pthread_mutex_unlock(&w->lock);
	return good && !w->failed;
}

/* Allocate a handle. */
static struct innet_worker *
make_handle(void)
{
	struct innet_worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;

	if (w == NULL)
		return NULL;
	w->wake_fd = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return w;
}

EXPORT struct innet_worker *
innet_worker_join(const struct innet_worker_options *options, char *why)
{
	char unread[INNET_WORKER_TEXT_BYTES];
	struct innet_worker *w = make_handle();
	struct innet_worker_options o;

	why = why != NULL ? why : unread;
	why[0] = '\0';
	if (w == NULL)
		put_error(why, "no memory for a handle");
	else if (!read_options(options, &o, why) || !set_options(w, &o, why) ||
	    !open_member(w, &o, why) || !start_thread(w, why) ||
	    !await_join(w, o.join_timeout_ns, why)) {
		innet_worker_leave(w);
		w = NULL;
	}
	return w;
}

/* Make room for another operation in the queue.  The lock is held. */
static bool
reserve_operation(struct innet_worker *w)
{
	const size_t room = w->room == 0 ? 16 : 2 * w->room;
	struct operation *q;

	if (w->started - w->done < w->room)
		return true;
	q = calloc(room, sizeof(*q));
	if (q == NULL)
		return false;
	for (uint64_t t = w->done; t < w->started; t++)
		q[t & (room - 1)] = w->queue[t & (w->room - 1)];
	free(w->queue);
	w->queue = q;
	w->room = room;
	return true;
}

EXPORT uint64_t
innet_worker_start(struct innet_worker *w, const float *in, float *out,
    size_t n, struct innet_worker_count *count)
{
	uint64_t ticket = 0;
	bool idle = false;

	pthread_mutex_lock(&w->lock);
	if (w->failed)
		put_error(w->error, "%s", w->failure);
	else if (n > UINT32_MAX)
		put_error(w->error, "%s: job %u: an operation has %zu elements,"
		    " but at most %" PRIu32 " are possible", w->name,
		    w->cf.job, n, UINT32_MAX);
	else if (!reserve_operation(w))
		put_error(w->error, "%s: job %u: no memory for %" PRIu64
		    " operations", w->name, w->cf.job,
		    w->started - w->done + 1);
	else {
		idle = w->taken == w->started;
		w->queue[w->started & (w->room - 1)] = (struct operation){
		    in, out, (uint32_t)n, count };
		ticket = ++w->started;
	}
	pthread_mutex_unlock(&w->lock);
	if (idle)
		wake_thread(w);
	return ticket;
}

/*
 * Return the state of an operation, and describe a failure in w->error.  The
 * lock is held.
 */
static int
find_state(struct innet_worker *w, uint64_t ticket)
{
	if (ticket != 0 && ticket <= w->done)
		return INNET_WORKER_DONE;
	if (!w->failed && ticket != 0 && ticket <= w->started)
		return INNET_WORKER_PENDING;
	if (w->failed)
		put_error(w->error, "%s", w->failure);
	else if (ticket != 0)	/* the failed start has set the error */
		put_error(w->error, "%s: job %u: no operation has the ticket %"
		    PRIu64, w->name, w->cf.job, ticket);
	return INNET_WORKER_FAILED;
}

EXPORT int
innet_worker_wait(struct innet_worker *w, uint64_t ticket, uint64_t timeout_ns)
{
	const uint64_t deadline = timer_after(timer_mono_ns(), timeout_ns);
	bool late = false;
	int state;

	pthread_mutex_lock(&w->lock);
	while ((state = find_state(w, ticket)) == INNET_WORKER_PENDING && !late)
		late = !await_change(w, deadline);
	if (state == INNET_WORKER_PENDING)
		put_timeout(w, w->error, "operation %" PRIu64 ", of %" PRIu32
		    " elements, is not complete after %.1f s", ticket,
		    w->queue[(ticket - 1) & (w->room - 1)].n,
		    (double)timeout_ns / 1e9);
	pthread_mutex_unlock(&w->lock);
	return state;
}

EXPORT int
innet_worker_test(struct innet_worker *w, uint64_t ticket)
{
	int state;

	pthread_mutex_lock(&w->lock);
	state = find_state(w, ticket);
	pthread_mutex_unlock(&w->lock);
	return state;
}

EXPORT const char *
innet_worker_error(struct innet_worker *w, char *why)
{
	pthread_mutex_lock(&w->lock);
	memcpy(why, w->failed ? w->failure : w->error,
	    INNET_WORKER_TEXT_BYTES);
	pthread_mutex_unlock(&w->lock);
	return why;
}

EXPORT void
innet_worker_leave(struct innet_worker *w)
{
	if (w == NULL)
		return;
	if (w->has_thread) {
		pthread_mutex_lock(&w->lock);
		w->leaving = true;
		pthread_mutex_unlock(&w->lock);
		wake_thread(w);
		pthread_join(w->thread, NULL);
	}
	if (w->wake_fd != -1)
		close(w->wake_fd);
	if (w->has_socket) {
		udp_transmit_free(&w->out);
		udpio_close(&w->u);
	}
	sync_io_free(&w->io);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	explicit_bzero(&w->key, sizeof(w->key));
	free(w->queue);
	free(w->name);
	free(w);
}

EXPORT uint32_t
innet_worker_floats(struct innet_worker *w)
{
	uint32_t floats;

	pthread_mutex_lock(&w->lock);
	floats = w->floats;
	pthread_mutex_unlock(&w->lock);
	return floats;
}

EXPORT const char *
innet_worker_version(void)
{
	return PACKAGE_VERSION;
}
