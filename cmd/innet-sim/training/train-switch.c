/*
 * train-switch.c - switches and servers of a training job; see train-switch.h
 *
 * A switch or server that computes sums has a plane; other switches only
 * forward packets.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train-dlp.h"
#include "cmd/innet-sim/training/train-keys.h"
#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/train-switch.h"

enum { KEEP_BYTES = 64000000 };	/* number of bytes of results that a switch
				 * keeps */

/* Return the pipe from a switch toward node n. */
static struct sim_pipe *
find_pipe(const struct train_switch *w, const struct sim_node *n)
{
	const struct training *t = w->t;
	uint32_t i;

	if (n == t->server)
		return w->server != NULL ? w->server : w->up;
	if (n < t->host)	/* n is a switch: the core or a rack */
		return n == t->sw ? w->up : w->down[n - t->sw - 1];
	i = (uint32_t)(n - t->host);
	if (w->node == t->sw && t->racks > 0)
		return w->down[i / t->cf->rack];
	return i - w->first < w->n ? w->down[i - w->first] : w->up;
}

/* Add the time that a server's process needs before it sends an answer. */
static void
count_answer_time(struct train_switch *w, const struct seg *g)
{
	const struct scenario_training *cf = w->t->cf;
	const bool every = cf->mode == TRAINING_ASYNC;

	if (w->busy_ns < w->sim->now_ns)
		w->busy_ns = w->sim->now_ns;
	if (every || !w->has_updated || w->updated != g->iteration)
		w->busy_ns += cf->update_ns;
	w->has_updated = true;
	w->updated = g->iteration;
	w->busy_ns += train_cost_ns(w->t, 4 * (uint64_t)w->t->elements);
}

/* Send a datagram of the switch from its socket number `socket`. */
static void
send_datagram(const struct sim_plane *from, uint32_t socket,
    const union addr *to, uint8_t tos, const uint8_t *p, uint32_t len)
{
	struct train_switch *w = from->node->own;
	struct training *t = w->t;
	uint64_t ready_ns = w->sim->now_ns;
	struct sim_packet q;
	struct seg g;

	q = train_packet(t, tos, p, len);
	q.dg.from = w->node;
	q.dg.to = train_node_at(t, to);
	q.dg.sport = (uint16_t)(train_port(t) + socket);
	q.dg.dport = addr_port(to);
	if (w->node->out != NULL)
		sim_put_frame(w->sim, w->node->out, &q, ready_ns);
	if (w->node != t->server) {
		train_send_packet(w->sim, t, find_pipe(w, q.dg.to), &q,
		    ready_ns + t->cf->switch_ns);
		return;
	}
	if (seg_is(tos)) {
		g = seg_split(bytes_get(p, 8));
		t->n[TRAIN_PACKETS]++;
		if (g.index == 0)
			count_answer_time(w, &g);
	}
	ready_ns = w->busy_ns > ready_ns ? w->busy_ns : ready_ns;
	w->tx_ns = (w->tx_ns > ready_ns ? w->tx_ns : ready_ns) +
	    t->cf->packet_ns;
	train_send_packet(w->sim, t, w->up, &q, w->tx_ns);
}

void
train_open_machine(struct train_switch *w)
{
	const struct training *t = w->t;
	const bool async = t->cf->mode == TRAINING_ASYNC;
	const uint64_t packet = training_head(t->cf) + 4 *
	    (uint64_t)t->floats;
	struct iswitch_settings *set = &w->settings;
	struct job_conf *job = &set->iswitch.job;

	iswitch_set_defaults(set);
	set->parent = w->parent;
	set->iswitch.floats = set->iswitch.floats_max = t->carried;
	set->iswitch.number = w->number;
	job->h = (uint16_t)w->members;
	job->slots = training_slots(t->cf, t->racks > 0 && w->node == t->sw);
	job->async = async;
	/*
	 * as many results as fit into 64 MB if segments have all their floats
	 */
	job->keep_bytes = KEEP_BYTES / packet * train_segment_bytes(t);
	if (t->ledger != NULL) {	/* keep the results of all rounds */
		job->keep_bytes = 2 * (uint64_t)t->ledger->rounds * t->segs *
		    train_segment_bytes(t);
		/*
		 * workers that have finished send nothing, but are still
		 * members
		 */
		job->member_timeout_ns = 10 * job->member_timeout_ns;
	}
	job->whole = t->server != NULL && !async;
	job->server = t->server != NULL && async;
	job->child = w->up != NULL && t->server == NULL;
	job->tagged = t->cf->auth == TAG_AUTH_ALL;
	w->conf = (struct plane_conf){ .program = &iswitch_program,
	    .settings = set, .place = { .address = w->self, .live = true,
	    .xid = 1 + (w->lives++ << TRAIN_LIFE), .memory_bytes =
	    t->ledger == NULL ? 0 : w->sim->sc->chaos->memory_bytes,
	    .key = train_key(t), .secret_known = train_key(t) != NULL,
	    .tagged = t->cf->auth == TAG_AUTH_ALL } };
	train_secret(w->sim, t, TRAINING_WORKERS_MAX + 1 + w->node->index,
	    w->lives, w->conf.place.secret);
	if (train_is_dlp(t))
		train_dlp_set_program(w);
	w->plane = sim_alloc(1, sizeof(*w->plane), "switches");
	sim_plane_open(w->plane, w->sim, w->node, &w->conf, send_datagram);
}

/* Schedule a wake at the time when the plane has more work. */
static void
schedule_wake(struct sim *s, struct train_switch *w)
{
	if (!train_is_over(w->t))
		train_wake(s, w->node, &w->wake_ns,
		    plane_deadline_ns(&w->plane->pl));
}

static void
receive_datagram(struct sim *s, struct train_switch *w,
    const struct sim_datagram *d)
{
	uint8_t copy[TRAIN_MESSAGE_BYTES];
	union addr from = train_node_addr(w->t, d->from);
	struct packet p = { .from = &from, .to = &w->self, .tos = d->tos,
	    .socket = (uint32_t)(d->dport - train_port(w->t)), .payload = copy,
	    .bytes = d->len };

	memcpy(copy, train_bytes(s, d), d->len);
	from.in.sin_port = htons(d->sport);
	sim_plane_receive(w->plane, &p);
	schedule_wake(s, w);
}

static void
receive_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct train_switch *w = n->own;

	(void)by;
	w->t->n[TRAIN_CAME]++;
	if (w->plane != NULL && p->dg.to == n)
		receive_datagram(s, w, &p->dg);
	else
		train_send_packet(s, w->t, find_pipe(w, p->dg.to), p,
		    s->now_ns + w->t->cf->switch_ns);
}

/*
 * Receive a packet at a server.  Its process handles one packet after another.
 * After the last packet of a vector, the process must also read the vector.
 */
static void
receive_server_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct train_switch *w = n->own;
	struct training *t = w->t;
	const struct sim_datagram *d = &p->dg;

	t->n[TRAIN_CAME]++;
	if (by->port == TRAIN_INSIDE) {
		receive_datagram(s, w, d);
		return;
	}
	if (w->busy_ns < s->now_ns)
		w->busy_ns = s->now_ns;
	w->busy_ns += t->cf->packet_ns;
	if (seg_is(d->tos) && seg_split(bytes_get(d->p, 8)).index ==
	    t->segs - 1)
		w->busy_ns += train_cost_ns(t, 4 * (uint64_t)t->elements);
	train_send_packet(s, t, w->rx, p, w->busy_ns);
}

bool
train_is_captured(const struct sim_node *n)
{
	const struct train_switch *w = n->own;

	return n->kind == &train_switch_kind && w->plane != NULL;
}

static void
handle_wake(struct sim *s, struct sim_node *n)
{
	struct train_switch *w = n->own;

	if (w->wake_ns != s->now_ns)
		return;		/* ignore an old event, because wake_ns has
				 * changed since */
	w->wake_ns = SIM_NEVER;
	if (train_is_over(w->t) || n->down > 0)
		return;
	sim_plane_wake(w->plane);
	schedule_wake(s, w);
}

/*
 * Fail a switch.  Its packets are lost, and its state machine starts again, as
 * innet-switch would.
 */
static void
set_failed(struct sim *s, struct sim_node *n, bool down)
{
	struct train_switch *w = n->own;

	for (uint32_t i = 0; down && i < s->pipes; i++) {
		if (s->pipe[i].from == n)
			sim_clear_pipe(s, &s->pipe[i], false);
	}
	if (!down || w->plane == NULL)
		return;
	if (!sim_plane_is_accounted_for(w->plane))
		sim_report_wrong(s,
		    "account: %s: some segments are not accounted for",
		    n->name);
	sim_plane_free(w->plane);
	train_open_machine(w);
}

static void
free_switch(struct sim_node *n)
{
	struct train_switch *w = n->own;

	sim_plane_free(w->plane);
	free(w->down);
	free(w);
}

const struct sim_kind train_switch_kind = { .name = "switch",
    .arrive = receive_packet,
    .wake = handle_wake,
    .fail = set_failed,
    .free = free_switch };
const struct sim_kind train_server_kind = { .name = "server",
    .arrive = receive_server_packet,
    .wake = handle_wake,
    .free = free_switch };
