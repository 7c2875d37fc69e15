/* server.c - the parameter server on a UDP socket */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/routes.h"
#include "common/timer.h"

#include "cmd/innet-ps/server.h"
#include "cmd/innet-ps/store.h"

enum count {
	UPDATES, CONSTITUENTS, APPLIED, GATED, NONFINITE, MISMATCHED, NO_MODEL,
	WEIGHTS, WEIGHTS_DISCARDED, MODELS, IGNORED, COUNTS
};

static const char *const count_name[COUNTS] = {
	"updates", "constituents", "applied", "gated", "refused_nonfinite",
	"mismatched", "no_model", "weights", "weights_discarded",
	"models_sent", "ignored"
};

struct server {
	const struct server_conf *cf;
	struct udpio u;
	struct psrule *cluster;		/* 65,536 */
	struct routes routes;
	uint64_t n[COUNTS];
	uint64_t memory_bytes;		/* taken by vectors */
	uint64_t told_ns, saved_ns, warned_ns;	/* monotonic */
	uint64_t changed;		/* n[APPLIED] at the last save */
	bool warned_drops, warned_memory;
	uint8_t packet[UDPIO_PACKET_BYTES];
};

/* Answer u with the model of its range: to its worker, or to the cluster. */
static void
answer(struct server *s, const struct update *u, const union addr *from,
    bool to_all, uint64_t now_ns)
{
	const struct psrule *c = &s->cluster[u->cluster];
	const union addr *to;
	struct update model;
	uint32_t next = 0;
	uint8_t *vec;
	size_t len;

	psrule_answer(c, u, to_all ? UPDATE_ALL_WORKERS : u->worker, &model);
	vec = update_put(s->packet, &model);
	for (uint32_t i = 0; i < model.n; i++)
		vec_set(vec, i, c->w[model.first + i]);
	len = (size_t)(vec - s->packet) + 4 * (size_t)model.n;
	if (!to_all) {
		s->n[MODELS] += udpio_send(&s->u, from, UPDATE_TOS,
		    s->packet, len);
		return;
	}
	while ((to = routes_each(&s->routes, u->cluster, now_ns, &next)) !=
	    NULL)
		s->n[MODELS] += udpio_send(&s->u, to, UPDATE_TOS, s->packet,
		    len);
}

/* At most once a second: a gradient that would break the model. */
static void
warn_nonfinite(struct server *s, const struct update *u,
    const union addr *from)
{
	uint64_t now = timer_mono_ns();
	char name[ADDR_NAME_BYTES];

	if (s->warned_ns != 0 && now - s->warned_ns < TIMER_SECOND_NS)
		return;
	s->warned_ns = now;
	warnx("%s: cluster %u: worker %" PRIu32 ": update %" PRIu32 " would "
	    "make a weight non-finite; refused", addr_print(from, name),
	    u->cluster, u->worker, u->sequence);
}

static void
take_update(struct server *s, const struct update *u, const union addr *from,
    uint64_t now_ns)
{
	static const enum count what[] = {
		[PSRULE_APPLIED] = APPLIED, [PSRULE_GATED] = GATED,
		[PSRULE_NONFINITE] = NONFINITE,
		[PSRULE_MISMATCHED] = MISMATCHED, [PSRULE_NO_MODEL] = NO_MODEL
	};
	enum psrule_verdict v = psrule_update(&s->cf->rule,
	    &s->cluster[u->cluster], u);

	s->n[UPDATES]++;
	s->n[CONSTITUENTS] += u->merged;
	s->n[what[v]]++;
	if (v == PSRULE_NONFINITE)
		warn_nonfinite(s, u, from);
	if (v != PSRULE_MISMATCHED && v != PSRULE_NO_MODEL)
		answer(s, u, from, !s->cf->reply_worker, now_ns);
}

/* Initial weights: the first worker's count, all are answered. */
static void
take_weights(struct server *s, const struct update *u, const union addr *from,
    uint64_t now_ns)
{
	struct psrule *c = &s->cluster[u->cluster];
	uint64_t need = (uint64_t)u->elements * 20;
	uint32_t r;
	bool fresh = c->w == NULL;

	s->n[WEIGHTS]++;
	if (fresh && s->memory_bytes + need > s->cf->memory_bytes) {
		s->n[IGNORED]++;
		if (!s->warned_memory)
			warnx("cluster %u: %" PRIu32 " elements need %.1f MB "
			    "more; raise --memory", u->cluster, u->elements,
			    (double)need / 1e6);
		s->warned_memory = true;
		return;
	}
	if (!psrule_weights(c, u))
		s->n[WEIGHTS_DISCARDED]++;
	if (fresh && c->w != NULL)
		s->memory_bytes += need;
	r = psrule_range(c, u);
	if (r != UINT32_MAX && c->range[r].version != 0)
		answer(s, u, from, false, now_ns);
	else if (r == UINT32_MAX && c->w != NULL)
		s->n[MISMATCHED]++;
}

static void
take(struct server *s, const struct udpio_packet *p)
{
	struct update u;

	if (s->cf->capture != NULL)
		udpio_capture(s->cf->capture, p->from, &s->u.local, p->tos,
		    p->data, p->len, p->stamp_ns);
	if ((p->tos & 0xfc) != UPDATE_TOS ||
	    update_parse(p->data, p->len, &u) != UPDATE_OK ||
	    u.kind == UPDATE_MODEL) {
		s->n[IGNORED]++;
		return;
	}
	routes_see(&s->routes, u.cluster, u.worker, p->from, p->stamp_ns);
	if (u.kind == UPDATE_UPDATE)
		take_update(s, &u, p->from, p->stamp_ns);
	else
		take_weights(s, &u, p->from, p->stamp_ns);
}

static void
summary(const struct server *s)
{
	if (s->cf->json)
		fputc('{', stderr);
	else
		fputs("innet-ps: ", stderr);
	for (int i = 0; i < COUNTS; i++) {
		const char *comma = i == 0 ? "" : ", ";

		if (s->cf->json)
			fprintf(stderr, "%s\"%s\":%" PRIu64, comma,
			    count_name[i], s->n[i]);
		else
			fprintf(stderr, "%s%" PRIu64 " %s", comma, s->n[i],
			    count_name[i]);
	}
	if (s->cf->json)
		fprintf(stderr, ",\"kernel\":%" PRIu64
		    ",\"unreachable\":%" PRIu64 "}\n", s->u.kernel_drops,
		    s->u.unreachable);
	else
		fprintf(stderr, "; %" PRIu64 " dropped by the kernel, %" PRIu64
		    " unreachable\n", s->u.kernel_drops, s->u.unreachable);
}

/* Once a second: what is captured to the disk, progress, and the save. */
static int
tick(struct server *s, uint64_t now_ns)
{
	int rc = 0;

	udpio_warn_drops(&s->u, &s->warned_drops);
	if (now_ns - s->told_ns >= TIMER_SECOND_NS) {
		s->told_ns = now_ns;
		if (s->cf->capture != NULL)
			pcapio_flush(s->cf->capture);
		if (s->cf->progress)
			fprintf(stderr, "\r%" PRIu64 " updates, %" PRIu64
			    " applied\033[K", s->n[UPDATES], s->n[APPLIED]);
	}
	if (s->cf->save != NULL && s->n[APPLIED] != s->changed &&
	    now_ns - s->saved_ns >= s->cf->save_every_ns) {
		s->saved_ns = now_ns;
		s->changed = s->n[APPLIED];
		rc = store_save(s->cf->save, s->cluster);
	}
	if (*s->cf->tell != 0) {
		*s->cf->tell = 0;
		summary(s);
	}
	return rc;
}

/* What has come; a flood leaves time for signals and the end. */
static void
drain(struct server *s)
{
	struct udpio_packet p;
	int n;

	for (int k = 0; k < 16 && (k == 0 || s->u.more); k++) {
		n = udpio_recv(&s->u);
		for (int i = 0; i < n; i++) {
			for (size_t at = 0; udpio_next(&s->u.got[i], &at, &p);)
				take(s, &p);
		}
	}
}

static int
loop(struct server *s)
{
	struct pollfd pfd = { .fd = s->u.fd, .events = POLLIN };
	uint64_t now = timer_mono_ns();
	const uint64_t end = timer_after(now, s->cf->duration_ns);
	struct timespec ts;
	int rc = 0;

	s->told_ns = s->saved_ns = now;
	while (!*s->cf->stop && now < end &&
	    (s->cf->capture == NULL || s->cf->capture->failed == 0)) {
		ts = timer_spec(timer_first(end - now, TIMER_SECOND_NS));
		if (ppoll(&pfd, 1, &ts, s->cf->wait_mask) == 1 &&
		    (pfd.revents & POLLERR) != 0)
			udpio_errors(&s->u);
		timer_let_signals(s->cf->wait_mask);
		drain(s);
		now = timer_mono_ns();
		rc |= tick(s, now);
	}
	drain(s);		/* what has come counts, though the end has too */
	if (s->cf->progress)
		fputs("\r\033[K", stderr);
	return rc;
}

/* Weights loaded count as memory taken. */
static void
load(struct server *s)
{
	store_load_or_exit(s->cf->load, s->cluster);
	for (unsigned c = 0; c < 65536; c++)
		s->memory_bytes += (uint64_t)s->cluster[c].elements * 20;
}

/* Is there a model at all?  An empty file must not replace a good one. */
static bool
any(const struct server *s)
{
	for (unsigned c = 0; c < 65536; c++) {
		if (psrule_ready(&s->cluster[c]))
			return true;
	}
	return false;
}

/* A place that cannot be written is better known now than at the end. */
static void
check_save(const char *path)
{
	struct whole w;

	if (whole_open(&w, path) == -1)
		err(1, "%s", path);
	whole_close(&w, false);
}

int
server_run(const struct server_conf *cf)
{
	struct server *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL || !routes_init(&s->routes))
		err(1, "server");
	s->cf = cf;
	s->cluster = calloc(65536, sizeof(*s->cluster));
	if (s->cluster == NULL)
		err(1, "server");
	if (cf->load != NULL)
		load(s);
	if (cf->save != NULL)
		check_save(cf->save);
	udpio_listen_or_exit(&s->u, &cf->listen, UPDATE_TOS, !cf->no_offload,
	    cf->port_file);
	udpio_tell(&s->u, cf->verbose);
	rc = loop(s);
	if (cf->save != NULL && any(s))
		rc |= store_save(cf->save, s->cluster);
	if (!cf->quiet)
		summary(s);
	for (unsigned c = 0; c < 65536; c++)
		psrule_free(&s->cluster[c]);
	free(s->cluster);
	routes_free(&s->routes);
	udpio_close(&s->u);
	free(s);
	return rc;
}
