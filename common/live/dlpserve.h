/*
 * dlpserve.h - the aggregator of a DLP session on a UDP socket
 *
 * What innet-switch and innet-ps serve DLP by: dlp/aggregator.h decides, this
 * carries. For tools: what cannot go on exits with a line that says why.
 */
#ifndef INNET_LIVE_DLPSERVE_H
#define INNET_LIVE_DLPSERVE_H

#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/account.h"
#include "common/dlp/aggregator.h"
#include "common/live/outlet.h"
#include "common/live/pace.h"
#include "common/live/timer.h"
#include "common/live/udpio.h"

enum {
	DLPSERVE_BATCHES = 16		/* received between looks at all else */
};

struct dlpserve_conf {
	const char *tool;		/* for messages */
	struct dlpjob_conf job;
	union addr listen;
	struct impair impair;
	uint64_t duration_ns;		/* TIMER_NEVER: until a signal */
	const char *port_file;		/* NULL: none */
	struct pcapio_out *ingress, *egress;	/* captures, or NULL */
	volatile sig_atomic_t *stop, *tell;	/* set by signals */
	const sigset_t *wait_mask;	/* signals let in while waiting */
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	bool quiet, verbose, json, progress;
};

struct dlpserve {
	const struct dlpserve_conf *cf;
	struct dlpjob job;
	struct udpio u;
	struct outlet out;
	uint64_t packets, told_ns;
	bool warned_drops;
};

/* Everything that was counted, by name. */
static inline void
dlpserve_account(const struct dlpserve *s, struct account *a)
{
	const struct dlpjob *j = &s->job;

	account_put(a, "packets", s->packets);
	for (int i = 0; i < DLPJOB_COUNTS; i++)
		account_put(a, dlpjob_count_name[i], j->n[i]);
	account_put(a, "kernel", s->u.kernel_drops);
	account_put(a, "unreachable", s->u.unreachable);
	account_put(a, "send_failed", s->u.send_failed);
	account_put(a, "impaired_lost", s->out.impair.lost);
	account_put(a, "impaired_dup", s->out.impair.duplicated);
	account_put(a, "impaired_reordered", s->out.impair.reordered);
	account_word(a, "state", dlp_state_name(j->state));
	account_put(a, "step", j->step);
}

static inline void
dlpserve_summary(const struct dlpserve *s)
{
	struct account a;

	account_begin(&a, s->cf->json, s->cf->tool);
	dlpserve_account(s, &a);
	account_end(&a);
	fputs(a.text, stderr);
}

static inline void
dlpserve_take(struct dlpserve *s, const struct udpio_packet *p)
{
	const struct dlpjob_peer peer = { *p->from, s->u.local };
	uint8_t bytes[DLP_BYTES];
	struct dlpjob_out out;

	s->packets++;
	if (s->cf->ingress != NULL)
		udpio_capture(s->cf->ingress, p->from, &s->u.local, p->tos,
		    p->data, p->len, p->stamp_ns);
	if (dlpjob_take(&s->job, p->data, p->len, &peer, &out) == 0)
		return;
	dlp_put(bytes, &out.d);
	for (unsigned i = 0; i < out.n; i++)
		outlet_send(&s->out, &out.to[i]->at, 0, bytes, DLP_BYTES,
		    timer_wall_ns());
}

/* What has come; a flood leaves time for signals and the end. */
static inline void
dlpserve_drain(struct dlpserve *s)
{
	struct udpio_packet p;

	s->u.more = true;
	for (int k = 0; k < DLPSERVE_BATCHES && s->u.more; k++) {
		const int n = udpio_recv(&s->u);

		for (int i = 0; i < n; i++) {
			for (size_t at = 0;
			    udpio_next(&s->u.got[i], &at, &p);)
				dlpserve_take(s, &p);
		}
	}
}

/* Sleep until a packet, a held answer, a signal, or the end. */
static inline void
dlpserve_nap(struct dlpserve *s, uint64_t left_ns)
{
	struct pollfd pfd = { .fd = s->u.fd, .events = POLLIN };
	uint64_t ns = timer_first(left_ns, TIMER_SECOND_NS);
	struct timespec ts;

	if (outlet_due(&s->out) != OUTLET_NEVER)
		ns = timer_first(ns, pace_sleep_ns(timer_wall_ns(),
		    outlet_due(&s->out)));
	ts = timer_spec(ns);
	if (ppoll(&pfd, 1, &ts, s->cf->wait_mask) == 1 &&
	    (pfd.revents & POLLERR) != 0)
		udpio_errors(&s->u);
	timer_let_signals(s->cf->wait_mask);
}

/* Once a second: captures to the disk, progress to a terminal. */
static inline void
dlpserve_tick(struct dlpserve *s, uint64_t mono_ns)
{
	udpio_warn_drops(&s->u, &s->warned_drops);
	if (*s->cf->tell != 0) {
		*s->cf->tell = 0;
		dlpserve_summary(s);
	}
	if (mono_ns - s->told_ns < TIMER_SECOND_NS)
		return;
	s->told_ns = mono_ns;
	if (s->cf->ingress != NULL)
		pcapio_flush(s->cf->ingress);
	if (s->cf->egress != NULL)
		pcapio_flush(s->cf->egress);
	if (s->cf->progress)
		fprintf(stderr, "\r%s, step %" PRIu32 "/%" PRId32 ", %u "
		    "workers\033[K", dlp_state_name(s->job.state),
		    s->job.step, s->job.session.param[DLP_ITERATIONS],
		    s->job.now.n);
}

static inline bool
dlpserve_failed(const struct dlpserve_conf *cf)
{
	return (cf->ingress != NULL && cf->ingress->failed != 0) ||
	    (cf->egress != NULL && cf->egress->failed != 0);
}

/* Serve until the end; what was counted stays in *s.  The exit status. */
static inline int
dlpserve_run(struct dlpserve *s, const struct dlpserve_conf *cf)
{
	uint64_t now = timer_mono_ns();
	const uint64_t end = timer_after(now, cf->duration_ns);

	memset(s, 0, sizeof(*s));
	s->cf = cf;
	s->told_ns = now;
	dlpjob_init(&s->job, &cf->job);
	udpio_listen_or_exit(&s->u, &cf->listen, 0, !cf->no_offload,
	    cf->port_file);
	udpio_tell(&s->u, cf->verbose);
	s->out = outlet_over(&s->u, &cf->impair, cf->egress);
	while (!*cf->stop && now < end && !dlpserve_failed(cf)) {
		dlpserve_nap(s, end - now);
		dlpserve_drain(s);
		outlet_flush(&s->out, timer_wall_ns());
		now = timer_mono_ns();
		dlpserve_tick(s, now);
	}
	/* what has come counts, though the end has too */
	dlpserve_drain(s);
	outlet_flush(&s->out, TIMER_NEVER);
	if (cf->progress)
		fputs("\r\033[K", stderr);
	if (!cf->quiet)
		dlpserve_summary(s);
	outlet_free(&s->out);
	udpio_close(&s->u);
	return 0;
}

#endif
