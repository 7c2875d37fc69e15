/* What arrives and leaves, as captures: capture.h. */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/innet-sim/run/captures.h"
#include "cmd/innet-sim/nodes/node-traffic.h"
#include "cmd/innet-sim/training/train.h"
#include "common/base/files.h"
#include "common/wire/frame.h"

enum {
	NODES_MAX = 256,	/* two files each stay open */
	LINKS_MAX = 100		/* and four of a link */
};

/* Where captures go, and what else is read or written there. */
struct folder {
	const char *path;
	struct files files;
};

static struct pcapio_out *
open_one(struct folder *dir, const char *name, const char *way)
{
	struct pcapio_out *out = malloc(sizeof(*out));
	char *path;

	if (out == NULL || asprintf(&path, "%s/%s.%s.pcap", dir->path, name,
	    way) == -1)
		err(1, "captures");
	files_out(&dir->files, "-w", path);
	pcapio_create_or_exit(out, path);
	return out;
}

/* The link that is this pipe and the next: name.up.out.pcap and so on. */
static void
open_link(struct sim *s, struct folder *dir, uint32_t pipe, const char *name)
{
	uint32_t links = 0;

	if (s->tap == NULL)
		s->tap = sim_have(s->pipes, sizeof(*s->tap), "captures");
	for (uint32_t i = 0; i < s->pipes; i += 2)
		links += s->tap[i].left != NULL;
	if (links == LINKS_MAX)
		errx(1, "-w: more than %d links", LINKS_MAX);
	s->tap[pipe] = (struct sim_tap){ open_one(dir, name, "up.out"),
	    open_one(dir, name, "up.in") };
	s->tap[pipe + 1] = (struct sim_tap){ open_one(dir, name, "down.out"),
	    open_one(dir, name, "down.in") };
}

/* The links between workers of a group and their switches. */
static void
open_access(struct sim *s, struct folder *dir, const struct sim_crowd *crowd)
{
	char name[64];

	for (uint32_t i = crowd->base; i < crowd->base + crowd->n; i++) {
		const struct sim_worker *w = &s->worker[i];

		if (i > crowd->base && w->up == w[-1].up)
			continue;	/* a shared one */
		snprintf(name, sizeof(name), "worker.%u.%u",
		    s->cluster[w->cluster].id, w->id);
		open_link(s, dir, w->up, name);
	}
}

static void
open_links(struct sim *s, struct folder *dir)
{
	for (uint32_t i = 0; i < s->nodes && s->trainings == 0; i++) {
		const struct sim_node *n = &s->node[i];
		const struct sim_port *port = n->own;
		const struct sim_crowd *crowd = n->own;

		if (n->kind == &sim_switch && scenario_uplink(s->sc,
		    port->cf->name)->capture)
			open_link(s, dir, n->up->index, n->name);
		if (n->kind == &sim_workers && crowd->cf->access_capture)
			open_access(s, dir, crowd);
	}
	for (uint32_t i = 0; i < s->pipes && s->trainings > 0; i += 2) {
		const struct sim_node *n = s->pipe[i].from;

		if (n != s->pipe[i].to && train_of(s, n)->cf->capture)
			open_link(s, dir, i, n->name);
	}
}

/* Two trainings may have one name: their files would be the same. */
static void
refuse_twins(const struct sim *s)
{
	for (uint32_t i = 1; i < s->nodes && i < NODES_MAX; i++) {
		for (uint32_t k = 0; k < i && s->trainings > 0; k++) {
			if (strcmp(s->node[i].name, s->node[k].name) == 0)
				errx(1, "-w: two trainings have a '%s', and so "
				    "the same files: name them",
				    s->node[i].name);
		}
	}
}

void
capture_open(struct sim *s, const char *path, const char *scenario)
{
	struct folder dir = { .path = path };

	files_out(&dir.files, "the results", "-");
	files_in(&dir.files, NULL, scenario);
	for (size_t i = 0; i < s->sc->workers.n; i++)
		files_in(&dir.files, NULL, scenario_workers(s->sc)[i].schedule);
	refuse_twins(s);
	if (mkdir(path, 0777) == -1 && errno != EEXIST)
		err(1, "%s", path);
	open_links(s, &dir);
	for (uint32_t i = 0; i < s->nodes; i++) {
		struct sim_node *n = &s->node[i];

		if (n->kind == &sim_workers || n->kind == &sim_traffic ||
		    (s->trainings > 0 &&
		    !train_captured(n)))
			continue;
		if (i >= NODES_MAX)
			errx(1, "-w: more than %d switches and servers",
			    NODES_MAX);
		n->in = open_one(&dir, n->name, "in");
		if (n->up != NULL || s->trainings > 0)
			n->out = open_one(&dir, n->name, "out");
	}
	files_done(&dir.files);
}

/* Floats in a packet of which so many follow, of updates of c. */
static uint32_t
floats(const struct sim_cluster *c, uint32_t following)
{
	const uint32_t frame = following == 0 ? c->last_frame : c->frame;

	return (frame - FRAME_V4_BYTES - UPDATE_HEADER_BYTES) / 4;
}

/* The frame of so many bytes at `to` is whole, but for a trailer. */
static void
commit(const struct sim *s, struct pcapio_out *out, uint8_t *to,
    uint32_t whole, uint32_t wire_bytes, uint64_t stamp_ns)
{
	if (whole < wire_bytes)
		memset(to + whole, 0, wire_bytes - whole);
	if (whole < wire_bytes)
		whole = wire_bytes;
	pcapio_commit(out, stamp_ns + s->sc->start_ns, whole, whole);
}

static void
put_update(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const struct sim_cluster *c = sim_cluster(s, p->up.cluster);
	const bool back = p->up.kind == UPDATE_MODEL;
	const uint32_t head = (uint32_t)update_head_bytes(p->up.kind);
	uint32_t n = floats(c, p->up.following);
	struct frame_flow flow = { .sport = UPDATE_PORT,
	    .dport = UPDATE_PORT };
	struct update u = p->up;
	uint8_t *to = pcapio_room(out), *at;
	struct frame fr;

	if (FRAME_V4_BYTES + head + 4 * n > p->wire_bytes)
		n = p->wire_bytes < FRAME_V4_BYTES + head ? 0 :
		    (p->wire_bytes - FRAME_V4_BYTES - head) / 4;
	u.elements = (c->packets - 1) * floats(c, 1) + floats(c, 0);
	u.generated_ns += s->sc->start_ns;
	frame_worker_addr(back ? flow.dst : flow.src, u.cluster,
	    u.worker % FRAME_WORKERS_MAX);
	memcpy(back ? flow.src : flow.dst, frame_server_addr, 4);
	at = to + frame_put(to, &flow, UPDATE_TOS, head + 4 * n, &fr);
	at = update_put(at, &u);
	memset(at, 0, 4 * (size_t)n);
	frame_put_checksum(to, &fr);
	commit(s, out, to, FRAME_V4_BYTES + head + 4 * n, p->wire_bytes,
	    stamp_ns);
}

/* A frame of another program: as innet-gen's, a source a network. */
static void
put_regular(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const uint32_t source = p->up.worker;
	const struct frame_flow flow = { .src = { 10, 254,
	    (uint8_t)(source >> 8), (uint8_t)source }, .dst = { 10, 255, 254,
	    2 }, .sport = 40000, .dport = 9 };
	const uint32_t bytes = p->wire_bytes - FRAME_V4_BYTES;
	uint8_t *to = pcapio_room(out);
	struct frame fr;

	memset(to, 0, p->wire_bytes);
	frame_put(to, &flow, 0, bytes, &fr);
	frame_put_checksum(to, &fr);
	commit(s, out, to, p->wire_bytes, p->wire_bytes, stamp_ns);
}

/* Of a training: its own bytes, between the addresses of its nodes. */
static void
put_datagram(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const struct sim_datagram *d = &p->dg;
	const struct training *t = train_of(s, d->from);
	const union addr from = train_addr(t, d->from);
	const union addr dst = train_addr(t, d->to);
	struct frame_flow flow = { .sport = d->sport, .dport = d->dport };
	uint8_t *to = pcapio_room(out);
	struct frame fr;
	size_t head;

	memcpy(flow.src, &from.in.sin_addr, 4);
	memcpy(flow.dst, &dst.in.sin_addr, 4);
	head = frame_put(to, &flow, d->tos, d->len, &fr);
	memcpy(to + head, train_bytes(s, d), d->len);
	frame_put_checksum(to, &fr);
	commit(s, out, to, (uint32_t)head + d->len, p->wire_bytes, stamp_ns);
}

void
capture_put(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	if (s->trainings > 0)
		put_datagram(s, out, p, stamp_ns);
	else if (p->up.kind == SIM_REGULAR)
		put_regular(s, out, p, stamp_ns);
	else
		put_update(s, out, p, stamp_ns);
}

void
capture_left(const struct sim *s, const struct sim_pipe *pipe,
    const struct sim_flying *f)
{
	struct pcapio_out *out = s->tap[pipe->index].left;

	if (out != NULL)
		capture_put(s, out, &f->p, f->left_ns);
}

void
capture_all_left(const struct sim *s, const struct sim_pipe *pipe,
    uint64_t by_ns)
{
	const struct sim_ring *r = &pipe->ring;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct sim_flying *f = &r->item[(r->head + i) &
		    (r->room - 1)];

		if (f->left_ns <= by_ns)
			capture_left(s, pipe, f);
	}
}

static bool
close_one(struct pcapio_out *out)
{
	char *path;
	bool whole;

	if (out == NULL)
		return true;
	path = (char *)(uintptr_t)out->path;
	whole = pcapio_close_or_warn(out) == 0;
	free(path);
	free(out);
	return whole;
}

bool
capture_close(struct sim *s)
{
	bool whole = true;

	for (uint32_t i = 0; i < s->pipes && s->tap != NULL; i++) {
		capture_all_left(s, &s->pipe[i], s->end_ns);
		whole = close_one(s->tap[i].left) && whole;
		whole = close_one(s->tap[i].came) && whole;
	}
	free(s->tap);
	s->tap = NULL;
	for (uint32_t i = 0; i < s->nodes; i++) {
		whole = close_one(s->node[i].in) && whole;
		whole = close_one(s->node[i].out) && whole;
		s->node[i].in = s->node[i].out = NULL;
	}
	return whole;
}
