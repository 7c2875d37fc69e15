/* captures.c - write captures of nodes and links; see captures.h */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/innet-sim/nodes/node-switch.h"
#include "cmd/innet-sim/nodes/node-traffic.h"
#include "cmd/innet-sim/nodes/node-worker.h"
#include "cmd/innet-sim/run/captures.h"
#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-switch.h"
#include "common/base/files.h"
#include "common/base/message.h"

enum {
	NODES_MAX = 256,	/* limit on nodes; each keeps two files open */
	LINKS_MAX = 100		/* limit on links; each keeps four files open */
};

/* The folder for captures, and all files that are read or written. */
struct folder {
	const char *path;
	struct files files;
};

static struct pcapio_out *
open_capture(struct folder *dir, const char *name, const char *way)
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

/*
 * Open the captures of the link that consists of this pipe and the next one:
 * NAME.up.out.pcap, NAME.up.in.pcap, NAME.down.out.pcap and NAME.down.in.pcap.
 */
static void
open_link(struct sim *s, struct folder *dir, uint32_t pipe, const char *name)
{
	uint32_t links = 0;

	if (s->tap == NULL)
		s->tap = sim_alloc(s->pipes, sizeof(*s->tap), "captures");
	for (uint32_t i = 0; i < s->pipes; i += 2)
		links += s->tap[i].left != NULL;
	if (links == LINKS_MAX)
		errx(1, "-w: at most %d links can be captured", LINKS_MAX);
	s->tap[pipe] = (struct sim_tap){ open_capture(dir, name, "up.out"),
	    open_capture(dir, name, "up.in") };
	s->tap[pipe + 1] = (struct sim_tap){open_capture(dir, name, "down.out"),
	    open_capture(dir, name, "down.in")};
}

/*
 * Open captures of the links between the workers of a group and their switches.
 */
static void
open_access(struct sim *s, struct folder *dir, const struct sim_group *group)
{
	char name[64];

	for (uint32_t i = group->base; i < group->base + group->n; i++) {
		const struct sim_worker *w = &s->worker[i];

		if (i > group->base && w->up == w[-1].up)
			continue;	/* the captures of a shared link are
					 * already open */
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
		const struct sim_group *group = n->own;

		if (n->kind == &node_switch_kind && scenario_uplink(s->sc,
		    port->cf->name)->capture)
			open_link(s, dir, n->up->index, n->name);
		if (n->kind == &node_worker_kind && group->cf->access_capture)
			open_access(s, dir, group);
	}
	for (uint32_t i = 0; i < s->pipes && s->trainings > 0; i += 2) {
		const struct sim_node *n = s->pipe[i].from;

		if (n != s->pipe[i].to && train_get(s, n)->cf->capture)
			open_link(s, dir, i, n->name);
	}
}

/*
 * Exit if two nodes have the same name, because their captures would have the
 * same names too.
 */
static void
refuse_twins(const struct sim *s)
{
	for (uint32_t i = 1; i < s->nodes && i < NODES_MAX; i++) {
		for (uint32_t k = 0; k < i && s->trainings > 0; k++) {
			if (strcmp(s->node[i].name, s->node[k].name) == 0)
				errx(1, "-w: two training jobs have a node "
				    "'%s' and would write the same files; give "
				    "each training job a name",
				    s->node[i].name);
		}
	}
}

void
captures_open(struct sim *s, const char *path, const char *scenario)
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

		if (n->kind == &node_worker_kind ||
		    n->kind == &node_traffic_kind ||
		    (s->trainings > 0 && !train_is_captured(n)))
			continue;
		if (i >= NODES_MAX)
			errx(1, "-w: at most %d switches and servers can be "
			    "captured",
			    NODES_MAX);
		n->in = open_capture(&dir, n->name, "in");
		if (n->up != NULL || s->trainings > 0)
			n->out = open_capture(&dir, n->name, "out");
	}
	files_done(&dir.files);
}

static bool
close_capture(struct pcapio_out *out)
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
captures_close(struct sim *s)
{
	bool whole = true;

	for (uint32_t i = 0; i < s->pipes && s->tap != NULL; i++) {
		sim_capture_left(s, &s->pipe[i], s->end_ns);
		whole = close_capture(s->tap[i].left) && whole;
		whole = close_capture(s->tap[i].came) && whole;
	}
	free(s->tap);
	s->tap = NULL;
	for (uint32_t i = 0; i < s->nodes; i++) {
		whole = close_capture(s->node[i].in) && whole;
		whole = close_capture(s->node[i].out) && whole;
		s->node[i].in = s->node[i].out = NULL;
	}
	return whole;
}
